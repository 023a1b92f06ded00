"""Who made the records of a domain: a TXT record beside them, in the same zone.

    acme.example.com               CNAME  d111111abcdef8.cloudfront.net
    _edgetenants.acme.example.com  TXT    heritage=edgetenants,owner=4c0ae9…,resource=9b1d22…

The owner is a digest: the names of clusters and namespaces do not belong in public DNS. It is that of an
installation and a namespace, so that a resource that is created again, or another one of its namespace to
which the domain moves, finds the records as its own. No one else's records have it, and the provider never
changes a record of another owner, or without one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from provider.dns.records import LONGEST_NAME, RecordSet

__all__ = ["MARK_TTL", "Owner", "domain_of_mark", "mark", "mark_name", "owner_of"]

_LABEL: Final = "_edgetenants"
_WILDCARD: Final = "_edgetenants-wildcard"
_HERITAGE: Final = "heritage=edgetenants"
_DIGITS: Final = 32
_MOST_DIGITS: Final = 64
"""Of a mark that is read: longer ones are none of this provider's, and are not kept in memory."""
MARK_TTL: Final = 300
"""Seconds."""


@dataclass(frozen=True)
class Owner:
    """Who made records."""

    owner: str
    """Digest of the installation and the namespace."""
    resource: str = ""
    """Digest of the managed resource."""

    @classmethod
    def of(cls, installation: str, namespace: str, resource: str) -> Owner:
        """Return the owner.

        Args:
            installation: the id of the provider's installation, which is hard to guess.
            namespace: of the managed resource.
            resource: identifies the managed resource in that namespace.
        """
        return cls(_digest(installation, namespace), _digest(installation, namespace, resource))


def mark_name(domain: str) -> str:
    """Return the name of the ownership record of a domain.

    Raises:
        ValueError: it is longer than a name may be.
    """
    bare = domain.removeprefix("*.")
    name = f"{_LABEL if bare == domain else _WILDCARD}.{bare}"
    if len(name) > LONGEST_NAME:
        raise ValueError(
            f"domain {domain}: expected a name for which {name} has at most {LONGEST_NAME} characters, got "
            f"{len(name)}"
        )
    return name


def domain_of_mark(name: str) -> str | None:
    """Return the domain of an ownership record's name; None for any other name."""
    label, _, rest = name.partition(".")
    if label == _LABEL:
        return rest
    return f"*.{rest}" if label == _WILDCARD else None


def mark(domain: str, owner: Owner) -> RecordSet:
    """Return the ownership record of a domain.

    Raises:
        ValueError: as `mark_name`.
    """
    text = f"{_HERITAGE},owner={owner.owner},resource={owner.resource}"
    return RecordSet(mark_name(domain), "TXT", (text,), MARK_TTL)


def owner_of(record: RecordSet) -> Owner | None:
    """Return the owner that an ownership record names; None if it is not one of this provider.

    With a text of others beside it, or of two owners, it is none: its deletion would delete theirs, too.
    """
    owners = {_owner_in(value) for value in record.values}
    if None in owners or len({each.owner for each in owners if each}) != 1:
        return None
    return min((each for each in owners if each), key=lambda each: each.resource)


def _owner_in(value: str) -> Owner | None:
    first, *parts = value.split(",")
    fields = dict(part.partition("=")[::2] for part in parts)
    if first != _HERITAGE or not fields.get("owner"):
        return None
    owner = Owner(fields["owner"], fields.get("resource", ""))
    return owner if max(len(owner.owner), len(owner.resource)) <= _MOST_DIGITS else None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
