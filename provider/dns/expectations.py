"""Whether a zone is as a change expects, before and after it (pure).

TTLs do not count: a record is deleted by what it answers, whatever its TTL was changed to since.
"""

from __future__ import annotations

from collections.abc import Iterable

from provider.dns.records import ALIASES, LEADING, RecordSet
from provider.dns.store import Change, Found

__all__ = ["differs_after", "differs_before"]


def differs_before(change: Change, found: Found) -> str:
    """Return how a zone is not as a change expects; "" if it is."""
    for each in (*change.deletes, *change.keeps):
        if not _has(found, each):
            return f"expected {each.name} {each}, found {_listed(found.of(each.name))}"
    for each in change.creates:
        others = [
            one for one in found.of(each.name) if _excludes(each, one) and not _among(one, change.deletes)
        ]
        if others:
            return f"expected no records in the way of {each.name} {each}, found {_listed(others)}"
    return ""


def differs_after(change: Change, found: Found) -> str:
    """Return how a zone is not as a change leaves it; "" if it is."""
    for each in (*change.creates, *change.keeps):
        if not _has(found, each):
            return f"expected {each.name} {each}, found {_listed(found.of(each.name))}"
    created = {(each.name, each.type) for each in change.creates}
    for each in change.deletes:
        left = [one for one in found.of(each.name) if one.type == each.type]
        if left and (each.name, each.type) not in created:
            return f"expected {each.name} without {each.type}, found {_listed(left)}"
    return ""


def _has(found: Found, record: RecordSet) -> bool:
    return _among(record, found.of(record.name))


def _among(record: RecordSet, others: Iterable[RecordSet]) -> bool:
    return any(record.leads_as(each) for each in others)


def _excludes(created: RecordSet, there: RecordSet) -> bool:
    """Whether both cannot be at one name: the same type, a CNAME and any other, or an alias and another type
    that decides where visitors go. A server accepts the last two, and answers with one of them."""
    types = {created.type, there.type}
    return len(types) == 1 or "CNAME" in types or (bool(types & ALIASES) and types <= LEADING)


def _listed(records: Iterable[RecordSet]) -> str:
    return ", ".join(map(str, records)) or "no records"
