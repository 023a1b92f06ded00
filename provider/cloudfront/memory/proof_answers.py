"""What public DNS last said of the proofs of domains, so that the provider does not ask each time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["UNKNOWN", "ProofAnswers", "Standing", "Verdict"]

_MOST: Final = 50_000
_FIRST_PAUSE: Final = 15.0
_LONGEST_PAUSE: Final = 300.0
"""Seconds between looks for a proof that is not there, or while DNS gives no answer."""


class Standing(Enum):
    """Whether a domain is proven for a namespace."""

    UNKNOWN = auto()
    """Public DNS was not asked yet."""
    PROVEN = auto()
    MISSING = auto()
    """The name has no proof for any namespace."""
    WRONG = auto()
    """The name has other proofs, or is an alias."""
    FAILED = auto()
    """DNS gave no answer."""


@dataclass(frozen=True)
class Verdict:
    """What public DNS says of the proof of a domain."""

    standing: Standing = Standing.UNKNOWN
    found: str = ""
    """WRONG: what is there instead. FAILED: why. A few hundred characters of ASCII at most."""
    silent: bool = False
    """FAILED: no server replied in time."""

    @property
    def is_refusal(self) -> bool:
        """DNS has answered, and the proof is not there."""
        return self.standing in (Standing.MISSING, Standing.WRONG)


UNKNOWN: Final = Verdict()


@dataclass(frozen=True)
class _Answer:
    verdict: Verdict
    at: float
    tries: int
    """How often in a row DNS did not prove the domain."""

    @property
    def pause(self) -> float:
        return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self.tries - 1, 10))


class ProofAnswers:
    """The last verdicts, by namespace and domain. Thread-safe. After a restart, the provider asks DNS again.

    If there are too many, the namespace with the most loses the one whose look was the longest ago: no
    namespace makes the provider forget the domains of others.
    """

    def __init__(self, clock: Clock, most: int = _MOST) -> None:
        """`most` is the largest number of domains."""
        self._clock, self._most = clock, most
        self._lock = threading.Lock()
        self._answers: dict[str, OrderedDict[str, _Answer]] = {}
        self._count = 0

    def note(self, namespace: str, domain: str, verdict: Verdict) -> None:
        """Remember what DNS has just said."""
        with self._lock:
            own = self._answers.setdefault(namespace, OrderedDict())
            before = own.pop(domain, None)
            tries = 0 if verdict.standing is Standing.PROVEN else 1 + (before.tries if before else 0)
            own[domain] = _Answer(verdict, self._clock.now(), tries)
            self._count += before is None
            if self._count > self._most:
                self._forget_one()

    def _forget_one(self) -> None:
        largest = max(self._answers, key=lambda each: len(self._answers[each]))
        self._answers[largest].popitem(last=False)
        self._count -= 1
        if not self._answers[largest]:
            del self._answers[largest]

    def of(self, namespace: str, domain: str) -> Verdict:
        """Return the last verdict."""
        found = self._find(namespace, domain)
        return found.verdict if found else UNKNOWN

    def looked_at(self, namespace: str, domain: str) -> float | None:
        """Return when DNS was last asked, on the clock; None if it was not."""
        found = self._find(namespace, domain)
        return found.at if found else None

    def due_in(self, namespace: str, domain: str, longest: float) -> float:
        """Return the seconds until it makes sense to ask DNS again; 0 if it does now.

        Args:
            namespace: of the resource.
            domain: the domain.
            longest: how old a proof may be, in seconds.
        """
        found = self._find(namespace, domain)
        if found is None:
            return 0.0
        lasts = longest if found.verdict.standing is Standing.PROVEN else found.pause
        return max(0.0, found.at + lasts - self._clock.now())

    def _find(self, namespace: str, domain: str) -> _Answer | None:
        with self._lock:
            own = self._answers.get(namespace)
            return own.get(domain) if own else None
