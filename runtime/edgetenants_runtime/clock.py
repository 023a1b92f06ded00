"""Time: one injected clock for the external system, real time for Kubernetes.

All waiting for the external system (polls, back-off, rate limits) goes through a `Clock`, so that a test
or a sandbox can skip an hour. Everything written to Kubernetes (conditions, events, annotations) and all
waiting for the API server use real time: kubectl prints an event with a time in the future as `<invalid>`.

This is the only module that reads the system clocks.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime
from typing import Final, Protocol
from urllib.parse import urlencode

import structlog

__all__ = [
    "Clock",
    "FakeClock",
    "RemoteClock",
    "Stopwatch",
    "SystemClock",
    "parse_rfc3339",
    "pause",
    "rfc3339",
    "rfc3339_micro",
    "utc_now",
]

_log = structlog.get_logger("edgetenants_runtime.clock")

_LONGEST_SLEEP: Final = 24 * 3600.0
"""Seconds. Python rejects waits of some centuries. A caller that wakes early checks the time and sleeps
again."""


class Clock(Protocol):
    """The time of the external system. Only the difference between two readings is meaningful."""

    def now(self) -> float:
        """Seconds on this clock's scale. Monotonic."""
        ...

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait on an acquired condition until it is notified, `deadline` (a value of `now`) has passed, or
        the clock was stepped.

        May return early, so callers loop, as with `threading.Condition.wait`. `None` waits without a
        deadline.
        """
        ...


def pause(clock: Clock, seconds: float) -> None:
    """Block the calling thread for that many seconds of `clock`."""
    condition = threading.Condition()
    deadline = clock.now() + seconds
    with condition:
        while clock.now() < deadline:
            clock.wait(condition, deadline)


class SystemClock:
    """The system's monotonic clock."""

    def now(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait on an acquired condition until notified or `deadline`."""
        if deadline is None:
            condition.wait()
            return
        condition.wait(max(0.0, min(deadline - self.now(), _LONGEST_SLEEP)))


class _Sleepers:
    """The conditions that threads currently wait on, so that a step of the clock can wake them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[threading.Condition] = Counter()

    def add(self, condition: threading.Condition) -> None:
        with self._lock:
            self._waiting[condition] += 1

    def remove(self, condition: threading.Condition) -> None:
        with self._lock:
            self._waiting[condition] -= 1
            if not self._waiting[condition]:
                del self._waiting[condition]

    def wake(self) -> None:
        # Release the lock before acquiring the conditions: a sleeper registers while it holds its condition.
        with self._lock:
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()


class FakeClock:
    """A clock that stands still until a test advances it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()
        self._sleepers = _Sleepers()

    def now(self) -> float:
        """Seconds since the given start; only `advance` changes them."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Let that many seconds pass at once, and wake every sleeper."""
        with self._lock:
            self._now += seconds
        self._sleepers.wake()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait on an acquired condition until notified or advanced to `deadline`."""
        self._sleepers.add(condition)
        try:
            # Register first, then read: a step in between is seen here, a later one notifies.
            if deadline is None or self.now() < deadline:
                condition.wait()
        finally:
            self._sleepers.remove(condition)


class RemoteClock:
    """Follows the clock of another process by long-polling its URL.

    `GET URL?since=<version>&timeout=<seconds>` returns `{"version", "virtual", "rate"}` as soon as the
    version differs. While the URL is unreachable, the clock continues at the last known rate.
    """

    _POLL_SECONDS = 10.0
    _RETRY_SECONDS = 0.5

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._sleepers = _Sleepers()
        self._anchor = time.monotonic()
        self._base = 0.0
        self._offset = 0.0
        self._rate = 1.0
        self._version: int | None = None
        self._reachable = True
        self._stopping = threading.Event()
        self._first_answer = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="remote-clock", daemon=True)
        # Ignore proxies from the environment: the clock is on this machine or next to it.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def start(self, timeout: float = 5.0) -> None:
        """Start following; wait up to `timeout` real seconds for the first response."""
        self._thread.start()
        self._first_answer.wait(timeout)

    def stop(self) -> None:
        """Stop following. The clock continues at the last known rate."""
        self._stopping.set()

    def now(self) -> float:
        """Seconds on the other process's scale; continuous over its restarts."""
        with self._lock:
            return self._now()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait on an acquired condition until notified, `deadline`, or a change of the other clock."""
        self._sleepers.add(condition)
        try:
            condition.wait(self._real_seconds(deadline))
        finally:
            self._sleepers.remove(condition)

    def _now(self) -> float:
        return self._base + (time.monotonic() - self._anchor) * self._rate

    def _real_seconds(self, deadline: float | None) -> float | None:
        with self._lock:
            if deadline is None:
                return None
            missing = deadline - self._now()
            if missing <= 0:
                return 0.0
            # A stopped clock reaches no deadline; a step wakes the sleeper.
            return min(missing / self._rate, _LONGEST_SLEEP) if self._rate > 0 else None

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                reading = self._read()
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._lost(error)
                self._stopping.wait(self._RETRY_SECONDS)
            else:
                self._adopt(*reading)
                self._first_answer.set()

    def _read(self) -> tuple[int, float, float]:
        query = {"timeout": str(self._POLL_SECONDS)}
        if self._version is not None and self._reachable:
            query["since"] = str(self._version)
        with self._opener.open(f"{self._url}?{urlencode(query)}", timeout=self._POLL_SECONDS + 5) as response:
            answer = json.load(response)
        return int(answer["version"]), float(answer["virtual"]), float(answer["rate"])

    def _adopt(self, version: int, virtual: float, rate: float) -> None:
        with self._lock:
            now = self._now()
            # The other process may have restarted from zero. Shift the scale, so that time never goes back.
            if self._version is not None and virtual + self._offset < now:
                self._offset = now - virtual
            self._base, self._anchor = virtual + self._offset, time.monotonic()
            self._rate, self._version = rate, version
        self._found()
        self._sleepers.wake()

    def _lost(self, error: Exception) -> None:
        if self._reachable:
            _log.warning(
                "clock unreachable, continuing at the last known rate",
                url=self._url,
                error=str(error),
                rate=self._rate,
            )
        self._reachable = False

    def _found(self) -> None:
        if not self._reachable:
            _log.info("clock reachable again", url=self._url)
        self._reachable = True


class Stopwatch:
    """Measures real seconds since its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def elapsed(self) -> float:
        """Real seconds since the start."""
        return time.monotonic() - self._start


def utc_now() -> datetime:
    """Real time in UTC, for values that are written to Kubernetes. Never use it for waiting."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """The time in whole seconds, in the format of Kubernetes' `metav1.Time`.

    >>> rfc3339(datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(moment: datetime) -> str:
    """The time in microseconds, in the format of Kubernetes' `metav1.MicroTime`. RFC 3339 parsers accept
    both.

    >>> rfc3339_micro(datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))
    '2026-01-02T03:04:05.678901Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> datetime:
    """Parse RFC 3339 text into an aware datetime.

    Raises ValueError for anything else, including a time without a zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment
