"""After an outage of the API server, its state may be that of a backup."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from edgetenants_runtime.kube import outages
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.outages import Outages
from edgetenants_runtime.testing import TOYS

Until = Callable[[Callable[[], Any]], None]


class Impatient(Informer):
    FIRST_RETRY = 0.01
    LONGEST_RETRY = 0.05


@pytest.fixture
def informer(client: KubeClient) -> Iterator[Informer]:
    informer = Impatient(client, TOYS, random.Random(1))
    informer._outages._pause = 0.0
    yield informer
    informer.stop()


def obj(name: str, version: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
        }
    }


def page(version: int, *items: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return 200, {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def event(type_: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "object": obj}


BOOKMARK = event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})


def restored(api: Any, *ends: Any) -> None:
    """A backup of version 40 is restored, and the server has passed version 50, which was seen last."""
    changes = [
        event("DELETED", obj("c", 44)),
        event("ADDED", obj("b", 45)),
        event("MODIFIED", obj("a", 46)),
        BOOKMARK,
    ]
    api.lists = [page(43, obj("a", 30), obj("c", 20)), page(61, obj("a", 30), obj("c", 20), obj("d", 55))]
    api.watches = [[*changes, *ends], "hang"]
    api.reached = "61"


def versions(informer: Informer) -> dict[str, str]:
    known = [each["metadata"] for each in informer.cache.objects()]
    return {each["name"]: each["resourceVersion"] for each in known}


RESTORED = {"a": "30", "c": "20", "d": "55"}


@pytest.mark.parametrize("end", [[4, "drop"], [4]], ids=["broken", "ended"])
def test_a_server_that_has_passed_the_last_version_is_listed_after_an_outage(
    api: Any, informer: Informer, until: Until, end: list[Any]
) -> None:
    """An attempt makes two requests, and two attempts failed."""
    restored(api, *end)
    informer.start()
    until(lambda: versions(informer) == RESTORED)
    until(lambda: len(api.queries(watch=True)) == 2)
    assert [query["resourceVersion"] for query in api.queries(watch=True)] == ["43", "61"]
    assert len(api.queries(watch=False)) == 2


@pytest.mark.parametrize("end", [["drop"], [2, "drop"], [2], [1]])
def test_a_server_that_is_soon_replaced_by_another_is_not_listed(
    api: Any, informer: Informer, until: Until, end: list[Any]
) -> None:
    """As in a rolling restart of several API servers."""
    restored(api, *end)
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert api.queries(watch=True)[1]["resourceVersion"] == "50"
    assert len(api.queries(watch=False)) == 1


@pytest.mark.parametrize("end", [["drop"], [2]], ids=["broken", "refused"])
def test_a_reconnection_that_takes_long_is_an_outage(
    api: Any, informer: Informer, until: Until, monkeypatch: pytest.MonkeyPatch, end: list[Any]
) -> None:
    monkeypatch.setattr(Outages, "SHORT", 0.0)
    restored(api, *end)
    informer.start()
    until(lambda: versions(informer) == RESTORED)


def test_a_connection_that_breaks_after_a_long_silence_was_cut_off(
    api: Any, informer: Informer, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outages, "QUIET", 0.0)
    restored(api, "drop")
    informer.start()
    until(lambda: versions(informer) == RESTORED)


def test_a_server_that_answers_watches_before_lists_is_asked_again_soon(
    api: Any, informer: Informer, until: Until
) -> None:
    """Otherwise the list would wait until that watch ends."""
    restored(api, 5, "drop")
    api.watches = [*api.watches[:1], [], "hang"]
    informer.start()
    until(lambda: versions(informer) == RESTORED)
    assert api.queries(watch=True)[1]["timeoutSeconds"] == "15"


def test_a_server_that_refuses_lists_after_an_outage_is_not_asked_in_a_hot_loop(
    api: Any, informer: Informer, until: Until
) -> None:
    restored(api, 4, "drop")
    api.reached = None
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert api.queries(watch=True)[1]["timeoutSeconds"] == "15"


def test_a_list_that_has_to_wait_ends_the_watch_in_time(api: Any, informer: Informer, until: Until) -> None:
    informer._outages._pause = 60.0
    restored(api, 4, "drop")
    informer.start()
    until(lambda: len(api.queries(watch=True)) == 2)
    assert 50 < int(api.queries(watch=True)[1]["timeoutSeconds"]) <= 60
    assert len(api.queries(watch=False)) == 1


def watched(api: Any) -> list[str]:
    """The versions from which it was watched."""
    return [query["resourceVersion"] for query in api.queries(watch=True)]


@pytest.mark.parametrize("code", [403, 410, 429, 500, 503, 504])
def test_a_server_that_refuses_the_list_after_an_outage_is_watched_on(
    api: Any, informer: Informer, until: Until, code: int
) -> None:
    """As a server that has just started: without a watch, `writes: Frozen` would not be seen for minutes."""
    restored(api, 4, "drop")
    refused = code, {"code": code, "message": "too many requests"}
    # The whole list is asked for again without pages if its first page is Gone.
    api.lists = [api.lists[0], *[refused] * 9, page(63, obj("d", 62))]
    api.watches = [api.watches[0], [event("ADDED", obj("d", 62)), "hang"]]
    informer.start()
    until(lambda: versions(informer) == {"a": "46", "b": "45", "d": "62"})
    assert watched(api) == ["43", "50"]
    assert api.queries(watch=True)[1]["timeoutSeconds"] == "15"
    assert informer.problem.startswith("cannot list toys.toys.m.example.org: ")
    assert (informer.served, informer.synced) == (True, True)


def test_a_list_that_was_refused_is_tried_again_and_replaces_the_cache(
    api: Any, informer: Informer, until: Until
) -> None:
    informer._outages.AGAIN = 0.0  # type: ignore[misc]
    restored(api, 4, "drop")
    api.lists = [api.lists[0], (429, {}), (503, {}), api.lists[1]]
    api.watches = [api.watches[0], [], [event("ADDED", obj("e", 62))], "hang"]
    informer.start()
    until(lambda: versions(informer) == RESTORED)
    until(lambda: len(watched(api)) == 4)
    assert watched(api) == ["43", "50", "50", "61"]
    assert informer.problem == ""


def test_a_refused_list_is_not_tried_again_when_the_watch_ends_at_once(
    api: Any, informer: Informer, until: Until
) -> None:
    """Otherwise an overloaded server would be asked for everything each second, for each kind."""
    restored(api, 4, "drop")
    api.lists = [api.lists[0], (429, {})]
    api.watches = [api.watches[0], []]
    informer.start()
    until(lambda: len(watched(api)) >= 5)
    assert len(api.queries(watch=False)) == 2
    assert informer.problem.startswith("cannot list ")


@pytest.mark.parametrize("error", [500, 504])
def test_a_server_that_refuses_watches_for_a_moment_and_lists_for_long_is_watched_on(
    api: Any, informer: Informer, until: Until, error: int
) -> None:
    restored(api, "drop")
    api.lists = [api.lists[0], (429, {})]
    api.watches = [api.watches[0], error, [event("ADDED", obj("d", 62)), "hang"]]
    informer.start()
    until(lambda: versions(informer) == {"a": "46", "b": "45", "d": "62"})
    assert watched(api) == ["43", "50", "50"]
    assert informer.problem.startswith("cannot list ")
    assert api.queries(watch=True)[2]["timeoutSeconds"] == "15", "the list stays due"


def test_a_restore_that_is_noticed_needs_the_list_however_often_it_is_refused(
    api: Any, informer: Informer, until: Until
) -> None:
    """Nothing is watched from a version of the lost history."""
    restored(api, 4, "drop")
    api.lists = [api.lists[0], *[(429, {})] * 4, api.lists[1]]
    api.reached = "41"
    informer.start()
    until(lambda: len(watched(api)) == 2)
    assert versions(informer) == RESTORED
    assert watched(api) == ["43", "61"]
    assert informer.problem == ""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds."""
    time = [0.0]

    class Stopped:
        def __init__(self) -> None:
            self._start = time[0]

        def elapsed(self) -> float:
            return time[0] - self._start

    monkeypatch.setattr(outages, "Stopwatch", Stopped)
    return time


def outage(each: Outages) -> float | None:
    """Seconds until the list after an outage."""
    for _ in range(2):
        each.failed(transient=True)
    each.answered()
    return each.in_doubt


def test_a_server_that_comes_and_goes_is_listed_less_and_less_often(now: list[float]) -> None:
    found, waits = Outages(), list[float | None]()
    for _ in range(6):
        waits.append(outage(found))
        now[0] += waits[-1] or 0.0
        assert found.in_doubt == 0.0
        found.listed()
        assert found.in_doubt is None
    assert waits == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0]
    now[0] += 1_201.0
    assert outage(found) == 0.0
    found.listed()
    assert outage(found) == 60.0


def test_a_list_that_is_refused_is_due_again_less_and_less_often(now: list[float]) -> None:
    found, waits = Outages(), list[float | None]()
    now[0] += 60.0
    assert outage(found) == 0.0
    for retry_after in (0.0, 0.0, 0.0, 0.0, 90.0):
        found.refused(retry_after)
        found.answered()
        waits.append(found.in_doubt)
        now[0] += waits[-1] or 0.0
        assert found.in_doubt == 0.0
    assert waits == [15.0, 30.0, 60.0, 60.0, 90.0]
    found.listed()
    assert found.in_doubt is None
    now[0] += 600.0
    assert outage(found) == 0.0
    found.refused(0.0)
    assert found.in_doubt == 15.0


def test_a_list_for_another_reason_serves_as_well_and_lengthens_no_pause(now: list[float]) -> None:
    found = Outages()
    now[0] += 100.0
    found.listed()
    assert outage(found) == 60.0


def test_refusals_of_the_provider_are_no_outage(now: list[float]) -> None:
    found = Outages()
    for _ in range(9):
        found.failed(transient=False)
    now[0] += 4.0
    found.answered()
    assert found.in_doubt is None


def test_failures_far_apart_are_no_outage(now: list[float]) -> None:
    found = Outages()
    for _ in range(9):
        found.failed(transient=True)
        now[0] += 4.0
        found.answered()
    assert found.in_doubt is None
