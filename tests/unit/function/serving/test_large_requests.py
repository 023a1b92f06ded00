"""The bytes of requests that are answered at a time."""

from __future__ import annotations

import pytest

from function.serving.large_requests import LARGE, MOST_BYTES, LargeRequests, TooMany

AT_ONCE = LargeRequests(longest_wait=0.0)


def test_as_many_as_fit_are_admitted_and_no_more() -> None:
    with AT_ONCE.turn(MOST_BYTES // 2), AT_ONCE.turn(MOST_BYTES // 2):
        with pytest.raises(TooMany, match="other large requests are in progress"), AT_ONCE.turn(LARGE):
            pass
        with AT_ONCE.turn(LARGE - 1):
            pass
    with AT_ONCE.turn(MOST_BYTES):
        pass


def test_what_is_larger_than_all_is_admitted_alone() -> None:
    with AT_ONCE.turn(2 * MOST_BYTES), pytest.raises(TooMany), AT_ONCE.turn(LARGE):
        pass
    with AT_ONCE.turn(LARGE), pytest.raises(TooMany), AT_ONCE.turn(2 * MOST_BYTES):
        pass
    with AT_ONCE.turn(2 * MOST_BYTES):
        pass


def test_a_failure_gives_its_place_back() -> None:
    with pytest.raises(ZeroDivisionError), AT_ONCE.turn(MOST_BYTES):
        raise ZeroDivisionError
    with AT_ONCE.turn(MOST_BYTES):
        pass
