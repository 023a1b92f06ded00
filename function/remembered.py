"""The last answer to each claim, which is given again while nothing has changed that an answer is made from.

Crossplane asks for each claim about once a minute, and with each change of the composite or of anything
composed. Most of these calls bring a version, an ETag, or a date. So what no answer is made from is taken out
of a request before anybody reads it; what is left is the question, and one question has one answer.

Kept are the answers of which nothing was told: no event, no refusal, no connection details. Each composite
has one at a time, so an author who edits a claim again and again fills nothing. Where there is no room for
one more, another goes, whichever it happens to be: of claims that are asked for in turn, and are more than
there is room for, the one that was used least recently is always the next.
"""

import hashlib
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function import compose, structs
from function.unreadable import sized

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all answers together. An answer for 100 tenants has 4 kB when it is compressed, and one for ten 1 kB."""
LARGEST: Final = 128 * 1024
"""Bytes of one compressed answer."""
ENTRY: Final = 500
"""Bytes that an entry takes beside its answer."""

_FASTEST: Final = 1
_META: Final = 1
_TAG: Final = 1
"""Numbers of fields in RunFunctionResponse and ResponseMeta."""

_UNREAD_METADATA: Final = ("resourceVersion", "managedFields", "ownerReferences")
_UNREAD_SPEC: Final = ("crossplane", "resourceRefs")
_UNREAD_AT_PROVIDER: Final = ("etag", "parameters")
_READ_STATUS: Final = "conditions"


@dataclass(frozen=True)
class Question:
    """A request without what no answer is made from, and without its tag."""

    asker: str
    """The composite's uid; empty where it has none."""
    digest: bytes


def question(req: fnv1.RunFunctionRequest) -> Question:
    """The question that a request asks. What is no part of it is gone from the request after that, but for
    the tag."""
    composite = req.observed.composite.resource
    _drop(composite, ("metadata",), _UNREAD_METADATA)
    _drop(composite, ("spec",), _UNREAD_SPEC)
    status = structs.child(composite, "status")
    if status is not None:
        _drop(status, (), [key for key in status.fields if key != _READ_STATUS])
    resources = req.observed.resources
    for name in [each for each in resources if not compose.OURS.fullmatch(each)]:
        del resources[name]
    for each in resources.values():
        _drop(each.resource, ("metadata",), _UNREAD_METADATA)
        _drop(each.resource, ("status", "atProvider"), _UNREAD_AT_PROVIDER)
    asker = structs.text(composite, "metadata", "uid")
    if not asker:
        # A report has no composite, and holds all claims: it is asked for once.
        return Question("", b"")
    tag = req.meta.tag
    req.meta.tag = ""
    serialized = req.SerializeToString(deterministic=True)
    req.meta.tag = tag
    return Question(asker, hashlib.sha256(serialized).digest())


def _drop(struct: Struct, path: tuple[str, ...], keys: Iterable[str]) -> None:
    inner = structs.child(struct, *path)
    if inner is None:
        return
    fields = inner.fields
    for key in keys:
        if key in fields:
            del fields[key]


@dataclass(frozen=True)
class _Kept:
    digest: bytes
    meta: bytes
    """Serialized, without the tag."""
    rest: bytes
    """The answer without its meta, serialized and compressed."""

    @property
    def size(self) -> int:
        return len(self.rest) + ENTRY


class Answers:
    """Serialized answers, by composites."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """`most`: bytes of all together."""
        self._most = most
        self._size = 0
        self._kept: dict[str, _Kept] = {}
        # The same askers by place, so that any one can be picked.
        self._askers: list[str] = []
        self._places: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._askers)

    @property
    def size(self) -> int:
        """Bytes that are taken."""
        return self._size

    def find(self, question: Question, tag: str) -> bytes | None:
        """The answer to the question, with this tag; None where it is not known."""
        kept = self._kept.get(question.asker)
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
        with self._lock:
            self._forget(question.asker)
            self._places[question.asker] = len(self._askers)
            self._askers.append(question.asker)
            self._kept[question.asker] = kept
            self._size += kept.size
            while self._size > self._most:
                self._forget(self._askers[int.from_bytes(question.digest) % len(self._askers)])

    def _forget(self, asker: str) -> None:
        place = self._places.pop(asker, None)
        if place is None:
            return
        self._size -= self._kept.pop(asker).size
        last = self._askers.pop()
        if last != asker:
            self._askers[place] = last
            self._places[last] = place
