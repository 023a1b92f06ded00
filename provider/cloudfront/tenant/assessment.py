"""The state of a tenant, from its spec, the last write and AWS (pure)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from apis.drift import DriftPolicy
from edgetenants_runtime.managed import Managed
from provider.cloudfront.certificate import outlook as outlooks
from provider.cloudfront.certificate.outlook import Outlook
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.lifecycle.assessment import Assessed, told_apart
from provider.cloudfront.state import applied as records
from provider.cloudfront.state import certificates, diff
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant.plan import NO_MOVES, Moves

__all__ = ["Assessment", "assess"]


@dataclass(frozen=True)
class Assessment(Assessed[Tenant, ObservedTenant]):
    """The state of one tenant."""

    certificate: Certificate | None = None
    request: Request | None = None
    """The certificate to request now."""
    not_before: datetime | None = None
    """After too many certificate requests: when the next one is allowed."""
    held_back: tuple[str, ...] = ()
    """The new domains that need a certificate and wait until then."""
    inherited: Certificate | None = None
    """The distribution's certificate, if it is known and the tenant has none of its own."""
    outlook: Outlook | None = None
    """The attached certificate that AWS cannot renew, and what blocks that."""
    moves: Moves = NO_MOVES
    """The domains to take from other tenants, as found by the checks."""
    unproven: tuple[str, ...] = ()
    """The tenant's domains whose proof is required, and which DNS does not prove any more."""

    @property
    def uncertain(self) -> bool:
        """The attached certificate may no longer be valid."""
        own, attached = self.certificate, self.seen.customizations.certificate_arn
        if attached is None or own is None:
            return False
        return own.lost if own.arn == attached else self.asked.certificate_request is not None

    @property
    def differs(self) -> bool:
        """Something has to be written."""
        return bool(self.todo.all) or self.request is not None

    @property
    def lost(self) -> frozenset[str]:
        """The domains that the update removes."""
        target = self.todo.target.domains
        return frozenset() if target is None else frozenset(self.seen.domains) - target

    @property
    def proven_afresh(self) -> bool:
        """Ownership is proven again before a move: a domain may only move to a tenant that is ours now."""
        return bool(self.moves.sources)


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
    """Compare the desired and the observed tenant.

    Args:
        mr: the managed resource.
        asked: the desired tenant, from its spec.
        seen: the observed tenant.
        default: the drift policy of resources that set none.
        certificate: the tenant's certificate, if known.
        may_request: enough time has passed since the last request that failed.
        not_before: after too many requests, when the next one is allowed.
    """
    applied = records.read(mr.status)
    certificate = certificates.without_detached(certificate, seen.customizations.certificate_arn)
    if (
        asked.certificate_request
        and certificate
        and certificate.issued
        and not _unfit(asked, seen, certificate)
    ):
        asked = replace(asked, attached=certificate.arn)
    merged = partial(diff.merge, asked, applied, seen)
    todo, drift, pending = told_apart(
        mr, asked, applied, default, lambda ignored: diff.compare(merged(ignored), seen)
    )
    lacking = _lacking(todo.target, seen, certificate)
    if lacking and certificate and certificate.pending:
        # Only one request may be pending, and CloudFront accepts no domain without one.
        todo = diff.compare(replace(todo.target, domains=frozenset(seen.domains)), seen)
    elif lacking and not_before:
        # Removals proceed, but a tenant must have a domain.
        rest = (todo.target.domains or frozenset()) - set(lacking) or frozenset(seen.domains)
        todo = diff.compare(replace(todo.target, domains=rest), seen)
    outlook = outlooks.of(
        certificate,
        seen.customizations.certificate_arn,
        asked.certificate_request,
        todo.target.domains or frozenset(seen.domains),
        dns_instructions.states(mr.status),
    )
    request = _request(todo.target, seen, certificate, outlook, may_request=may_request)
    return Assessment(
        asked,
        applied,
        seen,
        todo,
        drift,
        pending,
        certificate,
        request,
        not_before=not_before,
        held_back=lacking if not_before and not (certificate and certificate.pending) else (),
        outlook=outlook,
    )


def _request(
    target: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    outlook: Outlook | None,
    *,
    may_request: bool,
) -> Request | None:
    """The certificate to request now; None while a request is pending."""
    if target.certificate_request is None or (certificate and certificate.pending):
        return None
    due = certificates.needs_request(certificate, seen.inactive_domains) or _unfit(target, seen, certificate)
    if outlook and not seen.inactive_domains:
        # A valid certificate serves every domain: nothing but its renewal is a reason.
        due = outlook.due and (due or outlook.replacement is None)
    needed = _lacking(target, seen, certificate) or (due and may_request)
    return target.certificate_request if needed else None


def _unfit(asked: Tenant, seen: ObservedTenant, certificate: Certificate | None) -> bool:
    served = set(seen.active_domains) & (asked.domains or seen.domains.keys())
    return certificates.unfit(certificate, seen.customizations.certificate_arn, served)


def _lacking(target: Tenant, seen: ObservedTenant, certificate: Certificate | None) -> tuple[str, ...]:
    """The new domains that need a certificate request."""
    if target.certificate_request is None:
        return ()
    names = certificate.domains if certificate and certificate.issued else ()
    return certificates.uncovered(names, (target.domains or frozenset()) - set(seen.domains))
