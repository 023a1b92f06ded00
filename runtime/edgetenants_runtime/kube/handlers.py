"""Calls several handlers with one notification."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import structlog

__all__ = ["tell"]

_log = structlog.get_logger("edgetenants_runtime.handlers")

Notice = TypeVar("Notice")


def tell(handlers: Iterable[Callable[[Notice], None]], notice: Notice, **about: str) -> None:
    """Call each handler in turn. An exception of one is logged, with `about`, and affects neither the other
    handlers nor the caller."""
    for handler in handlers:
        try:
            handler(notice)
        except Exception:  # noqa: BLE001 - one handler must not stop the others
            _log.exception("a change handler raised an exception", **about)
