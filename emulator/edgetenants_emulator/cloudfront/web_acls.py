"""AssociateDistributionTenantWebACL and DisassociateDistributionTenantWebACL.

Both give the tenant a new version and start a deployment. If-Match is optional, unlike in an update.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.cloudfront import customizations
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.settings import ACCEPTED
from edgetenants_emulator.state import durations, etag, tenant_lookup
from edgetenants_emulator.state.records import Tenant
from edgetenants_emulator.state.world import World

__all__ = ["associate", "disassociate"]

Params = Mapping[str, Any]


def associate(world: World, account: str, params: Params) -> dict[str, Any]:
    """AssociateDistributionTenantWebACL, equivalent to the customization `override`."""
    tenant = _tenant(world, account, params)
    arn = params["WebACLArn"]
    own = customizations.settled(account, {"WebAcl": {"Action": "override", "Arn": arn}})
    world.remember(tenant)
    tenant.customizations = {**tenant.customizations, **own}
    durations.deploy(world, tenant)
    return {"Id": tenant.id, "WebACLArn": arn, "ETag": tenant.etag}


def disassociate(world: World, account: str, params: Params) -> dict[str, Any]:
    """DisassociateDistributionTenantWebACL: restores the distribution's web ACL, or none if the settings say
    so.

    A tenant without its own web ACL is refused, unless the settings accept it; AWS does not document it.
    """
    tenant = _tenant(world, account, params)
    if "Arn" not in tenant.customizations.get("WebAcl", {}):
        if world.settings.disassociate_nothing == ACCEPTED:
            return {"Id": tenant.id, "ETag": tenant.etag}
        message = f"The distribution tenant {tenant.id} is not associated with a web ACL."
        raise AwsError(world.settings.disassociate_nothing, message)
    world.remember(tenant)
    others = {name: part for name, part in tenant.customizations.items() if name != "WebAcl"}
    left = {} if world.settings.disassociated_web_acl_inherits else {"WebAcl": {"Action": "disable"}}
    tenant.customizations = {**left, **others}
    durations.deploy(world, tenant)
    return {"Id": tenant.id, "ETag": tenant.etag}


def _tenant(world: World, account: str, params: Params) -> Tenant:
    tenant = tenant_lookup.by_id(world, account, params["Id"])
    etag.check_if_given(params.get("IfMatch"), tenant.version, world.settings)
    return tenant
