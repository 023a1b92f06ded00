"""The conditions of a tenant's certificate (pure).

CertificateReady   the progress of the requested managed certificate, or that another one is no longer valid
Ready              only if a domain is not served because a valid certificate is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from apis.conditions import CertificateReason as Reason
from apis.conditions import TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.bounds import named
from edgetenants_runtime.clock import rfc3339
from provider.cloudfront.certificate.outlook import Outlook
from provider.cloudfront.state.certificates import Certificate, Request, covers, pause
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = [
    "derive",
    "holding_up",
    "lost",
    "lost_inherited",
    "requested",
    "unrequested",
    "withheld",
]

_TOLD: Final = 3
"""Maximum number of domains in a message."""

_UNREAD: Final = "to see ACM's reason, permit acm:DescribeCertificate"

_YOUR_RECORDS: Final = (
    "The certificate authority waits until every domain points to CloudFront. Create the records of "
    "status.dnsInstructions."
)

_THE_PROVIDERS_RECORDS: Final = (
    "The certificate authority validates the domains once DNS leads them to CloudFront. The provider makes "
    "the records. No action is needed, unless DNSReady of the DistributionTenant names one."
)

_GOING_ON: Final = "No action is needed, unless AWS refuses it."

_REQUESTED_SOON: Final = (
    "The provider requests another one for the present domains at its next daily check, if it may change the "
    f"tenant; or immediately when the annotation {RECONCILE_REQUESTED_AT} of this resource is set to a new "
    "value."
)

_NOT_DNS: Final = (
    "AWS tries again until the end. Check that no CAA record excludes Amazon, and that the web server of "
    "each domain lets the requests for /.well-known/pki-validation through."
)

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
    inherited: Certificate | None = None,
    outlook: Outlook | None = None,
) -> Condition:
    """Return CertificateReady. `not_before` is the time of the next possible request, if the provider
    requested certificates too often. `inherited` is the distribution's certificate, `outlook` the attached
    one that AWS cannot renew."""
    reason, words = _found(asked, seen, certificate, not_before)
    if reason is Reason.NOT_CONFIGURED:
        reason, words = _inherited(seen, inherited) or (reason, words)
    if outlook and asked.certificate_request and not seen.inactive_domains:
        reason, words = _by_outlook(outlook, asked.certificate_request, not_before)
    good = reason in (Reason.VALIDATED, Reason.NOT_CONFIGURED, Reason.RENEWAL_BLOCKED)
    return _condition(reason, words, good=good)


def requested(asked: Tenant, request: Request) -> Condition:
    """Return CertificateReady before the tenant exists: its creation includes the request."""
    return _condition(Reason.PENDING_VALIDATION, _to_do(request, None, records=asked.records), good=False)


def unrequested(asked: Tenant, certificate: Certificate | None) -> bool:
    """Whether the spec requests a managed certificate that the provider has not requested yet."""
    if asked.certificate_request is None:
        return False
    return certificate is None or not (certificate.status or certificate.requests)


def withheld(why: str) -> Condition:
    """Return CertificateReady of a certificate that the provider does not request yet, so that no one can
    validate it. `why` says what the request waits for."""
    return _condition(Reason.PENDING_VALIDATION, why, good=False)


def holding_up(
    asked: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    not_before: datetime | None = None,
) -> tuple[TenantReadyReason, str] | None:
    """Return why the tenant does not serve every domain, if it waits for a requested certificate."""
    reason, words = _found(asked, seen, certificate, not_before)
    return (_READY[reason], words) if reason in _READY and seen.inactive_domains else None


def lost(
    asked: Tenant,
    seen: ObservedTenant,
    certificate: Certificate | None,
    not_before: datetime | None = None,
) -> tuple[TenantReadyReason, str] | None:
    """Return why the tenant no longer serves, if its attached certificate is no longer valid. It stays
    attached while the provider requests another one."""
    attached = seen.customizations.certificate_arn
    if attached is None or certificate is None:
        return None
    if certificate.lost and certificate.arn == attached:
        reason, words = _found(asked, seen, certificate, not_before)
        return (_READY[reason], words) if reason in _READY else None
    former = certificate.replaces
    if former is None or not former.lost or former.arn != attached or asked.certificate_request is None:
        return None
    then = _found(asked, seen, certificate, not_before)[1]
    return _READY[_loss(former)], f"Certificate {former.arn}: AWS says {former.status}. {then}"


def lost_inherited(
    seen: ObservedTenant, inherited: Certificate | None
) -> tuple[TenantReadyReason, str] | None:
    """Return why the tenant no longer serves, if it depends on the distribution's certificate and that is no
    longer valid."""
    found = _inherited(seen, inherited)
    return (_READY[found[0]], found[1]) if found else None


def _inherited(seen: ObservedTenant, certificate: Certificate | None) -> tuple[Reason, str] | None:
    if certificate is None or not certificate.lost or seen.customizations.certificate_arn is not None:
        return None
    if not any(covers(certificate.domains, domain) for domain in seen.domains):
        return None
    words = (
        f"Certificate {certificate.arn} of distribution {seen.distribution_id}: AWS says "
        f"{certificate.status}. The tenant has no other. Replace it in ACM, or name another on the "
        "distribution."
    )
    return _loss(certificate), words


def _found(
    asked: Tenant, seen: ObservedTenant, certificate: Certificate | None, not_before: datetime | None
) -> tuple[Reason, str]:
    request = asked.certificate_request
    if request is None:
        return _custom(certificate)
    if certificate is None or not certificate.status:
        return Reason.PENDING_VALIDATION, _unseen(asked, request, certificate, not_before)
    if certificate.lost:
        return _loss(certificate), _lost(certificate, not_before)
    if not certificate.issued:
        return Reason.PENDING_VALIDATION, _to_do(request, certificate, records=asked.records)
    if certificate.arn != seen.customizations.certificate_arn:
        return Reason.ATTACHING, f"Certificate {certificate.arn} is issued and is being attached. {_GOING_ON}"
    return Reason.VALIDATED, ""


def _by_outlook(outlook: Outlook, request: Request, not_before: datetime | None) -> tuple[Reason, str]:
    valid, other = outlook.certificate, outlook.replacement
    if valid.renewal is None:
        return Reason.VALIDATED, ""
    reason, words = Reason.RENEWAL_BLOCKED, _REQUESTED_SOON if outlook.leftover else _NOT_DNS
    if outlook.blocking:
        words = _blocking(outlook.blocking, request)
    elif other:
        reason, words = _replacing(other, request, not_before)
    return reason, f"{_not_renewed(valid, outlook.leftover)} {words}"


def _replacing(other: Certificate, request: Request, not_before: datetime | None) -> tuple[Reason, str]:
    if other.lost:
        return Reason.RENEWAL_BLOCKED, _lost(other, not_before)
    words = "The provider requested another one for the present domains."
    if other.pending and other.token_host == "self-hosted":  # noqa: S105 - an enum's word
        return Reason.RENEWAL_BLOCKED, f"{words} {_to_do(request, other)}"
    then = "AWS validates its domains." if other.pending else "CloudFront does not show it yet."
    return Reason.VALIDATED, f"{words} {'It is being attached.' if other.issued else then} {_GOING_ON}"


def _not_renewed(certificate: Certificate, leftover: Sequence[str]) -> str:
    renewal = certificate.renewal
    said = ", ".join(filter(None, (renewal.status, renewal.reason))) if renewal else ""
    has = f" It has {named(leftover, _TOLD)}, which the tenant no longer has." if leftover else ""
    return (
        f"Certificate {certificate.arn} is valid until {certificate.not_after}, and AWS has not renewed it "
        f"({said}).{has}"
    )


def _blocking(domains: Sequence[str], request: Request) -> str:
    redirect = ", or have its web server redirect the validation requests" if request.self_hosted else ""
    return (
        f"AWS gets no proof of control of {named(domains, _TOLD)}: create its records of "
        f"status.dnsInstructions{redirect}, or remove it from the domains. If its CAA records exclude "
        "Amazon, correct them. Until "
        "then AWS issues no certificate for the tenant, and the provider requests none. After the end of the "
        "present one, CloudFront may serve none of its domains."
    )


def _loss(certificate: Certificate) -> Reason:
    return Reason.CERTIFICATE_EXPIRED if certificate.expired else Reason.CERTIFICATE_FAILED


def _custom(certificate: Certificate | None) -> tuple[Reason, str]:
    if certificate is None or not certificate.lost:
        return Reason.NOT_CONFIGURED, ""
    what = "has expired" if certificate.expired else f"is no longer valid: AWS says {certificate.status}"
    words = (
        f"Certificate {certificate.arn} {what}. Replace it in ACM, or name another in "
        "spec.forProvider.customizations.certificate."
    )
    return _loss(certificate), words


def _unseen(
    asked: Tenant, request: Request, certificate: Certificate | None, not_before: datetime | None
) -> str:
    # CloudFront has not shown the certificate since the request.
    if certificate is None or not certificate.requests or certificate.token_host:
        return f"The provider is requesting a certificate. {_to_do(request, None, records=asked.records)}"
    return (
        f"The provider requested a certificate, but CloudFront shows none. {_next(certificate, not_before)} "
        "If this persists, check that the provider's credentials have acm:RequestCertificate."
    )


def _lost(certificate: Certificate, not_before: datetime | None) -> str:
    unread = _UNREAD if certificate.status == "failed" else ""
    told = certificate.failure_reason or unread
    why = f" ({told})" if told else ""
    return (
        f"Certificate {certificate.arn}: AWS says {certificate.status}{why}. Remove the cause, often a CAA "
        f"record or a domain that does not point to CloudFront. {_next(certificate, not_before)}"
    )


def _next(certificate: Certificate, not_before: datetime | None) -> str:
    """Return when the provider requests the next one. It names no time of day, which would differ after each
    restart, unless it is too early for a request, which each process knows of its own requests."""
    minutes = round(pause(certificate) / 60)
    if not minutes:
        return "The provider requests another one immediately."
    wait = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
    if not_before:
        most = f"but not before {rfc3339(not_before)}, because it requested three within an hour"
    else:
        most = "but at most three times per hour"
    return (
        f"The provider requests another one {wait} after it saw this; or immediately when the spec changes, "
        f"or the annotation {RECONCILE_REQUESTED_AT} of this resource is set to a new value, {most}."
    )


def _to_do(request: Request, certificate: Certificate | None, *, records: bool = False) -> str:
    """Return what validates the certificate. `records`: the provider makes the DNS records."""
    # Describe the pending one: the spec may request another method now.
    self_hosted = certificate.token_host == "self-hosted" if certificate else request.self_hosted  # noqa: S105
    if not self_hosted:
        return _THE_PROVIDERS_RECORDS if records else _YOUR_RECORDS
    redirects = [
        f"{token.redirect_from} → {token.redirect_to}"
        for token in (certificate.tokens if certificate else ())
        if token.redirect_from and token.redirect_to
    ]
    told = "; ".join(redirects[:_TOLD]) + (f"; and {len(redirects) - _TOLD} more" * (len(redirects) > _TOLD))
    return (
        "The certificate authority waits for the web servers of the domains to redirect as "
        f"status.atProvider.certificate.validation says{': ' + told if told else ''}. Or create the records "
        "of status.dnsInstructions."
    )


def _condition(reason: Reason, words: str, *, good: bool) -> Condition:
    return Condition(
        type=TenantConditionType.CERTIFICATE_READY.value,
        status=ConditionStatus.TRUE if good else ConditionStatus.FALSE,
        reason=reason.value,
        message=words,
    )
