"""What a TenantSource does with its rows, over an API server in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgetenants_runtime.kube.errors import Forbidden, Invalid, KubeError, Operation
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.reconcile.steps import Next
from sources.reconciler import FINALIZER
from sources.stores.store import Row, StoreError, StoreReason
from tests.unit.sources.tables import CLAIMS, KEY, NAMESPACE, SOURCES, SPEC, Scene, row


def claim(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2025-01-01T00:00:00Z",
            **metadata,
        },
        "spec": {"domains": ["theirs.example.com"]},
    }


def names(scene: Scene) -> list[str]:
    return sorted(scene.claims)


def test_each_row_has_an_object_and_nothing_is_written_for_an_unchanged_one() -> None:
    scene = Scene(row("a"), row("b"))
    outcome = scene.look()
    assert outcome is not None
    assert (outcome.next, outcome.seconds) == (Next.AFTER, 60.0)
    assert names(scene) == ["a", "b"]
    assert scene.take_writes() == [("apply", "a"), ("apply", "b")]
    scene.look()
    scene.restart()
    scene.look()
    assert scene.take_writes() == []
    scene.store.rows[0] = row("a", "new.example.com")
    scene.look()
    assert scene.take_writes() == [("apply", "a")]
    assert scene.claims["a"]["spec"]["domains"] == ["new.example.com"]


def test_the_status_is_not_written_either_while_nothing_changes() -> None:
    scene = Scene(row("a"))
    scene.look()
    before = scene.server.find(SOURCES, KEY)
    scene.look()
    assert scene.server.find(SOURCES, KEY) == before
    assert (scene.status["rows"], scene.status["objects"], scene.status["live"]) == (1, 1, 0)


def test_a_row_that_is_wrong_keeps_its_object_and_stops_no_other() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [
        row("a", "not a domain"),
        row("b", "new.example.com"),
        row("c", "x y"),
        Row({"id": "d"}),
    ]
    scene.take_writes()
    for _ in range(5):
        scene.look()
    assert scene.take_writes() == [("apply", "b")]
    assert names(scene) == ["a", "b"]
    assert scene.claims["a"]["spec"]["domains"] == ["a.example.com"]
    assert scene.claims["b"]["spec"]["domains"] == ["new.example.com"]
    assert scene.status["invalid"] == 3
    assert [each["key"] for each in scene.status["problems"]] == ["a", "c", "d"]
    assert scene.status["problems"][2]["expected"].startswith("a value in the column domain")
    assert scene.reason("Degraded") == "RowsInvalid"
    assert "not a domain" not in json.dumps(scene.status)


def test_a_row_without_a_key_makes_no_row_count_as_gone() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    for key in (None, "", True, ["b"], 1.5):
        scene.store.rows = [row("a"), row(key, "b.example.com")]
        for _ in range(3):
            scene.look()
        assert names(scene) == ["a", "b"], key
    assert scene.status["invalid"] == 1


def test_rows_beyond_the_first_twenty_are_counted() -> None:
    scene = Scene(*(row(f"k{n:02}", "bad domain") for n in range(30)))
    scene.look()
    assert scene.status["invalid"] == 30
    assert [each["key"] for each in scene.status["problems"]] == [f"k{n:02}" for n in range(20)]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_nothing_follows_from_a_read_that_fails_or_is_cut(fails_at: int) -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.take_writes()
    scene.store.rows = [row("a", "new.example.com"), row("z")]
    scene.store.fails_at = fails_at
    for _ in range(5):
        outcome = scene.look()
        assert outcome is not None
        assert outcome.failed
    assert scene.take_writes() == []
    assert scene.reason("Synced") == "Unreachable"
    assert scene.reason("Ready") == "NotRead"
    assert scene.status["rows"] == 2


def test_what_a_store_raises_unexpectedly_is_not_shown() -> None:
    scene = Scene(row("a"))
    scene.store.fails_at, scene.store.error = 0, ValueError("secret value")
    scene.look()
    assert scene.reason("Synced") == "Incomplete"
    assert "secret" not in json.dumps(scene.status)


def test_a_store_says_why_it_cannot_be_read() -> None:
    scene = Scene(row("a"))
    scene.store.fails_at = 0
    for reason in StoreReason:
        scene.store.error = StoreError(reason, "why")
        scene.look()
        assert (scene.reason("Synced"), scene.message("Synced")) == (reason.value, "why")


def test_by_default_the_object_of_a_row_that_is_gone_stays_and_is_named() -> None:
    scene = Scene(row("a"), row("b"))
    scene.look()
    scene.store.rows = []
    scene.take_writes()
    for _ in range(5):
        scene.look(24 * 3600)
    assert scene.take_writes() == []
    assert names(scene) == ["a", "b"]
    assert (scene.status["gone"], scene.status["goneNames"]) == (2, ["a", "b"])
    assert scene.reason("Degraded") == "AsExpected"


@pytest.mark.parametrize("when", ["Suspend", "Delete"])
def test_a_process_without_the_flag_removes_nothing(when: str) -> None:
    scene = Scene(row("a"), row("b"), whenGone=when, after="0s")
    scene.removes = False
    scene.restart()
    scene.look()
    assert names(scene) == []
    found = scene.server.find(SOURCES, KEY)
    [synced] = [each for each in found["status"]["conditions"] if each["type"] == "Synced"]
    assert synced["reason"] == "InvalidSpec"
    assert "--enable-alpha-removals" in synced["message"]


def test_a_row_goes_after_the_grace_and_two_reads() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="1h")
    scene.look()
    scene.store.rows = [row("a")]
    scene.look()
    for _ in range(59):
        scene.look()
        assert names(scene) == ["a", "b"]
    scene.look()
    assert names(scene) == ["a"]


def test_a_row_that_is_back_begins_the_grace_again() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="1h")
    scene.look()
    scene.store.rows = [row("a")]
    for _ in range(59):
        scene.look()
    scene.store.rows = [row("a"), row("b")]
    scene.look()
    scene.store.rows = [row("a")]
    for _ in range(60):
        scene.look()
        assert names(scene) == ["a", "b"]
    scene.look()
    assert names(scene) == ["a"]


def test_a_row_that_is_back_and_wrong_is_not_gone_either() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Suspend", after="0s")
    scene.look()
    scene.store.rows = [row("a")]
    scene.look()
    scene.look()
    assert scene.claims["b"]["spec"]["suspended"] is True
    scene.store.rows = [row("a"), row("b", "not a domain")]
    scene.look()
    assert "suspended" not in scene.claims["b"]["spec"]
    assert "edgetenants.io/row-gone" not in scene.claims["b"]["metadata"]["annotations"]


def test_another_table_begins_the_grace_again() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="1h")
    scene.look()
    scene.store.rows = [row("a")]
    for _ in range(55):
        scene.look()
    other = {"configMap": {"name": "others", "key": "rows", "format": "csv"}}
    scene.put_source(whenGone="Delete", after="1h", source=other)
    for _ in range(60):
        scene.look()
        assert names(scene) == ["a", "b"]
    scene.look()
    assert names(scene) == ["a"]


def test_an_empty_table_removes_nothing_without_a_confirmation() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = []
    for _ in range(5):
        scene.look()
    assert names(scene) == ["a", "b"]
    removal = scene.status["removal"]
    assert (removal["count"], removal["names"]) == (2, ["a", "b"])
    assert scene.reason("Degraded") == "RemovalHeld"
    assert removal["token"] in scene.message("Degraded")
    scene.annotate(confirm="another")
    scene.look()
    assert names(scene) == ["a", "b"]
    scene.annotate(confirm=removal["token"])
    for _ in range(3):
        scene.look(1)
    assert names(scene) == []
    assert "removal" not in scene.status


def test_too_many_at_once_wait_and_a_confirmation_is_for_exactly_that_set() -> None:
    rows = [row(f"k{n}") for n in range(20)]
    scene = Scene(*rows, whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = rows[6:]
    for _ in range(5):
        scene.look()
    assert len(scene.claims) == 20
    token = scene.status["removal"]["token"]
    scene.store.rows = rows[7:]
    scene.look()
    scene.annotate(confirm=token)
    for _ in range(5):
        scene.look()
    assert len(scene.claims) == 20
    assert scene.status["removal"]["count"] == 7
    scene.annotate(confirm=scene.status["removal"]["token"])
    for _ in range(3):
        scene.look()
    assert len(scene.claims) == 13


def test_few_may_go_at_once_and_many_one_after_the_other_may_not() -> None:
    rows = [row(f"k{n}") for n in range(40)]
    scene = Scene(*rows, whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = rows[5:]
    for _ in range(3):
        scene.look()
    assert len(scene.claims) == 35
    for gone in range(6, 30):
        scene.store.rows = rows[gone:]
        scene.look()
    assert len(scene.claims) >= 34
    assert scene.reason("Degraded") == "RemovalHeld"


def test_max_gone_is_the_larger_of_rows_and_percent() -> None:
    rows = [row(f"k{n}") for n in range(100)]
    scene = Scene(*rows, whenGone="Delete", after="0s", maxGone={"rows": 0, "percent": 10})
    scene.look()
    scene.store.rows = rows[10:]
    for _ in range(3):
        scene.look()
    assert len(scene.claims) == 90


def test_a_suspended_tenant_serves_again_when_its_row_is_back() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Suspend", after="0s")
    scene.look()
    scene.store.rows = [row("a")]
    scene.look()
    scene.look()
    assert scene.claims["b"]["spec"]["suspended"] is True
    assert scene.claims["b"]["metadata"]["annotations"]["edgetenants.io/row-gone"] == "2026-01-01T00:03:00Z"
    scene.take_writes()
    scene.look()
    assert scene.take_writes() == []
    scene.store.rows = [row("a"), row("b")]
    scene.look()
    assert "suspended" not in scene.claims["b"]["spec"]


def test_a_row_that_sets_suspended_itself_is_suspended_when_it_is_gone() -> None:
    template = {"name": "{id}", "spec": {"domains": ["{domain}"], "suspended": "{off}"}}
    rows = [row("a", off=False), row("b", off=False)]
    scene = Scene(*rows, whenGone="Suspend", after="0s", template=template)
    scene.look()
    scene.store.rows = rows[:1]
    scene.look()
    scene.look()
    assert scene.claims["b"]["spec"]["suspended"] is True
    scene.store.rows = rows
    scene.look()
    assert scene.claims["b"]["spec"]["suspended"] is False


def test_a_tenant_stays_suspended_when_another_table_is_read_or_the_policy_changes() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Suspend", after="0s")
    scene.look()
    scene.store.rows = [row("a")]
    scene.look()
    scene.look()
    other = {"configMap": {"name": "others", "key": "rows", "format": "csv"}}
    scene.put_source(whenGone="Delete", after="1h", source=other)
    for _ in range(3):
        scene.look()
    assert scene.claims["b"]["spec"]["suspended"] is True


def test_of_two_rows_for_one_domain_the_one_whose_object_has_it_keeps_it() -> None:
    scene = Scene(row("a", "one.example.com"))
    scene.look()
    scene.store.rows = [row("b", "ONE.example.com"), row("a", "one.example.com", extra=1)]
    scene.look()
    assert names(scene) == ["a"]
    assert [each["key"] for each in scene.status["problems"]] == ["a", "b"]


def test_of_two_new_rows_for_one_domain_or_name_neither_is_made() -> None:
    scene = Scene(row("a", "one.example.com"), row("b", "one.example.com"), row("c"))
    scene.look()
    assert names(scene) == ["c"]
    assert [each["key"] for each in scene.status["problems"]] == ["a", "b"]
    template = {"name": "{slug}", "spec": {"domains": ["{domain}"]}}
    scene = Scene(row("a", slug="x"), row("b", slug="x"), row("c", slug="y"), template=template)
    scene.look()
    assert names(scene) == ["y"]


def test_two_rows_with_one_key_change_nothing() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [row("a", "x.example.com"), row("a", "y.example.com"), row("b")]
    for _ in range(3):
        scene.look()
    assert names(scene) == ["a", "b"]
    assert scene.claims["a"]["spec"]["domains"] == ["a.example.com"]


def test_an_object_keeps_its_name_when_what_it_is_made_of_changes() -> None:
    template = {"name": "{slug}", "spec": {"domains": ["{domain}"]}}
    scene = Scene(row("1", "a.example.com", slug="acme"), template=template, whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [row("1", "b.example.com", slug="umbrella")]
    for _ in range(3):
        scene.look()
    assert names(scene) == ["acme"]
    assert scene.claims["acme"]["spec"]["domains"] == ["b.example.com"]


def test_an_object_of_someone_else_is_not_touched() -> None:
    scene = Scene(row("theirs"), row("other"))
    scene.server.put(CLAIMS, claim("theirs"))
    scene.server.put(CLAIMS, claim("other", labels={"edgetenants.io/source": "another"}))
    scene.look()
    assert scene.take_writes() == []
    assert scene.status["invalid"] == 2
    assert scene.claims["theirs"] == claim("theirs", uid="uid-shop/theirs")


def test_an_object_that_the_cache_has_not_seen_yet_is_not_merged_into() -> None:
    scene = Scene(row("theirs"))
    scene.look()
    scene.store.rows = [row("theirs2")]
    scene.clock.advance(60)
    for informer in (*scene.informers.values(), scene.sources):
        informer.sync()
    scene.server.put(CLAIMS, claim("theirs2"))
    scene.reconciler.reconcile(Managed(scene.sources.cache.get(KEY) or {}))
    assert scene.claims["theirs2"]["spec"] == {"domains": ["theirs.example.com"]}
    assert scene.status["problems"][0]["key"] == "theirs2"


def test_an_object_is_adopted_only_with_the_labels_and_without_another_source() -> None:
    adopt = {"matchLabels": {"adopt": "yes"}}
    scene = Scene(row("a"), row("b"), row("c"), adopt=adopt)
    scene.server.put(CLAIMS, claim("a", labels={"adopt": "yes"}))
    scene.server.put(CLAIMS, claim("b", labels={"adopt": "no"}))
    scene.server.put(CLAIMS, claim("c", labels={"adopt": "yes", "edgetenants.io/source": "another"}))
    scene.look()
    assert scene.claims["a"]["metadata"]["labels"]["edgetenants.io/source"] == "customers"
    assert scene.claims["a"]["spec"]["domains"] == ["a.example.com"]
    assert [each["key"] for each in scene.status["problems"]] == ["b", "c"]


def test_a_field_of_another_manager_is_told_and_not_taken() -> None:
    scene = Scene(row("a"), row("b"))
    scene.look()
    scene.server.edit("a", {"domains": ["by-hand.example.com"]})
    scene.look()
    scene.look()
    assert scene.claims["a"]["spec"]["domains"] == ["by-hand.example.com"]
    [problem] = scene.status["problems"]
    assert (problem["key"], problem["field"]) == ("a", "spec.domains")
    assert "kubectl-edit" in problem["expected"]
    # It is not tried again with each read.
    scene.server.answers["a"] = KubeError(Operation("patch", CLAIMS), 500, "tried again")
    scene.look()
    assert scene.reason("Synced") == "Synced"


def test_what_the_api_server_refuses_concerns_one_row() -> None:
    scene = Scene(row("a"), row("b"), row("c"))
    scene.server.answers["a"] = Invalid(Operation("patch", CLAIMS), 422, 'spec.plan: Invalid value: "secret"')
    refused = 'admission webhook "x" denied the request: secret'
    scene.server.answers["b"] = Forbidden(Operation("patch", CLAIMS), 403, refused)
    scene.look()
    assert names(scene) == ["c"]
    assert [each["field"] for each in scene.status["problems"]] == ["spec.plan", "spec"]
    assert "secret" not in json.dumps(scene.status)


def test_a_missing_right_concerns_all_rows() -> None:
    scene = Scene(row("a"), row("b"))
    scene.server.answers["a"] = Forbidden(Operation("patch", CLAIMS), 403, "no")
    scene.look()
    assert scene.reason("Synced") == "WriteFailed"
    assert 'the RBAC rule apiGroups: ["platform.edgetenants.io"]' in scene.message("Synced")


def test_new_objects_are_created_at_a_pace_and_in_order() -> None:
    rows = [row(f"k{n}", rank=10 - n) for n in range(5)]
    scene = Scene(*rows, maxNew=2, order="rank", pollInterval="1h")
    outcome = scene.look()
    assert names(scene) == ["k3", "k4"]
    assert scene.status["waiting"] == 3
    assert scene.reason("Ready") == "Importing"
    assert outcome is not None
    assert outcome.seconds == 60.0
    scene.restart()
    scene.look(30)
    assert names(scene) == ["k3", "k4"]
    scene.look(60)
    assert names(scene) == ["k1", "k2", "k3", "k4"]
    scene.look()
    assert scene.reason("Ready") == "Following"


def test_a_bad_import_stops() -> None:
    scene = Scene(*(row(f"k{n}") for n in range(9)), maxNotLive=3)
    for _ in range(4):
        scene.look()
    assert names(scene) == ["k0", "k1", "k2"]
    assert "3 objects are not live" in scene.message("Ready")
    scene.set_live("k0")
    scene.look()
    assert len(scene.claims) == 4
    assert scene.status["live"] == 1


def test_a_change_of_an_object_costs_no_read() -> None:
    scene = Scene(row("a"), pollInterval="1h")
    scene.look()
    scene.set_live("a")
    outcome = scene.look(30)
    assert scene.store.reads == 1
    assert scene.status["live"] == 1
    assert outcome is not None
    assert outcome.seconds == 3570


def test_a_change_of_the_source_or_a_request_reads_at_once() -> None:
    scene = Scene(row("a"), pollInterval="1h")
    scene.look()
    scene.put_source(pollInterval="2h")
    scene.look(1)
    body = {"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "1"}}}
    scene.server.patch(SOURCES, KEY, body)
    scene.look(1)
    assert scene.store.reads == 3


def test_a_suspended_source_reads_and_writes_nothing() -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.put_source(suspend=True)
    scene.store.rows = []
    outcome = scene.look()
    assert outcome is not None
    assert outcome.next is Next.NEVER
    assert scene.store.reads == 1
    assert scene.reason("Suspended") == "ManuallySuspended"
    scene.put_source()
    scene.look()
    assert scene.reason("Suspended") == "Active"


def test_a_template_that_does_not_fit_reads_and_writes_nothing() -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.put_source(template={"name": "{id}", "spec": {"domians": ["{domain}"]}})
    scene.look()
    assert scene.store.reads == 1
    assert scene.reason("Synced") == "InvalidSpec"
    assert names(scene) == ["a"]


def deleted(scene: Scene) -> None:
    stored = scene.server.find(SOURCES, KEY)
    assert stored is not None
    stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scene.server.put(SOURCES, stored)
    scene.server.touch(SOURCES, KEY)


def hold(scene: Scene) -> None:
    stored = scene.server.find(SOURCES, KEY) or {}
    stored["metadata"]["finalizers"] = [FINALIZER]
    scene.server.put(SOURCES, stored)


def test_a_source_that_is_deleted_leaves_its_objects() -> None:
    scene = Scene(row("a"))
    scene.look()
    assert not (scene.server.find(SOURCES, KEY) or {})["metadata"].get("finalizers")
    deleted(scene)
    scene.look()
    assert names(scene) == ["a"]


def test_a_source_that_is_deleted_takes_its_objects_along_if_asked() -> None:
    scene = Scene(row("a"), row("theirs"), onDelete="Delete")
    scene.server.put(CLAIMS, claim("theirs"))
    scene.look()
    assert (scene.server.find(SOURCES, KEY) or {})["metadata"]["finalizers"] == [FINALIZER]
    deleted(scene)
    scene.look()
    scene.look()
    assert names(scene) == ["theirs"]
    assert scene.server.find(SOURCES, KEY) is None


INVALID: dict[str, dict[str, Any]] = {
    "another field": {"pollInterval": "soon"},
    "the template": {"template": {"name": "fixed", "spec": {"domains": ["{domain}"]}}},
    "a field that does not exist": {"nope": 1},
}


@pytest.mark.parametrize("what", [*INVALID, "removals without the flag"])
def test_a_source_with_an_invalid_spec_takes_its_objects_along_if_asked(what: str) -> None:
    scene = Scene(row("a"))
    scene.look()
    if what in INVALID:
        scene.put_source(onDelete="Delete", **INVALID[what])
    else:
        scene.put_source(onDelete="Delete", whenGone="Delete")
        scene.removes = False
        scene.restart()
    scene.look()
    assert scene.reason("Synced") == "InvalidSpec"
    assert (scene.server.find(SOURCES, KEY) or {})["metadata"]["finalizers"] == [FINALIZER]
    deleted(scene)
    scene.look()
    scene.look()
    assert names(scene) == []
    assert scene.server.find(SOURCES, KEY) is None


@pytest.mark.parametrize("what", [*INVALID, "removals without the flag"])
def test_a_source_that_never_was_valid_leaves_the_objects_of_an_earlier_one(what: str) -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.server.put(SOURCES, {**(scene.server.find(SOURCES, KEY) or {}), "status": {}})
    scene.recreate_source()
    scene.removes = False
    scene.restart()
    scene.put_source(onDelete="Delete", **INVALID.get(what, {"whenGone": "Delete"}))
    scene.look()
    assert scene.reason("Synced") == "InvalidSpec"
    assert not (scene.server.find(SOURCES, KEY) or {})["metadata"].get("finalizers")
    assert scene.status["objects"] == 1
    assert "deleted with" not in scene.message("Synced")


def test_an_invalid_source_says_how_many_objects_go_with_it() -> None:
    scene = Scene(row("a"), row("b"), onDelete="Delete")
    scene.look()
    scene.put_source(onDelete="Delete", pollInterval="soon")
    hold(scene)
    scene.look()
    assert scene.message("Synced").endswith(". 2 objects are deleted with the TenantSource")
    assert scene.status["objects"] == 2
    scene.put_source(onDelete="Orphan", pollInterval="soon")
    scene.look()
    assert "deleted with" not in scene.message("Synced")


def test_an_invalid_source_says_so_also_if_its_finalizer_is_refused() -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.put_source(onDelete="Delete", pollInterval="soon")

    def refused(*_: Any, **__: Any) -> Any:
        raise Forbidden(Operation("patch", SOURCES, "", KEY.name, NAMESPACE), 403, "no")

    scene.reconciler._parts.writer.patch_metadata = refused  # type: ignore[method-assign]
    scene.look()
    assert scene.reason("Synced") == "InvalidSpec"


@pytest.mark.parametrize("change", ["orphan", "another", "kind"])
def test_who_stops_the_deletion_of_the_objects_is_heard(change: str) -> None:
    scene = Scene(*(row(f"r{n:02}") for n in range(50)), onDelete="Delete")
    scene.look()
    hold(scene)
    deleted(scene)
    delete, tried = scene.server.delete, []

    def orphan() -> None:
        scene.put_source(onDelete="Orphan")
        hold(scene)
        deleted(scene)

    def stopped(kind: Any, key: ObjectKey, **preconditions: Any) -> None:
        delete(kind, key, **preconditions)
        tried.append(key.name)
        if len(tried) == 5:
            {
                "orphan": orphan,
                "another": scene.recreate_source,
                "kind": lambda: setattr(scene, "leaving", True),
            }[change]()

    scene.server.delete = stopped  # type: ignore[method-assign]
    scene.look()
    assert len(tried) == (5 if change == "kind" else 20)
    if change != "another":
        scene.look()
        assert len(scene.claims) == 50 - len(tried)
        assert scene.server.find(SOURCES, KEY) is None


def test_nothing_is_deleted_if_the_source_cannot_be_read_again() -> None:
    scene = Scene(*(row(f"r{n:02}") for n in range(50)), onDelete="Delete")
    scene.look()
    hold(scene)
    deleted(scene)
    get, delete = scene.server.get, scene.server.delete

    def lost(kind: Any, key: ObjectKey) -> dict[str, Any]:
        if kind == SOURCES and len(scene.claims) < 50:
            raise KubeError(Operation("get", SOURCES, "", KEY.name, NAMESPACE), 503, "no")
        return get(kind, key)

    scene.server.get = lost  # type: ignore[method-assign]
    scene.look()
    assert len(scene.claims) == 30
    scene.server.get, scene.server.delete = get, delete  # type: ignore[method-assign]
    scene.look()
    scene.look()
    assert not scene.claims


@pytest.mark.parametrize("what", ["not served", "forbidden"])
def test_a_source_whose_objects_cannot_be_listed_says_so_when_it_is_deleted(what: str) -> None:
    scene = Scene(row("a"), onDelete="Delete")
    scene.look()
    hold(scene)
    deleted(scene)
    informer = scene.informers["TenantClaim"]
    informer.synced, informer.served, informer.forbidden = False, what != "not served", what == "forbidden"
    scene.look()
    assert names(scene) == ["a"]
    assert scene.reason("Synced") == "WriteFailed"


@pytest.mark.parametrize("spec", [{"onDelete": "delete"}, {"template": {**SPEC["template"], "kind": "X"}}])
def test_a_source_that_does_not_say_which_objects_to_delete_stays_and_says_so(spec: dict[str, Any]) -> None:
    scene = Scene(row("a"), onDelete="Delete")
    scene.look()
    scene.put_source(**{"onDelete": "Delete", **spec})
    hold(scene)
    deleted(scene)
    scene.look()
    assert names(scene) == ["a"]
    assert (scene.server.find(SOURCES, KEY) or {})["metadata"]["finalizers"] == [FINALIZER]
    assert scene.reason("Ready") == "Deleting"
    assert "set onDelete to Orphan" in scene.message("Ready")


def test_an_invalid_spec_that_no_longer_asks_to_delete_leaves_the_objects() -> None:
    scene = Scene(row("a"), onDelete="Delete")
    scene.look()
    scene.put_source(pollInterval="soon")
    hold(scene)
    deleted(scene)
    scene.look()
    assert names(scene) == ["a"]
    assert scene.server.find(SOURCES, KEY) is None


def test_a_source_that_goes_with_its_kind_leaves_its_objects() -> None:
    scene = Scene(row("a"), onDelete="Delete")
    scene.look()
    scene.leaving = True
    deleted(scene)
    scene.look()
    assert names(scene) == ["a"]
    assert scene.server.find(SOURCES, KEY) is None


def test_a_source_that_is_created_again_has_its_objects_again() -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.take_writes()
    stored = scene.server.find(SOURCES, KEY)
    assert stored is not None
    stored["metadata"]["uid"] = "another"
    scene.server.put(SOURCES, stored)
    scene.restart()
    scene.look()
    assert scene.take_writes() == []
    assert scene.status["objects"] == 1


def test_an_object_that_changed_since_the_read_is_not_deleted() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [row("a")]
    scene.look()
    scene.clock.advance(60)
    for informer in (*scene.informers.values(), scene.sources):
        informer.sync()
    body = {"metadata": {"labels": {"edgetenants.io/source": None}}}
    scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, "b"), body)
    scene.reconciler.reconcile(Managed(scene.sources.cache.get(KEY) or {}))
    assert names(scene) == ["a", "b"]


def test_a_kind_that_the_cluster_does_not_have_is_said_and_nothing_is_read() -> None:
    scene = Scene(row("a"))
    scene.informers["TenantClaim"].synced = scene.informers["TenantClaim"].served = False
    scene.look()
    assert scene.store.reads == 0
    assert scene.message("Synced") == "the cluster does not have the kind TenantClaim"


def test_nothing_is_read_before_the_objects_are_known() -> None:
    scene = Scene(row("a"))
    scene.informers["TenantClaim"].synced = False
    outcome = scene.look()
    assert outcome is not None
    assert outcome.next is Next.AFTER
    assert scene.store.reads == 0


def labels(scene: Scene) -> set[tuple[str, ...]]:
    metrics = scene.reconciler._parts.metrics
    counters = (metrics._reads, metrics._writes)
    families = [*metrics.collect(), *(family for each in counters for family in each.collect())]
    return {tuple(sample.labels.values()) for family in families for sample in family.samples}


def test_a_source_that_is_gone_has_no_metrics() -> None:
    scene = Scene(row("a"))
    scene.look()
    assert ("shop", "customers", "complete") in labels(scene)
    assert ("shop", "customers", "create", "written") in labels(scene)
    scene.reconciler.forget("uid-source")
    assert labels(scene) == set()


def test_the_metrics_of_a_source_stay_when_an_earlier_one_of_its_name_goes() -> None:
    scene = Scene(row("a"))
    scene.look()
    scene.recreate_source()
    scene.look()
    scene.reconciler.forget("uid-source")
    assert ("shop", "customers", "complete") in labels(scene)
