"""Finds tenants by the identifiers of requests."""

from __future__ import annotations

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.records import Tenant
from edgetenants_emulator.state.world import World

__all__ = ["by_id", "find", "not_found"]


def find(world: World, account: str, identifier: str) -> Tenant:
    """A tenant by id, ARN or name. Raises AwsError EntityNotFound; AccessDenied for another account's ARN."""
    arn = Arn.parse(identifier)
    if arn is None:
        found = world.tenants.get(account, identifier) or world.tenants.named(account, identifier)
    elif arn.account != account:
        message = f"Access to {identifier} is denied: it belongs to another account."
        raise AwsError(world.settings.foreign_arn_error, message)
    else:
        found = world.tenants.get(account, arn.id) if arn.kind == Tenant.KIND else None
    if found is None:
        raise not_found(identifier)
    return found


def by_id(world: World, account: str, tenant_id: str) -> Tenant:
    """A tenant by id only, for writes. Raises AwsError EntityNotFound."""
    tenant = world.tenants.get(account, tenant_id)
    if tenant is None:
        raise not_found(tenant_id)
    return tenant


def not_found(identifier: str) -> AwsError:
    """The error for a missing tenant."""
    return AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The distribution tenant {identifier} doesn't exist.")
