"""Writes events, with little cost for repeated ones."""

from __future__ import annotations

import hashlib
import queue
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
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.rules.status import without_request_id

__all__ = ["EventRecorder", "EventWriter"]

_log = structlog.get_logger("edgetenants_runtime.kube.events")

_LONGEST_NAME = 230
"""Characters of the object's name in the event's name, which may have 253."""
_REMEMBERED = 20_000


@dataclass(frozen=True)
class _Told:
    mr: Managed
    type: EventType
    reason: EventReason
    message: str

    @property
    def key(self) -> ObjectKey:
        # Deterministic: a restarted process continues the count of the previous one.
        said = "\n".join((self.mr.uid, self.type, self.reason, without_request_id(self.message)))
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        # A truncated name must not end with a dash or a dot.
        name = self.mr.name[:_LONGEST_NAME].rstrip("-.")
        # Events of cluster-scoped objects are in "default", as with Kubernetes' own recorder.
        return ObjectKey(self.mr.namespace or "default", f"{name}.{digest}")


@dataclass
class _Series:
    count: int
    written: int
    written_at: float


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

    def write(self, told: _Told) -> None:
        """Write the event or count it. Raises KubeError."""
        series = self._series.get(told.key)
        if series is None:
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

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._told: queue.Queue[_Told | None] = queue.Queue(maxsize=10_000)
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Write the events recorded so far, for at most `timeout` real seconds."""
        if self._thread.is_alive():
            self._told.put(None)
            self._thread.join(timeout)

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """Queue the event; dropped with a log line if the queue is full."""
        try:
            self._told.put_nowait(_Told(mr, type_, reason, message))
        except queue.Full:
            _log.warning("event dropped, the queue is full", reason=str(reason))

    def _run(self) -> None:
        while (told := self._told.get()) is not None:
            try:
                self._writer.write(told)
            except KubeError as error:
                _log.warning("cannot write event", reason=str(told.reason), error=str(error))
            except Exception:  # noqa: BLE001 - one bad event must not stop the recorder
                _log.exception("cannot write event", reason=str(told.reason))


def _body(told: _Told, now: str) -> dict[str, Any]:
    mr, key = told.mr, told.key
    group = mr.api_version.partition("/")[0]
    component = f"managed/{mr.kind.lower()}.{group}"
    return {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": mr.api_version,
            "kind": mr.kind,
            "name": mr.name,
            "uid": mr.uid,
        }
        | ({"namespace": mr.namespace} if mr.namespace else {}),
        "type": str(told.type),
        "reason": str(told.reason),
        "message": cut_bytes(told.message),
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
