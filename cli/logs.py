"""Logs of the provider's code while a command runs it: to standard error, so that standard output contains
only the result."""

from __future__ import annotations

import sys

import structlog

from apis.errors import visible
from edgetenants_runtime.logs import hide_secrets

__all__ = ["to_stderr"]


def to_stderr() -> None:
    """Write logs to standard error in a readable form."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            hide_secrets,
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=False),
        ],
        # Resolved for each line, because sys.stderr may be replaced.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _on_one_line(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape line breaks, so that names and tags cannot forge log lines."""
    return {key: visible(value) if isinstance(value, str) else value for key, value in event.items()}
