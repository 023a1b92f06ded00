"""An endpoint that does not answer takes few workers, and counts as one again once it answers."""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.account import sessions
from provider.cloudfront.aws import circuits
from provider.cloudfront.aws.calls import Caller
from provider.cloudfront.aws.circuits import Circuit
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.hooks import announcing
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.cloudfront.account.test_sessions import config

OPERATION = "GetDistributionTenant"


class Line:
    """A circuit, and threads that make calls."""

    def __init__(self, workers: int = 16) -> None:
        self.clock = FakeClock()
        self.circuit = Circuit(workers, self.clock)
        self.workers: list[ThreadPoolExecutor] = []
        self.afters: list[float] = []
        """What the refused ones were told."""

    def begins(self) -> Callable[[bool], None] | None:
        """Begin a call in a thread of its own; returns how to end it, or None if it may not be sent."""
        worker = ThreadPoolExecutor(1)
        self.workers.append(worker)
        refused = worker.submit(self.begin).exception(10)
        if refused is not None:
            assert isinstance(refused, AwsError)
            assert not refused.sent
            assert refused.after
            if refused.code == PAUSED:
                assert 2.0 <= refused.after <= 4.0
            else:
                assert (refused.after, refused.code) == (10.0, "Endpoint")
            self.afters.append(refused.after)
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
        self.clock.advance(10)

    def begin_all(self, number: int) -> list[Callable[[bool], None]]:
        """Begin calls that must all be sent."""
        begun = [end for _ in range(number) if (end := self.begins())]
        assert len(begun) == number
        return begun

    def passes(self, seconds: float, ends: list[Callable[[bool], None]], *, answered: bool) -> None:
        """Calls end after some time."""
        self.clock.advance(seconds)
        for end in ends:
            end(answered)


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
    assert [bool(line.begins()) for _ in range(3)] == [True] * 3, "two are not enough"


def test_after_three_time_outs_one_call_at_a_time_is_sent(line: Line) -> None:
    line.times_out(3)
    probe = line.begins()
    assert probe
    assert [line.begins() for _ in range(10)] == [None] * 10
    probe(False)
    assert line.begins() is None, "the next worker waits for ten seconds first"
    line.clock.advance(10)
    probe = line.begins()
    assert probe
    assert line.begins() is None
    probe(True)
    line.clock.advance(60)
    assert all(line.begins() for _ in range(10))


@pytest.mark.parametrize(("workers", "few"), [(1, 2), (8, 2), (16, 4), (64, 16)])
def test_a_quarter_of_the_workers_may_hang(workers: int, few: int) -> None:
    """The first ones that hang must not take all workers until their time-out."""
    line = Line(workers)
    hanging = line.begin_all(few)
    line.clock.advance(4.5)
    line.passes(0, line.begin_all(workers), answered=True)
    line.clock.advance(1)
    assert [line.begins() for _ in range(10)] == [None] * 10
    assert len(set(line.afters)) > 1, "they must not all come back together"
    hanging[0](True)
    assert line.begins()


@pytest.mark.parametrize("seconds", [3, 5, 10])
def test_an_account_that_is_slow_may_use_all_workers(line: Line, seconds: int) -> None:
    """AWS may be slow for hours, and a call times out now and then."""
    for _ in range(6):
        hanging = line.begin_all(1)
        for _ in range(30 // seconds):
            line.passes(seconds, line.begin_all(15), answered=True)
        line.passes(0, hanging, answered=False)
        for _ in range(30 // seconds):
            line.passes(seconds, line.begin_all(16), answered=True)


@pytest.mark.parametrize(("usual", "long"), [(1, 5), (3, 9), (12, 15)])
def test_what_takes_long_depends_on_the_usual_duration(line: Line, usual: int, long: int) -> None:
    for _ in range(6):
        line.passes(usual, line.begin_all(10), answered=True)
    slow = line.begin_all(4)
    line.clock.advance(long - 0.5)
    line.passes(0, line.begin_all(1), answered=True)
    line.clock.advance(1)
    assert line.begins() is None
    line.passes(0, slow, answered=True)
    assert line.begins()


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("each", [3, 10])
def test_a_part_of_an_endpoint_that_hangs_takes_few_workers(line: Line, each: int, answered: bool) -> None:
    """The other part answers in between, and there is always more to do. A load balancer may answer 504."""
    calls = 0
    hanging: dict[Callable[[bool], None], int] = {}
    many: list[int] = []
    for second in range(240):
        for end in [end for end, since in hanging.items() if second - since >= 29]:
            end(answered)
            del hanging[end]
        while len(hanging) < 16 and (end := line.begins()):
            calls += 1
            if calls % each:
                end(True)
            else:
                hanging[end] = second
        many.append(len(hanging))
        line.clock.advance(1)
    assert many[0] == 16, "nothing is known yet"
    assert max(many[60:]) <= 8
    assert many[-1] >= 3, "the part that answers is used"


def test_after_an_outage_of_a_part_all_workers_make_calls_again(line: Line) -> None:
    line.passes(30, line.begin_all(16), answered=False)
    line.clock.advance(10)
    few = line.begin_all(1)
    line.passes(1, few, answered=True)
    begun = [end for _ in range(16) if (end := line.begins())]
    assert len(begun) <= 8
    line.passes(3, begun, answered=True)
    for _ in range(60):
        line.passes(3, [end for _ in range(16) if (end := line.begins())], answered=True)
    assert all(line.begins() for _ in range(16))


@pytest.mark.parametrize("answers", [1, 90])
def test_after_an_outage_of_an_hour_all_workers_make_calls_within_ninety_seconds(line, answers) -> None:
    line.passes(30, line.begin_all(16), answered=False)
    line.clock.advance(10)
    for _ in range(90):
        line.passes(30, line.begin_all(1), answered=False)
        line.clock.advance(10)
    for _ in range(answers):
        line.passes(0.05, line.begin_all(1), answered=True)
        line.clock.advance(90 / answers - 0.05)
    line.begin_all(16)


def test_an_answer_that_drips_limits_no_account_after_an_outage(line: Line) -> None:
    """It has no time-out."""
    line.passes(30, line.begin_all(16), answered=False)
    line.clock.advance(10)
    line.begin_all(1)
    line.clock.advance(36)
    line.passes(0.05, line.begin_all(1), answered=True)
    line.clock.advance(90)
    line.begin_all(15)


class Worker:
    """Stands for the thread of a worker."""

    hangs: bool | None = None
    """Whether its call hangs; None if it makes none."""

    def is_alive(self) -> bool:
        return True


class Hour:
    """An hour in which 16 workers always have calls to make. Some hang until their time-out, the others are
    answered at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hang: float, rest: float) -> None:
        """`hang` is the probability that a call hangs, `rest` the seconds from a call to the next one."""
        self.clock = FakeClock()
        self.circuit = Circuit(16, self.clock)
        self.circuit._rng = self.random = random.Random(1)
        self.hang, self.rest = hang, rest
        self.workers = [Worker() for _ in range(16)]
        self.answered = 0
        self.most = 0
        """The most that hung at a time after the first calls have timed out."""
        self.turn = self.workers[0]
        stand_in = SimpleNamespace(current_thread=lambda: self.turn)
        monkeypatch.setattr(circuits, "threading", stand_in)

    def passes(self) -> None:
        began = self.clock.now()
        turns = [(began, number) for number in range(16)]
        while turns[0][0] < began + 3600:
            at, number = turns[0]
            self.clock.advance(at - self.clock.now())
            self.turn = self.workers[number]
            heapq.heapreplace(
                turns, (at + (self.begins() if self.turn.hangs is None else self.ends()), number)
            )
            if at > began + 45:
                self.most = max(self.most, sum(bool(worker.hangs) for worker in self.workers))

    def begins(self) -> float:
        """Begin a call, unless it is refused; returns the seconds until the next turn of that worker."""
        try:
            self.circuit.check(OPERATION)
        except AwsError as refused:
            return refused.after or 0.0
        self.circuit.begin()
        self.turn.hangs = self.random.random() < self.hang
        return 30.0 if self.turn.hangs else 0.1

    def ends(self) -> float:
        self.circuit.ended(answered=not self.turn.hangs)
        self.answered += not self.turn.hangs
        self.turn.hangs = None
        return self.rest


@pytest.mark.parametrize(("hang", "least"), [(0.1, 3000), (0.3, 800), (0.6, 120)])
@pytest.mark.parametrize("rest", [0.0, 0.5])
def test_a_part_that_is_silent_for_hours_takes_at_most_half_of_the_workers(
    monkeypatch, hang: float, least: int, rest: float
) -> None:
    """Again and again, all of those that hang time out together."""
    hour = Hour(monkeypatch, hang, rest)
    hour.passes()
    assert hour.most <= 8
    assert hour.answered >= least, "the part that answers is used"


def test_time_outs_are_forgotten_also_if_answers_are_fast(line: Line) -> None:
    """Fast answers take little of the workers' time."""
    line.passes(30, line.begin_all(16), answered=False)
    line.clock.advance(10)
    for _ in range(300):
        line.passes(0.05, line.begin_all(1), answered=True)
        line.clock.advance(0.95)
    line.begin_all(16)


def test_calls_that_wait_for_the_pace_count_as_well(line: Line) -> None:
    """They would all be sent together."""
    line.passes(30, line.begin_all(16), answered=False)
    line.clock.advance(10)
    line.passes(0, line.begin_all(1), answered=True)
    let_through = [ThreadPoolExecutor(1) for _ in range(10)]
    refused = [bool(each.submit(line.circuit.check, OPERATION).exception(10)) for each in let_through]
    assert refused == [False] * 7 + [True] * 3
    line.clock.advance(10)
    let_through[0].submit(lambda: line.circuit.ended(answered=False)).result(10)
    ends = line.begins()
    assert ends
    ends(True)
    for each in let_through[1:7]:
        each.submit(lambda: line.circuit.ended(answered=False)).result(10)
    assert line.begin_all(7), "a call that was not sent has not timed out"


def test_the_call_of_a_thread_that_ended_is_forgotten(line: Line) -> None:
    line.times_out(3)
    assert line.begins()
    assert line.begins() is None
    line.workers[-2].shutdown()
    assert line.begins()


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
    line.clock.advance(60)
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


@pytest.mark.parametrize("times", [1, 3])
def test_a_call_that_may_not_be_sent_uses_nothing_up(monkeypatch, times) -> None:
    """Neither a token of the account's rate, nor the announcement of a creation."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config())
    circuit = account.pace.circuits["cloudfront"]
    circuit._share = 1.0
    for _ in range(times):
        circuit.begin()
        circuit.ended(answered=False)
    # One more than a quarter: the share becomes smaller meanwhile.
    with ThreadPoolExecutor(5) as workers:
        together = threading.Barrier(5)
        for each in [workers.submit(lambda: (together.wait(10), circuit.begin())) for _ in range(5)]:
            each.result(10)
        for _ in range(1000):
            with pytest.raises(AwsError, match=r"one call at a time|few calls"), announcing(pytest.fail):
                account.cloudfront.create_tenant(
                    Tenant("shop.acme", "E1", domains=frozenset({"a.example.com"}))
                )
    assert account.pace.admit("cloudfront", OPERATION) == 0.0


def test_time_outs_of_sts_count_for_sts(monkeypatch) -> None:
    """botocore renews credentials in the middle of a call to CloudFront."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    accounts = sessions.Accounts(FakeClock())
    time_out = ReadTimeoutError(endpoint_url="https://sts.amazonaws.com")

    def renews(**_: Any) -> None:
        raise time_out

    for number in range(5):
        account = accounts.of(config(uid=f"u{number}", rateLimits={"cloudfront": 100}))
        account.clients[0].meta.events.register("before-sign", renews)
        with pytest.raises(AwsError, match="Read timeout"):
            account.cloudfront.get_tenant("shop.acme")
    circuit = account.pace.circuits["cloudfront"]
    assert (circuit._failures, circuit._under_way) == (0, {})
    assert circuit._timed_out == float("-inf")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"upstream connect error or disconnect"),
        (200, b'{"error": "x"}'),
        (200, b'<?xml version="1.0"?><DistributionTenant><Id>dt_1</Id><Dis'),
        (403, b"blocked by policy"),
    ],
)
def test_an_answer_that_botocore_cannot_read_ends_its_call(monkeypatch, status, body) -> None:
    """As a proxy gives. It counts as an answer."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config())
    answer = AWSResponse("https://cloudfront.amazonaws.com", status, {}, None)
    answer._content = body
    account.clients[0].meta.events.register("before-send", lambda **_: answer)
    circuit = account.pace.circuits["cloudfront"]
    circuit._failures = 2
    with pytest.raises(AwsError):
        account.cloudfront.get_tenant("shop.acme")
    assert (circuit._failures, circuit._under_way) == (0, {})


def test_a_call_that_the_pace_holds_back_ends(monkeypatch) -> None:
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config())
    account.pace.throttled(OPERATION, 0.0)
    with pytest.raises(AwsError, match="AWS is throttling"):
        account.cloudfront.get_tenant("shop.acme")
    assert account.pace.circuits["cloudfront"]._under_way == {}


def test_the_numbers_are_those_of_the_workers(monkeypatch) -> None:
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock(), workers=64).of(config())
    assert {circuit._few for circuit in account.pace.circuits.values()} == {16}
