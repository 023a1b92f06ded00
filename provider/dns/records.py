"""Record sets, names and zones, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "ALIASES",
    "LEADING",
    "LONGEST_NAME",
    "RecordSet",
    "Zone",
    "is_within",
    "longest_match",
    "normal",
]

ALIASES: Final = frozenset({"ALIAS", "ANAME"})
"""Types of alias records of services outside of AWS. The service answers with the addresses of the target."""
LEADING: Final = frozenset({"A", "AAAA", "CNAME", "HTTPS", "SVCB"}) | ALIASES
"""Types that decide where visitors of a name go."""
LONGEST_NAME: Final = 253
"""Characters of a name without the final dot (RFC 1035, section 2.3.4)."""


@dataclass(frozen=True)
class Zone:
    """A zone of a DNS service."""

    id: str
    """The service's own identifier; the name where it has none."""
    name: str
    """In normal form."""


@dataclass(frozen=True)
class RecordSet:
    """All records of one name and type. Names and targets are in normal form."""

    name: str
    type: str
    """Such as CNAME or A."""
    values: tuple[str, ...]
    """Sorted. The text of a TXT record is without quotation marks; an alias has one value, its target."""
    ttl: int | None = None
    """Seconds; None for an alias that has none of its own."""
    alias: bool = False
    """The service answers with the addresses of the target. Route 53 has it with the types A and AAAA, other
    services with a type of their own."""
    routed: bool = False
    """It is one of several of its name and type, chosen by a routing policy. The provider makes none."""
    as_stored: Any = field(default=None, compare=False, repr=False)
    """The service's own form of what was read, for a deletion by what is there."""

    def leads_as(self, other: RecordSet) -> bool:
        """Whether both answer the same, whatever their TTL."""
        mine = (self.name, self.type, self.values, self.alias, self.routed)
        return mine == (other.name, other.type, other.values, other.alias, other.routed)

    def __str__(self) -> str:
        kind = f"{self.type} alias" if self.alias else self.type
        return f"{kind} {' '.join(self.values)}"


def normal(name: str) -> str:
    r"""Return a name in lower case, without the final dot, and with a plain `*` (Route 53 lists `\052`)."""
    return name.lower().removesuffix(".").replace("\\052", "*")


def is_within(name: str, zone: str) -> bool:
    """Whether a name is the zone's apex or below it; both in normal form."""
    return name == zone or name.endswith(f".{zone}")


def longest_match(name: str, zones: Iterable[Zone]) -> Zone | None:
    """Return the zone with the longest name that contains the name, or None. Of two zones with the same name,
    the one with the first id: the answer must not depend on the order of a list."""
    fitting = (zone for zone in zones if is_within(name, zone.name))
    return min(fitting, key=lambda zone: (-len(zone.name), zone.id), default=None)
