"""Issued managed certificates: their renewal and expiry.

    NotBefore ────────────────────────── NotAfter - certificate_renewal_days ──────── NotAfter
                                           │  in use, and every domain proven ──▶ renewed: a new validity
                                           └  else retried each hour ─────────────────▶ expired

A renewal changes neither the ARN nor the tenant's ETag. Rules: ACM's user guide, "Managed certificate
renewal".
"""

from __future__ import annotations

from collections.abc import Iterator

from edgetenants_emulator.certificates import acm, proofs
from edgetenants_emulator.certificates.users import by_certificate, certificate_arn
from edgetenants_emulator.dns import pointing
from edgetenants_emulator.state.records import CertificateStatus, ManagedCertificate, Renewal, Validity
from edgetenants_emulator.state.world import World

__all__ = ["begin", "end", "expired", "resume"]

_DAY = 24 * 3600.0
_TRY_AGAIN = 3600.0


def begin(world: World, certificate: ManagedCertificate, since: float) -> None:
    """Start a certificate's validity at a virtual time."""
    valid = world.settings.certificate_valid_days * _DAY
    # Less than the whole validity; otherwise the renewals would never end.
    window = min(world.settings.certificate_renewal_days * _DAY, valid / 2)
    if certificate.issued is None:
        certificate.issued = since
    certificate.validity = Validity(since, since + valid)
    _wake(world, certificate, since + valid - window)


def end(world: World, certificate: ManagedCertificate) -> None:
    """Stop renewals of a certificate that is no longer issued."""
    world.certificate_dues.pop(certificate.arn, None)


def resume(world: World, certificate: ManagedCertificate) -> None:
    """Resume renewals of a loaded certificate."""
    if certificate.status is CertificateStatus.ISSUED and certificate.validity:
        _wake(world, certificate, certificate.due)


def expired(world: World) -> Iterator[ManagedCertificate]:
    """Renew the certificates that are due, and yield the expired ones. The caller holds the world's lock."""
    now = world.clock.now()
    if world.next_certificate_due > now:
        return
    for certificate in list(world.certificate_dues.values()):
        if not acm.exists(certificate):
            end(world, certificate)
        elif certificate.due <= now and not _lives_on(world, certificate, now):
            yield certificate
    dues = (each.due for each in world.certificate_dues.values())
    world.next_certificate_due = min(dues, default=float("inf"))


def _lives_on(world: World, certificate: ManagedCertificate, now: float) -> bool:
    """Renew a certificate up to the present, with the current DNS; False if it has expired."""
    while certificate.validity and certificate.due <= now:
        if certificate.due >= certificate.validity.not_after:
            return False
        problem = _problem(world, certificate)
        if problem is None:
            certificate.renewal = Renewal("SUCCESS", certificate.due)
            begin(world, certificate, certificate.due)
        else:
            status = "FAILED" if problem else "PENDING_VALIDATION"
            certificate.renewal = Renewal(status, now, problem, _waiting(world, certificate))
            _wake(world, certificate, min(certificate.validity.not_after, now + _TRY_AGAIN))
    return True


def _problem(world: World, certificate: ManagedCertificate) -> str | None:
    """Why it cannot be renewed, as ACM's RenewalStatusReason; empty if ACM waits; None if it can be
    renewed."""
    tenant = proofs.tenant_of(world, certificate)
    attached = tenant and certificate_arn(tenant.customizations) == certificate.arn
    if not attached and certificate.arn not in by_certificate(world, certificate.account):
        return ""
    if not proofs.proven(world, certificate, tenant):
        return ""
    return "CAA_ERROR" if _excluded(world, certificate) else None


def _waiting(world: World, certificate: ManagedCertificate) -> tuple[str, ...]:
    """The names that keep it from being renewed."""
    unproven = proofs.unproven(world, certificate, proofs.tenant_of(world, certificate))
    return unproven or _excluded(world, certificate)


def _excluded(world: World, certificate: ManagedCertificate) -> tuple[str, ...]:
    """The names whose CAA records exclude Amazon."""
    return tuple(name for name in certificate.tokens if not pointing.caa_allows(world.lookup, name))


def _wake(world: World, certificate: ManagedCertificate, due: float) -> None:
    certificate.due = due
    world.certificate_dues[certificate.arn] = certificate
    world.next_certificate_due = min(world.next_certificate_due, due)
