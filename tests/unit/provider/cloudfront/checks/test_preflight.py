"""Everything that is wrong is found before anything is written, and told at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.checks.preflight import missing_parent
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, INHERITED_CERTIFICATE, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

CUSTOM = "arn:aws:acm:us-east-1:123456789012:certificate/custom"
WRITES = ("Create", "Update", "Delete", "Tag", "Untag")


def world(cloudfront=None, **fields) -> World:
    cloudfront = cloudfront or FakeCloudFront()
    cloudfront.certificates[CUSTOM] = Certificate(CUSTOM, "issued", domains=frozenset({"*.customer.test"}))
    return World(managed({**FOR_PROVIDER, **fields}), cloudfront)


def custom(arn=CUSTOM):
    return {"certificate": {"arn": arn}}


@pytest.mark.parametrize(
    ("asked", "reason", "words"),
    [
        ({"distributionId": "EGONE"}, "ParentNotFound", "distribution EGONE does not exist"),
        ({"distributionId": "EDIRECT"}, "ParentNotFound", "distribution EDIRECT is not multi-tenant"),
        ({"connectionGroupId": "cg_no"}, "ConnectionGroupNotFound", "connection group cg_no does not exist"),
        ({"distributionId": "EMUST"}, "MissingParameters", "distribution EMUST requires region, shop"),
        ({"parameters": {"colour": "red"}}, "ValidationFailed", "parameters.colour: distribution"),
        ({"domains": ["a.b.example.com"]}, "CertificateSANMismatch", "no certificate covers a.b.example.com"),
        ({"distributionId": "EBARE"}, "MissingCertificate", "distribution EBARE has no ACM certificate"),
        (
            {"customizations": custom("arn:aws:acm:us-east-1:123456789012:certificate/none")},
            "MissingCertificate",
            "ACM has no",
        ),
    ],
)
def test_each_problem_has_its_reason_and_words(asked, reason, words):
    cloudfront = FakeCloudFront()
    cloudfront.put_distribution("EDIRECT", multi_tenant=False)
    cloudfront.put_distribution("EBARE", certificate_arn=None)
    must = {"shop": True, "region": True, "tenantName": False}
    cloudfront.put_distribution("EMUST", parameters=must)
    tried = world(cloudfront, **asked)
    calls = tried.reconcile()
    assert tried.ready() == ("False", reason)
    assert words in tried.error.message
    assert not any(call.startswith(WRITES) for call in calls)


def test_all_problems_are_in_one_message():
    tried = world(connectionGroupId="cg_no", parameters={"colour": "red"}, domains=["x.other.test"])
    tried.reconcile()
    assert tried.ready() == ("False", "ValidationFailed")
    for words in ("cg_no does not exist", "parameters.colour", "no certificate covers x.other.test"):
        assert words in tried.error.message


def test_a_custom_certificate_and_the_inherited_one_cover_together():
    tried = world(domains=["a.example.com", "b.customer.test"], customizations=custom())
    tried.settle()
    assert tried.ready() == ("True", "Available")


def test_an_expired_one_is_told():
    cloudfront = FakeCloudFront()
    inherited = cloudfront.certificates[INHERITED_CERTIFICATE]
    cloudfront.certificates[INHERITED_CERTIFICATE] = replace(inherited, status="expired")
    tried = world(cloudfront)
    tried.reconcile()
    assert tried.ready() == ("False", "CertificateExpired")


@pytest.mark.parametrize(
    "operation",
    ["GetDistribution", "DescribeCertificate", "ListConnectionGroups"],
)
def test_a_check_that_is_not_permitted_warns_and_goes_on(operation):
    tried = world()
    tried.cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", "no", status=403)
    tried.settle()
    assert tried.ready() == ("True", "Available")
    told = (
        operation == "ListConnectionGroups"
        or f"checks skipped for lack of permission: {operation}" in tried.events[0]
    )
    assert told


def test_a_check_that_fails_otherwise_is_tried_again():
    tried = world()
    tried.cloudfront.refuse["GetDistribution"] = AwsError("GetDistribution", "Throttling", "slow", status=400)
    tried.reconcile()
    assert tried.ready() == ("False", "Throttled")
    tried.cloudfront.refuse.clear()
    tried.settle()
    assert tried.ready() == ("True", "Available")


@pytest.mark.parametrize(
    ("edit", "words", "reason"),
    [
        (
            {"domains": [*FOR_PROVIDER["domains"], "x.other.test"]},
            "no certificate covers x.other.test",
            "CertificateSANMismatch",
        ),
        ({"parameters": {"colour": "red"}}, "parameters.colour", "Available"),
        ({"connectionGroupId": "cg_no"}, "connection group cg_no does not exist", "Available"),
        ({"distributionId": "EGONE"}, "distribution EGONE does not exist", "Available"),
    ],
)
def test_a_change_is_checked_as_far_as_it_goes(edit, words, reason):
    tried = world()
    tried.settle()
    tried.edit(**edit)
    calls = tried.reconcile()
    assert words in tried.error.message
    assert tried.ready()[1] == reason
    assert not any(call.startswith(WRITES) for call in calls)


def test_drift_is_repaired_unchecked():
    tried = world()
    tried.settle()
    tried.clock.advance(120)
    tried.cloudfront.edit("dt_1", parameters={"tenantName": "x"})
    calls = tried.reconcile()
    assert "UpdateDistributionTenant" in calls
    assert "GetDistribution" not in calls


def test_many_that_are_made_at_once_share_the_calls_for_their_parent():
    cloudfront = FakeCloudFront()
    first = world(cloudfront)
    first.settle()
    assert cloudfront.journal.count("GetDistribution") == 1
    assert cloudfront.distributions[DISTRIBUTION].multi_tenant


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "The connection group cg_1 doesn't exist.",
            "spec.forProvider.connectionGroupId cg_1 does not exist.",
        ),
        ("The distribution E1 doesn't exist.", "spec.forProvider.distributionId E1 does not exist."),
        (
            "The entity was not found.",
            "spec.forProvider.distributionId E1 or spec.forProvider.connectionGroupId cg_1 does not exist,",
        ),
    ],
)
def test_a_parent_that_went_after_its_check_is_named_where_aws_names_it(words: str, told: str) -> None:
    asked = Tenant(name="shop.acme", distribution_id="E1", connection_group_id="cg_1")
    error = AwsError("CreateDistributionTenant", "EntityNotFound", words, status=404)
    assert missing_parent(asked, error).message.startswith(told)
