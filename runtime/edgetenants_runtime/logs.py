"""Logs: one line per event, as JSON or text, with the object on each line and without secrets."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from typing import Any

import structlog

__all__ = ["LogFormat", "configure", "hide_secrets"]

_SECRET_WORDS = ("secret", "password", "token", "credential", "authorization", "private")
_HIDDEN = "[hidden]"
_SECRETS = re.compile(
    # Each takes time in proportion to the text, which may quote what a user wrote.
    # Private keys in PEM, including truncated ones.
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    # JSON Web Tokens, such as those of ServiceAccounts.
    r"|(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}\.[\w-]*"
    # The value after a name that is common for secrets.
    r"|(?<=bearer )[\w.~+/=-]{8,}"
    r"|(?:secret_?access_?key|session_?token|security[_-]token|password|x-amz-signature)"
    r"[\"']?\s*[=:]\s*[\"']?(?P<value>[^\s\"',;&<>]+)",
    re.IGNORECASE | re.DOTALL,
)


class LogFormat(StrEnum):
    """The format of log lines."""

    JSON = "json"
    """One JSON object per line."""
    CONSOLE = "console"
    """Text with aligned fields."""


def configure(format_: LogFormat = LogFormat.JSON, *, debug: bool = False) -> None:
    """Configure logging of the whole process, to standard error. Call it once, at the start.

    Libraries that use the standard library's logging are logged from WARNING on, in the same format; never
    their debug lines, which contain headers with credentials.
    """
    renderer: Any = structlog.processors.JSONRenderer()
    if format_ is LogFormat.CONSOLE:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        # Before hide_secrets: a traceback's last line is the exception's text.
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _adopt_the_standard_library(shared, renderer)


def _adopt_the_standard_library(shared: list[Any], renderer: Any) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def hide_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the values of fields whose names suggest secrets, and anything in a text that looks like a
    secret. A structlog processor."""
    for name, value in event.items():
        event[name] = _HIDDEN if _speaks_of_secrets(name) else _clean(value)
    return event


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SECRETS.sub(_hide, value)
    if isinstance(value, bytes | bytearray):
        # Nothing is logged as bytes on purpose; a Secret's data is bytes.
        return _HIDDEN
    if isinstance(value, Mapping):
        return {k: _HIDDEN if _speaks_of_secrets(k) else _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item) for item in value]
    return value


def _speaks_of_secrets(name: object) -> bool:
    return any(word in str(name).lower() for word in _SECRET_WORDS)


def _hide(found: re.Match[str]) -> str:
    value = found.group("value")
    return _HIDDEN if value is None else found.group(0).removesuffix(value) + _HIDDEN
