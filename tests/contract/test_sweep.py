"""Many tenants of one account and their lists: what the calls are, and that nothing is missed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from provider.cloudfront.account import sessions
from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.aws.list_calls import CertificatePage
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.group import Group
from provider.cloudfront.state.identity import OWNER_TAG
from tests.contract.emulated import DISTRIBUTION
from tests.contract.fleet import INTERVAL, Fleet, life

pytestmark = pytest.mark.usefixtures("without_sockets")

HOUR = 3600.0
NEVER = 1e9
USUAL = {
    "list_lag_seconds": 0,
    "list_lag_of_updates_seconds": 0,
    "list_lag_of_deletes_seconds": 0,
    "page_size_default": 100,
    "page_size_max": 100,
    "deploy_tenant_seconds": 45,
    "group_disable_needs_no_tenants": True,
}
TENANTS = 30
PER_PAGE = 10
PAGES = 3


@pytest.fixture
def fleet(aws):
    aws.admin("PATCH", "settings", {"page_size_default": PER_PAGE, "page_size_max": PER_PAGE})
    # The daily check of each takes a Get, at a time that depends on the date.
    yield Fleet(aws, TENANTS, check_seconds=NEVER)
    aws.admin("PATCH", "settings", USUAL)


@pytest.fixture
def resting(fleet) -> Fleet:
    """All are Ready and watched."""
    fleet.run(900.0)
    assert fleet.ready() == {("True", "Available"): TENANTS}
    return fleet


@pytest.fixture
def small(aws):
    """An account without tenants, whose list is one page."""
    yield aws
    aws.admin("PATCH", "settings", USUAL)


LISTS = ("ListDistributionTenants", "ListConnectionGroups")
SLOW = ("VerifyDnsConfiguration", "GetDistribution", "DescribeCertificate", "GetConnectionGroup")
"""What no list shows."""


def test_at_rest_an_hour_costs_its_lists(resting):
    calls = resting.run(HOUR)
    assert calls["ListDistributionTenants"] == 60 * PAGES
    assert calls["ListConnectionGroups"] == 60
    assert calls.pop("ListCertificates", 0) <= 1, "all are counted once an hour, for the quota"
    assert set(calls) <= {*LISTS, *SLOW}, calls


def test_nothing_is_written_to_kubernetes_at_rest(resting):
    before = {uid: len(each.writes) for uid, each in resting.members.items()}
    resting.run(HOUR)
    assert {uid: len(each.writes) for uid, each in resting.members.items()} == before


def test_a_restart_costs_its_lists(resting):
    resting.start()
    calls = resting.run(10.0)
    assert calls["ListDistributionTenants"] == PAGES
    assert calls["GetDistributionTenant"] == 0
    assert resting.ready() == {("True", "Available"): TENANTS}


def test_a_restart_finds_what_changed_meanwhile(resting):
    resting.aws.edit("shop.t-007", Enabled=False)
    resting.aws.edit("shop.t-008", Parameters=[{"Name": "tenantName", "Value": "other"}])
    resting.start()
    calls = resting.run(30.0)
    assert calls["UpdateDistributionTenant"] == 2
    assert calls["GetDistributionTenant"] < TENANTS / 2, calls


@pytest.mark.parametrize(
    "edit",
    [
        {"Enabled": False},
        {"Parameters": [{"Name": "tenantName", "Value": "other"}]},
        {"Domains": [{"Domain": "other.example.com"}]},
    ],
)
def test_drift_is_found_by_the_next_list_and_repaired(resting, edit):
    resting.aws.edit("shop.t-007", **edit)
    calls = resting.run(INTERVAL + 30.0)
    assert resting.woken.count("t-007") >= 1
    assert calls["UpdateDistributionTenant"] == 1
    assert calls["GetDistributionTenant"] <= 10
    resting.run(300.0)
    assert resting.ready() == {("True", "Available"): TENANTS}
    tenant = next(each for each in resting.aws.tenants if each["Name"] == "shop.t-007")
    assert tenant["Enabled"]


def test_a_tenant_deleted_in_aws_is_missed_by_the_next_list_and_recreated(resting):
    resting.aws.edit("shop.t-007", Enabled=False)
    resting.aws.admin("POST", "clock", {"step": 600})
    seen = resting.aws.calls.get_tenant("shop.t-007")
    resting.aws.calls.delete_tenant(seen.id, seen.etag)
    calls = resting.run(4 * INTERVAL)
    assert calls["CreateDistributionTenant"] == 1
    resting.run(600.0)
    assert resting.ready() == {("True", "Available"): TENANTS}


def test_a_changed_spec_is_applied_to_what_this_process_has_read_and_lists_confirm(resting):
    member = resting.of(7)
    member.edit(parameters={"tenantName": "gold"})
    resting.wake(member)
    calls = resting.run(1.0)
    assert (calls["GetDistributionTenant"], calls["UpdateDistributionTenant"]) == (0, 1)


def test_a_spec_that_changed_after_a_restart_is_applied_to_what_a_get_shows(resting):
    """What only status shows may be forged."""
    resting.start()
    resting.run(120.0)
    member = resting.of(7)
    member.edit(parameters={"tenantName": "gold"})
    resting.wake(member)
    calls = resting.run(1.0)
    assert (calls["GetDistributionTenant"], calls["UpdateDistributionTenant"]) == (1, 1)


def test_a_change_behind_an_old_list_is_not_overwritten_by_what_the_list_showed(resting):
    """Someone else wrote since the last list: AWS refuses an update with the ETag that the list confirmed."""
    resting.aws.edit("shop.t-007", Customizations={"GeoRestrictions": {"RestrictionType": "none"}})
    member = resting.of(7)
    member.edit(parameters={"tenantName": "gold"})
    resting.wake(member)
    before = resting.reconciles
    calls = resting.run(1.0)
    assert calls["GetDistributionTenant"] == 1
    assert calls["UpdateDistributionTenant"] == 2
    assert resting.reconciles >= before + 2, "the checks begin again"


def test_a_requested_reconcile_gets_it(resting):
    member = resting.of(7)
    member.edit(annotations={"crossplane.io/reconcile-requested-at": "now"})
    resting.wake(member)
    assert resting.run(1.0)["GetDistributionTenant"] == 1


def test_one_with_its_own_poll_interval_is_polled(resting):
    member = resting.of(7)
    member.edit(annotations={"crossplane.io/poll-interval": "30s"})
    resting.wake(member)
    assert 9 <= resting.run(300.0)["GetDistributionTenant"] <= 11


@pytest.mark.parametrize("restarted", [False, True])
def test_a_deletion_reads_the_tags_and_what_this_process_has_not_read(resting, restarted):
    """What only status shows may be forged."""
    if restarted:
        resting.start()
        resting.run(120.0)
    for number in range(5):
        resting.of(number).delete()
        resting.wake(resting.of(number))
    calls = resting.run(1.0)
    assert calls["GetDistributionTenant"] == (5 if restarted else 0)
    assert calls["ListTagsForResource"] == 5
    resting.run(120.0)
    assert len(resting.aws.tenants) == TENANTS - 5
    assert not any(resting.of(number).mr for number in range(5))


def test_a_change_in_aws_before_a_deletion_is_not_missed(resting):
    """Its owner tag is another one now: the former owner leaves it."""
    seen = resting.aws.calls.get_tenant("shop.t-007")
    resting.aws.calls.tag(seen.arn, {OWNER_TAG: "other"})
    member = resting.of(7)
    member.delete()
    resting.wake(member)
    resting.run(300.0)
    assert "shop.t-007" in {each["Name"] for each in resting.aws.tenants}


class TestMotion:
    """Roll-outs, creations and deletions under way are followed by lists."""

    def test_the_life_of_twenty_tenants_takes_few_calls(self, small):
        calls = life(Fleet(small, 20, check_seconds=NEVER)).calls
        assert small.tenants == []
        assert sum(calls.values()) - calls["VerifyDnsConfiguration"] <= 200

    def test_after_a_restart_roll_outs_are_followed_by_lists(self, small):
        fleet = Fleet(small, 10, check_seconds=NEVER)
        fleet.run(300.0)
        small.admin("PATCH", "settings", {"deploy_tenant_seconds": 120})
        for member in fleet.members.values():
            member.edit(parameters={"tenantName": member.uid})
            fleet.wake(member)
        fleet.run(10.0)
        fleet.start()
        calls = fleet.run(130.0)
        assert calls["GetDistributionTenant"] <= 3 * 10
        assert all(each.told("InSync")[0] == "True" for each in fleet.members.values())

    def test_a_single_one_in_a_large_account_is_polled(self, resting):
        resting.aws.admin("PATCH", "settings", {"page_size_max": 5, "page_size_default": 5})
        resting.run(2 * INTERVAL)
        member = resting.of(7)
        member.edit(parameters={"tenantName": "gold"})
        resting.wake(member)
        calls = resting.run(45.0)
        assert calls["GetDistributionTenant"] >= 8
        assert calls["ListDistributionTenants"] <= 6

    def test_lists_that_lag_behind_delay_nothing(self, resting):
        resting.aws.admin("PATCH", "settings", {"list_lag_of_updates_seconds": 600})
        for member in resting.members.values():
            member.edit(parameters={"tenantName": "gold"})
            resting.wake(member)
        resting.run(60.0)
        assert all(each.told("InSync")[0] == "True" for each in resting.members.values())

    def test_lists_that_show_deleted_tenants_delay_deletions_by_minutes_only(self, resting):
        resting.aws.admin("PATCH", "settings", {"list_lag_of_deletes_seconds": 3600})
        member = resting.of(7)
        member.delete()
        resting.wake(member)
        resting.run(60.0)
        assert "shop.t-007" not in {each["Name"] for each in resting.aws.tenants}
        resting.run(360.0)
        assert member.mr is None

    @pytest.mark.parametrize("error", ["AccessDenied", "Throttling"])
    def test_lists_that_fail_delay_roll_outs_little(self, resting, error):
        for member in resting.members.values():
            member.edit(parameters={"tenantName": "gold"})
            resting.wake(member)
        resting.run(2.0)
        resting.aws.fault("ListDistributionTenants", every=True, code=error, status=403)
        resting.run(90.0)
        assert all(each["Status"] == "Deployed" for each in resting.aws.tenants)
        assert all(each.told("InSync")[0] == "True" for each in resting.members.values())


class TestPendingCertificates:
    """One list of them serves all resources that wait for one."""

    @pytest.fixture(autouse=True)
    def only_lists_of_certificates_show_them(self, aws):
        """AWS does not say whether a certificate that is issued changes the tenant's ETag."""
        aws.admin("PATCH", "settings", {"certificate_moves_etag": False})
        yield
        aws.admin("PATCH", "settings", {"certificate_moves_etag": True})

    def waiting(self, fleet: Fleet, *numbers: int) -> None:
        request = {"validationTokenHost": "self-hosted"}
        for number in numbers:
            domain = f"t-{number}.customer.test"
            fleet.add(number, domains=[domain], managedCertificateRequest=request)
        fleet.run(600.0)
        assert {fleet.of(number).told("CertificateReady")[1] for number in numbers} == {"PendingValidation"}

    def issue(self, fleet: Fleet, number: int) -> None:
        fleet.aws.admin("PATCH", f"managed-certificates/shop.t-{number:03}", {"served": True})

    def test_an_hour_costs_a_list_a_minute(self, resting):
        self.waiting(resting, 100, 101, 102)
        calls = resting.run(HOUR)
        assert 58 <= calls["ListCertificates"] <= 62
        # With the checks of their DNS.
        assert calls["GetManagedCertificateDetails"] <= 3 * 13

    def test_an_issued_one_is_attached_soon(self, resting):
        self.waiting(resting, 100, 101, 102)
        self.issue(resting, 101)
        resting.run(200.0)
        assert resting.of(101).told("Ready")[0] == "True"
        assert resting.of(100).told("Ready")[0] == "False"

    def test_they_are_listed_only_while_a_resource_waits(self, resting):
        self.waiting(resting, 100)
        self.issue(resting, 100)
        resting.run(HOUR)
        assert resting.run(HOUR)["ListCertificates"] <= 1, "but for the count of all, once an hour"

    @pytest.mark.parametrize("error", ["AccessDeniedException", "ThrottlingException"])
    def test_where_they_cannot_be_listed_each_is_polled_ever_less_often(self, resting, error):
        resting.aws.fault("ListCertificates", every=True, code=error, status=400)
        self.waiting(resting, 100, 101)
        calls = resting.run(HOUR)
        assert 2 * 11 <= calls["GetManagedCertificateDetails"] <= 2 * 20
        assert calls["ListDistributionTenants"] >= 4 * 59
        self.issue(resting, 101)
        resting.run(450.0)
        assert resting.of(101).told("Ready")[0] == "True"

    def test_lists_that_do_not_show_those_of_cloudfront_delay_little(self, resting, monkeypatch):
        nothing = lambda *_: CertificatePage(frozenset(), "")  # noqa: E731
        monkeypatch.setattr(CloudFrontCalls, "page_of_pending_certificates", nothing)
        self.waiting(resting, 100)
        self.issue(resting, 100)
        resting.run(450.0)
        assert resting.of(100).told("Ready")[0] == "True"


def test_a_tenant_that_lists_lack_is_not_left_in_aws_by_a_deletion(resting):
    """This process has not deleted it, so no list shows that it is gone."""
    lists = the_lists(resting)
    read = lists.page_of_tenants

    def without(marker="", size=None):
        page = read(marker, size)
        return replace(page, tenants=tuple(each for each in page.tenants if each.name != "shop.t-007"))

    lists.page_of_tenants = without
    resting.run(2 * INTERVAL)
    member = resting.of(7)
    member.delete()
    resting.wake(member)
    resting.run(600.0)
    assert member.mr is None
    assert "shop.t-007" not in {each["Name"] for each in resting.aws.tenants}


class TestNewNames:
    def test_a_name_that_a_list_does_not_show_yet_is_found_by_the_creation(self, resting):
        resting.aws.admin("PATCH", "settings", {"list_lag_seconds": 3600})
        resting.aws.calls.create_tenant(
            Tenant(
                name="shop.t-100",
                distribution_id=DISTRIBUTION,
                domains=frozenset({"other.example.com"}),
                enabled=True,
                tags={"crossplane-name": "other"},
            )
        )
        member = resting.add(100)
        calls = resting.run(20.0)
        assert member.told("Ready")[1] == "AdoptionRefused"
        assert calls["CreateDistributionTenant"] == 1


def test_where_lists_are_denied_each_is_polled(resting):
    denied = {"code": "AccessDenied", "status": 403}
    resting.aws.fault("ListDistributionTenants", every=True, **denied)
    resting.run(4 * INTERVAL)
    calls = resting.run(10 * INTERVAL)
    assert 9 * TENANTS <= calls["GetDistributionTenant"] <= 11 * TENANTS
    resting.aws.admin("DELETE", "faults")
    resting.run(1200.0)
    assert resting.run(600.0)["GetDistributionTenant"] == 0


def test_the_config_shows_how_changes_are_noticed_and_changes_only_with_that(resting):
    told = resting.of(7).configs.reported
    assert told[-1]["tenantLists"] == "Current"
    before = len(told)
    resting.run(HOUR)
    assert len(told) == before
    resting.aws.fault("ListDistributionTenants", every=True, code="AccessDenied", status=403)
    resting.run(HOUR)
    resting.aws.admin("DELETE", "faults")
    resting.run(HOUR)
    assert [each["tenantLists"] for each in told[before:]] == ["NotPermitted", "Current"]


def test_a_tenant_without_a_list_of_its_own_writes_is_followed_until_it_rests(resting):
    """After an update, lists from before it do not count, and the roll-out is polled."""
    member = resting.of(7)
    member.edit(parameters={"tenantName": "gold"})
    resting.wake(member)
    resting.aws.admin("PATCH", "settings", {"deploy_tenant_seconds": 100})
    calls = resting.run(2 * INTERVAL)
    assert member.told("Ready")[0] == "True"
    assert calls["GetDistributionTenant"] >= 3
    assert resting.run(600.0)["GetDistributionTenant"] <= 1


def test_a_restart_reports_nothing_while_it_waits_for_the_first_list(resting):
    before = {uid: len(each.journal) for uid, each in resting.members.items()}
    resting.start()
    resting.hold_sweeps(8.0)
    calls = resting.run(7.0)
    assert calls["GetDistributionTenant"] == 0
    resting.run(20.0)
    told = [entry for uid, each in resting.members.items() for entry in each.journal[before[uid] :]]
    assert [entry for entry in told if not entry.startswith("external")] == []


def test_a_restart_does_not_wait_long_for_a_list_that_never_comes(resting):
    resting.start()
    resting.hold_sweeps(HOUR)
    assert resting.run(70.0)["GetDistributionTenant"] == TENANTS


def test_after_a_restart_a_changed_spec_waits_for_no_list(resting):
    resting.of(7).edit(parameters={"tenantName": "gold"})
    resting.start()
    resting.hold_sweeps(HOUR)
    assert resting.run(1.0)["UpdateDistributionTenant"] == 1


@pytest.mark.parametrize(
    ("forged", "gets"),
    [
        ({"parameters": {"tenantName": "forged"}}, 1),
        ({"parameters": [1, 2]}, 1),
        ({"parameters": {"tenantName": 7}}, 1),
        ({"etag": "E999"}, 1),
        ({"id": "dt_another"}, 1),
        ({"customizations": {"webAcl": {"action": "disable"}}}, 1),
        ({}, 0),
    ],
)
def test_after_a_restart_a_status_that_does_not_fit_costs_a_get(resting, forged, gets):
    member = resting.of(7)
    stored = member.stored
    stored["status"]["atProvider"] |= forged
    member.objects.put(member.kind, stored)
    resting.start()
    calls = resting.run(10.0)
    assert calls["GetDistributionTenant"] == gets
    assert calls["UpdateDistributionTenant"] == 0


def test_a_group_disabled_in_aws_is_noticed_by_the_next_list(resting):
    resting.aws.admin("PATCH", "settings", {"group_disable_needs_no_tenants": False})
    group = resting.of(7).stored["status"]["atProvider"]["connectionGroupId"]
    seen = resting.aws.calls.get_group(group)
    resting.aws.calls.update_group(seen.id, seen.etag, Group(name=seen.name, enabled=False))
    resting.run(INTERVAL + 5.0)
    assert resting.ready() == {("False", "ConnectionGroupDisabled"): TENANTS}
    seen = resting.aws.calls.get_group(group)
    resting.aws.calls.update_group(seen.id, seen.etag, Group(name=seen.name, enabled=True))
    resting.run(3 * INTERVAL)
    assert resting.ready() == {("True", "Available"): TENANTS}


def test_the_dns_of_each_is_checked_every_ten_minutes(resting):
    resting.run(HOUR)
    checks = resting.run(HOUR)["VerifyDnsConfiguration"]
    assert 5 * TENANTS <= checks <= 7 * TENANTS


def test_checks_and_lists_are_counted_apart(aws):
    registry = CollectorRegistry()
    fleet = Fleet(aws, 5, check_seconds=HOUR, instruments=Instruments(registry))

    def counted(name: str) -> float:
        return sum(
            each.value for metric in registry.collect() for each in metric.samples if each.name == name
        )

    fleet.run(600.0)
    names = ("edgetenants_aws_check_requests_total", "edgetenants_aws_sweep_requests_total")
    before = [counted(name) for name in names]
    calls = fleet.run(2 * HOUR)
    checks = sum(count for operation, count in calls.items() if operation not in LISTS)
    checks -= calls["GetConnectionGroup"] + calls["GetDistribution"] + calls["DescribeCertificate"]
    assert [counted(name) - was for name, was in zip(names, before, strict=True)] == [
        checks,
        sum(calls[name] for name in LISTS),
    ]
    assert checks > calls["VerifyDnsConfiguration"] > 0


def test_the_deep_check_of_each_takes_a_get(aws):
    fleet = Fleet(aws, TENANTS, check_seconds=2 * HOUR)
    fleet.run(2 * HOUR)
    calls = fleet.run(2 * HOUR * 23 / 24)
    assert calls["GetDistributionTenant"] == calls["ListTagsForResource"]
    assert abs(calls["GetDistributionTenant"] - TENANTS) <= 2


# Lists that lag, hang or lie.


def delete_in_aws(fleet: Fleet, *numbers: int) -> None:
    """Someone deletes tenants."""
    for number in numbers:
        fleet.aws.edit(f"shop.t-{number:03}", Enabled=False)
    fleet.aws.admin("POST", "clock", {"step": 600})
    for number in numbers:
        seen = fleet.aws.calls.get_tenant(f"shop.t-{number:03}")
        fleet.aws.calls.delete_tenant(seen.id, seen.etag)


def the_lists(fleet: Fleet) -> CloudFrontCalls:
    """The calls that the sweeps make."""
    return next(iter(next(iter(fleet.sweeps._callers.values())).lists.values()))


def lag(fleet: Fleet, seconds: float) -> None:
    """For that long, the list of tenants is the one of now."""
    calls, until = the_lists(fleet), fleet.clock.now() + seconds
    read, pages, marker = calls.page_of_tenants, {}, ""
    while marker not in pages:
        pages[marker] = read(marker)
        marker = pages[marker].marker
    calls.page_of_tenants = lambda marker="", size=None: (
        pages[marker] if fleet.clock.now() < until else read(marker, size)
    )


def test_an_accident_behind_lists_that_lag_is_not_repeated(resting):
    """What a list shows does not stand for tenants that no one has read."""
    lag(resting, 300.0)
    delete_in_aws(resting, *range(TENANTS))
    for number in range(5):
        resting.of(number).edit(parameters={"tenantName": "gold"})
        resting.wake(resting.of(number))
    calls = resting.run(1200.0)
    assert calls["CreateDistributionTenant"] == 0
    assert resting.ready() == {("False", "RecreationHeld"): TENANTS}


def test_one_that_is_gone_is_recreated_soon_although_the_others_are_at_rest(resting):
    delete_in_aws(resting, 7)
    assert resting.run(3 * INTERVAL)["CreateDistributionTenant"] == 1


def test_what_a_get_did_not_find_does_not_exist_because_of_a_list(resting):
    lag(resting, 600.0)
    delete_in_aws(resting, 7)
    member = resting.of(7)
    member.edit(annotations={"crossplane.io/reconcile-requested-at": "now"})
    for _ in range(3):
        resting.wake(member)
        resting.run(0.5)
        assert member.told("Ready")[:2] == ("False", "RecreationHeld")


def test_while_sweeps_hang_drift_is_found_nearly_as_soon(resting):
    resting.run(max(0.0, resting.sweeps.due() - resting.clock.now()) + 1.0)
    resting.hold_sweeps(100 * HOUR)
    resting.aws.edit("shop.t-007", Enabled=False)
    assert resting.run(3.5 * INTERVAL)["UpdateDistributionTenant"] == 1


def test_a_forged_status_does_not_hide_a_change_of_the_spec(resting):
    resting.start()
    resting.run(30.0)
    member = resting.of(7)
    stored = member.stored
    stored["status"]["atProvider"]["parameters"] = {"tenantName": "downgraded"}
    member.objects.put(member.kind, stored)
    member.edit(parameters={"tenantName": "downgraded"})
    resting.wake(member)
    assert resting.run(1.0)["UpdateDistributionTenant"] == 1


def test_a_group_whose_get_lags_behind_its_list_is_polled(resting):
    resting.aws.admin("PATCH", "settings", {"group_disable_needs_no_tenants": False})
    group = resting.of(7).stored["status"]["atProvider"]["connectionGroupId"]
    calls = the_lists(resting)
    read, before, until = calls.get_group, calls.get_group(group), resting.clock.now() + 100.0
    calls.get_group = lambda id_: before if resting.clock.now() < until else read(id_)
    resting.aws.calls.update_group(before.id, before.etag, Group(name=before.name, enabled=False))
    resting.run(100.0 + 3 * INTERVAL)
    ready, seen = resting.ready(), read(group)
    # All tests have this group.
    resting.aws.calls.update_group(seen.id, seen.etag, Group(name=seen.name, enabled=True))
    assert ready == {("False", "ConnectionGroupDisabled"): TENANTS}


def test_a_new_caller_is_no_gap(resting, monkeypatch):
    """The session of a role has another name, for example."""
    real = sessions._caller
    monkeypatch.setattr(sessions, "_caller", lambda *given: replace(real(*given), arn="arn:another"))
    resting.accounts._forget("u1", resting.accounts.opened("u1").hooks)
    resting.wake(resting.of(0))
    resting.run(1.0)
    for number in range(TENANTS):
        resting.aws.edit(f"shop.t-{number:03}", Enabled=False)
    assert resting.run(2 * INTERVAL)["UpdateDistributionTenant"] == TENANTS


def test_of_many_that_lists_miss_none_is_recreated_while_aws_throttles_the_reads(resting):
    """The guard counts what was read, and waits for what lists show no more."""
    delete_in_aws(resting, *range(20))
    throttling = {"code": "Throttling", "message": "Rate exceeded", "status": 400}
    resting.aws.fault("GetDistributionTenant", every=True, nth=3, **throttling)
    assert resting.run(1800.0)["CreateDistributionTenant"] == 0
    resting.aws.admin("DELETE", "faults")
    resting.run(1800.0)
    assert resting.ready()[("False", "RecreationHeld")] == 20
