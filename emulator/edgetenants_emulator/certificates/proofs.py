"""Proofs of control of a certificate's domains: its tenant, its endpoint, where the domains point."""

from __future__ import annotations

from edgetenants_emulator.dns import pointing
from edgetenants_emulator.state.records import ManagedCertificate, Tenant
from edgetenants_emulator.state.world import World

__all__ = ["NOT_OWNED", "endpoint", "points", "proven", "tenant_of", "unproven"]

NOT_OWNED = (
    "The provided Domain Name is not valid. Could not verify Domain Name ownership. "
    "It may not be pointing to a valid CloudFront resource."
)


def tenant_of(world: World, certificate: ManagedCertificate) -> Tenant | None:
    """The tenant that still has this certificate."""
    tenant = world.tenants.get(certificate.account, certificate.tenant_id)
    return tenant if tenant and tenant.certificate is certificate else None


def endpoint(world: World, group_id: str) -> str:
    """The routing endpoint of a connection group; empty if the group does not exist."""
    group = world.groups.anywhere(group_id)
    return group.routing_endpoint if group else ""


def points(world: World, domain: str, routing_endpoint: str) -> bool:
    """Whether a domain points to an endpoint, according to the DNS that CloudFront sees."""
    if not routing_endpoint:
        return False
    return pointing.verdict(world.lookup, domain, routing_endpoint).status is pointing.DnsStatus.VALID


def proven(world: World, certificate: ManagedCertificate, tenant: Tenant | None) -> bool:
    """Whether every domain of a certificate points to the tenant's endpoint or serves its token."""
    return not unproven(world, certificate, tenant)


def unproven(world: World, certificate: ManagedCertificate, tenant: Tenant | None) -> tuple[str, ...]:
    """The domains of a certificate that do neither."""
    here = endpoint(world, tenant.group_id) if tenant else ""
    return tuple(
        domain
        for domain in certificate.tokens
        if domain not in certificate.served and not points(world, domain, here)
    )
