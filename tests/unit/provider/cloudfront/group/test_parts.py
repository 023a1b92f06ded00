"""A change of a connection group of which AWS refuses a part: the rest of it is made."""

from dataclasses import replace

import pytest

from edgetenants_runtime.errors import ExternalError, NotYet
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.group import parts
from provider.cloudfront.group.plan import compare
from provider.cloudfront.state.group import Group
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import FakeCloudFront

GONE = "aip_gone"


class WithoutList(FakeCloudFront):
    """Has no Anycast list of that id."""

    def update_group(self, id_, etag, group, *, emptied=False):
        if group.anycast_ip_list_id == GONE:
            self.journal.append("UpdateConnectionGroup")
            raise AwsError("UpdateConnectionGroup", "EntityNotFound", "no such list", status=404)
        return super().update_group(id_, etag, group, emptied=emptied)


@pytest.fixture
def world():
    world = Groups({"enabled": True, "tags": {"team": "edge"}}, WithoutList())
    world.settle()
    return world


def until_written(world, passes=4):
    """Disabling waits for a second look at the tenants of the group; what else is asked waits with it."""
    for _ in range(passes):
        world.reconcile()
        if not isinstance(world.error, NotYet):
            return
        world.clock.advance(world.error.after)


def test_a_group_is_disabled_beside_an_anycast_list_that_is_refused(world):
    world.edit(enabled=False, anycastIpListId=GONE)
    until_written(world)
    assert not world.group.enabled
    assert isinstance(world.error, ExternalError)
    assert world.error.message.startswith(
        "updated connection group shop.front: enabled true → false. The rest of the change was refused: "
    )
    assert "no such list" in world.error.message
    assert world.error.retry.seconds == 5.0


def test_tags_and_ipv6_do_not_wait_for_an_anycast_list_that_is_refused(world):
    world.edit(ipv6Enabled=False, tags={"team": "core"}, anycastIpListId=GONE)
    until_written(world)
    assert not world.group.ipv6_enabled
    assert world.group.tags["team"] == "core"
    assert world.group.anycast_ip_list_id is None


def test_what_is_refused_is_asked_for_once_a_look_and_nothing_else_is_written(world):
    world.edit(ipv6Enabled=False, anycastIpListId=GONE)
    until_written(world)
    before = world.group.etag
    for _ in range(3):
        assert world.reconcile().count("UpdateConnectionGroup") == 1
    assert world.group.etag == before


def test_the_rest_is_changed_while_aws_does_not_disable_a_group_that_is_used(world):
    world.edit(enabled=False, ipv6Enabled=False)
    until_written(world, passes=1)
    # One of its own namespace: that of another would be seen before.
    owner = {"edgetenants.io/owner": "cluster-1/DistributionTenant/shop/shop.acme"}
    world.cloudfront.add(connection_group_id=world.group.id, tags=owner)
    world.clock.advance(60)
    world.reconcile()
    assert world.group.enabled
    assert not world.group.ipv6_enabled
    assert "The rest" in world.error.message


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling"])
def test_what_any_update_would_meet_is_met_once(world, code):
    world.edit(ipv6Enabled=False, tags={"team": "core"})
    error = AwsError("UpdateConnectionGroup", code, "no", status=403)
    world.cloudfront.refuse["UpdateConnectionGroup"] = error
    assert world.reconcile().count("UpdateConnectionGroup") == 1


def fields(whole, seen):
    return [[change.field for change in part.all] for part in parts.of(whole, seen)]


def test_each_part_is_smaller_and_none_is_empty(world):
    seen = replace(world.group, tags={})
    every = Group(seen.name, ipv6_enabled=False, anycast_ip_list_id=GONE, enabled=False, tags={"a": "1"})
    assert fields(compare(every, seen), seen) == [
        ["enabled", "ipv6Enabled", "tags.a"],
        ["enabled"],
        ["anycastIpListId", "ipv6Enabled", "tags.a"],
    ]
    alone = Group(seen.name, ipv6_enabled=True, anycast_ip_list_id=GONE, enabled=True, tags={})
    assert fields(compare(alone, seen), seen) == []


def test_no_part_but_the_first_enables(world):
    seen = replace(world.group, enabled=False, tags={})
    whole = compare(Group(seen.name, False, GONE, enabled=True, tags={}), seen)
    assert fields(whole, seen) == [["enabled", "ipv6Enabled"], ["anycastIpListId", "ipv6Enabled"]]
