"""Limits the workers that wait for credentials while their requests are signed.

botocore renews the credentials of a role when it signs a request. One thread asks STS, and all others wait at
a lock that has no time-out; then the next one asks. So an STS that does not answer would take all workers,
one after the other.

    check ──▶ the account's pace ──▶ wait, if it creates ──▶ begin ── botocore signs the request ──▶ ended

A signature takes a millisecond, so two requests of a provider config at a time lose no speed: one renews the
credentials while the other still uses the old ones. A third waits for a moment and then comes back later.
After a renewal without an answer, one tries again after half a minute; until then, all fail at once. The one
that tries is chosen before it waits for the account's pace, and the others do not wait there.

The times are real, because it is the connection that hangs.
"""

from __future__ import annotations

import logging
import random
import threading
from typing import Final

from edgetenants_runtime.clock import Clock, SystemClock
from provider.cloudfront.aws.errors import PAUSED, AwsError

__all__ = ["Signing"]

_MOST: Final = 2
"""Requests that are signed at a time."""
_PATIENCE: Final = 2.0
"""For how long a request waits for its turn, from the time when the last one began."""
_SOON_SECONDS: Final = 2.0
"""The shortest time until a request that waits for a renewal is tried again; the longest is twice as much."""
_AGAIN_SECONDS: Final = 30.0
"""Seconds from a renewal without an answer until the next one. Many provider configs may use one STS."""


class Signing:
    """The requests of one provider config that are being signed. Thread-safe."""

    def __init__(self, clock: Clock | None = None) -> None:
        """`clock` measures real seconds."""
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._under_way: dict[threading.Thread, float] = {}
        """When each thread began."""
        self._failed: float | None = None
        """When the last renewal ended without an answer; None if a request was signed since."""
        self._rng = random.Random()  # noqa: S311 - spreads load, guards nothing

    def check(self, operation: str) -> None:
        """Check that it makes sense to sign a request: `begin`, or `left`, must follow. Nothing else must be
        used up for it before.

        Raises:
            AwsError: other workers wait for the credentials, or the endpoint that gives them was silent.
        """
        with self._changed:
            self._under_way.pop(threading.current_thread(), None)
            now = self._clock.now()
            if not self._has_room() and now >= self._patient_until():
                raise self._refusal(operation)
            if self._failed is not None:
                # From now on, or all would wait for the account's pace and use it up.
                self._under_way[threading.current_thread()] = now

    def begin(self, operation: str) -> None:
        """This thread's request is signed next. Waits for its turn.

        Raises:
            AwsError: as `check`.
        """
        with self._changed:
            self._under_way.pop(threading.current_thread(), None)
            while not self._has_room():
                until = self._patient_until()
                if self._clock.now() >= until:
                    raise self._refusal(operation)
                self._clock.wait(self._changed, until)
            self._under_way[threading.current_thread()] = self._clock.now()

    def wait(self, operation: str) -> None:
        """Wait until this thread's request could be signed, without a turn of its own.

        Raises:
            AwsError: as `check`.
        """
        self.begin(operation)
        with self._changed:
            # The one that tries after a silence keeps its place.
            if self._failed is None:
                self.left()

    def ended(self, *, silent: bool = False) -> None:
        """This thread's request is signed, or it failed. `silent`: the endpoint that gives the credentials
        has not answered. A thread that signs nothing changes nothing."""
        with self._changed:
            if self._under_way.pop(threading.current_thread(), None) is None:
                return
            self._failed = self._clock.now() if silent else None
            self._changed.notify_all()

    def left(self) -> None:
        """This thread's request is not signed after all."""
        with self._changed:
            self._under_way.pop(threading.current_thread(), None)
            self._changed.notify_all()

    def _has_room(self) -> bool:
        alive = {thread: began for thread, began in self._under_way.items() if thread.is_alive()}
        self._under_way = alive
        if self._failed is None:
            return len(alive) < _MOST
        return not alive and self._clock.now() >= self._failed + _AGAIN_SECONDS

    def _patient_until(self) -> float:
        if self._failed is not None:
            return float("-inf")
        # The first may renew what still serves; the last one waits only if it has to.
        return max(self._under_way.values()) + _PATIENCE

    def _refusal(self, operation: str) -> AwsError:
        if self._failed is None:
            # STS may only be slow.
            words = "the credentials are being renewed, which takes long"
            return AwsError(operation, PAUSED, words, after=self._rng.uniform(1, 2) * _SOON_SECONDS)
        words = "the credentials cannot be renewed: AWS does not answer; one renewal at a time is tried"
        return AwsError(operation, "Endpoint", words, after=_AGAIN_SECONDS, sent=False)


def _is_told(record: logging.LogRecord) -> bool:
    """Whether to log what botocore tells of a renewal. It would tell each refused one, with its stack, while
    the old credentials still serve."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, AwsError)


logging.getLogger("botocore.credentials").addFilter(_is_told)
