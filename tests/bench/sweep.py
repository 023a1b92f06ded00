"""The calls for tenants at rest, of a restart, and of drift: with lists of the account, or a Get for each.

The provider's own code and the runtime's reconciler run against the emulator, on its virtual clock, in one
process; one thread plays the queue and the sweeps (tests/contract/fleet.py). An hour passes in some minutes.
All tenants differ: name, domain and parameters.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.clock import FakeClock
from tests.contract import in_process
from tests.contract.emulated import Emulated
from tests.contract.fleet import Fleet

TENANTS = int(os.environ.get("BENCH_TENANTS", "10000"))
POLLED = 500
"""Tenants with a Get for each: an hour of them takes as long as one of 5,000 with lists."""
DRIFTED = 200
HOUR = 3600.0
LISTS = frozenset({"ListDistributionTenants", "ListConnectionGroups"})
READS = frozenset({*LISTS, "GetDistributionTenant"})
"""What shows whether a tenant changed. The others check DNS, certificates and tags."""
STEP = 5.0
LONGEST = 7200.0


@dataclass(frozen=True)
class Sweep:
    """The calls of one provider."""

    name: str
    tenants: int
    hour: dict[str, int]
    """Calls by operation in an hour at rest."""
    reads_per_tenant_and_hour: float
    """Gets and lists."""
    restart: dict[str, int]
    """Calls by operation in the first minute of a new process."""
    drifted: int
    drift: dict[str, int]
    """Calls by operation until these tenants were repaired."""
    drift_seconds: float
    """Virtual seconds from the changes until all were repaired."""


def sweeps() -> list[Sweep]:
    """Measure both."""
    return [measure("lists", TENANTS, lists=True), measure("a Get for each", POLLED, lists=False)]


def measure(name: str, tenants: int, *, lists: bool) -> Sweep:
    """Measure one."""
    with account(tenants) as aws:
        fleet = Fleet(aws, tenants, sweeps=lists)
        fleet.run(1800.0)
        assert fleet.ready() == {("True", "Available"): tenants}, fleet.ready()
        hour = fleet.run(HOUR)
        fleet.start()
        restart = fleet.run(60.0)
        fleet.run(1200.0)
        drifted = min(DRIFTED, tenants // 2)
        drift, seconds = repaired(fleet, drifted)
    reads = sum(count for operation, count in hour.items() if operation in READS)
    return Sweep(name, tenants, dict(hour), reads / tenants, dict(restart), drifted, dict(drift), seconds)


class SteppingClock(FakeClock):
    """For a single thread: while it waits, time passes, in AWS, too."""

    def __init__(self, aws: Emulated) -> None:
        super().__init__()
        self._aws = aws

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Let the time pass."""
        del condition
        assert deadline is not None
        seconds = deadline - self.now()
        if seconds > 0:
            self.advance(seconds)
            self._aws.admin("POST", "clock", {"step": seconds})


@contextmanager
def account(tenants: int) -> Iterator[Emulated]:
    """An emulated account with room for these tenants, called without sockets."""
    with EmulatorServer(rate=0) as server, in_process.reaching(server):
        aws = Emulated(server)
        quotas = {"tenants_per_account": 2 * tenants, "call_log_size": 10_000_000}
        known = aws.admin("GET", "settings")
        aws.admin("PATCH", "settings", {key: value for key, value in quotas.items() if key in known})
        yield aws


def repaired(fleet: Fleet, drifted: int) -> tuple[Counter[str], float]:
    """Change some tenants behind the provider's back; the calls and seconds until they are as they were."""
    names = [f"shop.t-{number:03}" for number in range(drifted)]
    for name in names:
        fleet.aws.edit(name, Enabled=False)
    calls, began = Counter[str](), fleet.clock.now()
    while any(not each["Enabled"] for each in fleet.aws.tenants if each["Name"] in set(names)):
        calls += fleet.run(STEP)
        assert fleet.clock.now() < began + LONGEST, "not repaired"
    return calls, fleet.clock.now() - began
