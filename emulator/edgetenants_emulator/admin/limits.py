"""The rate limits in the admin API.

GET    limits           those that were set
POST   limits           {"published": "route53"}, or one of your own:
                        {"service": "cloudfront", "operation": "each", "burst": 5, "refill": 0.5}
DELETE limits?service=  lift those of a service, without one all
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgetenants_emulator.application import Application
from edgetenants_emulator.calls.rate_limits import PUBLISHED, Limit, Unit
from edgetenants_emulator.protocol.exchange import Request

__all__ = ["add_limits", "limits", "remove_limits"]


def limits(application: Application, _: Request) -> dict[str, Any]:
    """The limits that were set."""
    return {"limits": [asdict(limit) for limit in application.limits.listed()]}


def add_limits(application: Application, request: Request) -> dict[str, Any]:
    """Set one limit, or those that AWS publishes for a service. Raises ValueError for what is none."""
    application.limits.set(_parse(request.json()))
    return limits(application, request)


def remove_limits(application: Application, request: Request) -> dict[str, Any]:
    """Lift limits."""
    application.limits.clear(request.query.get("service", ""))
    return limits(application, request)


def _parse(wanted: dict[str, Any]) -> tuple[Limit, ...]:
    if set(wanted) == {"published"}:
        if wanted["published"] not in PUBLISHED:
            raise ValueError(f"limits are published for {', '.join(PUBLISHED)}, not {wanted['published']!r}")
        return PUBLISHED[wanted["published"]]
    burst, refill = float(wanted.pop("burst", 0)), float(wanted.pop("refill", 0))
    unit = Unit(wanted.pop("unit", Unit.REQUESTS))
    if set(wanted) != {"service", "operation"}:
        raise ValueError(
            "a limit has service, operation (a name, * or each), burst, refill, and may have unit"
        )
    return (Limit(wanted["service"], wanted["operation"], burst, refill, unit),)
