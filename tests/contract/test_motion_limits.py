"""What following by lists what is under way must not cost or delay."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgetenants_runtime.reconcile.collaborators import Pace
from provider.cloudfront.state.desired import Tenant
from tests.contract.emulated import DISTRIBUTION
from tests.contract.fleet import INTERVAL, Fleet, Member, tenant
from tests.contract.test_sweep import HOUR, NEVER, PAGES, TENANTS, fleet, resting, small

pytestmark = pytest.mark.usefixtures("without_sockets")

__all__ = ["fleet", "resting", "small"]


@pytest.fixture
def before(aws):
    """The settings are restored after the test."""
    settings = aws.admin("GET", "settings")
    yield aws
    aws.admin("PATCH", "settings", settings)


def test_domains_that_move_to_other_tenants_are_no_work_of_another_client(before, small):
    """A move changes the ETag of both tenants, and the last list shows the one before."""
    small.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    fleet = Fleet(small, 6, check_seconds=NEVER)
    source, moved = fleet.of(0), [f"moved-{number}.example.com" for number in range(1, 5)]
    source.edit(domains=["t-000.example.com", *moved])
    fleet.wake(source)
    fleet.run(400.0)
    id_ = small.calls.get_tenant("shop.t-000").id
    for number in range(1, 5):
        target, domain = fleet.of(number), moved.pop(0)
        source.edit(domains=["t-000.example.com", *moved])
        target.edit(
            annotations={"edgetenants.io/take-domains-from": id_},
            domains=[f"t-{number:03}.example.com", domain],
        )
        fleet.wake(target)
        fleet.run(1.0)
        fleet.wake(source)
        fleet.run(100.0)
        assert source.told("InSync") == ("True", "InSync", "")


def test_a_change_of_tags_alone_sets_nothing_in_motion(resting):
    """AWS rolls nothing out."""
    resting.run(resting.sweeps.due() - resting.clock.now() + 1.0)
    for number in range(5):
        resting.of(number).edit(tags={"team": "blue"})
        resting.wake(resting.of(number))
    calls = resting.run(INTERVAL - 5.0)
    assert calls["TagResource"] == 5
    assert calls["ListDistributionTenants"] <= PAGES


def test_a_certificate_that_is_issued_during_a_roll_out_is_attached_within_two_minutes(before, small):
    """No list shows it, if its status is not part of the tenant's ETag."""
    settings = {"deploy_tenant_seconds": 250, "certificate_moves_etag": False}
    small.admin("PATCH", "settings", settings)
    groups = small.admin("GET", "state")["connectionGroups"]
    endpoint = next(each["RoutingEndpoint"] for each in groups if each.get("IsDefault"))
    fleet = Fleet(small, 0, check_seconds=NEVER)
    for number in range(5):
        domain = f"c{number}.customer.test"
        small.admin("POST", "records", {"name": domain, "type": "CNAME", "values": [endpoint]})
        obj = tenant(f"t-{number:03}")
        asked = {"domains": [domain], "managedCertificateRequest": {"validationTokenHost": "cloudfront"}}
        obj["spec"]["forProvider"] |= asked
        member = Member(obj, fleet)
        fleet.members[member.uid] = member
        fleet.wake(member)
    calls = fleet.run(120.0)
    for number in range(5):
        small.admin("DELETE", f"records?name=c{number}.customer.test")
    assert calls["UpdateDistributionTenant"] == 5, calls


def test_a_few_deletions_that_lists_do_not_show_yet_cost_less_than_the_lists(resting):
    """A Get for each would show it. The rest of a wave, two of four, wait for five minutes."""
    resting.aws.admin("PATCH", "settings", {"list_lag_of_deletes_seconds": HOUR})
    for number in range(4):
        resting.of(number).delete()
        resting.wake(resting.of(number))
    resting.run(60.0)
    assert len(resting.aws.tenants) == TENANTS - 4
    calls = resting.run(240.0)
    assert calls["ListDistributionTenants"] <= 2 * 4 * PAGES, calls


def test_deletions_end_soon_although_lists_show_the_tenants_for_some_minutes(resting):
    """Lists that lag behind delay nothing: docs/decisions/0057."""
    resting.aws.admin("PATCH", "settings", {"list_lag_of_deletes_seconds": HOUR})
    for number in range(4):
        resting.of(number).delete()
        resting.wake(resting.of(number))
    resting.run(180.0)
    assert not any(resting.of(number).mr for number in range(4))


def test_a_long_roll_out_is_seen_to_end_soon_with_a_long_poll_interval(small, monkeypatch):
    """The sweeps stop watching it after five minutes, and the runtime polls it ten minutes later."""
    monkeypatch.setattr("tests.contract.fleet.INTERVAL", 600.0)
    fleet = Fleet(small, 5, check_seconds=NEVER)
    for each in fleet.members.values():
        each.pace = Pace(poll_interval=600.0, jitter=0.0)
        each.restart()
    fleet.run(900.0)
    assert fleet.ready() == {("True", "Available"): 5}
    small.admin("PATCH", "settings", {"deploy_tenant_seconds": 650})
    for each in fleet.members.values():
        each.edit(parameters={"tenantName": "gold"})
        fleet.wake(each)
    fleet.run(650.0 + 60.0)
    assert all(each.told("InSync")[0] == "True" for each in fleet.members.values())


@pytest.mark.parametrize("sweeps", [True, False])
def test_a_resource_whose_name_leads_to_a_tenant_of_others_is_deleted_soon(small, sweeps):
    """The last list is from before that tenant. AWS refused to create a second one, so nothing was made."""
    fleet = Fleet(small, 20, check_seconds=NEVER, sweeps=sweeps)
    passes(fleet, 120)
    domains = frozenset({"other.example.com"})
    tags = {"crossplane-name": "other"}
    theirs = Tenant(name="shop.t-100", distribution_id=DISTRIBUTION, domains=domains, enabled=True, tags=tags)
    small.calls.create_tenant(theirs)
    member = fleet.add(100)
    member.time = fleet.of(0).time
    passes(fleet, 600)
    assert member.told("Ready")[1] == "AdoptionRefused"
    member.delete()
    fleet.wake(member)
    passes(fleet, 60)
    # Without a finalizer, the API server has removed it at once.
    assert member.mr is None or not member.mr.finalizers


def passes(fleet: Fleet, seconds: int) -> None:
    """Time passes for the runtime, too."""
    for _ in range(seconds // 5):
        fleet.run(5.0)
        for each in fleet.members.values():
            each.time += timedelta(seconds=5)
