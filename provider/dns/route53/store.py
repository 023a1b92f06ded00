"""The record store of Route 53."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet, Zone
from provider.dns.route53.calls import ListedZone, ZoneCalls
from provider.dns.route53.change_marks import ChangeMarks
from provider.dns.route53.zone_list import ZoneList
from provider.dns.route53.zone_views import ZoneViews
from provider.dns.route53.zone_writer import ZoneWriter
from provider.dns.store import Change, Found, Written

__all__ = ["Route53Store"]


class Route53Store:
    """Implements provider.dns.store.RecordStore for the zones of one provider config."""

    def __init__(self, calls: ZoneCalls, clock: Clock, zones: Sequence[str] | None = None) -> None:
        """`zones` are the ids of the hosted zones to use; None: all public ones of the account."""
        self._zones = ZoneList(calls, clock, zones)
        self._views = ZoneViews(calls, clock)
        self._marks = ChangeMarks(calls, clock)
        self._writer = ZoneWriter(calls, clock, self._accepted)

    def zone_of(self, domain: str) -> Zone | None:
        """See RecordStore.zone_of."""
        listed = self._zones.of(domain.removeprefix("*."))
        return listed.zone if listed else None

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """See RecordStore.read."""
        try:
            return self._views.read(self._listed(zone), names, fresh=fresh)
        except DnsError as error:
            raise self._noted(zone, error) from error

    def write(self, zone: Zone, change: Change) -> Written:
        """See RecordStore.write."""
        (result,) = self.write_together(zone, [change])
        if isinstance(result, DnsError):
            raise result
        return result

    def write_together(self, zone: Zone, changes: Sequence[Change]) -> list[Written | DnsError]:
        """See WritesTogether."""
        results = self._writer.write(zone.id, changes)
        return [self._result(zone, *each) for each in zip(changes, results, strict=True)]

    def _result(self, zone: Zone, change: Change, result: str | DnsError) -> Written | DnsError:
        if isinstance(result, str):
            return Written(result)
        # After a lost answer, the records may have changed, too, and a refusal may have that cause.
        if result.failure in (Failure.CHANGED, Failure.UNCERTAIN, Failure.REFUSED):
            self._views.forget(zone.id, change.names)
        if result.failure is Failure.UNCERTAIN:
            result.ticket = self._marks.lost()
        return self._noted(zone, result)

    def marked(self, owner: Owner) -> frozenset[str]:
        """See KnowsMarks."""
        return self._views.marked(owner)

    def is_deleted(self, domain: str) -> bool:
        """See DeletesEmptyZones. Only a zone that was found before: another account does not have it either,
        nor does a provider config that names other zones, and its records may still be there."""
        return self._zones.had(domain)

    def is_served(self, zone: Zone, written: Written) -> bool:
        """See RecordStore.is_served."""
        del zone
        return not written.ticket or self._marks.is_served(written.ticket)

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        """An alias of each address type. That of IPv6 answers nothing while the target has no IPv6."""
        del ttl
        return tuple(RecordSet(domain, type_, (target,), alias=True) for type_ in ("A", "AAAA"))

    def _listed(self, zone: Zone) -> ListedZone:
        found = self._zones.of(zone.name)
        if found is None or found.zone != zone:
            raise DnsError(Failure.NO_ZONE, f"hosted zone {zone.id} ({zone.name}) does not exist any more")
        return found

    def _noted(self, zone: Zone, error: DnsError) -> DnsError:
        if error.failure is Failure.NO_ZONE:
            self._zones.forget(zone.id)
            self._views.drop(zone.id)
        return error

    def _accepted(self, zone: str, change: Change, ticket: str) -> None:
        self._views.wrote(zone, change)
        self._marks.made(ticket)
