"""What every record store does, by plans against its service. Subclass `Conformance` and give it a bench.

The bench has a zone with `*.wild`, a CNAME to elsewhere.example.net, and `key.many`, a record of its type
`rare`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pytest

from provider.dns import ownership, plan
from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import Owner
from provider.dns.plan import Standing, Step, Wanted
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Change, RecordStore, Written

US = Owner.of("installation", "team-a", "shop")
THEM = Owner.of("installation", "team-b", "shop")
TARGET = "d111111abcdef8.cloudfront.net"
OTHER_TARGET = "d222222abcdef8.cloudfront.net"


@dataclass(frozen=True)
class Bench:
    """A store, and the other ways to its zone."""

    store: RecordStore
    zone: Zone
    put: Callable[[RecordSet], None]
    """Set a record set as another program does, whatever is there. It replaces what cannot be beside it."""
    drop: Callable[[str, str], None]
    """Delete the record set of a name and type as another program does."""
    truth: Callable[[str], Iterable[RecordSet]]
    """The record sets of a name, read in another way than the store reads."""
    losing: Callable[[], AbstractContextManager[RecordStore]]
    """A store that sends changes and gets no answers to them."""
    pass_time: Callable[[], None] = lambda: None
    """Let a change reach all name servers."""
    compares_ttls: bool = False
    """The service also refuses to delete a record set whose TTL has changed."""
    compares: bool = True
    """The service compares and sets. Without, of two writers at the same moment both may succeed."""
    rare: str = "SSHFP"
    """The type of the record at `key.many`: one that few names have, and that the service knows."""

    def name(self, prefix: str = "") -> str:
        """A name that no other test uses."""
        return f"{prefix}t{secrets.token_hex(5)}.{self.zone.name}"

    def has(self, name: str) -> set[tuple[str, tuple[str, ...], int | None]]:
        return {(each.type, each.values, each.ttl) for each in self.truth(name)}

    def step(self, wanted: Wanted, owner: Owner = US, *, take_over: bool = False) -> Step:
        found = self.store.read(self.zone, wanted.names, fresh=True)
        assert set(found.at) == wanted.names
        return plan.settle(wanted, found, owner, take_over=take_over)

    def write(self, step: Step) -> Written:
        assert step.change is not None
        return self.store.write(self.zone, step.change)

    def made(self, wanted: Wanted, owner: Owner = US) -> Wanted:
        step = self.step(wanted, owner)
        assert step.standing is Standing.DUE
        self.write(step)
        return wanted

    def release(self, wanted: Wanted, owner: Owner = US) -> Change | None:
        found = self.store.read(self.zone, wanted.names, fresh=True)
        return plan.release(wanted, found, owner, lambda each: "cloudfront" in str(each))

    def fails(self, change: Change | None, failure: Failure = Failure.CHANGED) -> str:
        assert change is not None
        with pytest.raises(DnsError) as told:
            self.store.write(self.zone, change)
        assert told.value.failure is failure, told.value
        return str(told.value)


def cname(domain: str, target: str = TARGET, ttl: int = 60) -> Wanted:
    return Wanted(domain, (RecordSet(domain, "CNAME", (target,), ttl),))


def a_cname(target: str = TARGET, ttl: int = 60) -> set[tuple[str, tuple[str, ...], int | None]]:
    return {("CNAME", (target,), ttl)}


class Conformance:
    """The suite."""

    @pytest.fixture
    def bench(self) -> Bench:
        raise NotImplementedError

    def test_records_are_created_with_their_mark_once(self, bench):
        wanted = bench.made(cname(bench.name()))
        mark = ownership.mark(wanted.domain, US)
        assert bench.has(wanted.domain) == a_cname()
        assert bench.has(mark.name) == {("TXT", mark.values, mark.ttl)}
        again = bench.step(wanted)
        assert (again.standing, again.change) == (Standing.OURS, None)

    def test_a_change_is_served(self, bench):
        wanted = cname(bench.name())
        written = bench.write(bench.step(wanted))
        bench.pass_time()
        assert bench.store.is_served(bench.zone, written)
        change = bench.release(wanted)
        assert change is not None
        removed = bench.store.write(bench.zone, change)
        bench.pass_time()
        assert bench.store.is_served(bench.zone, removed)

    def test_the_zone_of_a_domain_is_found(self, bench):
        for domain in (bench.name("a.b."), bench.name("*."), bench.zone.name):
            assert bench.store.zone_of(domain) == bench.zone
        assert bench.store.zone_of("example.invalid") is None

    def test_another_owners_records_stay(self, bench):
        wanted = bench.made(cname(bench.name()), THEM)
        for take_over in (False, True):
            step = bench.step(cname(wanted.domain, OTHER_TARGET), take_over=take_over)
            assert (step.standing, step.change) == (Standing.FOREIGN, None)
        assert bench.release(wanted) is None
        assert bench.has(wanted.domain) == a_cname()

    def test_records_of_people_stay_unless_they_may_be_taken_over(self, bench):
        domain = bench.name()
        bench.put(RecordSet(domain, "A", ("192.0.2.1", "192.0.2.2"), 120))
        step = bench.step(cname(domain))
        assert (step.standing, step.change) == (Standing.TAKEN, None)
        assert [each.values for each in step.there] == [("192.0.2.1", "192.0.2.2")]
        bench.write(bench.step(cname(domain), take_over=True))
        assert bench.has(domain) == a_cname()

    def test_records_of_people_that_are_as_wanted_stay_theirs(self, bench):
        domain = bench.name()
        bench.put(RecordSet(domain, "CNAME", (TARGET,), 900))
        step = bench.step(cname(domain))
        assert (step.standing, step.change) == (Standing.OTHERS, None)

    def test_a_rare_type_is_in_the_way_of_a_cname_too(self, bench):
        step = bench.step(cname(f"key.many.{bench.zone.name}"), take_over=True)
        assert (step.standing, [each.type for each in step.there]) == (Standing.TAKEN, [bench.rare])

    @pytest.mark.parametrize("kind", ["CNAME", "A", "MX"])
    def test_what_appears_before_the_write_stays(self, bench, kind):
        domain = bench.name()
        step = bench.step(cname(domain))
        values = {"CNAME": ("people.example.net",), "A": ("192.0.2.1",), "MX": ("10 mail.example.net.",)}
        bench.put(RecordSet(domain, kind, values[kind], 120))
        bench.fails(step.change)
        assert bench.has(domain) == {(kind, values[kind], 120)}
        assert bench.has(ownership.mark_name(domain)) == set()

    @pytest.mark.parametrize("kind", ["MX", "TXT", "rare"])
    def test_what_appears_beside_a_replaced_record_stays_and_so_does_that(self, bench, kind):
        """A server ignores a CNAME beside others, after it has deleted what the CNAME replaces."""
        domain = bench.name()
        bench.put(RecordSet(domain, "A", ("192.0.2.1",), 120))
        step = bench.step(cname(domain), take_over=True)
        kind = bench.rare if kind == "rare" else kind
        values = {"MX": "10 mail.example.net.", "TXT": "text", "SSHFP": f"4 2 {'ab' * 32}"}
        value = values.get(kind, "elsewhere.example.net")
        bench.put(RecordSet(domain, kind, (value,), 120))
        bench.fails(step.change)
        assert {each[0] for each in bench.has(domain)} == {"A", kind}
        assert bench.has(ownership.mark_name(domain)) == set()

    def test_a_record_that_people_changed_before_the_write_stays(self, bench):
        wanted = bench.made(cname(bench.name()))
        step = bench.step(cname(wanted.domain, OTHER_TARGET))
        bench.put(RecordSet(wanted.domain, "CNAME", ("people.example.net",), 120))
        bench.fails(step.change)
        assert bench.has(wanted.domain) == a_cname("people.example.net", 120)

    def test_a_record_whose_mark_went_to_another_owner_before_the_write_stays(self, bench):
        wanted = bench.made(cname(bench.name()))
        step, release = bench.step(cname(wanted.domain, OTHER_TARGET)), bench.release(wanted)
        bench.put(ownership.mark(wanted.domain, THEM))
        bench.fails(step.change)
        bench.fails(release)
        assert bench.has(wanted.domain) == a_cname()
        assert bench.has(ownership.mark_name(wanted.domain))

    def test_a_record_whose_mark_was_removed_before_the_write_stays(self, bench):
        wanted = bench.made(cname(bench.name()))
        step, release = bench.step(cname(wanted.domain, OTHER_TARGET)), bench.release(wanted)
        bench.drop(ownership.mark_name(wanted.domain), "TXT")
        bench.fails(step.change)
        bench.fails(release)
        assert bench.has(wanted.domain) == a_cname()

    def test_an_address_beside_a_cname_is_refused_and_changes_nothing(self, bench):
        domain = bench.name()
        address = Wanted(domain, (RecordSet(domain, "A", ("192.0.2.1",), 60),))
        step = bench.step(address)
        bench.put(RecordSet(domain, "CNAME", ("people.example.net",), 120))
        bench.fails(step.change)
        assert bench.has(domain) == a_cname("people.example.net", 120)

    def test_a_cname_is_replaced(self, bench):
        wanted = bench.made(cname(bench.name()))
        step = bench.step(cname(wanted.domain, OTHER_TARGET))
        assert step.corrects
        bench.write(step)
        assert bench.has(wanted.domain) == a_cname(OTHER_TARGET)

    def test_a_ttl_is_corrected(self, bench):
        wanted = bench.made(cname(bench.name()))
        bench.write(bench.step(cname(wanted.domain, ttl=90)))
        assert bench.has(wanted.domain) == a_cname(ttl=90)

    def test_addresses_become_a_cname_and_addresses_again(self, bench):
        domain = bench.name()
        records = (
            RecordSet(domain, "A", ("192.0.2.1",), 60),
            RecordSet(domain, "AAAA", ("2001:db8::1",), 60),
        )
        both = bench.made(Wanted(domain, records))
        bench.write(bench.step(cname(domain)))
        assert bench.has(domain) == a_cname()
        bench.write(bench.step(both))
        assert bench.has(domain) == {("A", ("192.0.2.1",), 60), ("AAAA", ("2001:db8::1",), 60)}

    def test_a_release_leaves_nothing(self, bench):
        wanted = bench.made(cname(bench.name()))
        bench.store.write(bench.zone, bench.release(wanted))
        assert bench.has(wanted.domain) == bench.has(ownership.mark_name(wanted.domain)) == set()
        assert bench.release(wanted) is None

    def test_a_release_deletes_what_is_there_with_another_ttl(self, bench):
        wanted = bench.made(cname(bench.name()))
        change = bench.release(wanted)
        bench.put(RecordSet(wanted.domain, "CNAME", (TARGET,), 7200))
        if bench.compares_ttls:
            bench.fails(change)
            change = bench.release(wanted)
        bench.store.write(bench.zone, change)
        assert bench.has(wanted.domain) == bench.has(ownership.mark_name(wanted.domain)) == set()

    def test_a_release_leaves_what_people_changed(self, bench):
        wanted = bench.made(cname(bench.name()))
        bench.put(RecordSet(wanted.domain, "CNAME", ("people.example.net",), 60))
        bench.store.write(bench.zone, bench.release(wanted))
        assert bench.has(wanted.domain) == a_cname("people.example.net")
        assert bench.has(ownership.mark_name(wanted.domain)) == set()

    def test_a_wildcard_is_a_record_like_any_other(self, bench):
        wanted = bench.made(cname(bench.name("*.")))
        assert bench.has(wanted.domain) == a_cname()
        assert bench.step(wanted).standing is Standing.OURS
        bench.store.write(bench.zone, bench.release(wanted))
        assert bench.has(wanted.domain) == set()

    def test_a_name_below_a_wildcard_has_no_records_of_its_own(self, bench):
        """A query is answered from the wildcard, for the name and for the name of its mark."""
        domain = bench.name().replace(f".{bench.zone.name}", f".wild.{bench.zone.name}")
        wanted = bench.made(cname(domain))
        assert bench.has(domain) == a_cname()
        bench.store.write(bench.zone, bench.release(wanted))
        assert bench.has(domain) == set()
        assert bench.has(f"*.wild.{bench.zone.name}")

    @pytest.mark.parametrize(
        "text",
        ["x" * 700, 'a "quoted" text', "back\\slash; and, more", "späte Grüße", "", '\\034 "\\" \''],
        ids=["long", "quoted", "escaped", "accents", "empty", "all"],
    )
    def test_a_text_is_as_it_was_given(self, bench, text):
        domain = bench.name()
        wanted = bench.made(Wanted(domain, (RecordSet(domain, "TXT", (text,), 60),)))
        assert bench.has(domain) == {("TXT", (text,), 60)}
        assert bench.step(wanted).standing is Standing.OURS
        bench.write(bench.step(Wanted(domain, (RecordSet(domain, "TXT", ("other",), 60),))))
        assert bench.has(domain) == {("TXT", ("other",), 60)}

    def test_international_names_are_a_labels(self, bench):
        domain = bench.name("xn--bcher-kva.")
        wanted = bench.made(cname(domain, "xn--mgbh0fb.example.net"))
        assert bench.has(domain) == a_cname("xn--mgbh0fb.example.net")
        assert bench.step(wanted).standing is Standing.OURS

    def test_a_change_whose_answer_is_lost_may_have_been_made(self, bench):
        wanted = cname(bench.name())
        step = bench.step(wanted)
        assert step.change is not None
        with bench.losing() as store, pytest.raises(DnsError) as told:
            store.write(bench.zone, step.change)
        assert told.value.failure is Failure.UNCERTAIN, told.value
        assert bench.step(wanted).standing is Standing.OURS
        bench.fails(step.change)

    def test_of_several_writers_one_succeeds(self, bench):
        domain, count = bench.name(), 4
        each = [(Owner.of("i", f"n{n}", "r"), f"d{n}.cloudfront.net") for n in range(count)]
        steps = [bench.step(cname(domain, target), owner) for owner, target in each]
        together = threading.Barrier(count)

        def write(step: Step) -> object:
            together.wait()
            try:
                return bench.write(step)
            except DnsError as error:
                return error.failure

        with ThreadPoolExecutor(count) as pool:
            results = list(pool.map(write, steps))
        (record,), (mark,) = bench.has(domain), bench.has(ownership.mark_name(domain))
        assert len(record[1]) == len(mark[1]) == 1
        if not bench.compares:
            return
        written = [n for n, one in enumerate(results) if isinstance(one, Written)]
        assert len(written) == 1
        assert [one for one in results if not isinstance(one, Written)] == [Failure.CHANGED] * (count - 1)
        owner, target = each[written[0]]
        assert (record[1], mark[1]) == ((target,), ownership.mark(domain, owner).values)

    def test_a_name_that_is_none_is_refused(self, bench):
        domain = f"{'x' * 64}.{bench.zone.name}"
        record = replace(cname("a.example").records[0], name=domain)
        bench.fails(Change(domain, creates=(record,)), Failure.REFUSED)
