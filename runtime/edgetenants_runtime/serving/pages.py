"""Serves pages, such as probes and metrics, over HTTP.

Any pod may connect. A page reads nothing but the head of a request, and a connection is for one request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from edgetenants_runtime.serving.answers import Answer, refusal
from edgetenants_runtime.serving.listener import Bounds, Listener, Serving
from edgetenants_runtime.serving.repeats import Repeats
from edgetenants_runtime.serving.requests import Requests

__all__ = ["Asked", "Page", "PageServer"]

_log = structlog.get_logger("edgetenants_runtime.pages")

_MOST_CONNECTIONS: Final = 64
"""A kubelet and a Prometheus have a few for a moment."""
_LONGEST_HEAD: Final = 16 * 1024
"""Bytes."""
_REQUEST_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 10.0
_RECEIVED: Final = 16 * 1024
_SENT: Final = 64 * 1024


@dataclass(frozen=True)
class Asked:
    """A GET of a page."""

    client: str
    """Its address."""
    accept: str
    """The header Accept."""
    gone: Callable[[], bool] = lambda: False
    """Whether no one waits for the answer any more."""


Page = Callable[[Asked], Answer]


class PageServer(Serving):
    """Serves each page at its path, in its own threads."""

    def __init__(self, address: str, port: int, pages: Mapping[str, Page]) -> None:
        """Port 0 selects a free one. Raises OSError if the port is in use."""
        super().__init__(_Server((address, port), pages), "pages")


class _Server(Listener):
    def __init__(self, where: tuple[str, int], pages: Mapping[str, Page]) -> None:
        self.pages, self.repeats = pages, Repeats()
        bounds = Bounds(
            connections=_MOST_CONNECTIONS,
            head=_LONGEST_HEAD,
            request_seconds=_REQUEST_SECONDS,
            answer_seconds=_ANSWER_SECONDS,
            received=_RECEIVED,
            sent=_SENT,
        )
        super().__init__(where, _Handler, bounds)


class _Handler(Requests):
    # With HTTP/1.0, a connection ends with its answer.
    protocol_version = "HTTP/1.0"
    server: _Server

    def do_GET(self) -> None:  # noqa: N802 - http.server's name
        """Answer with the page."""
        path = self.path.partition("?")[0]
        page = self.server.pages.get(path)
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.send(refusal(400, "expected no body"))
        elif page is None:
            self.send(refusal(404, "no page at this path"))
        else:
            self.send(self._answer(path, page))

    def _answer(self, path: str, page: Page) -> Answer:
        try:
            return page(Asked(self.client, self.headers.get("Accept", ""), self.gone))
        except Exception:  # noqa: BLE001 - an error must be returned to the client
            left_out = self.server.repeats.due(path)
            if left_out is not None:
                _log.exception("cannot render page", path=path, left_out=left_out)
            return refusal(500, "not ok\nsee the log for details")
