"""Until when a reconcile may take: handed down to external clients without a parameter.

A thread cannot be ended from outside. So a reconcile that lasts too long begins nothing more outside (the
runtime looks before each create, update and delete), and a client bounds its own waiting:

    timeout = min(30.0, deadline.remaining())

Real seconds, as what hangs is a connection. A client that starts threads hands them its context
(`contextvars.copy_context`).
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
    """Give the block that many seconds of `clock`, the system's unless told otherwise."""
    clock = clock or SystemClock()
    token = _current.set(_Deadline(clock, clock.now() + seconds, seconds))
    try:
        yield
    finally:
        _current.reset(token)


def remaining() -> float:
    """Seconds left to this reconcile, at least 0.0; infinite outside of one."""
    deadline = _current.get()
    return float("inf") if deadline is None else max(0.0, deadline.moment - deadline.clock.now())


def check(before: str, *, made_nothing: bool = False) -> None:
    """Let `before`, a few words, begin only in time. `made_nothing`: see ExternalError.

    Raises:
        ExternalError: the reconcile has used up its time; it is retried with back-off.
    """
    deadline = _current.get()
    if deadline is not None and deadline.clock.now() >= deadline.moment:
        raise ExternalError(
            f"the reconcile exceeded its timeout of {deadline.seconds:g} s: {before} was not started",
            made_nothing=made_nothing,
        )
