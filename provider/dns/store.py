"""The protocol of a DNS service that the provider writes to. Each service has its own module.

A change belongs to one domain and is made as a whole or not at all. It says what the records are now, and a
service that can compare and set refuses it if that is no longer true: Route 53 by a DELETE of the exact
values and a CREATE in one batch, RFC 2136 by prerequisites. Where a service cannot, its module reads, checks,
writes and reads back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet, Zone

__all__ = [
    "Change",
    "DeletesEmptyZones",
    "Found",
    "KnowsMarks",
    "RecordStore",
    "Remembers",
    "WritesTogether",
    "Written",
    "is_deleted",
    "marked",
    "no_alias",
    "remembers",
    "write_all",
]


@dataclass(frozen=True)
class Found:
    """What a zone has at some names."""

    at: Mapping[str, tuple[RecordSet, ...]]
    """By name, for all names that were asked for: all record sets of the name, of any type."""

    def of(self, name: str) -> tuple[RecordSet, ...]:
        """Return the record sets of a name that was asked for."""
        return self.at.get(name, ())


@dataclass(frozen=True)
class Change:
    """A change of the records of one domain."""

    domain: str
    deletes: tuple[RecordSet, ...] = ()
    """As they were read."""
    creates: tuple[RecordSet, ...] = ()
    """No record set of their name and type may exist, other than one of `deletes`."""
    keeps: tuple[RecordSet, ...] = ()
    """They must still be as they were read. The change does not touch them."""

    @property
    def names(self) -> frozenset[str]:
        """The names whose records it changes or depends on."""
        return frozenset(each.name for each in (*self.deletes, *self.creates, *self.keeps))


@dataclass(frozen=True)
class Written:
    """An accepted change."""

    ticket: str
    """Identifies it for `RecordStore.is_served`; "" if it is served at once."""


class RecordStore(Protocol):
    """One DNS service, with the credentials and zones of one provider config. Thread-safe.

    For any failure of the service, every method raises DnsError.
    """

    def zone_of(self, domain: str) -> Zone | None:
        """Return the zone whose name is the longest match for the domain; None if the service says that it
        has none that the provider may write to.

        Raises:
            DnsError: also if the service does not say whether it has one.
        """
        ...

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """Return all record sets of these names. `fresh`: nothing that was read before this call counts.

        Without `fresh`, the answer may be some minutes old. That is safe, as a change says what it expects.
        """
        ...

    def write(self, zone: Zone, change: Change) -> Written:
        """Make a change, if the records are as it expects.

        Raises:
            DnsError: with CHANGED if they are not.
        """
        ...

    def is_served(self, zone: Zone, written: Written) -> bool:
        """Whether all name servers of the zone answer with a change."""
        ...

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        """Return the record sets that lead the apex of a zone to a target, where DNS allows no CNAME.

        Raises:
            DnsError: with REFUSED if the service has no records for that.
        """
        ...


@runtime_checkable
class WritesTogether(Protocol):
    """An optional method for a store whose service takes the changes of several domains in one request."""

    def write_together(self, zone: Zone, changes: Sequence[Change]) -> list[Written | DnsError]:
        """Make the changes, each as `RecordStore.write` does; one that fails stops no other. Return what
        became of each."""
        ...


@runtime_checkable
class KnowsMarks(Protocol):
    """An optional method for a store that sees the records of whole zones."""

    def marked(self, owner: Owner) -> frozenset[str]:
        """Return the domains whose ownership record names this resource, as far as is known without a
        request. Others may exist, and one of these may have another owner by now."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """An optional method for a store whose answers may be some minutes old, and that reads a few names again
    at little cost."""

    def read_again(self, zone: Zone, names: Iterable[str]) -> Found:
        """As `RecordStore.read` with `fresh`."""
        ...


@runtime_checkable
class DeletesEmptyZones(Protocol):
    """An optional method for a store whose service deletes a zone only after its records."""

    def is_deleted(self, domain: str) -> bool:
        """Whether, as `zone_of` returned None for the domain, no zone of it is left with records in it."""
        ...


def no_alias(domain: str) -> DnsError:
    """Return the error for an apex, where the service has no records for that."""
    return DnsError(
        Failure.REFUSED,
        f"domain {domain}: this DNS service has no alias at the apex of a zone, where DNS allows no CNAME "
        "(RFC 1034, section 3.6.2). Use a name below it, such as www, or a DNS service with alias records "
        "for the zone",
    )


def marked(store: object, owner: Owner) -> frozenset[str]:
    """Return what a store knows of the domains of a resource; see KnowsMarks."""
    return store.marked(owner) if isinstance(store, KnowsMarks) else frozenset()


def remembers(store: object) -> bool:
    """Whether a store's answers may be old, and cost little to be read again; see Remembers."""
    return isinstance(store, Remembers)


def is_deleted(store: object, domain: str) -> bool:
    """Whether a zone that is not found has no records any more; see DeletesEmptyZones."""
    return isinstance(store, DeletesEmptyZones) and store.is_deleted(domain)


def write_all(store: RecordStore, zone: Zone, changes: Sequence[Change]) -> list[Written | DnsError]:
    """Make the changes of several domains of a zone; return what became of each."""
    if isinstance(store, WritesTogether):
        return store.write_together(zone, changes)
    return [_written(store, zone, each) for each in changes]


def _written(store: RecordStore, zone: Zone, change: Change) -> Written | DnsError:
    try:
        return store.write(zone, change)
    except DnsError as error:
        return error
