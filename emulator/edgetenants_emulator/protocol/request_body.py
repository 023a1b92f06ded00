"""The body of an HTTP request: measured before it is read, and read to its end or refused.

AWS's common errors name what can be wrong: MalformedHttpRequestException, RequestAbortedException,
RequestEntityTooLargeException, RequestTimeoutException (the last by whoever keeps the time).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from email.message import Message
from io import BufferedIOBase

from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["read_body"]

_LENGTH = re.compile(r"[0-9]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]+)[ \t]*(;[^\r\n]*)?\r?\n")
_LONGEST_LINE = 4096
"""Bytes of a line between chunks: its length and its extensions, or a trailer."""
_DIGITS = 18
"""More of them are beyond every limit, and slow to read as a number."""


def read_body(headers: Message, stream: BufferedIOBase, limit: int, go_on: Callable[[], None]) -> bytes:
    """The body that belongs to these headers; `go_on` tells the client to send it, once nothing speaks
    against it.

    Raises AwsError for one that is malformed, short or above `limit` bytes; then the stream is somewhere
    within it.
    """
    lengths, codings = headers.get_all("Content-Length", []), headers.get_all("Transfer-Encoding", [])
    if codings:
        # Two measures that may differ: what one server takes for a body, the next takes for a request.
        if lengths or [each.strip().lower() for each in codings] != ["chunked"]:
            raise _malformed("Transfer-Encoding is chunked alone, without Content-Length")
        go_on()
        return _chunks(stream, limit)
    if not lengths:
        return b""
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _malformed(f"Content-Length is a number of bytes, not {', '.join(lengths)[:80]!r}")
    size = _checked(lengths[0], 10, 0, limit)
    go_on()
    return _exactly(stream, size)


def _chunks(stream: BufferedIOBase, limit: int) -> bytes:
    body = bytearray()
    while True:
        match = _CHUNK.fullmatch(_line(stream))
        if not match:
            raise _malformed("a chunk begins with its length in hexadecimal digits")
        size = _checked(match[1].decode(), 16, len(body), limit)
        if size == 0:
            break
        body += _exactly(stream, size)
        if _line(stream).strip():
            raise _malformed("a chunk is longer than it says")
    while _line(stream).strip():
        pass
    return bytes(body)


def _checked(digits: str, base: int, before: int, limit: int) -> int:
    """How many bytes more. Raises AwsError where they would be too many."""
    if len(digits.lstrip("0")) > _DIGITS or before + int(digits, base) > limit:
        message = f"HTTP content length exceeded {limit} bytes."
        raise AwsError(ErrorCode.REQUEST_TOO_LARGE, message)
    return int(digits, base)


def _exactly(stream: BufferedIOBase, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise _aborted()
    return found


def _line(stream: BufferedIOBase) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if not line:
        raise _aborted()
    if not line.endswith(b"\n"):
        # Cut off by the client, or without end.
        raise _malformed("a line between chunks is too long") if len(line) == _LONGEST_LINE else _aborted()
    return line


def _malformed(why: str) -> AwsError:
    return AwsError(ErrorCode.MALFORMED_HTTP_REQUEST, f"The request cannot be read: {why}.")


def _aborted() -> AwsError:
    return AwsError(ErrorCode.REQUEST_ABORTED, "The connection ended before the request did.")
