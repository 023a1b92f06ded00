"""The certificate requests of this process, and how long it waits before the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.state import certificates
from provider.cloudfront.state.certificates import Certificate

__all__ = ["CertificateRequests"]

_REQUESTS: Final = 10
"""Maximum number of certificate requests to remember for a resource."""


class CertificateRequests:
    """The certificate requests for all resources of an account. Thread-safe."""

    def __init__(self, clock: Clock, today: Callable[[], datetime]) -> None:
        self._clock, self._today = clock, today
        self._lock = threading.Lock()
        self._waits: dict[str, tuple[Hashable, int, float]] = {}
        self._requests: dict[str, tuple[int, float]] = {}
        self._requested_at: dict[str, tuple[tuple[float, datetime], ...]] = {}

    def note(self, uid: str, generation: int, seconds: float) -> None:
        """Note a certificate request. For this many seconds, a missing certificate is no reason for another
        request, unless the spec changes."""
        now = self._clock.now()
        with self._lock:
            self._requests[uid] = (generation, now + seconds)
            moments = (*self._requested_at.get(uid, ()), (now, self._today()))
            self._requested_at[uid] = moments[-_REQUESTS:]

    def requested_lately(self, uid: str, generation: int) -> bool:
        """Whether this process recently requested a certificate."""
        with self._lock:
            of, until = self._requests.get(uid, (generation, float("-inf")))
            return of == generation and self._clock.now() < until

    def too_often_until(self, uid: str, most: int, seconds: float) -> datetime | None:
        """Return the time before which this process makes no further certificate request, because it made
        `most` requests within `seconds`; it is the same each time. None if it made fewer. `most` is at most
        10."""
        with self._lock:
            since = self._clock.now() - seconds
            lately = [told for at, told in self._requested_at.get(uid, ()) if at > since]
        return lately[-most] + timedelta(seconds=seconds) if len(lately) >= most else None

    def seconds_waited(self, certificate: Certificate) -> float:
        """Seconds since the provider waits before it requests another one, according to status."""
        return certificates.seconds_waited(certificate, self._today()) or 0.0

    def waited(self, uid: str, what: Hashable, generation: int, seconds: float, before: float = 0.0) -> bool:
        """Whether this much time has passed since this process first met `what`; True immediately after a
        change of the spec. What the process meets first may have waited `before` already, according to
        status."""
        with self._lock:
            now = self._clock.now()
            met, of, until = self._waits.get(uid, (None, generation, now))
            if met is None:
                # A pause that begins again with each process never ends if processes are shorter.
                until = now + seconds - before
            elif met != what:
                until = now + seconds
            elif of != generation:
                until = now
            self._waits[uid] = (what, generation, until)
            return now >= until

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._waits.pop(uid, None)
            self._requests.pop(uid, None)
            self._requested_at.pop(uid, None)
