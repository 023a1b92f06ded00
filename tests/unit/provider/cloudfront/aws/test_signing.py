"""Credentials that cannot be renewed take few workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
from botocore.credentials import DeferredRefreshableCredentials
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.account import sessions
from provider.cloudfront.aws import signing
from provider.cloudfront.aws.calls import Caller
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.hooks import Hooks, announcing
from provider.cloudfront.aws.signing import Signing
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.cloudfront.account.test_sessions import ROLE, config

OPERATION = "GetDistributionTenant"


class Desk:
    """Where requests are signed, and the threads that bring them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.signing = Signing(self.clock)
        self.workers: list[ThreadPoolExecutor] = []
        self.afters: list[float] = []
        """What the refused ones were told."""

    def sign(self) -> Future[None]:
        """Sign a request in a thread of its own, which `self.workers` has last."""
        self.workers.append(ThreadPoolExecutor(1))
        return self.workers[-1].submit(self._sign)

    def _sign(self) -> None:
        self.signing.check(OPERATION)
        self.signing.begin(OPERATION)

    def begins(self) -> Callable[[bool], None] | None:
        """Returns how to end it, or None if it fails at once."""
        refused = self.sign().exception(10)
        worker = self.workers[-1]
        if refused is None:
            return lambda silent: worker.submit(lambda: self.signing.ended(silent=silent)).result(10)
        assert isinstance(refused, AwsError)
        assert refused.after
        assert not refused.sent
        if self.signing._failed is None:
            assert refused.code == PAUSED, "the endpoint may only be slow"
            assert 2.0 <= refused.after <= 4.0
        else:
            assert (refused.after, refused.code) == (30.0, "Endpoint")
        self.afters.append(refused.after)
        return None


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    # Ends all waits.
    desk.clock.advance(3600)


def test_a_third_request_waits_for_its_turn(desk: Desk) -> None:
    end = desk.begins()
    assert desk.begins()
    third = desk.sign()
    assert not wait([third], 0.1).done
    assert end
    end(False)
    assert third.exception(10) is None


def test_a_request_waits_for_two_seconds_and_then_fails(desk: Desk) -> None:
    assert desk.begins()
    assert desk.begins()
    desk.clock.advance(1.5)
    waiting = [desk.sign() for _ in range(14)]
    assert not wait(waiting, 0.1).done
    desk.clock.advance(0.6)
    assert all(isinstance(each.exception(10), AwsError) for each in waiting)
    assert [desk.begins() for _ in range(5)] == [None] * 5, "they do not even wait"
    assert len(set(desk.afters)) > 1, "they must not all come back together"


def test_a_renewal_that_takes_long_does_not_stop_the_others(desk: Desk) -> None:
    """The old credentials serve for five minutes more."""
    assert desk.begins()
    for _ in range(10):
        desk.clock.advance(1)
        end = desk.begins()
        waiting = desk.sign()
        assert not wait([waiting], 0.02).done
        assert end
        end(False)
        assert waiting.exception(10) is None
        desk.workers[-1].submit(desk.signing.ended).result(10)


def test_after_a_silence_one_tries_after_half_a_minute(desk: Desk) -> None:
    ends = [desk.begins() for _ in range(2)]
    for end in ends:
        assert end
        end(True)
    desk.clock.advance(29)
    assert desk.begins() is None
    desk.clock.advance(1)
    trial = desk.begins()
    assert trial
    assert desk.begins() is None
    trial(True)
    assert desk.begins() is None
    desk.clock.advance(30)
    trial = desk.begins()
    assert trial
    trial(False)
    assert desk.begins()
    assert desk.begins()


def test_the_one_that_tries_is_chosen_before_it_waits_for_the_pace(desk: Desk) -> None:
    """Or all wait there, and use up the account's rate."""
    end = desk.begins()
    assert end
    end(True)
    desk.clock.advance(30)
    with ThreadPoolExecutor(1) as trial:
        trial.submit(desk.signing.check, OPERATION).result(10)
        assert [desk.begins() for _ in range(5)] == [None] * 5
        trial.submit(desk.signing.begin, OPERATION).result(10)
        trial.submit(desk.signing.ended, silent=True).result(10)
        desk.clock.advance(30)
        trial.submit(desk.signing.check, OPERATION).result(10)
        trial.submit(desk.signing.left).result(10)
        assert desk.begins(), "the pace refused the other"
        assert desk.begins() is None, "nothing was signed since"


def test_the_request_of_a_thread_that_ended_is_forgotten(desk: Desk) -> None:
    assert desk.begins()
    assert desk.begins()
    desk.clock.advance(2)
    assert desk.begins() is None
    desk.workers[0].shutdown()
    assert desk.begins()


def test_a_thread_signs_one_request_at_a_time(desk: Desk) -> None:
    for _ in range(5):
        desk._sign()
        desk.clock.advance(10)
    assert desk.begins()


class SilentSts:
    """Accepts requests and does not answer until `ends`."""

    def __init__(self) -> None:
        self.asked, self.ends = threading.Semaphore(0), threading.Event()
        self.sent = 0

    def __call__(self, **_: Any) -> None:
        self.sent += 1
        self.asked.release()
        assert self.ends.wait(10)
        raise ReadTimeoutError(endpoint_url="https://sts.amazonaws.com")


@pytest.fixture
def sts(monkeypatch) -> SilentSts:
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    silent, watch = SilentSts(), Hooks.watch

    def watched(hooks: Hooks, client: Any) -> None:
        watch(hooks, client)
        if client.meta.service_model.service_name == "sts":
            client.meta.events.register("before-send", silent)

    monkeypatch.setattr(Hooks, "watch", watched)
    return silent


def test_a_silent_sts_takes_two_workers_once(monkeypatch, sts: SilentSts) -> None:
    """One asks STS, and one waits at botocore's lock, which has no time-out."""
    monkeypatch.setattr(signing, "_PATIENCE", 0.1)
    account = sessions.Accounts(FakeClock()).of(config(assumeRoleChain=[{"roleARN": ROLE}]))
    with ThreadPoolExecutor(16) as workers:
        calls = [workers.submit(account.cloudfront.get_tenant, "shop.acme") for _ in range(16)]
        try:
            assert sts.asked.acquire(timeout=10)
            done, hanging = wait(calls, 2)
            assert (len(done), len(hanging)) == (14, 2)
        finally:
            sts.ends.set()
        errors = [call.exception(10) for call in calls]
    assert sts.sent == 1, "the one that waited does not ask, too"
    codes = [error.code for error in errors if isinstance(error, AwsError)]
    assert sorted(codes) == ["Endpoint"] * 2 + [PAUSED] * 14
    before = account.pace.admit("cloudfront", OPERATION)
    for _ in range(1000):
        with pytest.raises(AwsError, match="one renewal at a time"):
            account.cloudfront.get_tenant("shop.acme")
    assert account.pace.admit("cloudfront", OPERATION) == before == 0.0, "and the rate is for others"
    assert sts.sent == 1


@pytest.fixture
def hooks(monkeypatch) -> list[Hooks]:
    """Those of each account that is opened."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    known: list[Hooks] = []
    watch = Hooks.watch

    def watched(hooks: Hooks, client: Any) -> None:
        watch(hooks, client)
        known.append(hooks)

    monkeypatch.setattr(Hooks, "watch", watched)
    return known


@pytest.mark.parametrize("by", ["pace", "circuit"])
def test_a_trial_that_is_refused_lets_another_try(hooks: list[Hooks], by: str) -> None:
    account = sessions.Accounts(FakeClock()).of(config())
    desk = hooks[-1]._signing
    desk._failed = float("-inf")
    if by == "pace":
        account.pace.throttled(OPERATION, 0.0)
    for _ in range(3 if by == "circuit" else 0):
        account.pace.circuits["cloudfront"].begin()
        account.pace.circuits["cloudfront"].ended(answered=False)
    with pytest.raises(AwsError, match=r"throttling|one call at a time"):
        account.cloudfront.get_tenant("shop.acme")
    with ThreadPoolExecutor(1) as another:
        another.submit(desk.check, OPERATION).result(10)
    assert desk._failed is not None, "nothing was signed"


def test_a_creation_that_waits_for_credentials_is_not_announced(monkeypatch, hooks: list[Hooks]) -> None:
    monkeypatch.setattr(signing, "_PATIENCE", 0.5)
    account = sessions.Accounts(FakeClock()).of(config())
    tenant = Tenant("shop.acme", "E1", domains=frozenset({"a.example.com"}))
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        for each in (one, two):
            each.submit(hooks[-1]._signing.begin, OPERATION).result(10)
        with pytest.raises(AwsError, match="being renewed"), announcing(pytest.fail):
            account.cloudfront.create_tenant(tenant)


def test_a_refused_connection_to_sts_stops_nothing(monkeypatch) -> None:
    """It takes no worker's time."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    account = sessions.Accounts(FakeClock()).of(config())

    def renews(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://sts.amazonaws.com")

    account.clients[0].meta.events.register("before-sign", renews)
    for _ in range(5):
        with pytest.raises(AwsError, match="Could not connect"):
            account.cloudfront.get_tenant("shop.acme")


def test_an_sts_that_closes_connections_stops_nothing(monkeypatch) -> None:
    """It takes no worker's time either. botocore itself repeats each request once."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: Caller("123456789012", "arn"))
    watch, asked = Hooks.watch, []

    def closes(**_: Any) -> None:
        asked.append(True)
        raise ConnectionClosedError(endpoint_url="https://sts.amazonaws.com")

    def watches(hooks: Hooks, client: Any) -> None:
        watch(hooks, client)
        if client.meta.service_model.service_name == "sts":
            client.meta.events.register("before-send", closes)

    monkeypatch.setattr(Hooks, "watch", watches)
    account = sessions.Accounts(FakeClock()).of(config(assumeRoleChain=[{"roleARN": ROLE}]))
    for number in range(3):
        with pytest.raises(AwsError, match="Connection was closed"):
            account.cloudfront.get_tenant("shop.acme")
        assert len(asked) == 2 * number + 2


def test_a_renewal_that_the_provider_refuses_is_not_logged(caplog) -> None:
    """While the old credentials serve, botocore tries to renew them at each call."""

    def renews() -> Any:
        raise errors.pop()

    late = DeferredRefreshableCredentials(renews, "assume-role")
    for error, logged in ((AwsError("AssumeRole", "Endpoint", "no", sent=False), 0), (OSError(), 1)):
        errors = [error]
        with pytest.raises(type(error)):
            late.get_frozen_credentials()
        assert len(caplog.records) == logged


def test_a_slow_announcement_keeps_no_turn(monkeypatch, hooks: list[Hooks]) -> None:
    """It is a write to the API server, which may take half a minute."""
    monkeypatch.setattr(signing, "_PATIENCE", 0.1)
    account = sessions.Accounts(FakeClock()).of(config())
    announced, goes_on = threading.Semaphore(0), threading.Event()

    def announce() -> None:
        announced.release()
        assert goes_on.wait(10)

    def creates(number: int) -> None:
        with announcing(announce):
            domains = frozenset({f"t{number}.example.com"})
            account.cloudfront.create_tenant(Tenant(f"shop.t{number}", "E1", domains=domains))

    def refuses(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://cloudfront.amazonaws.com")

    account.clients[0].meta.events.register("before-send", refuses)
    with ThreadPoolExecutor(2) as workers:
        creations = [workers.submit(creates, number) for number in range(2)]
        try:
            assert announced.acquire(timeout=10)
            assert announced.acquire(timeout=10)
            with pytest.raises(AwsError, match="Could not connect"):
                account.cloudfront.get_tenant("shop.acme")
        finally:
            goes_on.set()
        assert all("Could not connect" in str(each.exception(10)) for each in creations)


@pytest.mark.parametrize("why", ["turn", "credentials", "connection"])
def test_a_write_that_cannot_be_repeated_may_have_reached_aws(
    monkeypatch, hooks: list[Hooks], why: str
) -> None:
    """AWS may close a kept-alive connection after it has read the request."""
    monkeypatch.setattr(signing, "_PATIENCE", 0.1)
    account = sessions.Accounts(FakeClock()).of(config())
    desk, events, sent = hooks[-1]._signing, account.clients[0].meta.events, []
    others = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def closes(**_: Any) -> None:
        sent.append(True)
        if len(sent) == 2:
            raise EndpointConnectionError(endpoint_url="https://cloudfront.amazonaws.com")
        if why == "turn":
            for each in others:
                each.submit(desk.begin, OPERATION).result(10)
        raise ConnectionClosedError(endpoint_url="https://cloudfront.amazonaws.com")

    def signs(**_: Any) -> None:
        if sent and why == "credentials":
            raise AwsError("AssumeRole", "Endpoint", "no", sent=False)

    events.register("before-send", closes)
    events.register("before-sign", signs)
    with pytest.raises(AwsError, match="could not be repeated") as failed:
        account.cloudfront.tag("arn:aws:cloudfront::123456789012:distribution-tenant/dt_1", {"a": "b"})
    assert failed.value.operation == "TagResource"
    assert failed.value.sent
    assert not failed.value.made_nothing
    assert len(sent) == (2 if why == "connection" else 1)
    for each in others:
        each.shutdown()
