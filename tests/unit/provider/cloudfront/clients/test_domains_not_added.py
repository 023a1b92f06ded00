"""A domain of the spec that the tenant does not have in AWS: the resource says why, and what ends that. It
gives no advice on certificates and DNS, which would not add the domain."""

from __future__ import annotations

import pytest

from provider.cloudfront.safety.guards import DRY_RUN_ANNOTATION
from tests.unit.provider.cloudfront.certificate.test_certificates import requested
from tests.unit.provider.world import FOR_PROVIDER, World, managed

NEW = "new.example.com"
LACKS = f"The tenant in CloudFront does not have {NEW} yet."
FROZEN = [
    "spec.writes of ClusterProviderConfig default is Frozen",
    "the provider runs with --read-only",
    f"the annotation {DRY_RUN_ANNOTATION} is set",
]
MANAGED = {"managedCertificateRequest": {"validationTokenHost": "cloudfront"}}


def settled(**spec) -> World:
    world = World(managed(**spec))
    world.settle()
    assert world.ready() == ("True", "Available")
    return world


def with_new(world: World, **fields) -> World:
    world.edit(domains=[*FOR_PROVIDER["domains"], NEW], **fields)
    world.reconcile()
    return world


@pytest.mark.parametrize("why", FROZEN)
def test_a_domain_that_is_added_while_writes_are_frozen_is_not_in_cloudfront_for_that_reason(why):
    world = settled()
    world.context["frozen"] = why
    with_new(world)
    assert world.condition("Ready") == (
        "False",
        "Frozen",
        f"{LACKS} The provider adds no domains because {why}. Writes resume when that setting is removed.",
    )
    assert world.condition("InSync")[1] == "Frozen"
    del world.context["frozen"]
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("why", FROZEN)
def test_no_one_can_validate_a_certificate_that_frozen_writes_do_not_request(why):
    world = settled()
    world.context["frozen"] = why
    with_new(world, **MANAGED)
    told = f"The provider requests no certificate because {why}. Writes resume when that setting is removed."
    assert world.condition("CertificateReady") == ("False", "PendingValidation", told)
    world.cloudfront.edit("dt_1", domains={"acme.example.com": "active", "shop.acme.com": "inactive"})
    world.reconcile()
    assert world.condition("Ready") == (
        "False",
        "Frozen",
        f"CloudFront does not answer for shop.acme.com. {told}",
    )


def test_nor_one_of_a_tenant_that_frozen_writes_do_not_create():
    world = World(managed({**FOR_PROVIDER, **MANAGED}), frozen=FROZEN[0])
    world.reconcile()
    assert world.ready() == ("False", "Frozen")
    assert world.condition("CertificateReady")[2].startswith(
        f"The provider requests no certificate because {FROZEN[0]}. Writes resume when"
    )


def test_a_certificate_that_was_requested_before_the_freeze_is_still_to_be_validated():
    world = requested()
    world.context["frozen"] = FROZEN[0]
    world.reconcile()
    assert world.ready() == ("False", "CertificatePending")
    assert "status.dnsInstructions" in world.condition("CertificateReady")[2]


def test_management_policies_that_permit_no_update_are_named():
    world = with_new(settled(managementPolicies=["Observe", "Create"]))
    assert world.condition("Ready") == (
        "False",
        "DomainInactive",
        (
            f"{LACKS} The provider adds no domains because spec.managementPolicies does not permit Update. "
            "Permit it, or add the domains in AWS."
        ),
    )


def test_a_domain_that_someone_removed_in_aws_is_named_where_the_drift_policy_leaves_that():
    world = settled(driftPolicy="Report")
    world.cloudfront.edit("dt_1", domains={"acme.example.com": "active"})
    world.reconcile()
    assert world.condition("Ready") == (
        "False",
        "DomainInactive",
        (
            "The tenant in CloudFront does not have shop.acme.com. Someone changed its domains in AWS, and "
            "the drift policy keeps them so. Add the domains there, or set spec.driftPolicy to Enforce."
        ),
    )


def test_a_domain_that_waits_for_a_pending_certificate_says_so():
    world = requested()
    domain = world.obj["spec"]["forProvider"]["domains"][0]
    world.cloudfront.edit("dt_1", domains={domain: "active"})
    world.edit(domains=[domain, NEW])
    world.reconcile()
    assert world.condition("Ready") == (
        "False",
        "CertificatePending",
        (
            f"{LACKS} The provider adds domains after the pending certificate is issued, because CloudFront "
            "allows one pending request. CertificateReady says what it waits for."
        ),
    )


def test_a_change_that_waits_for_another_reason_leads_to_that_reason():
    world = settled()
    world.edit(domains=[*FOR_PROVIDER["domains"], NEW])
    ready = next(each for each in world.client.observe(world.mr).conditions if each.type == "Ready")
    assert (ready.reason, ready.message) == (
        "DomainInactive",
        f"{LACKS} InSync says what the change waits for.",
    )


def test_a_domain_of_others_is_a_conflict():
    world = settled()
    world.cloudfront.add(name="other.tenant", domains={NEW: "active"})
    with_new(world)
    assert world.ready() == ("False", "DomainConflict")
    assert "dnsInstructions" not in world.condition("Ready")[2]


def test_a_domain_that_the_tenant_has_still_gets_advice_on_certificate_and_dns():
    world = settled()
    world.context["frozen"] = FROZEN[0]
    world.cloudfront.edit("dt_1", domains={"acme.example.com": "active", "shop.acme.com": "inactive"})
    world.reconcile()
    assert world.ready() == ("False", "DomainInactive")
    assert world.condition("Ready")[2].startswith("CloudFront does not answer for shop.acme.com. Check that")
