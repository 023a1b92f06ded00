"""Leader election: of the processes of one provider, one works and the others wait, ready to take over.

    waiting ──took the Lease──► leading ──stop──► released
       ▲                          │
       └── another process's      └── not renewed in time, or another holds it ──► lost

A waiting process never compares a time in the Lease with its own clock: the Lease has expired when this
process has seen no change of it for the duration in the Lease. A leader stops *before* that: it counts from
the moment at which it sent its last successful renewal, and only for `Timing.renew`.

A person may delete or edit the Lease. Its holder finds that at its next renewal, so the others still wait for
the longest duration that applied.

A monotonic clock may stand still while a machine is paused, so a leader also looks at the wall clock: after a
step of it, the process does nothing until its next renewal shows that it still leads.
"""

from __future__ import annotations

import random
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

import structlog

from edgetenants_runtime.clock import Clock, SystemClock, utc_now
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from edgetenants_runtime.kube.lease import LeaseLock, LeaseRecord

__all__ = ["Election", "Elector", "Phase", "Restraint", "Timing", "own_identity"]

_log = structlog.get_logger("edgetenants_runtime.leader")

_FINISHING: Final = 0.8
"""The part of what is left of a Lease in which running work may end."""


@dataclass(frozen=True)
class Timing:
    """Real seconds; the defaults are client-go's."""

    lease: int = 15
    """Lease duration: how long the others wait for a silent leader. Whole seconds, as in the Lease."""
    renew: float = 10.0
    """Renew deadline: a leader that could not renew for that long stops working. The rest of `lease` is for
    running calls; see `finish`."""
    retry: float = 2.0
    """Retry period: between two attempts to acquire or renew the Lease."""

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew < self.lease:
            raise ValueError(
                "expected 0 < retry period < renew deadline < lease duration, "
                f"got {self.retry:g}, {self.renew:g}, {self.lease:g} seconds"
            )

    @property
    def finish(self) -> float:
        """Seconds that running work has after the leadership was lost. Then the process ends: the rest of
        what is left of the Lease is for that."""
        return _FINISHING * (self.lease - self.renew)


@dataclass(frozen=True)
class Election:
    """The Lease for the leader election of a provider."""

    namespace: str
    name: str
    """The same for all processes of one provider, and unique to it."""
    timing: Timing = Timing()
    identity: str = ""
    """The unique identity of this process; generated if empty."""
    shards: int = 1
    """The number of shards; see `process.shard_leases`. 1: one process works and the others wait."""
    rebalance: float = 300.0
    """Real seconds without a shard after which a process asks another one for a share. Longer than a rolling
    update leaves a new process without. If it is less than the lease duration, that counts."""


class Phase(StrEnum):
    """The state of a process in the election."""

    WAITING = "Waiting"
    """Another process leads, or no one yet."""
    LEADING = "Leading"
    """This process leads."""
    LOST = "Lost"
    """This process has lost the leadership; final."""
    RELEASED = "Released"
    """This process has stopped and released the Lease, if it held it; final."""


class Restraint(Protocol):
    """Decides when this process takes a Lease that no other process holds."""

    def seconds(self, known: LeaseRecord | None) -> float:
        """For how long the Lease must have been free before this process takes it, as of now."""
        ...

    def begin(self, known: LeaseRecord | None, free: float) -> bool:
        """This process may take the Lease, which has been free for these seconds; `end` follows if so."""
        ...

    def end(self) -> None:
        """The attempt has ended; the elector leads if it succeeded."""
        ...


class _Unrestrained:
    def seconds(self, known: LeaseRecord | None) -> float:
        del known
        return 0.0

    def begin(self, known: LeaseRecord | None, free: float) -> bool:
        del known, free
        return True

    def end(self) -> None:
        return


_Moment = tuple[float, datetime]
"""On the monotonic clock, and on the wall clock."""


def own_identity() -> str:
    """The host name (in a cluster, the pod's name) and a unique suffix."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """Takes part in the election, in its own threads. Thread-safe."""

    def __init__(  # noqa: PLR0913 - what the election depends on, by name
        self,
        lock: LeaseLock,
        timing: Timing,
        *,
        on_lost: Callable[[], None],
        rng: random.Random,
        clock: Clock | None = None,
        wall: Callable[[], datetime] = utc_now,
        restraint: Restraint | None = None,
    ) -> None:
        """`on_lost` is called once, from the elector's thread, when this process loses the leadership. `wall`
        is the wall clock. Without a `restraint`, a free Lease is taken at once."""
        self._lock, self._timing, self._on_lost, self._rng = lock, timing, on_lost, rng
        self._restraint = restraint or _Unrestrained()
        self._clock, self._wall = clock or SystemClock(), wall
        self._changed = threading.Condition()
        self._phase = Phase.WAITING
        self._renewed, self._renewed_wall = 0.0, wall()
        self._known: LeaseRecord | None = None
        self._seen_at: float | None = None
        """When the last change of the Lease was seen; None before the first look."""
        self._lasts = 0.0
        """The seconds for which the Lease counts as held after its last change."""
        self._stopping = False
        self._problem = ""
        self._threads = [
            threading.Thread(target=run, name=f"leader {name}", daemon=True)
            for name, run in (("renewal", self._run), ("deadline", self._guard))
        ]

    @property
    def phase(self) -> Phase:
        """The state of this process."""
        return self._phase

    @property
    def leading(self) -> bool:
        """This process may act now. Cheap; False as soon as a renewal is overdue, even if the threads hang,
        and after a step of the wall clock until the next renewal."""
        return self._holds and abs(self._wall() - self._renewed_wall).total_seconds() < self._timing.lease

    @property
    def _holds(self) -> bool:
        return self._phase is Phase.LEADING and self._clock.now() < self._renewed + self._timing.renew

    @property
    def leader(self) -> str:
        """The last known leader; "" if there is none."""
        known = self._known
        return known.holder if known else ""

    @property
    def known(self) -> LeaseRecord | None:
        """The Lease as last read or written; None if it does not exist or was not read yet."""
        return self._known

    @property
    def problem(self) -> str:
        """Why the Lease cannot be read or written at present; "" if it can."""
        return self._problem

    @property
    def alive(self) -> bool:
        """Its threads are running, or have ended normally."""
        started = [t for t in self._threads if t.ident is not None]
        final = self._stopping or self._phase in (Phase.LOST, Phase.RELEASED)
        return final or all(thread.is_alive() for thread in started)

    def start(self) -> None:
        """Take part in the election."""
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """Begin to leave the election: no further attempt to acquire or renew the Lease."""
        with self._changed:
            self._stopping = True
            if self._phase is Phase.WAITING:
                self._phase = Phase.RELEASED
            self._changed.notify_all()

    def stop(self, *, release: bool) -> None:
        """Leave the election. `release`: all work has ended, so that the next leader may start
        immediately."""
        self.leave()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(self._timing.retry)
        if release and self._phase is Phase.LEADING:
            self._release()

    def attempt(self) -> float:
        """Try once to acquire or renew the Lease; returns the seconds until the next attempt."""
        sent = self._clock.now(), self._wall()
        try:
            if self._phase is Phase.LEADING and self._known is not None:
                self._adopt(self._lock.renew(self._known, self._timing.lease), sent)
            else:
                self._try_to_take(sent)
            self._found()
        except (Conflict, AlreadyExists, NotFound):
            # Another client changed or deleted it: read it to see who leads.
            self._look_again()
        except KubeError as error:
            self._cannot(error)
        return self._pause()

    def _try_to_take(self, sent: _Moment) -> None:
        known = self._observe()
        if known and known.holder == self._lock.identity:
            self._adopt(self._lock.take(known, self._timing.lease), sent)
        elif self._free_for() >= 0 and self._restraint.begin(known, self._free_for()):
            try:
                self._adopt(self._lock.take(known, self._timing.lease), sent)
            finally:
                self._restraint.end()

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
        # Any change by its holder counts from the moment at which this process saw it.
        if self._seen_at is None or _spec(read) != _spec(self._known):
            if read is not None and read.holder != self.leader:
                _log.info("leader seen", leader=read.holder or "none", lease=str(self._lock.key))
            self._seen_at = self._clock.now()
            self._lasts = self._lasting(read)
        self._known = read
        return read

    def _lasting(self, read: LeaseRecord | None) -> float:
        if read is not None and read.released:
            return 0.0
        was_held = self._known is not None and not self._known.released
        if read is None and not was_held:
            return 0.0
        # Only the holder itself may end it early: at most, what it promised or this process would.
        known = (each.seconds for each in (self._known, read) if each is not None)
        return max(self._timing.lease, *known)

    def _free_for(self) -> float:
        """The seconds since the Lease was released or expired; negative: the seconds until it expires."""
        seen = self._seen_at if self._seen_at is not None else self._clock.now()
        return self._clock.now() - (seen + self._lasts)

    def _adopt(self, written: LeaseRecord, sent: _Moment) -> None:
        with self._changed:
            self._known, self._seen_at = written, self._clock.now()
            if self._phase not in (Phase.WAITING, Phase.LEADING):
                return
            self._renewed, self._renewed_wall = sent
            elected = self._phase is Phase.WAITING
            self._phase = Phase.LEADING
            self._changed.notify_all()
        if elected:
            _log.info("leading", lease=str(self._lock.key), identity=self._lock.identity)

    def _pause(self) -> float:
        retry = self._timing.retry * self._rng.uniform(1.0, 1.2)
        if self._phase is not Phase.WAITING:
            return retry
        # So that a takeover takes no longer than the Lease duration.
        over = self._restraint.seconds(self._known) - self._free_for()
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
            except Exception:  # noqa: BLE001 - a bug may end the leadership, but not the election
                _log.exception("leader election raised an exception, retrying")
                seconds = self._timing.retry
            self._sleep(self._clock.now() + seconds)

    def _guard(self) -> None:
        # A separate thread, as the other one may hang in a request at the deadline.
        while self._phase in (Phase.WAITING, Phase.LEADING) and not self._stopping:
            if self._phase is Phase.LEADING and not self._holds:
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


def _spec(record: LeaseRecord | None) -> Mapping[str, Any] | None:
    return None if record is None else record.spec
