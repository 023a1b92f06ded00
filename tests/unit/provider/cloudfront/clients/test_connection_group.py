"""The life of a connection group against CloudFront in memory, deaths included."""

from __future__ import annotations

import pytest

from edgetenants_runtime.errors import NotYet
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.clients.connection_group import GroupClient
from provider.cloudfront.state.identity import DEDICATED_ANNOTATION, DEDICATED_TAG, OWNER_TAG
from tests.unit.provider.fake_cloudfront import ACCOUNT, DEFAULT_GROUP, FakeCloudFront, Killed
from tests.unit.provider.world import INSTALLATION, World, dependencies

OWNER = f"{INSTALLATION}/ConnectionGroup/shop/shop.front"


def manifest(for_provider=None, *, name="shop.front", annotations=None, **spec):
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "ConnectionGroup",
        "metadata": {
            "name": "front",
            "namespace": "shop",
            "uid": "0a1b2c3d-uid",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"crossplane.io/external-name": name, **(annotations or {})},
        },
        "spec": {"forProvider": dict(for_provider or {}), **spec},
    }


class Groups(World):
    def __init__(self, for_provider=None, cloudfront=None, **spec):
        super().__init__(manifest(for_provider, **spec), cloudfront)

    @property
    def client(self):
        given = {"installation": INSTALLATION, "account": ACCOUNT} | self.context
        return GroupClient(dependencies(self.cloudfront, self.memory, **given))

    def settle(self, passes=10):
        """Each pass as long after the one before as that asked for."""
        for _ in range(passes - 1):
            try:
                return super().settle(1)
            except AssertionError:
                self.clock.advance(self.error.after if isinstance(self.error, NotYet) else 1.0)
        return super().settle(1)

    @property
    def group(self):
        (found,) = [g for g in self.cloudfront.groups.values() if not g.is_default]
        return found


def settled(for_provider=None, **spec) -> Groups:
    world = Groups(for_provider, **spec)
    world.settle()
    return world


def test_a_group_is_created_with_its_owner_and_becomes_ready():
    world = Groups({"tags": {"team": "edge"}}, FakeCloudFront(deploys=False))
    assert world.reconcile() == ["GetConnectionGroup", "CreateConnectionGroup"]
    assert world.ready() == ("False", "Deploying")
    assert (world.group.enabled, world.group.ipv6_enabled) == (True, True)
    assert world.group.tags[OWNER_TAG] == OWNER
    assert world.group.tags["team"] == "edge"
    world.cloudfront.deploy()
    world.reconcile()
    assert world.ready() == ("True", "Available")
    assert world.status["atProvider"]["routingEndpoint"] == world.group.routing_endpoint


def test_a_dedicated_group_has_its_mark_from_the_first_moment():
    """A tenant could join it in between."""
    world = Groups(annotations={DEDICATED_ANNOTATION: "true"})
    assert world.reconcile() == ["GetConnectionGroup", "CreateConnectionGroup"]
    assert world.group.tags[DEDICATED_TAG] == "true"


def test_the_mark_comes_and_goes_with_the_annotation():
    world = settled({"tags": {"team": "edge"}})
    assert DEDICATED_TAG not in world.group.tags
    world.obj["metadata"]["annotations"][DEDICATED_ANNOTATION] = "true"
    world.settle()
    assert world.group.tags[DEDICATED_TAG] == "true"
    del world.obj["metadata"]["annotations"][DEDICATED_ANNOTATION]
    world.settle()
    assert DEDICATED_TAG not in world.group.tags
    assert world.group.tags["team"] == "edge"
    assert world.condition("InSync")[0] == "True"


def test_the_mark_of_a_group_that_a_resource_takes_over_again_follows_its_annotation():
    world = settled(annotations={DEDICATED_ANNOTATION: "true"})
    recreated = Groups(cloudfront=world.cloudfront)
    recreated.settle()
    assert recreated.ready() == ("True", "Available")
    assert DEDICATED_TAG not in world.group.tags


def test_in_steady_state_one_look_is_one_call_and_no_write():
    world = settled({"ipv6Enabled": False})
    writes = world.status_writes
    world.restart()
    assert world.reconcile() == ["GetConnectionGroup"]
    assert world.reconcile() == ["GetConnectionGroup"]
    assert world.status_writes == writes


@pytest.mark.parametrize(
    ("before", "after", "holds"),
    [
        ({"ipv6Enabled": True}, {"ipv6Enabled": False}, lambda g: not g.ipv6_enabled),
        ({"enabled": True}, {"enabled": False}, lambda g: not g.enabled),
        ({}, {"anycastIpListId": "aip_1"}, lambda g: g.anycast_ip_list_id == "aip_1"),
        ({"anycastIpListId": "aip_1"}, {"anycastIpListId": None}, lambda g: g.anycast_ip_list_id is None),
        (
            {"tags": {"a": "1", "b": "1"}},
            {"tags": {"a": "2"}},
            lambda g: g.tags["a"] == "2" and "b" not in g.tags,
        ),
    ],
)
def test_each_field_is_changed_and_taken_back(before, after, holds):
    world = settled(before)
    world.edit(**after)
    world.settle()
    assert holds(world.group)
    assert world.condition("InSync")[0] == "True"
    assert world.group.tags[OWNER_TAG] == OWNER


@pytest.mark.parametrize(("policy", "repaired"), [("Enforce", True), ("Report", False), ("Suspend", False)])
def test_drift_is_shown_and_repaired_as_the_policy_says(policy, repaired):
    world = settled({"ipv6Enabled": True}, driftPolicy=policy)
    before = world.group
    world.cloudfront.update_group(before.id, before.etag, replace_ipv6(before))
    world.settle()
    assert world.group.ipv6_enabled is repaired
    if policy == "Report":
        assert world.status["drift"] == [{"field": "ipv6Enabled", "desired": "true", "observed": "false"}]


def replace_ipv6(group):
    from provider.cloudfront.state.group import Group  # noqa: PLC0415 - of this one test

    return Group(group.name, ipv6_enabled=False, enabled=True)


def test_it_waits_for_its_tenants_quietly_and_enabled():
    world = settled()
    world.cloudfront.add(connection_group_id=world.group.id, name="shop.acme")
    world.delete()
    for _ in range(3):
        calls = world.reconcile()
        assert calls == ["GetConnectionGroup", "ListDistributionTenants"]
        assert type(world.error).__name__ == "NotYet"
        assert "waits for its tenants to be deleted or moved: 1 more" in world.error.message
        assert world.condition("Ready") == ("False", "Deleting", world.error.message)
    assert world.group.enabled
    world.cloudfront.tenants.clear()
    world.settle()
    assert world.gone
    assert list(world.cloudfront.groups) == [DEFAULT_GROUP]


def test_where_tenants_may_not_be_listed_the_group_is_kept():
    world = settled()
    world.cloudfront.add(connection_group_id=world.group.id)
    world.cloudfront.refuse["ListDistributionTenants"] = AwsError("L", "AccessDenied", "no", status=403)
    world.delete()
    world.reconcile()
    assert type(world.error).__name__ == "NotYet"
    assert world.group.enabled


@pytest.mark.parametrize(("code", "status"), [("Throttling", 400), ("InvalidArgument", 400)])
def test_where_the_list_of_tenants_fails_nothing_is_disabled(code, status):
    world = settled()
    world.cloudfront.refuse["ListDistributionTenants"] = AwsError("L", code, "no", status=status)
    world.delete()
    assert "UpdateConnectionGroup" not in world.reconcile()
    assert world.error is not None
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone


def test_the_default_group_is_let_go_and_not_deleted():
    annotations = {"edgetenants.io/adopt": DEFAULT_GROUP}
    world = Groups(name="CreatedByCloudFront-1", annotations=annotations)
    world.cloudfront.groups[DEFAULT_GROUP] = world.cloudfront.groups[DEFAULT_GROUP].__class__(
        **{**vars(world.cloudfront.groups[DEFAULT_GROUP]), "tags": {}}
    )
    world.settle()
    world.delete()
    world.settle()
    assert world.gone
    assert world.cloudfront.groups[DEFAULT_GROUP].enabled


@pytest.mark.parametrize(
    ("tags", "annotations", "message"),
    [
        ({}, {}, "it has no owner. To adopt it"),
        ({OWNER_TAG: "other/ConnectionGroup/x/y"}, {}, "it belongs to another namespace or installation"),
    ],
)
def test_a_group_of_somebody_else_is_left_alone(tags, annotations, message):
    world = Groups(annotations=annotations)
    theirs = world.cloudfront.add_group("shop.front", tags=tags)
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert message in world.error.message
    assert "connection group shop.front" in world.error.message
    world.delete()
    world.settle()
    assert world.gone
    assert world.group == theirs


def test_an_id_that_leads_to_nothing_makes_nothing():
    world = Groups(name="cg_2whCJoXMYCjHcxaLGrkllvyABC")
    world.reconcile()
    assert world.ready() == ("False", "ValidationFailed")
    assert "CreateConnectionGroup" not in world.cloudfront.journal


def live(world: Groups) -> None:
    world.settle()
    world.edit(ipv6Enabled=False, tags={"team": "b"})
    world.settle()
    world.delete()
    world.settle(passes=20)


def undisturbed() -> list[str]:
    world = Groups({"tags": {"a": "1"}}, FakeCloudFront(deletes_in_progress=False))
    live(world)
    return world.cloudfront.journal


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("index", range(len(undisturbed())))
def test_a_death_loses_and_doubles_nothing(index, when):
    world = Groups({"tags": {"a": "1"}}, FakeCloudFront(deletes_in_progress=False))
    world.cloudfront.die = (index, when)
    with pytest.raises(Killed):
        live(world)
    world.restart()
    world.settle(passes=20)
    if not world.mr.deleted:
        assert world.group.tags[OWNER_TAG] == OWNER
        world.delete()
        world.settle(passes=20)
    assert world.gone
    assert list(world.cloudfront.groups) == [DEFAULT_GROUP]


def test_tags_that_cannot_be_read_are_written_by_what_is_known_of_them():
    world = settled({"tags": {"team": "edge"}})
    world.cloudfront.refuse["ListTagsForResource"] = AwsError("ListTagsForResource", "AccessDenied", "no")
    world.edit(tags={"team": "core"})
    world.reconcile()
    assert world.group.tags["team"] == "core"
