"""Distribution tenants: create, get, update, delete, list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgetenants_emulator import domains, etag, identifiers, managed_certificates, paging, tags, tenant_plan
from edgetenants_emulator import parameters as parameter_rules
from edgetenants_emulator.customizations import certificate_arn
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.identifiers import Arn
from edgetenants_emulator.records import Tenant
from edgetenants_emulator.tenant_lookup import by_id, find, not_found
from edgetenants_emulator.world import World

__all__ = [
    "create",
    "delete",
    "edit",
    "get",
    "get_by_domain",
    "list_by_customization",
    "list_page",
    "remove",
    "shown",
    "update",
]

Params = Mapping[str, Any]


def create(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateDistributionTenant. Enabled unless said otherwise; in the default group unless told another.

    The answer shows the tags, which later ones do not.
    """
    given_tags = tags.settled(params.get("Tags"), world.settings.tags_per_resource)
    if world.tenants.named(account, params["Name"]):
        message = f"A distribution tenant named {params['Name']!r} already exists."
        raise AwsError(ErrorCode.ENTITY_ALREADY_EXISTS, message)
    plan = tenant_plan.for_create(world, account, params)
    limit = world.settings.tenants_per_account
    if world.tenants.count(account) >= limit:
        message = f"Your request exceeds the limit of {limit} distribution tenants."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
    tenant = _new(world, account, params["Name"], plan)
    domains.check_free(world, tenant.domains, None)
    tenant.tags = given_tags
    world.tenants.add(tenant)
    domains.hold(world, tenant.arn, tenant.domains)
    if plan.certificate_request:
        managed_certificates.request(world, tenant, plan.certificate_request)
    return _answer(world, tenant, with_tags=True)


def get(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetDistributionTenant, by id, ARN or name."""
    found = find(world, account, params["Identifier"])
    return _answer(world, found, with_tags=world.settings.get_returns_tags)


def get_by_domain(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetDistributionTenantByDomain: among the caller's own."""
    domain = params.get("Domain", "").lower()
    arn = Arn.parse(world.domains.get(domain, ""))
    if arn is None or arn.account != account or arn.kind != Tenant.KIND:
        raise not_found(domain)
    return _answer(world, by_id(world, account, arn.id))


def update(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateDistributionTenant: what is left out is kept; what is sent replaces the whole member."""
    tenant = by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), tenant.version)
    if world.settings.update_needs_deployed and tenant.status(world.clock.now()) != "Deployed":
        message = f"The distribution tenant {tenant.id} is still being deployed."
        raise AwsError(ErrorCode.PRECONDITION_FAILED, message)
    edit(world, tenant, params)
    return _answer(world, tenant)


def edit(world: World, tenant: Tenant, changes: Params) -> None:
    """Give a tenant a new version with some members changed. Raises AwsError and changes nothing."""
    plan = tenant_plan.for_update(world, tenant, changes)
    domains.check_free(world, plan.domains, tenant.arn)
    domains.hold(world, tenant.arn, plan.domains, instead_of=tenant.domains)
    for member, value in plan.members().items():
        setattr(tenant, member, value)
    tenant.touch(world.clock.now(), world.settings.deploy_tenant_seconds)
    if plan.certificate_request:
        managed_certificates.request(world, tenant, plan.certificate_request)


def delete(world: World, account: str, params: Params) -> dict[str, Any]:
    """DeleteDistributionTenant: of a disabled one."""
    tenant = by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), tenant.version)
    if not world.may_delete(tenant):
        message = "The distribution tenant you are trying to delete has not been disabled."
        raise AwsError(ErrorCode.RESOURCE_NOT_DISABLED, message)
    remove(world, tenant)
    return {}


def remove(world: World, tenant: Tenant) -> None:
    """Take a tenant away and free its domains, whatever its state."""
    domains.hold(world, tenant.arn, (), instead_of=tenant.domains)
    world.tenants.remove(tenant)


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionTenants: without Parameters and Tags, with the ETag; of two filters both must fit."""
    wanted = params.get("AssociationFilter") or {}
    distribution_id, group_id = wanted.get("DistributionId"), wanted.get("ConnectionGroupId")
    if distribution_id and world.distributions.get(account, distribution_id) is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution {distribution_id} doesn't exist.")
    if group_id and world.groups.get(account, group_id) is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The connection group {group_id} doesn't exist.")
    return _list(
        world,
        account,
        params,
        lambda tenant: (
            tenant.distribution_id == (distribution_id or tenant.distribution_id)
            and tenant.group_id == (group_id or tenant.group_id)
        ),
    )


def list_by_customization(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionTenantsByCustomization: those with that web ACL or certificate of their own."""
    web_acl, certificate = params.get("WebACLArn"), params.get("CertificateArn")
    if bool(web_acl) is bool(certificate):
        message = "You must specify either the web ACL ARN or the certificate ARN, but not both."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if certificate:
        return _list(world, account, params, lambda t: certificate_arn(t.customizations) == certificate)
    return _list(world, account, params, lambda t: t.customizations.get("WebAcl", {}).get("Arn") == web_acl)


def shown(world: World, tenant: Tenant, now: float) -> dict[str, Any]:
    """A tenant as Get returns it, by the model's names; without tags."""
    return {
        "Id": tenant.id,
        "DistributionId": tenant.distribution_id,
        "Name": tenant.name,
        "Arn": tenant.arn,
        "Domains": [{"Domain": domain, "Status": status} for domain, status in tenant.domains.items()],
        "Customizations": tenant.customizations or None,
        "Parameters": parameter_rules.as_list(tenant.parameters) or None,
        "ConnectionGroupId": tenant.group_id,
        "CreatedTime": world.clock.stamp(tenant.created),
        "LastModifiedTime": world.clock.stamp(tenant.modified),
        "Enabled": tenant.enabled,
        "Status": tenant.status(now),
    }


def _new(world: World, account: str, name: str, plan: tenant_plan.TenantPlan) -> Tenant:
    now = world.clock.now()
    return Tenant(
        id=identifiers.ksuid("dt", world.clock.unix(now)),
        account=account,
        name=name,
        created=now,
        modified=now,
        deployed_at=now + world.settings.deploy_tenant_seconds,
        **plan.members(),
    )


def _answer(world: World, tenant: Tenant, *, with_tags: bool = False) -> dict[str, Any]:
    body = shown(world, tenant, world.clock.now())
    if with_tags and tenant.tags:
        body["Tags"] = tags.as_items(tenant.tags)
    return {"DistributionTenant": body, "ETag": tenant.etag}


def _list(world: World, account: str, params: Params, wanted: Callable[[Tenant], bool]) -> dict[str, Any]:
    limit = paging.size(params.get("MaxItems"), world.settings)
    now = world.clock.now()
    listed = (
        each for each in world.tenants.of(account) if each.created + world.settings.list_lag_seconds <= now
    )
    matching = filter(wanted, listed)
    found, marker = paging.page(matching, params.get("Marker"), limit, world.settings)
    rows = [{**shown(world, tenant, now), "ETag": tenant.etag, "Parameters": None} for tenant in found]
    return {"DistributionTenantList": rows, "NextMarker": marker}
