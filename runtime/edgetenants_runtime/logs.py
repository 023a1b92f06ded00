"""Logs: one line an event, JSON for machines or text for people, with the object on each line and no secret
ever."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Any

import structlog

__all__ = ["LogFormat", "configure", "hide_secrets"]

_SECRET_WORDS = ("secret", "password", "token", "credential", "authorization", "private")


class LogFormat(StrEnum):
    """How log lines look."""

    JSON = "json"
    """One JSON object a line."""
    CONSOLE = "console"
    """Text with aligned fields."""


def configure(format_: LogFormat = LogFormat.JSON, *, debug: bool = False) -> None:
    """Set up logging of the whole process, to standard error; once, at its start."""
    renderer: Any = structlog.processors.JSONRenderer()
    if format_ is LogFormat.CONSOLE:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            hide_secrets,
            *([structlog.processors.format_exc_info] if format_ is LogFormat.JSON else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def hide_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the values of fields whose name speaks of secrets; a processor of structlog."""
    for name in event:
        if any(word in name.lower() for word in _SECRET_WORDS):
            event[name] = "[hidden]"
    return event
