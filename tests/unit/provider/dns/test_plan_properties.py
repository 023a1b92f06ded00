"""Plans of random zones: what must hold for all of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from provider.dns import ownership, plan
from provider.dns.expectations import differs_after, differs_before
from provider.dns.ownership import Owner
from provider.dns.plan import Standing, Wanted
from provider.dns.records import RecordSet
from provider.dns.store import Change, Found
from tests.unit.provider.dns.memory import MemoryStore

OWNERS = [Owner.of("i", namespace, resource) for namespace in "ab" for resource in ("x", "y")]
DOMAINS = ["a.example.test", "*.a.example.test", "example.test"]
LABELS = ["", "_challenge."]
TARGETS = ["d1.cloudfront.net", "d2.cloudfront.net"]
VALUES = {
    "A": ["192.0.2.1", "192.0.2.2"],
    "AAAA": ["2001:db8::1"],
    "CNAME": [*TARGETS, "people.example.net"],
    "ALIAS": TARGETS,
    "TXT": ["text", *TARGETS],
    "MX": ["10 mail.example.net.", f"10 {TARGETS[0]}."],
    "HTTPS": [f"1 {TARGETS[0]}."],
    "SSHFP": ["4 2 ab"],
}
MADE = {"A", "AAAA", "CNAME", "ALIAS", "TXT"}


def ours(record: RecordSet) -> bool:
    return all(each in TARGETS for each in record.values)


@st.composite
def some_records(draw, name: str) -> list[RecordSet]:
    """What a name may have: a CNAME alone, or others, each type once."""
    kinds = draw(st.sets(st.sampled_from(sorted(VALUES)), max_size=3))
    if "CNAME" in kinds:
        kinds = {"CNAME"}
    return [draw(a_record(name, kind)) for kind in sorted(kinds)]


@st.composite
def a_record(draw, name: str, kind: str) -> RecordSet:
    most = 1 if kind in ("CNAME", "ALIAS") else 2
    values = draw(st.sets(st.sampled_from(VALUES[kind]), min_size=1, max_size=most))
    routed = draw(st.integers(0, 9)) == 0
    ttl = draw(st.sampled_from([60, 300]))
    return RecordSet(name, kind, tuple(sorted(values)), ttl, alias=kind == "ALIAS", routed=routed)


@st.composite
def some_wanted(draw, domain: str) -> Wanted:
    base = domain.removeprefix("*.")
    target = draw(st.sampled_from(TARGETS))
    ttl = draw(st.sampled_from([60, 300]))
    leading = draw(st.sampled_from([("CNAME",), ("A", "AAAA"), ("ALIAS",)]))
    records = [RecordSet(domain, kind, (target,), ttl, alias=kind != "CNAME") for kind in leading]
    if draw(st.booleans()):
        records.append(RecordSet(f"_challenge.{base}", "TXT", (target,), ttl))
    return Wanted(domain, tuple(records))


@st.composite
def some_mark(draw, domain: str) -> list[RecordSet]:
    """No mark, that of an owner or of two, with a text beside it, and other types at its name."""
    name = ownership.mark_name(domain)
    owners = draw(st.lists(st.sampled_from(OWNERS), max_size=2, unique=True))
    texts = {ownership.mark(domain, each).values[0] for each in owners}
    if draw(st.integers(0, 9)) == 0:
        texts.add("text of a person")
    marks = [RecordSet(name, "TXT", tuple(sorted(texts)), 300)] if texts else []
    if draw(st.integers(0, 4)) == 0:
        marks.append(RecordSet(name, "A", ("192.0.2.9",), 300))
    return marks


@st.composite
def cases(draw) -> tuple[Wanted, MemoryStore, Owner]:
    domain = draw(st.sampled_from(DOMAINS))
    wanted = draw(some_wanted(domain))
    names = [domain, f"_challenge.{domain.removeprefix('*.')}", "neighbour.example.test"]
    records = [each for name in names for each in draw(some_records(name))]
    if draw(st.booleans()):
        # Often as wanted, but for a detail.
        records = [each for each in records if each.name not in {one.name for one in wanted.records}]
        records += draw(st.lists(st.sampled_from(wanted.records), unique=True))
    zone = MemoryStore("example.test", [*records, *draw(some_mark(domain))])
    return wanted, zone, draw(st.sampled_from(OWNERS))


def read(wanted: Wanted, zone: MemoryStore) -> Found:
    return zone.read(zone.zone, wanted.names)


def is_marked(wanted: Wanted, zone: MemoryStore, owner: Owner) -> bool:
    """Whether the only text at the name of the mark, or each, is a mark of this namespace."""
    name = ownership.mark_name(wanted.domain)
    texts = [
        value for each in zone.records if (each.name, each.type) == (name, "TXT") for value in each.values
    ]
    return bool(texts) and all(f",owner={owner.owner}," in each for each in texts)


def check_is_safe(change: Change, wanted: Wanted, zone: MemoryStore, owner: Owner, *, allowed: bool) -> None:
    """It deletes what is ours or may be taken over, of types that the provider makes."""
    assert change.names <= wanted.names
    assert allowed or not change.deletes
    for each in change.deletes:
        assert each in zone.records
        assert each.type in MADE
        assert not each.routed
        if each.name == ownership.mark_name(wanted.domain):
            assert each.type == "TXT"
            assert is_marked(wanted, zone, owner)
    assert differs_before(change, read(wanted, zone)) == ""


@settings(max_examples=300)
@given(cases(), st.booleans())
def test_a_plan_is_safe_and_leads_to_rest(case, take_over):
    wanted, zone, owner = case
    step = plan.settle(wanted, read(wanted, zone), owner, take_over=take_over)
    assert (step.change is not None) == (step.standing is Standing.DUE)
    if step.standing in (Standing.TAKEN, Standing.FOREIGN):
        assert step.there
    if step.standing is Standing.OURS:
        assert is_marked(wanted, zone, owner)
        assert set(wanted.records) <= set(zone.records)
    if step.change is None:
        return
    allowed = take_over or is_marked(wanted, zone, owner)
    check_is_safe(step.change, wanted, zone, owner, allowed=allowed)
    neighbours = [each for each in zone.records if each.name not in wanted.names]
    beside = [each for each in zone.records if each.type in ("MX", "SSHFP") or each.routed]
    zone.apply(step.change)
    assert differs_after(step.change, read(wanted, zone)) == ""
    assert {*neighbours, *beside} <= set(zone.records)
    again = plan.settle(wanted, read(wanted, zone), owner)
    assert (again.standing, again.change) == (Standing.OURS, None)


@settings(max_examples=200)
@given(cases(), st.sampled_from(OWNERS))
def test_a_release_is_safe_and_leaves_nothing_to_release(case, other):
    wanted, zone, owner = case
    change = plan.release(wanted, read(wanted, zone), owner, ours)
    assert (change is None) == (not is_marked(wanted, zone, owner))
    if change is None:
        return
    check_is_safe(change, wanted, zone, owner, allowed=True)
    mark = ownership.mark_name(wanted.domain)
    assert all(ours(each) or each.name == mark for each in change.deletes)
    zone.apply(change)
    assert plan.release(wanted, read(wanted, zone), owner, ours) is None
    assert plan.release(wanted, read(wanted, zone), other, ours) is None


@settings(max_examples=200)
@given(cases())
def test_a_release_after_a_creation_leaves_what_was_there(case):
    wanted, zone, owner = case
    before = list(zone.records)
    step = plan.settle(wanted, read(wanted, zone), owner)
    if step.change is None or is_marked(wanted, zone, owner):
        return
    zone.apply(step.change)
    change = plan.release(wanted, read(wanted, zone), owner, ours)
    assert change is not None
    zone.apply(change)
    assert sorted(map(repr, zone.records)) == sorted(map(repr, before))


@settings(max_examples=100)
@given(cases(), cases())
def test_a_plan_of_other_records_than_there_are_is_never_applied(case, later):
    """Someone changed what the plan deletes, keeps or creates."""
    wanted, zone, owner = case
    step = plan.settle(wanted, read(wanted, zone), owner, take_over=True)
    if step.change is None:
        return
    _, other, _ = later
    used = (*step.change.deletes, *step.change.keeps)
    same = all(any(each.leads_as(one) for one in other.records) for each in used)
    assert same or differs_before(step.change, read(wanted, other))
    created = [replace(each, values=("other",)) for each in step.change.creates]
    crowded = MemoryStore("example.test", [*zone.records, *created])
    assert not created or differs_before(step.change, read(wanted, crowded))
