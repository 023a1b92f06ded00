"""How urgent the current reconcile is, passed to external clients without a parameter, as its deadline is.

A client whose calls share something scarce, such as the rate of an account, serves the most urgent one first:

    with urgency.waiting():
        wait_for_the_turn_of(urgency.current().priority)

A client that starts threads passes them its context (`contextvars.copy_context`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from edgetenants_runtime.queueing.queue import Priority

__all__ = ["Urgency", "current", "waiting", "within"]


class Urgency:
    """The priority of one piece of work. It only rises, and any thread may read it at any time."""

    def __init__(self, priority: Priority, held: Callable[[bool], None] = lambda _: None) -> None:
        """`held` is called when the work begins and ends to wait."""
        self.priority = priority
        self.held = held

    def raise_to(self, priority: Priority) -> None:
        """More urgent work waits for this. Not for several threads at once."""
        self.priority = max(self.priority, priority)


_OF_OTHERS: Final = Urgency(Priority.CHANGE)
"""That of what is no reconcile, such as the answer to a webhook: a user waits for it."""
_current: ContextVar[Urgency] = ContextVar("urgency", default=_OF_OTHERS)


@contextmanager
def within(urgency: Urgency) -> Iterator[None]:
    """Do the block's work with that urgency."""
    token = _current.set(urgency)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Urgency:
    """The urgency of the current work; outside of reconciles, that of a change."""
    return _current.get()


@contextmanager
def waiting() -> Iterator[None]:
    """The block waits for the turn of the current work. Meanwhile its worker is of no use to other work, so
    the queue leaves others free for what is more urgent; see `WorkQueue.hold`."""
    held = _current.get().held
    held(True)
    try:
        yield
    finally:
        held(False)
