"""Certificates that CloudFront requests from ACM for a tenant: their lifecycle.

    requested ──▶ pending-validation ──▶ issued ──▶ expired, unless renewed (lives)
                     │                          └─▶ revoked (set by the admin API)
                     │        DNS points here or the token is served, for every domain,
                     │        and `certificate_issue_seconds` have passed
                     ├──▶ validation-timed-out   72 hours after the request
                     └──▶ failed                 CAA records exclude Amazon, or set by the admin API

An issued certificate is not used until an update sets it in Customizations.Certificate, unless
`certificate_attached_by_itself` is set. Rules: CloudFront's developer guide, "Request certificates for your
CloudFront distribution tenant"; ACM's user guide, "HTTP validation".
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edgetenants_emulator.certificates import acm, lives, proofs
from edgetenants_emulator.certificates.users import certificate_arn
from edgetenants_emulator.dns import pointing
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, tenant_lookup
from edgetenants_emulator.state.records import CertificateStatus, DomainStatus, ManagedCertificate, Tenant
from edgetenants_emulator.state.world import World

__all__ = [
    "activate",
    "advance",
    "attach_issued",
    "check_request",
    "detached",
    "details",
    "request",
    "settle",
    "shown",
]

Params = Mapping[str, Any]


def check_request(
    world: World, account: str, wanted: Params, names: Sequence[str], group_id: str, before: Tenant | None
) -> None:
    """Check a ManagedCertificateRequest for a tenant with these domains in that connection group.

    Raises AwsError InvalidArgument for a second request while one is pending, a primary domain that is not
    the tenant's, a wildcard, or, with the token host `cloudfront`, a domain that does not point here yet;
    EntityLimitExceeded if ACM's quota is used up.
    """
    if before and before.certificate and before.certificate.status is CertificateStatus.PENDING_VALIDATION:
        message = "The distribution tenant already has a pending managed certificate request."
        raise AwsError(world.settings.second_certificate_request_error, message)
    if not names or wanted.get("PrimaryDomainName", names[0]) not in names:
        message = (
            "The primary domain name of the certificate must be one of the distribution tenant's domains."
        )
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if any(name.startswith("*.") for name in names):
        message = "A managed certificate is validated over HTTP, which wildcard domains don't support."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    _check_quota(world, account)
    checked = before is None or world.settings.update_checks_dns
    if wanted["ValidationTokenHost"] == "cloudfront" and checked:
        endpoint = proofs.endpoint(world, group_id)
        if not all(proofs.points(world, name, endpoint) for name in names):
            raise AwsError(ErrorCode.INVALID_ARGUMENT, proofs.NOT_OWNED)


def request(world: World, tenant: Tenant, wanted: Params) -> None:
    """Request a certificate from ACM for all domains of a tenant, the primary domain first. If the settings
    say so, the request is lost."""
    if world.settings.certificate_request_lost:
        return
    primary = wanted.get("PrimaryDomainName") or next(iter(tenant.domains))
    names = [primary, *(name for name in tenant.domains if name != primary)]
    certificate = ManagedCertificate(
        account=tenant.account,
        tenant_id=tenant.id,
        token_host=wanted["ValidationTokenHost"],
        tokens={name: secrets.token_hex(16) for name in names},
        requested=world.clock.now(),
    )
    logging = wanted.get("CertificateTransparencyLoggingPreference", "enabled").upper()
    acm.request_managed(certificate, logging, world.clock)
    tenant.certificate = certificate
    world.pending_certificates.append(certificate)
    advance(world)


def advance(world: World) -> None:
    """Advance every certificate to the present. The caller holds the world's lock."""
    for certificate in list(world.pending_certificates):
        if world.settings.acm_delete_cancels_request and not acm.exists(certificate):
            _cancel(world, certificate)
        else:
            _advance(world, certificate)
    for certificate in lives.expired(world):
        settle(world, certificate, CertificateStatus.EXPIRED)


def settle(
    world: World, certificate: ManagedCertificate, status: CertificateStatus, reason: str = ""
) -> None:
    """Change the status of a certificate. Its tenant gets a new version, as the API reference says of
    ManagedCertificateStatus."""
    if certificate.status is status:
        return
    certificate.status, certificate.failure_reason = status, reason
    certificate.proven_at = None
    pending = status is CertificateStatus.PENDING_VALIDATION
    world.pending_certificates[:] = [each for each in world.pending_certificates if each is not certificate]
    if pending:
        world.pending_certificates.append(certificate)
    if status is CertificateStatus.ISSUED:
        lives.begin(world, certificate, world.clock.now())
    else:
        lives.end(world, certificate)
    tenant = proofs.tenant_of(world, certificate)
    if tenant is None:
        return
    world.remember(tenant)
    if status is CertificateStatus.EXPIRED and world.settings.expired_certificate_deactivates:
        _deactivate(world, tenant, certificate)
    if status is CertificateStatus.ISSUED and world.settings.certificate_attached_by_itself:
        _attach(world, tenant, certificate)
    elif world.settings.certificate_moves_etag:
        tenant.version += 1


def details(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetManagedCertificateDetails. EntityNotFound also for a tenant without a managed certificate."""
    tenant = tenant_lookup.find(world, account, params["Identifier"])
    if tenant.certificate is None:
        message = f"The distribution tenant {tenant.id} has no managed certificate."
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, message)
    return {"ManagedCertificateDetails": shown(tenant.certificate)}


def attach_issued(world: World, tenant: Tenant) -> None:
    """Attach a tenant's managed certificate if it is issued and not attached yet."""
    certificate = tenant.certificate
    if certificate is None or certificate.status is not CertificateStatus.ISSUED:
        return
    if tenant.customizations.get("Certificate") != {"Arn": certificate.arn}:
        world.remember(tenant)
        _attach(world, tenant, certificate)


def detached(tenant: Tenant, removed: Iterable[str]) -> dict[str, Any]:
    """A tenant's customizations, without the certificate if it contains a removed domain."""
    arn = certificate_arn(tenant.customizations)
    names = acm.issued_names(tenant.account, arn) or ()
    if not any(acm.covers(names, domain) for domain in removed):
        return tenant.customizations
    return {name: part for name, part in tenant.customizations.items() if name != "Certificate"}


def activate(world: World, tenant: Tenant, statuses: Mapping[str, DomainStatus]) -> None:
    """Record when newly active domains of a tenant will be shown as active."""
    since = world.clock.now() + world.settings.domain_activation_seconds
    fresh = {
        name: since
        for name, status in statuses.items()
        if status is DomainStatus.ACTIVE and tenant.domains.get(name) is DomainStatus.INACTIVE
    }
    kept = {name: at for name, at in tenant.activating.items() if name in statuses}
    tenant.activating = {**kept, **fresh} if world.settings.domain_activation_seconds else kept


def shown(certificate: ManagedCertificate) -> dict[str, Any]:
    """The certificate by the model's names. If the caller serves the token, with the redirect to
    configure."""
    return {
        "CertificateArn": certificate.arn,
        "CertificateStatus": str(certificate.status),
        "ValidationTokenHost": certificate.token_host,
        "ValidationTokenDetails": [_token(certificate, domain) for domain in certificate.tokens],
    }


def _token(certificate: ManagedCertificate, domain: str) -> dict[str, str]:
    if certificate.token_host == "cloudfront":  # noqa: S105 - an enum's word
        return {"Domain": domain}
    source, target = acm.redirect(certificate, domain)
    return {"Domain": domain, "RedirectTo": target, "RedirectFrom": source}


def _advance(world: World, certificate: ManagedCertificate) -> None:
    now, settings = world.clock.now(), world.settings
    deadline = certificate.requested + settings.certificate_timeout_seconds
    issued_at = _issued_at(certificate, settings.certificate_issue_seconds)
    # With the DNS as last read, before it is read again, because it may have changed since.
    if issued_at is not None and issued_at <= min(now, deadline):
        _issue(world, certificate)
        return
    _look(world, certificate, now)
    issued_at = _issued_at(certificate, settings.certificate_issue_seconds)
    if issued_at is not None and issued_at <= min(now, deadline):
        _issue(world, certificate)
    elif now >= deadline:
        settle(world, certificate, CertificateStatus.VALIDATION_TIMED_OUT)


def _issued_at(certificate: ManagedCertificate, delay: float) -> float | None:
    return None if certificate.proven_at is None else certificate.proven_at + delay


def _look(world: World, certificate: ManagedCertificate, now: float) -> None:
    """Record since when all domains are proven."""
    tenant = proofs.tenant_of(world, certificate)
    state = (*world.dns_generation(), *sorted(certificate.served), tenant and tenant.group_id)
    if state == certificate.looked_at:
        return
    certificate.looked_at = state
    proven = proofs.proven(world, certificate, tenant)
    if not proven:
        certificate.proven_at = None
    elif certificate.proven_at is None:
        certificate.proven_at = now


def _issue(world: World, certificate: ManagedCertificate) -> None:
    if all(pointing.caa_allows(world.lookup, domain) for domain in certificate.tokens):
        settle(world, certificate, CertificateStatus.ISSUED)
    else:
        settle(world, certificate, CertificateStatus.FAILED, "CAA_ERROR")


def _attach(world: World, tenant: Tenant, certificate: ManagedCertificate) -> None:
    tenant.customizations = {**tenant.customizations, "Certificate": {"Arn": certificate.arn}}
    covered = {name for name in tenant.domains if acm.covers(certificate.tokens, name)}
    found = {name: DomainStatus.ACTIVE if name in covered else s for name, s in tenant.domains.items()}
    activate(world, tenant, found)
    tenant.domains = found
    durations.deploy(world, tenant)


def _deactivate(world: World, tenant: Tenant, certificate: ManagedCertificate) -> None:
    """Deactivate the domains of an expired certificate that the distribution's certificate does not cover."""
    parent = world.distributions.get(tenant.account, tenant.distribution_id)
    inherited = acm.issued_names(tenant.account, parent.certificate_arn if parent else None) or ()
    lost = {name for name in certificate.tokens if not acm.covers(inherited, name)}
    attached = certificate_arn(tenant.customizations) == certificate.arn
    if attached:
        tenant.domains = {n: DomainStatus.INACTIVE if n in lost else s for n, s in tenant.domains.items()}


def _cancel(world: World, certificate: ManagedCertificate) -> None:
    """Cancel a request whose certificate was deleted in ACM. The tenant may send another request."""
    world.pending_certificates.remove(certificate)
    tenant = proofs.tenant_of(world, certificate)
    if tenant:
        world.remember(tenant)
        tenant.certificate = None
        tenant.version += world.settings.certificate_moves_etag


def _check_quota(world: World, account: str) -> None:
    settings = world.settings
    held = acm.count(account, with_managed=settings.managed_certificates_count)
    if held >= settings.acm_certificates_per_account:
        message = f"Your request exceeds the limit of {settings.acm_certificates_per_account} certificates."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
