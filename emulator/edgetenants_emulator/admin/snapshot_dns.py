"""The DNS part of a saved state: records set by hand, zone changes, and the former records of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from edgetenants_emulator.dns import route53
from edgetenants_emulator.zones.authority import RecordSet
from edgetenants_emulator.zones.late_views import Former, History
from edgetenants_emulator.zones.record_book import Entry, RecordBook
from edgetenants_emulator.zones.zone_changes import Change, ChangeBook

__all__ = ["load_book", "load_changes", "save_book", "save_changes"]


def save_book(book: RecordBook) -> dict[str, Any]:
    """The records set by hand, and the ones that they replaced recently."""
    return {
        "records": [_entry_row(entry) for entry in book.listed()],
        "formerRecords": [
            {
                "name": name,
                "type": kind,
                "until": former.until,
                "lag": former.lag,
                "value": _entry_row(former.value) if former.value else None,
            }
            for (name, kind), former in book.history.items()
        ],
    }


def load_book(saved: Mapping[str, Any], later: float) -> RecordBook:
    """The book of a saved state, with all times shifted by `later`."""
    book = RecordBook()
    for row in saved["records"]:
        zone, record = _entry(row)
        book.put(record, zone)
    book.history = History()
    for row in saved.get("formerRecords", ()):
        value = _entry(row["value"]) if row["value"] else None
        book.history.note((row["name"], row["type"]), Former(row["until"] + later, value, row["lag"]))
    return book


def save_changes(book: ChangeBook) -> dict[str, Any]:
    """All changes of hosted zones, and the record sets that they replaced recently."""
    return {
        "changes": [asdict(change) for change in book.changes.values()],
        "last": book.last,
        "formers": [
            {
                "zone": zone_id,
                "key": list(key),
                "until": former.until,
                "value": route53.row_of(former.value) if former.value else None,
            }
            for zone_id, history in book.histories.items()
            for key, former in history.items()
        ],
    }


def load_changes(saved: Mapping[str, Any], later: float) -> ChangeBook:
    """The changes of a saved state, with all times shifted by `later`."""
    changes = [Change(**row) for row in saved.get("changes", ())]
    book = ChangeBook(
        {each.id: replace(each, submitted=each.submitted + later) for each in changes},
        last={zone: at + later for zone, at in saved.get("last", {}).items()},
    )
    for row in saved.get("formers", ()):
        name, kind, set_id = row["key"]
        value = route53.record_of(row["value"]) if row["value"] else None
        book.history(row["zone"]).note((name, kind, set_id), Former(row["until"] + later, value))
    return book


def _entry_row(entry: Entry) -> dict[str, Any]:
    zone, record = entry
    return {"zone": zone, **asdict(record)}


def _entry(row: Mapping[str, Any]) -> Entry:
    return row["zone"], RecordSet(row["name"], row["type"], tuple(row["values"]), row["ttl"])
