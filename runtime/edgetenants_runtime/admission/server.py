"""Serves admission webhooks over HTTPS.

Any pod of the cluster may connect, so each connection, request and check is bounded:

    a place among the connections ─▶ the head ─▶ room for the body ─▶ the body, by a fixed moment
        ─▶ room for the parsed review ─▶ parsed, one at a time ─▶ the check ─▶ the answer

A request that does not fit gets an error, and a check that fails is answered with 500: then the failurePolicy
of the webhook configuration decides.
"""

from __future__ import annotations

import io
import json
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import structlog

from edgetenants_runtime.admission.connections import Connections
from edgetenants_runtime.admission.fields import BadReview
from edgetenants_runtime.admission.incoming import Incoming
from edgetenants_runtime.admission.repeats import Repeats
from edgetenants_runtime.admission.review import Request, Verdict, parse, response, weight
from edgetenants_runtime.admission.room import NoRoom, Room
from edgetenants_runtime.bounds import cut
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.serving import Serving

__all__ = ["Certificate", "Check", "Note", "WebhookServer"]

_log = structlog.get_logger("edgetenants_runtime.admission")

Check = Callable[[Request], Verdict]
"""Checks one write. It must answer within the webhook's time-out, and must not write anything: the API server
also calls it for a dry run. It raises BadReview for an object that the API server would not have stored."""
Note = Callable[[str, int, float], None]
"""Takes note of an answer: the path, the HTTP status, and the seconds that it took."""

_MOST_CONNECTIONS: Final = 128
"""An API server keeps a few connections open."""
_IDLE_SECONDS: Final = 100.0
"""How long a connection may be idle. API servers close theirs after 90 s (Go's http.Transport); a server that
closes first may cut off a request."""
_REQUEST_SECONDS: Final = 10.0
"""How long a client may take to send one request, head and body together."""
_ANSWER_SECONDS: Final = 10.0
"""How long a client may take to receive an answer."""
_LONGEST_HEAD: Final = 32 * 1024
"""Bytes."""
_LONGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes: the old and the new object, each as large as etcd allows (1.5 MiB), and what JSON adds."""
_PIECE: Final = 64 * 1024
"""Bytes of a body that are read at a time: memory grows with what has arrived."""
_RECEIVED: Final = 128 * 1024
"""Bytes that the kernel keeps for a connection: they count for the pod's memory, too."""
_SMALL_BODY, _LARGE_BODIES = 256 * 1024, 16 * 1024 * 1024
_SMALL_REVIEW, _LARGE_REVIEWS = 1024 * 1024, 64 * 1024 * 1024
"""Bytes: what always has room, and what larger ones share. With all of it in use, the process needs less than
300 MiB more."""
_DIGITS: Final = 20
_LONGEST_LOGGED: Final = 256
_LONGEST_TRACEBACK: Final = 8192
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
        self.connections = Connections(_MOST_CONNECTIONS)
        self.bodies = Room(_SMALL_BODY, _LARGE_BODIES)
        self.reviews = Room(_SMALL_REVIEW, _LARGE_REVIEWS)
        self.parsing = threading.Lock()
        self.repeats = Repeats()

    def server_bind(self) -> None:
        """Bind the port. Its connections get its settings."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
        super().server_bind()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. The handshake happens in the connection's own thread: a silent client must
        not block the others."""
        connection, client = super().get_request()
        connection.settimeout(_REQUEST_SECONDS)
        return self._context.wrap(connection), client

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve the connection in a thread, if it gets a place."""
        if self.connections.add(request, str(client_address[0])):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a broken connection for those who debug: port scanners and probes cause them."""
        del request
        _log.debug("connection ended", client=str(client_address[0]), exc_info=True)


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        """Read through a deadline."""
        super().setup()
        self.rfile.close()
        self._incoming = Incoming(self.connection)
        self.rfile = self._reader = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        """Wait for the next request of the connection, then for the rest of it."""
        self._incoming.at_most(_LONGEST_HEAD)
        self._incoming.within(_IDLE_SECONDS if self._served else _REQUEST_SECONDS)
        try:
            self._reader.peek(1)
        except TimeoutError:
            self.close_connection = True
            return
        self._incoming.within(_REQUEST_SECONDS)
        super().handle_one_request()

    @property
    def _served(self) -> bool:
        return bool(getattr(self, "raw_requestline", b""))

    def do_POST(self) -> None:
        """Answer one AdmissionReview."""
        path = self.path.partition("?")[0]
        check = self.server.checks.get(path)
        length = _length(self.headers.get("Content-Length", ""))
        if check is None:
            self._send(_refusal(404, "no webhook at this path"))
        elif length is None:
            self._send(_refusal(411, "Content-Length: expected a number"))
        elif length > _LONGEST_BODY:
            self._send(_refusal(413, f"expected at most {_LONGEST_BODY} bytes"))
        else:
            self._review(path, check, length)

    def _review(self, path: str, check: Check, length: int) -> None:
        self._began = SystemClock().now()
        answer = self._answer(check, length)
        # Nothing of the review is left here: a client may take its time to receive the answer.
        self._send(answer)
        self.server.note(path, answer.status, SystemClock().now() - self._began)
        self.server.connections.answered(self.connection)

    def _answer(self, check: Check, length: int) -> _Answer:
        try:
            with ExitStack() as held:
                return self._checked(check, self._received(length, held))
        except NoRoom:
            return _refusal(503, "busy with other large reviews")
        except BadReview as error:
            why = str(error)
        self._log_bad_review(why)
        return _refusal(400, why)

    def _received(self, length: int, held: ExitStack) -> Request:
        """Return what was sent. `held` gets the room for it."""
        server, client, gone = self.server, str(self.client_address[0]), self._gone
        with server.bodies.of(client, length, gone):
            body = self._body(length)
            # A slow client makes no slow check.
            self._began = SystemClock().now()
            held.enter_context(server.reviews.of(client, weight(body), gone))
            with server.parsing:
                return parse(body)

    def _gone(self) -> bool:
        return not self.server.connections.has(self.connection)

    def _body(self, length: int) -> bytearray:
        body = bytearray()
        self._incoming.at_most(length)
        while len(body) < length:
            piece = self.rfile.read(min(_PIECE, length - len(body)))
            if not piece:
                raise ConnectionAbortedError("the client ended in the middle of a body")
            body += piece
        return body

    def _checked(self, check: Check, request: Request) -> _Answer:
        try:
            answer = json.dumps(response(request.uid, check(request)))
        except BadReview:
            raise
        except Exception as error:  # noqa: BLE001 - the failurePolicy decides about the write
            self._log_defect(error, request)
            return _refusal(500, "the check failed; see the log of the webhook")
        return _Answer(200, answer.encode(), "application/json")

    def _log_bad_review(self, why: str) -> None:
        left_out = self.server.repeats.due("bad review")
        if left_out is not None:
            why, client = cut(why, _LONGEST_LOGGED), str(self.client_address[0])
            _log.warning("refused a malformed review", why=why, client=client, left_out=left_out)

    def _log_defect(self, error: Exception, request: Request) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        left_out = self.server.repeats.due((type(error), place.filename, place.lineno))
        if left_out is not None:
            _log.error(
                "an admission check failed",
                kind=cut(request.kind, _LONGEST_LOGGED),
                namespace=cut(request.namespace, _LONGEST_LOGGED),
                exception=cut("".join(traceback.format_exception(error)), _LONGEST_TRACEBACK),
                left_out=left_out,
            )

    def _send(self, answer: _Answer) -> None:
        self.connection.settimeout(_ANSWER_SECONDS)
        if answer.status != 200:
            # What is left of the request would be read as the next one.
            self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Do nothing: the metrics count the reviews."""
        del format, args


def _refusal(status: int, why: str) -> _Answer:
    return _Answer(status, f"{why}\n".encode())


def _length(header: str) -> int | None:
    # Python refuses to convert thousands of digits.
    fits = header.isascii() and header.isdigit() and len(header) < _DIGITS
    return int(header) if fits else None
