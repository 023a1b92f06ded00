"""What is kept between calls: the last answer to each claim, and the plans as they were read. Both are kept
by value, and within bounds of bytes.

Crossplane asks for each claim about once a minute, and with each change of the composite or of anything
composed. Most of these calls bring a version, an ETag, or a date. So what no answer is made from is taken out
of a request before anybody reads it (questions.py); what is left is the question, and one question has one
answer. It is given again while the question is the same.

Kept are the answers of which nothing was told: no event, no refusal, no connection details. Each composite
has one at a time, so an author who edits a claim again and again fills nothing.
"""

import random
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Generic, TypeVar

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.wire import sized

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all answers together. An answer for 100 tenants has 4 kB when it is compressed, and one for ten 1 kB."""
LARGEST: Final = 128 * 1024
"""Bytes of one compressed answer."""
ENTRY: Final = 500
"""Bytes that an entry takes beside its value."""

_FASTEST: Final = 1
_META: Final = 1
_TAG: Final = 1
"""Numbers of fields in RunFunctionResponse and ResponseMeta."""

Value = TypeVar("Value")


class Room(Generic[Value]):
    """Values by keys, in so many bytes.

    Where there is no room for one more, another goes, whichever it happens to be: of claims that are asked
    for in turn, and are more than there is room for, the one that was used least recently is always the next.
    """

    def __init__(self, most: int) -> None:
        """`most`: bytes of all together."""
        self._most = most
        self._size = 0
        self._kept: dict[str | bytes, tuple[Value, int]] = {}
        # The same keys by place, so that any one can be picked.
        self._keys: list[str | bytes] = []
        self._places: dict[str | bytes, int] = {}
        self._lock = threading.Lock()
        self._any = random.Random(0)  # noqa: S311  # no secret

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def size(self) -> int:
        """Bytes that are taken."""
        return self._size

    def get(self, key: str | bytes) -> Value | None:
        """The value; None where it is not kept."""
        kept = self._kept.get(key)
        return kept[0] if kept is not None else None

    def put(self, key: str | bytes, value: Value, size: int) -> None:
        """Keep a value instead of the key's last one; `size`: its bytes."""
        with self._lock:
            self._forget(key)
            self._places[key] = len(self._keys)
            self._keys.append(key)
            self._kept[key] = (value, size + ENTRY)
            self._size += size + ENTRY
            while self._size > self._most:
                self._forget(self._any.choice(self._keys))

    def _forget(self, key: str | bytes) -> None:
        place = self._places.pop(key, None)
        if place is None:
            return
        self._size -= self._kept.pop(key)[1]
        last = self._keys.pop()
        if last != key:
            self._keys[place] = last
            self._places[last] = place


@dataclass(frozen=True)
class Question:
    """A request without what no answer is made from, and without its tag."""

    asker: str
    """The composite's uid; empty where it has none."""
    digest: bytes


@dataclass(frozen=True)
class _Kept:
    digest: bytes
    meta: bytes
    """Serialized, without the tag."""
    rest: bytes
    """The answer without its meta, serialized and compressed."""


class Answers:
    """Serialized answers, by composites."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """`most`: bytes of all together."""
        self._room: Room[_Kept] = Room(most)

    def __len__(self) -> int:
        return len(self._room)

    @property
    def size(self) -> int:
        """Bytes that are taken."""
        return self._room.size

    def find(self, question: Question, tag: str) -> bytes | None:
        """The answer to the question, with this tag; None where it is not known."""
        kept = self._room.get(question.asker)
        if kept is None or kept.digest != question.digest:
            return None
        tagged = sized(_TAG, tag.encode()) if tag else b""
        return sized(_META, tagged + kept.meta) + zlib.decompress(kept.rest)

    def keep(self, question: Question, rsp: fnv1.RunFunctionResponse, serialized: bytes) -> None:
        """Keep an answer in the place of the composite's last one.

        Args:
            question: what it answers.
            rsp: the answer.
            serialized: the same, deterministically; so its fields are in order, and meta is the first.
        """
        meta = fnv1.ResponseMeta(ttl=rsp.meta.ttl).SerializeToString(deterministic=True)
        rest = serialized[len(sized(_META, rsp.meta.SerializeToString(deterministic=True))) :]
        kept = _Kept(question.digest, meta, zlib.compress(rest, _FASTEST))
        if not question.asker or len(kept.rest) > LARGEST:
            return
        self._room.put(question.asker, kept, len(kept.rest))


MOST_OF_PLANS: Final = 16 * 1024 * 1024
"""Bytes of all parsed plans together: some 4,000 plans of 300 bytes each."""
GROWTH: Final = 12
"""How many bytes a parsed plan takes for each that it has serialized, at most (measured)."""


class Parsed(Generic[Value]):
    """What was read from bytes, by the bytes. Values that may not change: all who ask get the same one."""

    def __init__(self, most: int = MOST_OF_PLANS) -> None:
        """`most`: bytes of all together; one has at most half of them."""
        self._room: Room[Value] = Room(most)
        self._largest = most // 2

    def __len__(self) -> int:
        return len(self._room)

    def get(self, parts: tuple[bytes, ...], read: Callable[[], Value]) -> Value:
        """The value that `read` makes of the parts, from memory where it has been made of them before.

        Raises:
            Exception: whatever `read` raises; that is not kept.
        """
        key = b"".join(sha256(part).digest() for part in parts)
        known = self._room.get(key)
        if known is not None:
            return known
        value = read()
        size = GROWTH * sum(map(len, parts))
        if size <= self._largest:
            self._room.put(key, value, size)
        return value
