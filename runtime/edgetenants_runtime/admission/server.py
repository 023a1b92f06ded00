"""Serves admission webhooks over HTTPS.

Any pod of the cluster may connect, so each connection, request and check is bounded:

    a place among the connections ─▶ the head ─▶ room for the body ─▶ the body, by a fixed moment
        ─▶ room for the parsed review ─▶ parsed, one at a time ─▶ the check ─▶ the answer

A request that does not fit gets an error, and a check that fails is answered with 500: then the failurePolicy
of the webhook configuration decides.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from edgetenants_runtime.admission.fields import BadReview
from edgetenants_runtime.admission.review import Request, Verdict, parse, response, weight
from edgetenants_runtime.bounds import cut
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.serving.answers import Answer, refusal
from edgetenants_runtime.serving.listener import Bounds, Listener, Serving
from edgetenants_runtime.serving.repeats import Repeats
from edgetenants_runtime.serving.requests import Requests
from edgetenants_runtime.serving.room import NoRoom, Room

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
_BUFFERED: Final = 128 * 1024
"""Bytes that the kernel keeps for a connection in each direction."""
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


class _Server(Listener):
    def __init__(
        self, where: tuple[str, int], context: _Context, checks: Mapping[str, Check], note: Note
    ) -> None:
        self.checks, self.note, self._context = checks, note, context
        self.bodies = Room(_SMALL_BODY, _LARGE_BODIES)
        self.reviews = Room(_SMALL_REVIEW, _LARGE_REVIEWS)
        self.parsing = threading.Lock()
        self.repeats = Repeats()
        bounds = Bounds(
            connections=_MOST_CONNECTIONS,
            head=_LONGEST_HEAD,
            request_seconds=_REQUEST_SECONDS,
            answer_seconds=_ANSWER_SECONDS,
            received=_BUFFERED,
            sent=_BUFFERED,
            idle_seconds=_IDLE_SECONDS,
        )
        super().__init__(where, _Handler, bounds)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. The handshake happens in the connection's own thread: a silent client must
        not block the others."""
        connection, client = super().get_request()
        connection.settimeout(_REQUEST_SECONDS)
        return self._context.wrap(connection), client


class _Handler(Requests):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:  # noqa: N802 - http.server's name
        """Answer one AdmissionReview."""
        path = self.path.partition("?")[0]
        check = self.server.checks.get(path)
        length = _length(self.headers.get("Content-Length", ""))
        if check is None:
            self.send(refusal(404, "no webhook at this path"))
        elif length is None:
            self.send(refusal(411, "Content-Length: expected a number"))
        elif length > _LONGEST_BODY:
            self.send(refusal(413, f"expected at most {_LONGEST_BODY} bytes"))
        else:
            self._review(path, check, length)

    def _review(self, path: str, check: Check, length: int) -> None:
        self._began = SystemClock().now()
        answer = self._answer(check, length)
        # Nothing of the review is left here: a client may take its time to receive the answer.
        self.send(answer)
        self.server.note(path, answer.status, SystemClock().now() - self._began)
        self.server.connections.answered(self.connection)

    def _answer(self, check: Check, length: int) -> Answer:
        try:
            with ExitStack() as held:
                return self._checked(check, self._received(length, held))
        except NoRoom:
            return refusal(503, "busy with other large reviews")
        except BadReview as error:
            why = str(error)
        self._log_bad_review(why)
        return refusal(400, why)

    def _received(self, length: int, held: ExitStack) -> Request:
        """Return what was sent. `held` gets the room for it."""
        server, client, gone = self.server, self.client, self.gone
        with server.bodies.of(client, length, gone):
            body = self._body(length)
            # A slow client makes no slow check.
            self._began = SystemClock().now()
            held.enter_context(server.reviews.of(client, weight(body), gone))
            with server.parsing:
                return parse(body)

    def _body(self, length: int) -> bytearray:
        body = bytearray()
        self.incoming.at_most(length)
        while len(body) < length:
            piece = self.rfile.read(min(_PIECE, length - len(body)))
            if not piece:
                raise ConnectionAbortedError("the client ended in the middle of a body")
            body += piece
        return body

    def _checked(self, check: Check, request: Request) -> Answer:
        try:
            answer = json.dumps(response(request.uid, check(request)))
        except BadReview:
            raise
        except Exception as error:  # noqa: BLE001 - the failurePolicy decides about the write
            self._log_defect(error, request)
            return refusal(500, "the check failed; see the log of the webhook")
        return Answer(200, answer.encode(), "application/json")

    def _log_bad_review(self, why: str) -> None:
        left_out = self.server.repeats.due("bad review")
        if left_out is not None:
            why = cut(why, _LONGEST_LOGGED)
            _log.warning("refused a malformed review", why=why, client=self.client, left_out=left_out)

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


def _length(header: str) -> int | None:
    # Python refuses to convert thousands of digits.
    fits = header.isascii() and header.isdigit() and len(header) < _DIGITS
    return int(header) if fits else None
