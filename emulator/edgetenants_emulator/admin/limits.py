"""The rate limits in the admin API.

GET    limits           the configured limits
POST   limits           {"published": "route53"}, or a custom one:
                        {"service": "cloudfront", "operation": "each", "burst": 5, "refill": 0.5}
DELETE limits?service=  remove the limits of a service, or all limits
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgetenants_emulator.application import Application
from edgetenants_emulator.calls.rate_limits import PUBLISHED, Limit, Unit
from edgetenants_emulator.protocol.exchange import Request

__all__ = ["add_limits", "limits", "remove_limits"]


def limits(application: Application, _: Request) -> dict[str, Any]:
    """The configured limits."""
    return {"limits": [asdict(limit) for limit in application.limits.listed()]}


def add_limits(application: Application, request: Request) -> dict[str, Any]:
    """Set one limit, or those that AWS publishes for a service. Raises ValueError for an invalid limit."""
    application.limits.set(_parse(request.json()))
    return limits(application, request)


def remove_limits(application: Application, request: Request) -> dict[str, Any]:
    """Remove limits."""
    application.limits.clear(request.query.get("service", ""))
    return limits(application, request)


def _parse(wanted: dict[str, Any]) -> tuple[Limit, ...]:
    if set(wanted) == {"published"}:
        if wanted["published"] not in PUBLISHED:
            raise ValueError(f"published: expected {', '.join(PUBLISHED)}, got {wanted['published']!r}")
        return PUBLISHED[wanted["published"]]
    burst, refill = float(wanted.pop("burst", 0)), float(wanted.pop("refill", 0))
    unit = Unit(wanted.pop("unit", Unit.REQUESTS))
    if set(wanted) != {"service", "operation"}:
        raise ValueError(
            "limit: expected service, operation (a name, * or each), burst, refill, and optionally unit"
        )
    return (Limit(wanted["service"], wanted["operation"], burst, refill, unit),)
