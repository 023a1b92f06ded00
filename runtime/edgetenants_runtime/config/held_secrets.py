"""Secrets with credentials: read when they change, and protected while they are in use.

A Secret in use carries our mark twice: as a finalizer, so that it outlives its users, and as a label, so that
one watch selects these Secrets only. The watch is metadata-only. The content is read when the version has
changed, and only the requested keys are kept.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Conflict, Forbidden, Invalid, NotFound
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.kube.transform import check_whole
from edgetenants_runtime.managed import ObjectKey, key_of

__all__ = ["HeldSecrets"]

_log = structlog.get_logger("edgetenants_runtime.heldsecrets")

_HELD = "true"


_Wanted = tuple[ObjectKey, tuple[str, ...]]
"""A Secret and the keys that are wanted of it."""


@dataclass(frozen=True)
class _Read:
    values: Mapping[str, str | None]
    version: int
    since: Stopwatch
    told: str
    """Digest of the values that the users of the Secret have."""


class HeldSecrets:
    """The Secrets that carry one mark. Thread-safe."""

    UNWATCHED_SECONDS = 60.0
    """Real seconds for which the content of a Secret that cannot be marked or watched is cached."""
    REFUSED_SECONDS = 600.0
    """Real seconds after which marking a Secret is retried if it was refused, or if the mark was removed each
    time."""
    MARKS = 5
    """How often one Secret is marked in that time."""
    MOST_READ = 1000
    """The number of contents that are cached: a Secret that cannot be marked is deleted unnoticed, and anyone
    may name new ones again and again."""
    LONGEST_READ = 64 * 1024
    """Characters of a content that is cached, in base64; credentials are shorter."""

    def __init__(
        self, client: KubeClient, mark: str, rng: random.Random, *, gate: Callable[[], bool] = lambda: True
    ) -> None:
        """`mark` is `domain/name`: the API server accepts no other finalizers on Secrets. It must be unique
        to this provider: another provider with the same mark would release Secrets that are still in use.
        `gate` returns whether any config kind is served."""
        self._client, self._mark = client, mark
        labels = {mark: _HELD}
        self.informer = Informer(
            client.selecting(labels),
            SECRETS,
            rng,
            metadata_only=True,
            first=(mark,),
            gate=lambda: gate() or len(self.informer.cache) > 0,
            exists=lambda: True,
        )
        self._lock = threading.Lock()
        self._read: OrderedDict[_Wanted, _Read] = OrderedDict()
        """The content that was read last is the last one."""
        self._refused: dict[ObjectKey, Stopwatch] = {}
        self._marks: dict[ObjectKey, tuple[int, Stopwatch]] = {}

    # Content.

    def values(self, key: ObjectKey, names: Sequence[str]) -> Mapping[str, str | None]:
        """The values of the Secret's keys, in base64; None for a key that does not exist. Raises
        KubeError."""
        wanted = (key, tuple(names))
        with self._lock:
            known = self._read.get(wanted)
        if known is None or not self._fresh(key, known):
            known = self._read_anew(wanted, known)
        return known.values

    def forget(self, key: ObjectKey) -> None:
        """Read the Secret again on the next use."""
        with self._lock:
            for known in [known for known in self._read if known[0] == key]:
                del self._read[known]

    def moved(self, key: ObjectKey) -> bool:
        """Read the cached values of the Secret again. True: they differ from the last call, or none are
        cached.

        Raises KubeError.
        """
        with self._lock:
            kept = {wanted: known for wanted, known in self._read.items() if wanted[0] == key}
        try:
            fresh = {wanted: self._read_anew(wanted, known) for wanted, known in kept.items()}
        except NotFound:
            self.forget(key)
            return True
        digests = {wanted: _digest(known.values) for wanted, known in fresh.items()}
        for wanted, known in fresh.items():
            self._keep(wanted, replace(known, told=digests[wanted]))
        return not kept or any(known.told != digests[wanted] for wanted, known in fresh.items())

    def _fresh(self, key: ObjectKey, known: _Read) -> bool:
        held = self.informer.cache.get(key)
        if held is not None and self.informer.synced and not self.informer.problem:
            return known.version >= _version(held)
        return known.since.elapsed() < self.UNWATCHED_SECONDS

    def _read_anew(self, wanted: _Wanted, known: _Read | None) -> _Read:
        key, names = wanted
        stored = self._client.get(SECRETS, key)
        data = stored.get("data") or {}
        values = {name: data.get(name) for name in names}
        read = _Read(values, _version(stored), Stopwatch(), known.told if known else _digest(values))
        self._keep(wanted, read)
        return read

    def _keep(self, wanted: _Wanted, read: _Read) -> None:
        long = sum(map(len, filter(None, read.values.values()))) > self.LONGEST_READ
        with self._lock:
            self._read.pop(wanted, None)
            if not long:
                self._read[wanted] = read
            if len(self._read) > self.MOST_READ:
                self._read.popitem(last=False)

    # Holding.

    @property
    def held(self) -> list[ObjectKey]:
        """All Secrets with the mark."""
        return self.informer.cache.keys()

    def settled(self, key: ObjectKey) -> bool:
        """The Secret is protected, or marking it was refused recently."""
        if self._is_held(self.informer.cache.get(key)):
            return True
        with self._lock:
            refused = self._refused.get(key)
        return refused is not None and self._counts(refused)

    def hold(self, key: ObjectKey) -> None:
        """Put the mark on the Secret. Raises KubeError, except if it is refused: that is logged."""
        if self.settled(key):
            return
        try:
            stored: Mapping[str, Any] = self._client.get(SECRETS, key)
            if not self._is_held(stored):
                stored = self._put_mark(key, stored)
        except NotFound:
            return
        except (Forbidden, Invalid) as error:
            # Invalid: it is being deleted, and accepts no new finalizers.
            self._note_refusal(key, str(error))
            return
        if self._is_held(stored):
            self._take_in(stored)

    def release(self, key: ObjectKey) -> None:
        """Remove the mark from the Secret, and drop its cached values. Raises KubeError."""
        stored = self.informer.cache.get(key)
        self.forget(key)
        if stored is None:
            return
        try:
            try:
                check_whole(SECRETS, stored["metadata"], "finalizers")
                self._client.patch(SECRETS, key, {"metadata": self._unmarked(stored)})
            except (Conflict, Invalid):
                # Other clients may write to it often: read the current version, which the watch may deliver
                # late. The cache has not all of very many finalizers.
                whole = self._client.get(SECRETS, key)
                self._client.patch(SECRETS, key, {"metadata": self._unmarked(whole)})
        except NotFound:
            pass
        self.informer.cache.deleted(stored)

    def on_change(self, handler: Callable[[ObjectKey], None]) -> None:
        """Call the handler for protected Secrets that another client changes, in the informer's thread. Call
        it before the informer starts."""
        self.informer.add_handler(lambda change: handler(change.key) if _is_news(change) else None)

    def _put_mark(self, key: ObjectKey, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        with self._lock:
            count, since = self._marks.get(key, (0, Stopwatch()))
            if not self._counts(since):
                count, since = 0, Stopwatch()
            self._marks = {each: mark for each, mark in self._marks.items() if self._counts(mark[1])}
            self._marks[key] = (count + 1, since)
        if count >= self.MARKS:
            self._note_refusal(key, f"{self._mark} is removed repeatedly")
            return stored
        try:
            return self._client.patch(SECRETS, key, {"metadata": self._marked(stored)})
        except Conflict:
            # Several users started at the same time, and another one was first.
            fresh = self._client.get(SECRETS, key)
            if self._is_held(fresh):
                return fresh
            raise

    def _counts(self, since: Stopwatch) -> bool:
        return since.elapsed() < self.REFUSED_SECONDS

    def _is_held(self, obj: Mapping[str, Any] | None) -> bool:
        metadata = (obj or {}).get("metadata") or {}
        labelled = (metadata.get("labels") or {}).get(self._mark) == _HELD
        return labelled and self._mark in (metadata.get("finalizers") or ())

    def _marked(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        finalizers = [f for f in stored["metadata"].get("finalizers") or () if f != self._mark]
        return self._metadata(stored, [*finalizers, self._mark], _HELD)

    def _unmarked(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        finalizers = [f for f in stored["metadata"].get("finalizers") or () if f != self._mark]
        return self._metadata(stored, finalizers, None)

    def _metadata(
        self, stored: Mapping[str, Any], finalizers: Sequence[str], label: str | None
    ) -> dict[str, Any]:
        # With the version, as finalizers are replaced as a whole: a newly added one must not be lost.
        version = stored["metadata"].get("resourceVersion")
        return {"finalizers": list(finalizers), "labels": {self._mark: label}, "resourceVersion": version}

    def _take_in(self, stored: Mapping[str, Any]) -> None:
        with self._lock:
            self._refused.pop(key_of(stored), None)
        # Never the content.
        self.informer.cache.observed({"metadata": stored["metadata"]})

    def _note_refusal(self, key: ObjectKey, why: str) -> None:
        with self._lock:
            first = key not in self._refused
            self._refused = {each: since for each, since in self._refused.items() if self._counts(since)}
            self._refused[key] = Stopwatch()
        if first:
            _log.warning(
                "cannot protect a Secret with credentials; it can be deleted while in use",
                secret=str(key),
                error=why,
            )


def _is_news(change: ObjectChange) -> bool:
    # All Secrets are listed at the start, before any was read.
    return change.old is not None


def _version(stored: Mapping[str, Any]) -> int:
    version = str(stored["metadata"].get("resourceVersion") or "")
    return int(version) if version.isdigit() else 0


def _digest(values: Mapping[str, str | None]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
