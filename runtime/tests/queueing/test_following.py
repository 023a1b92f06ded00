"""How long what follows a change keeps its priority."""

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.queueing.following import LONGEST_COURSE, Following
from edgetenants_runtime.queueing.queue import Priority

MOST = 60


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def following(clock: FakeClock) -> Following[str]:
    return Following(clock)


def hurried(following: Following[str], key: str = "a") -> int:
    """The number of requeues that still have another priority than polls."""
    for number in range(10 * MOST):
        if following.priority(key) is Priority.POLL:
            return number
    raise AssertionError("no bound")


def test_without_a_change_all_are_polls(following: Following[str]) -> None:
    following.asked("a", Priority.CHANGE)
    assert following.priority("b") is Priority.POLL


def test_what_follows_becomes_a_poll_after_many_requeues(following: Following[str]) -> None:
    following.asked("a", Priority.CHANGE)
    assert hurried(following) == MOST
    following.asked("a", Priority.CHANGE)
    assert hurried(following) == MOST, "an edit begins anew"


def test_what_follows_becomes_a_poll_after_an_hour(following: Following[str], clock: FakeClock) -> None:
    following.asked("a", Priority.DELETION)
    clock.advance(LONGEST_COURSE - 1)
    assert following.priority("a") is Priority.DELETION
    clock.advance(1)
    assert following.priority("a") is Priority.POLL


def test_a_wait_before_the_first_change_of_ours_does_not_count(
    following: Following[str], clock: FakeClock
) -> None:
    """For example, a referenced object was missing: the creation after it is what the user waits for."""
    following.asked("a", Priority.CHANGE)
    assert hurried(following) == MOST
    clock.advance(600)
    following.made("a", Priority.DRIFT)
    assert following.priority("a") is Priority.CHANGE, "it is what was asked for"
    clock.advance(LONGEST_COURSE - 1)
    assert following.priority("a") is Priority.CHANGE


def test_who_is_changed_again_and_again_has_a_bounded_number_an_hour(
    following: Following[str], clock: FakeClock
) -> None:
    hasty = 0
    for _ in range(3 * 3600):
        following.made("a", Priority.DRIFT)
        hasty += following.priority("a") is not Priority.POLL
        clock.advance(1)
    assert hasty == 3 * MOST


def test_what_has_settled_is_not_followed(following: Following[str]) -> None:
    following.asked("a", Priority.CHANGE)
    following.asked("b", Priority.CHANGE)
    following.settled("a", following.course("a"))
    assert following.priority("a") is Priority.POLL
    assert following.priority("b") is Priority.CHANGE


@pytest.mark.parametrize("followed", [True, False])
def test_what_began_since_goes_on(following: Following[str], followed: bool) -> None:
    if followed:
        following.asked("a", Priority.CHANGE)
    before = following.course("a")
    following.asked("a", Priority.DELETION)
    following.settled("a", before)
    assert following.priority("a") is Priority.DELETION


def test_what_was_deleted_is_forgotten(following: Following[str]) -> None:
    following.asked("a", Priority.DELETION)
    following.forget("a")
    assert following.course("a") is None
