"""Caches that live between calls: the last response for each claim, and the parsed plans. Both are keyed by
content and bounded in bytes.

Crossplane calls the function for each claim about once a minute, and at each change of the composite or a
composed resource. In most of these calls only a version, an ETag or a date has changed. So
serving/questions.py removes everything from a request that cannot affect the response. The rest is the
question, and equal questions have equal responses: the function sends the cached response again while the
question is the same.

The cache keeps only responses without events, refusals and connection details. It keeps one per composite, so
an author who edits a claim repeatedly does not fill it.
"""

import random
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Generic, TypeVar

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.protocol.wire import sized

MOST_BYTES: Final = 16 * 1024 * 1024
"""Limit for all responses together. A compressed response has 4 kB for 100 tenants and 1 kB for ten; one for
a single tenant has 1 kB without compression."""
SMALL: Final = 2048
"""Bytes of a response that is not compressed. It would save a third of them, for a twentieth of a call's
time."""
LARGEST: Final = 128 * 1024
"""Bytes of one compressed response."""
ENTRY: Final = 500
"""Bytes that an entry takes in addition to its value."""

_FASTEST: Final = 1
_META: Final = 1
_TAG: Final = 1
"""Numbers of fields in RunFunctionResponse and ResponseMeta."""

Value = TypeVar("Value")


class Room(Generic[Value]):
    """A map with a limit in bytes.

    If there is no room for a new entry, it evicts a random one. Evicting the least recently used one would be
    worse: Crossplane asks for claims in turn, so if they do not all fit, that one is always needed next.
    """

    def __init__(self, most: int) -> None:
        """`most`: bytes of all entries together."""
        self._most = most
        self._size = 0
        self._kept: dict[str | bytes, tuple[Value, int]] = {}
        # The same keys by index, to pick a random one.
        self._keys: list[str | bytes] = []
        self._places: dict[str | bytes, int] = {}
        self._lock = threading.Lock()
        self._any = random.Random(0)  # noqa: S311  # no secret

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def size(self) -> int:
        """Bytes in use."""
        return self._size

    def get(self, key: str | bytes) -> Value | None:
        """The value; None if it is not in the map."""
        kept = self._kept.get(key)
        return kept[0] if kept is not None else None

    def put(self, key: str | bytes, value: Value, size: int) -> None:
        """Set the value of a key; `size`: its bytes."""
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
    """The parts of a request that determine the response, without its tag."""

    asker: str
    """The composite's uid; empty if it has none."""
    digest: bytes


@dataclass(frozen=True)
class _Kept:
    digest: bytes
    meta: bytes
    """Serialized, without the tag."""
    rest: bytes
    """The response without its meta, serialized."""
    compressed: bool


class Answers:
    """Serialized responses, by composite."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """`most`: bytes of all responses together."""
        self._room: Room[_Kept] = Room(most)

    def __len__(self) -> int:
        return len(self._room)

    @property
    def size(self) -> int:
        """Bytes in use."""
        return self._room.size

    def find(self, question: Question, tag: str) -> bytes | None:
        """The response to the question, with this tag; None if it is not cached."""
        kept = self._room.get(question.asker)
        if kept is None or kept.digest != question.digest:
            return None
        tagged = sized(_TAG, tag.encode()) if tag else b""
        rest = zlib.decompress(kept.rest) if kept.compressed else kept.rest
        return sized(_META, tagged + kept.meta) + rest

    def keep(self, question: Question, rsp: fnv1.RunFunctionResponse, serialized: bytes) -> None:
        """Cache a response instead of the composite's last one.

        Args:
            question: the question that it answers.
            rsp: the response.
            serialized: the response, serialized deterministically, so that meta is the first field.
        """
        meta = fnv1.ResponseMeta(ttl=rsp.meta.ttl).SerializeToString(deterministic=True)
        rest = serialized[len(sized(_META, rsp.meta.SerializeToString(deterministic=True))) :]
        compressed = len(rest) > SMALL
        kept = _Kept(question.digest, meta, zlib.compress(rest, _FASTEST) if compressed else rest, compressed)
        if not question.asker or len(kept.rest) > LARGEST:
            return
        self._room.put(question.asker, kept, len(kept.rest))


MOST_OF_PLANS: Final = 16 * 1024 * 1024
"""Bytes of all parsed plans together: about 4,000 plans of 300 bytes each."""
GROWTH: Final = 12
"""The most bytes that a parsed plan takes per serialized byte (measured)."""


class Parsed(Generic[Value]):
    """Parsed values, by the bytes from which they were parsed. They must be immutable: all callers get the
    same one."""

    def __init__(self, most: int = MOST_OF_PLANS) -> None:
        """`most`: bytes of all values together; one value takes at most half of them."""
        self._room: Room[Value] = Room(most)
        self._largest = most // 2

    def __len__(self) -> int:
        return len(self._room)

    def get(self, parts: tuple[bytes, ...], read: Callable[[], Value]) -> Value:
        """The value that `read` parses from the parts; the cached one if it parsed them before.

        Raises:
            Exception: any exception that `read` raises; it is not cached.
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
