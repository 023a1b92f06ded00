"""Why AWS has not renewed a certificate that ends soon (pure).

NotAfter - 60 days   ACM begins, and tries again until the end
PENDING_VALIDATION   ACM does not get proof of control of some names
FAILED               ACM gave up, or the certificate authority refuses a name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Renewal", "known", "late", "shown"]

_STUCK: Final = frozenset({"PENDING_VALIDATION", "FAILED"})
_SUCCESS: Final = "SUCCESS"
_NOT_STARTED: Final = "NOT_STARTED"
_LATE_DAYS: Final = 30
"""ACM renews within days; with less than this left, nothing suggests that it will."""


@dataclass(frozen=True)
class Renewal:
    """ACM's RenewalSummary."""

    status: str
    """ACM's RenewalStatus, or NOT_STARTED."""
    reason: str | None = None
    """ACM's RenewalStatusReason, such as CAA_ERROR."""
    waiting: frozenset[str] = frozenset()
    """The names that ACM has not validated."""


def late(told: Renewal | None, days_left: float | None) -> Renewal | None:
    """The renewal if AWS cannot finish it or is late; None if nothing is wrong yet."""
    if told and told.status in _STUCK:
        return told
    if days_left is None or days_left > _LATE_DAYS:
        return None
    # A success of last year says nothing of this year's renewal.
    return told if told and told.status != _SUCCESS else Renewal(_NOT_STARTED)


def known(stored: Mapping[str, Any] | None) -> Renewal | None:
    """Read it from status.atProvider.certificate."""
    if not stored:
        return None
    waiting = frozenset(stored.get("waitingFor") or ())
    return Renewal(stored.get("status") or "", stored.get("reason"), waiting)


def shown(renewal: Renewal | None) -> dict[str, Any] | None:
    """The renewal for status.atProvider.certificate."""
    if renewal is None:
        return None
    fields = {"status": renewal.status, "reason": renewal.reason, "waitingFor": sorted(renewal.waiting)}
    return {key: value for key, value in fields.items() if value}
