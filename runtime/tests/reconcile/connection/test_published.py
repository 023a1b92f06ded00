"""Connection details in the older form, of cluster-scoped kinds: publishConnectionDetailsTo."""

from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.errors import ExternalError, RetryMode
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.testing import FakeObjects, Journal, toy

DETAILS = {"url": b"https://x"}
EDGE = ObjectKey("provider-system", "edge")
TO: dict[str, Any] = {
    "name": "edge",
    "metadata": {"labels": {"team": "shop"}, "annotations": {"why": "because"}, "type": "example.org/edge"},
    "configRef": {"name": "default"},
}
OWNER = {"uid": "uid-acme", "controller": True}


class Setting:
    """A publisher over an API server in memory."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        self.log = Journal()
        self.objects = FakeObjects(self.log)
        if stored is not None:
            self.objects.put(SECRETS, stored)
        self.publisher = ConnectionPublisher(self.objects, "provider-system")

    def publish(self, *, cluster: bool = True, **spec: Any) -> list[str]:
        self.publisher.publish(Managed(toy(cluster=cluster, **spec)), DETAILS)
        return self.log.entries

    def refusal(self, **spec: Any) -> ExternalError:
        with pytest.raises(ExternalError) as raised:
            self.publish(**spec)
        return raised.value

    @property
    def secret(self) -> dict[str, Any]:
        return self.objects.get(SECRETS, EDGE)


def stored(type_: str = "connection.crossplane.io/v1alpha1", **metadata: Any) -> dict[str, Any]:
    about = {"name": "edge", "namespace": "provider-system", "resourceVersion": "5"}
    return {"metadata": about | metadata, "type": type_, "data": {"other": "eA=="}}


def test_the_secret_stands_beside_the_provider_with_what_the_spec_says_of_it() -> None:
    setting = Setting()
    setting.publish(publishConnectionDetailsTo=TO)
    assert setting.publish(publishConnectionDetailsTo=TO) == ["create Secret provider-system/edge"]
    made = setting.secret
    assert (made["type"], made["data"]) == ("example.org/edge", {"url": "aHR0cHM6Ly94"})
    metadata = made["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"team": "shop"}, {"why": "because"})
    assert (metadata["ownerReferences"][0]["uid"], metadata["ownerReferences"][0]["controller"]) == (
        "uid-acme", True,
    )  # fmt: skip


def test_without_more_it_is_a_connection_secret() -> None:
    setting = Setting()
    setting.publish(publishConnectionDetailsTo={"name": "edge"})
    assert setting.secret["type"] == "connection.crossplane.io/v1alpha1"
    assert "labels" not in setting.secret["metadata"]


def test_both_forms_are_written() -> None:
    ref = {"name": "other", "namespace": "shop"}
    assert Setting().publish(publishConnectionDetailsTo=TO, writeConnectionSecretToRef=ref) == [
        "create Secret shop/other",
        "create Secret provider-system/edge",
    ]


def test_a_namespaced_resource_has_no_older_form() -> None:
    assert Setting().publish(cluster=False, publishConnectionDetailsTo=TO) == []


def test_another_store_is_refused_before_anything_is_written() -> None:
    setting = Setting()
    ref = {"name": "other", "namespace": "shop"}
    vault = TO | {"configRef": {"name": "vault"}}
    error = setting.refusal(publishConnectionDetailsTo=vault, writeConnectionSecretToRef=ref)
    assert error.message == (
        "spec.publishConnectionDetailsTo.configRef.name: expected default, which is the Kubernetes store, "
        "got 'vault': no other store is supported"
    )
    assert error.retry.mode is RetryMode.POLL
    assert setting.log.entries == []


def test_changed_labels_are_added_and_none_is_taken_away() -> None:
    setting = Setting()
    setting.publish(publishConnectionDetailsTo=TO)
    metadata = {"labels": {"tier": "gold"}, "annotations": {"why": "so"}, "type": "example.org/edge"}
    entries = setting.publish(publishConnectionDetailsTo=TO | {"metadata": metadata})
    assert entries[1:] == ["patch Secret provider-system/edge"]
    assert setting.secret["metadata"]["labels"] == {"team": "shop", "tier": "gold"}
    assert setting.secret["metadata"]["annotations"] == {"why": "so"}


def test_a_type_cannot_be_changed() -> None:
    setting = Setting()
    setting.publish(publishConnectionDetailsTo=TO)
    error = setting.refusal(publishConnectionDetailsTo={"name": "edge", "metadata": {"type": "Opaque"}})
    assert error.message == (
        "spec.publishConnectionDetailsTo.metadata.type: Secret provider-system/edge has type "
        "example.org/edge, which cannot be changed to Opaque; delete the Secret to have it recreated"
    )
    assert len(setting.log.entries) == 1


def test_a_secret_of_another_name_is_written_beside_the_first_which_stays() -> None:
    setting = Setting()
    setting.publish(publishConnectionDetailsTo=TO)
    setting.publish(publishConnectionDetailsTo=TO | {"name": "new"})
    assert setting.log.entries[1:] == ["create Secret provider-system/new"]
    assert setting.secret["data"] == {"url": "aHR0cHM6Ly94"}


@pytest.mark.parametrize(
    ("found", "type_"),
    [
        (stored(ownerReferences=[OWNER]), None),
        (stored(), None),
        (stored(labels={names.LABEL_OWNER_UID: "uid-acme"}), None),
        (stored("Opaque", labels={names.LABEL_OWNER_UID: "uid-acme"}), "Opaque"),
    ],
    ids=["ours", "ownerless", "of crossplane-runtime's store", "of that store and another type"],
)
def test_what_is_or_was_this_resources_own_is_taken_over(found: dict[str, Any], type_: str | None) -> None:
    setting = Setting(found)
    metadata = {"type": type_} if type_ else {}
    setting.publish(publishConnectionDetailsTo={"name": "edge", "metadata": metadata})
    assert setting.log.entries == ["patch Secret provider-system/edge"]
    assert setting.secret["data"] == {"other": "eA==", "url": "aHR0cHM6Ly94"}
    assert setting.secret["metadata"]["ownerReferences"][0]["uid"] == "uid-acme"


@pytest.mark.parametrize(
    "found",
    [
        stored("Opaque"),
        stored("example.org/edge"),
        stored(labels={names.LABEL_OWNER_UID: "uid-other"}),
        stored(ownerReferences=[OWNER | {"uid": "uid-other"}]),
        stored(ownerReferences=[OWNER | {"uid": "uid-other"}], labels={names.LABEL_OWNER_UID: "uid-acme"}),
    ],
    ids=["opaque", "of the wanted type", "another's by label", "another's", "another's by owner"],
)
def test_a_foreign_secret_is_never_written(found: dict[str, Any]) -> None:
    setting = Setting(found)
    error = setting.refusal(publishConnectionDetailsTo=TO)
    assert "is not overwritten; name another one in spec.publishConnectionDetailsTo" in error.message
    assert (setting.log.entries, setting.secret["data"]) == ([], {"other": "eA=="})


def test_a_namespaced_resource_that_has_a_secret_of_its_own_writes_none_beside_the_provider() -> None:
    setting = Setting()
    written = setting.publish(
        cluster=False, publishConnectionDetailsTo=TO, writeConnectionSecretToRef={"name": "own"}
    )
    assert [entry for entry in written if "provider-system" in entry] == []
    assert len(written) == 1
