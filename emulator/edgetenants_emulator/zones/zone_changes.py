"""Changes of hosted zones on the virtual clock: their status, and the record sets before them.

arrives ──▶ response, PENDING ──▶ route53_change_seconds: the zone accepts the next change
                              ──▶ route53_insync_seconds: INSYNC, the DNS server serves it
                              ──▶ dns_propagation_seconds: CloudFront and ACM see it
"""

from __future__ import annotations

import secrets
import string
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.zones.change_batches import Key
from edgetenants_emulator.zones.late_views import History

__all__ = ["Change", "ChangeBook", "ZonesAtWork"]

_ID_CHARACTERS = string.ascii_uppercase + string.digits


@dataclass(frozen=True)
class Change:
    """One accepted request. Times are virtual seconds."""

    id: str
    """The id of GetChange, without `/change/`."""
    account: str
    zone_id: str
    submitted: float
    comment: str = ""


@dataclass
class ChangeBook:
    """All changes, and by zone the replaced record sets (moto's objects)."""

    changes: dict[str, Change] = field(default_factory=dict)
    histories: dict[str, History[Key, Any]] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    """The time of the last accepted change of record sets, by zone."""

    def enter(self, account: str, zone_id: str, now: float, comment: str = "") -> Change:
        """Record a new change with its own id."""
        change_id = "C" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(20))
        change = self.changes[change_id] = Change(change_id, account, zone_id, now, comment)
        return change

    def history(self, zone_id: str) -> History[Key, Any]:
        """The history of a zone; empty at first."""
        return self.histories.setdefault(zone_id, History())

    def forget_zone(self, zone_id: str) -> None:
        """Drop the history of a deleted zone."""
        self.histories.pop(zone_id, None)
        self.last.pop(zone_id, None)


class ZonesAtWork:
    """The hosted zones with a running request, at most one per zone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._zones: set[str] = set()

    @contextmanager
    def taken(self, zone_id: str) -> Iterator[None]:
        """Lock a zone. Raises AwsError PriorRequestNotComplete if another request is running."""
        with self._lock:
            if zone_id in self._zones:
                raise prior_request_not_complete()
            self._zones.add(zone_id)
        try:
            yield
        finally:
            with self._lock:
                self._zones.discard(zone_id)


def prior_request_not_complete() -> AwsError:
    """The error for a zone with a running request (API reference, ChangeResourceRecordSets)."""
    message = "The request was rejected because Route 53 was still processing a prior request."
    return AwsError("PriorRequestNotComplete", message, 400)
