"""Whose turn it is to write a ConfigMap: one caller at a time, for all that wait.

ask ─▶ take ─▶ a batch: write it, then finish (or give_back)
          └──▶ None: somebody else writes; look whether it was done for this one, too
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
    """What one caller wants to be written."""

    wanted: Mapping[str, Record]
    done: bool = False
    given_up: bool = False
    """Nobody waits for it any more."""


class Turns:
    """Thread-safe. No lock is held while somebody writes."""

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
        """All that is to be written now, by the caller; None where it was written meanwhile.

        Raises:
            RecordsFailed: others have been writing for so many seconds of real time.
        """
        with self._changed:
            free = self._changed.wait_for(lambda: ticket.done or shard not in self._writing, seconds)
            if ticket.done:
                return None
            if not free:
                # One that somebody writes at this moment stays with the batch, and goes if that fails: in an
                # outage those of all tries would pile up.
                ticket.given_up = True
                self._waiting[shard] = [each for each in self._waiting.get(shard, ()) if each is not ticket]
                raise RecordsFailed("others are being recorded; this is tried again")
            self._writing.add(shard)
            return self._waiting.pop(shard)

    def finish(self, shard: int, batch: Sequence[Ticket]) -> None:
        """The batch is written."""
        with self._changed:
            for ticket in batch:
                ticket.done = True
            self._leave(shard)

    def give_back(self, shard: int, batch: Sequence[Ticket], own: Ticket) -> None:
        """The batch is not written: the others try for themselves."""
        with self._changed:
            left = [ticket for ticket in batch if ticket is not own and not ticket.given_up]
            self._waiting[shard] = [*left, *self._waiting.get(shard, ())]
            self._leave(shard)

    def _leave(self, shard: int) -> None:
        self._writing.discard(shard)
        self._changed.notify_all()
