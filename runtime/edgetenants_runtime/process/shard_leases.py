"""The Leases of the shards: each process holds some of the shards, and each shard has one process.

    free ──► taken ── no process works with another number of shards ──► held ── stop ──► released
      ▲                                                                    │
      └── taken by another process when it expires        not renewed in time ──► lost: the process ends

Shard 0 has the Lease of an election without shards, so processes with and without shards exclude each other.
Shard N has that name and `-shard-N`.

A process that holds no shard takes a free one at once. One that holds some waits a while, so that the shards
spread over the processes. No shard is given up while its process runs: what the process remembers of it is
then always up to date. A process that holds none for minutes, as after a crash, asks the one that holds the
most; if that holds two or more, it ends, and starts again with what it then gets.

During a change of the number of shards, processes that count differently run side by side. The holder of
shard 0 decides which number is valid: the identity in each Lease contains it. A process begins after it has
written its Lease, then read that of shard 0, and then found none with another number. So of two processes
that begin at the same moment with different numbers, at least one sees the other. A process that sees another
number in the Lease of shard 0 ends.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from edgetenants_runtime.clock import Clock, SystemClock, utc_now
from edgetenants_runtime.kube.errors import Conflict, KubeError, NotFound
from edgetenants_runtime.kube.lease import LeaseLock, LeaseRecord
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.process.leader import Election, Elector, Phase, Timing, own_identity
from edgetenants_runtime.shards import shard_of

__all__ = ["ASK_ANNOTATION", "COUNT_ANNOTATION", "ShardLeases", "lease_name"]

_log = structlog.get_logger("edgetenants_runtime.shards")

COUNT_ANNOTATION: Final = "edgetenants-runtime/most-shards"
"""On the Lease of shard 0: the greatest number of shards that processes have had."""
ASK_ANNOTATION: Final = "edgetenants-runtime/asked-for-by"
"""On the Lease of a shard: a process that holds none asks its holder to end."""
_MOST_AT_REST: Final = 2
"""A process with this many shards ends if one without asks."""
_LOOK_SECONDS: Final = 0.1
"""Real seconds between two checks whether an elector has taken a Lease."""
_NUMBER: Final = re.compile(r"_of-(\d{1,3})-shards$")


def lease_name(name: str, shard: int) -> str:
    """Return the name of a shard's Lease."""
    return f"{name}-shard-{shard}" if shard else name


class ShardLeases:
    """The shards that this process holds. Thread-safe. With one shard, it is the leader election."""

    def __init__(  # noqa: PLR0913 - as the Elector
        self,
        objects: Objects,
        election: Election,
        *,
        on_lost: Callable[[], None],
        on_end: Callable[[], None],
        rng: random.Random,
        clock: Clock | None = None,
        wall: Callable[[], datetime] = utc_now,
    ) -> None:
        """`on_lost` is called when this process loses a Lease. `on_end` is called when it must end and
        release its Leases: a process with another number of shards holds shard 0, or one without a shard
        asked for one."""
        self._objects, self._election, self.count = objects, election, election.shards
        self._on_end = on_end
        self._clock = clock or SystemClock()
        identity = election.identity or own_identity()
        self._identity = f"{identity}_of-{self.count}-shards" if self.count > 1 else identity
        self._locks = tuple(self._lock_of(shard) for shard in range(self.count))
        spread = _Spread(election.timing, self._taken)
        self._electors = tuple(
            Elector(
                lock,
                election.timing,
                on_lost=on_lost,
                rng=rng,
                clock=clock,
                wall=wall,
                restraint=None if self.count == 1 else _Restrained(spread, shard, self._counts_as_here),
            )
            for shard, lock in enumerate(self._locks)
        )
        self._held: frozenset[int] = frozenset()
        self._prepare: list[Callable[[], None]] = []
        self._told: list[Callable[[int], None]] = []
        self._others: dict[int, tuple[LeaseRecord | None, float]] = {}
        """Leases of processes that count differently, as last read, and until when they count as held."""
        self._idle_since: float | None = None
        self._asked = 0
        self._declined: dict[int, str] = {}
        """What others asked for while this process held one shard, by shard."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shards", daemon=True)

    # What this process may do.

    @property
    def leading(self) -> bool:
        """This process may act on the shards that it holds. Cheap; False as soon as the renewal of one of
        them is overdue."""
        held = self._held or self._alone
        return bool(held) and all(self._electors[shard].leading for shard in held)

    @property
    def held(self) -> frozenset[int]:
        """The shards that this process holds."""
        return self._held or self._alone

    def mine(self, owner: str) -> bool:
        """Implements `shards.Mine`. Once True, it stays so until this process ends."""
        return self.count == 1 or shard_of(owner, self.count) in self._held

    @property
    def _alone(self) -> frozenset[int]:
        """Without shards, the leader begins at once where there never were any."""
        elector = self._electors[0]
        once = self.count == 1 and elector.phase is Phase.LEADING and _most(elector.known) == 1
        return frozenset({0}) if once else frozenset()

    # What others see of it.

    @property
    def names(self) -> Mapping[str, Callable[[], bool]]:
        """The names of the Leases, and whether this process holds each."""
        return {
            lock.key.name: partial(self._leads, shard, elector)
            for shard, (lock, elector) in enumerate(zip(self._locks, self._electors, strict=True))
        }

    def _leads(self, shard: int, elector: Elector) -> bool:
        return shard in self.held and elector.leading

    @property
    def leader(self) -> str:
        """The last known holder of the first shard; "" if there is none."""
        return self._electors[0].leader

    @property
    def problem(self) -> str:
        """Why a Lease cannot be read or written at present; "" if all can."""
        return next((elector.problem for elector in self._electors if elector.problem), "")

    @property
    def alive(self) -> bool:
        """Its threads are running, or have ended normally."""
        started = self._thread.ident is not None and not self._stopping.is_set()
        return all(e.alive for e in self._electors) and (not started or self._thread.is_alive())

    # Running.

    def before_gain(self, prepare: Callable[[], None]) -> None:
        """Call `prepare` before this process works on a further shard. While it raises KubeError, the shard
        waits. Not called without shards."""
        self._prepare.append(prepare)

    def on_gain(self, handler: Callable[[int], None]) -> None:
        """Call the handler with each further shard that this process holds. Not called without shards."""
        self._told.append(handler)

    def start(self) -> None:
        """Take part in the elections."""
        for elector in self._electors:
            elector.start()
        self._thread.start()

    def stop(self, *, release: bool) -> None:
        """Leave the elections. `release`: all work has ended, so that others may start immediately."""
        self._stopping.set()
        for elector in self._electors:
            elector.leave()
        for elector in self._electors:
            elector.stop(release=release)

    def attempt(self) -> None:
        """Try once to acquire or renew each Lease, and look at what that means: for tests without threads."""
        for elector in self._electors:
            elector.attempt()
        self.look()

    def look(self) -> float:
        """Begin to work on the shards that were taken; returns the seconds until the next call."""
        base = self._electors[0].known
        taken = [n for n, elector in enumerate(self._electors) if elector.phase is Phase.LEADING]
        if taken and base is not None and base.holder and _count(base.holder) != self.count:
            _log.warning(
                "processes with another number of shards work, so this one ends",
                here=self.count,
                there=_count(base.holder),
            )
            self._on_end()
            return self._election.timing.retry
        if self._gives_up():
            _log.info("a process without a shard asked for one, so this one ends", held=sorted(self._held))
            self._on_end()
            return self._election.timing.retry
        self._ask(idle=not taken)
        new = [shard for shard in taken if shard not in self.held]
        started = [shard for shard in new if self._begin(shard)]
        return _LOOK_SECONDS if len(started) == len(new) else self._election.timing.retry

    def _ask(self, *, idle: bool) -> None:
        """Ask the process with the most shards for one, if this process has had none for long."""
        now = self._clock.now()
        if not idle or self._idle_since is None:
            self._idle_since = now if idle else None
            return
        if now < self._idle_since + max(self._election.rebalance, self._election.timing.lease):
            return
        self._idle_since, self._asked = now, self._asked + 1
        holders = [elector.leader for elector in self._electors]
        holder, has = Counter(filter(None, holders)).most_common(1)[0] if any(holders) else ("", 0)
        if has < _MOST_AT_REST:
            return
        try:
            request = {ASK_ANNOTATION: f"{self._identity} {self._asked}"}
            self._locks[holders.index(holder)].annotate(request)
        except KubeError as error:
            _log.warning("cannot ask for a shard, retrying later", error=str(error))

    def _gives_up(self) -> bool:
        """A process without a shard has asked, and this one has enough."""
        requests = {
            shard: known.annotations[ASK_ANNOTATION]
            for shard in self._held
            if (known := self._electors[shard].known) and known.annotations.get(ASK_ANNOTATION)
        }
        new = {shard for shard, request in requests.items() if self._declined.get(shard) != request}
        if len(self._held) < _MOST_AT_REST:
            # It is not an answer to what happens later, such as the death of another process.
            self._declined = requests
            return False
        return bool(new)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                seconds = self.look()
            except Exception:  # noqa: BLE001 - a bug may keep a shard, but not all others
                _log.exception("looking at the shards raised an exception, retrying")
                seconds = self._election.timing.retry
            self._stopping.wait(seconds)

    def _begin(self, shard: int) -> bool:
        try:
            if not self._may_begin(shard):
                return False
            for prepare in self._prepare if self.count > 1 else ():
                prepare()
        except KubeError as error:
            _log.warning("cannot begin to work on a shard, retrying", shard=shard, error=str(error))
            return False
        self._held |= {shard}
        if self.count > 1:
            _log.info("holding a shard", shard=shard, held=sorted(self._held), shards=self.count)
            for tell in self._told:
                tell(shard)
        return True

    # Other numbers of shards.

    def _may_begin(self, shard: int) -> bool:
        """No process with another number of shards works, nor begins to. Raises KubeError."""
        base = self._locks[0].read()
        if base is None or not base.holder or _count(base.holder) != self.count:
            return False
        most = max(self.count, _most(base))
        # Look at all of them: their durations run at the same time.
        clear = [self._is_clear(other) for other in range(1, most) if other != shard]
        return all(clear)

    def _is_clear(self, shard: int) -> bool:
        lock = self._locks[shard] if shard < self.count else self._lock_of(shard)
        found = lock.read()
        if self._is_of_no_other(shard, found):
            self._others.pop(shard, None)
            return True
        if self._clock.now() < self._held_until(shard, found):
            return False
        try:
            # Its process died. If it was only frozen, it now finds that it no longer holds the Lease.
            if found is not None:
                lock.release(found)
        except (Conflict, NotFound):
            return False
        return True

    def _is_of_no_other(self, shard: int, found: LeaseRecord | None) -> bool:
        """The Lease shows no process with another number. One that a person deleted or emptied may have a
        holder that does not know it yet."""
        if found is None:
            return shard not in self._others
        return found.released or (bool(found.holder) and _count(found.holder) == self.count)

    def _held_until(self, shard: int, found: LeaseRecord | None) -> float:
        known, until = self._others.get(shard, (None, None))
        if until is None or (known and known.spec) != (found and found.spec):
            seconds = (each.seconds for each in (known, found) if each is not None)
            until = self._clock.now() + max(self._election.timing.lease, *seconds)
            self._others[shard] = found, until
        return until

    def _counts_as_here(self) -> bool:
        """The holder of the first shard has the same number of shards as this process."""
        base = self._electors[0].known
        return base is not None and bool(base.holder) and _count(base.holder) == self.count

    def _lock_of(self, shard: int) -> LeaseLock:
        key = ObjectKey(self._election.namespace, lease_name(self._election.name, shard))
        return LeaseLock(self._objects, key, self._identity, notes=partial(self._notes, shard))

    def _notes(self, shard: int, known: LeaseRecord | None) -> Mapping[str, str | None]:
        if self.count == 1:
            return {}
        most = {} if shard else {COUNT_ANNOTATION: str(max(self.count, _most(known)))}
        # What was asked of the former holder.
        asked = known is not None and ASK_ANNOTATION in known.annotations
        return {**most, ASK_ANNOTATION: None} if asked else most

    def _taken(self) -> int:
        return sum(elector.phase is Phase.LEADING for elector in self._electors)


class _Spread:
    """How long this process leaves free shards to those that hold fewer. Thread-safe."""

    def __init__(self, timing: Timing, taken: Callable[[], int]) -> None:
        self._timing, self._taken = timing, taken
        self._lock = threading.Lock()
        self._taking = 0
        """Requests under way that may take a shard."""

    def seconds(self, known: LeaseRecord | None) -> float:
        """See `Restraint.seconds`."""
        with self._lock:
            return self._seconds(known)

    def begin(self, known: LeaseRecord | None, free: float) -> bool:
        """See `Restraint.begin`."""
        with self._lock:
            if free < self._seconds(known):
                return False
            self._taking += 1
            return True

    def end(self) -> None:
        """See `Restraint.end`."""
        with self._lock:
            self._taking -= 1

    def _seconds(self, known: LeaseRecord | None) -> float:
        has = self._taken() + self._taking
        if not has:
            return 0.0
        if known is not None and not known.released:
            # Its process died, and its resources have already waited for a Lease duration.
            return self._timing.retry * has / (has + 1)
        # It was released, or never held: another process is starting, or is about to.
        return self._timing.lease - self._timing.retry / has


class _Restrained:
    """The restraint of one shard's elector."""

    def __init__(self, spread: _Spread, shard: int, counts_as_here: Callable[[], bool]) -> None:
        self._spread, self._shard, self._counts_as_here = spread, shard, counts_as_here

    def seconds(self, known: LeaseRecord | None) -> float:
        """See `Restraint.seconds`."""
        return self._spread.seconds(known) if self._may else float("inf")

    def begin(self, known: LeaseRecord | None, free: float) -> bool:
        """See `Restraint.begin`."""
        return self._may and self._spread.begin(known, free)

    def end(self) -> None:
        """See `Restraint.end`."""
        self._spread.end()

    @property
    def _may(self) -> bool:
        return self._shard == 0 or self._counts_as_here()


def _count(holder: str) -> int:
    """The number of shards of the process with this identity."""
    found = _NUMBER.search(holder)
    return int(found[1]) if found else 1


def _most(base: LeaseRecord | None) -> int:
    """The greatest number of shards that processes have had."""
    noted = base.annotations.get(COUNT_ANNOTATION, "") if base is not None else ""
    return min(int(noted), 999) if noted.isdigit() and len(noted) < 4 and int(noted) else 1
