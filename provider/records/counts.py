"""How long rounds have seen each domain not held, by the clock of this process.

A wall clock may be wrong for a moment: after a pause of its machine, or on the node of a new leader. One
round with such a clock must end nothing, so no two readings of wall clocks are compared. The ConfigMaps have
each count as it was some minutes ago. What a restart loses of it only keeps the domain for longer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from provider.records.config_maps import Entries
from provider.records.life import Record, differs_only_in_count

__all__ = ["Counts", "to_store"]

_LONGEST_STEP: Final = 300.0
"""Maximum seconds that count between two rounds. Rounds are up to a minute apart; a process that did not run
for longer has not seen the domain not held in that time."""
_STORE_SECONDS: Final = 600.0
"""A ConfigMap is written for the counts alone when one of them has grown by this much since it was stored."""


@dataclass(frozen=True)
class _Count:
    stored: Record
    """The record that the last round found."""
    became: Record
    """Its state after that round, with the exact count."""
    at: float | None
    """When it was seen not held; None if that round did not see it so."""

    def is_of(self, record: Record, *, shared: bool) -> bool:
        """Whether no one else has changed the record since."""
        if shared and not differs_only_in_count(self.stored, self.became):
            # It was written, and the old one means that another process has found it held again.
            return record == self.became.as_stored()
        return record in (self.stored, self.became.as_stored())


class Counts:
    """The state of each record after the last round. It is newer than the stored one, also where a ConfigMap
    is full and could not be written."""

    def __init__(self, *, shared: bool = False) -> None:
        """`shared`: other processes change the records, too."""
        self._shared = shared
        self._counts: dict[str, _Count] = {}

    def latest(self, domain: str, record: Record) -> Record:
        """Return the newest state of a record that was read."""
        count = self._of(domain, record)
        return record if count is None else count.became

    def passed(self, domain: str, record: Record, now: float) -> float:
        """Return the seconds that count since the last round; 0 if that round did not see it not held."""
        count = self._of(domain, record)
        if count is None or count.at is None:
            return 0.0
        return min(max(0.0, now - count.at), _LONGEST_STEP)

    def note(self, domain: str, record: Record, became: Record, at: float | None) -> None:
        """Note the new state of a record that was read, and when it was seen not held, if it was."""
        if became == record and became.not_held_since is None:
            self._counts.pop(domain, None)
        else:
            self._counts[domain] = _Count(record, became, at)

    def keep_only(self, domains: Collection[str]) -> None:
        """Forget all other domains, whose records have ended."""
        self._counts = {domain: count for domain, count in self._counts.items() if domain in domains}

    def _of(self, domain: str, record: Record) -> _Count | None:
        count = self._counts.get(domain)
        return count if count is not None and count.is_of(record, shared=self._shared) else None


def to_store(known: Entries, becomes: dict[str, Record | None]) -> dict[str, Record | None]:
    """Return the new states of the records of one ConfigMap as they are to be stored. As long as no count
    has grown much, those that differ in their counts alone stay as they are; then all are written at once."""
    due = any(
        after is not None and after.not_held_seconds - known[domain].not_held_seconds >= _STORE_SECONDS
        for domain, after in becomes.items()
    )

    def stored(before: Record, after: Record | None) -> Record | None:
        if after is None:
            return None
        return before if not due and differs_only_in_count(before, after) else after.as_stored()

    return {domain: stored(known[domain], after) for domain, after in becomes.items()}
