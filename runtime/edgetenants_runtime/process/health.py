"""Answers probes and scrapes over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import structlog

__all__ = ["Answer", "Page", "PageServer", "PageServers", "Probe", "Starting", "probe_page"]

_log = structlog.get_logger("edgetenants_runtime.health")

_STOP_POLL = 0.05
"""Seconds between two looks whether to stop."""
_PATIENCE = 10.0
"""Seconds that a client may be silent; one that opens connections and says nothing must not fill us up."""


@dataclass(frozen=True)
class Answer:
    """What a page says."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Page = Callable[[str], Answer]
"""Makes the answer to a GET; given the request's Accept header."""
Probe = Callable[[], tuple[bool, list[str]]]
"""Whether it is well, and lines that say what is not."""


def probe_page(probe: Probe) -> Page:
    """A page for the kubelet: 200 when it is well, else 503; the body says why, a line each."""

    def page(_accept: str) -> Answer:
        well, lines = probe()
        body = "\n".join(["ok" if well else "not ok", *lines]) + "\n"
        return Answer(200 if well else 503, body.encode())

    return page


class PageServer:
    """Serves each page at its path, from threads of its own."""

    def __init__(self, address: str, port: int, pages: Mapping[str, Page]) -> None:
        """Port 0 takes a free one. Raises OSError when the port is taken."""

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
                # A probe each second is no news.
                del format, args

        self._server = ThreadingHTTPServer((address, port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_POLL,), name="pages", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


class PageServers:
    """Pages on one port or on several; pages that name the same port stand beside each other."""

    def __init__(self) -> None:
        self._wanted: list[tuple[str, int, dict[str, Page]]] = []
        self._serving: dict[str, PageServer] = {}

    def serve(self, address: str, port: int | None, pages: Mapping[str, Page]) -> None:
        """Have the pages served, from `start` on. None: not at all. 0: on a free port of their own. On a port
        that was named before, the address is the one named then."""
        if port is None:
            return
        beside = [pages_ for _, port_, pages_ in self._wanted if port and port_ == port]
        if beside:
            beside[0].update(pages)
        else:
            self._wanted.append((address, port, dict(pages)))

    def start(self) -> None:
        """Start answering. Raises OSError when a port is taken; then nothing is served."""
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
        """Stop answering and free the ports."""
        for server in self._serving.values():
            server.stop()

    def port_of(self, page: str) -> int | None:
        """Where the page is served, None when it is not."""
        server = self._serving.get(page)
        return server.port if server else None


class Starting:
    """Answers the probes of a process that waits for something before it starts: it is alive, and not ready.
    Without that a kubelet kills it, and nobody reads what it waits for.

    A context manager; leaving it frees the port.
    """

    def __init__(self, address: str, port: int | None) -> None:
        """The port is taken once there is something to tell; None: never."""
        self._servers, self._lines = PageServers(), [""]
        pages = {
            "/healthz": probe_page(lambda: (True, [])),
            "/readyz": probe_page(lambda: (False, self._lines)),
        }
        self._servers.serve(address, port, pages)
        self._told = False

    def tell(self, line: str) -> None:
        """What is waited for. Raises OSError when the port is taken."""
        self._lines = [line]
        if not self._told:
            self._servers.start()
            self._told = True

    @property
    def port(self) -> int | None:
        """Where probes are answered, None where they are not."""
        return self._servers.port_of("/readyz")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.stop()


def _said(page: Page, accept: str) -> Answer:
    try:
        return page(accept)
    except Exception:  # noqa: BLE001 - a page that cannot be made must say so to whoever asks
        _log.exception("cannot render page")
        return Answer(500, b"not ok\nsee the log for details\n")
