"""The order of the slots: by priority, without starvation, and fair among namespaces."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter

import pytest

from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws.pacing import slots as module
from provider.cloudfront.aws.pacing.slots import Call, Slots

CHANGE, DELETION, DRIFT, POLL = reversed(Priority)


def put(slots: Slots, namespace: str = "a", priority: Priority = CHANGE) -> Call:
    call = Call(Urgency(priority), namespace, threading.Condition())
    slots.put(call)
    return call


def order(slots: Slots) -> list[tuple[Priority, str]]:
    return [(call.priority, call.namespace) for call in iter(lambda: slots.next() if slots else None, None)]


def test_changes_go_before_deletions_before_drift_before_polls():
    slots = Slots()
    for priority in (POLL, DRIFT, CHANGE, DELETION):
        put(slots, priority=priority)
    assert [priority for priority, _ in order(slots)] == [CHANGE, DELETION, DRIFT, POLL]


def test_none_of_the_lower_priorities_waits_for_ever():
    slots, served = Slots(), []
    for _ in range(300):
        while len(slots) < 4:
            waiting = {call.priority for call in slots._calls}
            put(slots, priority=next(each for each in Priority if each not in waiting))
        served.append(slots.next().priority)
    longest = {
        each: max(b - a for a, b in itertools.pairwise(at))
        for each in Priority
        if (at := [number for number, priority in enumerate(served) if priority is each])
    }
    assert longest == {POLL: 5, DRIFT: 10, DELETION: 6, CHANGE: 4}
    assert Counter(served)[CHANGE] > 130


def test_what_waits_alone_is_passed_over_by_none():
    slots = Slots()
    for _ in range(20):
        put(slots)
        slots.next()
    poll = put(slots, priority=POLL)
    change = put(slots)
    assert [slots.next(), slots.next()] == [change, poll]


def test_namespaces_take_turns():
    slots = Slots()
    for namespace in "aaaabbc":
        put(slots, namespace)
    assert "".join(namespace for _, namespace in order(slots)) == "abcabaa"


def test_the_namespace_that_had_the_fewest_slots_lately_is_next():
    slots = Slots()
    for namespace in "aabb":
        slots.had(CHANGE, namespace)
    slots.had(POLL, "c")
    for namespace in "abcc":
        put(slots, namespace)
    # Polls do not count. Of a and b, a had its last slot longer ago.
    assert "".join(namespace for _, namespace in order(slots)) == "ccab"


def test_of_namespaces_without_slots_the_first_call_is_next():
    slots = Slots()
    for namespace in "zya":
        put(slots, namespace)
    assert "".join(namespace for _, namespace in order(slots)) == "zya"


def test_what_was_long_ago_does_not_count():
    slots = Slots()
    for _ in range(5):
        slots.had(CHANGE, "a")
    for _ in range(module._LAST - 1):
        slots.had(CHANGE, "b")
    assert slots._last[CHANGE].each["a"] == 1
    slots.had(CHANGE, "b")
    put(slots, "b")
    put(slots, "a")
    assert slots.next().namespace == "a"
    last = slots._last[CHANGE]
    assert (len(last.slots), set(last.each), set(last.at)) == (module._LAST, {"a", "b"}, {"a", "b"})


@pytest.mark.parametrize("seed", range(20))
def test_the_first_call_of_a_namespace_has_a_bound(seed):
    """Whatever the others do: new namespaces that come all the time, and such with many calls."""
    rng, slots, number = random.Random(seed), Slots(), 0
    workers = 16
    put(slots, "mine")
    since, bound = 0, module._LAST + workers
    for _ in range(2000):
        while len(slots) < workers:
            number += 1
            known = ["mine", "many", "some", f"new-{number}"]
            put(slots, rng.choices(known, weights=[0.1, 2, 1, rng.choice([0, 10])])[0])
        waits = any(call.namespace == "mine" for call in slots._calls)
        since = 0 if slots.next().namespace == "mine" or not waits else since + 1
        assert since <= bound


def test_a_call_that_becomes_more_urgent_goes_first():
    slots = Slots()
    put(slots, priority=DRIFT)
    shared = put(slots, "b", priority=POLL)
    shared.urgency.raise_to(CHANGE)
    assert slots.next() is shared
    shared.urgency.raise_to(POLL)
    assert shared.priority is CHANGE


def test_how_many_go_before_another_call():
    slots = Slots()
    for namespace in "aaaabbc":
        put(slots, namespace)
    assert [slots.before(CHANGE, each) for each in "dcba"] == [3, 5, 6, 7]
    for priority, before in ((POLL, 4), (DRIFT, 7)):
        assert slots.before(priority, "d") == before
    put(slots, priority=POLL)
    assert slots.before(POLL, "d") == 1 + 7
    assert slots.before(CHANGE, "d") == 3, "what is lower goes later"


def test_another_call_watches_when_one_leaves():
    slots = Slots()
    first, other = put(slots), put(slots)
    slots.watch = first
    with other.told:
        slots.leave(first)
    assert slots.watch is other
    with other.told:
        slots.leave(other)
    assert slots.watch is None
