"""Whether this process may still act, passed to external clients without a parameter.

A process that was frozen for longer than its Lease (a paused virtual machine) goes on in the middle of a
reconcile while another process leads. The runtime checks before each create, update and delete. A client
whose change takes several calls checks before each call that writes:

    leading.check("the call DeleteToy")

A client that starts threads passes them its context (`contextvars.copy_context`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["StandDown", "check", "within"]


class StandDown(BaseException):
    """This process may no longer act: another one leads, or its shutdown time is over.

    Not an Exception, so that no caller takes it for a failure of the resource and writes it to status.
    """

    def __init__(self, before: str, *, made_nothing: bool = False) -> None:
        """`before` is the action that was not started; `made_nothing`: the external client was not called."""
        super().__init__(before)
        self.made_nothing = made_nothing


def _always() -> bool:
    return True


_may_act: ContextVar[Callable[[], bool]] = ContextVar("may_act", default=_always)


@contextmanager
def within(may_act: Callable[[], bool]) -> Iterator[None]:
    """Let `check` ask `may_act` in the block."""
    token = _may_act.set(may_act)
    try:
        yield
    finally:
        _may_act.reset(token)


def check(before: str) -> None:
    """Check that this process may start `before`, named in a few words. Cheap; True outside a reconcile.

    Raises:
        StandDown: it may not. Let it pass.
    """
    if not _may_act.get()():
        raise StandDown(before)
