"""Whose turn it is: what a throttling AWS permits is used, and no namespace starves another."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field

import pytest

from provider.cloudfront.aws.turns import Turns, caller, on_behalf_of


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
    """Namespaces whose resources wait to be created, each once; `late` is what a queue takes beyond what it
    was told."""

    aws: Aws
    turns: Turns = field(default_factory=Turns)
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
            wait = self.turns.take(ns, now)
            if wait > 0:
                comes = now + wait + late * (1 + number % 3) / 3
                heapq.heappush(self.queue, (comes, number, ns, 0))
                continue
            self.calls += 1
            if self.aws.takes(now):
                self.turns.answered(now)
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
    assert played.calls < 3 * len(played.made)
    assert played.asked < 400 * 1200 / 75, "each that waits asks seldom"


def test_a_namespace_with_one_is_not_behind_one_with_hundreds():
    played = Played(Aws(0.2))
    played.play({"many": 300, "one": 1, "other": 1}, 300)
    when = {ns: now for now, ns in reversed(played.made)}
    assert when["one"] < 40
    assert when["other"] < 40


def test_one_that_comes_later_goes_before_those_of_a_namespace_that_had_its_turn():
    turns = Turns()
    turns.throttled(0.0, 0.0)
    assert turns.take("many", 1.0) == 0
    assert [turns.take("many", 1.5) for _ in range(3)] == [0.5] * 3
    assert turns.take("late", 1.9) == pytest.approx(0.1)
    assert turns.take("many", 2.0) > 0, "it is the other namespace's turn"
    assert turns.take("late", 2.0) == 0
    assert turns.take("many", 3.0) == 0


def test_namespaces_share_what_there_is():
    played = Played(Aws(0.2))
    played.play({"a": 300, "b": 30, "c": 30}, 300)
    made = played.by_namespace()
    assert sum(made.values()) > 30
    assert min(made.values()) > 0.2 * sum(made.values())


def test_a_namespace_that_does_not_come_holds_up_nobody_for_long():
    turns = Turns()
    turns.throttled(0.0, 0.0)
    assert turns.take("present", 1.0) == 0
    assert turns.take("absent", 1.5) == 0.5
    assert turns.take("present", 2.0) == 0.5, "it is the other namespace's turn"
    assert turns.take("present", 2.6) == 0, "half a gap later"
    assert turns.take("absent", 3.0) == pytest.approx(0.6)
    assert turns.take("present", 3.6) == 0, "who did not come is no longer first"


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
    played.resume(180, late)
    assert len(played.made) == 153
    assert played.made[-1][0] - began < 135


def test_those_that_wait_do_not_all_come_at_once():
    turns = Turns()
    turns.throttled(0.0, 0.0)
    turns.throttled(1.0, 1.0)
    told = [turns.take("a", 1.5) for _ in range(10)]
    assert told[:3] == [1.5] * 3
    assert min(told[3:]) >= 6
    assert sorted(told) == told
    assert max(turns.take("a", 1.5) for _ in range(1000)) == 90


def test_an_operation_that_nobody_needed_for_a_while_is_free():
    turns = Turns()
    for at in (0.0, 1.0, 3.0, 7.0):
        turns.throttled(at, at)
    assert turns.pause(7.0) == 8
    assert turns.take("a", 7.0 + 8 + 60 + 1) == 0
    assert turns.pause(100.0) == 0
    turns.throttled(100.0, 100.0)
    assert turns.pause(100.0) == 1


def test_answers_to_calls_of_before_say_nothing():
    turns = Turns()
    turns.throttled(0.0, 5.0)
    turns.throttled(1.0, 5.1)
    turns.answered(2.0)
    assert turns.pause(5.0) == 1


def test_the_caller_is_the_blocks():
    assert caller() == ""
    with on_behalf_of("a"):
        with on_behalf_of("b"):
            assert caller() == "b"
        assert caller() == "a"
    assert caller() == ""
