"""Telling several of one piece of news."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import structlog

__all__ = ["tell"]

_log = structlog.get_logger("edgetenants_runtime.handlers")

News = TypeVar("News")


def tell(handlers: Iterable[Callable[[News], None]], news: News, **about: str) -> None:
    """Tell each in turn; one that raises silences no other, and not whoever tells. `about` names the news in
    the log."""
    for handler in handlers:
        try:
            handler(news)
        except Exception:  # noqa: BLE001 - what one makes of the news must not hide it from the others
            _log.exception("a change handler raised an exception", **about)
