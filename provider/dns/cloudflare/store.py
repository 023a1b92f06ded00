"""The record store of Cloudflare.

Cloudflare cannot compare and set. `write` reads the names, checks what the change expects, and sends one
batch, which is one transaction there: deletions, then replacements, then new records. All name the ids that
were read, so a record that another program deleted or recreated meanwhile is not touched, and the batch is
refused. A record that another program edits in place between the read and the batch, some hundred
milliseconds, keeps its id: its edit is lost. Then the names are read back. If others added to a record set
that was new, what was written is deleted again, by its ids.

Cloudflare itself refuses a CNAME beside a CNAME, A or AAAA, so of two writers of a domain one is refused.

A CNAME is allowed at the apex, where Cloudflare answers with the target's addresses. No record is proxied.

A change counts as served when it is written: the API does not tell when all name servers have it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from edgetenants_runtime.clock import Clock
from provider.dns.cloudflare.calls import (
    MOST_RECORDS,
    CloudflareCalls,
    CloudflareSettings,
    Connect,
    Row,
    TooManyError,
    connected,
)
from provider.dns.cloudflare.values import APEX, Stored, posts, record_sets
from provider.dns.cloudflare.zone_copy import ZoneCopy
from provider.dns.errors import DnsError, Failure
from provider.dns.expectations import differs_after, differs_before
from provider.dns.rdata import name_of
from provider.dns.records import RecordSet, Zone, longest_match, normal
from provider.dns.refreshing import Refreshing
from provider.dns.store import Change, Found, Written
from provider.dns.throttle import Throttle

__all__ = ["CloudflareStore"]

_SECONDS: Final = 300.0
"""How old a list of zones may be."""
_MOST_COPIES: Final = 500
"""Zones of which copies are kept."""
_TOO_LARGE_SECONDS: Final = 3600.0
"""How long the names of a zone with too many records are read one by one."""
_WRITABLE: Final = "full"
"""The type of the zones that Cloudflare serves. Those of other types get their records, or are served,
elsewhere, or are private."""
_LEFT: Final = "moved"
"""The status of a zone that is not delegated to Cloudflare any more."""


class CloudflareStore:
    """Implements provider.dns.store.RecordStore for one API token. Thread-safe."""

    def __init__(
        self,
        settings: CloudflareSettings,
        clock: Clock,
        connect: Connect = connected,
        *,
        most_copied: int = MOST_RECORDS,
        throttle: Throttle | None = None,
    ) -> None:
        """Connects to nothing yet. `connect` makes the SDK's client. `most_copied`: records in the copies of
        all zones; with 0, each name is read. `throttle`: shared by all stores with the token."""
        self._most_copied = most_copied
        self._calls, self._clock = CloudflareCalls(settings, clock, connect, throttle), clock
        self._wanted = frozenset(map(normal, settings.zones))
        self._zones: Refreshing[tuple[Zone, ...]] = Refreshing(clock, f"{self}: list of zones")
        self._lock = threading.Lock()
        self._copies: dict[str, ZoneCopy] = {}
        self._too_large: dict[str, float] = {}
        """By the zone's id, until when no copy is read."""

    def zone_of(self, domain: str) -> Zone | None:
        """See RecordStore.zone_of."""
        return longest_match(domain.removeprefix("*."), self._zones.get(self._listed, _SECONDS))

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """See RecordStore.read. Without `fresh`, a copy of the zone is used, at most five minutes old."""
        wanted = sorted(set(names))
        try:
            found = {} if fresh else self._copied(zone, wanted)
            return Found({name: found[name] if name in found else self._read(zone, name) for name in wanted})
        except DnsError as error:
            raise self._noted(error) from error

    def write(self, zone: Zone, change: Change) -> Written:
        """Check, make a change in one request, and read it back. See the module for the time between."""
        doing = f"change of {change.domain} in zone {zone.name}"
        self._calls.room(doing, 2 * len(change.names) + 1)
        there = self.read(zone, change.names, fresh=True)
        # What was read differs from a copy that the change was planned by.
        self._copy(zone).wrote(change.names)
        if wrong := differs_before(change, there):
            raise DnsError(Failure.CHANGED, f"{self}: {doing}: {wrong}")
        try:
            batch = _batch(zone, change, there)
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{self}: {doing}: {error}") from error
        try:
            made = self._calls.batch(zone.id, doing, batch)
        except DnsError as error:
            raise self._noted(error) from error
        finally:
            self._copy(zone).wrote(change.names)
        self._confirm(zone, change, made, doing)
        return Written("")

    def is_served(self, zone: Zone, written: Written) -> bool:  # noqa: ARG002
        """Return True. See the module."""
        return True

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        """Return a CNAME that Cloudflare flattens."""
        return (RecordSet(domain, APEX, (target,), ttl, alias=True),)

    def __str__(self) -> str:
        return str(self._calls)

    def _listed(self) -> tuple[Zone, ...]:
        rows = [row for row in self._calls.zones() if row.get("type") == _WRITABLE]
        kept = [row for row in rows if row.get("status") != _LEFT]
        zones = [Zone(str(row.get("id")), normal(str(row.get("name")))) for row in kept]
        return tuple(each for each in zones if not self._wanted or {each.id, each.name} & self._wanted)

    def _read(self, zone: Zone, name: str) -> tuple[RecordSet, ...]:
        try:
            name_of(name)
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{self}: read of {name}: {error}") from error
        return self._parsed(zone, self._calls.records(zone.id, name)).get(name, ())

    def _parsed(self, zone: Zone, rows: Sequence[Row]) -> dict[str, tuple[RecordSet, ...]]:
        try:
            return record_sets(zone, rows)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            words = f"{self}: read of zone {zone.name}: unexpected answer: {error!r}"
            raise DnsError(Failure.LATER, words) from error

    def _confirm(self, zone: Zone, change: Change, made: Mapping[str, Any], doing: str) -> None:
        try:
            wrong = differs_after(change, self.read(zone, change.names, fresh=True))
        except DnsError as error:
            wrong = str(error)
        else:
            if wrong and self._undone(zone, change, made, doing):
                raise DnsError(Failure.CHANGED, f"{self}: {doing}: undone: {wrong}")
        if wrong:
            raise DnsError(Failure.UNCERTAIN, f"{self}: {doing}: accepted, but not confirmed: {wrong}")

    def _undone(self, zone: Zone, change: Change, made: Mapping[str, Any], doing: str) -> bool:
        """Delete what a change made, by the ids, if it replaced nothing; return whether it did."""
        posted = made.get("posts") if isinstance(made, Mapping) else None
        ids = [str(each["id"]) for each in posted or () if isinstance(each, Mapping) and each.get("id")]
        if change.deletes or len(ids) != sum(len(each.values) for each in change.creates):
            return False
        with suppress(DnsError):
            self._calls.batch(zone.id, f"{doing}: undo", {"deletes": [{"id": each} for each in ids]})
            return True
        return False

    def _copied(self, zone: Zone, names: list[str]) -> dict[str, tuple[RecordSet, ...]]:
        """What a copy of the zone has at the names; nothing, if there is none or it lacks something."""
        with self._lock:
            too_large = self._too_large.get(zone.id, float("-inf")) > self._clock.now()
        if not self._most_copied or too_large:
            return {}
        try:
            return self._copy(zone).of(names)
        except TooManyError:
            with self._lock:
                if len(self._too_large) >= _MOST_COPIES:
                    self._too_large.clear()
                self._too_large[zone.id] = self._clock.now() + _TOO_LARGE_SECONDS
            return {}

    def _all_of(self, zone: Zone) -> dict[str, tuple[RecordSet, ...]]:
        with self._lock:
            others = sum(each.size for id_, each in self._copies.items() if id_ != zone.id)
        return self._parsed(zone, self._calls.records(zone.id, most=max(0, self._most_copied - others)))

    def _copy(self, zone: Zone) -> ZoneCopy:
        with self._lock:
            if zone.id not in self._copies and len(self._copies) >= _MOST_COPIES:
                self._copies.clear()
            if zone.id not in self._copies:
                self._copies[zone.id] = ZoneCopy(
                    self._clock,
                    f"{self}: read of zone {zone.name}",
                    lambda: self._all_of(zone),
                )
            return self._copies[zone.id]

    def _noted(self, error: DnsError) -> DnsError:
        if error.failure is Failure.NO_ZONE:
            self._zones.forget()
            with self._lock:
                self._copies.clear()
        return error


def _batch(zone: Zone, change: Change, there: Found) -> dict[str, list[dict[str, Any]]]:
    """The requests of a change. A set that stays has its values replaced, so that no moment is without."""
    gone = {_key(each): _there(each, there) for each in change.deletes}
    batch: dict[str, list[dict[str, Any]]] = {"deletes": [], "puts": [], "posts": []}
    for record in change.creates:
        old = gone.pop(_key(record), None)
        ids = dict(zip(old.values, _ids(old), strict=True)) if old else {}
        rest: list[dict[str, Any]] = []
        for value, body in zip(record.values, posts(zone, record), strict=True):
            if value in ids:
                batch["puts"].append({"id": ids.pop(value), **body})
            else:
                rest.append(body)
        free = list(ids.values())
        batch["puts"] += [{"id": one, **body} for one, body in zip(free, rest, strict=False)]
        batch["deletes"] += [{"id": one} for one in free[len(rest) :]]
        batch["posts"] += rest[len(free) :]
    batch["deletes"] += [{"id": one} for old in gone.values() for one in _ids(old)]
    return batch


def _key(record: RecordSet) -> tuple[str, str, bool]:
    return record.name, record.type, record.alias


def _there(record: RecordSet, there: Found) -> RecordSet:
    """A record set as it was read last."""
    return next(each for each in there.of(record.name) if each.leads_as(record))


def _ids(record: RecordSet) -> tuple[str, ...]:
    assert isinstance(record.as_stored, Stored)  # noqa: S101
    return record.as_stored.ids
