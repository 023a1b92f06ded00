"""A tenant whose deletion is on hold follows `enabled` of its spec, and no drift."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.errors import NotYet
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from tests.unit.provider.cloudfront.clients.test_tenant import settled
from tests.unit.provider.world import World

UPDATE = "UpdateDistributionTenant"
TAGS = "ListTagsForResource"
INVALID = {"tags": {"\uff45dgetenants.io/owner": "x"}}


def test_a_protected_tenant_is_stopped_while_its_deletion_waits():
    """An emergency does not wait for the confirmation."""
    world = settled(deletionProtection=True)
    world.delete()
    world.reconcile()
    assert world.cloudfront.only.enabled
    world.obj["spec"]["forProvider"]["enabled"] = False
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert world.error.after <= 1, "it is recorded that the tenant will be disabled"
    world.reconcile()
    assert not world.cloudfront.only.enabled
    assert world.ready() == ("False", "DeletionHeld")
    assert isinstance(world.error, NotYet)
    assert world.error.after <= 5, "status shows it soon"
    assert "UpdateDistributionTenant" not in world.reconcile()


def held() -> World:
    world = settled(deletionProtection=True)
    world.delete()
    world.reconcile()
    return world


def switch(world: World, *, enabled: bool, **spec: Any) -> None:
    """The change of the spec is recorded, then made."""
    world.edit(enabled=enabled, **spec)
    world.reconcile()
    world.reconcile()


def held_and_stopped() -> World:
    world = held()
    switch(world, enabled=False)
    assert not world.cloudfront.only.enabled
    world.reconcile()
    return world


def wait(world: World) -> None:
    for _ in range(4):
        world.reconcile()
        world.clock.advance(60)


@pytest.mark.parametrize("first", [False, True])
def test_a_spec_that_changes_back_before_the_next_look_is_followed(first):
    """The record of the last write has the value that the spec has again, and the difference is no drift."""
    world = held() if not first else held_and_stopped()
    switch(world, enabled=first)
    assert world.cloudfront.only.enabled is first
    world.edit(enabled=not first)
    wait(world)
    assert world.cloudfront.only.enabled is not first
    world.cloudfront.edit("dt_1", enabled=first)
    wait(world)
    assert world.cloudfront.only.enabled is first, "once they agreed, a difference is drift"


def test_a_lost_answer_and_a_restart_hide_no_change_of_the_spec():
    world = held()
    world.edit(enabled=False)
    world.reconcile()
    status = dict(world.obj["status"])
    really = world.cloudfront.update_tenant

    def lost(*args: Any) -> None:
        really(*args)
        raise AwsError("UpdateDistributionTenant", "ReadTimeout", "no answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloudfront, "update_tenant", lost)
        world.reconcile()
    assert not world.cloudfront.only.enabled
    assert "It is not known whether the tenant is disabled: " in world.condition("Ready")[2]
    assert isinstance(world.error, NotYet)
    assert world.error.after <= 5
    world.obj["status"] = status
    world.restart()
    world.edit(enabled=True)
    wait(world)
    assert world.cloudfront.only.enabled


@pytest.mark.parametrize("after", [0, 60])
@pytest.mark.parametrize("spec", ["valid", "invalid", "unreadable"])
def test_a_switch_is_made_once_whatever_another_client_does(spec, after):
    """After the switch, a difference is drift, also if the spec cannot be compared as a whole."""
    world = held()
    more: dict[str, Any] = INVALID if spec == "invalid" else {}
    if spec == "unreadable":
        more = {"managedCertificateRequest": {"primaryDomainName": "acme.example.com"}}
        operation = "GetManagedCertificateDetails"
        world.cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", "no", status=403)
    switch(world, enabled=False, **more)
    assert not world.cloudfront.only.enabled
    world.clock.advance(after)
    for _ in range(3):
        world.cloudfront.edit("dt_1", enabled=True)
        assert "UpdateDistributionTenant" not in world.reconcile()
        world.clock.advance(60)
    world.edit(enabled=True)
    world.reconcile()
    world.cloudfront.edit("dt_1", enabled=False)
    wait(world)
    assert not world.cloudfront.only.enabled


def test_what_agreed_while_the_spec_was_invalid_follows_the_next_change():
    world = held()
    world.cloudfront.edit("dt_1", enabled=False)
    world.edit(enabled=False, **INVALID)
    wait(world)
    world.edit(enabled=True)
    wait(world)
    assert world.cloudfront.only.enabled


def test_a_tenant_that_changed_meanwhile_is_disabled_soon():
    world = held()
    world.edit(enabled=False)
    world.reconcile()
    operation = "UpdateDistributionTenant"
    refused = AwsError(operation, "PreconditionFailed", "another version", status=412)
    world.cloudfront.refuse[operation] = refused
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert world.error.after <= 5


def test_an_emergency_does_not_wait_for_a_valid_spec():
    world = held()
    switch(world, enabled=False, **INVALID)
    assert not world.cloudfront.only.enabled
    world.edit(enabled=True, tags={"team": "shop"})
    wait(world)
    assert world.cloudfront.only.enabled


@pytest.mark.parametrize("restarted", [False, True])
def test_a_protected_tenant_is_started_again_while_its_deletion_waits(restarted):
    """It would be dark for good: the claim's author cannot enable it in AWS."""
    world = held_and_stopped()
    if restarted:
        world.restart()
    switch(world, enabled=True)
    assert world.cloudfront.only.enabled
    assert world.cloudfront.only.domains == {"acme.example.com": "active", "shop.acme.com": "active"}
    assert world.ready() == ("False", "DeletionHeld")
    assert "UpdateDistributionTenant" not in world.reconcile()


def test_what_another_client_does_to_a_held_tenant_stays():
    """No two clients write in turn, and an administrator may stop what another one keeps."""
    world = held_and_stopped()
    world.cloudfront.edit("dt_1", enabled=True)
    for _ in range(3):
        assert "UpdateDistributionTenant" not in world.reconcile()
    switch(world, enabled=True)
    world.cloudfront.edit("dt_1", enabled=False)
    for _ in range(3):
        assert "UpdateDistributionTenant" not in world.reconcile()


@pytest.mark.parametrize(
    "how", [{"driftPolicy": "Report"}, {"driftPolicy": "Suspend"}, {"ignoreDrift": ["enabled"]}]
)
def test_the_deletion_of_a_protected_tenant_does_not_correct_what_its_spec_leaves(how):
    world = settled(deletionProtection=True, **how)
    if "driftPolicy" in how:
        world.edit(enabled=False)
        world.settle()
        world.cloudfront.edit("dt_1", enabled=True)
    else:
        world.edit(enabled=False)
        world.settle()
    assert world.cloudfront.only.enabled
    world.delete()
    for _ in range(3):
        world.reconcile()
    assert world.cloudfront.only.enabled
    assert world.ready() == ("False", "DeletionHeld")


def test_a_change_of_the_spec_that_ignore_drift_names_switches_no_held_tenant():
    """As without a deletion: the field is another client's."""
    world = settled(deletionProtection=True, ignoreDrift=["enabled"])
    world.delete()
    world.reconcile()
    switch(world, enabled=False)
    assert world.cloudfront.only.enabled


def test_a_tenant_without_a_record_of_the_last_write_is_not_switched():
    """Nothing says whether its spec has changed."""
    world = settled(deletionProtection=True)
    world.delete()
    world.reconcile()
    del world.obj["status"]["applied"]
    world.obj["spec"]["forProvider"]["enabled"] = False
    world.reconcile()
    world.reconcile()
    assert world.cloudfront.only.enabled


def test_what_a_backup_brought_back_stops_nothing():
    """No user asked for the deletion, and the spec is that of the backup."""
    world = settled()
    owner = {"apiVersion": "x/v1", "kind": "TenantClaim", "name": "a", "uid": "gone", "controller": True}
    metadata = world.obj["metadata"]
    metadata["annotations"]["crossplane.io/external-create-succeeded"] = "2025-01-01T00:00:00Z"
    metadata |= {"creationTimestamp": "2026-01-01T23:50:00Z", "ownerReferences": [owner]}
    world.obj["spec"]["forProvider"]["enabled"] = False
    world.restart()
    world.delete()
    world.reconcile()
    world.reconcile()
    assert world.ready() == ("False", "DeletionHeld")
    assert world.cloudfront.only.enabled
    assert "the provider changes nothing while" in world.condition("InSync")[2]


def test_a_refused_disabling_hides_no_hold():
    world = settled(deletionProtection=True)
    world.delete()
    world.obj["spec"]["forProvider"]["enabled"] = False
    operation = "UpdateDistributionTenant"
    world.cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", "no", status=403)
    world.reconcile()
    world.reconcile()
    assert world.ready() == ("False", "DeletionHeld")
    assert "edgetenants.io/confirm to 0a1b2c3d" in world.condition("Ready")[2]
    assert "The tenant is not disabled: " in world.condition("Ready")[2]


@pytest.mark.parametrize("why", ["another owner", "no Update"])
def test_what_may_not_be_changed_is_not_stopped_either(why):
    policies = ["Observe", "Create", "Delete"] if why == "no Update" else ["*"]
    world = settled(deletionProtection=True, managementPolicies=policies)
    world.delete()
    world.reconcile()
    world.obj["spec"]["forProvider"]["enabled"] = False
    if why == "another owner":
        world.cloudfront.edit(
            "dt_1", tags={"edgetenants.io/owner": "other/DistributionTenant/shop/shop.acme"}
        )
        world.clock.advance(3600)
    world.reconcile()
    world.reconcile()
    assert world.cloudfront.only.enabled


def unanswered(code: str, status: int = 500) -> AwsError:
    return AwsError(UPDATE, code, "no", status=status)


def test_the_switch_is_told_and_not_denied():
    world = held()
    world.edit(enabled=False)
    world.reconcile()
    assert world.condition("InSync")[1] == "UpdatePending"
    assert "changes nothing" not in world.condition("InSync")[2]
    world.reconcile()
    assert "the tenant follows its spec: disabled tenant shop.acme" in world.condition("Ready")[2]
    assert "changes nothing" not in world.condition("InSync")[2]


def test_what_is_not_switched_with_it_is_told():
    world = held()
    world.edit(enabled=False, parameters={"tenantName": "other"})
    world.reconcile()
    assert "apart from enabled, the provider changes nothing while" in world.condition("InSync")[2]


def test_a_switch_without_effect_is_repeated_less_and_less_often():
    world = held()
    world.cloudfront.keeps_ineffective = frozenset({"enabled"})
    switch(world, enabled=False)
    assert "is not disabled yet, although CloudFront accepted that" in world.condition("Ready")[2]
    assert pauses(world)[-1] == 60
    world.cloudfront.keeps_ineffective = frozenset()
    wait(world)
    assert not world.cloudfront.only.enabled


@pytest.mark.parametrize(
    "error", [unanswered("InternalError"), unanswered("ReadTimeout"), unanswered("PreconditionFailed", 412)]
)
def test_a_switch_without_an_answer_is_repeated_less_and_less_often(error):
    world = held()
    world.edit(enabled=False)
    world.reconcile()
    world.cloudfront.refuse[UPDATE] = error
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert world.error.after <= 5
    assert pauses(world)[-1] == 60


def pauses(world: World) -> list[float]:
    found = []
    for _ in range(10):
        world.reconcile()
        assert isinstance(world.error, NotYet)
        found.append(world.error.after)
        world.clock.advance(world.error.after)
    return found


@pytest.mark.parametrize("lost", ["record", "its hash", "another version of its hash", "status"])
def test_without_a_record_what_differs_is_drift(lost):
    """An administrator stopped the tenant in AWS, and the spec has not changed."""
    world = held()
    world.cloudfront.edit("dt_1", enabled=False)
    wait(world)
    lose(world, lost)
    world.restart()
    wait(world)
    assert not world.cloudfront.only.enabled
    world.edit(enabled=False)
    wait(world)
    world.edit(enabled=True)
    wait(world)
    assert world.cloudfront.only.enabled, "the record is there again, and the spec is followed"


def lose(world: World, what: str) -> None:
    if what == "status":
        del world.obj["status"]
    elif what == "record":
        del world.obj["status"]["applied"]
    elif what == "its hash":
        del world.obj["status"]["applied"]["hash"]
    else:
        world.obj["status"]["applied"]["hash"] = "0.aa.bb"


def test_without_a_readable_record_and_a_valid_spec_no_two_clients_write_in_turn():
    world = held()
    lose(world, "another version of its hash")
    world.edit(**INVALID)
    for _ in range(5):
        world.cloudfront.edit("dt_1", enabled=False)
        assert UPDATE not in world.reconcile()
        world.clock.advance(60)
    world.cloudfront.edit("dt_1", enabled=True)
    world.edit(enabled=False)
    wait(world)
    assert not world.cloudfront.only.enabled, "the record is there again, and the spec is followed"


DELETE = "DeleteDistributionTenant"
IN_PROGRESS = AwsError(DELETE, "ResourceNotDisabled", "no", status=409)


def going(refusal: AwsError = IN_PROGRESS, **spec: Any) -> World:
    """The provider has disabled the tenant, and AWS does not delete it yet."""
    world = settled(deletionProtection=True, **spec)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.cloudfront.refuse[DELETE] = refusal
    world.delete()
    world.reconcile()
    assert not world.cloudfront.only.enabled
    return world


def hold(world: World) -> None:
    """The confirmation is withdrawn."""
    del world.obj["metadata"]["annotations"]["edgetenants.io/confirm"]
    world.cloudfront.refuse.clear()
    wait(world)
    assert world.ready() == ("False", "DeletionHeld")


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("spec", [{}, {"driftPolicy": "Report"}, {"enabled": None}], ids=str)
@pytest.mark.parametrize(
    "refusal",
    [
        IN_PROGRESS,
        AwsError(DELETE, "AccessDenied", "no", status=403),
        AwsError(DELETE, "Throttling", "no", status=400),
        AwsError(DELETE, "InternalError", "no", status=500),
        AwsError(DELETE, "ReadTimeout", "no"),
    ],
    ids=lambda refusal: refusal.code,
)
def test_a_tenant_that_was_disabled_for_its_deletion_serves_again_once_that_is_held(refusal, spec, restarted):
    world = going(refusal, **{key: value for key, value in spec.items() if value})
    if "enabled" in spec:
        world.edit(enabled=None)
    if restarted:
        world.restart()
    hold(world)
    assert world.cloudfront.only.enabled
    world.cloudfront.edit("dt_1", enabled=False)
    wait(world)
    assert not world.cloudfront.only.enabled, "that is drift again"


def test_nor_does_a_lost_answer_to_the_disabling_leave_it_dark():
    world = settled(deletionProtection=True)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    really = world.cloudfront.update_tenant

    def lost(*args: Any) -> None:
        really(*args)
        raise unanswered("ReadTimeout")

    world.delete()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloudfront, "update_tenant", lost)
        world.reconcile()
    assert not world.cloudfront.only.enabled
    hold(world)
    assert world.cloudfront.only.enabled


def test_what_its_spec_disables_stays_so_when_its_deletion_is_held():
    world = going()
    world.edit(enabled=False)
    hold(world)
    assert not world.cloudfront.only.enabled


def test_protection_that_is_set_during_a_deletion_saves_the_visitors_too():
    world = settled()
    world.cloudfront.deletes_in_progress = world.cloudfront.deploys = False
    world.delete()
    world.reconcile()
    world.obj["spec"]["deletionProtection"] = True
    wait(world)
    assert world.cloudfront.only.enabled


def test_what_an_administrator_stopped_before_the_deletion_stays_so_if_that_is_held():
    world = settled(driftPolicy="Report", deletionProtection=True)
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.cloudfront.refuse[DELETE] = IN_PROGRESS
    world.delete()
    world.reconcile()
    hold(world)
    assert not world.cloudfront.only.enabled


@pytest.mark.parametrize(("code", "status"), [("AccessDenied", 403), ("PreconditionFailed", 412)])
def test_what_an_administrator_stopped_after_a_refused_disabling_stays_so(code, status):
    """The provider has disabled nothing."""
    world = settled(deletionProtection=True)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.cloudfront.refuse[UPDATE] = unanswered(code, status)
    world.delete()
    world.reconcile()
    world.cloudfront.edit("dt_1", enabled=False)
    world.cloudfront.refuse = {DELETE: IN_PROGRESS}
    world.reconcile()
    hold(world)
    assert not world.cloudfront.only.enabled


def test_what_an_administrator_stops_after_it_served_again_stays_so():
    world = going()
    hold(world)
    world.cloudfront.edit("dt_1", enabled=False)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.cloudfront.refuse[DELETE] = IN_PROGRESS
    world.reconcile()
    hold(world)
    assert not world.cloudfront.only.enabled


def test_what_an_administrator_stops_right_after_it_serves_again_stays_so():
    world = going()
    del world.obj["metadata"]["annotations"]["edgetenants.io/confirm"]
    world.cloudfront.refuse.clear()
    while not world.cloudfront.only.enabled:
        world.reconcile()
    world.cloudfront.edit("dt_1", enabled=False)
    wait(world)
    assert not world.cloudfront.only.enabled


@pytest.mark.parametrize("more", [{}, {"parameters": {"tenantName": "other"}}])
@pytest.mark.parametrize("protected", [False, True])
def test_in_sync_promises_no_switch_that_waits_for_more_than_the_confirmation(protected, more):
    world = held() if protected else settled()
    finalizers = ["finalizer.managedresource.crossplane.io", "backup.example.com/x"]
    world.obj["metadata"]["finalizers"] = finalizers
    world.delete()
    world.edit(enabled=False, **more)
    [in_sync] = [each for each in world.client.observe(world.mr).conditions if each.type == "InSync"]
    assert in_sync.message.endswith(
        "Not done yet: the provider changes nothing while this resource is being deleted"
    )


@pytest.mark.parametrize("error", [("AccessDenied", 403), ("Throttling", 400), ("ResourceInUse", 409)])
def test_tags_that_cannot_be_read_do_not_hide_the_hold(error):
    world = held()
    world.cloudfront.refuse[TAGS] = AwsError(TAGS, error[0], "no", status=error[1])
    world.edit(enabled=False)
    world.reconcile()
    assert world.ready() == ("False", "DeletionHeld")
    assert "edgetenants.io/confirm to 0a1b2c3d" in world.condition("Ready")[2]
    assert "The tenant is not disabled: " in world.condition("Ready")[2]


def test_a_plan_shows_the_switch_of_a_held_tenant():
    world = held()
    world.edit(enabled=False)
    recorder = Recorder(world.cloudfront)
    world.cloudfront, world.context["rehearsing"] = recorder.as_cloudfront, True
    switched, waits = rehearse(world.client, world.mr, recorder).to_status()
    assert switched["action"] == "DisableTenant"
    assert switched["details"].startswith(
        "the tenant follows spec.forProvider.enabled while its deletion is on hold: "
    )
    assert "disabled tenant" not in waits["details"], "it is a plan"
