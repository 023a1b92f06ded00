"""Turns at writing a ConfigMap: one caller at a time writes for all that wait.

ask ─▶ take ─▶ a batch: write it, then finish (or give_back)
          └──▶ None: another caller has written this ticket, too
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.records.life import Record

__all__ = ["Ticket", "Turns"]


@dataclass(eq=False)
class Ticket:
    """The records that one caller wants to write."""

    wanted: Mapping[str, Record]
    done: bool = False
    given_up: bool = False
    """Its caller no longer waits for it."""


class Turns:
    """The turns at all ConfigMaps. Thread-safe; holds no lock while a caller writes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[int, list[Ticket]] = {}
        self._writing: set[int] = set()

    def ask(self, shard: int, wanted: Mapping[str, Record]) -> Ticket:
        """Wait in line."""
        ticket = Ticket(wanted)
        with self._changed:
            self._waiting.setdefault(shard, []).append(ticket)
        return ticket

    def take(self, shard: int, ticket: Ticket, seconds: float) -> Sequence[Ticket] | None:
        """Return the tickets that the caller has to write now; None if its own was written meanwhile.

        Raises:
            RecordsFailed: others have been writing for this many seconds of real time.
        """
        with self._changed:
            free = self._changed.wait_for(lambda: ticket.done or shard not in self._writing, seconds)
            if ticket.done:
                return None
            if not free:
                # If another caller is writing it now, it stays in that batch, and is dropped if that fails:
                # in an outage, the tickets of all tries would pile up.
                ticket.given_up = True
                self._waiting[shard] = [each for each in self._waiting.get(shard, ()) if each is not ticket]
                raise RecordsFailed("other records are being written; the provider retries")
            self._writing.add(shard)
            return self._waiting.pop(shard)

    def finish(self, shard: int, batch: Sequence[Ticket]) -> None:
        """Mark the batch as written."""
        with self._changed:
            for ticket in batch:
                ticket.done = True
            self._leave(shard)

    def give_back(self, shard: int, batch: Sequence[Ticket], own: Ticket) -> None:
        """Return a batch that was not written: the other callers write their own tickets."""
        with self._changed:
            left = [ticket for ticket in batch if ticket is not own and not ticket.given_up]
            self._waiting[shard] = [*left, *self._waiting.get(shard, ())]
            self._leave(shard)

    def _leave(self, shard: int) -> None:
        self._writing.discard(shard)
        self._changed.notify_all()
