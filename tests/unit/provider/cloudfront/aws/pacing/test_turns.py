"""Whose turn it is: what a throttling AWS permits is used, and no namespace starves another."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field

import pytest

from provider.cloudfront.aws.pacing.turns import Turns, caller, on_behalf_of
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces


def turns(places: int = 0) -> Turns:
    """Turns with that many places for calls that wait in their workers."""
    return Turns(WaitingPlaces(4 * places))


def slow() -> Turns:
    """One call in four seconds, and the next one at 4."""
    each = turns()
    each.throttled(0.0, 0.0)
    each._permitted.rate, each._next = 0.25, 4.0
    return each


@dataclass
class Aws:
    """A token bucket, as AWS has it."""

    rate: float
    most: float = 1.0
    tokens: float = 1.0
    at: float = 0.0

    def takes(self, now: float) -> bool:
        self.tokens = min(self.most, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass
class Played:
    """Namespaces whose resources wait to be created, each once, and no worker waits; `late` is what a queue
    takes beyond what it was told."""

    aws: Aws
    turns: Turns = field(default_factory=turns)
    made: list[tuple[float, str]] = field(default_factory=list)
    calls: int = 0
    asked: int = 0

    queue: list[tuple[float, int, str, int]] = field(default_factory=list)
    now: float = 0.0

    def play(self, waiting: dict[str, int], seconds: float, late: float = 0.3) -> None:
        each = [(0.0, number, ns, 0) for ns, count in sorted(waiting.items()) for number in range(count)]
        self.queue = each
        heapq.heapify(self.queue)
        self.resume(seconds, late)

    def resume(self, seconds: float, late: float = 0.3) -> None:
        end = self.now + seconds
        while self.queue and self.queue[0][0] < end:
            now, number, ns, failures = heapq.heappop(self.queue)
            self.asked += 1
            if self.turns.take(ns, now) > 0:
                comes = now + self.turns.tell(ns, now) + late * (1 + number % 3) / 3
                heapq.heappush(self.queue, (comes, number, ns, 0))
                continue
            self.calls += 1
            if self.aws.takes(now):
                self.turns.answered(now, now)
                self.made.append((now, ns))
            else:
                self.turns.throttled(now, now)
                heapq.heappush(self.queue, (now + 2.0**failures, number, ns, failures + 1))
        self.now = end

    def by_namespace(self) -> Counter[str]:
        return Counter(ns for _, ns in self.made)


@pytest.mark.parametrize("per_minute", [6, 12, 60])
@pytest.mark.parametrize(("burst", "share"), [(1, 0.6), (5, 0.9)])
def test_what_aws_permits_is_used(per_minute, burst, share):
    played = Played(Aws(per_minute / 60, most=burst))
    played.play({"a": 400}, 1200)
    permitted = min(400, per_minute * 20)
    assert len(played.made) > share * permitted
    assert played.calls < 1.4 * len(played.made)
    assert played.asked < 400 * 1200 / 75, "each that waits asks seldom"


def test_a_namespace_with_one_is_not_behind_one_with_hundreds():
    played = Played(Aws(0.2))
    played.play({"many": 300, "one": 1, "other": 1}, 300)
    when = {ns: now for now, ns in reversed(played.made)}
    assert when["one"] < 40
    assert when["other"] < 40


def test_one_that_comes_later_goes_before_those_of_a_namespace_that_had_its_turn():
    each = slow()
    assert each.take("many", 4.0) == 0
    assert each.take("many", 5.0) == 3
    assert [each.tell("many", 5.0) for _ in range(3)] == [3, 7, 11]
    assert each.tell("late", 7.9) == pytest.approx(0.1)
    assert each.take("many", 8.0) == 2, "it is the other namespace's turn"
    assert each.take("late", 8.0) == 0
    assert each.take("many", 12.0) == 0


def test_the_calls_are_told_to_come_one_after_the_other_namespace_by_namespace():
    each = slow()
    assert each.take("a", 4.0) == 0
    assert [each.tell("a", 4.0) for _ in range(2)] == [4, 8]
    assert [each.tell("b", 4.0) for _ in range(2)] == [4, 12], "it goes before, and then they take turns"
    assert each.tell("c", 4.0) == 8, "after the other one that goes before"


def test_a_call_that_had_its_turn_leaves_its_place_to_another():
    each = slow()
    assert [each.tell("a", 0.0) for _ in range(3)] == [4, 8, 12]
    assert each.take("a", 4.0) == 0
    assert each.tell("a", 4.0) == 12, "after those that have places"
    assert each.take("a", 8.0) == 0
    assert each.take("a", 8.1) > 0
    assert each._told["a"] == [12, 16]


def test_namespaces_share_what_there_is():
    played = Played(Aws(0.2))
    played.play({"a": 300, "b": 30, "c": 30}, 300)
    made = played.by_namespace()
    assert sum(made.values()) > 30
    assert min(made.values()) > 0.2 * sum(made.values())


def test_a_namespace_that_does_not_come_holds_up_nobody_for_long():
    each = slow()
    assert each.take("present", 4.0) == 0
    assert each.tell("absent", 5.0) == 3.0
    assert each.take("present", 8.0) == 2.0, "it is the other namespace's turn"
    assert each.take("present", 10.0) == 0, "half a gap later"
    assert each.take("absent", 10.2) == pytest.approx(3.8)
    assert each.tell("absent", 10.2) == pytest.approx(3.8)
    assert each.take("present", 14.0) == 0, "who did not come is no longer first"


@pytest.mark.parametrize("late", [0.3, 3.0])
def test_a_small_namespace_has_its_turn_among_the_first_after_a_long_throttling(late):
    """The journal of a day on which AWS took nothing for a minute and then one call in ten seconds."""
    played = Played(Aws(0.0, tokens=0.0))
    played.play({"big": 150, "mid": 2, "small": 1}, 60, late)
    played.aws.rate = 0.1
    played.resume(180, late)
    first = [ns for _, ns in played.made[:8]]
    assert first.count("mid") == 2
    assert "small" in first
    assert len(played.made) >= 9, "most of what AWS permits"
    played.aws.rate = 100.0
    began = played.now
    played.resume(300, late)
    assert len(played.made) == 153
    assert played.made[-1][0] - began < 240


def test_each_that_waits_tries_at_the_latest_after_a_while():
    each = slow()
    told = [each.tell("a", 0.0) for _ in range(10)]
    assert told == pytest.approx([4, 8, 12, *(15 + number / 4 for number in range(3, 10))], abs=1)
    assert max(each.tell("a", 0.0) for _ in range(2000)) == 300


def test_a_call_waits_in_its_worker_if_its_turn_is_soon_and_there_is_a_place():
    each = turns(places=2)
    each.throttled(0.0, 0.0)
    assert each.wait_here("a", 1.0, 0.0)
    assert not each.wait_here("a", 2.1, 0.0), "it would wait for more than three seconds"
    assert each.wait_here("a", 1.0, 0.0)
    assert not each.wait_here("a", 0.1, 0.0), "there is no place"
    each.left("a")
    assert each.wait_here("a", 1.0, 0.0)


def test_the_last_place_is_left_to_a_namespace_that_is_told_to_come():
    each = turns(places=2)
    each.throttled(0.0, 0.0)
    assert each.take("a", 1.0) == 0
    assert each.tell("b", 1.0) == 1.0
    assert each.wait_here("a", 1.0, 1.0)
    assert not each.wait_here("a", 1.0, 1.0)
    assert each.wait_here("b", 1.0, 1.0)


def test_of_those_that_wait_in_their_workers_the_one_whose_turn_is_longest_ago_goes_first():
    each = turns(places=2)
    each.throttled(0.0, 0.0)
    assert each.take("a", 1.0) == 0
    assert each.wait_here("a", 1.0, 1.0)
    assert each.wait_here("b", 1.0, 1.0)
    assert each.take("a", 2.0) == 0.5, "it asks again after half a gap"
    assert each.take("b", 2.0) == 0


def test_the_caller_is_the_blocks():
    assert caller() == ""
    with on_behalf_of("a"):
        with on_behalf_of("b"):
            assert caller() == "b"
        assert caller() == "a"
    assert caller() == ""
