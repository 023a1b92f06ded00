"""A TenantSource's store is opened with the Secrets of its namespace, where an administrator allows it."""

from __future__ import annotations

import base64
import json
from ipaddress import ip_network

import pytest
from pydantic import ValidationError

from apis.tenantsource import SourceChoice
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey
from sources.reading import Allowed, opener
from sources.stores.http import Confinement
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import servers
from tests.contract.sources.test_http import serving

CANARY = "canary-of-a-secret"
REF = {"name": "customers", "key": "value"}


class Secrets:
    """Those of the namespace shop."""

    def __init__(self, **values):
        self.values = {key.replace("_", "-"): value for key, value in values.items()}
        self.read, self.fails = [], None

    def get(self, kind, key):
        self.read.append((kind.kind, key))
        if self.fails is not None:
            raise self.fails
        if key != ObjectKey("shop", "customers"):
            raise NotFound(operation(), 404, "not found")
        data = {
            name: base64.b64encode(value.encode()).decode() if isinstance(value, str) else value.decode()
            for name, value in self.values.items()
        }
        return {"data": data}


def operation():
    return Operation("get", SECRETS, "", "customers", "shop")


def postgresql(running=None, **changes):
    address = running.address if running else None
    source = {
        "host": servers.HOST,
        "port": address.port if address else 5432,
        "database": "shop",
        "user": "reader",
        "passwordSecretRef": {"name": "customers", "key": "password"},
        "caSecretRef": {"name": "customers", "key": "ca"},
        "table": "opened",
    }
    return SourceChoice.model_validate({"postgresql": {**source, **changes}})


def mysql_source(running=None, **changes):
    source = {
        "host": servers.HOST,
        "port": running.port if running else 3306,
        "database": "shop",
        "user": "reader",
        "passwordSecretRef": {"name": "customers", "key": "password"},
        "caSecretRef": {"name": "customers", "key": "ca"},
        "table": "opened",
        "jsonColumns": ["domains"],
    }
    return SourceChoice.model_validate({"mysql": {**source, **changes}})


def redis_source(running=None, **changes):
    source = {
        "host": servers.HOST,
        "port": running.port if running else 6379,
        "user": "reader",
        "passwordSecretRef": {"name": "customers", "key": "password"},
        "caSecretRef": {"name": "customers", "key": "ca"},
        "prefix": "customer:",
        "keyColumn": "id",
        "jsonColumns": ["domains"],
    }
    return SourceChoice.model_validate({"redis": {**source, **changes}})


def http(port=443, **changes):
    source = {
        "url": f"https://localhost:{port}/customers",
        "items": "/data",
        "paging": "Cursor",
        "cursor": "/after",
        "headers": [{"name": "Authorization", "secretRef": {"name": "customers", "key": "token"}}],
        "caSecretRef": {"name": "customers", "key": "ca"},
    }
    return SourceChoice.model_validate({"http": {**source, **changes}})


def test_a_source_says_how_its_pages_follow_each_other():
    with pytest.raises(ValidationError, match="paging"):
        SourceChoice.model_validate({"http": {"url": "https://api.example.com/"}})


def rows(opened):
    try:
        with opened.read() as reading:
            return [dict(row.columns) for row in reading]
    finally:
        opened.close()


def failure(secrets, choice, allowed, namespace="shop"):
    with pytest.raises(StoreError) as caught:
        rows(opener(secrets.get, SystemClock(), allowed)(namespace, choice))
    assert "canary" not in f"{caught.value} {caught.value.__cause__}"
    return caught.value


LOCAL = Allowed(frozenset({(servers.HOST, 5432)}), Confinement(("localhost",), [ip_network("127.0.0.0/8")]))


@pytest.fixture
def customers(database):
    database.run(
        "drop table if exists opened",
        "create table opened (id text primary key, domain text)",
        "grant select on opened to reader",
        "insert into opened values ('a', 'a.example')",
    )
    return database


def test_a_password_counts_from_the_next_read(customers):
    allowed = Allowed(frozenset({(servers.HOST, customers.port)}))
    secrets = Secrets(password=f"{servers.PASSWORD}\n", ca=customers.ca)
    open_store = opener(secrets.get, SystemClock(), allowed)
    assert rows(open_store("shop", postgresql(customers))) == [{"id": "a", "domain": "a.example"}]
    query = postgresql(customers, table=None, query="select id from opened")
    assert rows(open_store("shop", query)) == [{"id": "a"}]
    columns = postgresql(customers, columns=["domain"])
    assert rows(open_store("shop", columns)) == [{"domain": "a.example"}]
    customers.run("alter role reader password 'canary-new'")
    try:
        assert failure(secrets, postgresql(customers), allowed).reason == StoreReason.ACCESS_DENIED
        secrets.values["password"] = "canary-new"
        assert rows(open_store("shop", postgresql(customers))) == [{"id": "a", "domain": "a.example"}]
    finally:
        customers.run(f"alter role reader password '{servers.PASSWORD}'")


def test_a_password_of_mysql_counts_from_the_next_read(mysql):
    mysql.run(
        "drop table if exists opened",
        "create table opened (id varchar(10) primary key, domains text)",
        "grant select on shop.* to 'reader'@'127.0.0.1'",
        """insert into opened values ('a', '["a.example"]')""",
    )
    allowed = Allowed(frozenset({(servers.HOST, mysql.port)}))
    secrets = Secrets(password=f"{servers.PASSWORD}\n", ca=mysql.ca)
    open_store = opener(secrets.get, SystemClock(), allowed)
    expected = [{"id": "a", "domains": ["a.example"]}]
    assert rows(open_store("shop", mysql_source(mysql))) == expected
    query = mysql_source(mysql, table=None, query="select domains from opened")
    assert rows(open_store("shop", query)) == [{"domains": ["a.example"]}]
    assert rows(open_store("shop", mysql_source(mysql, columns=["domains"]))) == [{"domains": ["a.example"]}]
    mysql.run("set password for 'reader'@'127.0.0.1' = password('canary-new')")
    try:
        assert failure(secrets, mysql_source(mysql), allowed).reason == StoreReason.ACCESS_DENIED
        secrets.values["password"] = "canary-new"
        assert rows(open_store("shop", mysql_source(mysql))) == expected
    finally:
        mysql.run(f"set password for 'reader'@'127.0.0.1' = password('{servers.PASSWORD}')")


def test_a_password_of_redis_counts_from_the_next_read(redis):
    redis.run("HSET", "customer:a", "domains", '["a.example"]')
    redis.run("COPY", "customer:a", "customer:b", "DB", "1")
    allowed = Allowed(frozenset({(servers.HOST, redis.port)}))
    secrets = Secrets(password=f"{servers.PASSWORD}\n", ca=redis.ca)
    open_store = opener(secrets.get, SystemClock(), allowed)
    expected = [{"id": "a", "domains": ["a.example"]}]
    assert rows(open_store("shop", redis_source(redis))) == expected
    assert rows(open_store("shop", redis_source(redis, database=1))) == [
        {"id": "b", "domains": ["a.example"]}
    ]
    redis.run("ACL", "SETUSER", "reader", "resetpass", ">canary-new")
    try:
        assert failure(secrets, redis_source(redis), allowed).reason == StoreReason.ACCESS_DENIED
        secrets.values["password"] = "canary-new"
        assert rows(open_store("shop", redis_source(redis))) == expected
    finally:
        redis.run("ACL", "SETUSER", "reader", "resetpass", f">{servers.PASSWORD}")


def test_an_api_gets_the_token(tmp_path):
    with serving("localhost") as api:
        api.put("/customers", {"data": [{"id": "a"}], "after": "1"})
        api.put("/customers?cursor=1", {"data": [{"id": "b"}], "after": None})
        secrets = Secrets(token=f"Bearer {CANARY}\r\n", ca=api.ca)
        hosts = (f"localhost:{api.port}",)
        local = Allowed(http=Confinement(hosts, [ip_network("127.0.0.0/8")]))
        found = rows(opener(secrets.get, SystemClock(), local)("shop", http(api.port)))
        assert found == [{"id": "a"}, {"id": "b"}]
        assert {headers["Authorization"] for _, headers in api.requests} == {f"Bearer {CANARY}"}
        private = Allowed(http=Confinement(hosts))
        error = failure(secrets, http(api.port), private)
        assert error.reason == StoreReason.ACCESS_DENIED
        assert "--allowed-http-networks" in error.message
        assert len(api.requests) == 2


def test_nothing_is_called_and_no_secret_read_that_no_administrator_allowed():
    secrets = Secrets(password=CANARY, token=CANARY)
    for choice, flag, allowed in (
        (postgresql(), "--allowed-database-hosts", Allowed()),
        (postgresql(port=5433), "--allowed-database-hosts", LOCAL),
        (postgresql(host="localhost.example"), "--allowed-database-hosts", LOCAL),
        (mysql_source(), "--allowed-database-hosts", LOCAL),
        (mysql_source(host="10.0.0.1"), "--allowed-database-hosts", Allowed()),
        (redis_source(), "--allowed-database-hosts", LOCAL),
        (redis_source(host="10.0.0.1"), "--allowed-database-hosts", Allowed()),
        (http(), "--allowed-http-hosts", Allowed()),
        (http(url="https://api.example/"), "--allowed-http-hosts", LOCAL),
    ):
        error = failure(secrets, choice, allowed)
        assert error.reason == StoreReason.ACCESS_DENIED
        assert flag in error.message
    assert not secrets.read


def test_only_secrets_of_its_own_namespace_are_read():
    secrets = Secrets(password=CANARY, ca=CANARY)
    other = postgresql(passwordSecretRef={"name": "customers", "key": "password", "namespace": "shop"})
    assert failure(secrets, other, LOCAL, namespace="evil").reason == StoreReason.INVALID_CONFIGURATION
    assert secrets.read == [("Secret", ObjectKey("evil", "customers"))]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "has no key"),
        ({"token": b"!canary"}, "is no text"),
        ({"token": b"/w=="}, "is no text"),
        ({"token": f"{CANARY}\r\nX: y"}, "must be one line"),
        ({"token": "canary-ä"}, "must be one line"),
        ({"token": "x", "ca": CANARY}, "has no certificates in PEM"),
        ({"token": "x", "ca": f"-----BEGIN CERTIFICATE-----\n{CANARY}\n"}, "has no certificates in PEM"),
        ({"token": "x", "ca": ""}, "has no certificates in PEM"),
    ],
)
def test_what_a_secret_must_hold_is_told_without_what_it_holds(values, words):
    error = failure(Secrets(**values), http(), LOCAL)
    assert error.reason == StoreReason.INVALID_CONFIGURATION
    assert words in error.message


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        (NotFound(operation(), 404, "not found"), StoreReason.INVALID_CONFIGURATION),
        (Forbidden(operation(), 403, "forbidden"), StoreReason.ACCESS_DENIED),
        (KubeError(operation(), 500, "down"), StoreReason.UNREACHABLE),
    ],
)
def test_a_secret_that_cannot_be_read(fails, reason):
    secrets = Secrets()
    secrets.fails = fails
    error = failure(secrets, postgresql(), LOCAL)
    assert error.reason == reason
    assert "customers" in json.dumps(error.message)
