"""The state of a tenant: spec, last write and AWS taken together (pure)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Attempt
from provider.cloudfront.state import applied as records
from provider.cloudfront.state import certificates, diff
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import Diff
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["Assessment", "assess", "attempt", "is_ineffective"]

_TRIES = 2


@dataclass(frozen=True)
class Assessment:
    """The state of one tenant."""

    asked: Tenant
    """What spec.forProvider says."""
    applied: Applied
    seen: ObservedTenant
    todo: Diff
    """What may be brought about under the drift policy."""
    drift: tuple[FieldDiff, ...]
    """What somebody changed behind the provider's back, as far as it is shown."""
    pending: tuple[FieldDiff, ...]
    """What the spec asks for anew."""
    certificate: Certificate | None = None
    request: Request | None = None
    """The certificate that has to be asked for now."""
    not_before: datetime | None = None
    """Where certificates were asked for too often: when the next one may be."""
    held_back: tuple[str, ...] = ()
    """The new domains that are not added before, as they need one."""

    @property
    def uncertain(self) -> bool:
        """The certificate that is attached may be no good any more."""
        own, attached = self.certificate, self.seen.customizations.certificate_arn
        if attached is None or own is None:
            return False
        return own.lost if own.arn == attached else self.asked.certificate_request is not None

    @property
    def marked(self) -> bool:
        """Its owner tag, as far as its tags are known, says that it is this resource's."""
        seen, asked = self.seen.tags or {}, self.asked.tags or {}
        return OWNER_TAG in seen and seen[OWNER_TAG] == asked.get(OWNER_TAG)

    @property
    def differs(self) -> bool:
        """There is something to do."""
        return bool(self.todo.all) or self.request is not None


def assess(  # noqa: PLR0913 - what it depends on, by name
    mr: Managed,
    asked: Tenant,
    seen: ObservedTenant,
    default: DriftPolicy,
    certificate: Certificate | None = None,
    *,
    may_request: bool = False,
    not_before: datetime | None = None,
) -> Assessment:
    """Compare.

    Args:
        mr: the managed resource.
        asked: what its spec says.
        seen: what is there.
        default: the drift policy of resources that say none.
        certificate: the tenant's, as far as it is known.
        may_request: enough time has passed since the last request that came to nothing.
        not_before: when the next one may be asked for, where that was done too often.
    """
    applied = records.read(mr.status)
    certificate = certificates.beside(certificate, seen.customizations.certificate_arn)
    if (
        asked.certificate_request
        and certificate
        and certificate.issued
        and not _unfit(asked, seen, certificate)
    ):
        asked = replace(asked, attached=certificate.arn)
    ignored = frozenset(mr.spec.get("ignoreDrift") or ())
    policy = DriftPolicy(mr.spec.get("driftPolicy") or default)
    todo = diff.compare(diff.merge(asked, applied, seen, ignored), seen)
    drift = tuple(d for d in todo.all if not applied.changed(records.field_of(d.field), asked))
    pending = tuple(d for d in todo.all if applied.changed(records.field_of(d.field), asked))
    if policy is not DriftPolicy.ENFORCE:
        left = ignored | {d.field for d in drift}
        todo = diff.compare(diff.merge(asked, applied, seen, left), seen)
    lacking = _lacking(todo.target, seen, certificate)
    if lacking and certificate and certificate.pending:
        # Only one request may be pending, and CloudFront takes no domain without one.
        todo = diff.compare(replace(todo.target, domains=frozenset(seen.domains)), seen)
    elif lacking and not_before:
        # What goes, goes; but a tenant must have a domain.
        rest = (todo.target.domains or frozenset()) - set(lacking) or frozenset(seen.domains)
        todo = diff.compare(replace(todo.target, domains=rest), seen)
    shown = () if policy is DriftPolicy.SUSPEND else drift
    request = _request(todo.target, seen, certificate, may_request=may_request)
    return Assessment(
        asked,
        applied,
        seen,
        todo,
        shown,
        pending,
        certificate,
        request,
        not_before=not_before,
        held_back=lacking if not_before and not (certificate and certificate.pending) else (),
    )


def _request(
    target: Tenant, seen: ObservedTenant, certificate: Certificate | None, *, may_request: bool
) -> Request | None:
    """What to ask CloudFront for now. Never while a request is pending."""
    if target.certificate_request is None or (certificate and certificate.pending):
        return None
    wanting = certificates.wanting(certificate, seen.inactive_domains) or _unfit(target, seen, certificate)
    needed = _lacking(target, seen, certificate) or (wanting and may_request)
    return target.certificate_request if needed else None


def _unfit(asked: Tenant, seen: ObservedTenant, certificate: Certificate | None) -> bool:
    served = set(seen.active_domains) & (asked.domains or seen.domains.keys())
    return certificates.unfit(certificate, seen.customizations.certificate_arn, served)


def _lacking(target: Tenant, seen: ObservedTenant, certificate: Certificate | None) -> tuple[str, ...]:
    """The new domains that need a certificate to be asked for."""
    if target.certificate_request is None:
        return ()
    names = certificate.domains if certificate and certificate.issued else ()
    return certificates.uncovered(names, (target.domains or frozenset()) - set(seen.domains))


def attempt(after: Assessment) -> Attempt | None:
    """What to remember of an update; None when it left no difference."""
    left = after.todo.all
    if not left:
        return None
    fields = tuple((d.field, d.desired, d.observed) for d in left)
    return Attempt(_digest(after), fields, after.seen.etag, 1)


def is_ineffective(now: Assessment, last: Attempt | None) -> bool:
    """The update was made twice, and neither the spec nor the tenant moved since."""
    current = attempt(now)
    if last is None or current is None or last.count < _TRIES:
        return False
    return (current.asked, current.left, current.etag) == (last.asked, last.left, last.etag)


def _digest(assessment: Assessment) -> str:
    return str(records.record(assessment.asked, "")["hash"])
