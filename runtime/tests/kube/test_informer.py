"""The informer and its client against a scripted API server, and the cache alone."""

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.kube.cache import Cache, ChangeType, ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound, why
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.kube.transform import Transform
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.testing import TOYS

Until = Callable[[Callable[[], Any]], None]


def obj(name: str, version: int, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": str(version)}
        | metadata
    }


def page(version: int, *items: dict[str, Any], token: str = "") -> tuple[int, dict[str, Any]]:
    return 200, {"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(items)}


def event(type_: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "object": obj}


GONE = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
BOOKMARK = event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})


class Impatient(Informer):
    FIRST_RETRY = 0.01
    LONGEST_RETRY = 0.05


@pytest.fixture
def informer(client: KubeClient) -> Iterator[Informer]:
    informer = Impatient(client, TOYS, random.Random(1))
    informer.changes = []  # type: ignore[attr-defined]
    informer.add_handler(informer.changes.append)  # type: ignore[attr-defined]
    yield informer
    informer.stop()


def told(informer: Any) -> list[str]:
    return [f"{change.type} {change.key.name}" for change in informer.changes]


def names(informer: Informer) -> list[str]:
    return sorted(key.name for key in informer.cache.keys())  # noqa: SIM118


def test_pages_are_listed_before_it_is_synced(api: Any, informer: Informer) -> None:
    api.lists = [page(7, obj("a", 1), token="more"), page(7, obj("b", 2))]
    informer.start()
    assert informer.wait_synced(5)
    assert told(informer) == ["Listed a", "Listed b"]
    assert [query.get("continue") for query in api.queries(watch=False)] == [None, "more"]


def test_changes_are_followed_from_the_lists_version(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7, obj("a", 1))]
    api.watches = [
        [event("ADDED", obj("b", 8)), event("MODIFIED", obj("a", 9)), event("DELETED", obj("b", 10)), "hang"]
    ]
    informer.start()
    until(lambda: len(told(informer)) == 4)
    assert told(informer) == ["Listed a", "Added b", "Modified a", "Deleted b"]
    watch = api.queries(watch=True)[0]
    assert (watch["resourceVersion"], watch["allowWatchBookmarks"]) == ("7", "true")


def test_a_watch_that_ends_goes_on_from_the_last_bookmark(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7)]
    api.watches = [[event("ADDED", obj("b", 8)), BOOKMARK], ["hang"]]
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert [query["resourceVersion"] for query in api.queries(watch=True)] == ["7", "50"]
    assert len(api.queries(watch=False)) == 1


def test_a_forgotten_past_is_listed_anew(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7, obj("a", 1), obj("b", 2)), page(60, obj("b", 55), obj("c", 56))]
    api.watches = [[GONE], ["hang"]]
    informer.start()
    until(lambda: len(told(informer)) == 5)
    assert told(informer) == ["Listed a", "Listed b", "Modified b", "Listed c", "Deleted a"]
    assert names(informer) == ["b", "c"]


def test_a_cut_connection_is_watched_anew_from_where_it_was(
    api: Any, informer: Informer, until: Until
) -> None:
    api.lists = [page(7)]
    api.watches = [[event("ADDED", obj("b", 8)), "drop"], ["hang"]]
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert api.queries(watch=True)[1]["resourceVersion"] == "8"
    assert len(api.queries(watch=False)) == 1


def test_a_refused_list_is_named_logged_once_and_retried(api: Any, informer: Informer, until: Until) -> None:
    refused = 403, {"kind": "Status", "code": 403, "message": "toys is forbidden"}
    api.lists = [refused] * 4 + [page(7)]
    with capture_logs() as logs:
        informer.start()
        until(lambda: informer.problem)
        assert 'apiGroups: ["toys.m.example.org"], resources: ["toys"], verbs: ["list"]' in informer.problem
        assert not informer.synced
        assert informer.wait_synced(5)
    assert informer.problem == ""
    assert [line["event"] for line in logs] == [
        "cannot read objects, backing off",
        "objects can be read again",
    ]


def test_a_kind_that_is_not_served_is_waited_for(api: Any, informer: Informer, until: Until) -> None:
    informer.FIRST_RETRY = informer.LONGEST_RETRY = 60.0
    api.lists = [(404, {}), page(7, obj("a", 1))]
    informer.start()
    until(lambda: not informer.served)
    informer.poke()
    assert informer.wait_synced(5)
    assert informer.served


def test_a_server_that_ends_every_watch_is_not_asked_in_a_hot_loop(
    api: Any, informer: Informer, until: Until
) -> None:
    informer.FIRST_RETRY = 60.0
    api.lists = [page(7)]
    api.watches = [[]]
    informer.start()
    until(lambda: api.queries(watch=True))
    informer.stop()
    assert len(api.queries(watch=True)) == 1


def test_a_stop_ends_a_silent_watch(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7)]
    informer.start()
    until(lambda: api.queries(watch=True))
    informer.stop(timeout=5)
    assert not informer._thread.is_alive()


def test_a_list_whose_snapshot_is_compacted_between_pages_is_read_at_once(
    api: Any, informer: Informer, until: Until
) -> None:
    expired = 410, {"code": 410, "reason": "Expired", "message": "continue token too old"}
    api.lists = [page(7, obj("a", 1), token="more"), expired, page(9, obj("a", 1), obj("b", 8))]
    informer.start()
    assert informer.wait_synced(5)
    assert told(informer) == ["Listed a", "Listed b"]
    assert [(q["limit"], q.get("continue")) for q in api.queries(watch=False)] == [
        ("50", None),
        ("100", "more"),
        ("0", None),
    ]


def test_a_forgotten_past_told_by_status_is_listed_anew(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7, obj("a", 1)), page(60, obj("b", 55))]
    api.watches = [410, "hang"]
    informer.start()
    until(lambda: names(informer) == ["b"])
    assert told(informer) == ["Listed a", "Listed b", "Deleted a"]


@pytest.mark.usefixtures("client")
def test_a_silent_watch_is_taken_for_dead(api: Any, tmp_path: Path, until: Until) -> None:
    impatient = KubeClient.from_kubeconfig(tmp_path / "kubeconfig", watch_silence=0.05)
    informer = Impatient(impatient, TOYS, random.Random(1))
    api.lists = [page(7)]
    api.watches = [[event("ADDED", obj("b", 8)), "hang"]]
    informer.start()
    until(lambda: len(api.queries(watch=True)) >= 2)
    informer.stop()
    assert api.queries(watch=True)[1]["resourceVersion"] == "8"
    assert len(api.queries(watch=False)) == 1


def test_a_refused_watch_backs_off_without_listing_anew(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7)]
    api.watches = [403]
    informer.start()
    until(lambda: len(api.queries(watch=True)) >= 4)
    assert 'verbs: ["watch"]' in informer.problem
    assert informer._failures >= 3
    assert len(api.queries(watch=False)) == 1


def test_a_server_restored_from_a_backup_is_believed(api: Any, informer: Informer, until: Until) -> None:
    too_large = {"code": 504, "reason": "Timeout", "message": "Too large resource version: 700, current: 40"}
    api.lists = [page(700, obj("a", 650), obj("b", 600)), page(40, obj("a", 30))]
    api.watches = [[event("ERROR", too_large)], "hang"]
    with capture_logs() as logs:
        informer.start()
        until(lambda: names(informer) == ["a"])
    assert told(informer) == ["Listed a", "Listed b", "Deleted b", "Listed a"]
    assert version(informer.cache, "a") == "30"
    assert "the API server returned an older resource version, replacing the cache" in [
        line["event"] for line in logs
    ]


RESTORED = [obj("a", 30)]


def restored(api: Any, *watches: Any) -> None:
    """The server has lost its last versions, and accepts a watch from a version that it has not reached."""
    api.lists = [page(700, obj("a", 650), obj("b", 600)), page(40, *RESTORED)]
    api.watches = [*watches, "hang"]


def test_a_restored_server_that_accepts_later_versions_is_noticed_before_the_next_watch(
    api: Any, informer: Informer, until: Until
) -> None:
    api.reached = "40"
    restored(api, ["drop"])
    informer.start()
    until(lambda: names(informer) == ["a"])
    assert told(informer) == ["Listed a", "Listed b", "Deleted b", "Listed a"]
    assert version(informer.cache, "a") == "30"
    until(lambda: len(api.queries(watch=True)) == 2)
    assert [query["resourceVersion"] for query in api.queries(watch=True)] == ["700", "40"]


def test_a_server_that_does_not_say_its_version_is_watched_on(
    api: Any, informer: Informer, until: Until
) -> None:
    """As while it refuses lists (429), and not watches."""
    api.lists = [page(7)]
    api.watches = [[event("ADDED", obj("b", 8)), "drop"], ["hang"]]
    api.reached = None
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert api.queries(watch=True)[1]["resourceVersion"] == "8"
    assert informer.problem == ""


@pytest.mark.parametrize("earlier", [BOOKMARK, event("MODIFIED", obj("a", 50))])
def test_an_event_of_an_earlier_version_is_of_a_restored_server(
    api: Any, informer: Informer, until: Until, earlier: Any
) -> None:
    restored(api, [earlier, "hang"])
    informer.start()
    until(lambda: names(informer) == ["a"])
    assert version(informer.cache, "a") == "30"


def test_a_backup_restored_with_raised_versions_is_believed(
    api: Any, informer: Informer, until: Until
) -> None:
    """`etcdutl snapshot restore --bump-revision`: a new version of the list, the objects of the backup."""
    gone = {"code": 410, "reason": "Expired", "message": "too old resource version"}
    api.lists = [page(700, obj("a", 650), obj("b", 600)), page(9000, obj("a", 30), obj("b", 600))]
    api.watches = [[event("ERROR", gone)], "hang"]
    informer.start()
    until(lambda: version(informer.cache, "a") == "30")
    assert told(informer) == ["Listed a", "Listed b", "Modified a"]


def test_a_server_whose_events_are_always_earlier_is_not_listed_without_a_pause(
    api: Any, client: KubeClient, until: Until
) -> None:
    informer = Informer(client, TOYS, random.Random(1))
    rests = list[float]()
    informer._rest = lambda seconds: (rests.append(seconds), informer._stopping.wait(0.01))  # type: ignore[assignment, return-value]
    api.lists = [page(700)]
    api.watches = [[event("MODIFIED", obj("a", 50)), "hang"]]
    informer.start()
    until(lambda: len(api.queries(watch=True)) >= 4)
    informer.stop()
    assert len(rests) >= 3
    assert min(rests) >= 0.75


def test_at_no_moment_of_a_restore_is_an_object_missing_that_exists() -> None:
    """Who counts the objects meanwhile would take them for deleted."""
    cache = Cache()
    cache.replaced([obj("a", 650), obj("b", 600)], "700")
    put = cache._put

    def watched(each: Any) -> bool:
        assert cache._lock.locked(), "others see the whole list or nothing of it"
        return put(each)

    cache._put = watched  # type: ignore[method-assign]
    changes = cache.restored([obj("a", 30), obj("c", 31)])
    assert [f"{change.type} {change.key.name}" for change in changes] == ["Deleted b", "Listed a", "Listed c"]
    assert sorted(each["metadata"]["name"] for each in cache.objects()) == ["a", "c"]


def test_a_list_that_is_older_than_our_own_write_changes_nothing() -> None:
    cache = Cache()
    cache.replaced([obj("a", 5)], "7")
    cache.observed(obj("a", 9))
    assert cache.replaced([obj("a", 5)], "8") == []
    assert version(cache, "a") == "9"


def test_the_objects_go_with_their_kind_and_come_back_with_it(
    api: Any, client: KubeClient, until: Until
) -> None:
    served = [True]
    informer: Any = Impatient(client, TOYS, random.Random(1), gate=lambda: served[0])
    informer.GATE_SECONDS = 0.01
    informer.changes = []
    informer.add_handler(informer.changes.append)
    end = threading.Event()
    api.lists = [page(7, obj("a", 1)), page(90, obj("a", 80, uid="another"))]
    api.watches = [[end], "hang"]
    informer.start()
    assert informer.wait_synced(5)
    served[0] = False
    end.set()
    until(lambda: told(informer) == ["Listed a", "Deleted a"])
    assert not informer.served
    served[0] = True
    until(lambda: told(informer) == ["Listed a", "Deleted a", "Listed a"])
    informer.stop()


def test_a_kind_whose_crd_cannot_be_read_is_taken_for_gone_after_some_refusals(
    api: Any, informer: Informer, until: Until
) -> None:
    api.lists = [page(7, obj("a", 1)), (404, {})]
    api.watches = [404]
    informer.start()
    until(lambda: told(informer) == ["Listed a", "Deleted a"])
    assert len(api.queries(watch=False)) + len(api.queries(watch=True)) > informer.GONE_AFTER


def test_objects_of_a_kind_that_is_known_to_exist_stay_whatever_the_server_answers(
    api: Any, client: KubeClient, until: Until
) -> None:
    """One of several API servers may have lost the kind for a while."""
    informer: Any = Impatient(client, TOYS, random.Random(1), exists=lambda: True)
    informer.changes = []
    informer.add_handler(informer.changes.append)
    api.lists = [page(7, obj("a", 1)), *[(404, {})] * 9, page(9, obj("a", 1), obj("b", 8))]
    api.watches = [404, "hang"]
    informer.start()
    until(lambda: names(informer) == ["a", "b"])
    assert told(informer) == ["Listed a", "Listed b"]
    informer.stop()


def test_a_server_that_has_just_started_and_knows_no_kinds_yet_costs_nothing(
    api: Any, informer: Informer, until: Until
) -> None:
    api.lists = [page(7, obj("a", 1)), (404, {}), page(9, obj("a", 1), obj("b", 8))]
    api.watches = [404, "hang"]
    informer.start()
    until(lambda: names(informer) == ["a", "b"])
    assert told(informer) == ["Listed a", "Listed b"]


def test_a_raising_handler_does_not_end_the_informer(api: Any, client: KubeClient, until: Until) -> None:
    informer = Impatient(client, TOYS, random.Random(1))
    seen: list[ObjectChange] = []

    def handle(change: ObjectChange) -> None:
        seen.append(change)
        if len(seen) == 1:
            raise KeyError("bug")

    informer.add_handler(handle)
    api.lists = [page(7, obj("a", 1), obj("b", 2))]
    informer.start()
    until(lambda: [change.key.name for change in seen] == ["a", "b"])
    informer.stop()


# Watches that do not work.

BROKEN = event("ERROR", {"kind": "Status", "code": 500, "message": "the watch cache is not ready"})


@pytest.mark.parametrize("begins", [[GONE], [BROKEN], 410, 500], ids=["410", "500", "HTTP 410", "HTTP 500"])
def test_a_watch_that_never_works_is_asked_for_less_and_less_and_named(
    api: Any, informer: Informer, until: Until, begins: Any
) -> None:
    api.lists = [page(7, obj("a", 1))]
    api.watches = [begins]
    with capture_logs() as logs:
        informer.start()
        until(lambda: len(api.queries(watch=True)) >= 6)
        until(lambda: informer.problem)
    assert informer._failures >= 3
    assert informer.problem.startswith("cannot watch toys.toys.m.example.org: ")
    assert [line["event"] for line in logs].count("cannot read objects, backing off") <= 2
    assert names(informer) == ["a"]


@pytest.mark.parametrize("works", [[BOOKMARK, "hang"], [event("ADDED", obj("b", 8)), "hang"]])
@pytest.mark.parametrize("begins", [[GONE], [BROKEN]], ids=["410", "500"])
def test_a_watch_that_works_again_is_believed_when_it_tells_something(
    api: Any, informer: Informer, until: Until, begins: Any, works: Any
) -> None:
    api.lists = [page(7)]
    api.watches = [begins, begins, begins, works]
    informer.start()
    until(lambda: informer.problem)
    until(lambda: not informer.problem and len(api.queries(watch=True)) == 4)
    assert (informer._failures, informer._broken_watches) == (0, 0)


def test_a_watch_that_is_forgotten_once_is_no_problem(api: Any, informer: Informer, until: Until) -> None:
    api.lists = [page(7)]
    api.watches = [[event("ADDED", obj("b", 8)), GONE], [BOOKMARK, GONE], "hang"]
    with capture_logs() as logs:
        informer.start()
        until(lambda: len(api.queries(watch=True)) == 3)
    assert (informer.problem, [line for line in logs if "backing off" in line["event"]]) == ("", [])


# Handlers.


def test_a_raising_handler_silences_no_other(api: Any, client: KubeClient, until: Until) -> None:
    informer = Impatient(client, TOYS, random.Random(1))
    seen: list[ObjectChange] = []
    informer.add_handler(lambda _: {}["bug"])
    informer.add_handler(seen.append)
    api.lists = [page(7, obj("a", 1), obj("b", 2))]
    informer.start()
    until(lambda: [change.key.name for change in seen] == ["a", "b"])
    informer.stop()


def test_a_listener_that_raises_at_our_own_write_silences_no_other_and_fails_no_write() -> None:
    cache, seen = Cache(), []
    cache.on_own_write(lambda _: {}["bug"])
    cache.on_own_write(seen.append)
    cache.observed(obj("a", 5))
    assert [(change.type, change.key.name) for change in seen] == [(ChangeType.ADDED, "a")]


# The client.


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (403, "Forbidden", Forbidden),
    ],
)
def test_refusals_have_their_own_class(
    api: Any, client: KubeClient, status: int, reason: str, error: type[KubeError]
) -> None:
    path = "/api/v1/namespaces/shop/secrets/x"
    api.others[f"PATCH {path}"] = status, {"code": status, "reason": reason, "message": "m" * 2000}
    with pytest.raises(error, match="cannot patch secrets shop/x") as raised:
        client.patch(SECRETS, ObjectKey("shop", "x"), {})
    assert raised.value.code == status
    assert len(str(raised.value)) < 1000


def test_what_is_refused_is_remembered_until_it_is_permitted(api: Any, client: KubeClient) -> None:
    path = "PATCH /api/v1/namespaces/shop/secrets/x"
    api.others[path] = 403, {"code": 403, "message": "no"}
    with pytest.raises(Forbidden):
        client.patch(SECRETS, ObjectKey("shop", "x"), {})
    assert len(client.refused) == 1
    api.others[path] = 200, obj("x", 1)
    client.patch(SECRETS, ObjectKey("shop", "x"), {})
    assert client.refused == ()


def test_a_terminating_namespace_is_no_missing_rule(api: Any, client: KubeClient) -> None:
    causes = {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}
    api.others["POST /api/v1/namespaces/shop/secrets"] = 403, {"code": 403, "reason": "Forbidden"} | causes
    with pytest.raises(KubeError) as raised:
        client.create(SECRETS, obj("x", 1))
    assert not isinstance(raised.value, Forbidden)


def test_no_answer_is_a_transient_error(api: Any, client: KubeClient) -> None:
    client._api.configuration.host = "http://127.0.0.1:9"
    with pytest.raises(KubeError, match="Connection refused") as raised:
        client.get(SECRETS, ObjectKey("shop", "x"))
    assert (raised.value.code, raised.value.transient) == (0, True)


def test_memory_addresses_do_not_make_messages_unique() -> None:
    assert why(OSError("<Connection object at 0x7f0011>: refused")) == "OSError: <Connection>: refused"


# The cache.


def version(cache: Cache, name: str) -> str | None:
    found = cache.get(ObjectKey("shop", name))
    return found["metadata"]["resourceVersion"] if found else None


def test_our_own_write_is_read_at_once_and_its_echo_is_no_news() -> None:
    cache = Cache()
    cache.changed(obj("a", 5))
    cache.observed(obj("a", 7))
    assert version(cache, "a") == "7"
    assert cache.changed(obj("a", 6)) == ()
    assert cache.changed(obj("a", 7)) == ()
    assert version(cache, "a") == "7"


def test_a_late_answer_does_not_bring_back_what_is_gone() -> None:
    cache = Cache()
    cache.changed(obj("a", 5))
    cache.deleted(obj("a", 8))
    cache.observed(obj("a", 7))
    assert len(cache) == 0


def test_removing_the_last_finalizer_is_seen_at_once() -> None:
    cache = Cache()
    cache.changed(obj("a", 5, finalizers=["x"]))
    cache.observed(obj("a", 6, deletionTimestamp="now"))
    assert len(cache) == 0


def test_a_deletion_of_a_predecessor_leaves_the_successor() -> None:
    cache = Cache()
    cache.changed(obj("a", 9, uid="new"))
    assert cache.deleted(obj("a", 8, uid="old")) is None
    assert version(cache, "a") == "9"


def test_a_list_drops_what_it_lacks_but_not_what_is_newer() -> None:
    cache = Cache()
    cache.changed(obj("old", 5))
    cache.changed(obj("new", 30))
    changes = cache.replaced([], "20")
    assert [(change.type, change.key.name) for change in changes] == [(ChangeType.DELETED, "old")]


def test_indexes_follow_the_objects() -> None:
    cache = Cache({"colour": lambda o: str(o.get("colour"))})
    cache.changed(obj("a", 1) | {"colour": "red"})
    cache.changed(obj("b", 2) | {"colour": "red"})
    cache.changed(obj("a", 3) | {"colour": "blue"})
    assert [o["metadata"]["name"] for o in cache.by_index("colour", "red")] == ["b"]
    assert cache.keys_by_index("colour", "red") == [ObjectKey("shop", "b")]
    cache.deleted(obj("b", 4))
    assert cache.by_index("colour", "red") == []
    assert cache.keys_by_index("colour", "red") == []


def test_no_more_keys_are_read_than_asked_for() -> None:
    cache = Cache({"colour": lambda _: "red"})
    for number in range(5):
        cache.changed(obj(f"toy-{number}", number + 1))
    found = [len(cache.keys_by_index("colour", "red", most)) for most in (None, 9, 3, 0)]
    assert found == [5, 5, 3, 0]


def test_managed_fields_are_not_kept() -> None:
    cache = Cache(keep=Transform())
    cache.changed(obj("a", 1, managedFields=[{"manager": "x"}]))
    found = cache.get(ObjectKey("shop", "a"))
    assert found is not None
    assert "managedFields" not in found["metadata"]


@pytest.mark.parametrize("listed", [True, False])
def test_what_is_made_again_under_its_name_is_two_changes(listed: bool) -> None:
    cache = Cache()
    cache.changed(obj("a", 5))
    changes = cache.changed(obj("a", 9, uid="again"), listed=listed)
    come = ChangeType.LISTED if listed else ChangeType.ADDED
    assert [change.type for change in changes] == [ChangeType.DELETED, come]
    assert [uid_of(change.old) for change in changes] == ["uid-a", None]
    assert [uid_of(change.new) for change in changes] == [None, "again"]


def test_a_late_answer_does_not_bring_back_what_was_made_again() -> None:
    cache = Cache()
    cache.changed(obj("a", 5))
    cache.changed(obj("a", 9, uid="again"))
    cache.deleted(obj("a", 11, uid="again"))
    cache.observed(obj("a", 12))
    assert cache.get(ObjectKey("shop", "a")) is None


def test_what_a_relist_brings_under_an_old_name_is_told_in_order() -> None:
    cache = Cache()
    cache.replaced([obj("a", 5), obj("b", 6)], "7")
    changes = cache.replaced([obj("a", 9, uid="again")], "20")
    assert [(change.type, change.key.name) for change in changes] == [
        (ChangeType.DELETED, "a"),
        (ChangeType.LISTED, "a"),
        (ChangeType.DELETED, "b"),
    ]


def uid_of(found: Any) -> str | None:
    return str(found["metadata"]["uid"]) if found else None
