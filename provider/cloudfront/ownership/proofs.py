"""What this process has proven of ownership, by owner tags that it read or wrote itself.

Status is written by others too, so that it proves nothing. What stands here nobody can forge: it lasts as
long as the process, and a new process reads a tag before it writes.

    owner tag read ─▶ proven for ten seconds ─▶ read again before the next write
    owner tag set  ─▶ read again after a pause ─▶ proven, or lost to whoever set it last
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, Protocol

from edgetenants_runtime.clock import Clock

__all__ = ["CONFIRM_SECONDS", "PROVEN_SECONDS", "OwnerProofs", "Proof", "Resource"]

PROVEN_SECONDS: Final = 10.0
"""After that long an owner tag is read again before the next write: somebody may have handed the resource
over, and whoever had it would still disable it, or give its domains up and have them elsewhere."""
CONFIRM_SECONDS: Final = 10.0
"""Between setting an owner tag and reading it again: TagResource takes no condition, so that of two providers
that set it at the same time the last one wins, and the other must see that before it writes."""


class Resource(Protocol):
    """An external resource of either kind."""

    @property
    def id(self) -> str:
        """Given by AWS."""
        ...

    @property
    def name(self) -> str:
        """Chosen by whoever made it."""
        ...

    @property
    def arn(self) -> str:
        """Given by AWS."""
        ...


@dataclass(frozen=True)
class Proof:
    """An external resource that had the owner tag of a managed resource."""

    id: str
    name: str
    arn: str
    at: float
    """When that was seen, on the injected clock."""


@dataclass(frozen=True)
class _Claim:
    """An owner tag that is being set."""

    uid: str
    until: float
    """When it is read again, or given up."""


class OwnerProofs:
    """Of one AWS account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._proofs: dict[str, Proof] = {}
        self._holders: dict[str, frozenset[str]] = {}
        """Uids by id: the proofs, the other way round."""
        self._claims: dict[str, _Claim] = {}

    def note(self, uid: str, seen: Resource) -> None:
        """Its owner tag was just read or made, and is that managed resource's."""
        with self._lock:
            self._forget(uid)
            self._holders[seen.id] = self._holders.get(seen.id, frozenset()) | {uid}
            self._proofs[uid] = Proof(seen.id, seen.name, seen.arn, self._clock.now())
            if seen.id in self._claims and self._claims[seen.id].uid == uid:
                del self._claims[seen.id]

    def of(self, uid: str) -> Proof | None:
        """What was last proven to be that managed resource's, however long ago."""
        with self._lock:
            return self._proofs.get(uid)

    def holds(self, uid: str, id_: str) -> bool:
        """It was proven lately enough to write by."""
        proof = self.of(uid)
        return proof is not None and proof.id == id_ and self._clock.now() < proof.at + PROVEN_SECONDS

    def held(self, uid: str, id_: str) -> bool:
        """It was proven at some time, and no other owner was seen since."""
        proof = self.of(uid)
        return proof is not None and proof.id == id_

    def contested(self, uid: str, id_: str) -> bool:
        """Another managed resource was proven to have it, too: both met it at the same moment."""
        with self._lock:
            return bool(self._holders.get(id_, frozenset()) - {uid})

    def keep_only(self, id_: str, uids: frozenset[str]) -> None:
        """Of all managed resources only these are there."""
        with self._lock:
            for uid in self._holders.get(id_, frozenset()) - uids:
                self._forget(uid)

    def drop(self, uid: str) -> None:
        """Another owner was seen, or the managed resource has nothing any more."""
        with self._lock:
            self._forget(uid)
            self._claims = {id_: claim for id_, claim in self._claims.items() if claim.uid != uid}

    def reserve(self, id_: str, uid: str) -> bool:
        """Whether that managed resource may set the owner tag now: one at a time, each for a bounded time."""
        with self._lock:
            now = self._clock.now()
            claim = self._claims.get(id_)
            if claim is not None and claim.uid != uid and now < claim.until:
                return False
            self._claims = {key: kept for key, kept in self._claims.items() if now < kept.until}
            self._claims[id_] = _Claim(uid, now + CONFIRM_SECONDS)
            return True

    def release(self, id_: str, uid: str) -> None:
        """It certainly did not set the owner tag."""
        with self._lock:
            if id_ in self._claims and self._claims[id_].uid == uid:
                del self._claims[id_]

    def unconfirmed(self, uid: str, id_: str) -> float:
        """Seconds until the owner tag that it set may be believed; 0 where it set none lately."""
        with self._lock:
            claim = self._claims.get(id_)
            if claim is None or claim.uid != uid:
                return 0.0
            return max(0.0, claim.until - self._clock.now())

    def _forget(self, uid: str) -> None:
        proof = self._proofs.pop(uid, None)
        if proof is None:
            return
        left = self._holders.get(proof.id, frozenset()) - {uid}
        if left:
            self._holders[proof.id] = left
        else:
            self._holders.pop(proof.id, None)
