"""No tenant of another namespace joins a group that is only for a claim."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.managed import Managed
from function.composed import compose
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state import applied, desired, identity
from provider.cloudfront.state.identity import DEDICATED_ANNOTATION, DEDICATED_TAG, OWNER_TAG
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

GROUP = "cg_theirs"
NAME = f"other.{GROUP}"
OWNER = f"cluster-1/ConnectionGroup/other/{NAME}"


def world(*, name: str = NAME, owner: str = OWNER, dedicated: str = "true", **fields: Any) -> World:
    """A tenant that asks for the group, which has this name and these tags. The cluster has no resource for
    the group."""
    cloudfront = FakeCloudFront()
    cloudfront.put_group(GROUP)
    made = cloudfront.groups[GROUP]
    object.__setattr__(made, "name", name)
    tags = {OWNER_TAG: owner, DEDICATED_TAG: dedicated}
    made.tags.update({key: value for key, value in tags.items() if value})
    return World(managed({**FOR_PROVIDER, "connectionGroupId": GROUP, **fields}), cloudfront)


def group(**changes: Any) -> Managed:
    """A ConnectionGroup."""
    metadata = {"name": "own-1", "namespace": "other", "annotations": {DEDICATED_ANNOTATION: "true"}}
    return Managed({"kind": "ConnectionGroup", "apiVersion": "x/v1", "metadata": {**metadata, **changes}})


def test_the_function_and_the_provider_agree_on_the_annotation() -> None:
    assert compose.DEDICATED == DEDICATED_ANNOTATION


def test_the_provider_copies_the_annotation_to_a_tag() -> None:
    assert identity.own_tags(group(), "cluster-1", NAME)[DEDICATED_TAG] == "true"


@pytest.mark.parametrize("annotations", [{}, {DEDICATED_ANNOTATION: "false"}, {DEDICATED_ANNOTATION: "yes"}])
def test_without_the_annotation_there_is_no_tag(annotations: dict[str, str]) -> None:
    assert DEDICATED_TAG not in identity.own_tags(group(annotations=annotations), "cluster-1", NAME)


def test_no_tenant_is_dedicated() -> None:
    mr = Managed(managed(annotations={DEDICATED_ANNOTATION: "true"}))
    assert DEDICATED_TAG not in identity.own_tags(mr, "cluster-1", NAME)


@pytest.mark.parametrize("owner", [OWNER, OWNER.replace("cluster-1", "cluster-2")])
def test_a_tenant_of_another_namespace_does_not_join(owner: str) -> None:
    tried = world(owner=owner)
    calls = tried.reconcile()
    assert tried.ready() == ("False", "ValidationFailed")
    assert f"spec.forProvider.connectionGroupId: connection group {GROUP} is only for" in tried.error.message
    assert "other" not in tried.error.message.replace("another", ""), "the namespace stays private"
    assert not any(call.startswith("Create") for call in calls)


def test_a_tenant_that_exists_does_not_join_either() -> None:
    tried = world(connectionGroupId=None)
    tried.settle()
    tried.obj["spec"]["forProvider"]["connectionGroupId"] = GROUP
    tried.obj["metadata"]["generation"] += 1
    tried.reconcile()
    assert "is only for a claim" in tried.error.message
    assert tried.cloudfront.only.connection_group_id != GROUP
    assert tried.ready() == ("True", "Available")


def test_a_forged_status_does_not_let_a_tenant_join() -> None:
    """With the hash of the changed spec in status, the change looks like drift."""
    tried = world(connectionGroupId=None)
    tried.settle()
    tried.edit(connectionGroupId=GROUP)
    asked = desired.from_for_provider(Managed(tried.obj), installation=INSTALLATION, name="shop.acme")
    tried.obj["status"]["applied"] = dict(applied.record(asked, "x"))
    tried.reconcile()
    assert "is only for a claim" in tried.error.message
    assert tried.cloudfront.only.connection_group_id != GROUP


def test_a_tenant_that_is_in_the_group_already_stays() -> None:
    tried = world(dedicated="")
    tried.settle()
    tried.cloudfront.groups[GROUP].tags[DEDICATED_TAG] = "true"
    tried.clock.advance(3600)
    tried.obj["spec"]["forProvider"]["parameters"] = {"tenantName": "new"}
    tried.obj["metadata"]["generation"] += 1
    tried.settle()
    assert tried.ready() == ("True", "Available")
    assert tried.cloudfront.only.parameters == {"tenantName": "new"}


@pytest.mark.parametrize("name", ["shop.cg", "other", "platform-shared", ".cg"])
def test_what_cannot_be_closed_to_a_namespace_costs_no_call(name: str) -> None:
    """The namespace's own groups, and those without a namespace in their names."""
    namespace = name.partition(".")[0]
    tried = world(name=name, owner=f"cluster-1/ConnectionGroup/{namespace}/{name}")
    calls = tried.reconcile()
    assert "ListTagsForResource" not in calls[: calls.index("CreateDistributionTenant")]
    tried.settle()
    assert tried.ready() == ("True", "Available")


@pytest.mark.parametrize("dedicated", ["", "false"])
def test_a_group_that_is_not_dedicated_is_free_to_join(dedicated: str) -> None:
    tried = world(dedicated=dedicated)
    tried.settle()
    assert tried.ready() == ("True", "Available")


@pytest.mark.parametrize(
    "owner",
    [
        "",
        f"cluster-1/ConnectionGroup/platform/{NAME}",
        "cluster-1/ConnectionGroup/other/other.second",
        f"cluster-1/DistributionTenant/other/{NAME}",
    ],
    ids=["nobody", "another namespace, which adopted it", "of another name", "a tenant"],
)
def test_only_the_namespace_of_its_name_closes_a_group(owner: str) -> None:
    """Any namespace may adopt a group without an owner, which the plans of others may name."""
    tried = world(owner=owner)
    tried.settle()
    assert tried.ready() == ("True", "Available")


def test_the_default_group_stays_open_to_all() -> None:
    """Any namespace may adopt it."""
    tried = world()
    object.__setattr__(tried.cloudfront.groups[GROUP], "is_default", True)
    tried.settle()
    assert tried.ready() == ("True", "Available")


def test_tenants_that_join_together_share_one_call() -> None:
    tried = world(dedicated="")
    tried.reconcile()
    second = World(managed({**tried.obj["spec"]["forProvider"], "domains": ["2.example.com"]}, uid="2"))
    second.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.second"
    second.cloudfront, second.memory = tried.cloudfront, tried.memory
    calls = second.reconcile()
    assert "CreateDistributionTenant" in calls
    assert "ListTagsForResource" not in calls[: calls.index("CreateDistributionTenant")]


def test_tags_that_cannot_be_read_end_the_reconcile() -> None:
    tried = world()
    tried.cloudfront.refuse["ListTagsForResource"] = AwsError(
        "ListTagsForResource", "Throttling", "slow", status=400
    )
    tried.reconcile()
    assert tried.ready() == ("False", "Throttled")
    assert not tried.cloudfront.tenants
