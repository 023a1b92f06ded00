"""Everything that is wrong with a creation or a change, found before anything is written.

    the request itself ─▶ distribution ─▶ its parameters ─▶ certificates ─▶ connection group ─▶ domains

All problems are told at once. A check that may not be made for lack of permission is left out and told of;
one that fails for another reason ends the reconcile, which comes again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront import certificates, disclosure
from provider.cloudfront.actions import MoveDomain
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.certificates import Certificate
from provider.cloudfront.desired import Tenant
from provider.cloudfront.distribution import Distribution
from provider.cloudfront.domaincalls import Conflict
from provider.cloudfront.domainmoves import Mover
from provider.cloudfront.errors import AwsError, explain, not_ready
from provider.cloudfront.identity import OWNER_TAG
from provider.cloudfront.memory import Memory
from provider.cloudfront.observed import ObservedTenant

__all__ = [
    "Preflight",
    "Problem",
    "Result",
    "missing_parent",
    "not_moved",
    "of_creation",
    "of_update",
    "static_problems",
]

_log = structlog.get_logger("provider.cloudfront.preflight")

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]{1,126}[a-zA-Z0-9]")
"""CreateDistributionTenant's pattern for Name (API model)."""
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_FIELD: Final = "spec.forProvider."
_ONLY_MOVED: Final = (
    f"{_FIELD}domains: CloudFront creates no tenant without a domain, and every one here is another "
    "tenant's. Add one of its own, at least until the others are moved"
)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Problem:
    """One thing that cannot work."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Result:
    """What was found."""

    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Operations for which the permission lacks."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """The domains that may be taken from other tenants, with these as they may be named."""

    @property
    def reason(self) -> Reason:
        """Of all problems, where it is one; else ValidationFailed."""
        reasons = {problem.reason for problem in self.problems}
        return reasons.pop() if len(reasons) == 1 else Reason.VALIDATION_FAILED

    @property
    def message(self) -> str:
        """All problems on one line."""
        return "; ".join(problem.message for problem in self.problems)


def of_creation(asked: Tenant, mover: Mover, cloudfront: CloudFront, memory: Memory) -> Result:
    """Check a tenant that is to be created. Where the request itself is incomplete, AWS is not asked.

    Raises:
        AwsError: a check failed for another reason than a missing permission.
    """
    problems = tuple(static_problems(mover.mr, asked))
    if asked.distribution_id is None or not asked.domains:
        return Result(problems)
    checks = Preflight(cloudfront, memory, mover)
    found = [*problems, *checks.parents(asked), *checks.coverage(asked, asked.domains)]
    found += checks.conflicts(asked.name, asked.domains, None)
    found += checks.moved(asked)
    if not asked.domains - checks.moves.keys():
        found.append(_invalid(_ONLY_MOVED))
    return Result(tuple(found), checks.unchecked, checks.moves)


def of_update(
    target: Tenant,
    seen: ObservedTenant,
    changed: Iterable[str],
    mover: Mover,
    cloudfront: CloudFront,
    memory: Memory,
) -> Result:
    """Check what a change of the spec touches; `changed` are paths below spec.forProvider.

    Raises:
        AwsError: a check failed for another reason than a missing permission.
    """
    fields = frozenset(path.partition(".")[0] if path.startswith("param") else path for path in changed)
    checks = Preflight(cloudfront, memory, mover)
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
    found += checks.conflicts(target.name, added, seen.id)
    found += checks.moved(target)
    return Result(tuple(found), checks.unchecked, checks.moves)


def missing_parent(asked: Tenant, error: AwsError, *, serving: bool = False) -> ExternalError:
    """CloudFront misses a parent of a tenant and does not say which; it went after it was checked, or could
    not be."""
    words = (
        f"{_FIELD}distributionId {asked.distribution_id} or connectionGroupId {asked.connection_group_id}: "
        f"{error.code}: {error.words}"
    )
    conditions = () if serving else (not_ready(Reason.PARENT_NOT_FOUND, words),)
    return ExternalError(words, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def not_moved(move: MoveDomain, error: AwsError, *, serving: bool) -> ExternalError | NotYet:
    """A domain was not moved. CloudFront's API reference has it that the tenant that gives it must be
    disabled first; its developer guide, only where that is another account's."""
    words = explain(error, f"move domain {move.domain} from tenant {move.source}", serving=serving)
    if error.code != "IllegalUpdate":
        return words
    message = (
        f"{words.message}. If CloudFront wants tenant {move.source} disabled first, set "
        f"{_FIELD}enabled to false there until the domain is moved"
    )
    conditions = () if serving else (not_ready(Reason.DOMAIN_CONFLICT, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def static_problems(mr: Managed, asked: Tenant) -> Iterator[Problem]:
    """What needs no call to be seen."""
    if not _NAME.fullmatch(asked.name):
        yield _invalid(
            f"metadata.annotations[{EXTERNAL_NAME}]: expected 3 to 128 letters, digits, dots and hyphens, "
            f"with a letter or digit at both ends, got {asked.name!r}"
        )
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


def _invalid(message: str) -> Problem:
    return Problem(Reason.VALIDATION_FAILED, message)


def _instead(mr: Managed) -> str:
    fields = {**mr.init_provider, **mr.for_provider}
    if fields.get("distributionIdRef") or fields.get("distributionIdSelector"):
        return "a reference of policy Optional that leads to none; without a distribution there is no tenant"
    return "nothing"


@dataclass
class Preflight:
    """The checks that ask AWS."""

    cloudfront: CloudFront
    memory: Memory
    mover: Mover
    denied: set[str] = field(default_factory=set)
    moves: dict[str, str] = field(default_factory=dict)
    """As in Result."""

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The operations that were not permitted."""
        return tuple(sorted(self.denied))

    def parents(self, asked: Tenant) -> list[Problem]:
        """Distribution and connection group."""
        return [*self.distribution(asked), *self.group(asked)]

    def distribution(self, asked: Tenant) -> Iterator[Problem]:
        """The distribution is there, can have tenants, and its parameters are given."""
        id_ = asked.distribution_id or ""
        known, found = self._distribution(id_)
        if not known:
            return
        if found is None:
            words = f"{_FIELD}distributionId: distribution {id_} does not exist"
            yield Problem(Reason.PARENT_NOT_FOUND, words)
        elif not found.multi_tenant:
            words = (
                f"{_FIELD}distributionId: distribution {id_} is none that has tenants: it is not tenant-only"
            )
            yield Problem(Reason.PARENT_NOT_FOUND, words)
        else:
            yield from _parameters(asked, found)

    def group(self, asked: Tenant) -> Iterator[Problem]:
        """The connection group is there."""
        id_ = asked.connection_group_id
        if id_ is None:
            return
        try:
            group = self._ask(lambda: self.cloudfront.get_group(id_))
        except AwsError as error:
            if not error.absent:
                raise
            words = f"{_FIELD}connectionGroupId: connection group {id_} does not exist"
            yield Problem(Reason.CONNECTION_GROUP_NOT_FOUND, words)
            return
        if group is not None:
            self.memory.note_endpoint(group.id, group.routing_endpoint)

    def moved(self, asked: Tenant) -> Iterator[Problem]:
        """CloudFront moves a domain only where a certificate covers it already."""
        if self.moves:
            yield from self.coverage(replace(asked, certificate_request=None), self.moves)

    def coverage(self, asked: Tenant, domains: Iterable[str]) -> Iterator[Problem]:
        """A certificate that is issued covers each of the domains, or one is asked for with them."""
        own = asked.attached or asked.customizations.certificate_arn
        known, parent = self._distribution(asked.distribution_id or "")
        inherited = parent.certificate_arn if parent else None
        if asked.certificate_request or (known and parent is None):
            return
        if known and not own and not inherited:
            yield Problem(Reason.MISSING_CERTIFICATE, _no_certificate(asked))
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
            yield Problem(Reason.CERTIFICATE_SAN_MISMATCH, _mismatch(missing, names))

    def conflicts(self, name: str, domains: Iterable[str], tenant: str | None) -> Iterator[Problem]:
        """Nobody else has a domain. `tenant` is our own, by which other accounts' are found too."""
        for domain in sorted(domains):
            holder = self._ask(partial(self.cloudfront.tenant_of_domain, domain))
            if holder is not None and holder.name != name:
                yield from self._held(domain, holder)
            elif tenant is not None:
                yield from self._elsewhere(domain, tenant)

    def _held(self, domain: str, holder: ObservedTenant) -> Iterator[Problem]:
        owner = (self._ask(lambda: self.cloudfront.tags(holder.arn)) or {}).get(OWNER_TAG)
        refusal = self.mover.refusal(holder, owner)
        mr, installation = self.mover.mr, self.mover.installation
        if not refusal:
            self.moves[domain] = disclosure.source(mr, installation, holder, owner)
            return
        self._note(domain, tenant=holder.name, tenant_id=holder.id, owner=owner)
        words = f"{domain} is served by {disclosure.holder(mr, installation, holder, owner)}. {refusal}"
        yield Problem(Reason.DOMAIN_CONFLICT, f"{_FIELD}domains: {words}")

    def _note(self, domain: str, **found: str | None) -> None:
        """Tell those who run the provider what the message may not name."""
        if self.memory.is_news(self.mover.mr.uid, f"domain {domain}", tuple(found.items())):
            _log.warning("a domain is served by another tenant", domain=domain, **found)

    def _elsewhere(self, domain: str, tenant: str) -> Iterator[Problem]:
        try:
            found = self._ask(lambda: self.cloudfront.conflicts(domain, tenant)) or ()
        except AwsError as error:
            if error.code != "InvalidArgument" and not error.absent:
                raise
            # No certificate of ours covers it, so CloudFront does not tell.
            return
        for conflict in found:
            if conflict.domain == domain and conflict.id != tenant:
                yield Problem(Reason.DOMAIN_CONFLICT, self._in_the_way(conflict))

    def _in_the_way(self, conflict: Conflict) -> str:
        who = f"{conflict.kind} {conflict.id} of account {conflict.account}"
        if conflict.kind == "distribution-tenant" and "*" not in conflict.account:
            # One of this account, which CloudFront does not mask; whose it is, is not known here.
            self._note(conflict.domain, tenant_id=conflict.id)
            who = f"another tenant of this account. {disclosure.HIDDEN}"
        return f"{_FIELD}domains: {conflict.domain} is served by {who}. Release it there, or remove it here"

    # Asking.

    def _distribution(self, id_: str) -> tuple[bool, Distribution | None]:
        """Whether it is known, and the distribution; tenants that are made together share one call."""
        return self._answer(f"distribution {id_}", lambda: self.cloudfront.distribution(id_))

    def _certificate(self, arn: str) -> tuple[bool, Certificate | None]:
        return self._answer(f"certificate {arn}", lambda: self.cloudfront.certificate(arn))

    def _answer(self, what: str, ask: Callable[[], Answer | None]) -> tuple[bool, Answer | None]:
        try:
            return True, self.memory.shared(what, ask)
        except AwsError as error:
            if error.code not in _DENIED:
                raise
            self.denied.add(error.operation)
            return False, None

    def _ask(self, ask: Callable[[], Answer]) -> Answer | None:
        try:
            return ask()
        except AwsError as error:
            if error.code not in _DENIED:
                raise
            self.denied.add(error.operation)
            return None


def _parameters(asked: Tenant, distribution: Distribution) -> Iterator[Problem]:
    given, defined = set(asked.parameters), set(distribution.parameters)
    missing = sorted(name for name, must in distribution.parameters.items() if must and name not in given)
    if missing:
        words = f"{_FIELD}parameters: distribution {distribution.id} requires {', '.join(missing)}"
        yield Problem(Reason.MISSING_PARAMETERS, words)
    for name in sorted(given - defined):
        known = f"defines {', '.join(sorted(defined))}" if defined else "defines none"
        yield _invalid(f"{_FIELD}parameters.{name}: distribution {distribution.id} {known}")


def _no_certificate(asked: Tenant) -> str:
    return (
        f"{_FIELD}customizations.certificate: distribution {asked.distribution_id} has no certificate of "
        "ACM. Name one here, or add managedCertificateRequest"
    )


def _unusable(path: str, arn: str, certificate: Certificate | None) -> Problem:
    if certificate is None:
        return Problem(Reason.MISSING_CERTIFICATE, f"{_FIELD}{path}: ACM has no certificate {arn}")
    reason = Reason.CERTIFICATE_EXPIRED if certificate.expired else Reason.MISSING_CERTIFICATE
    return Problem(reason, f"{_FIELD}{path}: certificate {arn} is not issued, ACM says {certificate.status}")


def _mismatch(missing: tuple[str, ...], names: Iterable[str]) -> str:
    on_it = ", ".join(sorted(names)[:20]) or "nothing"
    return (
        f"{_FIELD}domains: no certificate covers {', '.join(missing)}; those of the tenant and of its "
        f"distribution cover {on_it}. Use another certificate or domain, or add managedCertificateRequest"
    )
