"""Calls that reach an emulator of this process without a socket.

A call over a socket needs two threads and costs twice the CPU time. Tests of what the provider makes of AWS's
answers need no socket: they use the fixture `without_sockets`. Tests of the wire itself (lost answers, held
calls, repeated requests, time-outs) do not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from botocore import handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError

from edgetenants_emulator.admin.api import PREFIX, Admin
from edgetenants_emulator.errors import ConnectionDropped
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.server import EmulatorServer

_reached: dict[str, EmulatorServer] = {}
"""Endpoint to server."""


@contextmanager
def reaching(server: EmulatorServer) -> Iterator[None]:
    """Meanwhile, calls to this server use no socket."""
    before = server.url in _reached
    _reached[server.url] = server
    try:
        yield
    finally:
        if not before:
            del _reached[server.url]


def answer(method: str, url: str, headers: dict[str, str], body: bytes) -> Response | None:
    """The response of the server at `url`; None where sockets are used. Raises ConnectionDropped."""
    parts = urlsplit(url)
    server = _reached.get(f"{parts.scheme}://{parts.netloc}")
    if server is None:
        return None
    request = Request(method, parts.path, parts.query, headers, body)
    if parts.path.startswith(PREFIX):
        return Admin(server.application).handle(request)
    return server.application.handle(request)


def _send(request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
    """Answer instead of botocore's HTTP session."""
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    body = request.body or b""
    try:
        found = answer(
            request.method, request.url, headers, body.encode() if isinstance(body, str) else bytes(body)
        )
    except ConnectionDropped as error:
        raise ConnectionClosedError(endpoint_url=request.url) from error
    if found is None:
        return None
    return AWSResponse(request.url, found.status, dict(found.headers), _Body(found.body))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class _Body(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


# After every other handler of this event: they expect that the request is sent next.
handlers.BUILTIN_HANDLERS.append(("before-send", _send, handlers.REGISTER_LAST))
