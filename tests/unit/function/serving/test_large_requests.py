"""The bytes of requests that are answered at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from function.serving.large_requests import HUGE, LARGE, LargeRequests, NobodyWaits, TooMany

AT_ONCE = LargeRequests(longest_wait=0.0)
MOST_HUGE = 16 * 1024 * 1024


class Client:
    """A call whose client waits."""

    def __init__(self, left: float | None = None) -> None:
        self._left, self._waits = left, True
        self._callbacks: list[Callable[[], None]] = []

    def is_active(self) -> bool:
        return self._waits

    def time_remaining(self) -> float | None:
        return self._left

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self._callbacks.append(callback)
        return self._waits

    def go(self) -> None:
        self._waits = False
        for callback in self._callbacks:
            callback()


CLIENT = Client()


def refused(size: int) -> bool:
    try:
        with AT_ONCE.turn(size, CLIENT):
            return False
    except TooMany:
        return True


class Queue:
    """Requests that are answered in threads, and let go one by one."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool, self._large = pool, LargeRequests(longest_wait=20.0)
        self.begun: list[str] = []
        self._leave: dict[str, threading.Event] = {}

    def come(self, name: str, size: int, call: Client = CLIENT) -> Future[None]:
        self._leave[name] = threading.Event()
        answered = self._pool.submit(self._answer, name, size, call)
        time.sleep(0.05)  # it has its place
        return answered

    def go(self, name: str) -> None:
        self._leave[name].set()

    def until(self, *names: str) -> None:
        deadline = time.monotonic() + 10
        while self.begun != [*names]:
            assert time.monotonic() < deadline, self.begun
            time.sleep(0.01)

    def end(self) -> None:
        for each in self._leave.values():
            each.set()

    def _answer(self, name: str, size: int, call: Client) -> None:
        with self._large.turn(size, call):
            self.begun.append(name)
            assert self._leave[name].wait(20)


@pytest.fixture
def requests() -> Iterator[Queue]:
    with ThreadPoolExecutor(16) as pool:
        made = Queue(pool)
        yield made
        made.end()


@pytest.mark.parametrize(("size", "least"), [(HUGE - 1, LARGE), (MOST_HUGE // 2, HUGE)])
def test_as_many_as_fit_are_admitted_and_no_more(size: int, least: int) -> None:
    with AT_ONCE.turn(size, CLIENT):
        with AT_ONCE.turn(size, CLIENT):
            assert refused(least)
        assert not refused(least)


def test_small_ones_do_not_count() -> None:
    with AT_ONCE.turn(2 * MOST_HUGE, CLIENT), AT_ONCE.turn(HUGE - 1, CLIENT), AT_ONCE.turn(HUGE - 1, CLIENT):
        assert not refused(LARGE - 1)


def test_what_is_larger_than_all_is_admitted_alone() -> None:
    with AT_ONCE.turn(2 * MOST_HUGE, CLIENT):
        assert refused(HUGE)
    with AT_ONCE.turn(HUGE, CLIENT):
        assert refused(2 * MOST_HUGE)
    assert not refused(2 * MOST_HUGE)


def test_a_claim_with_many_tenants_does_not_wait_for_huge_objects() -> None:
    with AT_ONCE.turn(2 * MOST_HUGE, CLIENT):
        assert refused(2 * MOST_HUGE)
        assert not refused(LARGE)


def test_many_that_fit_are_answered_at_once(requests: Queue) -> None:
    for number in range(12):
        requests.come(str(number), LARGE)
    assert len(requests.begun) == 12


def test_places_of_those_that_waited_in_vain_are_given_back() -> None:
    large = LargeRequests(longest_wait=0.01)
    with large.turn(MOST_HUGE, CLIENT):
        for _ in range(20):
            with pytest.raises(TooMany), large.turn(HUGE, CLIENT):
                pass
    with large.turn(HUGE, CLIENT):
        pass


def test_a_failure_gives_its_place_back() -> None:
    with pytest.raises(ZeroDivisionError), AT_ONCE.turn(MOST_HUGE, CLIENT):
        raise ZeroDivisionError
    assert not refused(MOST_HUGE)


def test_one_after_the_other_and_none_passes_those_that_wait(requests: Queue) -> None:
    requests.come("first", HUGE)
    requests.come("alone", 2 * MOST_HUGE)
    requests.come("small enough", HUGE)
    requests.until("first")
    requests.go("first")
    requests.until("first", "alone")
    requests.go("alone")
    requests.until("first", "alone", "small enough")


def test_those_that_fit_together_go_together(requests: Queue) -> None:
    requests.come("first", MOST_HUGE)
    requests.come("second", HUGE)
    requests.come("third", HUGE)
    requests.until("first")
    requests.go("first")
    deadline = time.monotonic() + 10
    while len(requests.begun) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("size", "most"), [(MOST_HUGE, 3), (HUGE - 1, 4)])
def test_so_many_wait_that_threads_are_left_for_small_ones(requests: Queue, size: int, most: int) -> None:
    for number in range(16 * 1024 * 1024 // size if size == MOST_HUGE else 2):
        requests.come(f"in progress {number}", size)
    for number in range(most):
        requests.come(str(number), size)
    with pytest.raises(TooMany):
        requests.come("one more", size).result(10)


def test_who_has_gone_is_not_answered_and_gives_its_place_back(requests: Queue) -> None:
    client = Client()
    requests.come("first", MOST_HUGE)
    gone = requests.come("gone", HUGE, client)
    requests.come("last", HUGE)
    client.go()
    with pytest.raises(NobodyWaits):
        gone.result(10)
    requests.go("first")
    requests.until("first", "last")


def test_the_refusal_comes_while_the_client_still_waits() -> None:
    large, begun = LargeRequests(), time.monotonic()
    with large.turn(MOST_HUGE, CLIENT), pytest.raises(TooMany), large.turn(HUGE, Client(left=1.2)):
        pass
    assert time.monotonic() - begun < 1.2
