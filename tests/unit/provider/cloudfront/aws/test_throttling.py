"""How fast an account is called: the token bucket, the pause after a throttling."""

from __future__ import annotations

import threading

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.throttling import DEFAULT_RATE, Pace


@pytest.fixture
def clock():
    return FakeClock(100.0)


@pytest.fixture
def pace(clock):
    return Pace(clock)


def admitted(pace, service="cloudfront"):
    """How many calls are let through at once, up to a hundred."""
    count = 0
    while count < 100 and pace._buckets[service].take(pace._clock.now()) == 0:
        count += 1
    return count


def test_an_idle_account_has_a_burst_and_then_the_rate(pace, clock):
    assert admitted(pace) == 4 * DEFAULT_RATE
    clock.advance(1.0)
    # The one that was asked for above has to be paid, too.
    assert admitted(pace) == DEFAULT_RATE - 1


def test_the_lowest_rate_of_all_configs_holds(pace):
    pace.limit("cloudfront", "one", 50)
    pace.limit("cloudfront", "other", 2)
    assert pace.rate("cloudfront") == 2
    pace.limit("cloudfront", "other", None)
    assert pace.rate("cloudfront") == 50
    pace.forget("one")
    assert pace.rate("cloudfront") == DEFAULT_RATE


def test_a_config_of_a_namespace_hastens_nobody_else(pace):
    pace.limit("cloudfront", "platform", None)
    pace.limit("cloudfront", "team", 1000, of_team=True)
    assert pace.rate("cloudfront") == DEFAULT_RATE


def test_a_config_of_a_namespace_slows_down_nobody_else(pace):
    pace.limit("cloudfront", "team", 0.1, of_team=True)
    assert pace.rate("cloudfront") == DEFAULT_RATE
    pace.limit("cloudfront", "platform", 50)
    assert pace.rate("cloudfront") == 50
    pace.limit("cloudfront", "team", 10, of_team=True)
    assert pace.rate("cloudfront") == 50
    pace.forget("platform")
    assert pace.rate("cloudfront") == 10
    pace.forget("team")
    assert pace.rate("cloudfront") == DEFAULT_RATE


def test_services_do_not_share(pace):
    admitted(pace)
    assert admitted(pace, "acm") == 4 * DEFAULT_RATE


def test_a_call_waits_on_the_injected_clock(pace, clock):
    while pace._buckets["cloudfront"].take(clock.now()) == 0:
        pass
    through = threading.Event()
    waited = []

    def call():
        waited.append(pace.admit("cloudfront", "Any"))
        through.set()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    assert not through.wait(0.05)
    clock.advance(1.0)
    assert through.wait(5)
    assert waited == [pytest.approx(0.4)]


def test_what_would_wait_too_long_is_the_queues_and_costs_nothing(pace, clock):
    pace.limit("cloudfront", "one", 0.1)
    assert pace.admit("cloudfront", "Any") == 0
    before = pace._buckets["cloudfront"].paid_until
    pace.limit("cloudfront", "one", 0.05)
    with pytest.raises(AwsError, match=r"at most 0\.05 requests per second") as caught:
        pace.admit("cloudfront", "Any")
    assert caught.value.after > 10
    assert pace._buckets["cloudfront"].paid_until == before
    clock.advance(caught.value.after)
    assert pace.admit("cloudfront", "Any") == 0


def test_a_throttling_pauses_its_operation_and_longer_while_it_goes_on(pace, clock):
    pauses = []
    for _ in range(8):
        pace.throttled("ListDistributionTenants", clock.now())
        pace.throttled("ListDistributionTenants", clock.now())  # of a call that was under way
        pauses.append(pace.paused)
        with pytest.raises(AwsError, match="AWS is throttling ListDistributionTenants requests") as caught:
            pace.admit("cloudfront", "ListDistributionTenants")
        assert caught.value.after == pace.paused
        clock.advance(pace.paused)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    clock.advance(61)
    pace.throttled("ListDistributionTenants", clock.now())
    assert pace.paused == 1


def test_the_pages_of_a_list_go_on_at_once_after_the_pause(pace, clock):
    pace.throttled("ListDistributionTenants", clock.now())
    clock.advance(1)
    for _ in range(10):
        assert pace.admit("cloudfront", "ListDistributionTenants") == 0


def test_reading_goes_on_call_by_call_and_soon(pace, clock):
    pauses = []
    for _ in range(6):
        pace.throttled("GetDistributionTenant", clock.now())
        pauses.append(pace.paused)
        clock.advance(pace.paused)
        assert pace.admit("cloudfront", "GetDistributionTenant") == 0
    assert pauses == [1, 2, 4, 5, 5, 5]
    with pytest.raises(AwsError, match="Paused: AWS is throttling GetDistributionTenant requests"):
        pace.admit("cloudfront", "GetDistributionTenant")


def test_what_aws_throttles_holds_up_no_other_operation(pace, clock):
    pace.throttled("CreateDistributionTenant", clock.now())
    assert pace.admit("cloudfront", "UpdateDistributionTenant") == 0
    clock.advance(1)
    assert pace.admit("cloudfront", "CreateDistributionTenant") == 0
    pace.throttled("CreateDistributionTenant", clock.now())
    pace.throttled("UpdateDistributionTenant", clock.now())
    assert pace.paused == 2, "the longest"
    clock.advance(1)
    assert pace.admit("cloudfront", "UpdateDistributionTenant") == 0
    with pytest.raises(AwsError, match="Paused"):
        pace.admit("cloudfront", "CreateDistributionTenant")


def test_a_write_goes_on_call_by_call_and_is_free_when_aws_takes_it_again(pace, clock):
    pace.throttled("CreateDistributionTenant", clock.now())
    waited = []
    while pace.paused:
        with pytest.raises(AwsError, match="Paused") as caught:
            pace.admit("cloudfront", "CreateDistributionTenant")
        waited.append(caught.value.after)
        clock.advance(caught.value.after)
        pace.admit("cloudfront", "CreateDistributionTenant")
        pace.answered("CreateDistributionTenant", clock.now())
    assert waited == [1, 0.5, 0.25]
    for _ in range(10):
        assert pace.admit("cloudfront", "CreateDistributionTenant") == 0
