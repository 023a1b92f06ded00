"""Reads the body of an HTTP request. Its size is checked first; the body is read completely or refused.

The errors are from AWS's common errors: MalformedHttpRequestException, RequestAbortedException,
RequestEntityTooLargeException, RequestTimeoutException (raised by the caller).
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
"""Maximum bytes of a line between chunks: a length with extensions, or a trailer."""
_DIGITS = 18
"""Maximum digits of a length. More digits exceed every limit and are slow to parse."""


def read_body(headers: Message, stream: BufferedIOBase, limit: int, go_on: Callable[[], None]) -> bytes:
    """Read the body for these headers. `go_on` tells the client to send it, after the headers are checked.

    Raises AwsError for a body that is malformed, too short or longer than `limit` bytes; the position of the
    stream is then undefined.
    """
    lengths, codings = headers.get_all("Content-Length", []), headers.get_all("Transfer-Encoding", [])
    if codings:
        # Two lengths may differ, so that another server would read a part of the body as a request.
        if lengths or [each.strip().lower() for each in codings] != ["chunked"]:
            raise _malformed("Transfer-Encoding must be only chunked, without Content-Length")
        go_on()
        return _chunks(stream, limit)
    if not lengths:
        return b""
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _malformed(f"Content-Length must be a number of bytes, not {', '.join(lengths)[:80]!r}")
    size = _checked(lengths[0], 10, 0, limit)
    go_on()
    return _exactly(stream, size)


def _chunks(stream: BufferedIOBase, limit: int) -> bytes:
    body = bytearray()
    while True:
        match = _CHUNK.fullmatch(_line(stream))
        if not match:
            raise _malformed("a chunk must begin with its length in hexadecimal digits")
        size = _checked(match[1].decode(), 16, len(body), limit)
        if size == 0:
            break
        body += _exactly(stream, size)
        if _line(stream).strip():
            raise _malformed("a chunk is longer than its length")
    while _line(stream).strip():
        pass
    return bytes(body)


def _checked(digits: str, base: int, before: int, limit: int) -> int:
    """The number of further bytes. Raises AwsError if there are too many."""
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
        # The client closed the connection, or the line is too long.
        raise _malformed("a line between chunks is too long") if len(line) == _LONGEST_LINE else _aborted()
    return line


def _malformed(why: str) -> AwsError:
    return AwsError(ErrorCode.MALFORMED_HTTP_REQUEST, f"The request cannot be read: {why}.")


def _aborted() -> AwsError:
    return AwsError(ErrorCode.REQUEST_ABORTED, "The connection ended before the request did.")
