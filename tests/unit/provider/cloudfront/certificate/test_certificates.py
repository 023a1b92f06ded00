"""Managed certificates against CloudFront in memory: asked for, waited for, attached, lost and asked for
again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgetenants_runtime.clock import FakeClock, rfc3339
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.certificate.look import CertificateLook
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.state import certificates
from provider.cloudfront.state.certificates import Certificate, Token
from provider.cloudfront.state.customizations import Customizations, GeoRestrictions
from tests.unit.provider.fake_cloudfront import ENDPOINT, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, TODAY, World, managed

DOMAIN = "www.customer.test"
CUSTOM = "arn:aws:acm:us-east-1:123456789012:certificate/custom"
ASKED = {
    **FOR_PROVIDER,
    "domains": [DOMAIN],
    "managedCertificateRequest": {"validationTokenHost": "self-hosted"},
}
GEO = {"restrictionType": "whitelist", "locations": ["DE"]}


def asking(cloudfront: FakeCloudFront | None = None, **fields) -> World:
    return World(managed({**ASKED, **fields}), cloudfront)


def requested(**fields) -> World:
    world = asking(**fields)
    world.settle()
    return world


def served(**fields) -> World:
    world = requested(**fields)
    world.cloudfront.settle_certificate("issued")
    attach(world)
    return world


def attach(world: World) -> None:
    """Reconcile until the issued certificate is attached; CloudFront activates the domains."""
    world.settle()
    assert world.ready() == ("True", "Available")


def certificate(world: World) -> dict:
    return world.status["atProvider"].get("certificate", {})


def requests(world: World) -> int:
    return len({c.arn for c in world.cloudfront.managed.values()})


def test_the_whole_way_is_few_writes_and_leaves_the_spec_alone():
    world = asking(customizations={"geoRestrictions": GEO})
    asked = dict(world.obj["spec"]["forProvider"])
    world.settle()
    assert world.condition("CertificateReady")[:2] == ("False", "PendingValidation")
    assert world.ready() == ("False", "CertificatePending")
    world.cloudfront.settle_certificate("issued")
    calls = world.reconcile()
    assert calls.count("UpdateDistributionTenant") == 1
    assert world.events[-1].startswith("update: attached certificate arn:aws:acm:")
    world.settle()
    arn = world.cloudfront.managed["dt_1"].arn
    geo = GeoRestrictions("whitelist", frozenset({"DE"}))
    assert world.cloudfront.only.customizations == Customizations(None, arn, geo)
    assert world.condition("CertificateReady")[:2] == ("True", "Validated")
    assert world.ready() == ("True", "Available")
    assert world.obj["spec"]["forProvider"] == asked
    assert world.status_writes <= 8


def test_a_certificate_that_ends_soon_as_status_has_it_is_asked_for_once():
    """Anyone who may write status would raise alarms, or take away those that are real."""
    world = served()
    until = certificate(world)["notAfter"]
    for forged in ("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", "0001-01-01T00:00:00Z", "soon"):
        certificate(world)["notAfter"] = forged
        assert "GetManagedCertificateDetails" in world.reconcile()
        assert certificate(world)["notAfter"] == until
    arn = world.cloudfront.managed["dt_1"].arn
    ending = replace(world.cloudfront.certificates[arn], not_after="2026-01-20T00:00:00Z")
    world.cloudfront.certificates[arn] = ending
    world.clock.advance(DEEP_CHECK_SECONDS)
    world.settle()
    assert certificate(world)["notAfter"] == ending.not_after
    for _ in range(3):
        assert world.reconcile() == ["GetDistributionTenant"], "it is known by now"
    world.restart()
    assert sum("GetManagedCertificateDetails" in world.reconcile() for _ in range(3)) == 1


def test_a_certificate_is_read_each_hour_from_its_end_until_aws_says_that_it_is_over():
    """ACM may say so some time later, and nothing but its end shows that CloudFront stopped to serve."""
    world = served()
    arn, begun = world.cloudfront.managed["dt_1"].arn, world.clock.now()
    world.memory = AccountMemory(
        world.clock, today=lambda: TODAY + timedelta(seconds=world.clock.now() - begun)
    )
    ends = replace(world.cloudfront.certificates[arn], not_after="2026-01-01T02:05:00Z")
    world.cloudfront.certificates[arn] = ends
    certificate(world)["notAfter"] = ends.not_after

    def reads(hours: int) -> list[int]:
        each = []
        for _ in range(hours):
            calls = []
            for _ in range(6):
                world.clock.advance(600)
                calls += world.reconcile()
            each.append(calls.count("GetManagedCertificateDetails"))
        return each

    assert reads(5) == [1, 0, 1, 1, 1]
    world.cloudfront.managed["dt_1"] = replace(world.cloudfront.managed["dt_1"], status="expired")
    reads(1)
    assert world.ready() == ("False", "CertificateExpired")


@pytest.mark.parametrize(
    ("code", "again"),
    [("ServiceUnavailable", True), ("AccessDenied", False)],
    ids=["an outage", "no permission"],
)
def test_an_end_that_could_not_be_read_is_read_ten_minutes_later(code, again):
    world = served()
    certificate(world)["notAfter"] = "2026-01-02T00:00:00Z"
    operation = "GetManagedCertificateDetails"
    status = 403 if code == "AccessDenied" else 503
    world.cloudfront.refuse[operation] = AwsError(operation, code, "no", status=status)
    world.edit(customizations={"geoRestrictions": {"restrictionType": "whitelist", "locations": ["FR"]}})
    calls = world.reconcile()
    assert operation in calls
    assert "UpdateDistributionTenant" in calls, "an edit does not wait for a check"
    assert world.error is None
    assert operation not in world.reconcile(), "not at each poll"
    world.cloudfront.refuse.clear()
    world.clock.advance(601)
    assert (operation in world.reconcile()) is again
    assert operation not in world.reconcile()


def test_in_steady_state_one_look_is_one_call_also_after_a_restart():
    world = served()
    writes = world.status_writes
    world.cloudfront.pointing.add(DOMAIN)
    world.clock.advance(3600)
    world.settle()
    for _ in range(3):
        assert world.reconcile() == ["GetDistributionTenant"]
    world.restart()
    world.reconcile()
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.status_writes <= writes + 1
    world.clock.advance(2 * DEEP_CHECK_SECONDS)
    assert {"GetManagedCertificateDetails", "ListTagsForResource"} <= set(world.reconcile())


def test_before_dns_is_right_nothing_is_made_and_the_records_are_told():
    world = asking(managedCertificateRequest={"validationTokenHost": "cloudfront"})
    world.reconcile()
    assert world.ready() == ("False", "DomainValidationPending")
    assert world.error.after == 300
    assert world.condition("CertificateReady")[:2] == ("False", "PendingValidation")
    [record] = world.status["dnsInstructions"]
    assert (record["name"], record["value"], record["state"]) == (DOMAIN, ENDPOINT, "Unknown")
    world.cloudfront.pointing.add(DOMAIN)
    world.settle()
    assert world.status["dnsInstructions"][0]["state"] == "Present"
    assert world.condition("CertificateReady")[1] == "PendingValidation"


def test_what_to_serve_is_shown_while_it_is_pending_only():
    world = requested()
    assert certificate(world)["validation"] == [
        {"domain": DOMAIN, "redirectFrom": f"{DOMAIN}/.well-known/x.txt", "redirectTo": f"acm/{DOMAIN}"}
    ]
    assert f"acm/{DOMAIN}" in world.condition("CertificateReady")[2]
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert "validation" not in certificate(world)
    assert certificate(world)["notAfter"] == "2027-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("failed", "CertificateFailed"),
        ("validation-timed-out", "CertificateFailed"),
        ("revoked", "CertificateFailed"),
        ("inactive", "CertificateFailed"),
        ("expired", "CertificateExpired"),
    ],
)
def test_one_that_came_to_nothing_is_told_and_asked_for_later(status, reason):
    world = requested()
    first = world.cloudfront.managed["dt_1"].arn
    world.cloudfront.settle_certificate(status, "CAA_ERROR")
    world.settle()
    assert world.condition("CertificateReady")[:2] == ("False", reason)
    assert "CAA_ERROR" in world.condition("CertificateReady")[2]
    assert world.ready() == ("False", reason)
    world.clock.advance(599)
    assert "UpdateDistributionTenant" not in world.reconcile()
    world.clock.advance(2)
    assert "UpdateDistributionTenant" in world.reconcile()
    assert world.cloudfront.managed["dt_1"].arn != first
    world.settle()
    world.cloudfront.settle_certificate(status)
    world.settle()
    world.clock.advance(601)
    assert "UpdateDistributionTenant" not in world.reconcile(), "the second wait is longer"
    world.clock.advance(601)
    assert "UpdateDistributionTenant" in world.reconcile()


def test_a_crash_loop_asks_for_nothing():
    world = requested()
    world.cloudfront.settle_certificate("failed")
    world.settle()
    for _ in range(5):
        world.restart()
        assert "UpdateDistributionTenant" not in world.reconcile()


def failed_since(since: str | None) -> World:
    """Its request failed, and a new process finds this time in status; the first pause is ten minutes."""
    world = requested()
    world.cloudfront.settle_certificate("failed")
    world.settle()
    if since:
        certificate(world)["waitingSince"] = since
    world.restart()
    return world


def test_a_new_process_goes_on_with_the_pause():
    world = failed_since(None)
    assert certificate(world)["waitingSince"] == rfc3339(TODAY)
    world = failed_since(rfc3339(TODAY - timedelta(seconds=500)))
    assert "UpdateDistributionTenant" not in world.reconcile()
    world.clock.advance(99)
    assert "UpdateDistributionTenant" not in world.reconcile()
    world.clock.advance(2)
    assert "UpdateDistributionTenant" in world.reconcile()
    world.settle()
    assert "waitingSince" not in certificate(world), "it is pending"


@pytest.mark.parametrize("forged", ["2030-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "soon", "2025-12-31"])
def test_no_time_in_status_makes_the_pause_longer(forged):
    world = failed_since(forged)
    assert "UpdateDistributionTenant" not in world.reconcile()
    assert certificate(world)["waitingSince"] == rfc3339(TODAY)
    world.clock.advance(601)
    assert "UpdateDistributionTenant" in world.reconcile()


def test_a_time_in_status_is_no_reason_for_requests_without_end():
    """It may end the pause once for each process, as the annotation of its author does."""
    world = failed_since("2020-01-01T00:00:00Z")
    assert "UpdateDistributionTenant" in world.reconcile()
    world.settle()
    world.cloudfront.settle_certificate("failed")
    pending = certificate(world)
    for _ in range(5):
        forged = {"status": "failed", "waitingSince": "2020-01-01T00:00:00Z"}
        world.obj["status"]["atProvider"]["certificate"] = {**pending, **forged}
        assert "UpdateDistributionTenant" not in world.reconcile()


def test_a_change_of_spec_has_it_asked_for_at_once():
    world = requested()
    world.cloudfront.settle_certificate("failed")
    world.settle()
    world.edit(tags={"team": "other"})
    world.settle()
    assert world.condition("CertificateReady")[1] == "PendingValidation"


def test_nobody_has_it_asked_for_more_than_three_times_in_an_hour():
    """ACM keeps what failed: one resource would use up the quota of the account."""
    world = requested()
    for number in range(12):
        world.cloudfront.settle_certificate("failed")
        world.settle()
        world.obj["status"]["atProvider"]["certificate"]["requests"] = 0
        world.edit(tags={"team": f"other{number}"})
        world.settle()
    assert world.memory.requests.too_often_until(world.mr.uid, 3, 3600) == TODAY + timedelta(hours=1)
    assert world.memory.requests.too_often_until(world.mr.uid, 4, 3600) is None
    assert world.condition("CertificateReady")[1] == "CertificateFailed"
    words = "but not before 2026-01-01T01:00:00Z, because it requested three within an hour."
    assert words in world.condition("Ready")[2]
    world.clock.advance(3601)
    world.edit(tags={"team": "last"})
    world.settle()
    assert world.condition("CertificateReady")[1] == "PendingValidation"


@pytest.mark.parametrize("status", ["failed", "validation-timed-out", "issued"])
def test_other_domains_have_none_asked_for_more_than_three_times_in_an_hour(status):
    world = served()
    asked = {world.cloudfront.managed["dt_1"].arn}
    for number in range(9):
        world.edit(domains=[DOMAIN, f"{number}.customer.test"], parameters={"tenantName": f"t{number}"})
        world.settle()
        asked.add(world.cloudfront.managed["dt_1"].arn)
        world.cloudfront.settle_certificate(status)
        world.settle()
        assert world.cloudfront.only.parameters == {"tenantName": f"t{number}"}, "nothing else waits"
    assert len(asked) == 1 + 3
    if status == "issued":
        assert set(world.cloudfront.only.domains) == {DOMAIN}, "what goes, goes"
        assert world.ready() == ("False", "CertificatePending")
        assert "8.customer.test: each needs a certificate" in world.condition("Ready")[2]
        assert "It requests the next one after 2026-01-01T01:00:00Z" in world.condition("Ready")[2]
        assert world.condition("InSync")[:2] == ("False", "UpdatePending")
    before = world.status_writes
    for _ in range(5):
        world.clock.advance(60)
        assert "UpdateDistributionTenant" not in world.reconcile()
    assert world.status_writes == before
    world.clock.advance(3600)
    world.settle()
    assert set(world.cloudfront.only.domains) == {DOMAIN, "8.customer.test"}
    assert world.cloudfront.managed["dt_1"].arn not in asked
    assert world.condition("CertificateReady")[1] == "PendingValidation"


def test_requests_after_which_something_fails_count_as_well():
    """As tags that a user made up, which AWS refuses."""
    world = served()
    asked = {world.cloudfront.managed["dt_1"].arn}
    for number in range(9):
        world.edit(domains=[DOMAIN, f"{number}.customer.test"], tags={"number": str(number)})
        world.cloudfront.refuse["TagResource"] = AwsError("TagResource", "InvalidTagging", "no", status=400)
        world.reconcile()
        world.cloudfront.refuse.clear()
        asked.add(world.cloudfront.managed["dt_1"].arn)
        world.cloudfront.settle_certificate("failed")
    assert len(asked) == 1 + 3


def test_a_domain_that_the_certificate_covers_is_added_all_the_same():
    world = served()
    for number in range(5):
        world.edit(domains=[DOMAIN, f"{number}.customer.test"])
        world.settle()
        world.cloudfront.settle_certificate("issued")
        world.settle()
    world.edit(domains=["2.customer.test"])
    world.settle()
    assert set(world.cloudfront.only.domains) == {"2.customer.test"}
    world.edit(domains=["9.customer.test"])
    world.settle()
    assert set(world.cloudfront.only.domains) == {"2.customer.test"}, "a tenant must have a domain"


def test_a_lost_request_is_repeated_with_patience():
    world = asking(FakeCloudFront(loses_requests=True))
    world.settle()
    assert "CloudFront shows none" in world.condition("CertificateReady")[2]
    before = world.cloudfront.journal.count("UpdateDistributionTenant")
    for _ in range(20):
        world.reconcile()
    assert world.cloudfront.journal.count("UpdateDistributionTenant") == before
    world.cloudfront.loses_requests = False
    world.clock.advance(601)
    world.settle()
    assert certificate(world)["status"] == "pending-validation"


def back_to_managed() -> World:
    """It had a managed certificate for another domain, then a custom one, and asks for a managed one."""
    world = served()
    world.cloudfront.certificates[CUSTOM] = Certificate(CUSTOM, "issued", domains=frozenset({"*.next.test"}))
    own = {"certificate": {"arn": CUSTOM}}
    world.edit(managedCertificateRequest=None, customizations=own, domains=["a.next.test"])
    world.settle()
    world.edit(managedCertificateRequest={"validationTokenHost": "self-hosted"}, customizations=None)
    return world


def test_an_old_certificate_for_other_domains_is_not_attached():
    world = back_to_managed()
    world.reconcile()
    assert world.cloudfront.only.customizations.certificate_arn == CUSTOM, "the domain is served by it"
    assert world.cloudfront.managed["dt_1"].domains == {"a.next.test"}
    world.cloudfront.settle_certificate("issued")
    attach(world)
    assert world.cloudfront.only.customizations.certificate_arn == certificate(world)["arn"]


def test_a_lost_request_beside_an_old_certificate_is_repeated_with_patience():
    world = back_to_managed()
    world.cloudfront.loses_requests = True
    for _ in range(10):
        world.reconcile()
        world.clock.advance(5)
    before = world.cloudfront.journal.count("UpdateDistributionTenant")
    for _ in range(10):
        world.reconcile()
        world.clock.advance(5)
    assert world.cloudfront.journal.count("UpdateDistributionTenant") == before
    world.cloudfront.loses_requests = False
    world.clock.advance(601)
    world.settle()
    assert certificate(world)["status"] == "pending-validation"


def test_no_second_request_while_one_is_pending():
    world = requested()
    world.edit(parameters={"tenantName": "b"}, domains=[DOMAIN, "b.customer.test"])
    world.settle()
    assert set(world.cloudfront.only.domains) == {DOMAIN}
    assert world.cloudfront.only.parameters == {"tenantName": "b"}
    assert world.condition("InSync")[:2] == ("False", "UpdatePending")
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert set(world.cloudfront.only.domains) == {DOMAIN, "b.customer.test"}
    assert world.cloudfront.managed["dt_1"].domains == {DOMAIN, "b.customer.test"}


def test_an_added_domain_is_sent_with_a_request_and_holds_up_nothing_else():
    world = served(managedCertificateRequest={"validationTokenHost": "self-hosted"})
    world.edit(
        domains=[DOMAIN, "b.customer.test"],
        parameters={"tenantName": "b"},
        managedCertificateRequest={"validationTokenHost": "cloudfront"},
    )
    world.reconcile()
    assert world.cloudfront.only.parameters == {"tenantName": "b"}
    assert world.error.after == 300
    assert set(world.cloudfront.only.domains) == {DOMAIN}
    world.cloudfront.pointing |= {DOMAIN, "b.customer.test"}
    world.settle()
    assert set(world.cloudfront.only.domains) == {DOMAIN, "b.customer.test"}


def test_a_tenant_that_serves_is_given_one_without_a_gap():
    world = World()
    world.settle()
    world.edit(managedCertificateRequest={"validationTokenHost": "self-hosted"})
    world.settle()
    assert world.ready() == ("True", "Available")
    assert world.condition("CertificateReady")[1] == "PendingValidation"
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert world.condition("CertificateReady")[1] == "Validated"


def test_taking_the_request_back_leaves_the_certificate():
    world = served()
    arn = world.cloudfront.only.customizations.certificate_arn
    world.edit(managedCertificateRequest=None, parameters={"tenantName": "b"})
    world.settle()
    assert world.cloudfront.only.customizations.certificate_arn == arn
    assert world.condition("CertificateReady")[1] == "NotConfigured"
    assert world.condition("InSync")[0] == "True"


@pytest.mark.parametrize(("policy", "repaired"), [("Enforce", True), ("Report", False), ("Suspend", False)])
def test_a_detached_one_is_drift_and_the_first_attachment_is_none(policy, repaired):
    world = World(managed(ASKED, driftPolicy=policy))
    world.settle()
    world.cloudfront.settle_certificate("issued")
    attach(world)
    arn = world.cloudfront.only.customizations.certificate_arn
    world.cloudfront.edit("dt_1", customizations=Customizations())
    world.settle()
    assert (world.cloudfront.only.customizations.certificate_arn == arn) is repaired


def test_a_revoked_one_is_seen_by_the_next_look_and_names_no_longer():
    world = served()
    world.cloudfront.settle_certificate("revoked")
    world.reconcile()
    assert world.condition("CertificateReady")[1] in ("CertificateFailed", "PendingValidation")
    assert world.cloudfront.managed["dt_1"].status == "pending-validation"
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize(
    ("status", "reason"), [("revoked", "CertificateFailed"), ("expired", "CertificateExpired")]
)
def test_a_lost_one_keeps_it_from_being_ready_until_another_is_attached(status, reason):
    world = served()
    first = certificate(world)["arn"]
    world.cloudfront.settle_certificate(status)
    for _ in range(3):
        world.reconcile()
        assert world.ready() == ("False", reason), "CloudFront still says that the domain is active"
        assert f"AWS says {status}" in world.condition("Ready")[2]
        assert world.condition("CertificateReady")[1] == "PendingValidation"
        assert certificate(world)["replaces"]["arn"] == first
        world.restart()
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert world.ready() == ("True", "Available")
    world.reconcile()
    assert "replaces" not in certificate(world)


def test_one_that_was_asked_for_just_now_is_not_missed():
    world = asking()
    world.reconcile()
    assert "is requesting a certificate" in world.condition("CertificateReady")[2]


def test_acm_that_may_not_be_read_holds_up_nothing():
    world = asking()
    denied = AwsError("DescribeCertificate", "AccessDenied", "no", status=403)
    world.cloudfront.refuse["DescribeCertificate"] = denied
    world.settle()
    world.cloudfront.settle_certificate("failed", "CAA_ERROR")
    world.settle()
    assert world.condition("CertificateReady")[1] == "CertificateFailed"
    assert "failureReason" not in certificate(world)


def test_one_that_cloudfront_attaches_by_itself_is_no_drift():
    world = asking(FakeCloudFront(attaches=True))
    world.settle()
    world.cloudfront.settle_certificate("issued")
    before = world.cloudfront.journal.count("UpdateDistributionTenant")
    world.settle()
    assert world.cloudfront.journal.count("UpdateDistributionTenant") == before
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize(
    ("requests", "seconds"), [(0, 0), (1, 600), (2, 1200), (3, 2400), (9, 86400), (99, 86400)]
)
def test_the_delay_doubles_up_to_a_day(requests, seconds):
    assert certificates.delay(requests) == seconds


ISSUED = Certificate("arn:1", "issued", domains=frozenset({"a.test"}))


@pytest.mark.parametrize(
    ("certificate", "inactive", "wanting"),
    [
        (None, (), True),
        (Certificate(requests=1), (), True),
        (Certificate("arn:1", "pending-validation"), ("a.test",), False),
        (Certificate("arn:1", "failed"), (), True),
        (ISSUED, (), False),
        (ISSUED, ("a.test",), False),
        (ISSUED, ("b.test",), True),
        (Certificate("arn:1", "issued"), ("b.test",), False),
        (Certificate("arn:1", "something-new"), (), False),
    ],
)
def test_when_one_is_wanting(certificate, inactive, wanting):
    assert certificates.needs_request(certificate, inactive) is wanting


@pytest.mark.parametrize(
    ("details", "before", "serves", "expected"),
    [
        (None, None, False, Certificate()),
        (None, Certificate(requests=2), False, Certificate(requests=2)),
        (None, ISSUED, True, ISSUED),
        (None, ISSUED, False, Certificate()),
        (
            Certificate("arn:2", "pending-validation"),
            None,
            False,
            Certificate("arn:2", "pending-validation", requests=1),
        ),
        (
            Certificate("arn:1", "issued"),
            Certificate("arn:1", "issued", requests=3),
            True,
            Certificate("arn:1", "issued"),
        ),
        (
            Certificate("arn:1", "failed"),
            Certificate("arn:1", "failed", failure_reason="CAA_ERROR", requests=2),
            False,
            Certificate("arn:1", "failed", failure_reason="CAA_ERROR", requests=2),
        ),
    ],
)
def test_what_an_answer_means_after_what_was_known(details, before, serves, expected):
    assert certificates.after_answer(details, before, serves=serves) == expected


def test_what_is_written_down_is_read_again():
    token = Token("a.test", "a.test/x", "acm/x")
    one = Certificate(
        "arn:1", "pending-validation", "self-hosted", (token,), frozenset({"a.test"}), "CAA_ERROR", "2027", 2
    )
    one = replace(one, replaces=Certificate("arn:0", "revoked", failure_reason="x"))
    assert certificates.known({"certificate": certificates.shown(one)}) == one
    assert certificates.known({}) is None


@pytest.mark.parametrize(("days", "alarms"), [(3, True), (-3, True), (200, False)])
def test_the_certificate_that_serves_alarms_while_another_is_to_replace_it(days, alarms):
    ends = rfc3339(TODAY + timedelta(days=days))
    failed = Certificate("arn:1", "failed", replaces=Certificate("arn:0", "issued", not_after=ends))
    memory = AccountMemory(FakeClock())
    look = CertificateLook(
        FakeCloudFront(), memory.log_changes, memory.shared, lambda: TODAY, memory.issuances
    )
    assert look._alarms(failed, "arn:0") is alarms
