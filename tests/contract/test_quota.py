"""An account whose quota is used up: who is created next, and how many calls that takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.aws.errors import AwsError
from tests.contract.fleet import INTERVAL, Fleet, Member, tenant

pytestmark = pytest.mark.usefixtures("without_sockets")

HOUR = 3600.0
LIMIT = 12
WAITING = 10
CREATE = "CreateDistributionTenant"
USUAL = {"tenants_per_account": 10_000, "parameters_per_tenant": 5, "deploy_tenant_seconds": 45}
FULL = ("False", "QuotaExceeded")

ADVICE = (
    f"The account has {LIMIT} distribution tenants, and AWS's default quota is 10000. The account's owner "
    'must request an increase of "distribution tenants per account" in Service Quotas, or delete '
    "distribution tenants that are not needed. Then the provider creates those that wait: namespaces take "
    "turns, and within each the oldest comes first"
)


@pytest.fixture
def full(aws):
    """An account with as many tenants as AWS allows, and ten more resources that wait: those of bank are
    younger. Those that exist are of shop, so bank comes first."""
    aws.admin("PATCH", "settings", {**USUAL, "tenants_per_account": LIMIT})
    fleet = Fleet(aws, LIMIT)
    fleet.run(600.0)
    assert fleet.ready() == {("True", "Available"): LIMIT}
    for number in range(WAITING - 3):
        fleet.apply(tenant(f"s-{number}", "shop", f"2026-02-01T00:00:0{number}Z"))
    for number in range(3):
        fleet.apply(tenant(f"b-{number}", "bank", f"2026-02-02T00:00:0{number}Z"))
    fleet.run(5.0)
    yield fleet
    aws.admin("PATCH", "settings", USUAL)


def waiting(fleet: Fleet) -> list[str]:
    return sorted(each.mr.name for each in fleet.members.values() if is_waiting(each))


def is_waiting(member: Member) -> bool:
    return member.mr is not None and member.told("Ready")[:2] == FULL


def names(fleet: Fleet) -> set[str]:
    return {each["Name"] for each in fleet.aws.tenants}


def written(fleet: Fleet) -> dict[str, list[str]]:
    """The writes of status. Each call to create something is recorded in annotations before and after it."""
    return {uid: [w for w in each.writes if w.startswith("status")] for uid, each in fleet.members.items()}


def delete(fleet: Fleet, name: str) -> None:
    """A user deletes a resource."""
    member = fleet.members[f"uid-{name}"]
    member.delete()
    fleet.wake(member)


def test_an_hour_costs_few_calls_and_no_writes(full):
    assert len(waiting(full)) == WAITING
    full.run(60.0)
    before = written(full)
    calls = full.run(HOUR)
    # The first one each minute, with another one, as AWS's default number says nothing; all in ten minutes.
    assert 60 <= calls[CREATE] <= 200
    assert written(full) == before


def test_each_is_told_why_and_what_to_do(full):
    told = {each.told("Ready")[2].partition(": ")[2] for each in full.members.values() if is_waiting(each)}
    assert told == {
        f"EntityLimitExceeded: Your request exceeds the limit of {LIMIT} distribution tenants. {ADVICE}"
    }


def test_a_deletion_lets_the_oldest_be_created_soon(full):
    full.run(HOUR)
    delete(full, "t-003")
    calls = full.run(90.0)
    assert "shop.t-003" not in names(full)
    assert "bank.b-0" in names(full)
    assert calls[CREATE] <= 10
    assert len(waiting(full)) == WAITING - 1


def test_namespaces_take_turns(full):
    full.run(HOUR)
    for number in range(4):
        delete(full, f"t-{number:03}")
        full.run(100.0)
    assert {"shop.s-0", "shop.s-1", "bank.b-0", "bank.b-1"} <= names(full)
    assert len(waiting(full)) == WAITING - 4


def test_after_a_restart_the_oldest_comes_first(full):
    full.run(HOUR)
    delete(full, "t-003")
    full.run(1.0)
    assert "shop.t-003" in names(full), "it is being disabled"
    full.start()
    calls = full.run(120.0)
    assert "shop.s-0" in names(full)
    assert calls[CREATE] <= WAITING + 6
    assert len(waiting(full)) == WAITING - 1


def test_a_restart_costs_a_call_each_and_no_writes(full):
    full.run(HOUR)
    before = written(full)
    full.start()
    calls = full.run(60.0)
    assert calls[CREATE] <= WAITING + 4, "each tries once"
    full.run(1200.0)
    assert written(full) == before


def test_a_raised_quota_is_noticed_and_all_are_created(full):
    full.run(HOUR)
    full.aws.admin("PATCH", "settings", {"tenants_per_account": LIMIT + WAITING})
    calls = full.run(660.0)
    assert not waiting(full)
    assert len(names(full)) == LIMIT + WAITING
    assert calls[CREATE] <= WAITING + 4


def test_what_is_deleted_while_it_waits_leaves_the_line(full):
    full.run(HOUR)
    delete(full, "s-0")
    full.run(5.0)
    delete(full, "t-003")
    full.run(90.0)
    assert {"shop.s-1", "bank.b-0"} & names(full)
    assert "shop.s-0" not in names(full)


def test_a_paused_one_is_passed_over(full):
    full.run(HOUR)
    full.members["uid-b-0"].edit(annotations={"crossplane.io/paused": "true"})
    delete(full, "t-003")
    full.run(120.0)
    assert len(names(full)) == LIMIT
    assert "shop.b-0" not in names(full)


def test_what_someone_deletes_in_aws_is_noticed_by_the_next_list(full):
    full.run(HOUR)
    delete(full, "t-003")
    full.members["uid-t-003"].edit(annotations={"crossplane.io/paused": "true"})
    full.aws.edit("shop.t-003", Enabled=False)
    full.pass_time(300.0)
    seen = full.aws.calls.get_tenant("shop.t-003")
    full.aws.calls.delete_tenant(seen.id, seen.etag)
    full.run(2 * INTERVAL)
    assert "bank.b-0" in names(full)


@pytest.mark.parametrize("noted", [True, False])
def test_six_of_three_namespaces_get_the_places_of_three_in_turns_and_by_age(aws, noted):
    aws.admin("PATCH", "settings", {**USUAL, "tenants_per_account": 3})
    fleet = Fleet(aws, 0)

    def apply(name, namespace, day):
        member = fleet.apply(tenant(name, namespace, f"2026-02-0{day}T00:00:00Z"))
        if noted:
            spec = {**member.configs.resolved.spec, "quotas": {"tenants": 3}}
            member.configs.resolved = replace(member.configs.resolved, spec=spec)

    for name in ("t-0", "t-1", "t-2"):
        apply(name, "old", 1)
    fleet.run(200.0)
    # The youngest ones come first, and one namespace has most.
    for name, namespace, day in (("a", "cafe", 9), ("b", "bank", 8), ("c", "bank", 7)):
        apply(name, namespace, day)
    for name, day in (("d", 4), ("e", 3), ("f", 2)):
        apply(name, "shop", day)
    fleet.run(300.0)
    assert len(waiting(fleet)) == 6
    made = names(fleet)
    order = ["shop.f", "bank.c", "cafe.a", "shop.e", "bank.b", "shop.d"]
    for gone, comes in zip(["t-0", "t-1", "t-2", "f", "c", "a"], order, strict=True):
        delete(fleet, gone)
        fleet.run(100.0)
        assert names(fleet) - made == {comes}
        made = names(fleet)
    assert not waiting(fleet)
    aws.admin("PATCH", "settings", USUAL)


def test_too_many_parameters_of_one_tenant_hold_no_other(aws):
    aws.admin("PATCH", "settings", {**USUAL, "parameters_per_tenant": 0})
    fleet = Fleet(aws, 3)
    fleet.run(30.0)
    assert fleet.ready() == {FULL: 3}
    obj = tenant("good", "bank")
    del obj["spec"]["forProvider"]["parameters"]
    fleet.apply(obj)
    fleet.run(5.0)
    assert "bank.good" in names(fleet)
    calls = fleet.run(HOUR)
    assert calls[CREATE] == pytest.approx(3 * 6, abs=3), "as ever"
    aws.admin("PATCH", "settings", USUAL)


@pytest.mark.parametrize("words", ["The entity limit has been exceeded.", "Too many distribution tenants."])
def test_teams_that_aws_refuses_for_their_own_sake_hold_no_other(aws, words):
    """AWS's message does not say what is used up."""
    fleet = Fleet(aws, 0)
    refuse(fleet, "evil", words)
    for number in range(6):
        fleet.apply(tenant(f"e-{number}", f"evil{number % 3}", f"2026-01-01T00:00:0{number}Z"))
    fleet.run(120.0)
    for number in range(5):
        fleet.apply(tenant(f"s-{number}", "shop", f"2026-02-01T00:00:0{number}Z"))
        fleet.run(2.0)
        assert f"shop.s-{number}" in names(fleet)


def refuse(fleet: Fleet, prefix: str, words: str) -> None:
    """AWS refuses creations of tenants whose names begin so."""
    member = Member(tenant("first"), fleet)
    calls: CloudFrontCalls = fleet.accounts.of(member.configs.resolved).cloudfront
    create = calls.create_tenant

    def create_tenant(asked):
        if asked.name.startswith(prefix):
            raise AwsError(CREATE, "EntityLimitExceeded", words, status=400)
        return create(asked)

    calls.create_tenant = create_tenant
