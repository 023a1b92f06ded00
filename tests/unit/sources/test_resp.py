"""What is kept of the replies of Redis."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager

import pytest

from sources.stores.resp import LARGE, Refusal, ReplyError, Wire

SIZE = 2**16


@contextmanager
def sent(data):
    """What a server sends before it closes the connection."""
    here, there = socket.socketpair()

    def send():
        with closing(there):
            there.sendall(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    with closing(Wire(here, size=SIZE)) as wire:
        yield wire
    thread.join(5)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"+OK\r\n", b"OK"),
        (b"-WRONGTYPE a key\r\n", Refusal("WRONGTYPE")),
        (b":12\r\n", 12),
        (b"$3\r\na\r\n\r\n", b"a\r\n"),
        (b"$0\r\n\r\n", b""),
        (b"$-1\r\n", None),
        (b"*-1\r\n", None),
        (b"*0\r\n", []),
        (b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n", [b"0", [b"a"]]),
    ],
)
def test_replies(data, expected):
    with sent(data + b"+END\r\n") as wire:
        assert wire.reply() == expected
        assert wire.reply() == b"END"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"+OK", b"+OK\n", b"$2\r\na", b"$1\r\naxx", b"$1\r\na\n\n", b"?1\r\n", b"\r\n", b"$x\r\n",
        b"*1\r\n*1\r\n*1\r\n+a\r\n", b"+" + b"x" * 2**17 + b"\r\n", b"*2\r\n+a\r\n", b":\xb2\r\n",
        b"%1\r\n", b"$-2\r\n",
    ],
)  # fmt: skip
def test_what_is_no_reply(data):
    with sent(data) as wire, pytest.raises(ReplyError):
        wire.reply()


@pytest.mark.parametrize(
    "data",
    [
        b"$%d\r\n%s\r\n" % (SIZE + 1, bytes(SIZE + 1)),
        b"*%d\r\n" % SIZE + b"*0\r\n" * SIZE,
        b"*%d\r\n" % SIZE + b"*1\r\n+x\r\n" * SIZE,
    ],
)
def test_a_reply_that_is_too_large_is_dropped(data):
    with sent(data + b"+END\r\n") as wire:
        assert wire.reply() is LARGE
        assert wire.reply() == b"END"


@pytest.mark.parametrize(
    "part", [b"$%d\r\n%s\r\n" % (SIZE // 2, bytes(SIZE // 2)), b"*%d\r\n" % 600 + b"+x\r\n" * 600]
)
def test_the_parts_of_a_reply_share_its_size(part):
    with sent(b"*2\r\n" + part + part + b"*1\r\n" + part) as wire:
        first, second = wire.reply()
        assert first is not LARGE
        assert second is LARGE
        # The next reply has all of it again.
        assert wire.reply() == [first]
