"""A million tenants in 100 accounts, on paper: what the measured figures make of it.

`MEASURED` has the figures of the other benchmarks, as docs/benchmarks.md says them. Everything else is
computed from them, so the tables of that page come from here: `make bench BENCH=million`.

Limits that are not ours: etcd's recommended greatest database, 8 GiB (etcd.io, "System limits"); the greatest
data of a ConfigMap, 1 MiB (Kubernetes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["INSTALLATIONS", "MEASURED", "Figure", "Installation", "Measured", "figures", "largest", "table"]

KIB: Final = 1024.0
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
HOUR: Final = 3600.0
ETCD_BYTES: Final = 8 * GIB
ETCD_SHARE: Final = 0.5
"""How much of it the objects may take: their former versions and the rest of the cluster need room."""
RECORD_MAPS: Final = 64
"""The ConfigMaps of kept domains (provider/records/life.py)."""
RECORD_BYTES: Final = RECORD_MAPS * MIB
MEMORY_BYTES: Final = 4 * GIB
"""Of one replica, if it shall fit a usual node."""
MOST_SHARDS: Final = 16
PER_PAGE: Final = 100
"""Tenants on a page of CloudFront's lists, in the emulator; AWS does not publish its maximum."""
RATE: Final = 5.0
"""Requests a second, the default of `rateLimits`."""


@dataclass(frozen=True)
class Measured:
    """What was measured with one process and one account."""

    empty_bytes: float
    """Memory of a process without tenants."""
    watched_bytes: float
    """Memory for each tenant that a process only watches."""
    own_bytes: float
    """Memory for each tenant that it reconciles, instead."""
    object_bytes: float
    """A DistributionTenant in JSON, as lists and watches send it."""
    usage_bytes: float
    """Its ProviderConfigUsage."""
    etcd_bytes: float
    """What a tenant takes in etcd, with its ProviderConfigUsage and its records."""
    record_bytes: float
    """The records of its domain and its name, in the data of ConfigMaps."""
    start_cpu_seconds: float
    """Processor time of a process for each tenant that it reads at its start."""
    idle_cpu_seconds: float
    """Processor time in an hour at rest for each tenant that a process reconciles."""
    change_writes: float
    """Writes to Kubernetes for each change of a user, without events."""
    create_writes: float
    """The same for a creation, with its event, its usage and its records."""
    lease_writes: float
    """Writes of a Lease in an hour."""
    account_calls: float
    """Calls to AWS in an hour at rest, of an account with 10,000 tenants, without its checks of DNS."""


@dataclass(frozen=True)
class Installation:
    """One control plane."""

    tenants: int
    accounts: int
    shards: int
    """As many replicas, each with one."""


@dataclass(frozen=True)
class Figure:
    """One row."""

    what: str
    how: str
    """How it follows."""
    value: str


MEASURED: Final = Measured(
    empty_bytes=78 * MIB,
    watched_bytes=15.6 * KIB,  # a process that waits for the Lease: 151.6 MiB with 4,828 tenants
    own_bytes=33.9 * KIB,  # the leader that created them: 238.3 MiB
    object_bytes=5543,
    usage_bytes=1346,
    etcd_bytes=10_683,
    record_bytes=111,
    start_cpu_seconds=0.00043,  # 3.43 s, without 0.65 s of a start and 0.72 s at rest, by 4,828
    idle_cpu_seconds=0.0215,  # 104 s, by 4,828
    change_writes=1.7,
    create_writes=8.65,
    lease_writes=1600,
    account_calls=7462,
)
INSTALLATIONS: Final = (
    Installation(1_000_000, 100, MOST_SHARDS),
    Installation(100_000, 10, 10),
)


def figures(here: Installation, m: Measured = MEASURED) -> Iterator[Figure]:
    """What an installation needs."""
    n, own = here.tenants, here.tenants / here.shards
    memory = m.empty_bytes + (n - own) * m.watched_bytes + own * m.own_bytes
    listed = n * (m.object_bytes + m.usage_bytes)
    start = n * m.start_cpu_seconds
    pages = math.ceil(n / here.accounts / PER_PAGE)
    records = n * m.record_bytes
    yield Figure("memory of each replica", "empty + watched times others + own times its own", _bytes(memory))
    yield Figure(
        "a start: read from the API server", "(tenant + usage) times all, by each replica", _bytes(listed)
    )
    yield Figure("a start: processor time", "for each tenant that is read", f"{start / 60:.0f} min")
    yield Figure(
        "a start: calls to AWS of an account", f"pages of {PER_PAGE}", f"{pages}, in {pages / RATE:.0f} s"
    )
    yield Figure("etcd", "measured with usages and records times all", _bytes(n * m.etcd_bytes))
    yield Figure("records of kept domains", "domain and name times all", _bytes(records))
    yield Figure("a change: sent to watches", "writes times tenant times replicas", _bytes(_sent(here, m)))
    yield Figure("a creation: writes to Kubernetes", "measured, with its event", f"{m.create_writes:.1f}")
    yield Figure("writes at rest, an hour", "Leases", f"{here.shards * m.lease_writes:,.0f}")
    yield Figure("calls to AWS at rest, an hour", "lists and daily checks times accounts", _calls(here, m))
    yield Figure("processor time at rest of a replica", "for each of its own, an hour", _rest(own, m))


def _sent(here: Installation, m: Measured) -> float:
    return m.change_writes * m.object_bytes * here.shards


def _calls(here: Installation, m: Measured) -> str:
    per_account = m.account_calls * here.tenants / here.accounts / 10_000
    return f"{per_account * here.accounts:,.0f}, {per_account / HOUR:.1f} a second and account"


def _rest(own: float, m: Measured) -> str:
    seconds = own * m.idle_cpu_seconds
    return f"{seconds:,.0f} s, {seconds / HOUR:.0%} of a core"


def largest(m: Measured = MEASURED) -> list[Figure]:
    """How many tenants of one control plane each of its limits permits."""
    memory = (MEMORY_BYTES - m.empty_bytes) / m.own_bytes
    return [
        Figure("4 GiB for one replica without shards", "(4 GiB - empty) / own", _count(memory)),
        Figure(
            f"4 GiB for each of {MOST_SHARDS} replicas",
            "(4 GiB - empty) / (15/16 times watched + 1/16 times own)",
            _count((MEMORY_BYTES - m.empty_bytes) / (15 / 16 * m.watched_bytes + m.own_bytes / 16)),
        ),
        Figure("half of etcd's 8 GiB", "4 GiB / etcd", _count(ETCD_SHARE * ETCD_BYTES / m.etcd_bytes)),
        Figure("64 ConfigMaps of kept domains", "64 MiB / records", _count(RECORD_BYTES / m.record_bytes)),
    ]


def table() -> str:
    """The tables of docs/benchmarks.md."""
    rows = zip(*(figures(each) for each in INSTALLATIONS), strict=True)
    heads = " | ".join(
        f"{each.tenants:,} in {each.accounts} accounts, {each.shards} shards" for each in INSTALLATIONS
    )
    lines = [f"| | how it follows | {heads} |", "|---|---|" + "---|" * len(INSTALLATIONS)]
    lines += [f"| {row[0].what} | {row[0].how} | {' | '.join(each.value for each in row)} |" for row in rows]
    lines += ["", "| limit of one control plane | how it follows | tenants |", "|---|---|---|"]
    lines += [f"| {row.what} | {row.how} | {row.value} |" for row in largest()]
    return "\n".join(lines)


def _bytes(number: float) -> str:
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if number >= size:
            return f"{number / size:.1f} {unit}" if number < 100 * size else f"{number / size:.0f} {unit}"
    return f"{number:.0f} B"


def _count(number: float) -> str:
    """Two digits, rounded down: it is a limit."""
    digits = 10 ** max(0, len(str(int(number))) - 2)
    return f"{int(number) // digits * digits:,}"
