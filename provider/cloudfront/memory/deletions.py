"""What the provider disabled before a deletion, in which form AWS accepted that, and which deletions AWS
refused."""

from __future__ import annotations

import threading

from provider.cloudfront.aws.disabling import Said

__all__ = ["AcceptedDisablings", "Disablings", "RefusedDeletions"]


class Disablings:
    """The external resources that this process disabled in order to delete them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._disabled: dict[str, str] = {}

    def note(self, uid: str, id_: str) -> None:
        """Note that this process disables an external resource in order to delete it."""
        with self._lock:
            self._disabled[uid] = id_

    def by_any(self, id_: str) -> bool:
        """Whether this process disabled it for the deletion of a resource, which may be gone by now."""
        with self._lock:
            return id_ in self._disabled.values()

    def by(self, uid: str, id_: str) -> bool:
        """Whether this process disabled it for this resource, or tried to."""
        with self._lock:
            return self._disabled.get(uid) == id_

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._disabled.pop(uid, None)


class AcceptedDisablings:
    """Which fields the last update contained with which AWS accepted disabling each kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[str, Said] = {}

    def of(self, kind: str) -> Said:
        """Return the fields of that update."""
        with self._lock:
            return self._said.get(kind, Said.NOTHING)

    def note(self, kind: str, said: Said | None) -> None:
        """Note that AWS accepted such an update; None if the provider sent none."""
        with self._lock:
            if said is not None:
                self._said[kind] = said


class RefusedDeletions:
    """The versions of external resources that AWS refused to delete, and of which kinds AWS refuses to delete
    what it has not yet rolled out as disabled. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refusals: dict[str, tuple[str, str]] = {}
        self._early: frozenset[str] = frozenset()

    def note_early(self, kind: str) -> None:
        """Note that AWS refused to delete a disabled one of this kind before the roll-out ended."""
        with self._lock:
            self._early |= {kind}

    def come_early(self, kind: str) -> bool:
        """Whether AWS refuses to delete one of this kind before its disabling is rolled out."""
        with self._lock:
            return kind in self._early

    def note(self, uid: str, id_: str, etag: str) -> None:
        """Note that AWS refused to delete this version."""
        with self._lock:
            self._refusals[uid] = (id_, etag)

    def has(self, uid: str, id_: str, etag: str) -> bool:
        """Whether AWS refused to delete this version."""
        with self._lock:
            return self._refusals.get(uid) == (id_, etag)

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._refusals.pop(uid, None)
