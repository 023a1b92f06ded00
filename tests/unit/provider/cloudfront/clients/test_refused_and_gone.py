"""What a resource says beside Ready of a tenant that is refused for a domain conflict, or that is gone from
AWS: nothing is to be validated for a domain that another tenant has, and InSync is not True."""

from __future__ import annotations

import pytest

from tests.unit.provider.cloudfront.certificate.test_certificates import requested
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.cloudfront.memory.test_vanishing import Fleet
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

OURS, TAKEN = FOR_PROVIDER["domains"], "taken.com"
MANAGED = {"managedCertificateRequest": {"validationTokenHost": "self-hosted"}}
LATER = (
    "False",
    "PendingValidation",
    (
        "The provider requests the certificate once the domain conflict that Ready describes has ended. "
        "Nothing has to be validated before."
    ),
)
NOT_AGAIN = "Ready and Synced show why the provider has not recreated it"


def conflicting() -> FakeCloudFront:
    cloudfront = FakeCloudFront()
    cloudfront.add(name="other.has-it", domains={TAKEN: "active"})
    return cloudfront


def gone(world: World) -> World:
    world.settle()
    assert world.condition("InSync")[:2] == ("True", "InSync")
    own = next(id_ for id_, each in world.cloudfront.tenants.items() if each.name == "shop.acme")
    del world.cloudfront.tenants[own]
    return world


def instructed(world: World) -> set[str]:
    return {each["name"] for each in world.status.get("dnsInstructions", ())}


# A domain conflict.


def test_nothing_is_to_be_validated_for_a_tenant_that_a_conflict_refuses():
    world = World(managed({**FOR_PROVIDER, **MANAGED, "domains": [TAKEN]}), conflicting())
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert world.condition("CertificateReady") == LATER
    assert instructed(world) == set()
    world.cloudfront.tenants.clear()
    world.reconcile()
    assert "status.dnsInstructions" in world.condition("CertificateReady")[2]
    assert instructed(world) == {TAKEN, f"_cf-challenge.{TAKEN}"}


def test_instructions_that_were_shown_before_the_conflict_go():
    world = World(managed({**FOR_PROVIDER, **MANAGED, "domains": [TAKEN]}))
    world.settle()
    assert instructed(world)
    world.cloudfront.tenants.clear()
    world.cloudfront.add(name="other.has-it", domains={TAKEN: "active"})
    for _ in range(3):
        world.reconcile()
        world.clock.advance(600)
    assert world.ready() == ("False", "DomainConflict")
    assert world.condition("CertificateReady") == LATER
    assert instructed(world) == set()


def test_without_a_request_no_certificate_is_promised():
    world = World(managed({**FOR_PROVIDER, "domains": ["taken.example.com"]}))
    world.cloudfront.add(name="other.has-it", domains={"taken.example.com": "active"})
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert world.condition("CertificateReady") == ("", "", "")
    assert instructed(world) == set()


def test_another_refusal_keeps_the_instructions_that_it_needs():
    world = World(managed({**FOR_PROVIDER, **MANAGED, "parameters": {}}))
    world.cloudfront.put_distribution(DISTRIBUTION, parameters={"tenantName": True})
    world.reconcile()
    assert world.ready() == ("False", "MissingParameters")
    assert instructed(world) == set(OURS)


def test_a_tenant_keeps_the_instructions_for_the_domains_that_it_has():
    world = World(managed(), conflicting())
    world.settle()
    world.edit(domains=[*OURS, TAKEN], **MANAGED)
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert instructed(world) == set(OURS)
    assert world.condition("CertificateReady") == LATER
    world.cloudfront.tenants = {
        id_: t for id_, t in world.cloudfront.tenants.items() if t.name == "shop.acme"
    }
    world.memory.holders.changed([TAKEN])
    world.reconcile()
    assert instructed(world) >= {*OURS, TAKEN}


def test_a_certificate_that_the_tenant_has_already_is_told_as_before():
    world = requested()
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert world.condition("CertificateReady")[:2] == ("True", "Validated")
    own = world.obj["spec"]["forProvider"]["domains"]
    world.cloudfront.add(name="other.has-it", domains={TAKEN: "active"})
    before = world.condition("CertificateReady")
    world.edit(domains=[*own, TAKEN])
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert world.condition("CertificateReady") == before


# Gone from AWS.


def test_a_tenant_whose_recreation_is_refused_is_not_in_sync():
    world = gone(World())
    world.cloudfront.add(name="other.has-it", domains={OURS[0]: "active", OURS[1]: "active"})
    for _ in range(3):
        world.reconcile()
        world.clock.advance(600)
    assert world.ready() == ("False", "DomainConflict")
    assert world.condition("InSync") == (
        "False",
        "DriftDetected",
        f"tenant shop.acme (dt_1) is gone from AWS. {NOT_AGAIN}",
    )


@pytest.mark.parametrize(("lost", "says"), [(1, "recreates it in 60 s"), (6, "recreation is on hold")])
def test_nor_is_one_whose_recreation_waits(lost, says):
    fleet = Fleet(8)
    fleet.lose(lost)
    fleet.poll()
    world = fleet.held[-1]
    assert says in world.condition("Ready")[2]
    assert world.condition("InSync") == ("False", "DriftDetected", world.condition("Ready")[2])


def test_nor_is_one_that_the_drift_policy_leaves_gone():
    world = gone(World(managed(driftPolicy="Report")))
    world.reconcile()
    assert world.ready() == ("False", "RecreationHeld")
    assert world.condition("InSync") == ("False", "DriftDetected", world.condition("Ready")[2])


def test_nor_is_one_that_frozen_writes_do_not_recreate():
    world = gone(World())
    world.context["frozen"] = "the provider runs with --read-only"
    world.reconcile()
    assert world.condition("InSync") == (
        "False",
        "Frozen",
        (
            "tenant shop.acme (dt_1) is gone from AWS. Not done yet: the provider runs with --read-only. "
            "Writes resume when that setting is removed"
        ),
    )


def test_nor_is_one_whose_name_someone_else_has_now():
    world = gone(World())
    world.cloudfront.add(name="shop.acme", tags={})
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert world.condition("InSync")[:2] == ("False", "DriftDetected")


def test_if_it_may_be_in_another_account_that_is_not_known():
    world = gone(World())
    world.context["account"] = None
    world.restart()
    world.reconcile()
    assert world.ready() == ("False", "RecreationHeld")
    assert world.condition("InSync")[:2] == ("Unknown", "DriftDetected")


def test_a_connection_group_that_is_gone_is_not_in_sync_either():
    world = Groups()
    world.settle()
    assert world.condition("InSync")[0] == "True"
    world.cloudfront.groups.clear()
    world.context["frozen"] = "the provider runs with --read-only"
    world.reconcile()
    assert world.condition("InSync")[:2] == ("False", "Frozen")


def test_what_never_existed_says_nothing_of_that():
    world = World(managed({**FOR_PROVIDER, "domains": [TAKEN]}), conflicting())
    world.reconcile()
    assert world.condition("InSync") == ("", "", "")
