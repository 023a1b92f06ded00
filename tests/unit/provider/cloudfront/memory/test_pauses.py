"""Pauses before the provider believes AWS, or checks again."""

from __future__ import annotations

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.pauses import BackOff, SecondChecks


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
