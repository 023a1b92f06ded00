"""Keeps domains for the namespace that has them while their tenant is recreated.

Between the deletion of a tenant and the creation of the next one, its domains have no owner in AWS, and a
namespace that waits for one would get it. So the provider records which namespace has a domain, and refuses
the domain to all others until the record ends:

    AWS shows that our tenant, by its owner tag, has the active domain ─▶ keep it for its namespace
    before it deletes a tenant or removes a domain                     ─▶ keep first, then write
    before it creates a tenant, adds a domain or adopts                ─▶ refuse if kept for another namespace

Nothing in a spec or a status makes a record. The provider keeps the names of tenants and connection groups in
the same way: name_keys.py has their keys, and kept_names.py refuses them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import islice
from typing import Final, Protocol

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import not_ready, to_external_error
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.ownership import judgement
from provider.cloudfront.ownership.judgement import Resource
from provider.cloudfront.safety import name_keys
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import Observed

__all__ = [
    "NOTHING",
    "Keeper",
    "KeptDomains",
    "OnlyLooks",
    "OnlyRead",
    "RecordsFailed",
    "asked",
    "taken",
]

_log = structlog.get_logger("provider.cloudfront.keptdomains")

_FIELD: Final = "spec.forProvider.domains"
_AGAIN_SECONDS: Final = 5.0
_TOLD: Final = 20
_MOST_LOGGED: Final = 20
"""Maximum number of domains in one log line."""


class RecordsFailed(Exception):  # noqa: N818 - says what happened
    """The records could not be read or written; the message says why."""


class KeptDomains(Protocol):
    """The records of all accounts, because a domain is unique over all of them. The records of names are
    among those of domains, under the keys of name_keys.py. Thread-safe."""

    @property
    def known(self) -> bool:
        """Whether the records have been read."""
        ...

    @property
    def recording(self) -> bool:
        """Whether this makes records."""
        ...

    def holder(self, domain: str) -> str | None:
        """Return the namespace for which a domain is kept, "" for cluster-scoped resources without a claim,
        and None for a free domain.

        Raises:
            RecordsFailed: the records have not been read.
        """
        ...

    def reread(self, domains: Iterable[str]) -> None:
        """Read the records of these domains again: an administrator may have released one.

        Raises:
            RecordsFailed: they cannot be read.
        """
        ...

    def reread_free(self, domains: Iterable[str]) -> None:
        """Read the records of those of these domains again that seem to be free, if other processes write
        records, too.

        Raises:
            RecordsFailed: they cannot be read.
        """
        ...

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """Keep domains for a namespace. Once this returns, they stay kept even if the process dies.

        Raises:
            RecordsFailed: not all are recorded.
        """
        ...

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """Note that the provider observed these active domains on the tenant of a managed resource, and the
        key of its name. Writes nothing."""
        ...

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """Note that the tenant of a managed resource was deleted, as desired. The keys of its name no longer
        vouch for it, even if the process dies; a failed write is retried."""
        ...

    def on_hold(self, mr: Managed) -> None:
        """Note that the tenant of a managed resource is gone and its recreation is on hold: its time does not
        run out in the meantime. Writes nothing."""
        ...

    def vouches(self, key: str, namespace: str) -> bool:
        """Whether a tenant of the namespace had the name, and the provider did not delete it since."""
        ...

    def place(self, domain: str) -> str:
        """Return where an administrator finds the record of a domain."""
        ...


class _Nothing:
    """Keeps nothing."""

    known = True
    recording = False

    def holder(self, domain: str) -> None:
        """See KeptDomains."""

    def reread(self, domains: Iterable[str]) -> None:
        """See KeptDomains."""

    def reread_free(self, domains: Iterable[str]) -> None:
        """See KeptDomains."""

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """See KeptDomains."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """See KeptDomains."""

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """See KeptDomains."""

    def on_hold(self, mr: Managed) -> None:
        """See KeptDomains."""

    def vouches(self, key: str, namespace: str) -> bool:  # noqa: ARG002 - without records, nothing is denied
        """See KeptDomains."""
        return True

    def place(self, domain: str) -> str:
        """See KeptDomains."""
        return domain


NOTHING: Final[KeptDomains] = _Nothing()
"""Used if the provider keeps no domains."""


class OnlyRead:
    """Reads the records and makes none: for rehearsals, and for responses that prove nothing."""

    recording = False

    def __init__(self, kept: KeptDomains) -> None:
        self._kept = kept
        self.holder, self.reread, self.place = kept.holder, kept.reread, kept.place
        self.reread_free, self.vouches = kept.reread_free, kept.vouches

    @property
    def known(self) -> bool:
        """See KeptDomains."""
        return self._kept.known

    def hold(self, domains: Iterable[str], namespace: str) -> None:
        """Do nothing."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """Do nothing."""

    def deleted(self, mr: Managed, names: frozenset[str]) -> None:
        """Do nothing."""

    def on_hold(self, mr: Managed) -> None:
        """Do nothing."""


class OnlyLooks(OnlyRead):
    """Like OnlyRead, for clients that really observe AWS but never write: their observations are true.
    Without them, the time of a tenant that serves would start to run. It does not stop the time, or an
    annotation would keep a domain without a tenant forever."""

    def looked(self, mr: Managed, active: frozenset[str]) -> None:
        """See KeptDomains."""
        self._kept.looked(mr, active)


class Keeper:
    """Records domains and names for the external client of one managed resource, and refuses domains."""

    def __init__(
        self,
        kept: KeptDomains,
        cloudfront: CloudFront,
        memory: AccountMemory,
        installation: str,
        account: str | None = None,
    ) -> None:
        """Without a known account, the Keeper keeps no names: a name is unique only in its account."""
        self._kept = kept
        self._cloudfront, self._memory = cloudfront, memory
        self._installation, self._account = installation, account

    # What AWS returned.

    def saw(self, mr: Managed, seen: Observed) -> None:
        """Record the name and the active domains of an observed external resource that are not recorded yet,
        if the owner tag proves that it belongs to this resource. In a steady state this neither reads nor
        writes anything.

        Raises:
            NotYet: a domain is kept for another namespace, and the tags cannot be read at present.
            ExternalError: a domain is kept for another namespace, and the external resource is not proven to
                belong to this resource; or the tags cannot be read.
        """
        has = self._has(mr, seen)
        self._kept.looked(mr, has)
        if not self._kept.known:
            # The holders are unknown. A write waits for the records; an observation does not.
            return
        new, others = self._unrecorded(mr, has), self._others(mr, _kept(seen.domains))
        if not new and not others:
            return
        matters = bool(others) and judgement.writes(mr) and not mr.deleted
        try:
            proven = self._proven(mr, seen, (seen.arn, new, others))
        except AwsError as error:
            if matters:
                # It is uncertain whether it is ours.
                raise _unreadable(mr, seen, error) from error
            _unproven(mr, seen, error)
            return
        if proven:
            self._try_to_hold(mr, new)
        elif matters and (refusals := self.refusals(mr, others)):
            raise _refused(mr, refusals)

    def made(self, mr: Managed, seen: Observed) -> None:
        """Record what an answer of AWS shows of what this resource created with its owner tag, or changed
        after the provider had read that: both are proof."""
        has = self._has(mr, seen)
        self._kept.looked(mr, has)
        if self._kept.known and (new := self._unrecorded(mr, has)):
            self._try_to_hold(mr, new)

    def gone(self, mr: Managed) -> None:
        """Note that the external resource does not exist."""
        self._kept.looked(mr, frozenset())

    def deleted(self, mr: Managed, seen: Resource) -> None:
        """Note that the provider deleted the external resource."""
        self._kept.deleted(mr, self._name(mr, seen))

    def gone_as_wanted(self, mr: Managed) -> None:
        """Note that the external resource of a resource that is being deleted does not exist. The answer to
        the provider's deletion may have been lost, or the process that sent it; so its name vouches for no
        loss."""
        if self._account:
            name = name_keys.key_of(mr.kind, self._account, mr.external_name or mr.name)
            self._kept.deleted(mr, frozenset({name}))

    def held(self, mr: Managed, domains: Iterable[str]) -> frozenset[str]:
        """Return those of the domains that are kept for this resource's namespace."""
        if not self._kept.known:
            return frozenset()
        namespace = identity.namespace_of(mr)
        return frozenset(domain for domain in domains if self._kept.holder(domain) == namespace)

    # Before a write.

    def before_loss(self, mr: Managed, seen: Observed, domains: Iterable[str]) -> None:
        """Record these domains before the provider removes them from the external resource.

        Raises:
            NotYet: the records cannot be written at present.
            ExternalError: the tags cannot be read.
        """
        try:
            lost = frozenset(domains).intersection(seen.active_domains)
            new = self._unrecorded(mr, _kept(lost))
            if new and self._proves(mr, seen):
                self._kept.hold(new, identity.namespace_of(mr))
        except RecordsFailed as error:
            it = f"{identity.noun(mr)} {seen.name}"
            words = f"{it} waits until its domains are recorded: {error}"
            raise NotYet(words, after=self._until_recorded(mr)) from error
        except AwsError as error:
            raise _unreadable(mr, seen, error) from error

    def before_taking(self, mr: Managed, seen: Observed) -> None:
        """Check the records before the provider writes to a tenant or connection group that is not proven to
        belong to this resource: it may adopt it, with its name and domains. As for a creation, the records
        must be known. An observation does not wait for them.

        Raises:
            NotYet: the records cannot be read at present.
            ExternalError: a record is kept for another namespace, or the tags cannot be read.
        """
        kept = self.not_for(mr, seen)
        try:
            if kept and not self._proves(mr, seen):
                raise _refused(mr, kept)
        except AwsError as error:
            raise _unreadable(mr, seen, error) from error

    def not_for(self, mr: Managed, seen: Observed) -> Mapping[str, str]:
        """Return the name and the domains of a tenant or connection group that this resource may not have,
        like `refusals`.

        Raises:
            NotYet: the records cannot be read at present.
        """
        return self.refusals(mr, {*_kept(seen.domains), *self._name(mr, seen)})

    def refusals(self, mr: Managed, domains: Iterable[str]) -> Mapping[str, str]:
        """Return the domains that this resource may not have, each with its message. Before it refuses a
        domain, it reads the record again: an administrator may have released the domain.

        Raises:
            NotYet: the records cannot be read at present; a domain without a known record is not free.
        """
        domains = tuple(domains)
        try:
            self._kept.reread_free(domains)
            others = self._others(mr, domains)
            if others:
                self._kept.reread(others)
                others = self._others(mr, others)
        except RecordsFailed as error:
            it = f"{identity.noun(mr)} {mr.external_name}"
            words = f"{it} waits until the records of its name and domains are read: {error}"
            raise NotYet(words, after=self._until_recorded(mr)) from error
        self._log(mr, others)
        return {domain: self._refusal(mr, domain) for domain in others}

    # Parts.

    def _log(self, mr: Managed, domains: Collection[str]) -> None:
        """Tell the platform team what a message may not name: one line for all, as there may be hundreds."""
        holders = {domain: self._kept.holder(domain) for domain in sorted(domains)}
        if holders and self._memory.log_changes.is_new(mr.uid, "kept", hash(tuple(holders.items()))):
            some = dict(islice(holders.items(), _MOST_LOGGED))
            _log.warning("domains are kept for other namespaces", kept_for=some, domains=len(holders))

    def _until_recorded(self, mr: Managed) -> float:
        return self._memory.records.pause(mr.uid, "", _AGAIN_SECONDS)

    def _has(self, mr: Managed, seen: Observed) -> frozenset[str]:
        """Return what may be recorded."""
        return _kept(seen.active_domains) | self._name(mr, seen)

    def _name(self, mr: Managed, seen: Resource) -> frozenset[str]:
        """Return the key of its name, even if the resource refers to it by id: the record identifies the
        namespace after the owner tag is lost."""
        return frozenset({name_keys.key_of(mr.kind, self._account, seen.name)} if self._account else ())

    def _unrecorded(self, mr: Managed, domains: Iterable[str]) -> tuple[str, ...]:
        # Skip observe-only resources: an import may create thousands, and most have no owner.
        if not self._kept.recording or not judgement.writes(mr):
            return ()
        namespace, listed = identity.namespace_of(mr), asked(mr)

        def is_new(domain: str) -> bool:
            holder = self._kept.holder(domain)
            # A domain that someone moved here by hand, and the spec does not list, is drift: it goes back to
            # the namespace for which it is kept.
            strays = holder is not None and domain not in listed and not name_keys.is_name(domain)
            return holder != namespace and not strays

        return tuple(sorted(filter(is_new, domains)))

    def _others(self, mr: Managed, domains: Iterable[str]) -> tuple[str, ...]:
        free = (None, identity.namespace_of(mr))
        return tuple(sorted(domain for domain in domains if self._kept.holder(domain) not in free))

    def _proven(self, mr: Managed, seen: Resource, what: Hashable) -> bool:
        # Ask again after the provider reads or sets the owner tag, as in an adoption.
        owned = self._memory.proofs.of(mr.uid)
        about = (what, owned and owned.at)
        known = self._memory.tag_checks.last(mr.uid, about)
        if known is not None:
            return known
        proven = self._proves(mr, seen)
        self._memory.tag_checks.note(mr.uid, about, proven=proven)
        return proven

    def _proves(self, mr: Managed, seen: Resource) -> bool:
        """Whether the owner tag in AWS names this resource. Read each time, because the tag may hand a tenant
        over; callers ask only for new domains and names."""
        owner = self._cloudfront.tags(seen.arn).get(identity.OWNER_TAG)
        return owner == identity.owner_of(mr, self._installation, seen.name)

    def _try_to_hold(self, mr: Managed, domains: tuple[str, ...]) -> None:
        try:
            self._kept.hold(domains, identity.namespace_of(mr))
        except RecordsFailed as error:
            # The next observation retries; a write that removes a domain waits for it.
            _log.warning("cannot record the owner of domains", domains=domains[:_TOLD], error=str(error))

    def _refusal(self, mr: Managed, domain: str) -> str:
        if name_keys.is_name(domain):
            return (
                f"this {identity.noun(mr)} is kept for another namespace, which has or had it. Do not adopt "
                f"it, or have an administrator release it: {self._kept.place(domain)}"
            )
        # Never name the owner: anyone who can write a claim could list the customers of others.
        if domain not in asked(mr):
            return (
                f"{identity.noun(mr)} {mr.external_name} has {domain} in AWS, which is kept for another "
                "namespace. Do not adopt it, or have an administrator release the domain: "
                f"{self._kept.place(domain)}"
            )
        return taken(_FIELD, domain, self._kept.place(domain))


def taken(field: str, domain: str, place: str) -> str:
    """Return what to do about a domain in a field that is kept for another namespace. It does not name that
    namespace: anyone who can write a claim could list the customers of others."""
    return (
        f"{field}: {domain} is kept for another namespace, whose tenant serves or served it. Remove it "
        f"here, or have an administrator release it: {place}"
    )


def _kept(domains: Iterable[str]) -> frozenset[str]:
    """Return those domains in AWS that are kept. One with an underscore is not: no spec can list it, and its
    key could be that of a name, whose record would belong to the one that added the domain."""
    return frozenset(domain for domain in domains if "_" not in domain)


def asked(mr: Managed) -> frozenset[str]:
    """Return the domains that the spec lists, in lower case."""
    blocks = (mr.for_provider, mr.init_provider)
    return frozenset(str(each).lower() for block in blocks for each in block.get("domains") or ())


def _unproven(mr: Managed, seen: Resource, error: AwsError) -> None:
    what = f"{identity.noun(mr)} {seen.name}"
    _log.warning("cannot read tags, so its name and domains are not recorded", of=what, error=str(error))


def _unreadable(mr: Managed, seen: Resource, error: AwsError) -> ExternalError | NotYet:
    return to_external_error(error, f"read tags of {identity.noun(mr)} {seen.name}", serving=was_ready(mr))


def _refused(mr: Managed, refusals: Mapping[str, str]) -> ExternalError:
    message = "; ".join(refusals.values())
    whole = any(map(name_keys.is_name, refusals))
    reason = Reason.ADOPTION_REFUSED if whole else Reason.DOMAIN_CONFLICT
    conditions = () if was_ready(mr) else (not_ready(reason, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll())
