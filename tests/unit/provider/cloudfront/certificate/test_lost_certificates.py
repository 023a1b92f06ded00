"""Certificates that the provider does not request, and that end under a tenant that serves: a custom one, and
the distribution's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.state.certificates import Certificate
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, INHERITED_CERTIFICATE, FakeCloudFront
from tests.unit.provider.world import World, managed

CUSTOM = "arn:aws:acm:us-east-1:123456789012:certificate/custom"
DOMAIN = "acme.example.com"
ENDS = [("expired", "CertificateExpired"), ("revoked", "CertificateFailed")]
LOOKS = ["GetDistribution", "DescribeCertificate"]


def served(cloudfront: FakeCloudFront | None = None, name: str = "acme", **fields) -> World:
    asked = {"distributionId": DISTRIBUTION, "domains": [f"{name}.example.com"], **fields}
    named = {"crossplane.io/external-name": f"shop.{name}"}
    world = World(managed(asked, annotations=named, uid=f"uid-{name}"), cloudfront)
    world.settle()
    assert world.ready() == ("True", "Available")
    return world


def ends(cloudfront: FakeCloudFront, arn: str, **fields) -> None:
    cloudfront.certificates[arn] = replace(cloudfront.certificates[arn], **fields)


def a_day(world: World) -> list[str]:
    world.clock.advance(DEEP_CHECK_SECONDS)
    return world.reconcile()


def custom() -> World:
    cloudfront = FakeCloudFront()
    cloudfront.certificates[CUSTOM] = Certificate(CUSTOM, "issued", domains=frozenset({DOMAIN}))
    return served(cloudfront, customizations={"certificate": {"arn": CUSTOM}})


@pytest.mark.parametrize(("status", "reason"), ENDS)
def test_a_custom_one(status, reason):
    world = custom()
    ends(world.cloudfront, CUSTOM, status=status)
    a_day(world)
    assert world.condition("CertificateReady")[:2] == ("False", reason)
    assert world.ready() == ("False", reason)
    assert CUSTOM in world.condition("Ready")[2]
    assert "name another in spec.forProvider.customizations.certificate" in world.condition("Ready")[2]


def test_a_custom_one_that_cannot_be_read_any_more_is_not_good_again():
    world = custom()
    ends(world.cloudfront, CUSTOM, status="revoked")
    a_day(world)
    world.cloudfront.refuse["DescribeCertificate"] = AwsError("DescribeCertificate", "AccessDenied", "no")
    a_day(world)
    assert world.ready() == ("False", "CertificateFailed")


@pytest.mark.parametrize(("status", "reason"), ENDS)
def test_the_distributions(status, reason):
    world = served()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status=status)
    assert world.reconcile() == ["GetDistributionTenant"]
    a_day(world)
    assert world.condition("CertificateReady")[:2] == ("False", reason)
    assert world.ready() == ("False", reason)
    told = world.condition("Ready")[2]
    assert f"Certificate {INHERITED_CERTIFICATE} of distribution {DISTRIBUTION}: AWS says {status}" in told
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="issued")
    world.clock.advance(61)
    world.reconcile()
    assert world.ready() == ("True", "Available"), "what is repaired is noticed within a minute"
    world.clock.advance(61)
    assert not set(LOOKS) & set(world.reconcile())


def test_one_look_at_it_is_for_all_tenants_of_the_distribution():
    first = served()
    others = [served(first.cloudfront, name) for name in ("b", "c", "d")]
    for other in others:
        other.memory, other.clock = first.memory, first.clock
        other.reconcile()
    ends(first.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    calls = a_day(first) + [call for other in others for call in other.reconcile()]
    assert [call for call in calls if call in LOOKS] == LOOKS
    assert {world.ready() for world in (first, *others)} == {("False", "CertificateFailed")}


def test_a_new_process_does_not_take_it_for_good():
    world = served()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    a_day(world)
    world.restart()
    world.reconcile()
    assert world.ready() == ("False", "CertificateFailed")


def test_its_end_is_noticed_on_time():
    """An hour-old answer says that it is issued, and until when."""
    world = served()
    a_day(world)
    ends(world.cloudfront, INHERITED_CERTIFICATE, not_after="2025-12-31T00:00:00Z")
    a_day(world)
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="expired")
    world.clock.advance(61)
    world.reconcile()
    assert world.ready() == ("False", "CertificateExpired")


@pytest.mark.parametrize("call", LOOKS)
@pytest.mark.parametrize("code", ["AccessDenied", "Throttling"])
def test_where_it_cannot_be_read_nothing_is_said(call, code):
    world = served()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    world.cloudfront.refuse[call] = AwsError(call, code, "no", status=403)
    a_day(world)
    assert world.error is None
    assert world.ready() == ("True", "Available")
    assert world.condition("CertificateReady") == ("True", "NotConfigured", "")


def test_a_permission_that_is_taken_away_takes_no_alarm_back():
    world = served()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    a_day(world)
    world.cloudfront.refuse["DescribeCertificate"] = AwsError("DescribeCertificate", "AccessDenied", "no")
    a_day(world)
    assert world.ready() == ("False", "CertificateFailed")


def test_a_tenant_with_a_certificate_of_its_own_does_not_depend_on_it():
    world = custom()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    assert "GetDistribution" not in a_day(world)
    assert world.ready() == ("True", "Available")


def test_a_tenant_whose_domains_it_does_not_cover_does_not_depend_on_it():
    world = served()
    ends(world.cloudfront, INHERITED_CERTIFICATE, status="revoked", domains=frozenset({"*.other.test"}))
    a_day(world)
    assert world.ready() == ("True", "Available")


def test_a_permission_that_one_config_lacks_hides_it_from_no_other():
    shop, weak = served(), served(name="weak")
    refused = AwsError("GetDistribution", "AccessDenied", "user/weak may not", status=403)
    weak.cloudfront.refuse["GetDistribution"] = refused
    weak.context["config"] = "ProviderConfig weak/weak"
    weak.memory, weak.clock = shop.memory, shop.clock
    ends(shop.cloudfront, INHERITED_CERTIFICATE, status="revoked")
    shop.clock.advance(DEEP_CHECK_SECONDS)
    weak.reconcile()
    shop.reconcile()
    assert shop.ready() == ("False", "CertificateFailed")
