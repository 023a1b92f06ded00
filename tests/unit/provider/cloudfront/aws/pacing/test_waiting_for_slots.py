"""How calls wait for the account's rate: in threads, on a clock that stands still."""

from __future__ import annotations

import threading

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.pacing.turns import on_behalf_of
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces

READING = "GetDistributionTenant"
CHANGE, DELETION, DRIFT, POLL = reversed(Priority)


class CountingClock(FakeClock):
    """Counts how often a thread begins to wait, and can have one of them die."""

    def __init__(self) -> None:
        super().__init__(100.0)
        self.waits = 0
        self.dies: threading.Thread | None = None

    def wait(self, condition, deadline):
        self.waits += 1
        super().wait(condition, deadline)
        if threading.current_thread() is self.dies:
            raise MemoryError


class Calling:
    """A call in a thread of its own. `moment` is when it was made, `error` why not."""

    def __init__(self, account, priority=CHANGE, namespace="a", service="cloudfront", config=""):
        self.moment, self.error, self.held = None, None, []
        self.urgency = Urgency(priority, self.held.append)
        self._account, self._asked = account, (service, READING, config)
        self._namespace = namespace
        self.thread = threading.Thread(target=self._call, daemon=True)

    def _call(self):
        try:
            with urgency.within(self.urgency), on_behalf_of(self._namespace):
                self._account.pace.admit(*self._asked)
            self.moment = self._account.clock.now() - 100
        except (AwsError, MemoryError) as error:
            self.error = error


class Account:
    """An account whose burst is used."""

    def __init__(self, rate=1.0):
        self.clock = CountingClock()
        self.pace = Pace(self.clock, 16, WaitingPlaces(16))
        self.pace.limit("cloudfront", "platform", rate)
        while not self.pace._rates.waits("cloudfront", self.clock.now()):
            self.pace._rates.take("cloudfront", self.clock.now())
        self.slots = self.pace._slots["cloudfront"]
        self.waiting = []

    def call(self, *args, **more):
        """Begin a call that waits."""
        call, before = Calling(self, *args, **more), len(self.clock._sleepers._waiting)
        call.thread.start()
        self.until(lambda: len(self.clock._sleepers._waiting) > before)
        self.waiting.append(call)
        return call

    def until(self, done):
        """Until other threads have come that far."""
        for _ in range(5000):
            if done():
                return
            threading.Event().wait(0.001)
        raise AssertionError("not done")

    def advance(self, seconds):
        """Let time pass, and all threads do what they do then."""
        self.clock.advance(seconds)
        self.settle()

    def settle(self):
        """All threads have done what they do now."""

        def rest():
            alive = [each for each in self.waiting if each.thread.is_alive()]
            with self.pace._lock:
                asleep = sum(len(each._waiters) for each in self.clock._sleepers._waiting)
            return asleep == len(alive)

        for _ in range(3):
            self.until(rest)
            threading.Event().wait(0.002)


@pytest.fixture
def account():
    return Account()


def moments(*calls):
    return [call.moment for call in calls]


def test_the_next_slot_is_that_of_the_highest_priority(account):
    poll, drift, deletion, change = (account.call(each) for each in (POLL, DRIFT, DELETION, CHANGE))
    for _ in range(4):
        account.advance(1.0)
    assert moments(change, deletion, drift, poll) == [1, 2, 3, 4]


def test_the_next_slot_is_that_of_the_namespace_that_seldom_calls(account):
    many = [account.call(namespace="many") for _ in range(3)]
    one = account.call(namespace="one")
    for _ in range(4):
        account.advance(1.0)
    assert moments(*many, one) == [1, 3, 4, 2]


def test_one_thread_watches_the_time_for_all(account):
    calls = [account.call(namespace=str(number)) for number in range(9)]
    assert account.clock.waits == 9
    # FakeClock wakes all of them; other clocks only those whose time has come.
    deadlines = []
    wait = account.clock.wait

    def watched(condition, deadline):
        deadlines.append(deadline - account.clock.now())
        wait(condition, deadline)

    account.clock.wait = watched
    account.advance(1.0)
    assert len([each for each in deadlines if each == 1.0]) in (1, 2), "the one that had the slot may be it"
    assert sorted(deadlines)[-6:] == [9.0] * 6
    for _ in range(8):
        account.advance(1.0)
    assert sorted(moments(*calls)) == list(range(1, 10))


def test_each_second_wakes_as_many_threads_as_get_a_slot_and_one_more(account):
    """On a clock that wakes only those that are notified or whose time has come."""
    account.clock._sleepers.wake = lambda: None
    calls = [account.call(namespace=str(number)) for number in range(8)]
    before = account.clock.waits
    for second in range(1, 9):
        account.clock.advance(1.0)
        with account.pace._lock:
            account.slots.watch.told.notify()
        account.until(lambda second=second: sum(each.moment is not None for each in calls) == second)
    assert account.clock.waits - before <= 2 * 8


def test_a_call_that_waits_for_too_long_is_the_queues(account):
    poll = account.call(POLL)
    for _ in range(10):
        account.call(namespace="b")
        account.advance(1.0)
        if not poll.thread.is_alive():
            break
    # Of five slots it has one.
    assert poll.moment == 5
    account.pace.limit("cloudfront", "slow", 0.05)
    slow = Calling(account)
    slow._call()
    assert slow.error.code == "Paused"
    # One call waits already.
    assert slow.error.after == pytest.approx(40.0)


def test_a_call_waits_for_ten_seconds_at_most(account):
    first, last = account.call(POLL), account.call(POLL)
    account.pace.limit("cloudfront", "slow", 0.1)
    account.settle()
    account.advance(9.9)
    assert moments(first, last) == [None, None]
    account.advance(0.1)
    assert moments(first, last) == [10, None]
    assert last.error.code == "Paused"
    # As two other calls may come first, each after four of higher priorities.
    assert last.error.after >= 10
    assert len(account.slots) == 0
    account.advance(10.0)
    assert account.pace.admit("cloudfront", READING) == 0


@pytest.mark.parametrize("goes", [False, True])
def test_another_rate_wakes_the_call_that_watches_the_time(goes):
    """Other clocks than this one wake none before its time."""
    account = Account(0.25)
    account.pace.limit("cloudfront", "other", 2.0)
    calls, waits = [account.call(), account.call()], account.clock.waits
    if goes:
        account.pace.forget("platform")
    else:
        account.pace.limit("cloudfront", "platform", 2.0)
    account.until(lambda: account.clock.waits == waits + 1)
    account.settle()
    account.advance(0.5)
    assert moments(*calls) == [0.5, None]


def test_slots_without_a_wait_count():
    account = Account(1.0)
    account.advance(4.0)
    for _ in range(4):
        with on_behalf_of("busy"):
            assert account.pace.admit("cloudfront", READING) == 0
    calls = [account.call(namespace="busy"), account.call(namespace="one")]
    account.advance(1.0)
    assert moments(*calls) == [None, 5]


def test_a_lower_rate_is_kept_by_the_calls_that_wait(account):
    calls = [account.call(), account.call()]
    account.pace.limit("cloudfront", "slow", 0.25)
    account.settle()
    account.advance(1.0)
    assert moments(*calls) == [None, None]
    account.advance(3.0)
    assert moments(*calls) == [4, None]
    account.advance(4.0)
    assert moments(*calls) == [4, 8]


def test_a_step_of_the_clock_makes_no_burst_beyond_the_usual(account):
    calls = [account.call(namespace=str(number)) for number in range(8)]
    account.advance(3600.0)
    done = [call for call in calls if call.moment is not None]
    assert len(done) == 4, "the burst of four seconds"
    assert all(call.error.code == "Paused" for call in calls if call not in done)


@pytest.mark.parametrize("which", [0, 1])
def test_a_worker_that_dies_while_it_waits_holds_up_no_other(account, which):
    calls = [account.call(namespace=str(number)) for number in range(3)]
    account.clock.dies = calls[which].thread
    account.advance(0.5)
    assert isinstance(calls[which].error, MemoryError)
    assert len(account.slots) == 2
    account.advance(0.5)
    account.advance(1.0)
    assert sorted(call.moment for call in calls if call.moment) == [1, 2]


def test_no_lock_is_held_while_calls_wait(account):
    account.call()
    assert account.pace.rate("cloudfront") == 1.0
    assert account.pace.admit("acm", "DescribeCertificate") == 0


def test_the_credentials_of_a_poll_go_before_the_changes_that_wait_for_them(account):
    account.pace.limit("sts", "platform", 1.0)
    while not account.pace._rates.waits("sts", account.clock.now()):
        account.pace._rates.take("sts", account.clock.now())
    account.call(DELETION, service="sts")
    account.call(POLL, service="sts")
    assert [call.priority for call in account.pace._slots["sts"]._calls] == [CHANGE, CHANGE]


def test_the_queue_learns_which_workers_wait(account):
    call = account.call()
    assert call.held == [True]
    account.advance(1.0)
    assert call.held == [True, False]
    account.advance(5.0)
    quick = Calling(account)
    quick._call()
    assert quick.held == []


def test_a_call_that_gets_no_slot_gives_its_share_back(account):
    account.pace.limit("cloudfront", "team", 0.5, of_team=True)
    calls = [account.call(POLL, config="team")]
    account.pace.limit("cloudfront", "slow", 0.51)
    share = account.pace._rates._shares["cloudfront", "team"]
    taken = share.paid_until
    account.settle()
    account.clock.dies = calls[0].thread
    account.advance(0.1)
    assert share.paid_until == taken - 2.0
