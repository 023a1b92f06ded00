"""Finds all problems of a creation or an update before the provider writes anything.

    the request itself ─▶ distribution ─▶ its parameters ─▶ certificates ─▶ connection group ─▶ moves

One message lists all problems. A check without permission is skipped, and the event says so. A check that
fails for another reason ends the reconcile, which is retried. The checks do not ask whether someone else has
a domain (see holders.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import not_ready, to_external_error
from provider.cloudfront.checks import dedicated_groups
from provider.cloudfront.checks.holders import Holders
from provider.cloudfront.checks.problems import Permitted, Problem, Result
from provider.cloudfront.domain.moves import Mover
from provider.cloudfront.memory import group_look
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.safety import advice
from provider.cloudfront.state import certificates, identity
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.distribution import Distribution
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant.actions import MoveDomain

__all__ = [
    "Preflight",
    "distribution_key",
    "missing_parameters",
    "missing_parent",
    "name_problems",
    "not_moved",
    "of_creation",
    "of_update",
    "static_problems",
    "unknown_parameters",
]

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]{1,126}[a-zA-Z0-9]")
"""CreateDistributionTenant's pattern for Name (API model)."""
_FIELD: Final = "spec.forProvider."
_ONLY_MOVED: Final = (
    f"{_FIELD}domains: other tenants have all of these domains, and CloudFront does not create a tenant "
    "without a domain. Add one of its own, at least until the others are moved"
)


def of_creation(
    asked: Tenant,
    mover: Mover,
    cloudfront: CloudFront,
    memory: AccountMemory,
    *,
    account: str | None = None,
    rehearsed: bool = False,
) -> Result:
    """Check a tenant before its creation, without calls to AWS if the request itself is incomplete.
    `account`: that of the credentials, for messages. `rehearsed`: in a dry run, no write follows that would
    show whether someone else has a domain.

    Raises:
        AwsError: a check failed for a reason other than a missing permission.
    """
    problems = tuple(static_problems(mover.mr, asked))
    if asked.distribution_id is None or not asked.domains:
        return Result(problems)
    checks = Preflight(cloudfront, memory, mover, account)
    found = [*problems, *checks.distribution(asked), *checks.group(asked)]
    found += checks.coverage(asked, asked.domains)
    holders = checks.holders
    found += holders.sources(asked.domains, None)
    if rehearsed:
        found += holders.conflicts(asked.name, asked.domains - holders.moves.keys(), None)
    found += checks.moved(asked)
    if not asked.domains - holders.moves.keys():
        found.append(_invalid(_ONLY_MOVED))
    return checks.result(found)


def of_update(  # noqa: PLR0913 - what is checked, and with what
    target: Tenant,
    seen: ObservedTenant,
    changed: Iterable[str],
    mover: Mover,
    cloudfront: CloudFront,
    memory: AccountMemory,
    *,
    account: str | None = None,
    rehearsed: bool = False,
) -> Result:
    """Check an update; `changed` are the paths below spec.forProvider that it affects. The others as above.

    Raises:
        AwsError: a check failed for a reason other than a missing permission.
    """
    fields = frozenset(path.partition(".")[0] if path.startswith("param") else path for path in changed)
    checks = Preflight(cloudfront, memory, mover, account)
    domains = target.domains or frozenset()
    added = domains - set(seen.domains)
    found: list[Problem] = []
    if fields & {"distributionId", "parameters"}:
        found += checks.distribution(target)
    if fields & {"connectionGroupId"}:
        found += checks.group(target)
    if fields & {"distributionId", "customizations.certificate"}:
        found += checks.coverage(target, domains)
    elif added:
        found += checks.coverage(target, added)
    holders = checks.holders
    found += holders.sources(added, seen.id)
    if rehearsed:
        found += holders.conflicts(target.name, added - holders.moves.keys(), seen.id)
    found += checks.moved(target, seen)
    return checks.result(found)


def distribution_key(id_: str) -> str:
    """Return under which key an account's shared reads have a distribution."""
    return f"distribution {id_}"


def missing_parent(asked: Tenant, error: AwsError, *, serving: bool = False) -> ExternalError:
    """The error if a parent of the tenant does not exist. It was deleted after its check, or the check was
    skipped. CloudFront's error code does not say which parent; its message may."""
    parents = {"distributionId": asked.distribution_id, "connectionGroupId": asked.connection_group_id}
    named = {field: id_ for field, id_ in parents.items() if id_ and id_ in error.words}
    unclear = "" if len(named) == 1 else ", and AWS does not say which"
    missing = " or ".join(f"{_FIELD}{field} {id_}" for field, id_ in (named or parents).items())
    words = (
        f"{missing} does not exist{unclear}. Correct it, or wait if the provider is recreating that "
        f"connection group. AWS: {error.code}: {error.words}"
    )
    conditions = () if serving else (not_ready(Reason.PARENT_NOT_FOUND, words),)
    return ExternalError(words, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def not_moved(mr: Managed, move: MoveDomain, error: AwsError, *, serving: bool) -> ExternalError | NotYet:
    """The error for a failed move. CloudFront's API reference says that the giving tenant must be disabled
    first; its developer guide requires that only if the tenant is in another account."""
    what = f"move domain {move.domain} from tenant {move.source}"
    if error.code != "IllegalUpdate":
        return to_external_error(error, what, serving=serving)
    message = (
        f"{what}: {error.code}: {error.words}. If CloudFront requires tenant {move.source} to be "
        f"disabled first, {advice.disabling(mr)} until the domain is moved"
    )
    conditions = () if serving else (not_ready(Reason.DOMAIN_CONFLICT, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def static_problems(mr: Managed, asked: Tenant) -> Iterator[Problem]:
    """The problems that need no call to AWS."""
    yield from map(_invalid, name_problems(mr, asked.name))
    if asked.distribution_id is None:
        yield _invalid(f"{_FIELD}distributionId: expected an id, got {_instead(mr)}")
    if not asked.domains:
        yield _invalid(f"{_FIELD}domains: expected at least one domain, got none")
    request = asked.certificate_request
    if request and any(domain.startswith("*.") for domain in asked.domains or ()):
        yield _invalid(f"{_FIELD}domains: expected no wildcard with managedCertificateRequest")
    if request and request.primary_domain and request.primary_domain not in (asked.domains or ()):
        yield _invalid(
            f"{_FIELD}managedCertificateRequest.primaryDomainName: expected one of domains, "
            f"got {request.primary_domain}"
        )


def name_problems(mr: Managed, name: str) -> Iterator[str]:
    """What CloudFront does not accept in the name of a new tenant."""
    if not _NAME.fullmatch(name):
        yield (
            f"{advice.name_field(mr)}: expected 3 to 128 letters, digits, dots and hyphens, "
            f"with a letter or digit at both ends, got {name!r}"
        )


def missing_parameters(mr: Managed, asked: Tenant, distribution: Distribution) -> Iterator[str]:
    """The parameters that the distribution requires and a new tenant lacks."""
    missing = sorted(
        name for name, must in distribution.parameters.items() if must and name not in asked.parameters
    )
    if missing:
        yield (
            f"{_FIELD}parameters: distribution {distribution.id} requires {', '.join(missing)}. Add them "
            f"to {advice.field_to_edit(mr, 'parameters')}"
        )


def unknown_parameters(mr: Managed, asked: Tenant, distribution: Distribution) -> Iterator[str]:
    """The parameters that the distribution does not define."""
    defined = distribution.parameters
    known = f"defines {', '.join(sorted(defined))}" if defined else "defines no parameters"
    where = advice.field_to_edit(mr, "parameters")
    for name in sorted(set(asked.parameters) - set(defined)):
        yield f"{_FIELD}parameters.{name}: distribution {distribution.id} {known}. Remove it from {where}"


def _invalid(message: str) -> Problem:
    return Problem(Reason.VALIDATION_FAILED, message)


def _instead(mr: Managed) -> str:
    fields = {**mr.init_provider, **mr.for_provider}
    if fields.get("distributionIdRef") or fields.get("distributionIdSelector"):
        return "an optional reference that is not resolved; a tenant needs a distribution"
    return "nothing"


@dataclass
class Preflight:
    """The checks that call AWS."""

    cloudfront: CloudFront
    memory: AccountMemory
    mover: Mover
    account: str | None = None
    """For messages; None if it is unknown."""
    permitted: Permitted = field(default_factory=Permitted)
    covered_later: bool = False
    """As in Result."""

    def __post_init__(self) -> None:
        known, log_changes = self.memory.holders, self.memory.log_changes
        self.holders = Holders(self.cloudfront, known, log_changes, self.mover, self.permitted)

    def result(self, found: Iterable[Problem]) -> Result:
        """The result, from the problems and what the calls found."""
        return Result(
            tuple(found),
            self.permitted.denied,
            self.holders.moves,
            covered_later=self.covered_later,
            unfinished=self.holders.unfinished,
            unread=self.holders.unread,
        )

    def distribution(self, asked: Tenant) -> Iterator[Problem]:
        """Check that the distribution exists, is multi-tenant, and that its required parameters are set."""
        id_ = asked.distribution_id or ""
        known, found = self._distribution(id_)
        if not known:
            return
        if found is None:
            words = (
                f"{_FIELD}distributionId: distribution {id_} does not exist{self._in_account}. Correct the "
                "id, or create the distribution"
            )
            yield Problem(Reason.PARENT_NOT_FOUND, words)
        elif not found.multi_tenant:
            words = (
                f"{_FIELD}distributionId: distribution {id_} is not multi-tenant (expected ConnectionMode "
                "tenant-only). Use a multi-tenant distribution"
            )
            yield Problem(Reason.PARENT_NOT_FOUND, words)
        else:
            for words in missing_parameters(self.mover.mr, asked, found):
                yield Problem(Reason.MISSING_PARAMETERS, words)
            yield from map(_invalid, unknown_parameters(self.mover.mr, asked, found))

    @property
    def _in_account(self) -> str:
        """Where it was looked for: the credentials may belong to the wrong account."""
        return f" in AWS account {self.account}" if self.account else ""

    def group(self, asked: Tenant) -> Iterator[Problem]:
        """Check that the connection group exists, and is not only for a claim of another namespace."""
        id_ = asked.connection_group_id
        if id_ is None:
            return
        try:
            _, group = self.permitted.ask(lambda: self.cloudfront.get_group(id_))
        except AwsError as error:
            if not error.absent:
                raise
            words = (
                f"{_FIELD}connectionGroupId: connection group {id_} does not exist{self._in_account}. "
                "Correct the id, or create the group"
            )
            yield Problem(Reason.CONNECTION_GROUP_NOT_FOUND, words)
            return
        if group is not None:
            self.memory.groups.note(group.id, group_look.of(group))
            yield from self._dedicated(group)

    def _dedicated(self, group: ObservedGroup) -> Iterator[Problem]:
        if not dedicated_groups.may_be_closed(group, identity.namespace_of(self.mover.mr)):
            return
        read = partial(self.cloudfront.tags, group.arn)
        _, tags = self.permitted.ask(lambda: self.memory.shared.get(f"tags of {group.arn}", read))
        if dedicated_groups.is_closed(group, tags or {}):
            yield _invalid(
                f"{_FIELD}connectionGroupId: connection group {group.id} is only for a claim of another "
                "namespace. Use another group, or create a ConnectionGroup in this namespace"
            )

    def moved(self, asked: Tenant, seen: ObservedTenant | None = None) -> Iterator[Problem]:
        """Check that a certificate of the tenant covers the domains to move, now or after the update:
        CloudFront moves no others."""
        if self.holders.moves:
            self.covered_later = seen is not None and self._covered_later(asked, seen)
            yield from self.coverage(replace(asked, certificate_request=None), self.holders.moves)

    def _covered_later(self, asked: Tenant, seen: ObservedTenant) -> bool:
        now = replace(
            asked,
            distribution_id=seen.distribution_id,
            customizations=seen.customizations,
            certificate_request=None,
            attached=None,
        )
        then = asked.attached or asked.customizations.certificate_arn
        if (now.distribution_id, now.customizations.certificate_arn) == (asked.distribution_id, then):
            return False
        return bool(self.permitted.denied) or any(self.coverage(now, self.holders.moves))

    def coverage(self, asked: Tenant, domains: Iterable[str]) -> Iterator[Problem]:
        """Check that an issued certificate covers each domain, unless the tenant requests one."""
        own = asked.attached or asked.customizations.certificate_arn
        known, parent = self._distribution(asked.distribution_id or "")
        inherited = parent.certificate_arn if parent else None
        if asked.certificate_request or (known and parent is None):
            return
        if known and not own and not inherited:
            yield Problem(Reason.MISSING_CERTIFICATE, _no_certificate(self.mover.mr, asked))
            return
        names: set[str] = set()
        for arn, path in ((own, "customizations.certificate.arn"), (inherited, "distributionId")):
            if arn is None:
                continue
            told, certificate = self._certificate(arn)
            known &= told
            if told and (certificate is None or not certificate.issued):
                yield _unusable(path, arn, certificate)
                known = False
            names |= certificate.domains if certificate and certificate.issued else frozenset()
        missing = certificates.uncovered(names, domains)
        if known and missing:
            yield Problem(Reason.CERTIFICATE_SAN_MISMATCH, _mismatch(self.mover.mr, missing, names))

    # Calls to AWS.

    def _distribution(self, id_: str) -> tuple[bool, Distribution | None]:
        """Whether the call is permitted, and the distribution. Concurrent reconciles share one call."""
        read = partial(self.cloudfront.distribution, id_)
        return self.permitted.ask(lambda: self.memory.shared.get(distribution_key(id_), read))

    def _certificate(self, arn: str) -> tuple[bool, Certificate | None]:
        read = partial(self.cloudfront.certificate, arn)
        return self.permitted.ask(lambda: self.memory.shared.get(f"certificate {arn}", read))


def _no_certificate(mr: Managed, asked: Tenant) -> str:
    return (
        f"{_FIELD}customizations.certificate: distribution {asked.distribution_id} has no ACM "
        f"certificate. {advice.certificate(mr)}"
    )


def _unusable(path: str, arn: str, certificate: Certificate | None) -> Problem:
    if certificate is None:
        return Problem(
            Reason.MISSING_CERTIFICATE, f"{_FIELD}{path}: ACM has no certificate {arn}. Use another"
        )
    reason = Reason.CERTIFICATE_EXPIRED if certificate.expired else Reason.MISSING_CERTIFICATE
    words = f"{_FIELD}{path}: certificate {arn} is not issued (ACM status {certificate.status})"
    return Problem(reason, f"{words}. Get it issued, or use another")


def _mismatch(mr: Managed, missing: tuple[str, ...], names: Iterable[str]) -> str:
    on_it = ", ".join(sorted(names)[:20]) or "nothing"
    return (
        f"{_FIELD}domains: no certificate covers {', '.join(missing)}; the certificates of the tenant and "
        f"its distribution cover {on_it}. Remove those domains, or: {advice.certificate(mr)}"
    )
