"""Managed certificates on the real control plane: from the request to a domain that is served, and what is
told on the way."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_references import ROOT, applied, tenant
from tests.integration.watching import Object, Watch, condition, is_true

CLOUDFRONT = {"validationTokenHost": "cloudfront"}
SELF_HOSTED = {"validationTokenHost": "self-hosted"}
MOST_WRITES = 14


def admin(world: World, method: str, path: str, body: Object | None = None) -> Object:
    """One request of the emulator's admin API."""
    request = urllib.request.Request(
        f"{world.emulator.endpoint}/_edgetenants/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        text = answer.read()
    found: Object = json.loads(text) if text.strip() else {}
    return found


def follow_instructions(world: World, managed: Object) -> None:
    """Make every record of status.dnsInstructions, as the domain's owner would."""
    for record in managed["status"]["dnsInstructions"]:
        body = {"name": record["name"], "type": record["type"], "values": [record["value"]]}
        admin(world, "POST", "records", body)


def certificate(managed: Object) -> Object:
    found: Object = managed.get("status", {}).get("atProvider", {}).get("certificate", {})
    return found


def reason(claims: Claims, name: str, type_: str) -> str:
    return str(condition(claims.get(name, "edt"), type_).get("reason", ""))


def settle(world: World, claims: Claims, name: str, status: str, **more: Any) -> None:
    """Bring the managed certificate to an end in AWS."""
    path = f"managed-certificates/{claims.namespace}.{name}"
    admin(world, "PATCH", path, {"status": status, **more})


@pytest.fixture
def tenants(claims: Claims) -> Iterator[Claims]:
    yield claims
    claims.world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=false")


def asking(claims: Claims, name: str, domain: str, request: Object = SELF_HOSTED, **fields: Any) -> Object:
    return tenant(claims, name, domains=[domain], managedCertificateRequest=request, **fields)


def test_a_certificate_is_asked_for_issued_attached_and_served(tenants: Claims, world: World) -> None:
    geo = {"geoRestrictions": {"restrictionType": "blacklist", "locations": ["KP"]}}
    asked = asking(tenants, "cloudy", "www.cloudy.test", CLOUDFRONT, customizations=geo)
    with Watch(world, "edt") as watch:
        tenants.apply(asked)
        tenants.wait(
            "DomainValidationPending", lambda: reason(tenants, "cloudy", "Ready") == "DomainValidationPending"
        )
        waiting = tenants.get("cloudy", "edt")
        assert is_true(waiting, "Synced"), "waiting for DNS is no error"
        assert condition(waiting, "CertificateReady")["reason"] == "PendingValidation"
        assert {r["state"] for r in waiting["status"]["dnsInstructions"]} == {"Unknown"}
        assert tenants.tenants("cloudy") == []

        follow_instructions(world, waiting)
        tenants.wait("Ready", lambda: is_true(tenants.get("cloudy", "edt"), "Ready"), seconds=90)
        tenants.wait("Deployed", lambda: is_true(tenants.get("cloudy", "edt"), "Deployed"))
        states = watch.of("cloudy")
    managed = tenants.get("cloudy", "edt")
    [made] = tenants.tenants("cloudy")
    assert made["Customizations"]["Certificate"]["Arn"] == certificate(managed)["arn"]
    assert made["Customizations"]["GeoRestrictions"]["Locations"] == ["KP"]
    assert "certificate" not in managed["spec"]["forProvider"]["customizations"]
    assert condition(managed, "CertificateReady")["reason"] == "Validated"
    assert is_true(managed, "InSync")
    tenants.wait(
        "the record to be seen",
        lambda: (
            {r["state"] for r in tenants.get("cloudy", "edt")["status"]["dnsInstructions"]} == {"Present"}
        ),
    )
    versions = {state["metadata"]["resourceVersion"] for state in states}
    # A creation that AWS refuses is marked before the call and after the refusal.
    refused = creations(world, made["Name"]) - 1
    assert len(versions) - 1 <= MOST_WRITES + 2 * refused, f"written {len(versions)} times, {refused} refused"


def creations(world: World, name: str) -> int:
    """How often the provider asked CloudFront to create the tenant."""
    calls = world.emulator.calls()["calls"]
    made = [each for each in calls if each["operation"] == "CreateDistributionTenant"]
    return sum((each["parameters"] or {}).get("Name") == name for each in made)


def test_a_self_hosted_one_shows_what_to_serve(tenants: Claims, world: World) -> None:
    tenants.apply(asking(tenants, "own", "www.own.test"))
    tenants.wait("PendingValidation", lambda: certificate(tenants.get("own", "edt")).get("validation"))
    managed = tenants.get("own", "edt")
    [token] = certificate(managed)["validation"]
    assert token["domain"] == "www.own.test"
    assert token["redirectFrom"].startswith("www.own.test/.well-known/pki-validation/")
    assert token["redirectTo"] in condition(managed, "CertificateReady")["message"]
    tenants.wait("CertificatePending", lambda: reason(tenants, "own", "Ready") == "CertificatePending")
    admin(world, "PATCH", f"managed-certificates/{tenants.namespace}.own", {"served": True})
    tenants.wait("Ready", lambda: is_true(tenants.get("own", "edt"), "Ready"), seconds=90)
    assert "validation" not in certificate(tenants.get("own", "edt"))


def test_a_failed_one_is_told_with_acms_reason_and_asked_for_anew(tenants: Claims, world: World) -> None:
    tenants.apply(asking(tenants, "caa", "www.caa.test"))
    tenants.wait("the request", lambda: certificate(tenants.get("caa", "edt")).get("arn"))
    first = certificate(tenants.get("caa", "edt"))["arn"]
    settle(world, tenants, "caa", "failed", reason="CAA_ERROR")
    tenants.wait("CertificateFailed", lambda: reason(tenants, "caa", "Ready") == "CertificateFailed")
    assert "CAA_ERROR" in condition(tenants.get("caa", "edt"), "CertificateReady")["message"]
    assert is_true(tenants.get("caa", "edt"), "Synced")

    world.emulator.step(660)
    tenants.wait(
        "another request", lambda: certificate(tenants.get("caa", "edt")).get("arn") not in (None, first)
    )
    admin(world, "PATCH", f"managed-certificates/{tenants.namespace}.caa", {"served": True})
    tenants.wait("Ready", lambda: is_true(tenants.get("caa", "edt"), "Ready"), seconds=90)
    assert certificate(tenants.get("caa", "edt"))["arn"] != first


def test_one_that_times_out_is_asked_for_anew(tenants: Claims, world: World) -> None:
    tenants.apply(asking(tenants, "slow", "www.slow.test"))
    tenants.wait("the request", lambda: certificate(tenants.get("slow", "edt")).get("arn"))
    first = certificate(tenants.get("slow", "edt"))["arn"]
    world.emulator.step(72 * 3600 + 60)
    tenants.wait(
        "CertificateFailed", lambda: reason(tenants, "slow", "CertificateReady") == "CertificateFailed"
    )
    assert "validation-timed-out" in condition(tenants.get("slow", "edt"), "CertificateReady")["message"]
    world.emulator.step(660)
    tenants.wait("another", lambda: certificate(tenants.get("slow", "edt")).get("arn") not in (None, first))


def test_a_revoked_one_is_noticed_and_replaced(tenants: Claims, world: World) -> None:
    tenants.apply(asking(tenants, "gone", "www.gone.test"))
    tenants.wait("the request", lambda: certificate(tenants.get("gone", "edt")).get("arn"))
    admin(world, "PATCH", f"managed-certificates/{tenants.namespace}.gone", {"served": True})
    tenants.wait("Ready", lambda: is_true(tenants.get("gone", "edt"), "Ready"), seconds=90)
    first = certificate(tenants.get("gone", "edt"))["arn"]

    settle(world, tenants, "gone", "revoked")
    tenants.wait("another", lambda: certificate(tenants.get("gone", "edt")).get("arn") not in (None, first))
    told = {condition(o, "CertificateReady").get("reason") for o in [tenants.get("gone", "edt")]}
    assert told <= {"PendingValidation", "CertificateFailed"}
    admin(world, "PATCH", f"managed-certificates/{tenants.namespace}.gone", {"served": True})

    def replaced() -> bool:
        [made] = tenants.tenants("gone")
        return made["Customizations"]["Certificate"]["Arn"] != first

    tenants.wait("the new one to be attached", replaced, seconds=90)
    tenants.wait("Ready", lambda: is_true(tenants.get("gone", "edt"), "Ready"))


def test_a_claim_with_a_managed_certificate_goes_live(claims: Claims, world: World) -> None:
    made = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    made["metadata"]["name"] = "certificates"
    made["spec"]["pipeline"][0]["input"]["plans"]["standard"]["certificate"] = {"mode": "Managed"}
    with applied(world, yaml.safe_dump(made)):
        go_live(claims, world)
        claims.delete("issued")
        claims.wait_gone(["issued"], seconds=90)


def go_live(claims: Claims, world: World) -> None:
    wanted = {"domains": ["www.issued.test"], "crossplane": {"compositionRef": {"name": "certificates"}}}
    claims.apply(claims.claim("issued", **wanted))
    claims.wait(
        "WaitingForDNS", lambda: condition(claims.get("issued"), "Live").get("reason") == "WaitingForDNS"
    )
    claim = claims.wait(
        "instructions", lambda: (c := claims.get("issued"))["status"].get("dnsInstructions") and c
    )
    follow_instructions(world, claim)
    claims.wait_ready("issued", seconds=90)
    assert claims.get("issued")["status"]["url"] == "https://www.issued.test"


def test_all_problems_are_told_before_anything_is_written(tenants: Claims) -> None:
    bad = tenant(
        tenants,
        "bad",
        domains=["www.uncovered.test"],
        parameters={"colour": "red"},
        connectionGroupId="cg_none",
    )
    tenants.apply(bad)
    tenants.wait("ValidationFailed", lambda: reason(tenants, "bad", "Ready") == "ValidationFailed")
    message = condition(tenants.get("bad", "edt"), "Ready")["message"]
    for words in ("www.uncovered.test", "parameters.colour", "cg_none does not exist"):
        assert words in message
    assert tenants.tenants("bad") == []


def test_a_domain_of_another_tenant_is_refused_with_its_owner(tenants: Claims) -> None:
    tenants.apply(tenant(tenants, "first", domains=["one.example.com"]))
    tenants.wait("Ready", lambda: is_true(tenants.get("first", "edt"), "Ready"))
    tenants.apply(tenant(tenants, "second", domains=["one.example.com"]))
    tenants.wait("DomainConflict", lambda: reason(tenants, "second", "Ready") == "DomainConflict")
    message = condition(tenants.get("second", "edt"), "Ready")["message"]
    assert f"{tenants.namespace}.first" in message
    assert "which belongs to" in message
