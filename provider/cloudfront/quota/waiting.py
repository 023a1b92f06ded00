"""What the line of creations (line.py) knows of each resource, and the times that are the same for all.

All times are seconds of the injected clock.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.managed import ObjectKey

__all__ = [
    "FIRST",
    "GRACE",
    "LONGEST",
    "LONG_AGO",
    "NOT_YET",
    "Answer",
    "Entry",
    "Try",
    "Waiting",
    "back_off",
    "spread",
]

LONGEST: Final = 600.0
"""Seconds within which each waiting resource tries."""
_SHORTEST: Final = 420.0
"""The back-off of those that are not first, at least."""
FIRST: Final = 60.0
"""Seconds after which the first one tries without a sign of room, and within which a new one tries."""
GRACE: Final = 10.0
"""Seconds within which one comes back after a call that decided nothing, and within which a refusal and an
acceptance go together."""
LONG_AGO: Final = float("-inf")
NOT_YET: Final = float("inf")


@dataclass(frozen=True)
class Waiting:
    """A managed resource whose external resource is to be created."""

    uid: str
    api_version: str
    kind: str
    key: ObjectKey
    namespace: str
    """The namespace that it counts for."""
    created: str
    """metadata.creationTimestamp, which users cannot set."""


@dataclass(frozen=True)
class Answer:
    """What a creation does now."""

    seconds: float = 0.0
    """0: it may be made now. Otherwise it asks again after this time."""
    words: str = ""
    """AWS's message to this resource; "" if AWS has not refused it."""
    used: int | None = None
    """How many the account had when this resource began to wait."""


@dataclass
class Entry:
    """One that waits in the line."""

    who: Waiting
    used: int | None
    tried: float
    """When AWS refused it, or it joined the line."""
    asked: float
    joined: int
    """The number of creations up to a minute before it joined: a namespace without a turn comes after those
    that had theirs before. Those that join at about the same time have the same number."""
    sent: float = LONG_AGO
    """When the call was sent that AWS refused last, if that was after the last sign of room."""
    due: float = LONG_AGO
    """Its own back-off."""
    latest: float = NOT_YET
    """It waits for others until then, once it is due."""
    words: str = ""
    loose_at: float = LONG_AGO
    """When its call was sent although the first one had not just tried."""
    overtaken: int = 0
    """How often AWS accepted another one right after it refused this one."""
    own_until: float = LONG_AGO
    """Until then, AWS is taken to refuse it for its own sake."""
    passed_until: float = LONG_AGO
    """Until then, it is not woken: it did not come, or could not be created."""


@dataclass(frozen=True)
class Try:
    """A creation that may be made now."""

    at: float
    """When it began."""
    signs: int
    """How many signs of room there were before."""


def back_off(uid: str) -> float:
    """Of one that is not the first."""
    return spread(uid, _SHORTEST, LONGEST - FIRST - GRACE)


def spread(uid: str, shortest: float, longest: float) -> float:
    """A fixed time for each resource."""
    return shortest + (longest - shortest) * zlib.crc32(uid.encode()) / 2**32
