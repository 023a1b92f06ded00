"""The protocol of Redis and Valkey (RESP2), as far as a reader needs it, with bounds on what a server sends.

A client library holds whatever length a server names. Here a reply keeps at most some bytes; what is
beyond is read and dropped, so that the next reply can be read.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["LARGE", "Large", "Refusal", "Reply", "ReplyError", "Wire"]

_LINE: Final = 2**16
_DEEPEST: Final = 2
"""Levels of lists: a page of SCAN is a list with a list."""
_CHUNK: Final = 2**16
_PER_PART: Final = 64
_CODE: Final = 32


@dataclass(frozen=True)
class Large:
    """Stands for a reply, or a part of one, that is beyond the bounds."""


LARGE: Final = Large()


@dataclass(frozen=True)
class Refusal:
    """The server refuses a command."""

    code: str
    """The first word of its text, which begins errors of a kind. The rest may quote names."""


Reply = bytes | int | None | Refusal | Large | list["Reply"]


class ReplyError(Exception):
    """The connection ended, or the server does not speak the protocol."""


class Wire:
    """A connection. Not safe for several threads."""

    def __init__(self, connection: socket.socket, *, size: int) -> None:
        """`size`: bytes that are kept of a reply, where each part of a list counts for 64 more."""
        self._connection, self._size = connection, size
        self._file = connection.makefile("rb")
        self._left = 0

    def send(self, commands: Sequence[Sequence[bytes]]) -> None:
        """Send commands. Each has one reply, in their order."""
        parts: list[bytes] = []
        for words in commands:
            parts.append(b"*%d\r\n" % len(words))
            parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
        self._connection.sendall(b"".join(parts))

    def reply(self) -> Reply:
        """The next reply. Raises ReplyError or OSError."""
        self._left = self._size
        return self._read(_DEEPEST, keep=True)

    def ask(self, *words: bytes) -> Reply:
        """Send one command, and return its reply."""
        self.send([words])
        return self.reply()

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._connection.close()

    def _read(self, depth: int, *, keep: bool) -> Reply:
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest if self._fits(len(rest), keep=keep) else LARGE
        if kind == b"-":
            return Refusal(rest[:_CODE].partition(b" ")[0].decode(errors="replace"))
        number = _number(rest)
        if kind == b":":
            return number
        if kind == b"$":
            return self._bulk(number, keep=keep)
        if kind == b"*" and depth:
            return self._list(number, depth - 1, keep=keep)
        raise ReplyError

    def _line(self) -> bytes:
        line = self._file.readline(_LINE)
        if not line.endswith(b"\r\n"):
            raise ReplyError
        return line[:-2]

    def _bulk(self, length: int, *, keep: bool) -> Reply:
        if length == -1:
            return None
        if self._fits(length, keep=keep):
            found: Reply = self._exactly(length)
        else:
            self._drop(length)
            found = LARGE
        if self._exactly(2) != b"\r\n":
            raise ReplyError
        return found

    def _list(self, length: int, depth: int, *, keep: bool) -> Reply:
        if length == -1:
            return None
        kept = keep and length * _PER_PART <= self._left
        if not kept:
            for _ in range(length):
                self._read(depth, keep=False)
            return LARGE
        self._left -= length * _PER_PART
        return [self._read(depth, keep=True) for _ in range(length)]

    def _fits(self, length: int, *, keep: bool) -> bool:
        kept = keep and length <= self._left
        self._left -= length if kept else 0
        return kept

    def _exactly(self, length: int) -> bytes:
        found = self._file.read(length)
        if len(found) < length:
            raise ReplyError
        return found

    def _drop(self, length: int) -> None:
        while length:
            length -= len(self._exactly(min(length, _CHUNK)))


def _number(digits: bytes) -> int:
    if not re.fullmatch(rb"-1|[0-9]{1,19}", digits):
        raise ReplyError
    return int(digits)
