"""The account that a creation was sent to: what counts, what it stops, and what lifts it."""

from __future__ import annotations

import pytest

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.safety.retry_delays import _asked
from provider.cloudfront.state.creating import CREATING_IN, account_of_creation, record
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import ACCOUNT
from tests.unit.provider.world import World, managed

OTHER = "999999999999"
MARK = "0a1b2c3d"
PENDING, SUCCEEDED, FAILED = (
    f"crossplane.io/external-create-{end}" for end in ("pending", "succeeded", "failed")
)
T1, T2 = "2026-01-01T00:00:01.5Z", "2026-01-01T00:00:02Z"
OPEN = {CREATING_IN: f"{ACCOUNT}/{MARK}", PENDING: T1}
WRITES = ("Create", "Update", "Delete", "Tag")


def mr(status=None, **annotations: str) -> Managed:
    return Managed({**managed(annotations=annotations), "status": status or {}})


def found(arn: str) -> dict:
    return {"atProvider": {"arn": arn}}


@pytest.mark.parametrize(
    ("annotations", "counts"),
    [
        pytest.param(OPEN, True, id="open"),
        pytest.param({**OPEN, SUCCEEDED: T2}, True, id="created, and not yet in status"),
        pytest.param({**OPEN, FAILED: T1, SUCCEEDED: T2}, True, id="created after a refusal"),
        pytest.param({**OPEN, FAILED: "2026-01-01T00:00:01Z"}, True, id="open again after a refusal"),
        pytest.param({**OPEN, PENDING: "soon"}, True, id="an unreadable time"),
        pytest.param({**OPEN, FAILED: T2}, False, id="refused"),
        pytest.param(
            {**OPEN, FAILED: T2, SUCCEEDED: "2026-01-01T00:00:01Z"}, False, id="refused after one success"
        ),
        pytest.param({CREATING_IN: OPEN[CREATING_IN]}, False, id="a user removed the mark"),
        pytest.param({PENDING: T1}, False, id="nothing recorded"),
        pytest.param({**OPEN, CREATING_IN: ""}, False, id="the account was unknown"),
        pytest.param({**OPEN, CREATING_IN: ACCOUNT}, False, id="not bound to a resource"),
        pytest.param({**OPEN, CREATING_IN: f"{ACCOUNT}/another1"}, False, id="a copy"),
        pytest.param({**OPEN, CREATING_IN: f"my account/{MARK}"}, False, id="no account"),
        pytest.param({**OPEN, CREATING_IN: f"١٢٣٤٥٦٧٨٩٠١٢/{MARK}"}, False, id="other digits"),
    ],
)
def test_the_record_counts_while_the_creation_may_have_made_something(annotations, counts):
    assert account_of_creation(mr(**annotations)) == (ACCOUNT if counts else None)


def test_status_governs_once_it_has_the_arn():
    arn = f"arn:aws:cloudfront::{OTHER}:distribution-tenant/dt_1"
    assert account_of_creation(mr(found(arn), **OPEN)) is None
    assert account_of_creation(mr(found("nonsense"), **OPEN)) == ACCOUNT


def test_what_is_recorded():
    assert record(mr(), ACCOUNT) == {CREATING_IN: f"{ACCOUNT}/{MARK}"}
    assert record(mr(), None) == {}
    assert record(mr(), "unknown") == {}
    assert record(mr(**OPEN), None) == {CREATING_IN: ""}, "the next creation may go elsewhere"


def test_the_record_is_no_change_of_the_desired_state():
    assert _asked(mr(**OPEN), "config") == _asked(mr(), "config")


# What it stops.


@pytest.fixture(params=[World, Groups], ids=["tenant", "group"])
def world(request) -> World:
    made = request.param()
    made.obj["metadata"]["annotations"] |= OPEN
    made.context["account"] = OTHER
    return made


def changed(world: World) -> list[str]:
    return [call for call in world.cloudfront.journal if call.startswith(WRITES)]


def test_the_observation_says_what_to_record(world):
    world.context["account"] = ACCOUNT
    assert world.client.observe(world.mr).creation_record == {CREATING_IN: f"{ACCOUNT}/{MARK}"}
    del world.obj["metadata"]["annotations"][CREATING_IN]
    world.context["account"] = None
    assert world.client.observe(world.mr).creation_record == {}


def test_it_is_not_created_in_another_account(world):
    world.reconcile()
    assert world.ready() == ("False", Reason.ACCOUNT_MISMATCH)
    assert f"may exist in account {ACCOUNT}" in world.error.message
    assert f"remove the annotation {CREATING_IN}" in world.error.message
    assert world.cloudfront.journal == []
    del world.obj["metadata"]["annotations"][CREATING_IN]
    world.reconcile()
    assert changed(world)


def test_what_status_says_of_ready_is_not_believed(world):
    """Where a tenant serves, status has its ARN, and the record of its creation no longer counts."""
    world.obj["status"] = {"conditions": [{"type": "Ready", "status": "True", "reason": "Available"}]}
    world.reconcile()
    assert world.ready() == ("False", Reason.ACCOUNT_MISMATCH)


def test_its_deletion_waits_for_credentials_of_that_account_or_a_confirmation(world):
    world.delete()
    for _ in range(3):
        world.reconcile()
        world.clock.advance(3600)
    assert not world.gone
    assert world.ready() == ("False", Reason.DELETION_HELD)
    assert f"Use credentials of account {ACCOUNT}" in world.error.message
    assert f"edgetenants.io/confirm to {MARK}" in world.error.message
    assert world.cloudfront.journal == []
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = MARK
    world.reconcile()
    assert not world.gone, "one answer is no proof"
    world.clock.advance(15)
    world.reconcile()
    assert world.gone


def test_with_credentials_of_that_account_all_goes_on(world):
    world.context["account"] = ACCOUNT
    world.reconcile()
    assert changed(world)


@pytest.mark.parametrize("deleted", [False, True])
def test_credentials_whose_account_is_unknown_do_not_tell_that_it_is_not_there(world, deleted):
    world.context["account"] = None
    if deleted:
        world.delete()
    world.reconcile()
    assert not world.gone
    assert changed(world) == []
    assert world.ready() == ("False", Reason.DELETION_HELD if deleted else Reason.ACCOUNT_MISMATCH)
    assert f"belong to account {ACCOUNT}, to which its creation was sent" in world.error.message
    assert "sts:GetCallerIdentity" in world.error.message
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = MARK
    world.reconcile()
    world.clock.advance(15)
    world.reconcile()
    assert world.gone if deleted else changed(world)


def test_credentials_whose_account_is_unknown_may_find_it(world):
    world.context["account"] = ACCOUNT
    world.settle()
    world.obj["status"] = {}
    world.restart()
    world.context["account"] = None
    world.reconcile()
    assert world.error is None


def test_what_only_observes_looks_wherever_its_credentials_lead(world):
    world.obj["spec"]["managementPolicies"] = ["Observe"]
    assert not world.client.observe(world.mr).exists


def test_who_forges_the_record_stops_only_this_resource(world):
    """What others have in that account is neither looked at nor changed."""
    world.context["account"] = ACCOUNT
    world.obj["metadata"]["annotations"][CREATING_IN] = f"{OTHER}/{MARK}"
    world.cloudfront.add(tags={"edgetenants.io/owner": "other/DistributionTenant/shop/shop.acme"})
    world.reconcile()
    world.delete()
    world.reconcile()
    assert world.cloudfront.journal == []


def test_a_creation_is_announced_after_the_checks_and_before_the_call():
    world = World()
    seen = world.client.observe(world.mr)
    told: list[list[str]] = []
    announcing = type(seen)(exists=False, announce=lambda: told.append(list(world.cloudfront.journal)))
    world.client.create(world.mr, announcing)
    assert len(told) == 1
    assert "GetDistribution" in " ".join(told[0])
    assert "CreateDistributionTenant" not in told[0]


def test_a_check_that_refuses_a_creation_announces_none():
    world = World(managed({"distributionId": "EGONE", "domains": ["acme.example.com"]}))
    world.reconcile()
    seen = world.client.observe(world.mr)
    told: list[bool] = []
    announcing = type(seen)(exists=False, announce=lambda: told.append(True))
    with pytest.raises(Exception, match=f"EGONE does not exist in AWS account {ACCOUNT}"):
        world.client.create(world.mr, announcing)
    assert told == []


def test_a_missing_parent_names_the_account_only_if_it_is_known():
    world = World(managed({"distributionId": "EGONE", "domains": ["acme.example.com"]}))
    world.context["account"] = None
    world.reconcile()
    assert "distribution EGONE does not exist. Correct the id" in world.error.message


def test_an_error_of_aws_is_no_answer(world):
    world.context["account"] = ACCOUNT
    world.delete()
    look = "GetConnectionGroup" if isinstance(world, Groups) else "GetDistributionTenant"
    world.cloudfront.refuse[look] = AwsError(look, "AccessDenied", "no", status=403)
    world.reconcile()
    assert not world.gone
