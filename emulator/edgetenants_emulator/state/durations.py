"""The durations of deployments in virtual seconds, from the settings or from a distribution's own values."""

from __future__ import annotations

from edgetenants_emulator.state.records import Tenant
from edgetenants_emulator.state.world import World

__all__ = ["deploy", "of_distribution", "of_group", "of_tenant"]


def of_tenant(world: World, account: str, distribution_id: str) -> float:
    """The duration for a tenant of that distribution."""
    parent = world.distributions.get(account, distribution_id)
    own = parent.tenant_deploy_seconds if parent else None
    return _drawn(world, world.settings.deploy_tenant_seconds if own is None else own)


def of_distribution(world: World, own: float | None) -> float:
    """The duration for a distribution; `own` is its own value, or None."""
    return _drawn(world, world.settings.deploy_distribution_seconds if own is None else own)


def of_group(world: World) -> float:
    """The duration for a connection group."""
    return _drawn(world, world.settings.deploy_group_seconds)


def deploy(world: World, tenant: Tenant) -> None:
    """Give a tenant a new version, and start its deployment."""
    tenant.touch(world.clock.now(), of_tenant(world, tenant.account, tenant.distribution_id))


def _drawn(world: World, mean: float) -> float:
    match world.settings.deployment_times:
        case "uniform":
            return world.chance.uniform(0.5, 1.5) * mean
        case "exponential":
            return world.chance.expovariate(1.0) * mean
        case _:
            return mean
