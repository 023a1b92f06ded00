"""The owner of a domain, its DNS, and its move: VerifyDnsConfiguration, ListDomainConflicts,
UpdateDomainAssociation.

    conflicts   the domain itself, the wildcard that covers it, or what a wildcard covers; in any account
    a move      source disabled ──▶ target with a certificate for it ──▶ moved and active immediately;
                from another account only with a TXT record `_<domain>` or `_.<domain>` with the target

Rules: API reference of these operations; CloudFront's developer guide, "Move an alternate domain name".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.certificates import proofs as certificate_proofs
from edgetenants_emulator.certificates import users as certificate_users
from edgetenants_emulator.cloudfront import paging
from edgetenants_emulator.configuration import distribution_config
from edgetenants_emulator.dns import pointing
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, etag, tenant_lookup
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.records import Distribution, DomainStatus, Tenant
from edgetenants_emulator.state.world import World

__all__ = ["list_conflicts", "move", "verify"]

Params = Mapping[str, Any]
Holder = Distribution | Tenant


def verify(world: World, account: str, params: Params) -> dict[str, Any]:
    """VerifyDnsConfiguration, for one domain or all domains of the tenant."""
    tenant = tenant_lookup.find(world, account, params["Identifier"])
    wanted = params.get("Domain")
    if wanted and wanted.lower() not in tenant.domains:
        message = f"The domain {wanted} is not associated with the distribution tenant {tenant.id}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    endpoint = _endpoint(world, tenant)
    names = [wanted.lower()] if wanted else list(tenant.domains)
    found = [(name, pointing.verdict(world.lookup, name, endpoint)) for name in names]
    if world.settings.verify_attaches_certificate and all(
        v.status is pointing.DnsStatus.VALID for _, v in found
    ):
        managed_certificates.attach_issued(world, tenant)
    rows = [{"Domain": name, "Status": str(v.status), "Reason": v.reason or None} for name, v in found]
    return {"DnsConfigurationList": rows}


def list_conflicts(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDomainConflicts. Ids and accounts of other accounts' resources are masked."""
    domain = params["Domain"].lower()
    control = _resource(world, account, params["DomainControlValidationResource"])
    _check_covered(world, control, domain)
    held = sorted((name, arn) for name, arn in world.domains.items() if _overlap(name, domain))
    rows = [_conflict(account, name, arn) for name, arn in held if arn != control.arn]
    limit = paging.size(params.get("MaxItems"), world.settings)
    found, marker = paging.page_by_key(rows, lambda row: row["Domain"], params.get("Marker"), limit)
    return {"DomainConflicts": found, "NextMarker": marker}


def move(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateDomainAssociation: moves a domain from its current owner to the target. Both get a new
    version."""
    domain = params["Domain"].lower()
    target = _resource(world, account, params["TargetResource"])
    etag.check_if_given(params.get("IfMatch"), target.version, world.settings)
    source = _holder(world, domain)
    _check_move(world, domain, source, target)
    _check_covered(world, target, domain)
    _take(world, source, domain)
    _give(world, target, domain)
    world.domains[domain] = target.arn
    return {"Domain": domain, "ResourceId": target.id, "ETag": target.etag}


def _check_move(world: World, domain: str, source: Holder, target: Holder) -> None:
    if source is target:
        message = f"The domain {domain} is already associated with {target.id}."
        raise AwsError(ErrorCode.ILLEGAL_UPDATE, message)
    foreign = source.account != target.account
    if source.enabled and (foreign or world.settings.domain_move_needs_disabled_source):
        message = f"The resource that has the domain {domain} must be disabled first."
        raise AwsError(ErrorCode.ILLEGAL_UPDATE, message)
    endpoint = _endpoint(world, target)
    proofs = (f"_{domain}", f"_.{domain}")
    if foreign and not any(pointing.has_text(world.lookup, name, endpoint) for name in proofs):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, certificate_proofs.NOT_OWNED)


def _take(world: World, source: Holder, domain: str) -> None:
    if isinstance(source, Tenant):
        world.remember(source)
        source.domains = {name: status for name, status in source.domains.items() if name != domain}
    else:
        left = [each for each in distribution_config.aliases(source.config) if each.lower() != domain]
        source.config = _with_aliases(source.config, left)
    source.touch(world.clock.now(), _settle_seconds(world, source))


def _give(world: World, target: Holder, domain: str) -> None:
    if isinstance(target, Tenant):
        world.remember(target)
        target.domains = {**target.domains, domain: DomainStatus.ACTIVE}
    else:
        target.config = _with_aliases(target.config, [*distribution_config.aliases(target.config), domain])
    target.touch(world.clock.now(), _settle_seconds(world, target))


def _with_aliases(config: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    aliases: dict[str, Any] = {"Quantity": len(names)}
    return {**config, "Aliases": {**aliases, "Items": list(names)} if names else aliases}


def _settle_seconds(world: World, holder: Holder) -> float:
    if isinstance(holder, Tenant):
        return durations.of_tenant(world, holder.account, holder.distribution_id)
    return durations.of_distribution(world, holder.deploy_seconds)


def _resource(world: World, account: str, wanted: Params) -> Holder:
    """The distribution or tenant of a request, which must contain exactly one of them."""
    distribution_id, tenant_id = wanted.get("DistributionId"), wanted.get("DistributionTenantId")
    if bool(distribution_id) is bool(tenant_id):
        message = "Specify either a distribution ID or a distribution tenant ID, but not both."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if tenant_id:
        return tenant_lookup.by_id(world, account, tenant_id)
    found = world.distributions.get(account, distribution_id or "")
    if found is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution {distribution_id} doesn't exist.")
    if found.tenant_only:
        message = f"The distribution {found.id} has no domains: its connection mode is tenant-only."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    return found


def _holder(world: World, domain: str) -> Holder:
    arn = Arn.parse(world.domains.get(domain, ""))
    if arn is None:
        message = f"The domain {domain} is not associated with any resource."
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, message)
    if arn.kind == Tenant.KIND:
        return tenant_lookup.by_id(world, arn.account, arn.id)
    found = world.distributions.get(arn.account, arn.id)
    if found is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution {arn.id} doesn't exist.")
    return found


def _check_covered(world: World, holder: Holder, domain: str) -> None:
    distribution: Distribution | None
    own: tuple[str, ...] = ()
    if isinstance(holder, Tenant):
        distribution = world.distributions.get(holder.account, holder.distribution_id)
        arn = certificate_users.certificate_arn(holder.customizations)
        own = acm.issued_names(holder.account, arn) or ()
    else:
        distribution = holder
    inherited_arn = distribution.certificate_arn if distribution else None
    inherited = acm.issued_names(holder.account, inherited_arn) or ()
    if not acm.covers((*own, *inherited), domain):
        message = f"No TLS certificate of {holder.id} covers the domain {domain}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def _endpoint(world: World, holder: Holder) -> str:
    if isinstance(holder, Distribution):
        return holder.domain_name
    group = world.groups.get(holder.account, holder.group_id)
    return group.routing_endpoint if group else ""


def _overlap(one: str, other: str) -> bool:
    return one == other or acm.covers([one], other) or acm.covers([other], one)


def _conflict(account: str, domain: str, holder: str) -> dict[str, str]:
    arn = Arn.parse(holder)
    if arn is None:
        raise AwsError(ErrorCode.INTERNAL_ERROR, f"{holder} is no ARN")
    own = arn.account == account
    return {
        "Domain": domain,
        "ResourceType": arn.kind,
        "ResourceId": arn.id if own else _masked(arn.id),
        "AccountId": arn.account if own else _masked(arn.account),
    }


def _masked(identifier: str) -> str:
    """The identifier with its first half hidden."""
    hidden = len(identifier) // 2
    return "*" * hidden + identifier[hidden:]
