"""The call log in the admin API.

GET    calls?since=&operation=&service=&account=&code=&format=text    the log; as text, one line per call
DELETE calls                                                          clear the log
"""

from __future__ import annotations

from typing import Any

from edgetenants_emulator.application import Application
from edgetenants_emulator.calls.log import as_text
from edgetenants_emulator.protocol.exchange import Request, Response

__all__ = ["calls", "reset_calls"]

_FILTERS = ("operation", "service", "account", "code")
_KNOWN = frozenset({"since", "format", *_FILTERS})


def calls(application: Application, request: Request) -> dict[str, Any] | Response:
    """The log, or a part of it. Raises ValueError for an invalid query."""
    query = request.query
    unknown = sorted(set(query) - _KNOWN)
    if unknown:
        raise ValueError(f"unknown query parameter {', '.join(unknown)}; known: {', '.join(sorted(_KNOWN))}")
    since, form = query.get("since") or "0", query.get("format", "json")
    if not since.isdecimal():
        raise ValueError(f"since: expected the number of a call, got {since!r}")
    if form not in ("json", "text"):
        raise ValueError(f"format: expected json or text, got {form!r}")
    wanted = {name: query[name] for name in _FILTERS if name in query}
    report = application.calls.report(int(since), wanted)
    if form == "json":
        return report
    return Response(200, {"Content-Type": "text/plain; charset=utf-8"}, as_text(report["calls"]).encode())


def reset_calls(application: Application, _: Request) -> dict[str, Any]:
    """Clear the log."""
    application.calls.reset()
    return {"total": 0}
