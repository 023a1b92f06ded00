"""A table in a ConfigMap becomes claims, through the whole chain: rows in, changed, gone, back and wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.watching import Object

HEADER = "id,domain,tier"


@pytest.fixture(scope="module")
def sources(world: World) -> Iterator[None]:
    world.add_sources("--leader-election", "--enable-alpha-removals")
    yield
    world.processes.stop("sources")


class Table:
    """A ConfigMap with rows, and the TenantSource that follows it."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims

    def rows(self, *rows: str) -> None:
        data = {"customers.csv": "\n".join((HEADER, *rows)) + "\n"}
        self.claims.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "customers", "namespace": self.claims.namespace},
                "data": data,
            }
        )

    def source(self, **spec: Any) -> None:
        template = {
            "name": "{id}",
            "spec": {"plan": "standard", "domains": ["{domain}"], "parameters": {"tier": "{tier}"}},
        }
        whole = {
            "source": {"configMap": {"name": "customers", "key": "customers.csv", "format": "csv"}},
            "key": "id",
            "template": template,
            "pollInterval": "10s",
            **spec,
        }
        self.claims.apply(
            {
                "apiVersion": "platform.edgetenants.io/v1alpha1",
                "kind": "TenantSource",
                "metadata": {"name": "customers", "namespace": self.claims.namespace},
                "spec": whole,
            }
        )

    @property
    def status(self) -> Object:
        found = self.claims.world.kubectl(
            "get", "tsrc", "customers", "-n", self.claims.namespace, "-o", "json", "--ignore-not-found"
        )
        return json.loads(found).get("status", {}) if found.strip() else {}

    def condition(self, type_: str) -> str:
        found = [c for c in self.status.get("conditions", ()) if c["type"] == type_]
        return found[0]["reason"] if found else ""

    def claim(self, name: str) -> Object:
        found = self.claims.world.kubectl(
            "get", "tenantclaim", name, "-n", self.claims.namespace, "-o", "json", "--ignore-not-found"
        )
        return json.loads(found) if found.strip() else {}

    def wait_status(self, seconds: float = 90, **wanted: Any) -> None:
        self.claims.wait(
            f"status {wanted}",
            lambda: {name: self.status.get(name) for name in wanted} == wanted,
            seconds,
        )


@pytest.fixture
def table(sources: None, claims: Claims) -> Iterator[Table]:
    made = Table(claims)
    yield made
    claims.world.kubectl("delete", "tsrc", "customers", "-n", claims.namespace, "--ignore-not-found")


def test_rows_become_live_tenants_and_follow_the_table(table: Table) -> None:
    table.rows("acme,acme-src.example.com,gold", "umbrella,umbrella-src.example.com,basic")
    table.source()
    table.wait_status(rows=2, objects=2, live=2, invalid=0)
    assert table.condition("Ready") == "Following"
    [tenant] = table.claims.tenants("acme")
    assert [domain["Domain"] for domain in tenant["Domains"]] == ["acme-src.example.com"]

    version = table.claim("umbrella")["metadata"]["generation"]
    table.rows("acme,acme2-src.example.com,gold", "umbrella,umbrella-src.example.com,basic")
    table.claims.wait(
        "the changed domain", lambda: table.claim("acme")["spec"]["domains"] == ["acme2-src.example.com"]
    )
    assert table.claim("umbrella")["metadata"]["generation"] == version

    # A row that is wrong keeps its object, and stops no other one.
    table.rows(
        "acme,acme2-src.example.com,gold", "umbrella,not a domain,basic", "new,new-src.example.com,basic"
    )
    table.wait_status(rows=3, objects=3, live=3, invalid=1)
    [problem] = table.status["problems"]
    assert (problem["key"], problem["field"]) == ("umbrella", "spec.domains[0]")
    assert "not a domain" not in json.dumps(table.status)
    assert table.claim("umbrella")["spec"]["domains"] == ["umbrella-src.example.com"]

    # By default the object of a row that is gone stays.
    table.rows("acme,acme2-src.example.com,gold", "new,new-src.example.com,basic")
    table.wait_status(rows=2, objects=3, gone=1, goneNames=["umbrella"])
    assert table.claim("umbrella")

    table.claims.world.kubectl("delete", "tsrc", "customers", "-n", table.claims.namespace)
    assert table.claim("acme")


def test_a_row_that_is_gone_goes_after_a_grace_and_an_empty_table_takes_a_confirmation(table: Table) -> None:
    rows = ("a,a-gone.example.com,x", "b,b-gone.example.com,x", "c,c-gone.example.com,x")
    table.rows(*rows)
    table.source(whenGone="Delete", after="2s", onDelete="Delete")
    table.wait_status(rows=3, objects=3)
    table.rows(*rows[:2])
    table.claims.wait("the claim of the third row to go", lambda: not table.claim("c"))
    assert table.claim("a")
    assert table.claim("b")

    table.rows()
    table.claims.wait("the removal to be held", lambda: table.condition("Degraded") == "RemovalHeld")
    removal = table.status["removal"]
    assert removal["count"] == 2
    assert removal["names"] == ["a", "b"]
    assert not table.claim("a")["metadata"].get("deletionTimestamp")
    assert "row-gone" not in json.dumps(table.claim("a"))
    record = table.claims.world.kubectl(
        "get", "configmaps", "-n", "crossplane-system", "-l", "edgetenants.io/source-record", "-o", "json"
    )
    of = [each["metadata"]["annotations"] for each in json.loads(record)["items"]]
    assert {"edgetenants.io/source-record-of": f"{table.claims.namespace}/customers"} in of
    table.claims.world.kubectl(
        "annotate",
        "tsrc",
        "customers",
        "-n",
        table.claims.namespace,
        f"edgetenants.io/confirm={removal['token']}",
    )
    table.claims.wait("both to go", lambda: not table.claim("a") and not table.claim("b"), 90)

    table.rows(*rows[:1])
    table.wait_status(rows=1, objects=1)
    table.claims.world.kubectl("delete", "tsrc", "customers", "-n", table.claims.namespace, "--wait=true")
    assert not table.claim("a")


def test_suspended_tenants_serve_again_when_the_row_is_back(table: Table) -> None:
    rows = ("a,a-back.example.com,x", "b,b-back.example.com,x")
    table.rows(*rows)
    table.source(whenGone="Suspend", after="1s")
    table.wait_status(rows=2, live=2)
    table.rows(rows[0])
    table.claims.wait("the tenant to be suspended", lambda: table.claim("b")["spec"].get("suspended") is True)
    table.rows(*rows)
    table.claims.wait("the tenant to serve again", lambda: not table.claim("b")["spec"].get("suspended"))
    table.wait_status(rows=2, live=2)
    assert "row-gone" not in json.dumps(table.claim("b")["metadata"]["annotations"])


def test_a_row_that_sets_suspended_itself_is_suspended_when_it_is_gone(table: Table) -> None:
    rows = ("a,a-off.example.com,x", "b,b-off.example.com,x")
    table.rows(*rows)
    template = {
        "name": "{id}",
        "spec": {"plan": "standard", "domains": ["{domain}"], "suspended": "{off}"},
        "defaults": {"off": False},
    }
    table.source(whenGone="Suspend", after="1s", template=template)
    table.wait_status(rows=2, objects=2)
    assert table.claim("b")["spec"]["suspended"] is False
    table.rows(rows[0])
    table.claims.wait("the tenant to be suspended", lambda: table.claim("b")["spec"]["suspended"] is True)
    table.rows(*rows)
    table.claims.wait("the tenant to serve again", lambda: table.claim("b")["spec"]["suspended"] is False)


def test_objects_and_fields_of_others_are_left_alone(table: Table) -> None:
    theirs = table.claims.claim("theirs")
    table.claims.apply(theirs)
    table.rows("theirs,mine-others.example.com,x", "ours,ours-others.example.com,x")
    table.source()
    table.wait_status(rows=2, objects=1, invalid=1)
    assert table.claim("theirs")["spec"]["domains"] == theirs["spec"]["domains"]
    assert "edgetenants.io/source" not in table.claim("theirs")["metadata"].get("labels", {})

    table.claims.patch("ours", {"parameters": {"tier": "by-hand"}})
    table.rows("theirs,mine-others.example.com,x", "ours,ours-others.example.com,y")
    table.wait_status(rows=2, invalid=2)
    problem = next(each for each in table.status["problems"] if each["key"] == "ours")
    assert problem["field"] == "spec.parameters.tier"
    assert "a field that no other field manager has; " in problem["expected"]
    assert "another client" not in problem["expected"]
    assert table.claim("ours")["spec"]["parameters"]["tier"] == "by-hand"


def test_a_template_that_does_not_fit_is_refused_at_once(table: Table) -> None:
    table.rows("a,a-bad.example.com,x")
    template = {"name": "{id}", "spec": {"domians": ["{domain}"]}}
    table.source(template=template)
    table.claims.wait("the refusal", lambda: table.condition("Synced") == "InvalidSpec")
    message = next(c["message"] for c in table.status["conditions"] if c["type"] == "Synced")
    assert "template.spec.domians" in message
    assert "template.spec.domains" in message
    assert not table.claim("a")
