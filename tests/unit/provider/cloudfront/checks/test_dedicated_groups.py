"""No tenant of another namespace joins a group that is only for a claim."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.managed import Managed
from function import compose
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.checks.dedicated_groups import DEDICATED_ANNOTATION
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

GROUP = "cg_theirs"
OWNER = "edgetenants.io/owner"
NAME = f"other.{GROUP}"


def owner(*, namespace: str = "other", dedicated: str = "true", id_: str = GROUP, **spec: Any) -> Managed:
    """The ConnectionGroup that has the group."""
    return Managed(
        {
            "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
            "kind": "ConnectionGroup",
            "metadata": {
                "name": "own-1",
                "namespace": namespace,
                "uid": "u-group",
                "annotations": {"crossplane.io/external-name": NAME, DEDICATED_ANNOTATION: dedicated},
            },
            "spec": {"forProvider": {}, **spec},
            "status": {"atProvider": {"id": id_}},
        }
    )


def world(*owners: Managed, tag: str | None = None, name: str = NAME, **fields: Any) -> World:
    """A tenant that asks for the group, which has this owner tag and name."""
    cloudfront = FakeCloudFront()
    cloudfront.put_group(GROUP)
    made = cloudfront.groups[GROUP]
    object.__setattr__(made, "name", name)
    made.tags[OWNER] = f"cluster-1/ConnectionGroup/other/{name}" if tag is None else tag
    obj = managed({**FOR_PROVIDER, "connectionGroupId": GROUP, **fields})
    return World(obj, cloudfront, everyone=lambda: owners)


def test_the_function_and_the_provider_agree_on_the_annotation() -> None:
    assert compose.DEDICATED == DEDICATED_ANNOTATION


def test_a_tenant_of_another_namespace_does_not_join() -> None:
    tried = world(owner())
    calls = tried.reconcile()
    assert tried.ready() == ("False", "ValidationFailed")
    assert f"spec.forProvider.connectionGroupId: connection group {GROUP} is only for" in tried.error.message
    assert "other" not in tried.error.message.replace("another", ""), "the namespace stays private"
    assert not any(call.startswith("Create") for call in calls)


def test_a_tenant_that_exists_does_not_join_either() -> None:
    tried = world(owner(), connectionGroupId=None)
    tried.settle()
    tried.obj["spec"]["forProvider"]["connectionGroupId"] = GROUP
    tried.obj["metadata"]["generation"] += 1
    tried.reconcile()
    assert "is only for a claim" in tried.error.message
    assert tried.cloudfront.only.connection_group_id != GROUP
    assert tried.ready() == ("True", "Available")


def test_a_tenant_that_is_in_the_group_already_stays() -> None:
    tried = world()
    tried.settle()
    tried.context["everyone"] = lambda: (owner(),)
    tried.obj["spec"]["forProvider"]["parameters"] = {"tenantName": "new"}
    tried.obj["metadata"]["generation"] += 1
    tried.settle()
    assert tried.ready() == ("True", "Available")
    assert tried.cloudfront.only.parameters == {"tenantName": "new"}


@pytest.mark.parametrize(
    "owners",
    [
        (),
        (owner(namespace="shop"),),
        (owner(dedicated="false"),),
        (owner(id_="cg_another"),),
    ],
    ids=["nobody", "the same namespace", "not dedicated", "another group"],
)
def test_other_groups_are_free_to_join_and_cost_no_call(owners: tuple[Managed, ...]) -> None:
    tried = world(*owners)
    calls = tried.reconcile()
    assert "ListTagsForResource" not in calls[: calls.index("CreateDistributionTenant")]
    tried.settle()
    assert tried.ready() == ("True", "Available")


@pytest.mark.parametrize(
    "tag",
    ["cluster-2/ConnectionGroup/other/" + NAME, "cluster-1/ConnectionGroup/platform/" + NAME, ""],
    ids=["another installation", "another namespace", "nobody"],
)
def test_a_forged_status_keeps_no_one_from_a_shared_group(tag: str) -> None:
    """Anyone may write the id of a shared group into the status of a resource of their own."""
    tried = world(owner(), tag=tag)
    tried.settle()
    assert tried.ready() == ("True", "Available")


def test_the_default_group_stays_open_to_all() -> None:
    """Any namespace may adopt it."""
    tried = world(owner())
    object.__setattr__(tried.cloudfront.groups[GROUP], "is_default", True)
    tried.settle()
    assert tried.ready() == ("True", "Available")


@pytest.mark.parametrize("name", ["platform-shared", "others.shared", "other"])
def test_an_adopted_group_stays_open_to_all(name: str) -> None:
    """Any namespace may adopt a group without an owner, which the plans of others may name."""
    tried = world(owner(), name=name)
    tried.settle()
    assert tried.ready() == ("True", "Available")


def test_tags_that_cannot_be_read_end_the_reconcile() -> None:
    tried = world(owner())
    tried.cloudfront.refuse["ListTagsForResource"] = AwsError(
        "ListTagsForResource", "Throttling", "slow", status=400
    )
    tried.reconcile()
    assert tried.ready() == ("False", "Throttled")
    assert not tried.cloudfront.tenants
