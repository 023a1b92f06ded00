"""docs/iam.md against what really reaches AWS: the emulator's record of a whole life."""

from __future__ import annotations

import json

import pytest

from provider import iam_page
from provider.cloudfront.adoption import inventory
from provider.cloudfront.aws.operations import OPERATIONS, Feature
from tests.contract.emulated import DISTRIBUTION
from tests.contract.led import Zone, dns_config, led
from tests.contract.test_credentials import ROLE, config_with, reached
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.world import World, managed

LIVED = {*Feature} - {Feature.MOVES, Feature.WEB_ACLS, Feature.VPC_ORIGINS}
"""The features that the life below goes through."""


def live(aws):
    zone = Zone(aws, "example.com")
    aws.admin("DELETE", "calls")
    for config in (dns_config(aws, zone), dns_config(aws)):
        tenant = led(aws, config, "led.example.com")
        tenant.run(60)
        tenant.delete()
        tenant.run(120)
    world = World(managed(), aws)
    world.settle()
    world.edit(tags={"stage": "live"})
    world.settle()
    aws.fault("UpdateDistributionTenant", code="CNAMEAlreadyExists", status=409)
    world.edit(domains=["acme.example.com", "new.example.com"])
    world.reconcile()
    inventory.tenants(aws.calls, DISTRIBUTION, aws.clock)
    aws.calls.page_of_pending_certificates()
    world.delete()
    world.settle()
    certified(aws)
    astray = World(managed({"distributionId": "E1GONE", "domains": ["a.example.com"]}), aws)
    astray.reconcile()
    reached(aws, config_with(aws, assumeRoleChain=[{"roleARN": ROLE}]))


def certified(aws):
    """A tenant with a managed certificate and a custom one after it, in a connection group of its own."""
    group = Groups(cloudfront=aws)
    group.settle()
    request = {"validationTokenHost": "self-hosted"}
    at = {"domains": ["www.customer.test"], "connectionGroupId": group.status["atProvider"]["id"]}
    tenant = World(managed({"distributionId": DISTRIBUTION, **at, "managedCertificateRequest": request}), aws)
    tenant.reconcile()
    aws.admin("PATCH", "managed-certificates/shop.acme", {"served": True})
    tenant.settle()
    tenant.edit(domains=["www.customer.test", "shop.example.com"])
    tenant.settle()
    tenant.delete()
    tenant.settle()
    group.delete()
    group.settle()


def test_what_is_called_is_what_the_page_permits(aws):
    live(aws)
    record = {call["operation"]: call["service"] for call in aws.admin("GET", "calls")["calls"]}
    assert {name: OPERATIONS[name].service for name in record} == record
    assert set(record) <= iam_page.called()
    declared = {
        name
        for name in iam_page.called()
        if OPERATIONS[name].grants and OPERATIONS[name].grants[0].feature in LIVED
    }
    assert set(record) == declared
    text = iam_page.page()
    for name in record:
        for grant in OPERATIONS[name].grants:
            assert grant.feature not in LIVED or grant.action in text or name == "GetCallerIdentity"


def test_the_page_is_fresh(capsys):
    assert iam_page.main(["--check"]) == 0, capsys.readouterr().err


def test_every_call_of_the_code_is_declared():
    assert iam_page.called() <= set(OPERATIONS)
    assert len(iam_page.called()) > 10


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_what_does_not_write_is_named_so(name):
    reads = name.startswith(("Get", "List", "Describe", "Verify", "AssumeRole"))
    assert OPERATIONS[name].writes is not reads


def test_a_stale_page_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(iam_page, "PAGE", tmp_path / "docs" / "iam.md")
    monkeypatch.setattr(iam_page, "EXAMPLE", tmp_path / "docs" / "policy.json")
    (tmp_path / "docs").mkdir()
    assert iam_page.main(["--check"]) == 1
    assert "stale: docs/iam.md" in (told := capsys.readouterr().err)
    assert "stale: docs/policy.json" in told
    assert iam_page.main([]) == 0
    assert iam_page.main(["--check"]) == 0


def test_the_example_permits_what_the_page_does():
    example = json.loads(iam_page.example())
    actions = {action for statement in example["Statement"] for action in statement["Action"]}
    features = [each for each in Feature if each not in (Feature.IMPORT, Feature.IDENTITY)]
    assert actions == {grant.action for feature in features for grant in iam_page.grants(feature)}
    assert "cloudfront:VerifyDnsConfiguration" in actions
    assert not [action for action in actions if action.startswith("sts:")]
