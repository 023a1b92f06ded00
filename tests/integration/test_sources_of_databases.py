"""Rows of a PostgreSQL database become claims, and nothing goes while it cannot be read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.world import World
from tests.contract.sources import packages, servers
from tests.integration.claims import Claims
from tests.integration.test_sources import Table
from xpkg.errors import PackagingError

NEW_PASSWORD = "canary-of-the-new-password"


@pytest.fixture(scope="module")
def database() -> Iterator[servers.Cluster]:
    try:
        programs = packages.installed()
    except PackagingError as error:
        # With --no-skips, as in CI, this fails.
        pytest.skip(f"did not run, as PostgreSQL cannot be installed: {error}")
    with tempfile.TemporaryDirectory(prefix="edgetenants-databases-") as folder:
        home = Path(folder)
        # Open to the user of the server.
        home.chmod(0o755)
        (home / "running").mkdir()
        with servers.postgresql(
            programs, servers.prepared(programs, home / "new"), home / "running"
        ) as running:
            yield running


@pytest.fixture(scope="module")
def sources(world: World, database: servers.Cluster) -> Iterator[None]:
    world.add_sources(
        "--leader-election",
        "--enable-alpha-removals",
        f"--allowed-database-hosts={servers.HOST}:{database.port}",
    )
    yield
    world.processes.stop("sources")


class Database(Table):
    """A table of a database, and the TenantSource that follows it."""

    def __init__(self, claims: Claims, running: servers.Cluster) -> None:
        super().__init__(claims)
        self.running = running
        running.run(
            "drop table if exists customers",
            "create table customers (id text primary key, domain text, tier text)",
            "grant select on customers to reader",
        )
        self.secret(servers.PASSWORD)

    def secret(self, password: str) -> None:
        metadata = {"name": "database", "namespace": self.claims.namespace}
        data = {"password": password, "ca.crt": self.running.ca}
        self.claims.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})

    def follow(self, *, query: str = "", **changes: Any) -> None:
        source = {
            "host": servers.HOST,
            "port": self.running.port,
            "database": "shop",
            "user": "reader",
            "passwordSecretRef": {"name": "database", "key": "password"},
            "caSecretRef": {"name": "database", "key": "ca.crt"},
            **({"query": query} if query else {"table": "customers"}),
            **changes,
        }
        self.source(source={"postgresql": source}, whenGone="Delete", after="2s")

    def wait_synced(self, *reasons: str) -> str:
        """The message of the condition Synced, once it has one of the reasons."""
        self.claims.wait(f"Synced {reasons}", lambda: self.condition("Synced") in reasons, 90)
        return str(next(c.get("message", "") for c in self.status["conditions"] if c["type"] == "Synced"))


@pytest.fixture
def table(sources: None, claims: Claims, database: servers.Cluster) -> Iterator[Database]:
    made = Database(claims, database)
    yield made
    claims.world.kubectl("delete", "tsrc", "customers", "-n", claims.namespace, "--ignore-not-found")


def test_claims_follow_a_database_and_stay_while_it_is_away(table: Database) -> None:
    run = table.running.run
    run(
        "insert into customers values ('acme', 'acme-db.example.com', 'gold'),"
        " ('umbrella', 'umbrella-db.example.com', 'basic'), ('old', 'old-db.example.com', 'basic')"
    )
    table.follow()
    table.wait_status(rows=3, objects=3, live=3, invalid=0)
    [tenant] = table.claims.tenants("acme")
    assert [domain["Domain"] for domain in tenant["Domains"]] == ["acme-db.example.com"]

    run("update customers set domain = 'acme2-db.example.com' where id = 'acme'")
    table.claims.wait(
        "the changed domain", lambda: table.claim("acme")["spec"]["domains"] == ["acme2-db.example.com"]
    )
    run("delete from customers where id = 'old'")
    table.claims.wait("the claim of the row that is gone to go", lambda: not table.claim("old"))

    run(f"alter role reader password '{NEW_PASSWORD}'")
    try:
        message = table.wait_synced("AccessDenied")
        assert "refuses the user" in message
        table.secret(NEW_PASSWORD)
        table.wait_synced("Synced")
        assert "canary" not in json.dumps(table.status)
    finally:
        run(f"alter role reader password '{servers.PASSWORD}'")
        table.secret(servers.PASSWORD)

    # The server stops amid a read of two rows, of which each takes a while.
    table.follow(query="select id, domain, tier, pg_sleep(2)::text as pause from customers")
    reading = "select 1 from pg_stat_activity where usename = 'reader' and state = 'active'"
    table.claims.wait("a read", lambda: run(reading))
    table.running.kill()
    try:
        table.wait_synced("Unreachable", "Incomplete")
        assert table.condition("Ready") == "NotRead"
        assert table.status["objects"] == 2
    finally:
        table.running.start()
    table.wait_synced("Synced")
    table.wait_status(rows=2, objects=2, gone=0)
    assert table.claim("acme")["spec"]["domains"] == ["acme2-db.example.com"]


def test_a_database_that_no_administrator_named_is_not_called(table: Database) -> None:
    table.follow(host="127.0.0.1")
    assert "--allowed-database-hosts" in table.wait_synced("AccessDenied")
