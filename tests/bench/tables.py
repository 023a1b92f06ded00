"""A table of 50,000 customers in PostgreSQL, followed by a TenantSource: the reconciler itself, over an API
server in memory and a real database on loopback. Beside it, the database's own time for the same rows, and
what it costs to render and compare all of them each time, as generators do that keep nothing.

BENCH_ROWS=1000 reduces it. It needs the servers of the contract tests (`make test` installs them).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import psycopg

from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.managed import Managed
from sources.stores.postgresql import Address, Limits, PostgresStore, Table
from tests.contract.sources import servers
from tests.contract.sources.packages import installed
from tests.unit.sources.tables import KEY, Scene

ROWS = int(os.environ.get("BENCH_ROWS", "50000"))
NEW_A_MINUTE = 10_000
"""The most that a TenantSource may ask for."""
TEMPLATE = {
    "name": "{id}",
    "spec": {"plan": "{plan}", "domains": ["{domain}"], "parameters": {"tier": "{tier}"}},
}


@dataclass(frozen=True)
class Sync:
    """What one kind of read took."""

    name: str
    seconds: float
    cpu_seconds: float
    """Of this process; the database has its own."""
    writes: int
    peak_mib: float
    """The most memory that it took beside what was there before."""


@dataclass(frozen=True)
class Followed:
    """A table and its reads."""

    rows: int
    syncs: tuple[Sync, ...]


def followed(rows: int = ROWS) -> list[Followed]:
    """Measure it."""
    packages = installed()
    with tempfile.TemporaryDirectory(prefix="edgetenants-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        cluster = servers.prepared(packages, home / "new")
        (home / "run").mkdir()
        with servers.postgresql(packages, cluster, home / "run") as database:
            database.run(
                "create table customers (id text primary key, plan text, domain text, tier text)",
                "grant select on customers to reader",
                "insert into customers select 'c' || n, 'standard', 'c' || n || '.example.com', 'gold' "
                f"from generate_series(1, {rows}) n",
            )
            return [Followed(rows, tuple(_syncs(database, rows)))]


def _syncs(database: servers.Cluster, rows: int) -> list[Sync]:
    scene = Scene(template=TEMPLATE, maxNew=NEW_A_MINUTE)
    parts = replace(scene.reconciler._parts, open_store=lambda *_: _store(database, scene))
    scene.reconciler._parts = parts
    own = _measured("the database's own: the same rows, fetched and dropped", scene, lambda: _fetch(database))
    minutes = -(-rows // NEW_A_MINUTE)
    first = [_measured(f"first sync, minute {n + 1}", scene, lambda: _read(scene)) for n in range(minutes)]
    settling = _measured("the read after it: all rows compared, none written", scene, lambda: _read(scene))
    steady = _measured("steady sync: rows summed, not compared", scene, lambda: _read(scene))
    database.run("update customers set tier = 'silver' where id = 'c7'")
    changed = _measured("one changed row, from its read to applied", scene, lambda: _read(scene))
    scene.reconciler._memories.clear()
    naive = _measured("as after a restart: all rows rendered and compared", scene, lambda: _read(scene))
    return [own, *first, settling, steady, changed, naive]


def _store(database: servers.Cluster, scene: Scene) -> PostgresStore:
    address: Address = database.address
    return PostgresStore(address, Table("customers"), scene.clock, limits=Limits(read=600))


def _fetch(database: servers.Cluster) -> None:
    dsn: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": database.port,
        "dbname": "shop",
        "user": servers.OWNER,
    }
    with psycopg.connect(**dsn, sslmode="disable") as connection, connection.cursor("all") as cursor:
        cursor.itersize = 500
        cursor.execute("select * from customers")
        for _ in cursor:
            pass


def _read(scene: Scene) -> None:
    scene.reconciler.reconcile(Managed(scene.sources.cache.get(KEY) or {}))


def _measured(name: str, scene: Scene, act: Callable[[], None]) -> Sync:
    scene.clock.advance(60)
    # The watch of a real process brings changes while they happen.
    for informer in (*scene.informers.values(), scene.sources):
        informer.sync()
    scene.take_writes()
    before = _reset_peak()
    watch, cpu = Stopwatch(), process_time()
    act()
    took, used = watch.elapsed(), process_time() - cpu
    peak = (_status("VmHWM") - before) / 1024
    return Sync(name, round(took, 2), round(used, 2), len(scene.take_writes()), round(max(0.0, peak), 1))


def _reset_peak() -> int:
    """The memory that is in use, in KiB; the peak begins again from there."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1])
