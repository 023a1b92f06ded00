"""Domains that are kept for the namespace that has them, while their tenant is made anew.

Between the deletion of a tenant and the creation of the next one its domains are nobody's in AWS. Whoever
waits for one of them would get it. So the provider records which namespace has a domain, and refuses it to
all others until the record ends:

    an answer of AWS: our tenant, by its owner tag, has the domain, active ─▶ kept for its namespace
    about to delete, or to take a domain away                              ─▶ kept first, then done
    about to create, to add a domain, to adopt                             ─▶ refused where kept for another

Nothing that stands in a spec or in a status makes a record. The names of tenants and connection groups are
kept in the same way; their keys are in name_keys.py, and kept_names.py refuses them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Protocol

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Memory
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError, explain, not_ready
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.ownership import judgement
from provider.cloudfront.ownership.judgement import Resource
from provider.cloudfront.safety import name_keys
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import Observed

__all__ = ["NOTHING", "Keeper", "KeptDomains", "OnlyLooks", "OnlyRead", "RecordsFailed"]

_log = structlog.get_logger("provider.cloudfront.keptdomains")

_FIELD: Final = "spec.forProvider.domains"
_AGAIN_SECONDS: Final = 5.0
_TOLD: Final = 20
"""Domains that one line of the log names."""


class RecordsFailed(Exception):  # noqa: N818 - says what happened
    """The records could not be read or written; the message says why."""


class KeptDomains(Protocol):
    """The records of all accounts, as a domain is unique over them; among the domains stand the keys of names
    (name_keys.py). Thread-safe."""

    @property
    def known(self) -> bool:
        """The records have been read."""
        ...

    @property
    def recording(self) -> bool:
        """Records are made."""
        ...

    def holder(self, domain: str) -> str | None:
        """The namespace for which a domain is kept, "" for cluster-scoped resources without a claim; None
        for a domain that is free.

        Raises:
            RecordsFailed: the records have not been read.
        """
        ...

    def reread(self, domains: Iterable[str]) -> None:
        """Read the records of these domains anew: an administrator may have released one.

        Raises:
            RecordsFailed: they cannot be read.
        """
        ...

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """Keep domains for a namespace. They are kept, whatever ends this process, once it returns.

        Raises:
            RecordsFailed: not all are recorded.
        """
        ...

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """A look found these active domains on the tenant of a managed resource, and the key of its name;
        nothing is written."""
        ...

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """The tenant of a managed resource was deleted, as it asks. The keys of its name vouch for nothing
        any more, whatever ends this process; where that cannot be written, it is tried again."""
        ...

    def on_hold(self, mr: Managed) -> None:
        """The tenant of a managed resource is gone, and is not made anew for the moment: its time does not
        run out meanwhile. Nothing is written."""
        ...

    def vouches(self, key: str, namespace: str) -> bool:
        """A tenant of the namespace had the name, and the provider did not delete it since."""
        ...

    def place(self, domain: str) -> str:
        """Where the record of a domain stands, in words for an administrator."""
        ...


class _Nothing:
    """Keeps nothing."""

    known = True
    recording = False

    def holder(self, domain: str) -> None:
        """See KeptDomains."""

    def reread(self, domains: Iterable[str]) -> None:
        """See KeptDomains."""

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """See KeptDomains."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """See KeptDomains."""

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """See KeptDomains."""

    def on_hold(self, mr: Managed) -> None:
        """See KeptDomains."""

    def vouches(self, key: str, namespace: str) -> bool:  # noqa: ARG002 - who keeps nothing denies nothing
        """See KeptDomains."""
        return True

    def place(self, domain: str) -> str:
        """See KeptDomains."""
        return domain


NOTHING: Final[KeptDomains] = _Nothing()
"""For where no domain is kept."""


class OnlyRead:
    """The records, of which none is made: for rehearsals, and for answers that prove nothing."""

    recording = False

    def __init__(self, kept: KeptDomains) -> None:
        self._kept = kept
        self.holder, self.reread, self.place = kept.holder, kept.reread, kept.place
        self.vouches = kept.vouches

    @property
    def known(self) -> bool:
        """See KeptDomains."""
        return self._kept.known

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """Not done."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """Not noted."""

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """Not noted."""

    def on_hold(self, mr: Managed) -> None:
        """Not noted."""


class OnlyLooks(OnlyRead):
    """The same for what really looks at AWS and writes nothing: what it finds is so. Without its looks the
    time of a tenant that serves would begin. It holds no time, or an annotation would keep a domain without a
    tenant for ever."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """See KeptDomains."""
        self._kept.looked(mr, active)


class Keeper:
    """Records domains and names for the external client of one managed resource, and refuses domains."""

    def __init__(
        self,
        kept: KeptDomains,
        cloudfront: CloudFront,
        memory: Memory,
        installation: str,
        account: str | None = None,
    ) -> None:
        """Where the account may not be asked for, no name is kept: it is one in an account."""
        self._kept = kept
        self._cloudfront, self._memory = cloudfront, memory
        self._installation, self._account = installation, account

    # What AWS answered.

    def saw(self, mr: Managed, seen: Observed) -> None:
        """A look found it: record its name and the active domains that are not recorded yet, where the owner
        tag proves that it is this resource's. In a steady state this asks and writes nothing.

        Raises:
            NotYet: a domain is kept for another namespace, and the tags cannot be read at present.
            ExternalError: a domain is kept for another namespace, and the tenant is not proven to be this
                resource's; or the tags cannot be read.
        """
        has = self._has(mr, seen)
        self._kept.looked(mr, has)
        if not self._kept.known:
            # Nothing can be told. A write waits for the records; a look does not.
            return
        new, others = self._unrecorded(mr, has), self._others(mr, seen.domains)
        if not new and not others:
            return
        matters = bool(others) and judgement.writes(mr) and not mr.deleted
        try:
            proven = self._proven(mr, seen, (seen.arn, new, others))
        except AwsError as error:
            if matters:
                # Neither ours nor another's for certain.
                raise _unreadable(mr, seen, error) from error
            _unproven(mr, seen, error)
            return
        if proven:
            self._try_to_hold(mr, new)
        elif matters and (refusals := self.refusals(mr, others)):
            raise _refused(mr, refusals)

    def made(self, mr: Managed, seen: Observed) -> None:
        """This resource created the tenant or connection group, with its owner tag: that is proof."""
        has = self._has(mr, seen)
        self._kept.looked(mr, has)
        if self._kept.known and (new := self._unrecorded(mr, has)):
            self._try_to_hold(mr, new)

    def gone(self, mr: Managed) -> None:
        """A look found none."""
        self._kept.looked(mr, frozenset())

    def deleted(self, mr: Managed, seen: Resource) -> None:
        """The provider deleted it."""
        self._kept.deleted(mr, self._name(mr, seen))

    def held(self, mr: Managed, domains: Iterable[str]) -> frozenset[str]:
        """Those of the domains that are kept for this resource's namespace."""
        if not self._kept.known:
            return frozenset()
        namespace = identity.namespace_of(mr)
        return frozenset(domain for domain in domains if self._kept.holder(domain) == namespace)

    # Before a write.

    def before_loss(self, mr: Managed, seen: Observed, domains: Iterable[str]) -> None:
        """These domains are about to be taken away from it: their records must stand before.

        Raises:
            NotYet: they cannot be written at present.
            ExternalError: the tags cannot be read.
        """
        try:
            new = self._unrecorded(mr, frozenset(domains).intersection(seen.active_domains))
            if new and self._proves(mr, seen):
                self._kept.hold(new, identity.namespace_of(mr))
        except RecordsFailed as error:
            it = f"{identity.noun(mr)} {seen.name}"
            words = f"{it} waits until it is recorded who has its domains: {error}"
            raise NotYet(words, after=_AGAIN_SECONDS) from error
        except AwsError as error:
            raise _unreadable(mr, seen, error) from error

    def before_taking(self, mr: Managed, seen: Observed) -> None:
        """A tenant or connection group that is not proven to be this resource's is about to be written to,
        and may be taken over with its name and domains: the records must be known, as for a creation. A look
        does not wait for them.

        Raises:
            NotYet: the records cannot be read at present.
            ExternalError: one is kept for another namespace, or the tags cannot be read.
        """
        kept = self.not_for(mr, seen)
        try:
            if kept and not self._proves(mr, seen):
                raise _refused(mr, kept)
        except AwsError as error:
            raise _unreadable(mr, seen, error) from error

    def not_for(self, mr: Managed, seen: Observed) -> Mapping[str, str]:
        """The name and the domains of a tenant or connection group that this resource may not have, as
        `refusals`.

        Raises:
            NotYet: the records cannot be read at present.
        """
        return self.refusals(mr, {*seen.domains, *self._name(mr, seen)})

    def refusals(self, mr: Managed, domains: Iterable[str]) -> Mapping[str, str]:
        """The domains that this resource may not have, each with the words for it. What it would be refused
        is read anew, as an administrator may have released it.

        Raises:
            NotYet: the records cannot be read at present; a domain of which nothing is known is not free.
        """
        try:
            others = self._others(mr, domains)
            if others:
                self._kept.reread(others)
                others = self._others(mr, others)
        except RecordsFailed as error:
            it = f"{identity.noun(mr)} {mr.external_name}"
            words = f"{it} waits until it is known who has its name and domains: {error}"
            raise NotYet(words, after=_AGAIN_SECONDS) from error
        return {domain: self._refusal(mr, domain) for domain in others}

    # Parts.

    def _has(self, mr: Managed, seen: Observed) -> frozenset[str]:
        """What may be recorded."""
        return frozenset(seen.active_domains) | self._name(mr, seen)

    def _name(self, mr: Managed, seen: Resource) -> frozenset[str]:
        """The key of its name, also of what is named by its id: who lost its owner tag is known by that."""
        return frozenset({name_keys.key_of(mr.kind, self._account, seen.name)} if self._account else ())

    def _unrecorded(self, mr: Managed, domains: Iterable[str]) -> tuple[str, ...]:
        # Who only looks is asked nothing for: thousands may be imported so, and most are nobody's.
        if not self._kept.recording or not judgement.writes(mr):
            return ()
        namespace = identity.namespace_of(mr)
        return tuple(sorted(domain for domain in domains if self._kept.holder(domain) != namespace))

    def _others(self, mr: Managed, domains: Iterable[str]) -> tuple[str, ...]:
        free = (None, identity.namespace_of(mr))
        return tuple(sorted(domain for domain in domains if self._kept.holder(domain) not in free))

    def _proven(self, mr: Managed, seen: Resource, what: Hashable) -> bool:
        # Asked anew once its owner tag was read or set, as for what is taken over.
        owned = self._memory.proofs.of(mr.uid)
        about = (what, owned and owned.at)
        known = self._memory.proof(mr.uid, about)
        if known is not None:
            return known
        proven = self._proves(mr, seen)
        self._memory.note_proof(mr.uid, about, proven=proven)
        return proven

    def _proves(self, mr: Managed, seen: Resource) -> bool:
        """Asked of AWS each time, as a tenant may be handed over by its tag; it is asked for what is new
        only."""
        owner = self._cloudfront.tags(seen.arn).get(identity.OWNER_TAG)
        return owner == identity.owner_of(mr, self._installation, seen.name)

    def _try_to_hold(self, mr: Managed, domains: tuple[str, ...]) -> None:
        try:
            self._kept.hold(domains, identity.namespace_of(mr))
        except RecordsFailed as error:
            # The next look tries again; what would lose a domain waits for it.
            _log.warning("cannot record who has domains", domains=domains[:_TOLD], error=str(error))

    def _refusal(self, mr: Managed, domain: str) -> str:
        holder = self._kept.holder(domain)
        if self._memory.is_news(mr.uid, f"kept {domain}", holder):
            # For those who run the provider.
            _log.warning("a domain is kept for another namespace", domain=domain, kept_for=holder)
        if name_keys.is_name(domain):
            return (
                f"this {identity.noun(mr)} is kept for another namespace, which has or had it. Do not adopt "
                f"it; or have an administrator release it: {self._kept.place(domain)}"
            )
        # Never whose it is: whoever can write a claim could ask for the customers of others.
        if domain not in _asked(mr):
            return (
                f"{identity.noun(mr)} {mr.external_name} has {domain} in AWS, which is kept for another "
                "namespace. Do not adopt it; or have an administrator release the domain: "
                f"{self._kept.place(domain)}"
            )
        return (
            f"{_FIELD}: {domain} is kept for another namespace, whose tenant serves or served it. Remove it "
            f"here; or have an administrator release it: {self._kept.place(domain)}"
        )


def _asked(mr: Managed) -> frozenset[str]:
    blocks = (mr.for_provider, mr.init_provider)
    return frozenset(str(each).lower() for block in blocks for each in block.get("domains") or ())


def _unproven(mr: Managed, seen: Resource, error: AwsError) -> None:
    what = f"{identity.noun(mr)} {seen.name}"
    _log.warning("cannot read tags, so who has what is not recorded", of=what, error=str(error))


def _unreadable(mr: Managed, seen: Resource, error: AwsError) -> ExternalError | NotYet:
    return explain(error, f"read tags of {identity.noun(mr)} {seen.name}", serving=was_ready(mr))


def _refused(mr: Managed, refusals: Mapping[str, str]) -> ExternalError:
    message = "; ".join(refusals.values())
    whole = any(map(name_keys.is_name, refusals))
    reason = Reason.ADOPTION_REFUSED if whole else Reason.DOMAIN_CONFLICT
    conditions = () if was_ready(mr) else (not_ready(reason, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll())
