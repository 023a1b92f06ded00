"""Leader election: of the processes of one provider, one works and the others wait, ready to take over.

    waiting ──took the Lease──► leading ──stop──► released
       ▲                          │
       └── somebody else's        └── not renewed in time, or another holds it ──► lost

A waiting process never compares a time in the Lease with its own clock: the Lease is over when its holder
has not changed it for as long as it says, seen from here. A leader stops *before* that: it counts from the
moment at which its last successful renewal was sent, and only as long as `Timing.renew`.
"""

from __future__ import annotations

import random
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import structlog

from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from edgetenants_runtime.kube.lease import LeaseLock, LeaseRecord

__all__ = ["Election", "Elector", "Phase", "Timing", "own_identity"]

_log = structlog.get_logger("edgetenants_runtime.leader")


@dataclass(frozen=True)
class Timing:
    """Real seconds; the defaults are client-go's."""

    lease: int = 15
    """Others wait so long for a leader that is silent. Whole seconds, as the Lease has it."""
    renew: float = 10.0
    """A leader that could not renew for so long stops working. The rest up to `lease` is for calls under
    way."""
    retry: float = 2.0
    """Between two attempts to take or to renew the Lease."""

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew < self.lease:
            raise ValueError(
                "expected 0 < retry period < renew deadline < lease duration, "
                f"got {self.retry:g}, {self.renew:g}, {self.lease:g} seconds"
            )


@dataclass(frozen=True)
class Election:
    """Which Lease a provider is led by."""

    namespace: str
    name: str
    """The same for all processes of one provider, and for no other's."""
    timing: Timing = Timing()
    identity: str = ""
    """Of this process, in no other; one is made when it is empty."""


class Phase(StrEnum):
    """Where a process is in the election."""

    WAITING = "Waiting"
    """Another process leads, or nobody yet."""
    LEADING = "Leading"
    """This process works."""
    LOST = "Lost"
    """This process has led and may not any more; final."""
    RELEASED = "Released"
    """This process has stopped and given the Lease up, if it had it; final."""


def own_identity() -> str:
    """The host's name, in a cluster the pod's, and something that no other process has."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """Takes part in the election, from threads of its own. Thread-safe."""

    def __init__(
        self,
        lock: LeaseLock,
        timing: Timing,
        *,
        on_lost: Callable[[], None],
        rng: random.Random,
        clock: Clock | None = None,
    ) -> None:
        """`on_lost` is told once, from the elector's thread, when the leadership is over for this process."""
        self._lock, self._timing, self._on_lost, self._rng = lock, timing, on_lost, rng
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._phase = Phase.WAITING
        self._renewed = 0.0
        self._known: LeaseRecord | None = None
        self._seen_at = 0.0
        self._stopping = False
        self._problem = ""
        self._threads = [
            threading.Thread(target=run, name=f"leader {name}", daemon=True)
            for name, run in (("renewal", self._run), ("deadline", self._guard))
        ]

    @property
    def phase(self) -> Phase:
        """Where this process is."""
        return self._phase

    @property
    def leading(self) -> bool:
        """This process may act now. Cheap; False as soon as a renewal is overdue, whatever the threads do."""
        return self._phase is Phase.LEADING and self._clock.now() < self._renewed + self._timing.renew

    @property
    def leader(self) -> str:
        """Who leads, as far as is known; "" when nobody does."""
        known = self._known
        return known.holder if known else ""

    @property
    def problem(self) -> str:
        """Why the Lease cannot be read or written at present, "" when it can."""
        return self._problem

    @property
    def alive(self) -> bool:
        """Its threads work, or have ended as they should."""
        started = [t for t in self._threads if t.ident is not None]
        final = self._stopping or self._phase in (Phase.LOST, Phase.RELEASED)
        return final or all(thread.is_alive() for thread in started)

    def start(self) -> None:
        """Take part."""
        for thread in self._threads:
            thread.start()

    def stop(self, *, release: bool) -> None:
        """Take part no more; `release`: all work has ended, so that the next may begin at once."""
        with self._changed:
            self._stopping = True
            if self._phase is Phase.WAITING:
                self._phase = Phase.RELEASED
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(self._timing.retry)
        if release and self._phase is Phase.LEADING:
            self._release()

    def attempt(self) -> float:
        """Try once to take or to renew the Lease; seconds until the next attempt."""
        sent = self._clock.now()
        try:
            if self._phase is Phase.LEADING and self._known is not None:
                self._adopt(self._lock.renew(self._known, self._timing.lease), sent)
            else:
                self._try_to_take(sent)
            self._found()
        except (Conflict, AlreadyExists, NotFound):
            # Somebody wrote or deleted it: what is there now says who leads.
            self._look_again()
        except KubeError as error:
            self._cannot(error)
        return self._pause()

    def _try_to_take(self, sent: float) -> None:
        known = self._observe()
        free = known is None or not known.holder or self._expired(known)
        if free or (known and known.holder == self._lock.identity):
            self._adopt(self._lock.take(known, self._timing.lease), sent)

    def _look_again(self) -> None:
        try:
            known = self._observe()
        except KubeError as error:
            self._cannot(error)
            return
        if self._phase is Phase.LEADING and (known is None or known.holder != self._lock.identity):
            self._lose(
                f"the Lease is held by {known.holder or 'no one'}" if known else "the Lease was deleted"
            )

    def _observe(self) -> LeaseRecord | None:
        read = self._lock.read()
        # Any change of what its holder writes counts from the moment at which it was seen here.
        if self._known is None or read is None or read.spec != self._known.spec:
            if read is not None and read.holder != self.leader:
                _log.info("leader seen", leader=read.holder or "none", lease=str(self._lock.key))
            self._seen_at = self._clock.now()
        self._known = read
        return read

    def _expired(self, known: LeaseRecord) -> bool:
        return self._clock.now() >= self._seen_at + known.seconds

    def _adopt(self, written: LeaseRecord, sent: float) -> None:
        with self._changed:
            self._known, self._seen_at = written, self._clock.now()
            if self._phase not in (Phase.WAITING, Phase.LEADING):
                return
            self._renewed = sent
            news = self._phase is Phase.WAITING
            self._phase = Phase.LEADING
            self._changed.notify_all()
        if news:
            _log.info("leading", lease=str(self._lock.key), identity=self._lock.identity)

    def _pause(self) -> float:
        retry = self._timing.retry * self._rng.uniform(1.0, 1.2)
        known = self._known
        if self._phase is not Phase.WAITING or known is None or not known.holder:
            return retry
        # So that the take-over takes no longer than the Lease does.
        over = self._seen_at + known.seconds - self._clock.now()
        return min(retry, over) if over > 0 else retry

    def _found(self) -> None:
        if self._problem:
            _log.info("the Lease is reachable again", lease=str(self._lock.key))
        self._problem = ""

    def _cannot(self, error: KubeError) -> None:
        if str(error) != self._problem:
            _log.warning("cannot acquire or renew the Lease, retrying", error=str(error))
        self._problem = str(error)

    def _lose(self, why: str) -> None:
        with self._changed:
            if self._phase is not Phase.LEADING:
                return
            self._phase = Phase.LOST
            self._changed.notify_all()
        _log.error("leadership lost", reason=why, lease=str(self._lock.key))
        self._on_lost()

    def _release(self) -> None:
        with self._changed:
            self._phase = Phase.RELEASED
        try:
            if self._known is not None:
                self._lock.release(self._known)
            _log.info("leadership released", lease=str(self._lock.key))
        except KubeError as error:
            _log.warning("cannot release the Lease, the next leader waits until it expires", error=str(error))

    def _run(self) -> None:
        while self._phase in (Phase.WAITING, Phase.LEADING) and not self._stopping:
            try:
                seconds = self.attempt()
            except Exception:  # noqa: BLE001 - a bug here must end the leadership, not the election
                _log.exception("leader election raised an exception, retrying")
                seconds = self._timing.retry
            self._sleep(self._clock.now() + seconds)

    def _guard(self) -> None:
        # A thread of its own: the other one may hang in a request when the time is over.
        while self._phase in (Phase.WAITING, Phase.LEADING) and not self._stopping:
            if self._phase is Phase.LEADING and not self.leading:
                self._lose(f"the Lease could not be renewed for {self._timing.renew:g} s: {self._problem}")
                return
            due = self._renewed + self._timing.renew if self._phase is Phase.LEADING else None
            self._sleep(due)

    def _sleep(self, until: float | None) -> None:
        with self._changed:
            phase = self._phase
            while not self._stopping and self._phase is phase:
                if until is not None and self._clock.now() >= until:
                    return
                self._clock.wait(self._changed, until)
