"""The ownership that this process has proven, from owner tags that it read or wrote itself.

Others may write status, so status proves nothing. No one can forge these proofs: they live in memory as long
as the process, and a new process reads a tag before it writes.

    owner tag read ─▶ proven for ten seconds ─▶ read again before the next write
    owner tag set  ─▶ read again after a pause ─▶ proven, or lost to the one that set it last

A managed resource that is being deleted may offer its external resource to a successor: another resource with
the same owner tag. Of the two, only one may delete it:

    offer ─▶ the successor accepts ─▶ the former owner leaves it to the successor
        └──▶ withdrawn before a deletion; fails if it is accepted
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, Protocol

from edgetenants_runtime.clock import Clock

__all__ = ["CONFIRM_SECONDS", "PROVEN_SECONDS", "OwnerProofs", "Proof", "Resource"]

PROVEN_SECONDS: Final = 10.0
"""After this time, the provider reads the owner tag again before the next write. An administrator may have
handed the resource over; its former owner must not disable it or move its domains elsewhere."""
CONFIRM_SECONDS: Final = 10.0
"""The pause between setting an owner tag and reading it again. TagResource has no If-Match: of two providers
that set the tag at the same time, the last one wins, and the other must notice before it writes."""
_LAG_SECONDS: Final = 600.0
"""How long no other managed resource of this process may set the tag. AWS does not say how long its answers
lag behind; as long as they do, each of two would set it again. And a request without an answer may arrive
late."""


class Resource(Protocol):
    """An external resource of either kind."""

    @property
    def id(self) -> str:
        """Assigned by AWS."""
        ...

    @property
    def name(self) -> str:
        """Chosen by its creator."""
        ...

    @property
    def arn(self) -> str:
        """Assigned by AWS."""
        ...


@dataclass(frozen=True)
class Proof:
    """An external resource that had the owner tag of a managed resource."""

    id: str
    name: str
    arn: str
    at: float
    """When the tag was read or written, by the injected clock."""


@dataclass(frozen=True)
class _Claim:
    """An owner tag that is being set."""

    uid: str
    until: float
    """When the tag is read again, or the claim expires."""
    excludes_until: float
    """Until then, no other managed resource may set the tag."""
    made: bool = False
    """The tag was set. Until then, a request may be on its way, even if its managed resource is gone."""


@dataclass(frozen=True)
class _Offer:
    """An external resource that a managed resource leaves to a successor."""

    by: str
    """The uid of the managed resource that is being deleted."""
    to: str = ""
    """The uid of the successor that accepted it; empty if none has."""


class OwnerProofs:
    """The proofs of one AWS account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._proofs: dict[str, Proof] = {}
        self._holders: dict[str, frozenset[str]] = {}
        """The uids for each external id: the inverse of the proofs."""
        self._claims: dict[str, _Claim] = {}
        self._offers: dict[str, _Offer] = {}
        """By external id."""

    def note(self, uid: str, seen: Resource) -> None:
        """Note that its owner tag was just read or created, and names that managed resource."""
        with self._lock:
            self._forget(uid)
            self._holders[seen.id] = self._holders.get(seen.id, frozenset()) | {uid}
            self._proofs[uid] = Proof(seen.id, seen.name, seen.arn, self._clock.now())
            if seen.id in self._claims and self._claims[seen.id].uid == uid:
                del self._claims[seen.id]

    def of(self, uid: str) -> Proof | None:
        """The last proof of that managed resource, of any age."""
        with self._lock:
            return self._proofs.get(uid)

    def holds(self, uid: str, id_: str) -> bool:
        """The proof is recent enough to write."""
        proof = self.of(uid)
        return proof is not None and proof.id == id_ and self._clock.now() < proof.at + PROVEN_SECONDS

    def held(self, uid: str, id_: str) -> bool:
        """It was proven at some time, and no other owner has been observed since."""
        proof = self.of(uid)
        return proof is not None and proof.id == id_

    def contested(self, uid: str, id_: str) -> bool:
        """Another managed resource has a proof too: both found it at the same moment."""
        with self._lock:
            return bool(self._holders.get(id_, frozenset()) - {uid})

    def keep_only(self, id_: str, uids: frozenset[str]) -> None:
        """Drop the proofs of all managed resources except these."""
        with self._lock:
            for uid in self._holders.get(id_, frozenset()) - uids:
                self._forget(uid)

    def drop(self, uid: str) -> None:
        """Drop the proof: another owner was observed, or the managed resource owns nothing any more."""
        with self._lock:
            self._forget(uid)
            self._claims = {id_: claim for id_, claim in self._claims.items() if claim.uid != uid}
            self._offers = {id_: offer for id_, offer in self._offers.items() if offer.by != uid}

    def offer(self, id_: str, uid: str, peers: frozenset[str]) -> None:
        """Offer it to a successor. An earlier offer stands if one of `peers` accepted it."""
        with self._lock:
            if not self._accepted(id_, uid, peers):
                self._offers[id_] = _Offer(uid)

    def withdraw(self, id_: str, uid: str, peers: frozenset[str]) -> bool:
        """Withdraw the offer before a deletion. Returns False if one of `peers` has accepted it."""
        with self._lock:
            if self._accepted(id_, uid, peers):
                return False
            self._offers.pop(id_, None)
            return True

    def accept(self, id_: str, by: str, uid: str) -> bool:
        """Accept the external resource that `by` offers. Returns False if it is not on offer."""
        with self._lock:
            offer = self._offers.get(id_)
            if offer is None or offer.by != by or offer.to not in ("", uid):
                return False
            self._offers[id_] = _Offer(by, uid)
            return True

    def successor(self, id_: str, by: str) -> str:
        """The uid of the managed resource that accepted what `by` offers; empty if none has."""
        with self._lock:
            offer = self._offers.get(id_)
            return offer.to if offer is not None and offer.by == by else ""

    def _accepted(self, id_: str, by: str, peers: frozenset[str]) -> bool:
        offer = self._offers.get(id_)
        return offer is not None and offer.by == by and offer.to in peers

    def reserve(self, id_: str, uid: str) -> bool:
        """Whether that managed resource may set the owner tag now: one at a time, each for ten minutes, or
        until it certainly set none."""
        with self._lock:
            now = self._clock.now()
            claim = self._claims.get(id_)
            if claim is not None and claim.uid != uid and now < claim.excludes_until:
                return False
            self._claims = {key: kept for key, kept in self._claims.items() if now < kept.excludes_until}
            self._claims[id_] = _Claim(uid, now + CONFIRM_SECONDS, now + _LAG_SECONDS)
            return True

    def tagged(self, id_: str, uid: str) -> None:
        """The owner tag was set for that managed resource. Until its answers show that, others wait."""
        with self._lock:
            now = self._clock.now()
            self._claims[id_] = _Claim(uid, now + CONFIRM_SECONDS, now + _LAG_SECONDS, made=True)

    def claimant(self, id_: str) -> str:
        """The uid of the managed resource for which the tag was set; empty if there is none."""
        with self._lock:
            claim = self._claims.get(id_)
            return claim.uid if claim is not None and claim.made else ""

    def release(self, id_: str, uid: str) -> None:
        """Release the reservation, as the owner tag was certainly not set."""
        with self._lock:
            if id_ in self._claims and self._claims[id_].uid == uid:
                del self._claims[id_]

    def unconfirmed(self, uid: str, id_: str) -> float:
        """Seconds until the owner tag that it set is confirmed; 0 if it has not set one recently."""
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
