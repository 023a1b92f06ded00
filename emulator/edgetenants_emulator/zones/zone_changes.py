"""Changes of hosted zones on the virtual clock: which are in sync, and what was there before them.

arrives ──▶ answered, PENDING ──▶ route53_change_seconds: the next one for the zone may come
                              ──▶ route53_insync_seconds: INSYNC, the DNS server answers with it
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
    """As in GetChange, without `/change/`."""
    account: str
    zone_id: str
    submitted: float
    comment: str = ""


@dataclass
class ChangeBook:
    """All changes, and by zone the record sets that they replaced (as moto has them)."""

    changes: dict[str, Change] = field(default_factory=dict)
    histories: dict[str, History[Key, Any]] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    """By zone: when its last change of record sets was accepted."""

    def enter(self, account: str, zone_id: str, now: float, comment: str = "") -> Change:
        """A change with an id of its own."""
        change_id = "C" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(20))
        change = self.changes[change_id] = Change(change_id, account, zone_id, now, comment)
        return change

    def history(self, zone_id: str) -> History[Key, Any]:
        """The history of a zone, an empty one at first."""
        return self.histories.setdefault(zone_id, History())

    def forget_zone(self, zone_id: str) -> None:
        """A zone is gone, and what was in it before matters to nobody."""
        self.histories.pop(zone_id, None)
        self.last.pop(zone_id, None)


class ZonesAtWork:
    """Which hosted zones a request is being worked on for: one at a time for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._zones: set[str] = set()

    @contextmanager
    def taken(self, zone_id: str) -> Iterator[None]:
        """Work on a zone. Raises AwsError PriorRequestNotComplete while somebody else does."""
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
    """The error for a zone that is still being worked on (API reference, ChangeResourceRecordSets)."""
    message = "The request was rejected because Route 53 was still processing a prior request."
    return AwsError("PriorRequestNotComplete", message, 400)
