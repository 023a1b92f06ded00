"""Pauses before the provider believes AWS, or checks again."""

from __future__ import annotations

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.pauses import BackOff, SecondChecks, Standstills


def test_the_pause_starts_with_the_first_observation():
    clock = FakeClock()
    checks = SecondChecks(clock, 15.0)
    assert checks.left("uid", "cg_1") == 15.0
    clock.advance(10)
    assert checks.left("uid", "cg_1") == 5.0
    clock.advance(10)
    assert checks.left("uid", "cg_1") == 0.0


def test_another_id_has_its_own_pause():
    clock = FakeClock()
    checks = SecondChecks(clock, 15.0)
    checks.left("uid", "cg_1")
    clock.advance(20)
    assert checks.left("uid", "cg_2") == 15.0


def test_what_is_there_again_starts_over():
    clock = FakeClock()
    checks = SecondChecks(clock, 15.0)
    checks.left("uid", "cg_1")
    clock.advance(20)
    assert checks.start_over("uid") == 15.0
    assert checks.left("uid", "cg_1") == 15.0


def test_the_pauses_double_up_to_a_minute():
    pauses = BackOff(5.0)
    assert [pauses.next("uid") for _ in range(6)] == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    assert pauses.next("other") == 5.0
    pauses.forget("uid")
    assert pauses.next("uid") == 5.0


def looks(clock: FakeClock, pauses: Standstills, shown: object, times: int, **how: float) -> list[float]:
    """The pauses of these looks, each after the pause before."""
    waited = []
    for _ in range(times):
        waited.append(pauses.pause("uid", shown, 1.0, **how))
        clock.advance(waited[-1])
    return waited


def test_the_pauses_grow_while_nothing_changes():
    clock = FakeClock()
    pauses = Standstills(clock)
    assert looks(clock, pauses, "enabled", 8) == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert pauses.pause("other", "enabled", 1.0) == 1.0
    assert pauses.pause("uid", "enabled", 90.0) == 90.0, "none is shorter than the first one"


def test_looks_in_between_do_not_lengthen_the_pause():
    clock = FakeClock()
    pauses = Standstills(clock)
    assert [pauses.pause("uid", "enabled", 1.0) for _ in range(5)] == [1.0] * 5


def test_something_new_starts_over_and_something_old_does_not():
    clock = FakeClock()
    pauses = Standstills(clock)
    looks(clock, pauses, "enabled", 6)
    assert looks(clock, pauses, "disabled", 2) == [1.0, 2.0]
    assert looks(clock, pauses, "enabled", 1) == [4.0], "two replicas that answer in turn"


def test_another_client_that_always_changes_something_is_no_progress():
    clock = FakeClock()
    pauses = Standstills(clock)
    waited = [looks(clock, pauses, version, 1)[0] for version in range(20)]
    assert waited[:11] == [1.0] * 10 + [2.0]
    assert waited[-1] == 60.0
    pauses.forget("uid")
    assert looks(clock, pauses, 20, 1) == [1.0]


def test_a_roll_out_has_its_time():
    clock = FakeClock()
    pauses = Standstills(clock)
    assert looks(clock, pauses, "InProgress", 9, steady=4.0) == [1.0] * 5 + [2.0, 4.0, 8.0, 16.0]


def test_a_second_look_that_nobody_takes_is_forgotten():
    clock = FakeClock()
    checks = SecondChecks(clock, 15.0)
    checks.left("gone", "dt_1")
    clock.advance(6 * 24 * 3600)
    assert checks.left("gone", "dt_1") == 0.0
    checks.left("late", "dt_2")
    clock.advance(2 * 24 * 3600)
    assert checks.left("other", "dt_3") == 15.0
    assert list(checks._since) == ["late", "other"]


def test_who_does_not_ask_again_is_forgotten():
    clock = FakeClock()
    pauses = Standstills(clock)
    looks(clock, pauses, "enabled", 7)
    clock.advance(540)
    assert looks(clock, pauses, "enabled", 1) == [60.0]
    clock.advance(541)
    pauses.pause("other", "enabled", 1.0)
    assert list(pauses._shown) == ["other"]
