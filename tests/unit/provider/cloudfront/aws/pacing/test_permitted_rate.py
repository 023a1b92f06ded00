"""The rate that AWS permits is found, and held; no calls come in a burst."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.cloudfront.aws.pacing.permitted_rate import PermittedRate, Spacing

LOWEST = 0.05


def known(rate: float = 10.0) -> PermittedRate:
    """One whose last decrease was at second 0, after a while."""
    permitted = PermittedRate(LOWEST)
    permitted.refused(-2.0, -2.0)
    permitted.rate, permitted._answered = rate / 0.9, 1000
    permitted.refused(0.0, 0.0)
    assert permitted.rate == pytest.approx(rate)
    return permitted


def used(permitted: PermittedRate, calls: int, start: float = 0.0) -> list[float]:
    """Answer so many calls, each as soon as it may be made; the rates."""
    rates, now = [], start
    for _ in range(calls):
        now += 1 / permitted.rate
        permitted.answered(now, now)
        rates.append(permitted.rate)
    return rates


def test_it_begins_with_what_was_answered_in_the_second_before():
    permitted = PermittedRate(LOWEST)
    assert permitted.rate is None
    for number in range(100):
        permitted.answered(0.1 * number, 0.1 * number)
    permitted.refused(9.9, 9.9)
    assert permitted.rate == pytest.approx(0.9 * 10, abs=1)


def test_it_begins_with_one_a_second_if_less_was_answered():
    permitted = PermittedRate(LOWEST)
    permitted.refused(0.0, 0.0)
    assert permitted.rate == 1.0


def test_a_refused_call_lowers_it_by_a_tenth_and_those_sent_before_do_not():
    permitted = known()
    permitted.rate = 10.0
    assert permitted.refused(0.5, 0.6)
    assert permitted.rate == 9.0
    assert not permitted.refused(0.55, 0.7)
    assert not permitted.refused(0.6, 0.8)
    assert permitted.rate == 9.0
    assert permitted.refused(0.61, 0.8)
    assert permitted.rate == pytest.approx(8.1)


def test_answers_to_calls_of_before_raise_nothing():
    permitted = known()
    before = permitted.rate
    for _ in range(50):
        permitted.answered(0.0, 0.1)
    assert permitted.rate == before


def test_it_is_soon_near_the_top_then_stays_and_then_rises_faster_and_faster():
    permitted = known()
    refused = permitted.rate / 0.9
    rates = used(permitted, 400)
    assert rates == sorted(rates)
    assert rates[50] > 0.93 * refused, "half of the way"
    assert rates[150] < 0.96 * refused
    assert 0.97 * refused < rates[200] < 1.05 * refused
    assert rates[399] - rates[350] > 3 * (rates[250] - rates[200])


def test_answers_to_calls_that_do_not_use_the_rate_do_not_raise_it():
    permitted = known()
    before = permitted.rate
    for second in range(1, 100):
        permitted.answered(float(second), float(second))
    assert permitted.rate == pytest.approx(before)


def test_what_was_answered_between_two_refused_calls_is_what_aws_permits():
    permitted = known(20.0)
    for number in range(8):
        permitted.answered(0.5 * number + 0.1, 0.5 * number + 0.1)
    permitted.refused(4.0, 4.0)
    assert permitted.rate == pytest.approx(0.9 * (8 + 1) / 4.0, rel=0.01)


def test_refused_calls_of_long_ago_say_nothing():
    permitted = known(20.0)
    used(permitted, 150)
    rate = permitted.rate
    permitted.refused(1000.0, 1000.0)
    assert permitted.rate == pytest.approx(0.9 * rate)


def test_it_falls_by_half_while_nothing_is_answered_and_no_lower_than_the_lowest():
    permitted = PermittedRate(LOWEST)
    now, rates = 0.0, []
    for _ in range(12):
        permitted.refused(now, now)
        rates.append(permitted.rate)
        now += 1 / permitted.rate
    assert rates[7] < 0.1
    assert rates[-1] == LOWEST


def test_it_rises_from_the_lowest_within_minutes():
    permitted = PermittedRate(LOWEST)
    now = 0.0
    for _ in range(12):
        permitted.refused(now, now)
        now += 1 / permitted.rate
    start = now
    while permitted.rate < 5:
        now += 1 / permitted.rate
        permitted.answered(now, now)
    assert now - start < 180


def test_an_idle_operation_begins_with_the_first_rate_again():
    spacing = Spacing(LOWEST)
    now = 0.0
    for _ in range(12):
        spacing.throttled(now, now)
        now += spacing.pause(now)
    assert spacing.rate == LOWEST
    assert spacing.space(now + 61.0) == 0
    assert spacing.rate == 1.0


@given(
    st.lists(
        st.tuples(st.sampled_from(["call", "answer", "refuse"]), st.floats(0.0, 30.0)),
        min_size=1,
        max_size=60,
    )
)
def test_calls_are_never_closer_than_the_rate_allows(history):
    """Whatever AWS answers, and also after a pause."""
    spacing, now, granted, waiting = Spacing(LOWEST), 0.0, [], []
    spacing.throttled(0.0, 0.0)
    for what, seconds in history:
        now += seconds
        if what == "call":
            at = now + spacing.space(now)
            granted.append((at, spacing.rate))
            waiting.append(at)
        elif waiting and waiting[0] <= now:
            began = waiting.pop(0)
            (spacing.answered if what == "answer" else spacing.throttled)(began, now)
        assert spacing.rate >= LOWEST
    fastest = max((rate for _, rate in granted), default=1.0)
    assert all(
        later - before >= 1 / max(fastest, spacing.rate) - 1e-6
        for (before, _), (later, _) in pairwise(granted)
    )


@given(st.lists(st.tuples(st.booleans(), st.floats(0.001, 100.0)), max_size=200))
def test_one_answer_changes_little(history):
    """A rate that jumps up is a burst."""
    permitted, now = PermittedRate(LOWEST), 0.0
    permitted.refused(now, now)
    for answered, seconds in history:
        now += seconds
        before = permitted.rate
        if answered:
            permitted.answered(now, now)
            assert permitted.rate >= before
            assert permitted.rate <= 1.25 * before + 1e-9
        else:
            permitted.refused(now, now)
            assert LOWEST <= permitted.rate <= max(LOWEST, 0.9 * before) + 1e-9
