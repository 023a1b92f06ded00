"""The pace of one account: the rates that provider configs set, and what AWS permits of each operation.

AWS limits requests by operation and account, and publishes no numbers for CloudFront. `rates.py` keeps the
account below the rates that its provider configs set; calls that wait for that get their slots by priority
and namespace (`slots.py`). When AWS throttles an operation, the provider spaces its calls for the whole
account, at the rate that AWS is found to permit (`permitted_rate.py`). Other operations continue, so
throttled creations of one team do not delay the changes of another. The namespaces take turns (`turns.py`),
and a list goes on until its end (`list_turns.py`).

A call waits for a short time in its worker if there is a place (`waiting_places.py`). Otherwise it fails with
Paused, and the queue repeats its reconcile.

All times are on the injected clock. Nothing here is needed for correctness.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.clock import pause as wait
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws import operations
from provider.cloudfront.aws.circuits import STS, USUAL_WORKERS, circuits
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.pacing import turns
from provider.cloudfront.aws.pacing.list_turns import ListTurns
from provider.cloudfront.aws.pacing.rates import LONGEST_WAIT, Rates
from provider.cloudfront.aws.pacing.slots import Call, Slots
from provider.cloudfront.aws.pacing.turns import Turns
from provider.cloudfront.aws.pacing.waiting_places import For, WaitingPlaces

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Pace"]

_OF_STS: Final = Urgency(Priority.CHANGE)
"""All other calls of a config wait for its credentials."""


class Pace:
    """The pace of one account. Thread-safe; holds no lock while a call waits."""

    def __init__(
        self, clock: Clock, workers: int = USUAL_WORKERS, places: WaitingPlaces | None = None
    ) -> None:
        """`workers` is the number of workers of each kind. `places` are those of all accounts; by
        default there are none."""
        self._clock = clock
        self._lock = threading.Lock()
        self._places = places or WaitingPlaces(0)
        self._rates = Rates()
        self._slots: defaultdict[str, Slots] = defaultdict(Slots)
        """By service."""
        self.circuits = circuits(workers)
        """By service."""
        self._turns: dict[str, Turns | ListTurns] = {}
        """By operation."""

    def limit(self, service: str, config: str, rate: float | None, *, of_team: bool = False) -> None:
        """Set the rate of a service from one provider config; None if it sets no rate. `of_team`: it is
        namespaced."""
        with self._lock:
            self._rates.limit(service, config, rate, of_team=of_team)
            self._look()

    def forget(self, config: str) -> None:
        """Drop a provider config's rates: it is for another account now, or is being read again."""
        with self._lock:
            self._rates.forget(config)
            self._look()

    def rate(self, service: str) -> float:
        """Return the requests per second that the provider may send for this account."""
        with self._lock:
            return self._rates.rate(service)

    @property
    def paused(self) -> float:
        """Seconds until the next call of a throttled operation is possible; the longest of several."""
        with self._lock:
            now = self._clock.now()
            return max((each.pause(now) for each in self._turns.values()), default=0.0)

    def admit(self, service: str, operation: str, config: str = "") -> float:
        """Wait until a call may be made with the provider config; return the seconds waited because of the
        rates that provider configs set.

        Raises:
            AwsError: the wait is too long for a worker; the code is Paused, and `after` is set.
        """
        with self._lock:
            # First: a call that fails must not use up a turn.
            now = self._clock.now()
            self._rates.check(service, operation, config, now, self._before(service))
            asked = self._of(operation)
            # Where AWS permits more than the account's rate, calls are only kept from a burst.
            in_turns = asked.rate < self._rates.rate(service)
        if in_turns:
            self._have_turn(service, operation, asked)
            return self._pay(service, operation, config)
        return self._pay(service, operation, config, asked)

    def now(self) -> float:
        """Return the time that `throttled` and `answered` expect as the start of a call."""
        return self._clock.now()

    def throttled(self, operation: str, began: float) -> None:
        """AWS throttled a call of the operation that started at `began`."""
        with self._lock:
            self._of(operation).throttled(began, self._clock.now())

    def answered(self, operation: str, began: float) -> None:
        """AWS did not throttle a call of the operation that started at `began`."""
        with self._lock:
            self._of(operation).answered(began, self._clock.now())

    def _of(self, operation: str) -> Turns | ListTurns:
        if operation not in self._turns:
            self._turns[operation] = self._begin(operation)
        return self._turns[operation]

    def _begin(self, operation: str) -> Turns | ListTurns:
        if operations.has_pages(operation):
            return ListTurns(self._places.lists)
        lowest = turns.LOWEST_RATE if operations.writes(operation) else turns.LOWEST_READING_RATE
        return Turns(self._places, lowest)

    def _have_turn(self, service: str, operation: str, asked: Turns | ListTurns) -> None:
        """Take a turn at a throttled operation; wait for it if it is soon and there is a place."""
        namespace = turns.caller()
        with self._lock:
            now = self._clock.now()
            seconds = asked.take(namespace, now)
            if not seconds:
                return
            # While STS is called, all other calls wait for the credentials.
            if service == STS or not asked.wait_here(namespace, seconds, now):
                raise _throttled(operation, asked.tell(namespace, now))
        try:
            self._await_turn(operation, asked, seconds, now + asked.patience)
        finally:
            with self._lock:
                asked.left(namespace)

    def _await_turn(self, operation: str, asked: Turns | ListTurns, seconds: float, until: float) -> None:
        while seconds:
            wait(self._clock, seconds)
            with self._lock:
                now = self._clock.now()
                seconds = asked.take(turns.caller(), now, waited=True)
                if seconds and now + seconds > until:
                    raise _throttled(operation, asked.tell(turns.caller(), now))

    def _pay(
        self, service: str, operation: str, config: str, spaced: Turns | ListTurns | None = None
    ) -> float:
        began = self._clock.now()
        with self._share(service, operation, config):
            self._have_slot(service, operation)
        with self._lock:
            now = self._clock.now()
            waiting = spaced.space(now) if spaced else 0.0
        if waiting > 0:
            wait(self._clock, waiting)
        return now - began

    # The share of a namespaced provider config.

    @contextmanager
    def _share(self, service: str, operation: str, config: str) -> Iterator[None]:
        """Take of it, wait for it, and give it back if the call is not made."""
        with self._lock:
            now = self._clock.now()
            seconds = self._rates.check(service, operation, config, now, self._before(service)).share
            placed = seconds > 0 and self._places.take(For.SHARE)
            if seconds > 0 and not placed:
                raise self._rates.refusal(service, operation, config, seconds)
            self._rates.take_share(service, config, now)
        try:
            if seconds > 0:
                wait(self._clock, seconds)
        finally:
            if placed:
                self._places.leave(For.SHARE)
        try:
            yield
        except BaseException:
            with self._lock:
                self._rates.give_back_share(service, config)
            raise

    # The slots of the account.

    def _have_slot(self, service: str, operation: str) -> None:
        """Take a slot of the account's rate, or wait for one."""
        urgent = _urgency(service)
        namespace = turns.caller()
        with self._lock:
            slots, now = self._slots[service], self._clock.now()
            if not slots and not self._rates.waits(service, now):
                self._rates.take(service, now)
                slots.had(urgent.priority, namespace)
                return
        with urgency.waiting(), self._lock:
            call = Call(urgent, namespace, threading.Condition(self._lock))
            slots.put(call)
            try:
                self._await_slot(service, operation, call)
            finally:
                slots.leave(call)

    def _await_slot(self, service: str, operation: str, call: Call) -> None:
        """Under the lock, which is not held during the waits. One call watches the time for all."""
        slots, now = self._slots[service], self._clock.now()
        until = now + LONGEST_WAIT
        while True:
            self._hand_out(service, now)
            if call.has_slot:
                return
            if now >= until:
                after = self._rates.waits(service, now, slots.latest(call.priority, call.namespace))
                raise self._rates.refusal_of_account(service, operation, after)
            slots.watch = slots.watch or call
            seconds = self._rates.waits(service, now)
            self._clock.wait(call.told, min(until, now + seconds) if slots.watch is call else until)
            now = self._clock.now()

    def _hand_out(self, service: str, now: float) -> None:
        slots = self._slots[service]
        while slots and not self._rates.waits(service, now):
            self._rates.take(service, now)
            call = slots.next()
            call.has_slot = True
            call.told.notify()

    def _before(self, service: str) -> int:
        return self._slots[service].before(_urgency(service).priority, turns.caller())

    def _look(self) -> None:
        """The rates have changed."""
        for slots in self._slots.values():
            slots.look()


def _urgency(service: str) -> Urgency:
    return _OF_STS if service == STS else urgency.current()


def _throttled(operation: str, after: float) -> AwsError:
    words = f"AWS is throttling {operation} requests; they are paused for this account"
    return AwsError(operation, PAUSED, words, after=after)
