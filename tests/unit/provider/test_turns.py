"""Whose turn it is: what a throttling AWS permits is used, and no namespace starves another."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from provider.cloudfront.turns import LONGEST_GAP, Turns, caller, on_behalf_of


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

    def play(self, waiting: dict[str, int], seconds: float, late: float = 0.3, begin: float = 0.0) -> None:
        queue = [(begin, number, ns) for ns, count in sorted(waiting.items()) for number in range(count)]
        heapq.heapify(queue)
        while queue and queue[0][0] < begin + seconds:
            now, number, ns = heapq.heappop(queue)
            self.asked += 1
            wait = self.turns.take(ns, now)
            if wait > 0:
                heapq.heappush(queue, (now + wait + late * (1 + number % 3) / 3, number, ns))
                continue
            self.calls += 1
            if self.aws.takes(now):
                self.turns.answered(now)
                self.made.append((now, ns))
            else:
                self.turns.throttled(now, now)
                heapq.heappush(queue, (now + 1, number, ns))

    def by_namespace(self) -> Counter[str]:
        return Counter(ns for _, ns in self.made)


@pytest.mark.parametrize("per_minute", [6, 12, 60])
@pytest.mark.parametrize(("burst", "share"), [(1, 0.6), (5, 0.95)])
def test_what_aws_permits_is_used(per_minute, burst, share):
    played = Played(Aws(per_minute / 60, most=burst))
    played.play({"a": 400}, 1200)
    permitted = min(400, per_minute * 20)
    assert len(played.made) > share * permitted
    assert played.calls < 3 * len(played.made)
    assert played.asked < 400 * 1200 / 90, "each that waits asks seldom"


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
    assert [turns.take("many", 1.5) for _ in range(3)] == [0.5, 1.5, 2.5]
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
    turns, now = Turns(), 0.0
    turns.throttled(0.0, 0.0)
    taken = 0
    for _ in range(600):
        now += 0.5
        if now % 5 == 0:
            # Told to come, and never there when it is its turn.
            if turns.take("absent", now) == 0:
                turns.throttled(now, now)
        elif turns.take("present", now) == 0:
            taken += 1
            turns.throttled(now, now) if taken < 4 else None
    assert taken >= 600 * 0.5 / LONGEST_GAP


def test_those_that_wait_do_not_all_come_at_once():
    turns = Turns()
    turns.throttled(0.0, 0.0)
    turns.throttled(1.0, 1.0)
    told = [turns.take("a", 1.5) for _ in range(10)]
    assert told[0] == pytest.approx(1.5)
    assert [b - a for a, b in pairwise(told)] == [pytest.approx(2.0)] * 9
    assert max(turns.take("a", 1.5) for _ in range(1000)) == 2 * LONGEST_GAP


def test_an_operation_that_nobody_needed_for_a_while_is_free():
    turns = Turns()
    for at in (0.0, 1.0, 3.0, 7.0):
        turns.throttled(at, at)
    assert turns.pause(7.0) == 8
    assert turns.take("a", 7.0 + 8 + LONGEST_GAP + 1) == 0
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
