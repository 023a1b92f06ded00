"""The budgets of the checks of what no list shows."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.schedules import DeepChecks, DnsTurns

EVERY = 300.0
RATE = 5.0


def test_resources_that_are_gone_leave_their_turns_to_those_that_wait_for_dns():
    clock = FakeClock(1000.0)
    turns = DnsTurns(clock, lambda: RATE)
    for number in range(2000):
        turns.is_due_every(f"gone-{number}", EVERY, never=True)
        turns.forget(f"gone-{number}")
    assert turns.is_due_every("waits", EVERY, never=True)
    clock.advance(2 * EVERY)
    assert turns.is_due_every("waits", EVERY, never=False)


def test_resources_that_are_served_leave_their_turns_to_those_that_wait_for_dns():
    """Each of them waited for a few minutes."""
    clock = FakeClock(1000.0)
    turns = DnsTurns(clock, lambda: RATE)
    for number in range(2000):
        turns.is_due_every(f"served-{number}", EVERY, never=True)
        turns.is_due(f"served-{number}", 24 * 3600.0, never=False)
    assert turns.is_due_every("waits", EVERY, never=True)
    clock.advance(2 * EVERY)
    assert turns.is_due_every("waits", EVERY, never=False)


def test_after_many_deep_checks_the_dns_of_the_few_that_are_left_is_checked_soon():
    """With a short check interval, they take more than the share of all these checks."""
    clock = FakeClock(1000.0)
    turns = DnsTurns(clock, lambda: RATE)
    for _ in range(10):
        for _ in range(1000):
            turns.spent(3)
        clock.advance(600.0)
    turns.is_due("left", 24 * 3600.0, never=True)
    clock.advance(3600.0)
    assert turns.is_due("left", 24 * 3600.0, never=False)


def test_turns_of_those_that_wait_are_spread_after_a_restart():
    clock = FakeClock(1000.0)
    turns = DnsTurns(clock, lambda: RATE)
    names = [f"uid-{number}" for number in range(40)]
    for name in names:
        turns.is_due_every(name, EVERY, never=False)
    clock.advance(EVERY / 2)
    due = sum(turns.is_due_every(name, EVERY, never=False) for name in names)
    assert due >= 10


@pytest.mark.parametrize("seconds", [600.0, 24 * 3600.0])
def test_all_checks_take_a_share_of_the_rate_with_the_shortest_interval_too(seconds):
    clock = FakeClock(1000.0)
    checks, turns = DeepChecks(clock, seconds=seconds), DnsTurns(clock, lambda: RATE, seconds)
    names, made = [f"uid-{number}" for number in range(1000)], 0
    for _ in range(30):
        for name in names:
            if checks.is_due(name):
                turns.spent(3)
                checks.done(name)
                made += 3
            made += turns.is_due(name, turns.longest, never=False)
        clock.advance(60.0)
    assert made <= 0.5 * RATE * 30 * 60.0
