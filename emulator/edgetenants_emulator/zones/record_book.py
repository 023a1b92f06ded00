"""The records set by hand. They are part of the state, and saved and loaded with it."""

from __future__ import annotations

import threading

from edgetenants_emulator.zones.authority import RecordSet
from edgetenants_emulator.zones.late_views import Former, History

__all__ = ["Entry", "RecordBook"]


Entry = tuple[str, RecordSet]
"""A zone and a record set in it."""


class RecordBook:
    """Records set by hand, in zones outside Route 53."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[tuple[str, str], Entry] = {}
        self.history: History[tuple[str, str], Entry] = History()
        self.changes = 0
        """Counts the changes."""

    def put(self, record: RecordSet, zone: str, now: float = 0.0, lag: float | None = None) -> None:
        """Set the records of a name and type. They become visible after `lag` virtual seconds, or after the
        setting's lag.

        Raises ValueError for a CNAME with other records of the same name.
        """
        with self._lock:
            others = {kind for name, kind in self._records if name == record.name} - {record.type}
            if others and "CNAME" in others | {record.type}:
                raise ValueError(
                    f"{record.name} already has {', '.join(sorted(others))}; a CNAME must be alone"
                )
            key = (record.name, record.type)
            self.history.note(key, Former(now, self._records.get(key), lag))
            self._records[key] = (zone, record)
            self.changes += 1

    def remove(self, name: str = "", record_type: str = "", now: float = 0.0) -> int:
        """Delete the record sets with this name and type, if given, and return their number."""
        with self._lock:
            gone = [key for key in self._records if name in ("", key[0]) and record_type in ("", key[1])]
            for key in gone:
                self.history.note(key, Former(now, self._records.pop(key)))
            self.changes += len(gone)
            return len(gone)

    def seen(self, now: float, lag: float) -> list[Entry]:
        """The zones and record sets that a view with that lag sees."""
        with self._lock:
            present = dict(self._records)
        return list(self.history.seen(present, now, lag).values())

    def listed(self) -> list[Entry]:
        """The zones and record sets, in the order in which they were set."""
        with self._lock:
            return list(self._records.values())
