"""Serves admission webhooks over HTTPS.

Any pod of the cluster may connect, so each connection, body and check is bounded. A check that fails is
answered with 500: then the failurePolicy of the webhook configuration decides.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import structlog

from edgetenants_runtime.admission.review import BadReview, Request, Verdict, parse, response
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.serving import Serving

__all__ = ["Certificate", "Check", "Note", "WebhookServer"]

_log = structlog.get_logger("edgetenants_runtime.admission")

Check = Callable[[Request], Verdict]
"""Checks one write. It must answer within the webhook's time-out, and must not write anything: the API server
also calls it for a dry run."""
Note = Callable[[str, int, float], None]
"""Takes note of an answer: the path, the HTTP status, and the seconds that it took."""

_MOST_CONNECTIONS: Final = 128
"""An API server keeps a few connections open."""
_IDLE_SECONDS: Final = 100.0
"""How long a connection may be idle. API servers close theirs after 90 s (Go's http.Transport); a server that
closes first may cut off a request."""
_BODY_SECONDS: Final = 10.0
"""How long a client may be silent in the middle of a request."""
_LONGEST_BODY: Final = 8 * 1024 * 1024
"""Bytes: the old and the new object, each as large as etcd allows, and what JSON adds."""
_DIGITS: Final = 20
_RELOAD_SECONDS: Final = 1.0
"""How often the server looks for a new certificate."""


@dataclass(frozen=True)
class Certificate:
    """The files of the serving certificate; Crossplane mounts both from one Secret."""

    certificate: Path
    key: Path

    @classmethod
    def of_folder(cls, folder: Path) -> Certificate:
        """The files of a mounted Secret of type kubernetes.io/tls."""
        return cls(folder / "tls.crt", folder / "tls.key")

    @property
    def problem(self) -> str:
        """Why it cannot be used; "" if it can."""
        try:
            self.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        except OSError as error:
            return f"{self.certificate}, {self.key}: {error}"
        return ""

    def load_into(self, context: ssl.SSLContext) -> None:
        """Make a server present it. Raises OSError, and ssl.SSLError, which is one."""
        context.load_cert_chain(self.certificate, self.key)

    def version(self) -> tuple[int, int]:
        """Something that differs when a file has changed. Raises OSError."""
        return self.certificate.stat().st_mtime_ns, self.key.stat().st_mtime_ns


class WebhookServer(Serving):
    """Serves each check at its path. Thread-safe."""

    def __init__(
        self,
        address: str,
        port: int,
        certificate: Certificate,
        checks: Mapping[str, Check],
        note: Note = lambda *_: None,
    ) -> None:
        """Port 0 selects a free one. Raises OSError if the port is in use, or the certificate (ssl.SSLError)
        cannot be used."""
        super().__init__(_Server((address, port), _Context(certificate), checks, note), "webhooks")


class _Context:
    """The TLS settings. A certificate that was renewed applies to new connections."""

    def __init__(self, certificate: Certificate) -> None:
        self._files = certificate
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._version = certificate.version()
        certificate.load_into(self._context)
        self._clock = SystemClock()
        self._looked_at = self._clock.now()

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return the connection with TLS; the handshake comes with the first read."""
        self._reload()
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def _reload(self) -> None:
        now = self._clock.now()
        if now < self._looked_at + _RELOAD_SECONDS:
            return
        self._looked_at = now
        try:
            version = self._files.version()
        except OSError as error:
            _log.warning("cannot read the certificate; the former one stays", error=str(error))
            return
        if version == self._version:
            return
        # In a context of its own first: the two files may not belong together yet.
        if problem := self._files.problem:
            _log.warning("cannot use the renewed certificate; the former one stays", error=problem)
            return
        self._files.load_into(self._context)
        self._version = version


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(
        self, where: tuple[str, int], context: _Context, checks: Mapping[str, Check], note: Note
    ) -> None:
        super().__init__(where, _Handler)
        self.checks, self.note, self._context = checks, note, context
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. The handshake happens in the connection's own thread: a silent client must
        not block the others."""
        connection, client = super().get_request()
        connection.settimeout(_BODY_SECONDS)
        return self._context.wrap(connection), client

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve the connection in a thread, while there is room."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a broken connection for those who debug: port scanners and probes cause them."""
        del request
        _log.debug("connection ended", client=str(client_address[0]), exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_one_request(self) -> None:
        """Wait for the next request of the connection, then for the rest of it."""
        self.connection.settimeout(_IDLE_SECONDS if self._served else _BODY_SECONDS)
        super().handle_one_request()

    @property
    def _served(self) -> bool:
        return bool(getattr(self, "raw_requestline", b""))

    def do_POST(self) -> None:
        """Answer one AdmissionReview."""
        self.connection.settimeout(_BODY_SECONDS)
        path = self.path.partition("?")[0]
        check = self.server.checks.get(path)
        length = _length(self.headers.get("Content-Length", ""))
        if check is None:
            self._refuse(404, "no webhook at this path")
        elif length is None:
            self._refuse(411, "Content-Length: expected a number")
        elif length > _LONGEST_BODY:
            self._refuse(413, f"expected at most {_LONGEST_BODY} bytes")
        else:
            body, began = self.rfile.read(length), SystemClock().now()
            status = self._answer(check, body)
            self.server.note(path, status, SystemClock().now() - began)

    def _answer(self, check: Check, body: bytes) -> int:
        try:
            request = parse(body)
        except BadReview as error:
            return self._refuse(400, str(error))
        try:
            verdict = check(request)
        except Exception:  # noqa: BLE001 - the failurePolicy decides about the write
            _log.exception("an admission check failed", kind=request.kind, namespace=request.namespace)
            return self._refuse(500, "the check failed; see the log of the webhook")
        return self._send(200, json.dumps(response(request.uid, verdict)).encode(), "application/json")

    def _refuse(self, status: int, why: str) -> int:
        # What is left of the request would be read as the next one.
        self.close_connection = True
        return self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: int, body: bytes, content_type: str) -> int:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        return status

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Do nothing: the metrics count the reviews."""
        del format, args


def _length(header: str) -> int | None:
    # Python refuses to convert thousands of digits.
    fits = header.isascii() and header.isdigit() and len(header) < _DIGITS
    return int(header) if fits else None
