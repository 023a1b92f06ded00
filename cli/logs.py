"""What the provider's code logs while a command runs it: on standard error, as standard output is for what
was asked for."""

from __future__ import annotations

import sys

import structlog

from edgetenants_runtime.logs import hide_secrets

__all__ = ["to_stderr"]


def to_stderr() -> None:
    """Have it written for people."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            hide_secrets,
            structlog.dev.ConsoleRenderer(colors=False),
        ],
        # Asked at each line: a stream that somebody took away since is not written to.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
