"""An endpoint that does not answer takes few workers, and counts as one again once it answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.account import sessions
from provider.cloudfront.aws.calls import Caller
from provider.cloudfront.aws.circuits import Circuit
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.hooks import announcing
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.cloudfront.account.test_sessions import config

OPERATION = "GetDistributionTenant"


class Line:
    """A circuit, and threads that make calls."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.circuit = Circuit(self.clock)
        self.workers: list[ThreadPoolExecutor] = []

    def begins(self) -> Callable[[bool], None] | None:
        """Begin a call in a thread of its own; returns how to end it, or None if it may not be sent."""
        worker = ThreadPoolExecutor(1)
        self.workers.append(worker)
        refused = worker.submit(self.begin).exception(10)
        if refused is not None:
            assert isinstance(refused, AwsError)
            assert not refused.sent
            assert (refused.after, refused.code) in ((10.0, "Endpoint"), (2.0, PAUSED))
            return None
        return lambda answered: worker.submit(lambda: self.circuit.ended(answered=answered)).result(10)

    def begin(self) -> None:
        self.circuit.check(OPERATION)
        self.circuit.begin()

    def times_out(self, times: int) -> None:
        for _ in range(times):
            ends = self.begins()
            assert ends
            ends(False)


@pytest.fixture
def line() -> Line:
    return Line()


def test_any_number_of_calls_is_sent_while_they_are_answered(line: Line) -> None:
    ends = [line.begins() for _ in range(20)]
    assert all(ends)
    for end in ends:
        assert end
        end(True)
    line.times_out(2)
    assert line.begins()
    assert line.begins(), "two are not enough"


def test_after_three_time_outs_one_call_at_a_time_is_sent(line: Line) -> None:
    line.times_out(3)
    probe = line.begins()
    assert probe
    assert [line.begins() for _ in range(10)] == [None] * 10
    probe(False)
    probe = line.begins()
    assert probe
    assert line.begins() is None
    probe(True)
    assert all(line.begins() for _ in range(10))


def test_few_calls_are_sent_beside_one_that_takes_long(line: Line) -> None:
    """The first ones that hang must not take all workers until their time-out."""
    slow = line.begins()
    line.clock.advance(14)
    others = [line.begins() for _ in range(3)]
    assert all(others), "AWS may be slow for hours"
    line.clock.advance(2)
    assert slow
    others = [line.begins() for _ in range(10)]
    assert [bool(each) for each in others] == [True] * 4 + [False] * 6
    slow(True)
    assert all(line.begins() for _ in range(10)), "the others are not late"


def test_calls_that_hang_for_ever_do_not_keep_others_from_trying(line: Line) -> None:
    """An answer that drips has no time-out."""
    line.times_out(3)
    hanging = []
    for _ in range(4):
        hanging.append(line.begins())
        assert line.begins() is None
        line.clock.advance(36)
    assert all(hanging)
    assert line.begins() is None, "four that hang are enough"
    ends = hanging[0]
    assert ends
    ends(True)
    assert line.begins()


def test_a_thread_makes_one_call_at_a_time(line: Line) -> None:
    """What ended without a word of botocore is forgotten with the next call of its thread."""
    for _ in range(5):
        line.begin()
    line.circuit.ended(answered=True)
    line.clock.advance(100)
    line.times_out(2)
    assert line.begins()


class Silent:
    """What botocore sends requests with: nothing comes back."""

    def __init__(self, error: Exception) -> None:
        self.error, self.sent = error, 0

    def __call__(self, **_: Any) -> Any:
        self.sent += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), 3),
        (ConnectionClosedError(endpoint_url="http://127.0.0.1:1"), 20),
    ],
)
def test_only_a_call_that_took_its_time_counts(monkeypatch, error, sent) -> None:
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config(rateLimits={"cloudfront": 100}))
    silent = Silent(error)
    account.clients[0].meta.events.register("before-send", silent)

    def asks() -> str:
        with pytest.raises(AwsError) as refused:
            account.cloudfront.get_tenant("shop.acme")
        return refused.value.words

    for _ in range(3):
        asks()
    # Another worker's call is under way.
    with ThreadPoolExecutor(1) as worker:
        worker.submit(account.pace.circuits["cloudfront"].begin).result(10)
        words = [asks() for _ in range(7)]
    assert silent.sent == sent
    assert all("does not answer; one call at a time" in each for each in words) is (sent == 3)


def test_a_call_that_may_not_be_sent_uses_nothing_up(monkeypatch) -> None:
    """Neither a token of the account's rate, nor the announcement of a creation."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config())
    for _ in range(3):
        account.pace.circuits["cloudfront"].ended(answered=False)
    with ThreadPoolExecutor(1) as worker:
        worker.submit(account.pace.circuits["cloudfront"].begin).result(10)
        for _ in range(1000):
            with pytest.raises(AwsError, match="does not answer"), announcing(pytest.fail):
                account.cloudfront.create_tenant(
                    Tenant("shop.acme", "E1", domains=frozenset({"a.example.com"}))
                )
    assert account.pace.admit("cloudfront", OPERATION) == 0.0


def test_time_outs_of_sts_count_for_sts(monkeypatch) -> None:
    """botocore renews credentials in the middle of a call to CloudFront."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config(rateLimits={"cloudfront": 100}))
    time_out = ReadTimeoutError(endpoint_url="https://sts.amazonaws.com")

    def renews(**_: Any) -> None:
        raise time_out

    account.clients[0].meta.events.register("before-sign", renews)
    for _ in range(5):
        with pytest.raises(AwsError, match="Read timeout"):
            account.cloudfront.get_tenant("shop.acme")
    circuit = account.pace.circuits["cloudfront"]
    assert (circuit._failures, circuit._under_way) == (0, {})
