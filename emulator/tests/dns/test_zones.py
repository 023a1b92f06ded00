"""What zones answer, without any server."""

import doctest

import pytest

from edgetenants_emulator.zones import authority
from edgetenants_emulator.zones.authority import Code, RecordSet, Zone, lookup

SOA = RecordSet("example.com", "SOA", ("ns.test. host.test. 1 2 3 4 5",))
EXAMPLE = Zone.of(
    "Example.com.",
    [
        SOA,
        RecordSet("example.com", "A", alias="edge.test."),
        RecordSet("www.example.com", "CNAME", ("Shop.Example.com.",)),
        RecordSet("shop.example.com", "CNAME", ("edge.test.",)),
        RecordSet("gone.example.com", "CNAME", ("nothing.edge.test.",)),
        RecordSet("away.example.com", "CNAME", ("somewhere.else.",)),
        RecordSet("round.example.com", "CNAME", ("trip.example.com.",)),
        RecordSet("trip.example.com", "CNAME", ("round.example.com.",)),
        RecordSet("*.wild.example.com", "A", ("192.0.2.9",)),
        RecordSet("own.wild.example.com", "TXT", ('"own"',)),
        RecordSet("deep.down.example.com", "A", ("192.0.2.8",)),
        RecordSet("sub.example.com", "NS", ("ns.elsewhere.",)),
        RecordSet("loop.example.com", "A", alias="loop.example.com"),
        RecordSet("void.example.com", "A", alias="nothing.edge.test"),
        RecordSet("other.example.com", "A", alias="somewhere.else"),
    ],
)
EDGE = Zone.of("edge.test", [RecordSet("edge.test", "A", ("192.0.2.1",))])
INNER = Zone.of("inner.example.com", [RecordSet("a.inner.example.com", "A", ("192.0.2.7",))])
KNOWN = {zone.name: zone for zone in (EXAMPLE, EDGE, INNER)}


def test_the_examples_in_docstrings():
    assert doctest.testmod(authority).failed == 0


CASES = [
    ("an alias at the apex", "example.com", "A", Code.NO_ERROR, ["A 192.0.2.1"]),
    ("case does not count", "WWW.Example.COM.", "CNAME", Code.NO_ERROR, ["CNAME Shop.Example.com."]),
    (
        "a chain",
        "www.example.com",
        "A",
        Code.NO_ERROR,
        ["CNAME Shop.Example.com.", "CNAME edge.test.", "A 192.0.2.1"],
    ),
    ("a chain to nothing", "gone.example.com", "A", Code.NAME_ERROR, ["CNAME nothing.edge.test."]),
    ("a chain out of here", "away.example.com", "A", Code.NO_ERROR, ["CNAME somewhere.else."]),
    ("no such name", "none.example.com", "A", Code.NAME_ERROR, []),
    ("no such type", "example.com", "AAAA", Code.NO_ERROR, []),
    ("between the apex and a record", "down.example.com", "A", Code.NO_ERROR, []),
    ("a wildcard", "x.wild.example.com", "A", Code.NO_ERROR, ["A 192.0.2.9"]),
    ("a wildcard, two labels", "x.y.wild.example.com", "A", Code.NO_ERROR, ["A 192.0.2.9"]),
    ("a wildcard of another type", "x.wild.example.com", "TXT", Code.NO_ERROR, []),
    ("beside a wildcard", "own.wild.example.com", "A", Code.NO_ERROR, []),
    ("below a name beside a wildcard", "x.own.wild.example.com", "A", Code.NAME_ERROR, []),
    ("handed on", "a.sub.example.com", "A", Code.NO_ERROR, []),
    ("the innermost zone", "a.inner.example.com", "A", Code.NO_ERROR, ["A 192.0.2.7"]),
    ("an alias to itself", "loop.example.com", "A", Code.NO_ERROR, []),
    ("an alias to nothing", "void.example.com", "A", Code.NO_ERROR, []),
    ("an alias out of here", "other.example.com", "A", Code.NO_ERROR, []),
    ("outside", "example.org", "A", Code.REFUSED, []),
    ("outside, by a part of a label", "anexample.com", "A", Code.REFUSED, []),
    ("the root", ".", "NS", Code.REFUSED, []),
]


@pytest.mark.parametrize(("case", "name", "kind", "code", "expected"), CASES, ids=[c[0] for c in CASES])
def test_an_answer(case, name, kind, code, expected):
    found = lookup(KNOWN, name, kind)
    assert found.code is code
    assert [f"{each.type} {value}" for each in found.records for value in each.values] == expected


def test_a_wildcard_answers_in_the_name_asked_for():
    assert lookup(KNOWN, "x.wild.example.com", "A").records[0].name == "x.wild.example.com"


@pytest.mark.parametrize("name", ["none.example.com", "down.example.com"])
def test_nothing_comes_with_the_soa(name):
    assert lookup(KNOWN, name, "A").authority == (SOA,)


def test_a_zone_handed_on_names_its_servers():
    found = lookup(KNOWN, "a.sub.example.com", "A")
    assert (found.authority[0].values, found.authoritative) == (("ns.elsewhere.",), False)


def test_a_circle_of_cnames_ends():
    found = lookup(KNOWN, "round.example.com", "A")
    assert found.code is Code.NO_ERROR
    assert 2 <= len(found.records) <= 16
