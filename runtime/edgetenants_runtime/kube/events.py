"""Writes events, with little cost for repeated ones.

One thread writes the events of all objects. Namespaces are served in turn, and the events of one object are
limited as by client-go's EventBroadcaster, so that an object that is edited a hundred times a second delays
no event of another.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from edgetenants_runtime.bounds import cut_bytes
from edgetenants_runtime.clock import Clock, SystemClock, rfc3339, utc_now
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import AlreadyExists, KubeError, NotFound
from edgetenants_runtime.kube.kinds import EVENTS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.queueing.lanes import Lane
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.rules.status import without_request_id

__all__ = ["EventRecorder", "EventWriter"]

_log = structlog.get_logger("edgetenants_runtime.kube.events")

_LONGEST_NAME = 230
"""Characters of the object's name in the event's name, which may have 253."""
_REMEMBERED = 20_000
_REMEMBERED_OBJECTS = 4_096
_REMEMBERED_DROPS = 1_000
_DROPS_SECONDS = 60.0
"""Real seconds between two log lines about dropped events of one namespace."""


@dataclass(frozen=True, eq=False)
class _Told:
    """What is written of an event. It has no part of the object itself, which may be large."""

    key: ObjectKey
    share: str
    """The namespace that the object counts for."""
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    type: EventType
    reason: EventReason
    message: str

    @classmethod
    def of(cls, mr: Managed, type_: EventType, reason: EventReason, message: str) -> _Told:
        # Deterministic: a restarted process continues the count of the previous one.
        said = "\n".join((mr.uid, type_, reason, without_request_id(message)))
        digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]
        # A truncated name must not end with a dash or a dot.
        name = mr.name[:_LONGEST_NAME].rstrip("-.")
        # Events of cluster-scoped objects are in "default", as with Kubernetes' own recorder.
        key = ObjectKey(mr.namespace or "default", f"{name}.{digest}")
        cut = cut_bytes(message)
        return cls(key, mr.share, mr.api_version, mr.kind, mr.namespace, mr.name, mr.uid, type_, reason, cut)


@dataclass
class _Series:
    count: int
    written: int
    written_at: float


class _Allowance:
    """How many new events an object may still have: that of client-go's spam filter (tools/record)."""

    BURST = 25.0
    SECONDS = 300.0
    """Real seconds after which an object may have one more."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By uid: the number, and when it was true. The object that asked last is the last one."""

    def take(self, uid: str) -> bool:
        """The object may have this event."""
        now = self._clock.now()
        left, since = self._left.pop(uid, (self.BURST, now))
        left = min(self.BURST, left + (now - since) / self.SECONDS)
        allowed = left >= 1.0
        self._left[uid] = (left - 1.0 if allowed else left, now)
        if len(self._left) > _REMEMBERED_OBJECTS:
            self._left.popitem(last=False)
        return allowed


class _Drops:
    """Logs that events were dropped, once in a while for each namespace. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: OrderedDict[str, float] = OrderedDict()

    def note(self, told: _Told, why: str) -> None:
        """The event was dropped."""
        now = self._clock.now()
        with self._lock:
            last = self._last.get(told.share)
            if last is not None and now - last < _DROPS_SECONDS:
                return
            self._last.pop(told.share, None)
            self._last[told.share] = now
            if len(self._last) > _REMEMBERED_DROPS:
                self._last.popitem(last=False)
        _log.warning(
            "event dropped, and others may be", namespace=told.share, reason=str(told.reason), why=why
        )


class EventWriter:
    """Writes events one by one. A repeated (object, type, reason, message) only increases a count, which is
    written when it has doubled, or before the event expires."""

    COUNT_SECONDS = 300.0
    """Minimum real seconds between two writes of a series' count."""
    REFRESH_SECONDS = 3000.0
    """Real seconds after which the count of a continuing series is always written: the API server keeps
    events for an hour."""

    def __init__(
        self, client: KubeClient, *, clock: Clock | None = None, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._now = now
        self._series: OrderedDict[ObjectKey, _Series] = OrderedDict()
        self._allowance = _Allowance(self._clock)
        self.drops = _Drops(self._clock)

    def write(self, told: _Told) -> None:
        """Write the event or count it; drop it if the object has had too many. Raises KubeError."""
        series = self._series.get(told.key)
        if series is None:
            if not self._allowance.take(told.uid):
                self.drops.note(told, "the object has too many events")
                return
            self._remember(told.key, self._begin(told))
            return
        series.count += 1
        if self._due(series):
            self._write_count(told, series)

    def _due(self, series: _Series) -> bool:
        age = self._clock.now() - series.written_at
        doubled = series.count >= 2 * series.written
        return age >= self.REFRESH_SECONDS or (doubled and age >= self.COUNT_SECONDS)

    def _begin(self, told: _Told) -> int:
        try:
            self._client.create(EVENTS, _body(told, rfc3339(self._now())))
        except AlreadyExists:
            stored = self._client.get(EVENTS, told.key)
            count = int(stored.get("count") or 1) + 1
            self._patch_count(told.key, count)
            return count
        return 1

    def _write_count(self, told: _Told, series: _Series) -> None:
        series.written_at, series.written = self._clock.now(), series.count
        try:
            self._patch_count(told.key, series.count)
        except NotFound:
            # The event has already expired.
            del self._series[told.key]
            self._remember(told.key, self._begin(told))

    def _patch_count(self, key: ObjectKey, count: int) -> None:
        self._client.patch(EVENTS, key, {"count": count, "lastTimestamp": rfc3339(self._now())})

    def _remember(self, key: ObjectKey, count: int) -> None:
        self._series[key] = _Series(count, count, self._clock.now())
        while len(self._series) > _REMEMBERED:
            self._series.popitem(last=False)


class EventRecorder:
    """Accepts events from any thread and writes them from its own thread; a `Recorder`."""

    MOST = 10_000
    """Events that wait."""
    MOST_OF_ONE = 200
    """Events of one namespace that wait beside many: of a burst alone, none is dropped."""
    MANY = 5_000

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._changed = threading.Condition()
        self._told: Lane[_Told] = Lane(lambda told: told.share)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Write the events recorded so far, for at most `timeout` real seconds."""
        if self._thread.is_alive():
            with self._changed:
                self._stopping = True
                self._changed.notify()
            self._thread.join(timeout)

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """Queue the event. It is dropped if too many wait of all together, or of its namespace beside many
        others."""
        told = _Told.of(mr, type_, reason, message)
        with self._changed:
            wait, of_one = len(self._told), self._told.waiting(told.share)
            full = wait >= self.MOST or (wait >= self.MANY and of_one >= self.MOST_OF_ONE)
            if not full:
                self._told.put(told)
                self._changed.notify()
        if full:
            self._writer.drops.note(told, "too many events wait")

    def _next(self) -> _Told | None:
        with self._changed:
            while not self._told:
                if self._stopping:
                    return None
                self._changed.wait()
            return self._told.pop()

    def _run(self) -> None:
        while (told := self._next()) is not None:
            try:
                self._writer.write(told)
            except KubeError as error:
                _log.warning("cannot write event", reason=str(told.reason), error=str(error))
            except Exception:  # noqa: BLE001 - one bad event must not stop the recorder
                _log.exception("cannot write event", reason=str(told.reason))


def _body(told: _Told, now: str) -> dict[str, Any]:
    key, group = told.key, told.api_version.partition("/")[0]
    component = f"managed/{told.kind.lower()}.{group}"
    return {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": told.api_version,
            "kind": told.kind,
            "name": told.name,
            "uid": told.uid,
        }
        | ({"namespace": told.namespace} if told.namespace else {}),
        "type": str(told.type),
        "reason": str(told.reason),
        "message": told.message,
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
