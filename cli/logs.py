"""What the provider's code logs while a command runs it: on standard error, as standard output is for what
was asked for."""

from __future__ import annotations

import sys

import structlog

from apis.errors import visible
from edgetenants_runtime.logs import hide_secrets

__all__ = ["to_stderr"]


def to_stderr() -> None:
    """Have it written for people."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            hide_secrets,
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=False),
        ],
        # Asked at each line: a stream that somebody took away since is not written to.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _on_one_line(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Names and tags of others fake no lines."""
    return {key: visible(value) if isinstance(value, str) else value for key, value in event.items()}
