"""Distribution tenants: create, get, update, delete, list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.certificates.users import certificate_arn
from edgetenants_emulator.cloudfront import domains, paging, tags, tenant_plan
from edgetenants_emulator.configuration import parameters as parameter_rules
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, etag, identifiers
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.records import DomainStatus, Tenant
from edgetenants_emulator.state.tenant_lookup import by_id, find, not_found
from edgetenants_emulator.state.world import World

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
    """CreateDistributionTenant. By default, the tenant is enabled and in the default connection group.

    Only this response contains the tags.
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
    """GetDistributionTenantByDomain, for the caller's own tenants."""
    domain = params.get("Domain", "").lower()
    arn = Arn.parse(world.domains.get(domain, ""))
    if arn is None or arn.kind != Tenant.KIND:
        raise not_found(domain)
    if arn.account != account:
        raise AwsError(world.settings.foreign_domain_error, f"There is no access to the domain {domain}.")
    if not world.knows_holder(domain):
        raise not_found(domain)
    return _answer(world, by_id(world, account, arn.id))


def update(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateDistributionTenant. Omitted members are kept; a sent member is replaced as a whole."""
    tenant = by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), tenant.version, world.settings)
    if world.settings.update_needs_deployed and tenant.status(world.clock.now()) != "Deployed":
        message = f"The distribution tenant {tenant.id} is still being deployed."
        raise AwsError(world.settings.update_in_progress_error, message)
    _check_said(world, tenant, params)
    edit(world, tenant, params)
    return _answer(world, tenant)


def edit(world: World, tenant: Tenant, changes: Params) -> None:
    """Change some members of a tenant and give it a new version. If it raises AwsError, nothing has
    changed."""
    plan = tenant_plan.for_update(world, tenant, changes)
    domains.check_free(world, plan.domains, tenant.arn)
    members = plan.members()
    unchanged = all(getattr(tenant, member) == value for member, value in members.items())
    if unchanged and not plan.certificate_request and not world.settings.unchanged_update_moves_etag:
        return
    world.remember(tenant)
    domains.hold(world, tenant.arn, plan.domains, instead_of=tenant.domains)
    managed_certificates.activate(world, tenant, plan.domains)
    removed = tenant.domains.keys() - plan.domains.keys()
    for member, value in members.items():
        setattr(tenant, member, value)
    if removed and world.settings.removed_domain_detaches_certificate:
        tenant.customizations = managed_certificates.detached(tenant, removed)
    durations.deploy(world, tenant)
    if plan.certificate_request:
        managed_certificates.request(world, tenant, plan.certificate_request)


def delete(world: World, account: str, params: Params) -> dict[str, Any]:
    """DeleteDistributionTenant. The tenant must be disabled."""
    tenant = by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), tenant.version, world.settings)
    if not world.may_delete(tenant):
        message = "The distribution tenant you are trying to delete has not been disabled."
        raise AwsError(world.delete_error(tenant, ErrorCode.RESOURCE_NOT_DISABLED), message)
    remove(world, tenant)
    return {}


def remove(world: World, tenant: Tenant) -> None:
    """Delete a tenant in any state, and release its domains."""
    domains.hold(world, tenant.arn, (), instead_of=tenant.domains)
    world.tenants.remove(tenant)
    lag = world.settings.list_lag_of_deletes_seconds
    if lag > 0:
        world.past.deletes(tenant, world.clock.now(), lag)


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionTenants. Items have no Parameters and Tags, but the ETag. Two filters are combined
    (AND)."""
    wanted = params.get("AssociationFilter") or {}
    distribution_id, group_id = wanted.get("DistributionId"), wanted.get("ConnectionGroupId")
    refused = world.settings.association_filter_unknown_refused
    if refused and distribution_id and world.distributions.get(account, distribution_id) is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution {distribution_id} doesn't exist.")
    if refused and group_id and world.groups.get(account, group_id) is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The connection group {group_id} doesn't exist.")
    both = world.settings.association_filter_both
    if distribution_id and group_id and both == ErrorCode.INVALID_ARGUMENT:
        message = "Filter by a distribution or by a connection group, not by both."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    combine = any if both == "or" else all
    asked = [(name, value) for name, value in (("distribution_id", distribution_id), ("group_id", group_id))]
    filters = [(name, value) for name, value in asked if value]
    if not filters:
        return _list(world, account, params, lambda _: True)
    return _list(
        world, account, params, lambda tenant: combine(getattr(tenant, name) == v for name, v in filters)
    )


def list_by_customization(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionTenantsByCustomization: the tenants with that web ACL or certificate in
    Customizations."""
    web_acl, certificate = params.get("WebACLArn"), params.get("CertificateArn")
    if bool(web_acl) is bool(certificate):
        message = "You must specify either the web ACL ARN or the certificate ARN, but not both."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if certificate:
        return _list(world, account, params, lambda t: certificate_arn(t.customizations) == certificate)
    return _list(world, account, params, lambda t: t.customizations.get("WebAcl", {}).get("Arn") == web_acl)


def shown(world: World, tenant: Tenant, now: float) -> dict[str, Any]:
    """A tenant as Get returns it, by the model's names, without tags."""
    return {
        "Id": tenant.id,
        "DistributionId": tenant.distribution_id,
        "Name": tenant.name,
        "Arn": tenant.arn,
        "Domains": [{"Domain": name, "Status": _shown(tenant, name, now)} for name in tenant.domains],
        "Customizations": tenant.customizations or None,
        "Parameters": parameter_rules.as_list(tenant.parameters) or None,
        "ConnectionGroupId": tenant.group_id,
        "CreatedTime": world.clock.stamp(tenant.created),
        "LastModifiedTime": world.clock.stamp(_modified(world, tenant, now)),
        "Enabled": tenant.enabled,
        "Status": tenant.status(now),
    }


_NEEDED: Mapping[str, frozenset[str]] = {
    "nothing": frozenset(),
    "parent": frozenset({"DistributionId", "Domains"}),
    "everything": frozenset({"DistributionId", "Domains", "ConnectionGroupId", "Enabled", "Parameters"}),
}
"""Required members of an update, by `Settings.tenant_update_needs`."""


def _check_said(world: World, tenant: Tenant, params: Params) -> None:
    needed = _NEEDED[world.settings.tenant_update_needs] - (set() if tenant.parameters else {"Parameters"})
    if missing := sorted(needed - params.keys()):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, f"The update must specify {', '.join(missing)}.")


def _shown(tenant: Tenant, domain: str, now: float) -> DomainStatus:
    waits = tenant.activating.get(domain, now) > now
    return DomainStatus.INACTIVE if waits else tenant.domains[domain]


def _modified(world: World, tenant: Tenant, now: float) -> float:
    moved = world.settings.deployed_moves_modified and now >= tenant.deployed_at
    return max(tenant.modified, tenant.deployed_at) if moved else tenant.modified


def _new(world: World, account: str, name: str, plan: tenant_plan.TenantPlan) -> Tenant:
    now = world.clock.now()
    return Tenant(
        id=identifiers.ksuid("dt", world.clock.unix(now)),
        account=account,
        name=name,
        created=now,
        modified=now,
        deployed_at=now + durations.of_tenant(world, account, plan.distribution_id),
        **plan.members(),
    )


def _answer(world: World, tenant: Tenant, *, with_tags: bool = False) -> dict[str, Any]:
    body = shown(world, tenant, world.clock.now())
    if with_tags and tenant.tags:
        body["Tags"] = tags.as_items(tenant.tags)
    return {"DistributionTenant": body, "ETag": tenant.etag}


def _list(world: World, account: str, params: Params, wanted: Callable[[Tenant], bool]) -> dict[str, Any]:
    limit = paging.size(params.get("MaxItems"), world.settings)
    now, settings = world.clock.now(), world.settings
    live = (each for each in world.tenants.of(account) if each.created + settings.list_lag_seconds <= now)
    listed = world.past.listed(
        account,
        live,
        at=now - settings.list_lag_of_updates_seconds,
        deleted_after=now - settings.list_lag_of_deletes_seconds,
    )
    each_page = settings.list_filters_each_page
    matching = listed if each_page else filter(wanted, listed)
    found, marker = paging.page(matching, params.get("Marker"), limit, settings)
    found = [tenant for tenant in found if wanted(tenant)] if each_page else found
    rows = [{**shown(world, tenant, now), "ETag": tenant.etag, "Parameters": None} for tenant in found]
    return {"DistributionTenantList": rows, "NextMarker": marker}
