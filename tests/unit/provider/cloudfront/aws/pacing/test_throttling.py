"""How fast an account is called: the rates of provider configs, and the pace of what AWS throttles."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.pacing.rates import DEFAULT_RATE
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.pacing.waiting_places import For, WaitingPlaces

CREATION, READING, LIST = "CreateDistributionTenant", "GetDistributionTenant", "ListDistributionTenants"


@pytest.fixture
def clock():
    return FakeClock(100.0)


@pytest.fixture
def pace(clock):
    return Pace(clock)


class Calling:
    """A call in a thread of its own; `waited` is what `admit` returns."""

    def __init__(self, pace, operation, config=""):
        self.through, self.waited = threading.Event(), None
        self._asked = (pace, operation, config)
        threading.Thread(target=self._call, daemon=True).start()

    def _call(self):
        pace, operation, config = self._asked
        self.waited = pace.admit("cloudfront", operation, config)
        self.through.set()

    def waits(self):
        return not self.through.wait(0.05)


def until(done):
    """Wait until another thread has come that far."""
    while not done():
        threading.Event().wait(0.001)


def admitted(pace, service="cloudfront", config=""):
    """How many calls are let through at once, up to a hundred."""
    count = 0
    while count < 100 and pace._rates.check(service, "Any", config, pace.now()).longest == 0:
        pace._rates.take(service, pace.now())
        pace._rates.take_share(service, config, pace.now())
        count += 1
    return count


def test_an_idle_account_has_a_burst_and_then_the_rate(pace, clock):
    assert admitted(pace) == 4 * DEFAULT_RATE
    clock.advance(1.0)
    assert admitted(pace) == DEFAULT_RATE


def test_the_lowest_rate_of_all_configs_holds(pace):
    pace.limit("cloudfront", "one", 50)
    pace.limit("cloudfront", "other", 2)
    assert pace.rate("cloudfront") == 2
    pace.limit("cloudfront", "other", None)
    assert pace.rate("cloudfront") == 50
    pace.forget("one")
    assert pace.rate("cloudfront") == DEFAULT_RATE


@pytest.mark.parametrize("rate", [0.1, 1000])
def test_a_config_of_a_namespace_changes_the_rate_of_nobody_else(pace, rate):
    pace.limit("cloudfront", "team", rate, of_team=True)
    assert pace.rate("cloudfront") == DEFAULT_RATE
    assert admitted(pace) == 4 * DEFAULT_RATE
    pace.limit("cloudfront", "platform", 50)
    assert pace.rate("cloudfront") == 50


def test_a_config_of_a_namespace_lowers_its_own_share(pace, clock):
    pace.limit("cloudfront", "team", 2, of_team=True)
    assert admitted(pace, config="team") == 8
    with pytest.raises(
        AwsError, match="at most 2 requests per second to cloudfront with this ProviderConf"
    ) as caught:
        pace.admit("cloudfront", READING, "team")
    assert caught.value.after == 0.5
    assert admitted(pace) == 4 * DEFAULT_RATE - 8, "its calls are the account's, too"
    pace.forget("team")
    clock.advance(4)
    assert admitted(pace, config="team") == 4 * DEFAULT_RATE


def test_a_call_waits_for_its_share_if_there_is_a_place(clock):
    pace = Pace(clock, 8, WaitingPlaces(8))
    pace.limit("cloudfront", "team", 0.1, of_team=True)
    pace.limit("cloudfront", "slow", 0.1, of_team=True)
    assert pace.admit("cloudfront", READING, "team") == 0
    assert pace.admit("cloudfront", READING, "slow") == 0
    first = Calling(pace, READING, "team")
    until(lambda: not pace._places._free[For.SHARE])
    assert first.waits()
    with pytest.raises(AwsError, match="Paused"):
        pace.admit("cloudfront", READING, "slow")
    assert pace.admit("cloudfront", READING) == 0
    clock.advance(10.0)
    assert first.through.wait(5)
    assert first.waited == 10.0
    assert pace.admit("cloudfront", READING, "slow") == 0, "it has paid for nothing"


def test_services_do_not_share(pace):
    admitted(pace)
    assert admitted(pace, "acm") == 4 * DEFAULT_RATE


def test_a_call_waits_on_the_injected_clock(pace, clock):
    admitted(pace)
    call = Calling(pace, "Any")
    assert call.waits()
    clock.advance(0.2)
    assert call.through.wait(5)
    assert call.waited == pytest.approx(0.2)


def test_what_would_wait_too_long_is_the_queues_and_costs_nothing(pace, clock):
    pace.limit("cloudfront", "one", 0.1)
    assert pace.admit("cloudfront", "Any") == 0
    pace.limit("cloudfront", "one", 0.05)
    with pytest.raises(AwsError, match=r"at most 0\.05 requests per second to cloudfront for this") as caught:
        pace.admit("cloudfront", "Any")
    assert caught.value.after > 10
    clock.advance(caught.value.after)
    assert pace.admit("cloudfront", "Any") == 0


def test_a_call_that_the_rate_keeps_away_takes_no_turn(pace, clock):
    pace.limit("cloudfront", "one", 0.5)
    assert pace.admit("cloudfront", "Any") == 0
    pace.limit("cloudfront", "one", 0.06)
    pace.throttled(CREATION, clock.now())
    pace._turns[CREATION]._permitted.rate = 0.055
    clock.advance(1.0)
    with pytest.raises(AwsError, match="requests per second"):
        pace.admit("cloudfront", CREATION)
    clock.advance(16.0)
    assert pace.admit("cloudfront", CREATION) == 0


def test_calls_of_a_throttled_operation_are_spaced_evenly(pace, clock):
    pace.throttled(CREATION, clock.now())
    for _ in range(3):
        with pytest.raises(AwsError, match="AWS is throttling CreateDistributionTenant requests") as caught:
            pace.admit("cloudfront", CREATION)
        assert caught.value.after == pace.paused == 1
        clock.advance(1.0)
        assert pace.admit("cloudfront", CREATION) == 0


@pytest.mark.parametrize(("operation", "longest"), [(CREATION, 20), (READING, 5), (LIST, 20)])
def test_the_pause_between_two_calls_has_a_limit(pace, clock, operation, longest):
    pauses = []
    for _ in range(12):
        pace.throttled(operation, clock.now())
        pauses.append(pace.paused)
        clock.advance(pace.paused)
        assert pace.admit("cloudfront", operation) == 0
    assert pauses == pytest.approx(sorted(pauses))
    assert pauses[0] == 1
    assert pauses[-1] == pytest.approx(longest)


def test_what_aws_throttles_holds_up_no_other_operation(pace, clock):
    pace.throttled(CREATION, clock.now())
    assert pace.admit("cloudfront", "UpdateDistributionTenant") == 0
    clock.advance(0.5)
    pace.throttled("UpdateDistributionTenant", clock.now())
    assert pace.paused == 1, "the longest"
    clock.advance(0.5)
    assert pace.admit("cloudfront", CREATION) == 0
    with pytest.raises(AwsError, match="Paused"):
        pace.admit("cloudfront", "UpdateDistributionTenant")


def test_an_operation_that_aws_permits_more_often_than_the_accounts_rate_has_no_burst(pace, clock):
    for _ in range(8):
        pace.answered(READING, clock.now())
    pace.throttled(READING, clock.now())
    clock.advance(30.0)
    assert pace.admit("cloudfront", READING) == 0
    call = Calling(pace, READING)
    assert call.waits(), "without a place, as it may be called at the account's rate"
    clock.advance(1 / 7.2)
    assert call.through.wait(5)
    assert call.waited == 0, "no provider config made it wait"


def test_an_operation_is_free_when_nothing_was_throttled_for_long(pace, clock):
    pace.throttled(READING, clock.now())
    clock.advance(601)
    for _ in range(20):
        assert pace.admit("cloudfront", READING) == 0
    assert pace.paused == 0


def test_a_few_calls_wait_for_their_turn_in_their_workers(clock):
    places = WaitingPlaces(8)
    one, other = Pace(clock, 8, places), Pace(clock, 8, places)
    for pace in (one, other):
        pace.throttled(CREATION, clock.now())
    waiting = [Calling(one, CREATION), Calling(other, CREATION)]
    until(lambda: one._turns[CREATION]._here and other._turns[CREATION]._here)
    assert all(call.waits() for call in waiting)
    for pace in (one, other):
        with pytest.raises(AwsError, match="Paused"):
            pace.admit("cloudfront", CREATION)
        assert pace.admit("cloudfront", READING) == 0, "no lock is held"
    clock.advance(1.0)
    assert all(call.through.wait(5) for call in waiting)
    again = Calling(one, CREATION)
    assert again.waits(), "the places are free again"
    clock.advance(1.0)
    assert again.through.wait(5)


def test_a_call_that_waits_for_too_long_gives_its_place_back(clock):
    pace = Pace(clock, 4, WaitingPlaces(4))
    pace.throttled(CREATION, clock.now())
    failed = []

    def call():
        with pytest.raises(AwsError, match="Paused") as caught:
            pace.admit("cloudfront", CREATION)
        failed.append(caught.value.after)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    until(lambda: pace._turns[CREATION]._here)
    pace.throttled(CREATION, clock.now() + 1)
    pace._turns[CREATION]._next = clock.now() + 9
    clock.advance(1.0)
    thread.join(5)
    assert failed == [8.0]
    clock.advance(8.0)
    assert pace.admit("cloudfront", CREATION) == 0


def test_calls_to_sts_do_not_wait_for_a_turn(clock):
    """All other calls of the config wait for the credentials meanwhile."""
    pace = Pace(clock, 8, WaitingPlaces(8))
    pace.throttled("AssumeRole", clock.now())
    with pytest.raises(AwsError, match="Paused"):
        pace.admit("sts", "AssumeRole")


def test_a_list_goes_on_until_its_end(clock):
    pace = Pace(clock, 4, WaitingPlaces(4))
    pace.throttled(LIST, clock.now())
    clock.advance(1.0)
    pages = []

    def pages_of_one():
        for _ in range(5):
            pace.admit("cloudfront", LIST)
            pages.append(clock.now())

    thread = threading.Thread(target=pages_of_one, daemon=True)
    thread.start()
    until(lambda: pages)
    while thread.is_alive():
        threading.Event().wait(0.01)
        if thread.is_alive():
            with pytest.raises(AwsError, match="Paused"):
                pace.admit("cloudfront", LIST)
            clock.advance(0.5)
    # The clock may go on by a step before the thread reads it.
    waits = [later - earlier for earlier, later in pairwise(pages)]
    assert len(pages) == 5
    assert all(1.0 <= each <= 1.5 for each in waits)
    clock.advance(3.5)
    assert pace.admit("cloudfront", LIST) == 0, "the other list has ended"


def test_more_lists_are_under_way_where_aws_permits_more_pages(clock):
    pace = Pace(clock, 16, WaitingPlaces(16))
    pace.limit("cloudfront", "platform", 100)
    for _ in range(8):
        pace.answered(LIST, clock.now())
    pace.throttled(LIST, clock.now())
    lists = [Calling(pace, LIST) for _ in range(3)]
    until(lambda: len(pace._turns[LIST]._under_way) == 3)
    assert all(call.waits() for call in lists)
    with pytest.raises(AwsError, match="Paused"):
        pace.admit("cloudfront", LIST)
    while not all(call.through.wait(0.02) for call in lists):
        clock.advance(1 / 7.2)


def test_a_list_does_not_wait_if_no_worker_may(pace, clock):
    pace.throttled(LIST, clock.now())
    with pytest.raises(AwsError, match="Paused") as caught:
        pace.admit("cloudfront", LIST)
    clock.advance(caught.value.after)
    assert pace.admit("cloudfront", LIST) == 0
