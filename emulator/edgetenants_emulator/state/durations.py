"""How long a deployment takes, in virtual seconds: by the settings, or by what was said of a distribution."""

from __future__ import annotations

from edgetenants_emulator.state.records import Tenant
from edgetenants_emulator.state.world import World

__all__ = ["deploy", "of_distribution", "of_group", "of_tenant"]


def of_tenant(world: World, account: str, distribution_id: str) -> float:
    """Of a tenant of that distribution."""
    parent = world.distributions.get(account, distribution_id)
    own = parent.tenant_deploy_seconds if parent else None
    return _drawn(world, world.settings.deploy_tenant_seconds if own is None else own)


def of_distribution(world: World, own: float | None) -> float:
    """Of a distribution with a duration of its `own`, or none."""
    return _drawn(world, world.settings.deploy_distribution_seconds if own is None else own)


def of_group(world: World) -> float:
    """Of a connection group."""
    return _drawn(world, world.settings.deploy_group_seconds)


def deploy(world: World, tenant: Tenant) -> None:
    """Give a tenant a new version, on its way to the edges."""
    tenant.touch(world.clock.now(), of_tenant(world, tenant.account, tenant.distribution_id))


def _drawn(world: World, mean: float) -> float:
    match world.settings.deployment_times:
        case "uniform":
            return world.chance.uniform(0.5, 1.5) * mean
        case "exponential":
            return world.chance.expovariate(1.0) * mean
        case _:
            return mean
