"""What the hosted zones have.

A zone with few pages of record sets, or with as many domains of ours, is read as a whole, at most every ten
minutes: a page has 300 record sets, while a domain has two, and a read for each domain would take as many
requests. Other zones are read name by name.

A view may be old. That is safe: a change says what it expects, and Route 53 refuses it otherwise. The
provider's own writes are in the view at once.

    read by pages ──▶ view ◀── own writes
         │             ▲
         └─ what was written while pages were read is read by its name
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, Stopwatch
from provider.dns.errors import DnsError, Failure
from provider.dns.mark_index import MarkIndex
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet
from provider.dns.route53.calls import ListedZone, ZoneCalls
from provider.dns.store import Change, Found

__all__ = ["ZoneViews"]

_PAGE: Final = 300
"""Route 53's largest page."""
_OF_NAME: Final = 20
"""Record sets to ask for with one name: a name has one of each type, and routing policies are rare."""
_SECONDS: Final = 600.0
"""How old what was read may be."""
_FEW_PAGES: Final = 4
_MOST_PAGES: Final = 200
"""Larger zones are read name by name."""
_ASKED_SECONDS: Final = 3600.0
_MOST_NAMES: Final = 50_000
"""Maximum number of names that are remembered one by one; the oldest are dropped first."""
_SLICE_SECONDS: Final = 8.0
"""Real seconds for which one reconcile reads pages; the next one continues."""
_MARGIN_SECONDS: Final = 10.0
"""Real seconds that are left to the reconcile for its own work."""
_AGAIN: Final = 1.0
_IN_USE: Final = 3600.0
"""How old a view may be while another worker reads the zone again."""

_Start = tuple[str, str, str]
_Sets = tuple[RecordSet, ...]


@dataclass
class _Reading:
    """A zone that is being read page by page."""

    began: float
    next: _Start | None = None
    pages: int = 0
    sets: list[RecordSet] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """Names that were written meanwhile."""
    busy: bool = True
    """A worker reads a page now."""


@dataclass
class _View:
    """What is known of a zone."""

    at: float = float("-inf")
    """When the reading of `whole` began."""
    whole: dict[str, _Sets] | None = None
    """All names of the zone; None if it was not read as a whole."""
    outdated: set[str] = field(default_factory=set)
    """Names for which `whole` does not count."""
    reading: _Reading | None = None
    single: OrderedDict[str, tuple[float, _Sets]] = field(default_factory=OrderedDict)
    """What was read or written name by name, and when."""
    asking: dict[str, object] = field(default_factory=dict)
    """The names that are being read one by one. A write takes the name out: the answer may be older."""
    asked: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """When each name was last asked for."""


class ZoneViews:
    """The zones of one provider config. Thread-safe; no lock is held during a request."""

    def __init__(self, calls: ZoneCalls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self._lock = threading.Lock()
        self._views: dict[str, _View] = {}
        self._marks = MarkIndex()

    def marked(self, owner: Owner) -> frozenset[str]:
        """See KnowsMarks."""
        with self._lock:
            return self._marks.of(owner)

    def read(self, listed: ListedZone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """See RecordStore.read."""
        wanted = sorted(set(names))
        if not fresh:
            self._note(listed.zone.id, wanted)
            if self._is_worth_it(listed):
                self._refresh(listed.zone.id)
        return Found({name: self._of(listed.zone.id, name, fresh=fresh) for name in wanted})

    def wrote(self, zone: str, change: Change) -> None:
        """A change was accepted."""
        now = self._clock.now()
        with self._lock:
            self._marks.wrote(zone, change)
            view = self._view(zone)
            for name in change.names:
                known = self._known(view, name, now)
                self._outdate(view, name)
                if known is not None:
                    kept = [each for each in known if each not in change.deletes]
                    kept += [each for each in change.creates if each.name == name]
                    self._keep(view, name, now, tuple(kept))

    def forget(self, zone: str, names: Iterable[str]) -> None:
        """What is known of these names is wrong, or may be."""
        with self._lock:
            view = self._view(zone)
            for name in names:
                self._outdate(view, name)

    def drop(self, zone: str) -> None:
        """The zone does not exist any more."""
        with self._lock:
            self._views.pop(zone, None)
            self._marks.drop(zone)

    # By name.

    def _of(self, zone: str, name: str, *, fresh: bool) -> _Sets:
        if not fresh:
            with self._lock:
                known = self._known(self._view(zone), name, self._clock.now())
            if known is not None:
                return known
        began, mine = self._clock.now(), object()
        with self._lock:
            self._view(zone).asking[name] = mine
        sets: _Sets | None = None
        try:
            sets = self._ask(zone, name)
        finally:
            with self._lock:
                view = self._view(zone)
                if view.asking.get(name) is mine:
                    del view.asking[name]
                    if sets is not None:
                        self._outdate(view, name)
                        self._keep(view, name, began, sets)
        return sets

    def _ask(self, zone: str, name: str) -> _Sets:
        start: _Start | None = (name, "", "")
        found: list[RecordSet] = []
        while start is not None:
            page = self._calls.records(zone, start, _OF_NAME)
            found += [each for each in page.records if each.name == name]
            full = all(each.name == name for each in page.records)
            start = page.next if full and page.next != start else None
        return tuple(found)

    def _known(self, view: _View, name: str, now: float) -> _Sets | None:
        single = view.single.get(name)
        if single is not None and now <= single[0] + _SECONDS and single[0] >= view.at:
            return single[1]
        if view.whole is None or name in view.outdated or now > view.at + _IN_USE:
            return None
        return view.whole.get(name, ())

    def _keep(self, view: _View, name: str, now: float, sets: _Sets) -> None:
        view.single[name] = (now, sets)
        view.single.move_to_end(name)
        while len(view.single) > _MOST_NAMES:
            view.single.popitem(last=False)

    def _outdate(self, view: _View, name: str) -> None:
        view.asking.pop(name, None)
        view.single.pop(name, None)
        if view.whole is not None:
            view.outdated.add(name)
        if view.reading is not None:
            view.reading.written.add(name)

    # As a whole.

    def _note(self, zone: str, names: Iterable[str]) -> None:
        now = self._clock.now()
        with self._lock:
            asked = self._view(zone).asked
            for name in names:
                asked[name] = now
                asked.move_to_end(name)
            while asked and (len(asked) > _MOST_NAMES or next(iter(asked.values())) < now - _ASKED_SECONDS):
                asked.popitem(last=False)

    def _is_worth_it(self, listed: ListedZone) -> bool:
        pages = -(-listed.size // _PAGE)
        with self._lock:
            asked = len(self._view(listed.zone.id).asked)
        return pages <= _FEW_PAGES or pages <= min(_MOST_PAGES, asked)

    def _refresh(self, zone: str) -> None:
        """Read the zone again if the view is old, as far as there is time.

        Raises:
            DnsError: with LATER: there is no view yet, and the zone is being read.
        """
        now = self._clock.now()
        with self._lock:
            view = self._view(zone)
            if view.whole is not None and now <= view.at + _SECONDS:
                return
            usable = view.whole is not None and now <= view.at + _IN_USE
            reading = view.reading
            if reading is None:
                reading = view.reading = _Reading(began=now)
            elif reading.busy:
                reading = None
            else:
                reading.busy = True
        try:
            ended = reading is not None and self._advance(zone, reading)
        except DnsError as error:
            # A change says what it expects, so an old view is better than none.
            if not usable or error.failure not in (Failure.LATER, Failure.UNCERTAIN):
                raise
            return
        if not (ended or usable):
            words = f"hosted zone {zone}: its record sets are being read"
            raise DnsError(Failure.LATER, words, after=_AGAIN)

    def _advance(self, zone: str, reading: _Reading) -> bool:
        """Read pages; return whether the zone was read to its end."""
        watch = Stopwatch()
        try:
            while True:
                page = self._calls.records(zone, reading.next, _PAGE)
                reading.sets += page.records
                reading.pages += 1
                if page.next is None or page.next == reading.next or reading.pages > 2 * _MOST_PAGES:
                    break
                reading.next = page.next
                if watch.elapsed() > _SLICE_SECONDS or deadline.remaining() < _MARGIN_SECONDS:
                    # Only now may another worker go on: at the end, it would read the last page twice.
                    reading.busy = False
                    return False
        except BaseException:
            # Pages of a reading that was interrupted for long would be of different times.
            with self._lock:
                if self._view(zone).reading is reading:
                    self._view(zone).reading = None
            raise
        self._finish(zone, reading)
        return True

    def _finish(self, zone: str, reading: _Reading) -> None:
        ordered = sorted(reading.sets, key=lambda each: each.name)
        whole = {name: tuple(sets) for name, sets in groupby(ordered, key=lambda each: each.name)}
        with self._lock:
            view = self._view(zone)
            if view.reading is not reading:
                return
            view.whole, view.at, view.outdated = whole, reading.began, set(reading.written)
            view.reading = None
            view.single = _kept(view.single, reading.written)
            self._marks.read(zone, (each for each in ordered if each.name not in reading.written))
            for sets in (view.single[name][1] for name in reading.written & view.single.keys()):
                self._marks.note(zone, sets)

    def _view(self, zone: str) -> _View:
        return self._views.setdefault(zone, _View())


def _kept(
    single: Mapping[str, tuple[float, _Sets]], names: Iterable[str]
) -> OrderedDict[str, tuple[float, _Sets]]:
    return OrderedDict((name, single[name]) for name in names if name in single)
