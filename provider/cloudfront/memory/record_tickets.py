"""Accepted changes of DNS records that not all name servers answer with yet, and what CloudFront said of
domains since."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from apis.dns import RecordState
from provider.dns.records import Zone
from provider.dns.store import Written

__all__ = ["RecordTickets"]

_MOST: Final = 50_000


class RecordTickets:
    """The changes of one provider config, by resource and domain. Thread-safe. After a restart, all changes
    count as served, as a service takes about a minute, and CloudFront's doubts come back with its next
    check."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, str], tuple[Zone, Written]] = OrderedDict()
        self._doubts: OrderedDict[tuple[str, str], RecordState] = OrderedDict()
        self._gone: OrderedDict[tuple[str, str], None] = OrderedDict()

    def note(self, uid: str, domain: str, zone: Zone, written: Written) -> None:
        """A change of a domain's records was accepted."""
        with self._lock:
            self._gone.pop((uid, domain), None)
            self._open[uid, domain] = (zone, written)
            self._open.move_to_end((uid, domain))
            while len(self._open) > _MOST:
                self._open.popitem(last=False)

    def of(self, uid: str, domain: str) -> tuple[Zone, Written] | None:
        """Return the last change that is not known to be served; None if there is none."""
        with self._lock:
            return self._open.get((uid, domain))

    def served(self, uid: str, domain: str) -> None:
        """All name servers answer with the change."""
        with self._lock:
            self._open.pop((uid, domain), None)

    def gone(self, uid: str, domain: str) -> None:
        """This process removed a domain's records, or has just read that there are none."""
        with self._lock:
            self._gone[uid, domain] = None
            while len(self._gone) > _MOST:
                self._gone.popitem(last=False)

    def wanted(self, uid: str, domain: str) -> None:
        """The domain is to have records: those of another process may come."""
        with self._lock:
            self._gone.pop((uid, domain), None)

    def is_gone(self, uid: str, domain: str) -> bool:
        """Whether `gone` was called since the domain was wanted or changed last."""
        with self._lock:
            return (uid, domain) in self._gone

    def doubt(self, uid: str, domain: str, state: RecordState) -> None:
        """CloudFront does not see a domain's records, although its zone has them."""
        with self._lock:
            self._doubts[uid, domain] = state
            while len(self._doubts) > _MOST:
                self._doubts.popitem(last=False)

    def trust(self, uid: str, domain: str) -> None:
        """CloudFront sees them."""
        with self._lock:
            self._doubts.pop((uid, domain), None)

    def doubted(self, uid: str, domain: str) -> RecordState | None:
        """Return as what CloudFront sees a domain's records, if not as its zone has them."""
        with self._lock:
            return self._doubts.get((uid, domain))
