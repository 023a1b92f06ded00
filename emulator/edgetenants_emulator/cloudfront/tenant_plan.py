"""The desired state of a tenant after a create or an update, with all checks.

    names ──▶ parent ──▶ connection group ──▶ parameters ──▶ customizations ──▶ certificates cover the domains

This module changes nothing, so a refused request has no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.certificates import users as certificate_users
from edgetenants_emulator.cloudfront import connection_groups, customizations, domains
from edgetenants_emulator.configuration import parameters
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.records import Distribution, DomainStatus, Tenant
from edgetenants_emulator.state.world import World

__all__ = ["TenantPlan", "for_create", "for_update", "parent"]

Params = Mapping[str, Any]


@dataclass(frozen=True)
class TenantPlan:
    """The members of a tenant that a request sets."""

    distribution_id: str
    group_id: str
    domains: dict[str, DomainStatus]
    parameters: dict[str, str]
    customizations: dict[str, Any]
    certificate_request: dict[str, Any] | None
    """The managed certificate to request after all checks have passed."""
    enabled: bool

    def members(self) -> dict[str, Any]:
        """The members by name, as in `Tenant`."""
        names = (field.name for field in fields(self) if field.name != "certificate_request")
        return {name: getattr(self, name) for name in names}


def for_create(world: World, account: str, params: Params) -> TenantPlan:
    """The plan of a new tenant. Raises AwsError as CreateDistributionTenant does."""
    names = [item["Domain"] for item in params["Domains"]]
    domains.check_names(names, world.settings.domains_per_tenant)
    distribution = parent(world, account, params["DistributionId"])
    group_id = _group_id(world, account, params.get("ConnectionGroupId"))
    values = parameters.as_map(params.get("Parameters", ()), world.settings.parameters_per_tenant)
    parameters.check(world, distribution, values)
    own = customizations.settled(account, params.get("Customizations", {}))
    request = params.get("ManagedCertificateRequest")
    if request:
        managed_certificates.check_request(world, account, request, names, group_id, None)
    return TenantPlan(
        distribution_id=distribution.id,
        group_id=group_id,
        domains=_statuses(world, distribution, own, names, awaited=names if request else (), before={}),
        parameters=values,
        customizations=own,
        certificate_request=request,
        enabled=params.get("Enabled", world.settings.enabled_by_default),
    )


def for_update(world: World, tenant: Tenant, params: Params) -> TenantPlan:
    """The plan of an update: members that the request omits are kept. Raises AwsError as
    UpdateDistributionTenant does.

    Certificates are checked only if the update changes members that depend on them, so a tenant whose
    certificate was deleted can still be disabled.
    """
    account = tenant.account
    names = [item["Domain"] for item in params["Domains"]] if "Domains" in params else list(tenant.domains)
    if "Domains" in params:
        domains.check_names(names, world.settings.domains_per_tenant)
    distribution = parent(world, account, params.get("DistributionId") or tenant.distribution_id)
    group_id = _group_id(world, account, params.get("ConnectionGroupId") or tenant.group_id)
    values = _parameters(world, tenant, params.get("Parameters"))
    if "Parameters" in params or "DistributionId" in params:
        parameters.check(world, distribution, values)
    own = _customizations(world, tenant, params.get("Customizations"))
    request = params.get("ManagedCertificateRequest")
    if request:
        managed_certificates.check_request(world, account, request, names, group_id, tenant)
    found = tenant.domains
    if params.keys() & {"Domains", "DistributionId", "Customizations", "ManagedCertificateRequest"}:
        awaited = names if request else _awaited(tenant)
        found = _statuses(world, distribution, own, names, awaited=awaited, before=tenant.domains)
    return TenantPlan(
        distribution_id=distribution.id,
        group_id=group_id,
        domains=found,
        parameters=values,
        customizations=own,
        certificate_request=request,
        enabled=params.get("Enabled", tenant.enabled),
    )


def parent(world: World, account: str, distribution_id: str) -> Distribution:
    """The multi-tenant distribution with this id. Raises AwsError EntityNotFound or InvalidAssociation."""
    found = world.distributions.get(account, distribution_id)
    if found is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution {distribution_id} doesn't exist.")
    if not found.tenant_only:
        message = f"The distribution {distribution_id} can't have tenants: its connection mode is direct."
        raise AwsError(world.settings.standard_parent_error, message)
    return found


def _group_id(world: World, account: str, group_id: str | None) -> str:
    if not group_id:
        return connection_groups.default(world, account).id
    found = world.groups.get(account, group_id)
    if found is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The connection group {group_id} doesn't exist.")
    return found.id


def _parameters(world: World, tenant: Tenant, given: Sequence[Params] | None) -> dict[str, str]:
    ignored = given == [] and not world.settings.empty_parameters_clear
    if given is None or ignored:
        return tenant.parameters
    return parameters.as_map(given, world.settings.parameters_per_tenant)


def _customizations(world: World, tenant: Tenant, given: Params | None) -> dict[str, Any]:
    if given is None:
        return tenant.customizations
    if not given:
        return {} if world.settings.empty_customizations_clear else tenant.customizations
    own = customizations.settled(tenant.account, given)
    return {**tenant.customizations, **own} if world.settings.customizations_merge else own


def _awaited(tenant: Tenant) -> Collection[str]:
    return tenant.certificate.tokens if tenant.certificate else ()


def _statuses(
    world: World,
    distribution: Distribution,
    own: Params,
    names: Sequence[str],
    *,
    awaited: Collection[str],
    before: Mapping[str, DomainStatus],
) -> dict[str, DomainStatus]:
    inherited = acm.issued_names(distribution.account, distribution.certificate_arn) or ()
    its_own = acm.issued_names(distribution.account, certificate_users.certificate_arn(own)) or ()
    refusal = world.settings.uncovered_domain_error
    return domains.statuses(names, (*inherited, *its_own), awaited=awaited, before=before, refusal=refusal)
