"""The daily checks of a provider that restarts: each resource has its turn, and nothing comes in a burst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS, DeepChecks
from tests.unit.provider.world import TODAY

POLL = 600.0
HOUR = 3600.0
DAY = 24 * HOUR
RATE = 200.0
"""All resources are polled at the same time here, so their checks come in bursts."""


class Fleet:
    """Resources that each process polls every ten minutes. Each process has a clock that begins at 0."""

    def __init__(self, number: int = 300, seconds: float = DEEP_CHECK_SECONDS) -> None:
        self.seconds = seconds
        self.uids = [f"uid-{n}" for n in range(number)]
        self.passed = 0.0
        self.checks: dict[str, list[float]] = {uid: [] for uid in self.uids}
        self.first_poll = 0

    def wall(self) -> datetime:
        return TODAY + timedelta(seconds=self.passed)

    def process(self, seconds: float, down: float = 0.0) -> None:
        clock = FakeClock()
        checks = DeepChecks(clock, self.wall, self.seconds, lambda: RATE)
        while clock.now() < seconds:
            due = [uid for uid in self.uids if checks.is_due(uid)]
            self.first_poll = max(self.first_poll, len(due) if not clock.now() else 0)
            for uid in due:
                self.checks[uid].append(self.passed)
                checks.done(uid)
            clock.advance(POLL)
            self.passed += POLL
        self.passed += down

    def run(self, days: float, hours: float, down: float = 0.0) -> Fleet:
        while self.passed < days * DAY:
            self.process(hours * HOUR, down)
        return self

    @property
    def never(self) -> int:
        return sum(not each for each in self.checks.values())

    @property
    def a_day(self) -> float:
        return sum(map(len, self.checks.values())) / len(self.uids) / (self.passed / DAY)


@pytest.mark.parametrize("hours", [25, 24, 23, 12, 6, 1])
def test_restarts_keep_no_resource_from_its_daily_check(hours):
    fleet = Fleet().run(3, hours, down=300)
    assert fleet.never == 0
    assert fleet.first_poll == 0, "a restart costs nothing"
    assert fleet.a_day < 2.1


def test_each_is_checked_once_a_day_by_a_process_that_lives_long():
    fleet = Fleet().run(10, 240)
    pauses = [b - a for times in fleet.checks.values() for a, b in pairwise(times)]
    assert min(pauses) > 20 * HOUR
    assert max(pauses) <= DEEP_CHECK_SECONDS
    assert fleet.a_day == pytest.approx(24 / 23, rel=0.1)


@pytest.mark.parametrize("hours", [3, 7 * 24])
def test_an_administrator_chooses_the_interval(hours):
    fleet = Fleet(seconds=hours * HOUR).run(4 * hours / 24, 30 * 24)
    pauses = [b - a for times in fleet.checks.values() for a, b in pairwise(times)]
    assert 0.8 * hours * HOUR < min(pauses)
    assert max(pauses) <= hours * HOUR + POLL
    assert fleet.never == 0


def test_a_provider_that_is_down_each_night_checks_each_resource_on_another_day():
    fleet = Fleet().run(12, 14, down=10 * HOUR)
    assert fleet.never == 0


def test_what_fell_into_a_downtime_is_checked_within_the_hour_and_spread():
    fleet = Fleet(2000)
    fleet.process(24 * HOUR, down=0.75 * HOUR)
    before = {uid: len(times) for uid, times in fleet.checks.items()}
    begun = fleet.passed
    fleet.process(HOUR)
    again = Counter(at - begun for uid, times in fleet.checks.items() for at in times[before[uid] :])
    normal = 2000 / 23
    assert sum(again.values()) == pytest.approx(normal + normal * 3000 / HOUR, rel=0.25)
    assert max(again.values()) < normal, "not all at once"


@pytest.mark.parametrize("wrong", [timedelta(days=-20000), timedelta(days=365), timedelta(hours=5)])
def test_a_wrong_wall_clock_moves_a_check_and_nothing_else(wrong):
    clock = FakeClock(12345.0)
    checks = DeepChecks(clock, lambda: TODAY + wrong)
    due = _times(lambda: _checked(checks, "uid-1"), clock)
    assert len(due) == 3
    assert due[0] <= DEEP_CHECK_SECONDS
    assert all(b - a <= DEEP_CHECK_SECONDS for a, b in pairwise(due))


def test_a_check_that_fails_is_tried_again_soon():
    clock = FakeClock()
    checks = DeepChecks(clock, lambda: TODAY)
    while not checks.is_due("uid-1"):
        clock.advance(60)
    begun, tries = clock.now(), 0
    while clock.now() < begun + HOUR:
        tries += checks.is_due("uid-1")
        clock.advance(60)
    assert tries == 5, "not at each poll"
    checks.done("uid-1")
    assert not checks.is_due("uid-1")


def _checked(checks: DeepChecks, uid: str) -> bool:
    due = checks.is_due(uid)
    if due:
        checks.done(uid)
    return due


def _times(is_due: Callable[[], bool], clock: FakeClock) -> list[float]:
    begun, due = clock.now(), []
    while clock.now() - begun < 3 * DEEP_CHECK_SECONDS and len(due) < 3:
        if is_due():
            due.append(clock.now() - begun)
        clock.advance(POLL)
    return due
