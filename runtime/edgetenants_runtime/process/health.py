"""Serves probes and metrics over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from edgetenants_runtime.serving.answers import Answer
from edgetenants_runtime.serving.pages import Asked, Page, PageServer

__all__ = ["PageServers", "Probe", "Starting", "probe_page"]

Probe = Callable[[], tuple[bool, list[str]]]
"""Whether the check succeeds, and lines that describe problems."""


def probe_page(probe: Probe) -> Page:
    """A page for the kubelet: 200 if the probe succeeds, else 503; the body lists the reasons, one per
    line."""

    def page(_: Asked) -> Answer:
        well, lines = probe()
        body = "\n".join(["ok" if well else "not ok", *lines]) + "\n"
        return Answer(200 if well else 503, body.encode())

    return page


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
