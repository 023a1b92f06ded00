"""A store that remembers: it is like any other, and never remembers what it must not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.dns import ownership, remembering
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.mark_index import MarkIndex
from provider.dns.records import RecordSet, Zone
from provider.dns.remembering import RememberingStore
from provider.dns.server_pace import ServerPace
from provider.dns.store import Change, marked
from tests.unit.provider.dns.conformance import THEM, US, Bench, Conformance, cname
from tests.unit.provider.dns.memory import MemoryStore

NAME = "a.example.test"
OLD = RecordSet(NAME, "A", ("192.0.2.1",), 60)
NEW = RecordSet(NAME, "A", ("192.0.2.2",), 60)


class Counted(MemoryStore):
    """It notes what it is asked, and fails as told."""

    def __init__(self, *records: RecordSet) -> None:
        super().__init__("example.test", records)
        self.asked: list[str] = []
        self.error: DnsError | None = None
        self.meanwhile = lambda: None
        self.there = True
        self.was_fresh = False

    def zone_of(self, domain):
        self._ask(f"zone {domain}")
        return super().zone_of(domain) if self.there else None

    def read(self, zone, names, *, fresh=False):
        self._ask(f"read {' '.join(sorted(names))}")
        self.was_fresh = fresh
        found = super().read(zone, names)
        self.meanwhile()
        return found

    def write(self, zone, change):
        self._ask("write")
        self.apply(change)
        return super().write(zone, Change(change.domain))

    def _ask(self, what):
        self.asked.append(what)
        if self.error:
            raise self.error


@pytest.fixture
def clock():
    return FakeClock()


def over(inner, clock, **how):
    return RememberingStore(inner, ServerPace(clock, "server"), clock, **how)


class TestIsLikeAnyOther(Conformance):
    @pytest.fixture
    def bench(self, clock) -> Bench:
        records = (
            RecordSet("*.wild.example.test", "CNAME", ("elsewhere.example.net",), 300),
            RecordSet("key.many.example.test", "SSHFP", ("4 2 ab",), 300),
        )
        inner = MemoryStore("example.test", records)

        @contextmanager
        def losing() -> Iterator[RememberingStore]:
            inner.loses_answers = True
            yield over(inner, clock)
            inner.loses_answers = False

        truth = lambda name: inner.read(inner.zone, [name]).of(name)  # noqa: E731
        return Bench(over(inner, clock), inner.zone, inner.put, inner.drop, truth, losing, compares=False)


def test_records_are_read_again_after_ten_minutes_or_when_asked_to(clock):
    inner = Counted(OLD)
    store = over(inner, clock)
    for seconds in (0, 599):
        clock.advance(seconds)
        assert store.read(inner.zone, [NAME]).of(NAME) == (OLD,)
    assert inner.asked == [f"read {NAME}"]
    inner.records = [NEW]
    assert store.read(inner.zone, [NAME], fresh=True).of(NAME) == (NEW,)
    assert store.read(inner.zone, [NAME]).of(NAME) == (NEW,)
    clock.advance(600)
    store.read(inner.zone, [NAME, "b.example.test"])
    assert inner.asked[-1] == f"read {NAME} b.example.test"


def test_only_what_is_not_known_is_asked_for(clock):
    inner = Counted(OLD)
    store = over(inner, clock)
    store.read(inner.zone, [NAME])
    assert store.read(inner.zone, [NAME, "b.example.test"]).at == {NAME: (OLD,), "b.example.test": ()}
    assert inner.asked[-1] == "read b.example.test"


@pytest.mark.parametrize(
    "error", [None, DnsError(Failure.UNCERTAIN, "lost"), DnsError(Failure.CHANGED, "no")]
)
def test_what_a_change_names_is_read_again_whatever_became_of_it(clock, error):
    inner = Counted(OLD)
    store = over(inner, clock)
    store.read(inner.zone, [NAME])
    inner.error = error
    change = Change(NAME, deletes=(OLD,), creates=(NEW,))
    if error:
        with pytest.raises(DnsError):
            store.write(inner.zone, change)
    else:
        store.write(inner.zone, change)
    inner.error, inner.records = None, [NEW]
    assert store.read(inner.zone, [NAME]).of(NAME) == (NEW,)


def test_what_is_written_during_a_read_is_not_remembered_as_it_was_before(clock):
    inner = Counted(OLD)
    store = over(inner, clock)

    def meanwhile():
        inner.meanwhile = lambda: None
        store.write(inner.zone, Change(NAME, deletes=(OLD,), creates=(NEW,)))

    inner.meanwhile = meanwhile
    assert store.read(inner.zone, [NAME]).of(NAME) == (OLD,)
    assert store.read(inner.zone, [NAME]).of(NAME) == (NEW,)


def test_a_zone_is_remembered_and_that_there_is_none_only_shortly(clock):
    inner = Counted()
    store = over(inner, clock)
    inner.there = False
    assert store.zone_of(NAME) is None
    inner.there = True
    assert store.zone_of(NAME) is None
    clock.advance(60)
    assert store.zone_of(NAME) == inner.zone
    clock.advance(599)
    store.zone_of(NAME)
    assert inner.asked == [f"zone {NAME}"] * 2
    clock.advance(1)
    store.zone_of(NAME)
    assert len(inner.asked) == 3


@pytest.mark.parametrize("failure", [Failure.NO_ZONE, Failure.NOT_PERMITTED])
def test_a_zone_that_is_gone_is_looked_for_again(clock, failure):
    inner = Counted()
    store = over(inner, clock)
    store.zone_of(NAME)
    inner.error = DnsError(failure, "gone")
    with pytest.raises(DnsError):
        store.read(inner.zone, [NAME])
    inner.error, inner.there = None, False
    assert store.zone_of(NAME) is None


@pytest.mark.parametrize("failure", [Failure.NO_ZONE, Failure.NOT_PERMITTED])
def test_one_denied_zone_has_no_other_looked_for_again(clock, failure):
    inner = Counted()
    store = over(inner, clock)
    denied = Zone("denied", "denied.test")
    store.zone_of(NAME)
    inner.error = DnsError(failure, "no")
    for _ in range(3):
        with pytest.raises(DnsError):
            store.read(denied, ["a.denied.test"])
        with pytest.raises(DnsError):
            store.zone_of("b.denied.test")
    inner.asked.clear()
    assert store.zone_of(NAME) == inner.zone
    assert inner.asked == []


def test_a_failure_has_its_advice_and_keeps_what_it_says(clock):
    inner = Counted()
    store = over(inner, clock, advice={Failure.NOT_PERMITTED: "Check the field x"})
    inner.error = DnsError(Failure.NOT_PERMITTED, "BADKEY", after=3.0, ticket="t")
    with pytest.raises(DnsError, match=r"^BADKEY\. Check the field x$") as told:
        store.read(inner.zone, [NAME])
    assert (told.value.failure, told.value.after, told.value.ticket) == (Failure.NOT_PERMITTED, 3.0, "t")
    inner.error = DnsError(Failure.REFUSED, "no")
    with pytest.raises(DnsError, match=r"^no$"):
        store.write(inner.zone, Change(NAME))


def test_while_a_server_does_not_answer_what_is_known_still_serves(clock):
    inner = Counted(OLD)
    store = over(inner, clock)
    store.read(inner.zone, [NAME])
    inner.error = Unreachable(Failure.LATER, "no answer")
    for _ in range(3):
        with pytest.raises(DnsError):
            store.read(inner.zone, ["b.example.test"])
        with pytest.raises(DnsError):
            store.zone_of(NAME)
    assert inner.asked == [f"read {NAME}", "read b.example.test"], "it is asked once"
    assert store.read(inner.zone, [NAME]).of(NAME) == (OLD,)


def test_the_marks_that_were_read_or_written_are_known(clock):
    inner = Counted(ownership.mark("b.example.test", US), ownership.mark("c.example.test", THEM))
    store = over(inner, clock)
    assert marked(store, US) == frozenset()
    store.read(inner.zone, [ownership.mark_name(f"{each}.example.test") for each in "bc"])
    mark = ownership.mark(NAME, US)
    store.write(inner.zone, Change(NAME, creates=(*cname(NAME).records, mark)))
    assert marked(store, US) == {"b.example.test", NAME}
    store.write(inner.zone, Change(NAME, deletes=(*cname(NAME).records, mark)))
    assert marked(store, US) == {"b.example.test"}


def test_what_is_remembered_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST", 10)
    inner = Counted()
    store = over(inner, clock)
    for number in range(30):
        store.read(inner.zone, [f"n{number}.example.test"])
        store.zone_of(f"n{number}.example.test")
    assert len(store._names._kept) == len(store._zones._kept) == 10
    assert store._reading == []
    store.read(Zone("other", "example.test"), ["n29.example.test"])
    assert inner.asked[-1] == "read n29.example.test", "zones have their own records"


def test_what_is_remembered_is_bounded_in_bytes(clock):
    def names(number: int) -> list[str]:
        return [f"n{number}.example.test", f"_edgetenants.n{number}.example.test"]

    records = [RecordSet(name, "TXT", ("x" * 2000,), 60) for number in range(100) for name in names(number)]
    inner = Counted(*records)
    store = over(inner, clock, room=100_000)
    for number in range(100):
        store.read(inner.zone, names(number))
        store.zone_of(f"n{number}.example.test")
    assert 0 < store._names.bytes <= 50_000
    assert 0 < store._zones.bytes <= 25_000
    assert sum(each.bytes for each in store._names._kept.values()) == store._names.bytes
    store.write(inner.zone, Change("n99.example.test", deletes=(records[-2],)))
    assert sum(each.bytes for each in store._names._kept.values()) == store._names.bytes


def test_a_large_answer_is_not_remembered(clock):
    inner = Counted(*(RecordSet(NAME, "TXT", tuple("x" * 200 + str(n) for n in range(200)), 60) for _ in "a"))
    store = over(inner, clock)
    for _ in range(2):
        assert store.read(inner.zone, [NAME]).of(NAME)
    assert inner.asked == [f"read {NAME}"] * 2
    assert store._names.bytes == 0


def test_marks_are_bounded_and_the_oldest_go_first():
    index = MarkIndex(3)
    for number in (0, 1, 2, 0, 3):
        index.note("z", [ownership.mark(f"n{number}.example.test", US)])
    assert index.of(US) == {"n0.example.test", "n2.example.test", "n3.example.test"}
    assert (len(index._owners), len(index._zones["z"])) == (3, 3)
    index.drop("z")
    assert not any((index.of(US), index._owners, index._zones, index._domains))


def test_a_domain_in_two_zones_is_known_until_both_are_gone():
    index, record = MarkIndex(), ownership.mark(NAME, US)
    for zone in "ab":
        index.note(zone, [record])
    index.drop("a")
    assert index.of(US) == {NAME}
    index.drop("b")
    assert index.of(US) == frozenset()


def test_a_mark_with_a_long_owner_is_none():
    long = RecordSet(ownership.mark_name(NAME), "TXT", (f"heritage=edgetenants,owner={'a' * 60_000}",), 60)
    assert ownership.owner_of(long) is None


def test_a_store_with_copies_knows_what_must_be_fresh(clock):
    inner = Counted(OLD)
    store = RememberingStore(inner, ServerPace(clock, "x"), clock, seconds=100.0)
    store.read(inner.zone, [NAME])
    assert not inner.was_fresh
    store.read_again(inner.zone, [NAME])
    assert inner.was_fresh


def test_it_remembers_for_as_long_as_it_is_told(clock):
    inner = Counted(OLD)
    store = RememberingStore(inner, ServerPace(clock, "x"), clock, seconds=100.0)
    for seconds in (0, 99, 2):
        clock.advance(seconds)
        store.zone_of(NAME)
        store.read(inner.zone, [NAME])
    assert inner.asked == [f"zone {NAME}", f"read {NAME}"] * 2
