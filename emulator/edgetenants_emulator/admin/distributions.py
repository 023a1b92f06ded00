"""Distributions in the admin API.

GET    distributions/{id}    a distribution, with its deployment durations
PATCH  distributions/{id}    {"deploySeconds": 600, "tenantDeploySeconds": 5}; null restores the setting
"""

from __future__ import annotations

from typing import Any

from edgetenants_emulator.application import Application
from edgetenants_emulator.cloudfront import distributions
from edgetenants_emulator.protocol.exchange import Request
from edgetenants_emulator.state.records import Distribution

__all__ = ["change_distribution", "distribution"]

_SECONDS = {"deploySeconds": "deploy_seconds", "tenantDeploySeconds": "tenant_deploy_seconds"}


def distribution(application: Application, _: Request, distribution_id: str) -> dict[str, Any]:
    """A distribution of any account. Raises KeyError if it does not exist."""
    with application.world.lock:
        return _row(application, _find(application, distribution_id))


def change_distribution(application: Application, request: Request, distribution_id: str) -> dict[str, Any]:
    """Set the duration of its future deployments, and of those of its tenants.

    Raises KeyError if it does not exist, ValueError for an invalid body.
    """
    wanted = request.json()
    if not isinstance(wanted, dict) or not wanted or set(wanted) - set(_SECONDS):
        raise ValueError('distribution: expected {"deploySeconds", "tenantDeploySeconds"}: seconds or null')
    for name, seconds in wanted.items():
        if seconds is not None and (type(seconds) not in (int, float) or not 0 <= seconds < float("inf")):
            raise ValueError(f"{name}: expected virtual seconds of at least 0, or null, got {seconds!r}")
    with application.world.lock:
        found = _find(application, distribution_id)
        for name, seconds in wanted.items():
            setattr(found, _SECONDS[name], seconds)
        return _row(application, found)


def _find(application: Application, distribution_id: str) -> Distribution:
    found = application.world.distributions.anywhere(distribution_id)
    if found is None:
        raise KeyError(distribution_id)
    return found


def _row(application: Application, found: Distribution) -> dict[str, Any]:
    world = application.world
    shown = distributions.shown(world, found, world.clock.now())
    seconds = {name: getattr(found, attribute) for name, attribute in _SECONDS.items()}
    return {"Account": found.account, **shown, "ETag": found.etag, **seconds}
