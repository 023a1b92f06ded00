"""What was made for a managed resource that went meanwhile is deleted, or has another managed resource."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime import Change, ExternalError, Managed, NotYet, Observation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.reconcile import leftovers
from edgetenants_runtime.reconcile.leftovers import Leftovers
from edgetenants_runtime.testing import toy

Until = Callable[[Callable[[], Any]], None]


class Outside:
    """An external world; its own connector and client."""

    def __init__(self, *names: str | None) -> None:
        self.there = set(names)
        self.troubles: list[BaseException] = []
        self.deleted: list[Managed] = []

    def connect(self, mr: Managed) -> Outside:
        if self.troubles:
            raise self.troubles.pop(0)
        return self

    def observe(self, mr: Managed) -> Observation:
        return Observation(exists=mr.external_name in self.there)

    def delete(self, mr: Managed, seen: Observation) -> Change:
        self.deleted.append(mr)
        self.there.discard(mr.external_name)
        return Change()


def left_behind(
    outside: Any, *names: str | None, has_another: Callable[[Managed], bool] = lambda _: False
) -> Leftovers:
    made = Leftovers(outside, has_another)
    for name in names:
        obj = toy()
        obj["metadata"] |= {"uid": f"uid-{name}", "name": f"mr-{name}"}
        made.note(Managed(obj), name)
    return made


def said(leftovers_: Leftovers, rounds: int = 2) -> list[str]:
    with capture_logs() as logged:
        for _ in range(rounds):
            leftovers_.round()
    return [line["event"] for line in logged if line["log_level"] != "debug"]


def test_it_is_deleted_by_its_name_as_the_resource_would_have_been() -> None:
    outside = Outside("one", "two")
    left = left_behind(outside, "one", "two")
    assert said(left) == ["deleted the external resource of a managed resource deleted during creation"] * 2
    assert outside.there == set()
    assert [(mr.external_name, mr.deleted) for mr in outside.deleted] == [("one", True), ("two", True)]
    assert said(left) == [], "it is done with"
    assert len(outside.deleted) == 2


def test_what_another_resource_has_by_now_is_left_alone() -> None:
    outside = Outside("one")
    left = left_behind(outside, "one", has_another=lambda mr: mr.external_name == "one")
    assert said(left) == ["an orphaned external resource has a managed resource again"]
    assert outside.there == {"one"}
    assert left._left == {}


@pytest.mark.parametrize(
    "trouble",
    [NotYet("deploying", after=5), ExternalError("AccessDenied"), StandDown("the call"), KeyError("bug")],
    ids=lambda trouble: type(trouble).__name__,
)
def test_what_cannot_be_deleted_yet_holds_up_no_other_and_is_tried_again(trouble: BaseException) -> None:
    outside = Outside("one", "two")
    outside.troubles = [trouble]
    left = left_behind(outside, "one", "two")
    left.round()
    assert outside.there == {"one"}
    left.round()
    assert outside.there == set()


class Slow(Outside):
    """A namespace's account does not answer."""

    def __init__(self, *names: str | None) -> None:
        super().__init__(*names)
        self.go_on = threading.Event()

    def connect(self, mr: Managed) -> Outside:
        if mr.namespace == "slow":
            self.go_on.wait(10)
        return self


def of(namespace: str, name: str) -> Managed:
    obj = toy()
    obj["metadata"] |= {"uid": f"uid-{namespace}-{name}", "name": f"mr-{name}", "namespace": namespace}
    return Managed(obj)


def test_a_namespace_with_a_slow_account_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(leftovers, "_PATIENCE", 0.3)
    outside = Slow("s1", "s2", "one")
    left = Leftovers(outside, lambda _: False)
    for name in ("s1", "s2"):
        left.note(of("slow", name), name)
    left.note(of("shop", "one"), "one")
    left.round()
    assert outside.there == {"s1", "s2"}
    outside.there.add("two")
    left.note(of("shop", "two"), "two")
    before = threading.active_count()
    for _ in range(3):
        left.round()
    assert outside.there == {"s1", "s2"}
    assert threading.active_count() <= before, "no thread for what is under way already"
    outside.go_on.set()
    until(lambda: left.round() > 0 and left._left == {})
    assert outside.there == set()


def test_one_namespace_does_not_use_up_the_room_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_MOST_OF_ONE", 3)
    left = Leftovers(Outside(), lambda _: False)
    for number in range(9):
        left.note(of("noisy", str(number)), str(number))
    left.note(of("shop", "one"), "one")
    assert {share: len(each) for share, each in left._left.items()} == {"noisy": 3, "shop": 1}


def test_namespaces_take_turns_where_there_are_more_than_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_MOST_THREADS", 2)
    outside = Outside(*"abcdef")
    outside.troubles = []
    left = Leftovers(outside, lambda _: False)
    for name in "abcdef":
        left.note(of(f"ns-{name}", name), name)
    for rounds in range(1, 4):
        left.round()
        assert len(outside.there) == 6 - 2 * rounds


def test_deletions_that_are_held_are_held_here_too() -> None:
    outside, held = Outside("one"), ["the provider runs with --hold-deletions", ""]
    left = left_behind(outside, "one")
    left._deletion_held = lambda _: held.pop(0)
    left.round()
    assert outside.there == {"one"}
    left.round()
    assert outside.there == set()


def test_a_managed_resource_that_exists_after_all_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One "not found" of the API server was wrong, or the watch lags behind."""
    monkeypatch.setattr(leftovers, "_TRIES", 3)
    outside = Outside("one", "two")
    left = left_behind(outside, "one", "two")
    left._exists = lambda mr: mr.external_name == "one"
    said(left, rounds=9)
    assert outside.there == {"one"}
    assert left._left == {}


def test_clients_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    outside, let_go = Outside("one"), []
    monkeypatch.setattr(Outside, "disconnect", lambda _: let_go.append(1), raising=False)
    said(left_behind(outside, "one"))
    assert let_go == [1, 1], "after the deletion, and after the look that found nothing"


def test_after_an_hour_it_is_told_and_tried_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_TRIES", 2)
    monkeypatch.setattr(leftovers, "_SELDOM", 4)
    outside = Outside("one")
    outside.troubles = [NotYet("frozen", after=5)] * 9
    left = left_behind(outside, "one")
    told = "could not delete an orphaned external resource; it is tried every ten minutes"
    assert said(left, rounds=3) == [told]
    tries = []
    for _ in range(12):
        before = len(outside.troubles)
        left.round()
        tries.append(before - len(outside.troubles))
    assert tries == [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    outside.troubles.clear()
    for _ in range(8):
        left.round()
    assert outside.there == set()
    assert left._left == {}


def test_whoever_leaves_very_many_fills_no_memory_and_is_told_what_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leftovers, "_MOST", 2)
    with capture_logs() as logged:
        left = left_behind(Outside(), "one", "two", "three")._left
    assert sum(map(len, left.values())) == 2
    assert [(line["external_name"], "by hand" in line["event"]) for line in logged] == [("three", True)]
