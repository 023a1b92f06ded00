"""Every reason of every condition of a DistributionTenant, reached on the real control plane and read with
kubectl."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from apis.conditions import (
    CertificateReason,
    DeployedReason,
    DnsReason,
    InSyncReason,
    TenantReadyReason,
)
from edgetenants_runtime.api.conditions import ReadyReason
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.stage import (
    DEFAULT_CONFIG,
    REFUSALS,
    ROWS,
    TABLES,
    UNREACHED,
    Stage,
    cloudfront,
    distribution,
    from_backup,
    reached,
    states,
)
from tests.integration.test_certificates import SELF_HOSTED, admin, certificate, settle
from tests.integration.test_configs_in_use import Team, secret
from tests.integration.test_references import DISTRIBUTION, look_again, says, tenant
from tests.integration.watching import Watch, condition, is_true

RATE = 60
"""Virtual seconds for each real one: twice as fast as elsewhere, as every test here waits for CloudFront."""


@pytest.fixture(scope="module")
def watch(world: World) -> Iterator[Watch]:
    with Watch(world, "edt") as made:
        yield made


@pytest.fixture
def stage(claims: Claims, watch: Watch, world: World) -> Iterator[Stage]:
    before = admin(world, "GET", "settings")
    world.emulator.set_rate(RATE)
    yield Stage(claims, watch)
    admin(world, "PATCH", "settings", before)
    world.emulator.clear_faults()
    world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=false")


READY, DEPLOYED, IN_SYNC, CERTIFICATE, DNS = TABLES


def test_a_life(stage: Stage, world: World) -> None:
    world.emulator.fail("CreateDistributionTenant", {"code": "EntityAlreadyExists", "status": 409})
    stage.make("life")
    stage.reach(
        "life",
        (READY, ReadyReason.CREATING),
        (DEPLOYED, DeployedReason.CREATING),
        (READY, TenantReadyReason.DEPLOYING),
        (DEPLOYED, DeployedReason.DEPLOYING),
        (READY, ReadyReason.AVAILABLE),
        (DEPLOYED, DeployedReason.DEPLOYED),
        (IN_SYNC, InSyncReason.IN_SYNC),
        (CERTIFICATE, CertificateReason.NOT_CONFIGURED),
        (DNS, DnsReason.DNS_NOT_CONFIGURED),
    )
    stage.serve("life")
    stage.patch_spec("life", {"forProvider": {"parameters": {"tenantName": "b"}}})
    stage.reach("life", (IN_SYNC, InSyncReason.UPDATE_PENDING))
    stage.serve("life")
    stage.patch_spec("life", {"forProvider": {"enabled": False}})
    stage.reach("life", (READY, TenantReadyReason.DISABLED))
    stage.patch_spec("life", {"forProvider": {"enabled": True}})
    stage.serve("life")
    stage.remove("life")
    stage.reach(
        "life",
        (READY, TenantReadyReason.DISABLING),
        (DEPLOYED, DeployedReason.DISABLING),
        (DEPLOYED, DeployedReason.DELETING),
        (READY, ReadyReason.DELETING),
    )
    stage.wait("it to go", lambda: not stage.get("life", "edt") and not stage.tenants("life"))


def test_what_cannot_work(stage: Stage, world: World) -> None:
    required = [{"name": "tier", "required": True}]
    names = ["*.example.com"]
    cloudfront(world).create_distribution_tenant(
        DistributionId=DISTRIBUTION,
        Name=f"{stage.namespace}.theirs",
        Domains=[{"Domain": "theirs.example.com"}],
    )
    cases: dict[str, tuple[dict[str, Any], TenantReadyReason, str]] = {
        "parent": ({"distributionId": "E1GONE"}, TenantReadyReason.PARENT_NOT_FOUND, "E1GONE"),
        "group": ({"connectionGroupId": "cg_1"}, TenantReadyReason.CONNECTION_GROUP_NOT_FOUND, "cg_1"),
        "asking": (
            {"distributionId": distribution(world, "E1ASKS", certificateDomains=names, parameters=required)},
            TenantReadyReason.MISSING_PARAMETERS,
            "tier",
        ),
        "bare": (
            {"distributionId": distribution(world, "E1BARE")},
            TenantReadyReason.MISSING_CERTIFICATE,
            "managedCertificateRequest",
        ),
        "san": (
            {"domains": ["www.uncovered.test"]},
            TenantReadyReason.CERTIFICATE_SAN_MISMATCH,
            "www.uncovered.test",
        ),
        "two": (
            {"domains": ["www.uncovered.test"], "connectionGroupId": "cg_1"},
            TenantReadyReason.VALIDATION_FAILED,
            "cg_1",
        ),
        "conflict": (
            {"domains": ["theirs.example.com"]},
            TenantReadyReason.DOMAIN_CONFLICT,
            f"{stage.namespace}.theirs",
        ),
        "theirs": ({}, TenantReadyReason.ADOPTION_REFUSED, "edgetenants.io/adopt"),
    }
    for name, (fields, _, _) in cases.items():
        stage.make(name, **fields)
    for name, (_, reason, words) in cases.items():
        [message] = stage.reach(name, (READY, reason))
        assert words in message
        assert not is_true(stage.get(name, "edt"), "Synced")
        assert stage.tenants(name) == [] or name == "theirs"
    assert is_true(stage.get("theirs", "edt"), "Ready") is False
    stage.world.kubectl(
        "annotate", "edt", "theirs", "-n", stage.namespace,
        f"edgetenants.io/adopt={stage.tenants('theirs')[0]['Id']}",
    )  # fmt: skip
    stage.serve("theirs")


@pytest.mark.parametrize("name", REFUSALS)
def test_what_aws_refuses(stage: Stage, world: World, name: str) -> None:
    error, reason = REFUSALS[name]
    world.emulator.fail("CreateDistributionTenant", {**error, "message": "the words of AWS"}, every=True)
    stage.make(name)
    [message] = stage.reach(name, (READY, reason))
    assert name == "throttled" or "the words of AWS" in message
    assert stage.tenants(name) == []
    world.emulator.clear_faults()
    look_again(stage, name, "1")
    stage.serve(name)


def test_a_managed_certificate(stage: Stage, world: World) -> None:
    stage.make(
        "lead", domains=["www.lead.test"], managedCertificateRequest={"validationTokenHost": "cloudfront"}
    )
    stage.reach(
        "lead",
        (READY, TenantReadyReason.DOMAIN_VALIDATION_PENDING),
        (CERTIFICATE, CertificateReason.PENDING_VALIDATION),
    )
    assert states(stage, "lead") == {"Unknown"}, "there is no tenant to verify by"

    stage.make("held", domains=["www.held.test"], managedCertificateRequest=SELF_HOSTED)
    stage.reach("held", (READY, TenantReadyReason.CERTIFICATE_PENDING))
    stage.wait("CloudFront to see no record", lambda: states(stage, "held") == {"Missing"})
    settle(world, stage, "held", "failed", reason="CAA_ERROR")
    stage.reach(
        "held",
        (READY, TenantReadyReason.CERTIFICATE_FAILED),
        (CERTIFICATE, CertificateReason.CERTIFICATE_FAILED),
    )
    first = certificate(stage.get("held", "edt"))["arn"]
    world.emulator.step(660)
    again = lambda: certificate(stage.get("held", "edt")).get("arn") not in (None, first)  # noqa: E731
    stage.wait("another request", again)
    world.emulator.fail("UpdateDistributionTenant", {"code": "InternalError", "status": 500}, every=True)
    admin(world, "PATCH", f"managed-certificates/{stage.namespace}.held", {"served": True})
    stage.reach("held", (CERTIFICATE, CertificateReason.ATTACHING))
    world.emulator.clear_faults()
    stage.serve("held")
    stage.reach("held", (CERTIFICATE, CertificateReason.VALIDATED))
    admin(world, "PATCH", "settings", {"certificate_request_lost": True})
    settle(world, stage, "held", "expired")
    stage.reach(
        "held",
        (READY, TenantReadyReason.CERTIFICATE_EXPIRED),
        (CERTIFICATE, CertificateReason.CERTIFICATE_EXPIRED),
    )


def test_a_domain_that_stays_inactive(stage: Stage, world: World) -> None:
    admin(world, "PATCH", "settings", {"domain_activation_seconds": 1e6})
    stage.make("idle", domains=["www.idle.test"], managedCertificateRequest=SELF_HOSTED)
    stage.wait("the request", lambda: certificate(stage.get("idle", "edt")).get("arn"))
    admin(world, "PATCH", f"managed-certificates/{stage.namespace}.idle", {"served": True})
    [message] = stage.reach("idle", (READY, TenantReadyReason.DOMAIN_INACTIVE), seconds=90)
    assert "www.idle.test" in message


def test_drift(stage: Stage, world: World) -> None:
    stage.make("ours", parameters={"tenantName": "a"})
    stage.make("dns", dns={"configRef": {"kind": "ClusterProviderConfig", "name": "default"}})
    stage.serve("ours")
    stage.reach("dns", (DNS, DnsReason.DNS_ERROR))
    stage.patch_spec("ours", {"driftPolicy": "Report"})
    stage.edit_in_aws("ours", Enabled=False)
    [message] = stage.reach("ours", (IN_SYNC, InSyncReason.DRIFT_DETECTED))
    assert message == "enabled: asked true, AWS has false"
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
        assert "spec.writes Frozen" in message
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
        foreign = "are of AWS account 999999999999"
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
    none_anew = "none is made anew"
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

    world.processes.stop("provider")
    body = json.dumps({"metadata": {"finalizers": None}})
    world.kubectl("delete", "edt", "again", "-n", stage.namespace, "--wait=false")
    world.kubectl("patch", "edt", "again", "-n", stage.namespace, "--type=merge", "-p", body)
    world.emulator.reset_calls()
    stage.apply(from_backup(again))
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
    assert calls.get("TagResource") == 1
    assert not [call for call in calls if call.startswith(("Create", "Update"))]


def test_nothing_is_left_out() -> None:
    assert UNREACHED <= ROWS
    assert reached | UNREACHED == ROWS
    assert not reached & UNREACHED
