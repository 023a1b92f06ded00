"""The record store of Azure DNS.

Azure has no request for two record sets, but each write names the etag of what it replaces, or says that
nothing may be there. So a mark and its records are written one after the other:

    creation    the mark, unfinished ▶ the records ▶ the mark, finished
    correction  the mark, if it changes ▶ deletions ▶ the records
    removal     the records ▶ the mark

Thus no record stands without a mark at any moment, and a change that ended halfway is seen as "ours, but
missing" and goes on. If a record of others appears after the mark, the record's write is refused and the mark
is deleted again. If the process ends between both, the mark is still unfinished, and what was not written by
this provider (it has no stamp in its metadata) is read as a record set that may not be changed.

A mark that stays is read again before the first write. If its owner changes in the milliseconds after, the
write is not refused.

A change counts as served when it is written: the API does not tell when all name servers have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.dns import ownership
from provider.dns.azure.calls import AzureCalls, AzureSettings, Connect, connected
from provider.dns.azure.values import TYPES, Stored, relative, stored
from provider.dns.azure.writer import Writer
from provider.dns.errors import DnsError, Failure
from provider.dns.expectations import differs_before
from provider.dns.records import RecordSet, Zone, is_within, longest_match, normal
from provider.dns.refreshing import Refreshing
from provider.dns.store import Change, Found, Written

__all__ = ["AzureStore"]

_SECONDS: Final = 300.0
"""How old a list of zones may be."""


class AzureStore:
    """Implements provider.dns.store.RecordStore for one resource group. Thread-safe."""

    def __init__(self, settings: AzureSettings, clock: Clock, connect: Connect = connected) -> None:
        """Connects to nothing yet. `connect` makes the SDK's client."""
        self._calls = AzureCalls(settings, clock, connect)
        self._wanted = frozenset(map(normal, settings.zones))
        self._zones: Refreshing[tuple[Zone, ...]] = Refreshing(clock, f"{self}: list of zones")

    def zone_of(self, domain: str) -> Zone | None:
        """See RecordStore.zone_of."""
        return longest_match(domain.removeprefix("*."), self._zones.get(self._listed, _SECONDS))

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:  # noqa: ARG002
        """Return the record sets of these names, always fresh.

        Azure has no request for all types of a name. A CNAME is alone at its name, so it is asked for first.
        At the name of a mark, the types that a mark has or that exclude it are asked for.
        """
        try:
            found = {name: self._read(zone, name) for name in sorted(set(names))}
        except DnsError as error:
            raise self._noted(error) from error
        return Found(_guarded(found))

    def write(self, zone: Zone, change: Change) -> Written:
        """See RecordStore.write, and the module for the order."""
        doing = f"{self}: change of {change.domain} in zone {zone.name}"
        there = self.read(zone, change.names)
        if wrong := differs_before(change, there):
            raise DnsError(Failure.CHANGED, f"{doing}: {wrong}")
        try:
            Writer(self._calls, zone, change, there).write()
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{doing}: {error}") from error
        except DnsError as error:
            raise self._noted(error) from error
        return Written("")

    def is_served(self, zone: Zone, written: Written) -> bool:  # noqa: ARG002
        """Return True. See the module."""
        return True

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:  # noqa: ARG002
        """Refuse: an alias record set of Azure leads to a resource of Azure only."""
        raise DnsError(
            Failure.REFUSED,
            f"domain {domain} is the apex of its zone, and alias records of Azure DNS lead to resources of "
            "Azure only. Use a name below it, such as www, or another DNS service for the zone",
        )

    def __str__(self) -> str:
        return str(self._calls)

    def _listed(self) -> tuple[Zone, ...]:
        names = sorted(set(map(normal, self._calls.zones())))
        return tuple(Zone(each, each) for each in names if not self._wanted or each in self._wanted)

    def _read(self, zone: Zone, name: str) -> tuple[RecordSet, ...]:
        kinds = TYPES if ownership.domain_of_mark(name) is None else ("TXT", "CNAME")
        found: list[RecordSet] = []
        for kind in kinds:
            record = self._record(zone, name, kind)
            found += [record] if record else []
            if record and (kind == "CNAME" or kinds is not TYPES):
                break
        return tuple(sorted(found, key=lambda each: each.type))

    def _record(self, zone: Zone, name: str, kind: str) -> RecordSet | None:
        doing = f"{self}: read of {kind} {name} in zone {zone.name}"
        try:
            at = relative(name, zone.name)
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{doing}: {error}") from error
        answer = self._calls.record(zone.name, at, kind)
        if answer is None:
            return None
        try:
            return stored(name, kind, answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DnsError(Failure.LATER, f"{doing}: unexpected answer: {error!r}") from error

    def _noted(self, error: DnsError) -> DnsError:
        if error.failure is Failure.NO_ZONE:
            self._zones.forget()
        return error


def _guarded(found: Mapping[str, tuple[RecordSet, ...]]) -> Mapping[str, tuple[RecordSet, ...]]:
    """What was found, with the record sets of others under an unfinished mark as ones not to change."""
    unfinished = {
        ownership.domain_of_mark(name) for name, there in found.items() if any(map(_is_unfinished, there))
    }
    domains = tuple(each for each in unfinished if each)
    return {name: _with_guard(name, there, domains) for name, there in found.items()}


def _with_guard(name: str, there: tuple[RecordSet, ...], domains: Iterable[str]) -> tuple[RecordSet, ...]:
    if ownership.domain_of_mark(name) or not any(is_within(name, each) for each in domains):
        return there
    return tuple(each if _about(each).owner else replace(each, routed=True) for each in there)


def _is_unfinished(record: RecordSet) -> bool:
    return _about(record).unfinished


def _about(record: RecordSet) -> Stored:
    assert isinstance(record.as_stored, Stored)  # noqa: S101
    return record.as_stored
