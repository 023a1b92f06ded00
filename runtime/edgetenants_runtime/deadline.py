"""The deadline of a reconcile, passed to external clients without a parameter.

A thread cannot be stopped from outside. Therefore a reconcile that exceeds its timeout starts no further
external write (the runtime checks before each create, update and delete), and a client bounds its own
waiting:

    timeout = min(30.0, deadline.remaining())

The deadline is in real seconds, because connections hang in real time. A client that starts threads passes
them its context (`contextvars.copy_context`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.errors import ExternalError

__all__ = ["check", "remaining", "within"]


@dataclass(frozen=True)
class _Deadline:
    clock: Clock
    moment: float
    seconds: float


_current: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float, clock: Clock | None = None) -> Iterator[None]:
    """Limit the block to that many seconds of `clock`, by default the system clock."""
    clock = clock or SystemClock()
    token = _current.set(_Deadline(clock, clock.now() + seconds, seconds))
    try:
        yield
    finally:
        _current.reset(token)


def remaining() -> float:
    """Seconds left for this reconcile, at least 0.0; infinite outside a reconcile."""
    deadline = _current.get()
    return float("inf") if deadline is None else max(0.0, deadline.moment - deadline.clock.now())


def check(before: str, *, made_nothing: bool = False) -> None:
    """Check that there is time left to start `before`, named in a few words. `made_nothing`: see
    ExternalError.

    Raises:
        ExternalError: the reconcile exceeded its timeout; it is retried with back-off.
    """
    deadline = _current.get()
    if deadline is not None and deadline.clock.now() >= deadline.moment:
        raise ExternalError(
            f"the reconcile exceeded its timeout of {deadline.seconds:g} s: {before} was not started",
            made_nothing=made_nothing,
        )
