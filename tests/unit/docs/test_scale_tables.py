"""The tables of a million tenants in docs/benchmarks.md are those that tests/bench/million.py computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.million import GIB, KIB, MEASURED, MIB, Installation, figures, largest, table

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "benchmarks.md").read_text()
HALF = Installation(500_000, 50, 5)
ROUND = replace(
    MEASURED,
    empty_bytes=100 * MIB,
    watched_bytes=10 * KIB,
    own_bytes=30 * KIB,
    object_bytes=6 * KIB,
    usage_bytes=2 * KIB,
    etcd_bytes=8 * KIB,
    record_bytes=128,
    start_cpu_seconds=0.0012,
    idle_cpu_seconds=0.018,
    change_writes=2,
    lease_writes=1800,
    account_calls=7200,
)


def test_the_page_has_the_tables() -> None:
    assert table() in PAGE


@pytest.mark.parametrize(
    ("what", "value"),
    [
        # 100 MiB + 400,000 times 10 KiB + 100,000 times 30 KiB
        ("memory of each replica", "6.8 GiB"),
        ("a start: read from the API server", "3.8 GiB"),
        ("a start: processor time", "10 min"),
        ("a start: calls to AWS of an account", "100, in 20 s"),
        ("etcd", "3.8 GiB"),
        ("records of kept domains", "61.0 MiB"),
        ("a change: sent to watches", "60.0 KiB"),
        ("writes at rest, an hour", "9,000"),
        ("calls to AWS at rest, an hour", "360,000, 2.0 a second and account"),
        ("processor time at rest of a replica", "1,800 s, 50% of a core"),
    ],
)
def test_an_installation_follows_from_what_was_measured(what: str, value: str) -> None:
    found = {each.what: each.value for each in figures(HALF, ROUND)}
    assert found[what] == value


def test_a_limit_is_rounded_down() -> None:
    found = {each.what: each.value for each in largest(ROUND)}
    assert found["half of etcd's 8 GiB"] == "520,000"
    assert found["64 ConfigMaps of kept domains"] == "520,000"
    per_tenant = (15 * 10 + 30) / 16 * KIB
    assert (4 * GIB - 100 * MIB) / per_tenant == pytest.approx(363_747, abs=1000)
    assert found["4 GiB for each of 16 replicas"] == "360,000"
