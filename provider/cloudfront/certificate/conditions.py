"""What is said of a tenant's certificate (pure).

CertificateReady   the managed certificate that was asked for, on its way; or a custom one that expired
Ready              only where a domain is not served for want of it
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apis.conditions import CertificateReason as Reason
from apis.conditions import TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.clock import rfc3339
from provider.cloudfront.state.certificates import Certificate, Request, delay
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["derive", "holding_up", "lost", "requested"]

_TOLD: Final = 3
"""Domains that a message names."""

_UNREAD: Final = "ACM's reason is read where acm:DescribeCertificate is permitted"

_GOING_ON: Final = "Nobody needs to act, unless AWS refuses it."

_READY: Final = {
    Reason.PENDING_VALIDATION: TenantReadyReason.CERTIFICATE_PENDING,
    Reason.ATTACHING: TenantReadyReason.CERTIFICATE_PENDING,
    Reason.CERTIFICATE_FAILED: TenantReadyReason.CERTIFICATE_FAILED,
    Reason.CERTIFICATE_EXPIRED: TenantReadyReason.CERTIFICATE_EXPIRED,
}


def derive(
    asked: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    not_before: datetime | None = None,
) -> Condition:
    """CertificateReady. `not_before`: when the next one may be asked for, where that was done too often."""
    reason, words = _found(asked, seen, certificate, not_before)
    good = reason in (Reason.VALIDATED, Reason.NOT_CONFIGURED)
    return _condition(reason, words, good=good)


def requested(request: Request) -> Condition:
    """CertificateReady before the tenant exists: the request goes with its creation."""
    return _condition(Reason.PENDING_VALIDATION, _to_do(request, None), good=False)


def holding_up(
    asked: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    not_before: datetime | None = None,
) -> tuple[TenantReadyReason, str] | None:
    """Why the tenant does not serve every domain, where one that is asked for has to come first."""
    reason, words = _found(asked, seen, certificate, not_before)
    return (_READY[reason], words) if reason in _READY and seen.inactive_domains else None


def lost(
    asked: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    not_before: datetime | None = None,
) -> tuple[TenantReadyReason, str] | None:
    """Why the tenant serves no more, where the certificate that is attached is no good any more. It stays
    attached while another is asked for."""
    attached = seen.customizations.certificate_arn
    if attached is None or certificate is None:
        return None
    if certificate.lost and certificate.arn == attached:
        reason, words = _found(asked, seen, certificate, not_before)
        return (_READY[reason], words) if reason in _READY else None
    former = certificate.replaces
    if former is None or former.arn != attached or asked.certificate_request is None:
        return None
    then = _found(asked, seen, certificate, not_before)[1]
    return _READY[_loss(former)], f"Certificate {former.arn}: AWS says {former.status}. {then}"


def _found(
    asked: Tenant, seen: ObservedTenant, certificate: Certificate | None, not_before: datetime | None
) -> tuple[Reason, str]:
    request = asked.certificate_request
    if request is None:
        return _custom(certificate)
    if certificate is None or not certificate.status:
        return Reason.PENDING_VALIDATION, _unseen(request, certificate, not_before)
    if certificate.lost:
        return _loss(certificate), _lost(certificate, not_before)
    if not certificate.issued:
        return Reason.PENDING_VALIDATION, _to_do(request, certificate)
    if certificate.arn != seen.customizations.certificate_arn:
        return Reason.ATTACHING, f"Certificate {certificate.arn} is issued and is being attached. {_GOING_ON}"
    return Reason.VALIDATED, ""


def _loss(certificate: Certificate) -> Reason:
    return Reason.CERTIFICATE_EXPIRED if certificate.expired else Reason.CERTIFICATE_FAILED


def _custom(certificate: Certificate | None) -> tuple[Reason, str]:
    if certificate is None or not certificate.expired:
        return Reason.NOT_CONFIGURED, ""
    words = (
        f"Certificate {certificate.arn} has expired. Replace it in ACM, or name another in "
        "spec.forProvider.customizations.certificate."
    )
    return Reason.CERTIFICATE_EXPIRED, words


def _unseen(request: Request, certificate: Certificate | None, not_before: datetime | None) -> str:
    # Only the request itself knows its token host: AWS was not asked since.
    if certificate is None or not certificate.requests or certificate.token_host:
        return f"A certificate is being asked for. {_to_do(request, None)}"
    return (
        f"A certificate was asked for, and CloudFront shows none. {_next(certificate, not_before)} "
        "If it stays so, check that the provider's credentials have acm:RequestCertificate."
    )


def _lost(certificate: Certificate, not_before: datetime | None) -> str:
    unread = _UNREAD if certificate.status == "failed" else ""
    told = certificate.failure_reason or unread
    why = f" ({told})" if told else ""
    return (
        f"Certificate {certificate.arn}: AWS says {certificate.status}{why}. Remove the cause, often a CAA "
        f"record or a domain that does not lead to CloudFront. {_next(certificate, not_before)}"
    )


def _next(certificate: Certificate, not_before: datetime | None) -> str:
    """When the next one is asked for: no time of day, as it would be another after each restart; but where it
    is too early for it, which each process knows of its own requests."""
    minutes = round(delay(certificate.requests) / 60)
    if not minutes:
        return "Another one is asked for at once."
    pause = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
    if not_before:
        most = f"but not before {rfc3339(not_before)}, as three were asked for within an hour"
    else:
        most = "but at most three times in an hour"
    return (
        f"Another one is asked for {pause} after this was seen; at once when the spec is changed, or the "
        f"annotation {RECONCILE_REQUESTED_AT} of this resource is set to anything new, {most}."
    )


def _to_do(request: Request, certificate: Certificate | None) -> str:
    # By the pending one: what is asked for now may be another way.
    self_hosted = certificate.token_host == "self-hosted" if certificate else request.self_hosted  # noqa: S105
    if not self_hosted:
        return (
            "The certificate authority waits until every domain leads to CloudFront. Make the records of "
            "status.dnsInstructions."
        )
    redirects = [
        f"{token.redirect_from} → {token.redirect_to}"
        for token in (certificate.tokens if certificate else ())
        if token.redirect_from and token.redirect_to
    ]
    told = "; ".join(redirects[:_TOLD]) + (f"; and {len(redirects) - _TOLD} more" * (len(redirects) > _TOLD))
    return (
        "The certificate authority waits for the web servers of the domains to redirect as "
        f"status.atProvider.certificate.validation says{': ' + told if told else ''}. Or make the records of "
        "status.dnsInstructions."
    )


def _condition(reason: Reason, words: str, *, good: bool) -> Condition:
    return Condition(
        type=TenantConditionType.CERTIFICATE_READY.value,
        status=ConditionStatus.TRUE if good else ConditionStatus.FALSE,
        reason=reason.value,
        message=words,
    )
