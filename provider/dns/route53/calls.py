"""The requests to Route 53 that the store makes, on plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from provider.dns.records import RecordSet, Zone

__all__ = ["ListedZone", "RecordPage", "ZoneCalls", "ZonePage"]


@dataclass(frozen=True)
class ListedZone:
    """A hosted zone as Route 53 lists it."""

    zone: Zone
    private: bool
    """Only VPCs see it."""
    size: int
    """The number of its record sets."""


@dataclass(frozen=True)
class ZonePage:
    """A page of hosted zones."""

    zones: tuple[ListedZone, ...]
    marker: str
    """The marker of the next page; "" if this is the last one."""


@dataclass(frozen=True)
class RecordPage:
    """A page of a zone's record sets, in Route 53's order: by the labels of the name from the last one on."""

    records: tuple[RecordSet, ...]
    next: tuple[str, str, str] | None
    """Name, type and set identifier with which the next page begins; None if this is the last one."""


class ZoneCalls(Protocol):
    """Route 53's API. For any failure, every method raises DnsError."""

    def zones(self, marker: str) -> ZonePage:
        """ListHostedZones."""
        ...

    def zone(self, id_: str) -> ListedZone:
        """GetHostedZone."""
        ...

    def records(self, zone: str, start: tuple[str, str, str] | None, size: int) -> RecordPage:
        """ListResourceRecordSets: a page of at most `size` record sets (300 is the largest), from that name,
        type and set identifier on."""
        ...

    def change(self, zone: str, deletes: Sequence[RecordSet], creates: Sequence[RecordSet]) -> str:
        """ChangeResourceRecordSets, all or nothing; return the id of the change. The record sets to delete
        are as they were read."""
        ...

    def is_insync(self, change: str) -> bool:
        """GetChange: all name servers answer with the change. Also True for a change that Route 53 does not
        know any more."""
        ...
