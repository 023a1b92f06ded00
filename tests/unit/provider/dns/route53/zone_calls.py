"""Route 53 in memory, on the protocol ZoneCalls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from provider.dns.route53.calls import ListedZone, RecordPage, ZonePage

ZONE = ListedZone(Zone("Z1", "example.com"), private=False, size=10)


def cname(name: str, target: str = "d1.cloudfront.net") -> RecordSet:
    """A CNAME of a name below example.com."""
    return RecordSet(f"{name}.example.com", "CNAME", (target,), 300)


class FakeZoneCalls:
    """One zone. Counts what is called, and notes two changes in flight at once."""

    def __init__(self, *records: RecordSet) -> None:
        self.lock = threading.Lock()
        self.sets = {(each.name, each.type): each for each in records}
        self.batches: list[int] = []
        self.applied: Counter[str] = Counter()
        self.pages = self.asked_sync = self.in_flight = self.most_in_flight = 0
        self.before_change: Callable[[Sequence[RecordSet]], None] = lambda _: None
        self.after_page: Callable[[], None] = lambda: None
        self.insync = False

    def zones(self, marker: str) -> ZonePage:
        """ListHostedZones."""
        del marker
        return ZonePage((ZONE,), "")

    def zone(self, id_: str) -> ListedZone:
        """GetHostedZone."""
        del id_
        return ZONE

    def records(self, zone: str, start: tuple[str, str, str] | None, size: int) -> RecordPage:
        """ListResourceRecordSets, in the order of names."""
        del zone
        with self.lock:
            self.pages += 1
            rows = [self.sets[key] for key in sorted(self.sets) if key >= (start or ("",))[:2]]
        page = RecordPage(
            tuple(rows[:size]), (rows[size].name, rows[size].type, "") if len(rows) > size else None
        )
        self.after_page()
        return page

    def change(self, zone: str, deletes: Sequence[RecordSet], creates: Sequence[RecordSet]) -> str:
        """ChangeResourceRecordSets."""
        del zone
        with self.lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self.batches.append(len(creates))
        try:
            self.before_change(creates)
            with self.lock:
                self._change(deletes, creates)
                return f"C{len(self.batches)}"
        finally:
            with self.lock:
                self.in_flight -= 1

    def _change(self, deletes: Sequence[RecordSet], creates: Sequence[RecordSet]) -> None:
        after = dict(self.sets)
        for each in deletes:
            if after.pop((each.name, each.type), None) != each:
                raise DnsError(Failure.CHANGED, f"{each.name}: not found")
        for each in creates:
            if (each.name, each.type) in after:
                raise DnsError(Failure.CHANGED, f"{each.name}: already exists")
            after[each.name, each.type] = each
            self.applied[each.name] += 1
        self.sets = after

    def is_insync(self, change: str) -> bool:
        """GetChange."""
        del change
        self.asked_sync += 1
        return self.insync
