"""`edgetenants source` reads real stores, with Secrets of a file or of the cluster, and writes nothing."""

from __future__ import annotations

import base64
import json

import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli
from cli.source import command
from edgetenants_runtime.kube.errors import NotFound, Operation
from tests.contract.sources import servers
from tests.contract.sources.test_http import serving

CANARY = "canary-of-a-row"


class Cluster:
    """An API server with a Secret only. It has no method that writes."""

    def __init__(self, **data):
        self.data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}

    def get(self, kind, key):
        if kind.kind == "Secret" and (key.namespace, key.name) == ("shop", "customers"):
            return {"data": self.data}
        raise NotFound(Operation("get", kind, "", key.name, key.namespace), 404, "not found")

    def select(self, kind, namespace, labels):
        return []


@pytest.fixture
def previewed(tmp_path, monkeypatch):
    def ran(cluster, source, *words, beside=()):
        monkeypatch.setattr(command, "connect", lambda *_: cluster)
        template = {"name": "{id}", "spec": {"domains": ["{domain}"]}}
        metadata = {"name": "customers", "namespace": "shop"}
        whole = {
            "apiVersion": "platform.edgetenants.io/v1alpha1",
            "kind": "TenantSource",
            "metadata": metadata,
            "spec": {"source": source, "key": "id", "template": template},
        }
        (tmp_path / "source.yaml").write_text(yaml.safe_dump_all([whole, *beside]))
        done = CliRunner().invoke(cli, ["source", "preview", str(tmp_path), "-o", "json", *words])
        [found] = json.loads(done.stdout)
        assert CANARY not in done.output
        assert servers.PASSWORD not in done.output
        return found, done.exit_code

    return ran


def secret(**data):
    metadata = {"name": "customers", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


@pytest.mark.parametrize("place", ["cluster", "file"])
def test_the_rows_of_a_database_are_previewed(previewed, database, place):
    database.run(
        "drop table if exists previewed",
        "create table previewed (id text primary key, domain text)",
        "grant select on previewed to reader",
        f"insert into previewed values ('a', 'a.example.com'), ('b', '{CANARY} x')",
    )
    source = {
        "postgresql": {
            "host": servers.HOST,
            "port": database.port,
            "database": "shop",
            "user": "reader",
            "passwordSecretRef": {"name": "customers", "key": "password"},
            "caSecretRef": {"name": "customers", "key": "ca"},
            "table": "previewed",
        }
    }
    data = {"password": servers.PASSWORD, "ca": database.ca}
    cluster, beside = (Cluster(**data), ()) if place == "cluster" else (Cluster(), (secret(**data),))
    allowed = ("--allowed-database-hosts", f"{servers.HOST}:{database.port}")
    found, code = previewed(cluster, source, *allowed, beside=beside)
    assert code == 1
    assert found["create"] == [{"name": "a", "key": "a"}]
    assert [(each["key"], each["field"]) for each in found["problems"]] == [("b", "spec.domains[0]")]
    found, code = previewed(cluster, source, beside=beside)
    assert (code, found["failure"].split(":")[0]) == (2, "AccessDenied")
    database.run("alter table previewed rename to away")
    try:
        found, code = previewed(cluster, source, *allowed, beside=beside)
        assert (code, found["failure"].split(":")[0]) == (2, "InvalidConfiguration")
    finally:
        database.run("drop table away")


def test_the_rows_of_an_api_are_previewed(previewed):
    with serving("localhost") as api:
        api.put("/customers", [{"id": "a", "domain": "a.example.com", "plan": CANARY}])
        source = {
            "http": {
                "url": f"https://localhost:{api.port}/customers",
                "paging": "Single",
                "headers": [{"name": "Authorization", "secretRef": {"name": "customers", "key": "token"}}],
                "caSecretRef": {"name": "customers", "key": "ca"},
            }
        }
        words = ("--allowed-http-hosts", f"localhost:{api.port}", "--allowed-http-networks", "127.0.0.0/8")
        found, code = previewed(Cluster(token="Bearer x", ca=api.ca), source, *words)
        assert (code, found["create"]) == (0, [{"name": "a", "key": "a"}])
        assert [headers["Authorization"] for _, headers in api.requests] == ["Bearer x"]
        found, code = previewed(Cluster(token="Bearer x", ca=api.ca), source, *words[:2])
        assert (code, len(api.requests)) == (2, 1)
