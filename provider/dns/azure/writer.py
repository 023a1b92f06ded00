"""The steps of one change in Azure DNS. See the module `store` for their order."""

from __future__ import annotations

from contextlib import suppress

from provider.dns import ownership
from provider.dns.azure.calls import AzureCalls
from provider.dns.azure.values import Stored, body, relative
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Change, Found

__all__ = ["Writer"]

_MADE_NOTHING = frozenset({Failure.CHANGED, Failure.REFUSED, Failure.NOT_PERMITTED})
"""Failures of a step after which the steps before it may be undone: the step itself did nothing, and will not
do anything later."""


class Writer:
    """Writes one change, once."""

    def __init__(self, calls: AzureCalls, zone: Zone, change: Change, there: Found) -> None:
        """`there` is what was read last, at the names of the change."""
        self._calls, self._zone, self._change = calls, zone, change
        self._there = {(each.name, each.type): each for at in there.at.values() for each in at}
        self._done = 0
        """Writes that were made."""

    def write(self) -> None:
        """Make the change.

        Raises:
            DnsError: with CHANGED if nothing was written, or all of it was undone; with UNCERTAIN if it is
                not whole.
            ValueError: Azure DNS has no such record set. Nothing was written.
        """
        for each in self._change.creates:
            body(each, "")
        try:
            self._write()
        except DnsError as error:
            if not self._done or error.failure is Failure.NO_ZONE:
                raise
            words = f"{error}; the change is not whole yet"
            raise DnsError(Failure.UNCERTAIN, words, after=error.after) from error

    def _write(self) -> None:
        marks = [each for each in self._change.creates if self._is_mark(each)]
        records = [each for each in self._change.creates if not self._is_mark(each)]
        gone = [each for each in self._change.deletes if not self._is_created(each)]
        new = bool(marks) and not self._change.deletes and not self._change.keeps
        etags = [self._put(each, unfinished=new) for each in marks]
        if new:
            self._create(marks[0], etags[0], records)
            return
        for each in gone:
            if not self._is_mark(each):
                self._delete(each)
        for each in records:
            self._put(each)
        for each in gone:
            if self._is_mark(each):
                self._delete(each)
        for each in self._change.keeps:
            if self._is_mark(each) and self._stored(each).unfinished:
                self._put(each)

    def _create(self, mark: RecordSet, etag: str, records: list[RecordSet]) -> None:
        """Write the records of a domain that has none, and finish its mark; undo it if others were first."""
        made = [(mark, etag)]
        try:
            made.extend((each, self._put(each)) for each in records)
            finished = body(mark, self._owner)
            self._calls.put(self._zone.name, self._at(mark), mark.type, finished, etag)
        except DnsError as error:
            if error.failure in _MADE_NOTHING:
                self._undo(made)
            raise

    def _undo(self, made: list[tuple[RecordSet, str]]) -> None:
        """Delete what was made, the mark last. What cannot be deleted is left, with its mark."""
        with suppress(DnsError):
            for record, etag in reversed(made):
                self._calls.delete(self._zone.name, self._at(record), record.type, etag)
                self._done -= 1

    def _put(self, record: RecordSet, *, unfinished: bool = False) -> str:
        content = body(record, self._owner, unfinished=unfinished)
        etag = self._stored(record).etag if (record.name, record.type) in self._there else None
        written = self._calls.put(self._zone.name, self._at(record), record.type, content, etag)
        self._done += 1
        return written

    def _delete(self, record: RecordSet) -> None:
        etag = self._stored(record).etag
        self._calls.delete(self._zone.name, self._at(record), record.type, etag)
        self._done += 1
        # Its mark goes next. An answer that is not Azure's must not leave it without.
        if not self._is_mark(record) and self._is_there(record):
            words = f"deletion of {record.type} {record.name}: accepted, but it is still there"
            raise DnsError(Failure.UNCERTAIN, words)

    def _is_there(self, record: RecordSet) -> bool:
        return self._calls.record(self._zone.name, self._at(record), record.type) is not None

    def _at(self, record: RecordSet) -> str:
        return relative(record.name, self._zone.name)

    @property
    def _owner(self) -> str:
        """The owner that the mark of the change names: that which is written, or else kept."""
        marks = [each for each in (*self._change.creates, *self._change.keeps) if self._is_mark(each)]
        owner = ownership.owner_of(marks[0]) if marks else None
        return owner.owner if owner else ""

    def _is_mark(self, record: RecordSet) -> bool:
        return record.type == "TXT" and ownership.domain_of_mark(record.name) == self._change.domain

    def _is_created(self, record: RecordSet) -> bool:
        return any((each.name, each.type) == (record.name, record.type) for each in self._change.creates)

    def _stored(self, record: RecordSet) -> Stored:
        """What Azure had beside the values, when it was read last."""
        found = self._there[record.name, record.type].as_stored
        assert isinstance(found, Stored)  # noqa: S101
        return found
