"""Serves probes and metrics over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import structlog

from edgetenants_runtime.serving import Serving

__all__ = ["Answer", "Page", "PageServer", "PageServers", "Probe", "Starting", "probe_page"]

_log = structlog.get_logger("edgetenants_runtime.health")

_PATIENCE = 10.0
"""Seconds that a client may be silent. Idle connections must not exhaust the server."""


@dataclass(frozen=True)
class Answer:
    """The response of a page."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Page = Callable[[str], Answer]
"""Creates the response to a GET from the request's Accept header."""
Probe = Callable[[], tuple[bool, list[str]]]
"""Whether the check succeeds, and lines that describe problems."""


def probe_page(probe: Probe) -> Page:
    """A page for the kubelet: 200 if the probe succeeds, else 503; the body lists the reasons, one per
    line."""

    def page(_accept: str) -> Answer:
        well, lines = probe()
        body = "\n".join(["ok" if well else "not ok", *lines]) + "\n"
        return Answer(200 if well else 503, body.encode())

    return page


class PageServer(Serving):
    """Serves each page at its path, in its own threads."""

    def __init__(self, address: str, port: int, pages: Mapping[str, Page]) -> None:
        """Port 0 selects a free one. Raises OSError if the port is in use."""

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE

            def do_GET(self) -> None:
                page = pages.get(self.path.partition("?")[0])
                if page is None:
                    self.send_error(404)
                    return
                answer = _said(page, self.headers.get("Accept", ""))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                # Do not log a probe every second.
                del format, args

        super().__init__(ThreadingHTTPServer((address, port), Handler), "pages")


class PageServers:
    """Pages on one or several ports; pages with the same port share a server."""

    def __init__(self) -> None:
        self._wanted: list[tuple[str, int, dict[str, Page]]] = []
        self._serving: dict[str, PageServer] = {}

    def serve(self, address: str, port: int | None, pages: Mapping[str, Page]) -> None:
        """Serve the pages, from `start` on. Port None: not at all. Port 0: on their own free port. For a port
        that is already in use by other pages, their address applies."""
        if port is None:
            return
        same_port = [pages_ for _, port_, pages_ in self._wanted if port and port_ == port]
        if same_port:
            same_port[0].update(pages)
        else:
            self._wanted.append((address, port, dict(pages)))

    def start(self) -> None:
        """Start serving. Raises OSError if a port is in use; then nothing is served."""
        servers = []
        try:
            for address, port, pages in self._wanted:
                servers.append((PageServer(address, port, pages), pages))
        except OSError:
            for server, _ in servers:
                server.stop()
            raise
        for server, pages in servers:
            server.start()
            self._serving |= dict.fromkeys(pages, server)

    def stop(self) -> None:
        """Stop serving and free the ports."""
        for server in self._serving.values():
            server.stop()

    def port_of(self, page: str) -> int | None:
        """The port that serves the page; None if it is not served."""
        server = self._serving.get(page)
        return server.port if server else None


class Starting:
    """Serves the probes of a process that waits for something before it starts: it is alive, but not ready.
    Otherwise the kubelet would kill it, and `/readyz` could not show what it waits for.

    A context manager; leaving it frees the port.
    """

    def __init__(self, address: str, port: int | None) -> None:
        """The port is opened with the first `tell`; None: never."""
        self._servers, self._lines = PageServers(), [""]
        pages = {
            "/healthz": probe_page(lambda: (True, [])),
            "/readyz": probe_page(lambda: (False, self._lines)),
        }
        self._servers.serve(address, port, pages)
        self._told = False

    def tell(self, line: str) -> None:
        """Set what the process waits for. Raises OSError if the port is in use."""
        self._lines = [line]
        if not self._told:
            self._servers.start()
            self._told = True

    @property
    def port(self) -> int | None:
        """The port that serves the probes; None if they are not served."""
        return self._servers.port_of("/readyz")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.stop()


def _said(page: Page, accept: str) -> Answer:
    try:
        return page(accept)
    except Exception:  # noqa: BLE001 - an error must be returned to the client
        _log.exception("cannot render page")
        return Answer(500, b"not ok\nsee the log for details\n")
