"""DNS records that the provider makes in Route 53, on the real control plane: from a claim to a visitor's
answer, and what DNSReady says when it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import boto3
import pytest
from botocore.config import Config

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_bad_claims import added_plans
from tests.integration.test_references import tenant
from tests.integration.watching import Object, condition, is_true

NUMBERS = count()
BY_CLOUDFRONT = {"managedCertificateRequest": {"validationTokenHost": "cloudfront"}}


MADE: list[Zone] = []
"""The zones that are there."""


class Zone:
    """A hosted zone, as its owner sees it."""

    def __init__(self, world: World, name: str, account: str = "sandbox") -> None:
        self.client = boto3.client(
            "route53",
            endpoint_url=world.emulator.endpoint,
            region_name="us-east-1",
            aws_access_key_id=account,
            aws_secret_access_key="any",
            config=Config(proxies={}),
        )
        made = self.client.create_hosted_zone(Name=name, CallerReference=f"{name}{next(NUMBERS)}")
        self.name, self.id = name, made["HostedZone"]["Id"].rpartition("/")[2]
        MADE.append(self)

    def rows(self) -> list[Object]:
        """Its record sets, without those of the zone's own."""
        found = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        return [row for row in found if row["Type"] not in ("NS", "SOA")]

    def types(self, name: str) -> set[str]:
        """The types of the record sets of a name."""
        return {row["Type"] for row in self.rows() if row["Name"].replace("\\052", "*") == f"{name}."}

    def put(self, name: str, type_: str, value: str) -> None:
        """The owner of the zone makes a record."""
        row = {"Name": name, "Type": type_, "TTL": 300, "ResourceRecords": [{"Value": value}]}
        self.change("UPSERT", row)

    def change(self, action: str, *rows: Object) -> None:
        """The owner changes record sets."""
        changes = [{"Action": action, "ResourceRecordSet": row} for row in rows]
        self.client.change_resource_record_sets(HostedZoneId=self.id, ChangeBatch={"Changes": changes})

    def delete(self) -> None:
        """The owner deletes the zone."""
        MADE.remove(self)
        if rows := self.rows():
            self.change("DELETE", *rows)
        self.client.delete_hosted_zone(Id=self.id)


def dns_config(world: World, name: str, *zones: Zone, **dns: object) -> str:
    """Apply a ClusterProviderConfig with these zones; its name."""
    found = json.loads(world.kubectl("get", "clusterproviderconfigs", "default", "-o", "json"))
    named = {"zones": [{"id": zone.id} for zone in zones]} if zones else {}
    made = {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": {"name": name},
        "spec": {**found["spec"], "dns": {"route53": named, **dns}},
    }
    world.kubectl("apply", "-f", "-", input=json.dumps(made))
    return name


def managed_by(config: str) -> Object:
    """`dns` of a tenant."""
    return {"dns": {"configRef": {"kind": "ClusterProviderConfig", "name": config}}}


def says(claims: Claims, name: str, wanted: str, words: str = "") -> Object:
    """Wait until DNSReady has that reason, and these words in its message: the provider may see a resource
    before its new config."""

    def holds() -> bool:
        found = condition(claims.get(name, "edt"), "DNSReady")
        return found.get("reason") == wanted and words in found.get("message", "")

    claims.wait(f"DNSReady {wanted} of {name}: {words}", holds)
    return condition(claims.get(name, "edt"), "DNSReady")


@pytest.fixture
def tenants(claims: Claims) -> Iterator[Claims]:
    yield claims
    claims.world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--timeout=60s")


@pytest.fixture(scope="module", autouse=True)
def zones() -> Iterator[None]:
    """A zone decides for all names below it, also for those of other modules."""
    yield
    for zone in tuple(MADE):
        zone.delete()


def test_a_claim_goes_live_and_away_and_nobody_touches_dns(claims: Claims, world: World) -> None:
    zone = Zone(world, "led.test")
    config = dns_config(world, "dns-of-plan", zone)
    ref = {"kind": "ClusterProviderConfig", "name": config}
    plan = {
        "distributionId": "E1EDGETENANTS",
        "certificate": {"mode": "Managed"},
        "dns": {"mode": "Managed", "configRef": ref},
    }
    with added_plans(world, {"led": plan}):
        claims.apply(claims.claim("shop", plan="led", domains=["shop.led.test", "www.shop.led.test"]))
        claim = claims.wait_ready("shop", seconds=90)
        claims.wait("Live", lambda: condition(claims.get("shop"), "Live").get("reason") == "Live")
        claim = claims.get("shop")
        assert claim["status"]["url"] == "https://shop.led.test"
        assert {each["managedBy"] for each in claim["status"]["dnsInstructions"]} == {"Provider"}
        assert zone.types("shop.led.test") == {"CNAME"}
        claims.delete("shop")
        claims.wait_gone(["shop"])
    assert zone.rows() == []


def test_each_reason_of_dns_ready(tenants: Claims, world: World) -> None:
    zone = Zone(world, "example.com")
    config = dns_config(world, "dns-reasons", zone)
    tenants.apply(tenant(tenants, "plain", domains=["plain.example.com"]))
    says(tenants, "plain", "DNSNotConfigured")
    tenants.apply(tenant(tenants, "made", domains=["made.example.com"], **managed_by(config)))
    says(tenants, "made", "DNSReady")
    tenants.apply(tenant(tenants, "nowhere", domains=["nowhere.acme.com"], **managed_by(config)))
    says(tenants, "nowhere", "DNSError", "no zone of ClusterProviderConfig dns-reasons")
    assert is_true(tenants.get("nowhere", "edt"), "Synced")
    world.emulator.change_settings({"route53_insync_seconds": 1_000_000})
    try:
        tenants.apply(tenant(tenants, "slow", domains=["slow.example.com"], **managed_by(config)))
        says(tenants, "slow", "DNSPropagating")
    finally:
        world.emulator.change_settings({"route53_insync_seconds": 30})
    says(tenants, "slow", "DNSReady")
    patch = json.dumps({"spec": {"writes": "Frozen"}})
    world.kubectl("patch", "clusterproviderconfigs", config, "--type=merge", "-p", patch)
    tenants.apply(tenant(tenants, "frozen", domains=["frozen.example.com"], **managed_by(config)))
    assert "Frozen" in says(tenants, "frozen", "DNSRecordCreating")["message"]
    assert zone.types("frozen.example.com") == set()
    # Without records, it can go.
    world.kubectl("delete", "edt", "frozen", "-n", tenants.namespace, "--wait=true")
    patch = json.dumps({"spec": {"writes": "Enabled"}})
    world.kubectl("patch", "clusterproviderconfigs", config, "--type=merge", "-p", patch)


def test_apex_wildcard_and_international_names(tenants: Claims, world: World) -> None:
    zone = Zone(world, "acme.com")
    config = dns_config(world, "dns-names", zone)
    names = ["acme.com", "*.acme.com", "xn--bcher-kva.acme.com"]
    tenants.apply(tenant(tenants, "names", domains=names, **managed_by(config)))
    says(tenants, "names", "DNSReady")
    assert zone.types("acme.com") == {"A", "AAAA"}
    assert zone.types("_cf-challenge.acme.com") == {"TXT"}
    assert zone.types("*.acme.com") == zone.types("xn--bcher-kva.acme.com") == {"CNAME"}
    world.kubectl("delete", "edt", "names", "-n", tenants.namespace, "--wait=true")
    assert zone.rows() == []


def test_a_config_is_in_use_while_records_are_managed_with_it(tenants: Claims, world: World) -> None:
    zone = Zone(world, "example.com")
    config = dns_config(world, "dns-used", zone)
    tenants.apply(tenant(tenants, "user", domains=["user.example.com"], **managed_by(config)))
    says(tenants, "user", "DNSReady")
    world.kubectl("delete", "clusterproviderconfigs", config, "--wait=false")
    world.kubectl("delete", "edt", "user", "-n", tenants.namespace, "--wait=true")
    assert zone.rows() == [], "the config was there to the end"


def test_what_others_made_stays_and_a_zone_that_goes_is_told(tenants: Claims, world: World) -> None:
    zone = Zone(world, "example.com")
    zone.put("theirs.example.com", "CNAME", "old.example.net")
    config = dns_config(world, "dns-others", zone)
    tenants.apply(tenant(tenants, "theirs", domains=["theirs.example.com"], **managed_by(config)))
    says(tenants, "theirs", "DNSError", "theirs.example.com CNAME old.example.net")
    tenants.apply(tenant(tenants, "gone", domains=["gone.example.com"], **managed_by(config)))
    says(tenants, "gone", "DNSReady")
    [kept] = [row for row in zone.rows() if row["Name"] == "theirs.example.com."]
    assert kept["ResourceRecords"] == [{"Value": "old.example.net"}]
    zone.delete()
    says(tenants, "gone", "DNSError")
    assert is_true(tenants.get("gone", "edt"), "Ready")
    world.kubectl("delete", "edt", "gone", "-n", tenants.namespace, "--wait=true")
