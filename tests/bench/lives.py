"""The calls of whole lives of tenants, and of many new ones at once: followed by lists, or by a Get for each.

As in sweep.py, the provider's own code and the runtime's reconciler run on the emulator's virtual clock.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tests.bench.sweep import account
from tests.contract.fleet import Fleet, life

LIVES = 20
NEW = int(os.environ.get("BENCH_NEW", "2000"))
NEW_POLLED = 300
LEAST = 2.0
"""Calls that the API needs for a new tenant: CreateDistributionTenant, and one that checks its DNS."""
LONGEST = 3600.0


@dataclass(frozen=True)
class Lives:
    """Some tenants with one domain each, under the certificate of their distribution."""

    name: str
    tenants: int
    calls: int
    by_operation: dict[str, int]
    seconds: dict[str, float]
    """Virtual seconds of each stage."""


@dataclass(frozen=True)
class Onboarding:
    """Many new tenants at once."""

    name: str
    tenants: int
    calls_per_tenant: float
    least_calls_per_tenant: float
    """Without any look at them."""
    by_operation: dict[str, int]
    seconds: float
    """Virtual seconds until all are Ready: roll-outs take 45 s, and a reconcile of the one worker 10 ms."""


def lives() -> list[Lives]:
    """Create, change, disable five in AWS, delete."""
    return [_lives("lists", lists=True), _lives("a Get for each", lists=False)]


def onboardings() -> list[Onboarding]:
    """Until all are Ready."""
    return [
        _onboarding("lists", NEW, lists=True),
        _onboarding("a Get for each", min(NEW, NEW_POLLED), lists=False),
    ]


def _lives(name: str, *, lists: bool) -> Lives:
    with account(LIVES) as aws:
        lived = life(Fleet(aws, LIVES, sweeps=lists))
    return Lives(name, LIVES, sum(lived.calls.values()), dict(lived.calls), lived.seconds)


def _onboarding(name: str, tenants: int, *, lists: bool) -> Onboarding:
    with account(tenants) as aws:
        fleet = Fleet(aws, tenants, sweeps=lists)
        all_ready = {("True", "Available"): tenants}
        calls, seconds = fleet.until(lambda: fleet.ready() == all_ready, step=5.0, longest=LONGEST)
    each = sum(calls.values()) / tenants
    return Onboarding(name, tenants, each, LEAST, dict(calls), seconds)
