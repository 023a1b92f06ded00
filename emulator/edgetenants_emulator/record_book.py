"""The records set by hand: a part of the state, saved and loaded with it."""

from __future__ import annotations

import threading

from edgetenants_emulator.zones import RecordSet

__all__ = ["RecordBook"]


class RecordBook:
    """Records set by hand, for zones that Route 53 does not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[tuple[str, str], tuple[str, RecordSet]] = {}
        self.changes = 0
        """Moves with every change."""

    def put(self, record: RecordSet, zone: str) -> None:
        """Set the records of a name and type. Raises ValueError beside a CNAME, which stands alone."""
        with self._lock:
            others = {kind for name, kind in self._records if name == record.name} - {record.type}
            if others and "CNAME" in others | {record.type}:
                raise ValueError(f"{record.name} has {', '.join(sorted(others))}: a CNAME stands alone")
            self._records[record.name, record.type] = (zone, record)
            self.changes += 1

    def remove(self, name: str = "", record_type: str = "") -> int:
        """Take away what has this name and type, where they are given; how many sets that were."""
        with self._lock:
            gone = [key for key in self._records if name in ("", key[0]) and record_type in ("", key[1])]
            for key in gone:
                del self._records[key]
            self.changes += len(gone)
            return len(gone)

    def listed(self) -> list[tuple[str, RecordSet]]:
        """Zone and records, in the order of their setting."""
        with self._lock:
            return list(self._records.values())
