"""What the cache keeps of an object, and what may be written back of it."""

import json
import random
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Invalid
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.kube.memory import memory
from edgetenants_runtime.kube.transform import (
    LARGEST,
    MOST_LABELS,
    MOST_LISTED,
    Transform,
    check_whole,
)
from edgetenants_runtime.managed import ManagedKind, ObjectKey
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.testing import TOYS, FakeObjects, Journal, World, toy

LIST = "example.org/list"
KIND = ManagedKind("toys.m.example.org", "v1", "Toy", "toys", namespaced=True, annotations={LIST: 5_000})


def obj(**metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "namespace": "shop", "uid": "uid-a", "resourceVersion": "1"} | metadata,
        "spec": {"forProvider": {"size": 1}},
        "status": {"conditions": [{"type": "Ready", "message": "m"}]},
    }


def kept(**metadata: Any) -> dict[str, Any]:
    return dict(Transform.of(KIND)(obj(**metadata))["metadata"])


def test_only_annotations_that_are_read_are_kept() -> None:
    read = dict.fromkeys((names.EXTERNAL_NAME, names.PAUSED, names.POLL_INTERVAL, LIST), "x")
    others = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "crossplane.io/composition-resource-name": "tenant",
        "example.org/other": "x",
    }
    assert kept(annotations=read | others)["annotations"] == read
    assert kept(annotations=None)["annotations"] == {}
    assert "annotations" not in kept()


def test_what_is_too_long_is_still_too_long() -> None:
    """One character more than is read is kept."""
    long = dict.fromkeys((names.EXTERNAL_NAME, LIST), "x" * 200_000)
    lengths = {name: len(text) for name, text in kept(annotations=long)["annotations"].items()}
    assert lengths == {names.EXTERNAL_NAME: LONGEST_ANNOTATION + 1, LIST: 5_001}


def test_what_is_kept_of_a_kept_object_is_the_same() -> None:
    flood = [f"x/{number}" for number in range(300)]
    owners = [{"uid": "x" * 999, "name": each, "other": each} for each in flood]
    once = Transform.of(KIND)(
        obj(
            annotations={LIST: "x" * 9_000},
            labels=dict.fromkeys(flood, "x"),
            finalizers=flood,
            ownerReferences=owners,
        )
    )
    assert Transform.of(KIND)(once) == once


def test_the_object_itself_is_not_changed() -> None:
    whole = obj(annotations={"x": "y"}, managedFields=[{}], labels={f"l{i}": "" for i in range(300)})
    before = json.dumps(whole)
    Transform.of(KIND)(whole)
    assert json.dumps(whole) == before


def test_managed_fields_are_dropped_and_the_rest_stays() -> None:
    whole = obj(managedFields=[{"manager": "x"}], generation=3, deletionTimestamp="2026-01-01T00:00:00Z")
    found = Transform.of(KIND)(whole)
    assert found == {
        **whole,
        "metadata": {n: v for n, v in whole["metadata"].items() if n != "managedFields"},
    }


def test_a_flood_of_labels_hides_none_that_decides() -> None:
    flood = {f"a/{number:05}": "" for number in range(20_000)}
    labels = kept(labels=flood | {names.LABEL_CLAIM_NAMESPACE: "shop"})["labels"]
    assert len(labels) == MOST_LABELS
    assert labels[names.LABEL_CLAIM_NAMESPACE] == "shop"
    few = {f"a/{number}": "" for number in range(MOST_LABELS)}
    assert kept(labels=few)["labels"] == few


def test_a_flood_of_finalizers_or_owners_hides_neither_ours_nor_the_controller() -> None:
    finalizers = [*(f"a/{number}" for number in range(20_000)), names.FINALIZER]
    owners = [*({"uid": str(number)} for number in range(20_000)), {"uid": "own", "controller": True}]
    found = kept(finalizers=finalizers, ownerReferences=owners)
    assert len(found["finalizers"]) == len(found["ownerReferences"]) == MOST_LISTED + 1
    assert names.FINALIZER in found["finalizers"]
    assert {"uid": "own", "controller": True} in found["ownerReferences"]
    assert kept(finalizers=finalizers[:MOST_LISTED])["finalizers"] == finalizers[:MOST_LISTED]


REFERENCE = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "name": "acme",
    "uid": "e5b5ac8e-5c2b-4b7e-8f1e-3f6f1a2b3c4d",
    "controller": True,
    "blockOwnerDeletion": True,
}
LONGEST = {"apiVersion": 317, "kind": 63, "name": 253, "uid": 128}


def test_of_an_owner_reference_only_what_is_read_is_kept() -> None:
    (found,) = kept(ownerReferences=[REFERENCE | {"other": "x"}])["ownerReferences"]
    assert found == REFERENCE


@pytest.mark.parametrize("field", LONGEST)
def test_an_owner_reference_that_is_too_long_names_nothing_and_is_not_written_back(field: str) -> None:
    """Kubernetes has no limit for it."""
    longest = LONGEST[field]
    metadata = kept(ownerReferences=[REFERENCE | {field: "x" * 1_400_000}])
    assert metadata["ownerReferences"] == [REFERENCE | {field: "x" * (longest + 1)}]
    with pytest.raises(Invalid, match=rf"ownerReferences\[\]\.{field}: .* at most {longest} "):
        check_whole(KIND, metadata, "ownerReferences")
    check_whole(KIND, kept(ownerReferences=[REFERENCE | {field: "x" * longest}]), "ownerReferences")


def test_what_fills_a_status_is_not_kept_and_what_is_small_is() -> None:
    """Anyone who may write the status can fill what its schema has."""
    wide = "x" * 4_095 + "\N{GRINNING FACE}"
    whole = obj()
    whole["status"] |= {
        "drift": [{"desired": wide, "observed": wide} for _ in range(128)],
        "atProvider": {"id": "dt_1", "certificate": {"arn": "arn:aws", "validation": [{"to": wide}] * 40}},
    }
    found = Transform.of(KIND)(whole)
    assert memory(whole["status"]) > 4 * 1024 * 1024
    assert memory(found) <= LARGEST
    assert found["status"] == whole["status"] | {"drift": []}
    assert found["spec"] == whole["spec"]
    assert Transform.of(KIND)(found) == found


def test_a_large_spec_leaves_less_to_the_status_and_stays_whole() -> None:
    whole = obj()
    whole["spec"] = {"forProvider": {"text": "x" * 1_000_000}}
    whole["status"] |= {"drift": ["x" * 900_000], "domains": ["x" * 100_000], "id": "dt_1"}
    found = Transform.of(KIND)(whole)
    assert found == {**whole, "status": whole["status"] | {"drift": []}}
    assert Transform.of(KIND)(found) == found
    whole["spec"] = {"forProvider": {"text": "x" * 2_000_000}}
    assert Transform.of(KIND)(whole) == {**whole, "status": whole["status"] | {"drift": []}}


def test_the_status_of_a_tenant_with_500_domains_is_kept_whole() -> None:
    names = [f"a-domain-of-a-shop-{number:04}.shop.example.com" for number in range(500)]
    listed = {"domains": names, "renewal": {"waitingFor": names}}
    answers = [{"domain": name, "redirectFrom": f"http://{name}/x", "redirectTo": "y" * 90} for name in names]
    value = "d111111abcdef8.cloudfront.net"
    record = {"type": "CNAME", "value": value, "purpose": "Routing", "state": "Missing"}
    whole = obj()
    whole["status"] = {
        "dnsInstructions": [{"name": name, **record} for name in names * 2],
        "atProvider": {
            "domains": [{"domain": name, "status": "active"} for name in names],
            "certificate": {**listed, "validation": answers, "replaces": listed},
        },
        "conditions": [{"type": "Ready", "message": "m" * 1_000}] * 15,
    }
    whole["spec"] = {"forProvider": {"domains": names}}
    whole = json.loads(json.dumps(whole))
    assert Transform.of(KIND)(whole)["status"] == whole["status"]


def test_a_flood_hides_no_mark_of_a_held_secret() -> None:
    flood = [f"a/{number:05}" for number in range(500)]
    mark = "z.example.org/in-use"
    metadata = {
        "name": "aws",
        "labels": dict.fromkeys(flood, "") | {mark: "true"},
        "finalizers": [*flood, mark],
    }
    found = Transform(first=(mark,), metadata_only=True)({"metadata": metadata})["metadata"]
    assert found["labels"][mark] == "true"
    assert mark in found["finalizers"]


def test_a_list_of_which_a_part_is_kept_is_not_written_back() -> None:
    """The patch would delete the others."""
    check_whole(KIND, kept(finalizers=["a/b"] * MOST_LISTED), "finalizers")
    with pytest.raises(Invalid, match=r"metadata\.finalizers: the provider keeps at most 100; remove some"):
        check_whole(KIND, kept(finalizers=["a/b"] * (MOST_LISTED + 1)), "finalizers")


def test_of_a_kind_of_which_only_the_metadata_is_read_little_is_kept() -> None:
    whole = obj(
        annotations={names.EXTERNAL_NAME: "x", "a/b": "x"},
        labels={"in-use": "true"},
        finalizers=["a/b"],
        ownerReferences=[{"uid": "x"}],
        creationTimestamp="2026-01-01T00:00:00Z",
    )
    found = Transform.of(SECRETS, metadata_only=True)({"kind": "Secret", "data": {"a": "b"}} | whole)
    assert found == {
        "kind": "Secret",
        "metadata": {
            "name": "a",
            "namespace": "shop",
            "uid": "uid-a",
            "resourceVersion": "1",
            "labels": {"in-use": "true"},
            "finalizers": ["a/b"],
        },
    }


def test_an_informer_keeps_what_its_kind_declares(client: KubeClient) -> None:
    informer = Informer(client, KIND, random.Random(1), annotations={"example.org/confirm": 10})
    annotations = {LIST: "x", "example.org/confirm": "x", "example.org/other": "x"}
    informer.cache.changed(obj(annotations=annotations))
    found = informer.cache.get(ObjectKey("shop", "a"))
    assert found is not None
    assert set(found["metadata"]["annotations"]) == {LIST, "example.org/confirm"}


def test_an_index_follows_what_is_kept() -> None:
    """Otherwise an entry by something that is not kept would stay for ever."""
    index = lambda each: tuple(each["metadata"]["annotations"])  # noqa: E731
    cache = Cache({"annotation": index}, Transform.of(KIND))
    cache.changed(obj(annotations={LIST: "x", "a/b": "x"}))
    assert cache.indexed("annotation", LIST)
    assert not cache.indexed("annotation", "a/b")


def writer(**metadata: Any) -> tuple[ManagedWriter, FakeObjects, Any]:
    objects, cache = FakeObjects(Journal()), Cache(keep=Transform.of(TOYS))
    stored = toy()
    stored["metadata"] |= metadata
    objects.put(TOYS, stored)
    written = ManagedWriter(objects, TOYS, cache)
    return written, objects, World(stored).mr


def test_a_write_returns_what_the_cache_keeps_and_deletes_no_annotation_of_others() -> None:
    writes, objects, mr = writer(annotations={"a/b": "x", names.PAUSED: "no"})
    made = writes.patch_metadata(mr, annotations={names.EXTERNAL_NAME: "acme"}, finalizers=[names.FINALIZER])
    assert made.annotations == {names.EXTERNAL_NAME: "acme", names.PAUSED: "no"}
    stored = objects.get(TOYS, ObjectKey("shop", "acme"))["metadata"]["annotations"]
    assert stored == {names.EXTERNAL_NAME: "acme", names.PAUSED: "no", "a/b": "x"}


def test_finalizers_that_are_not_all_known_are_not_written() -> None:
    writes, objects, mr = writer(finalizers=[f"a/{number}" for number in range(500)])
    with pytest.raises(Invalid, match=r"metadata\.finalizers"):
        writes.patch_metadata(mr, annotations={}, finalizers=[*mr.finalizers, names.FINALIZER])
    assert len(objects.get(TOYS, ObjectKey("shop", "acme"))["metadata"]["finalizers"]) == 500


def test_annotations_of_others_do_not_repeat_a_reconcile() -> None:
    """A write of the provider is compared with what it read: neither has them."""
    outcome = World(toy(annotations={"a/b": "x"})).reconcile()
    assert outcome == World(toy()).reconcile()


# Pages.


def page(version: int, *items: dict[str, Any], token: str = "") -> tuple[int, dict[str, Any]]:
    return 200, {"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(items)}


def numbered(number: int, size: int = 0) -> dict[str, Any]:
    found = obj(annotations={"a/b": "x" * size})
    found["metadata"] |= {"name": f"o{number}", "uid": f"uid-{number}"}
    return found


class Small(Informer):
    PAGE_BYTES = 20_000
    FIRST_RETRY = 0.01
    LONGEST_RETRY = 0.05


def limits(api: Any, client: KubeClient) -> tuple[list[tuple[str, str | None]], Informer]:
    informer = Small(client, TOYS, random.Random(1))
    informer.start()
    assert informer.wait_synced(5)
    informer.stop()
    return [(query["limit"], query.get("continue")) for query in api.queries(watch=False)], informer


def test_pages_of_small_objects_grow(api: Any, client: KubeClient) -> None:
    api.lists = [page(7, numbered(n), token=f"t{n}") for n in range(5)] + [page(7, numbered(9))]
    asked, informer = limits(api, client)
    assert [limit for limit, _ in asked] == ["50", "100", "200", "400", "500", "500"]
    assert len(informer.cache) == 6


def test_pages_of_large_objects_shrink_and_are_asked_for_again(api: Any, client: KubeClient) -> None:
    large, medium = numbered(1, 30_000), numbered(2, 15_000)
    api.lists = [
        page(7, numbered(0), token="t"),
        page(7, large, token="no"),
        page(7, large, token="no"),
        page(7, medium, token="u"),
        page(7, numbered(3)),
    ]
    asked, informer = limits(api, client)
    assert asked == [("50", None), ("100", "t"), ("50", "t"), ("25", "t"), ("25", "u")]
    assert len(informer.cache) == 3
    found = informer.cache.get(ObjectKey("shop", "o2"))
    assert found is not None
    assert found["metadata"]["annotations"] == {}


def test_one_object_is_read_whatever_its_size(api: Any, client: KubeClient) -> None:
    api.lists = [page(7, numbered(1, 30_000))]
    asked, informer = limits(api, client)
    assert [limit for limit, _ in asked] == ["50", "25", "12", "6", "3", "1"]
    assert len(informer.cache) == 1


def test_a_whole_list_has_a_bound_too(api: Any, client: KubeClient) -> None:
    """It is asked for in one response only if a snapshot was compacted between two pages."""
    expired = 410, {"code": 410, "reason": "Expired", "message": "continue token too old"}
    api.lists = [page(7, numbered(1), token="t"), expired, page(7, numbered(1, 90_000)), page(8, numbered(2))]
    asked, informer = limits(api, client)
    assert asked == [("50", None), ("100", "t"), ("0", None), ("50", None)]
    assert len(informer.cache) == 1


def test_of_a_page_only_what_is_kept_outlives_it(api: Any, client: KubeClient) -> None:
    api.lists = [page(7, numbered(1, 5_000), token="t"), page(7, numbered(2, 5_000))]
    objects, _ = Small(client, TOYS, random.Random(1))._pages()
    assert [each["metadata"]["annotations"] for each in objects] == [{}, {}]
