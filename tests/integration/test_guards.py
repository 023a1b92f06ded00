"""What stops the provider before it writes, on the real control plane: each guard with its condition, and the
way out that the condition names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from apis.conditions import (
    DnsReason,
    InSyncReason,
    TenantReadyReason,
)
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import FAST
from tests.integration.test_certificates import admin
from tests.integration.test_configs_in_use import Team, secret
from tests.integration.test_references import DISTRIBUTION, look_again, says, tenant
from tests.integration.watching import Object, Watch, condition, is_true

NAMESPACED_CONFIG = "providerconfigs.m.edgetenants.io"
DEFAULT_CONFIG = "clusterproviderconfigs.m.edgetenants.io"


class Stage(Claims):
    """Managed resources without claims, in the namespace of a test, and all their states."""

    def __init__(self, claims: Claims, watch: Watch) -> None:
        self.world, self.namespace, self._watch = claims.world, claims.namespace, watch

    def reach(self, name: str, *rows: tuple[str, str], seconds: float = 60) -> list[str]:
        """Wait until each row was seen on the resource; the messages that it had."""
        return [self._reach(name, type_, reason, seconds) for type_, reason in rows]

    def _reach(self, name: str, type_: str, reason: str, seconds: float) -> str:
        def found() -> Object | None:
            states = [o for o in self._watch.of(name) if o["metadata"]["namespace"] == self.namespace]
            said = (condition(o, type_) for o in reversed(states))
            return next((c for c in said if (c.get("status"), c.get("reason")) == ("False", reason)), None)

        seen = self.wait(f"{type_} False {reason} of {name}", found, seconds)
        return str(seen.get("message", ""))

    def make(self, name: str, **fields: Any) -> None:
        self.apply(tenant(self, name, **fields))

    def serve(self, *names: str) -> None:
        """Wait until each serves and is rolled out."""
        for name in names:
            serves = lambda name=name: all(is_true(self.get(name, "edt"), t) for t in ("Ready", "Deployed"))  # noqa: E731
            self.wait(f"{name} to serve", serves, 90)

    def patch_spec(self, name: str, spec: Object) -> None:
        self._patch("edt", name, "-n", self.namespace, body={"spec": spec})

    def patch_config(self, body: Object) -> None:
        self._patch(DEFAULT_CONFIG, "default", body=body)

    def _patch(self, *arguments: str, body: Object) -> None:
        self.world.kubectl("patch", *arguments, "--type=merge", "-p", json.dumps(body))

    def remove(self, name: str) -> None:
        self.world.kubectl("delete", "edt", name, "-n", self.namespace, "--wait=false")

    def edit_in_aws(self, name: str, **changes: Any) -> None:
        self.world.emulator.edit_tenant(f"{self.namespace}.{name}", changes)


@pytest.fixture(scope="module")
def watch(world: World) -> Iterator[Watch]:
    with Watch(world, "edt") as made:
        yield made


@pytest.fixture
def stage(claims: Claims, watch: Watch, world: World) -> Iterator[Stage]:
    before = admin(world, "GET", "settings")
    # Twice as fast as elsewhere, as every test here waits for CloudFront.
    world.emulator.set_rate(2 * FAST)
    yield Stage(claims, watch)
    admin(world, "PATCH", "settings", before)
    world.emulator.clear_faults()
    world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=false")


def cloudfront(world: World) -> Any:
    """The account as a user at a console has it."""
    variables = world.environment()
    return boto3.client(
        "cloudfront",
        endpoint_url=world.emulator.endpoint,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )


READY, IN_SYNC, DNS = "Ready", "InSync", "DNSReady"


def test_drift(stage: Stage, world: World) -> None:
    stage.make("ours", parameters={"tenantName": "a"})
    stage.make("dns", dns={"configRef": {"kind": "ClusterProviderConfig", "name": "default"}})
    stage.serve("ours")
    stage.reach("dns", (DNS, DnsReason.DNS_ERROR))
    stage.patch_spec("ours", {"driftPolicy": "Report"})
    stage.edit_in_aws("ours", Enabled=False)
    [message] = stage.reach("ours", (IN_SYNC, InSyncReason.DRIFT_DETECTED))
    assert message.startswith("enabled: desired true, AWS has false. The drift policy keeps it so")
    assert message.endswith("set spec.driftPolicy to Enforce")
    assert stage.get("ours", "edt")["status"]["drift"] == [
        {"field": "enabled", "desired": "true", "observed": "false"}
    ]
    world.emulator.step(300)
    look_again(stage, "ours", "1")
    told = lambda: [e for e in stage.events() if e["reason"] == "DriftDetected"]  # noqa: E731
    [event] = stage.wait("the event", told)
    assert (event["message"], event.get("count", 1)) == (message, 1), "told once, however often it is seen"
    stage.patch_spec("ours", {"driftPolicy": "Enforce"})
    stage.serve("ours")

    admin(world, "PATCH", "settings", {"empty_parameters_clear": False})
    stage.patch_spec("ours", {"forProvider": {"parameters": None}})
    [message] = stage.reach("ours", (IN_SYNC, InSyncReason.UPDATE_INEFFECTIVE))
    assert "parameters.tenantName" in message
    assert is_true(stage.get("ours", "edt"), "Ready")


def test_frozen(stage: Stage) -> None:
    stage.make("old")
    stage.serve("old")
    stage.patch_config({"spec": {"writes": "Frozen"}})
    try:
        stage.make("new")
        stage.patch_spec("old", {"forProvider": {"tags": {"a": "b"}, "parameters": {"tenantName": "b"}}})
        [message] = stage.reach("new", (READY, TenantReadyReason.FROZEN))
        assert "spec.writes of" in message
        stage.reach("old", (IN_SYNC, InSyncReason.FROZEN))
        assert stage.tenants("new") == []
        assert is_true(stage.get("old", "edt"), "Ready")
    finally:
        stage.patch_config({"spec": {"writes": "Enabled"}})
    stage.serve("old", "new")


def test_a_held_deletion(stage: Stage) -> None:
    protected = tenant(stage, "safe")
    protected["spec"]["deletionProtection"] = True
    stage.apply(protected)
    stage.serve("safe")
    stage.remove("safe")
    [message] = stage.reach("safe", (READY, TenantReadyReason.DELETION_HELD))
    assert stage.tenants("safe")[0]["Enabled"]
    stage.patch_spec("safe", {"forProvider": {"enabled": False}})
    stage.wait("the tenant to be disabled", lambda: not stage.tenants("safe")[0]["Enabled"])
    stage.patch_spec("safe", {"forProvider": {"enabled": True}})
    stage.wait("the tenant to be enabled", lambda: stage.tenants("safe")[0]["Enabled"])
    stage.reach("safe", (READY, TenantReadyReason.DELETION_HELD))
    confirm = re.search(r"annotation (\S+) to (\w+)", message)
    assert confirm
    stage.world.kubectl("annotate", "edt", "safe", "-n", stage.namespace, "=".join(confirm.groups()))
    stage.wait("it to go", lambda: not stage.get("safe", "edt") and not stage.tenants("safe"))


def test_another_account(stage: Stage) -> None:
    Team(stage)
    astray = tenant(stage, "astray")
    astray["spec"]["providerConfigRef"] = {"kind": "ProviderConfig", "name": "ours"}
    stage.apply(astray)
    stage.serve("astray")
    stage.apply(secret(stage.namespace, "999999999999"))
    look_again(stage, "astray", "1")
    try:
        foreign = "belong to AWS account 999999999999"
        stage.wait("the refusal", lambda: says(stage, "astray", "Synced", foreign))
        assert len(stage.tenants("astray")) == 1
        # It goes on to serve, so Ready stays True; a tenant that did not serve says it there.
        assert is_true(stage.get("astray", "edt"), "Ready")
        stage.apply(secret(stage.namespace))
        stage.patch_spec("astray", {"forProvider": {"enabled": False}})
        stage.reach("astray", (READY, TenantReadyReason.DISABLED))
        stage.apply(secret(stage.namespace, "999999999999"))
        look_again(stage, "astray", "2")
        stage.reach("astray", (READY, TenantReadyReason.ACCOUNT_MISMATCH))
    finally:
        stage.apply(secret(stage.namespace))
    look_again(stage, "astray", "3")
    stage.wait("it to heal", lambda: is_true(stage.get("astray", "edt"), "Synced"))


def test_many_that_vanish_at_once(stage: Stage, world: World) -> None:
    names = [f"many{number}" for number in range(8)]
    for name in names:
        stage.make(name)
    stage.serve(*names)
    world.emulator.reset_calls()
    for name in names:
        world.emulator.remove_tenant(f"{stage.namespace}.{name}")
    none_anew = "recreation is on hold"
    held = lambda: all(none_anew in condition(stage.get(n, "edt"), "Ready").get("message", "") for n in names)  # noqa: E731
    stage.wait("all to be held", held, 90)
    [message] = stage.reach("many0", (READY, TenantReadyReason.RECREATION_HELD))
    world.processes.kill("provider")
    world.processes.start("provider")
    world.emulator.step(120)
    stage.wait("all to be held again", held, 90)
    assert "CreateDistributionTenant" not in world.emulator.calls()["by_operation"]

    message = condition(stage.get("many0", "edt"), "Ready")["message"]
    confirm = re.search(r"annotation (\S+) of ClusterProviderConfig default to (\w+)", message)
    assert confirm, message
    world.kubectl("annotate", DEFAULT_CONFIG, "default", "--overwrite", "=".join(confirm.groups()))
    world.emulator.step(60)
    stage.serve(*names)
    world.kubectl("annotate", DEFAULT_CONFIG, "default", f"{confirm.group(1)}-")


def test_a_domain_that_is_moved(stage: Stage, world: World) -> None:
    admin(world, "PATCH", "settings", {"domain_move_needs_disabled_source": False})
    stage.make("gives", domains=["gives.example.com", "moves.example.com"])
    stage.make("takes", domains=["takes.example.com"])
    stage.serve("gives", "takes")
    both = ["takes.example.com", "moves.example.com"]
    stage.patch_spec("takes", {"forProvider": {"domains": both}})
    refused = lambda: condition(stage.get("takes", "edt"), "Synced").get("message", "")  # noqa: E731
    message = stage.wait("the conflict", lambda: (m := refused()) and "take-domains-from" in m and m)
    confirm = re.search(r"annotation (\S+) to (dt_\w+)", message)
    assert confirm
    stage.world.kubectl("annotate", "edt", "takes", "-n", stage.namespace, "=".join(confirm.groups()))
    given = lambda: sorted(d["Domain"] for d in stage.tenants("takes")[0]["Domains"]) == sorted(both)  # noqa: E731
    stage.wait("the move", given)
    stage.patch_spec("gives", {"forProvider": {"domains": ["gives.example.com"]}})
    stage.serve("gives", "takes")


def test_what_is_applied_again_finds_its_tenant(stage: Stage, world: World) -> None:
    wanted = tenant(stage, "again", parameters={"tenantName": "a"}, tags={"team": "shop"})
    wanted["spec"]["managementPolicies"] = ["Observe", "Create", "Update", "LateInitialize"]
    stage.apply(wanted)
    stage.serve("again")
    [before] = stage.tenants("again")
    world.kubectl("delete", "edt", "again", "-n", stage.namespace)
    assert stage.tenants("again") == [before], "let go as it is"
    world.emulator.reset_calls()

    wanted["spec"]["managementPolicies"] = ["*"]
    stage.apply(wanted)
    stage.serve("again")
    again = stage.get("again", "edt")
    assert again["status"]["atProvider"]["id"] == before["Id"]
    assert not [
        call for call in world.emulator.calls()["by_operation"] if call.startswith(("Create", "Update"))
    ]

    # A cluster restored from a backup: the same objects, without status, of other uids.
    backup = {k: again[k] for k in ("apiVersion", "kind", "spec")}
    kept = {
        k: again["metadata"][k]
        for k in ("name", "namespace", "annotations", "labels")
        if k in again["metadata"]
    }
    world.processes.stop("provider")
    body = json.dumps({"metadata": {"finalizers": None}})
    world.kubectl("delete", "edt", "again", "-n", stage.namespace, "--wait=false")
    world.kubectl("patch", "edt", "again", "-n", stage.namespace, "--type=merge", "-p", body)
    world.emulator.reset_calls()
    stage.apply({**backup, "metadata": kept})
    world.processes.start("provider")
    stage.serve("again")
    assert stage.get("again", "edt")["metadata"]["uid"] != again["metadata"]["uid"]
    assert stage.get("again", "edt")["status"]["atProvider"]["id"] == before["Id"]
    assert not [
        call for call in world.emulator.calls()["by_operation"] if call.startswith(("Create", "Update"))
    ]


def test_it_is_looked_at_first_and_taken_over_then(stage: Stage, world: World) -> None:
    made = cloudfront(world).create_distribution_tenant(
        DistributionId=DISTRIBUTION,
        Name=f"{stage.namespace}.found",
        Domains=[{"Domain": "found.example.com"}],
    )["DistributionTenant"]["Id"]
    wanted = tenant(stage, "found")
    looking = {**wanted, "spec": {"managementPolicies": ["Observe"], "forProvider": {}}}
    stage.apply(looking)
    stage.serve("found")
    world.emulator.reset_calls()
    wanted["metadata"]["annotations"]["edgetenants.io/adopt"] = made
    wanted["spec"]["managementPolicies"] = ["*"]
    stage.apply(wanted)
    stage.wait("it to be marked", lambda: stage.get("found", "edt")["status"].get("applied"))
    stage.serve("found")
    calls = world.emulator.calls()["by_operation"]
    assert calls.get("TagResource") == 2, "the owner tag first, and the others once that is confirmed"
    assert not [call for call in calls if call.startswith(("Create", "Update"))]
