"""What would be done, seen on the real control plane; whose the credentials are; what is measured."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.watching import condition, is_true

DRY_RUN = "edgetenants.io/dry-run"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def tenant(claims: Claims, name: str, **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": name, "namespace": claims.namespace, "annotations": annotations},
        "spec": {
            "forProvider": {
                "distributionId": claims.world.emulator.state()["distributions"][0]["Id"],
                "domains": [f"{name}.example.com"],
                "parameters": {"tenantName": name},
            }
        },
    }


def managed(claims: Claims, name: str) -> dict[str, Any]:
    return claims.get(name, "edt.cloudfront.m.edgetenants.io")


def planned(claims: Claims, name: str) -> list[str]:
    actions = managed(claims, name).get("status", {}).get("plannedActions") or []
    return [action["operation"] for action in actions]


def annotate(claims: Claims, name: str, value: str) -> None:
    claims.world.kubectl("annotate", "edt", name, "-n", claims.namespace, "--overwrite", value)


def in_aws(claims: Claims, name: str) -> list[dict[str, Any]]:
    return [t for t in claims.world.emulator.state()["tenants"] if t["Name"] == name]


@pytest.fixture
def name(claims: Claims) -> Any:
    name = f"dry-{claims.namespace.partition('-')[0]}"
    yield name
    annotate(claims, name, f"{DRY_RUN}-")
    claims.world.kubectl("delete", "edt", name, "-n", claims.namespace, "--wait=true")


def test_a_dry_run_from_creation_to_change(claims: Claims, name: str) -> None:
    claims.apply(tenant(claims, name, **{DRY_RUN: "true"}))
    claims.wait("the plan", lambda: planned(claims, name))
    first = managed(claims, name)
    assert planned(claims, name) == ["cloudfront:CreateDistributionTenant"]
    assert f'"Name": "{name}"' in first["status"]["plannedActions"][0]["details"]
    assert condition(first, "Ready")["reason"] == "Frozen"
    before = claims.world.emulator.calls()["total"]
    claims.wait("some more looks", lambda: claims.world.emulator.calls()["total"] > before + 3)
    assert managed(claims, name)["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert in_aws(claims, name) == []

    annotate(claims, name, f"{DRY_RUN}-")
    claims.wait("Ready", lambda: is_true(managed(claims, name), "Ready"))
    assert planned(claims, name) == []

    annotate(claims, name, f"{DRY_RUN}=true")
    patch = {"spec": {"forProvider": {"enabled": False, "tags": {"team": "edge"}}}}
    claims.world.kubectl(
        "patch", "edt", name, "-n", claims.namespace, "--type=merge", "-p", json.dumps(patch)
    )
    claims.wait(
        "the plan of the change",
        lambda: planned(claims, name) == ["cloudfront:UpdateDistributionTenant", "cloudfront:TagResource"],
    )
    [there] = in_aws(claims, name)
    assert there["Enabled"]
    assert "enabled true → false" in managed(claims, name)["status"]["plannedActions"][0]["details"]


def test_the_command_plans_what_kubectl_shows(claims: Claims, name: str, world: World) -> None:
    claims.apply(tenant(claims, name))
    claims.wait("Ready", lambda: is_true(managed(claims, name), "Ready"))
    world.emulator.edit_tenant(name, {"Enabled": False})
    shown = managed(claims, name)
    result = subprocess.run(
        [sys.executable, "-m", "cli.main", "plan", "-f", "-", "-o", "json"],
        input=json.dumps(shown),
        env={**os.environ, **world.environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    [row] = json.loads(result.stdout)
    assert [call["why"] for call in row["calls"]] in ([], ["enabled false → true"]), "or repaired meanwhile"


def test_whose_the_credentials_are_and_what_is_measured(claims: Claims, name: str, world: World) -> None:
    claims.apply(tenant(claims, name))
    claims.wait("Ready", lambda: is_true(managed(claims, name), "Ready"))
    config = claims.wait(
        "the account in the config's status",
        lambda: (
            json.loads(world.kubectl("get", "clusterproviderconfig", "default", "-o", "json"))
            .get("status", {})
            .get("accountId")
        ),
    )
    assert config == "123456789012"
    metrics = world.processes.run("provider").ports[1]
    with _DIRECT.open(f"http://127.0.0.1:{metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    for pattern in (
        r'request_duration_seconds_count\{account="\d+",operation="\S+Create\S+",outcome="ok"\} [1-9]',
        r'edgetenants_aws_tenants\{account="123456789012",state="Available"\} [1-9]',
        r'edgetenants_aws_tenant_creation_seconds_count\{account="123456789012"\} [1-9]',
        r'edgetenants_aws_paused_seconds\{account="123456789012"\} 0',
    ):
        assert re.search(pattern, text), pattern


def test_the_command_sees_the_owner_that_lives_and_says_what_it_could_not_see(
    claims: Claims, name: str, world: World
) -> None:
    claims.apply(tenant(claims, name))
    claims.wait("Ready", lambda: is_true(managed(claims, name), "Ready"))
    there = managed(claims, name)["status"]["atProvider"]
    installation = there["tags"]["edgetenants.io/owner"].partition("/")[0]
    taking = tenant(claims, name, **{"edgetenants.io/adopt": there["id"]})
    taking["metadata"]["namespace"] = "elsewhere"

    def plan(**environment: str) -> tuple[dict[str, Any], str]:
        result = subprocess.run(
            [sys.executable, "-m", "cli.main", "plan", "-", "-o", "json", "--installation-id", installation],
            input=json.dumps(taking),
            env={**os.environ, **world.environment(), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 1, result.stdout + result.stderr
        [row] = json.loads(result.stdout)
        assert row["calls"] == []
        assert claims.namespace not in row["refusal"]
        return row, result.stderr

    seen, logged = plan()
    assert f"owner={installation}/DistributionTenant/{claims.namespace}/{name}" in logged
    assert "it belongs to another namespace or installation" in seen["refusal"]
    assert seen["unseen"] == ""
    unseen, _ = plan(KUBECONFIG="/no/such/file")
    assert unseen["refusal"] == seen["refusal"], "the owner tag decides, whatever can be seen of the cluster"
