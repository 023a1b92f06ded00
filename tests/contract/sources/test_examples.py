"""The examples of databases: the statements of their READMEs, and the TenantSources read what these make."""

from __future__ import annotations

import base64
import re
import shlex
from pathlib import Path

import pytest
import yaml

from apis.tenantsource import SourceChoice, parse
from edgetenants_runtime.clock import SystemClock
from sources.reading import Allowed, opener
from sources.rows import read_table
from sources.template import compile_template
from tests.contract.sources import servers

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/sources"
ROW = "'acme', 'standard', {}, 'gold'"


def readme(store):
    return (EXAMPLES / store / "README.md").read_text()


def statement(store, beginning):
    """One statement of the README, for the user of these tests."""
    found = re.search(rf"^(?:> )?({beginning}[^;\n]*)", readme(store), re.MULTILINE)[1]
    return found.replace("edgetenants", "reader").replace("…", servers.PASSWORD)


def claims(store, running):
    """What becomes of the rows."""
    [whole] = yaml.safe_load_all((EXAMPLES / store / "tenantsource.yaml").read_text())
    spec = parse(whole["spec"])
    chosen = spec.source.model_dump(by_alias=True, exclude_none=True)
    chosen[store] |= {"host": servers.HOST, "port": running.port, "user": "reader"}
    secret = {"password": servers.PASSWORD, "ca.crt": running.ca}
    data = {name: base64.b64encode(value.encode()).decode() for name, value in secret.items()}
    allowed = Allowed(frozenset({(servers.HOST, running.port)}))
    open_store = opener(lambda kind, key: {"data": data}, SystemClock(), allowed)
    with open_store("shop", SourceChoice.model_validate(chosen)).read() as reading:
        table = read_table(reading, compile_template(spec.template), spec.key)
    assert not table.problems
    assert not table.keyless
    return {row.name: row.spec for row in table.desired.values()}


EXPECTED = {
    "acme": {
        "plan": "standard",
        "domains": ["acme.example.com", "www.acme.example.com"],
        "parameters": {"tier": "gold"},
    }
}


@pytest.mark.parametrize(
    ("store", "domains"),
    [
        ("postgresql", "array['acme.example.com', 'www.acme.example.com']"),
        ("mysql", """'["acme.example.com", "www.acme.example.com"]'"""),
    ],
)
def test_a_table(store, domains, request):
    running = request.getfixturevalue("database" if store == "postgresql" else store)
    grant = statement(store, "GRANT").replace(
        "reader", "'reader'@'127.0.0.1'" if store == "mysql" else "reader"
    )
    running.run(
        "drop table if exists customers",
        statement(store, "CREATE TABLE"),
        f"insert into customers values ({ROW.format(domains)})",
        grant,
    )
    assert claims(store, running) == EXPECTED


def test_hashes(redis):
    redis.run(*shlex.split(statement("redis", "HSET")))
    redis.run("ACL", "SETUSER", "reader", "reset")
    redis.run(*shlex.split(statement("redis", "ACL")))
    assert claims("redis", redis) == EXPECTED
