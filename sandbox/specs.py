"""The specification of a supervised process: how to start it, and how to check that it is ready."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Probe", "ProcessSpec"]


@dataclass(frozen=True)
class Probe:
    """A readiness probe."""

    url: str
    """http, https: ready if a GET returns 200. tls: ready if a handshake selects HTTP/2, which gRPC needs."""
    ca: str = ""
    certificate: str = ""
    key: str = ""

    def ready(self) -> bool:
        """Probe once, for at most two seconds."""
        try:
            return self._handshake() if self.url.startswith("tls:") else self._get()
        except (OSError, urllib.error.URLError, http.client.HTTPException):
            return False

    def _get(self) -> bool:
        context = self._context() if self.url.startswith("https:") else None
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if context is not None:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        with urllib.request.build_opener(*handlers).open(self.url, timeout=2) as answer:
            return bool(answer.status == http.HTTPStatus.OK)

    def _handshake(self) -> bool:
        parts = urlsplit(self.url)
        context = self._context()
        context.set_alpn_protocols(["h2"])
        with (
            socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=2) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            return secured.selected_alpn_protocol() == "h2"

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass(frozen=True)
class ProcessSpec:
    """How to start a process."""

    name: str
    argv: tuple[str, ...]
    log: str
    """The file to which stdout and stderr are appended."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The complete environment; nothing is inherited."""
    ports: tuple[int, ...] = ()
    """The ports of 127.0.0.1 on which it listens."""
    probe: Probe | None = None
    tier: int = 0
    """Processes of higher tiers depend on lower tiers, and are stopped first."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> ProcessSpec:
        """Parse it from its JSON object."""
        probe = data.get("probe")
        return cls(
            name=data["name"],
            argv=tuple(data["argv"]),
            log=data["log"],
            env=dict(data["env"]),
            ports=tuple(data["ports"]),
            probe=Probe(**probe) if probe else None,
            tier=data["tier"],
        )
