"""CAA, and the state of a record, as tables."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.dns.public import Answer, Authoritative, Outcome
from provider.dns.public.caa import allows, climb
from provider.dns.public.verdicts import Seen, look

NAME, ENDPOINT = "shop.example.com", "d111111abcdef8.cloudfront.net"


class Known:
    def __init__(self, *answers: Answer) -> None:
        self.answers = {(each.name, each.type): each for each in answers}

    def ask(self, name: str, kind: str) -> Answer:
        return self.answers.get((name, kind)) or Answer(Outcome.NO_TYPE, name, kind)


def found(name: str, type_: str, *values: str, chain: tuple[str, ...] = ()) -> Answer:
    return Answer(Outcome.FOUND, name, type_, chain, values, servers=("ns.test",))


@pytest.mark.parametrize(
    ("values", "wildcard", "allowed"),
    [
        ([], False, True),
        (['0 iodef "mailto:a@example.com"'], False, True),
        (['0 issue "amazon.com"'], False, True),
        (['0 issue "Amazon.com; account=1"'], False, True),
        (['0 ISSUE "awstrust.com"'], False, True),
        (['0 issue "letsencrypt.org"'], False, False),
        (['0 issue ";"'], False, False),
        (['0 issue "notamazon.com"'], False, False),
        (['0 issue "letsencrypt.org"', '0 issue "amazonaws.com"'], False, True),
        (['0 issue "amazon.com"', '0 issuewild ";"'], True, False),
        (['0 issue "amazon.com"', '0 issuewild ";"'], False, True),
        (['0 issue "letsencrypt.org"', '0 issuewild "amazontrust.com"'], True, True),
        (['0 issue "letsencrypt.org"'], True, False),
        (['0 issuewild "letsencrypt.org"'], False, True),
        (['0 issue "amazon.com"', '128 future "x"'], False, False),
        (['0 issue "amazon.com"', '0 future "x"'], False, True),
        (['128 issue "amazon.com"'], False, True),
        (["no caa"], False, True),
    ],
)
def test_caa(values: list[str], wildcard: bool, allowed: bool) -> None:
    assert allows(values, wildcard=wildcard) is allowed


def test_the_first_name_upwards_with_records_counts() -> None:
    lookup = Known(found("example.com", "CAA", '0 issue ";"'), found("com", "CAA", '0 issue "amazon.com"'))
    assert climb(lookup, f"*.a.{NAME}").name == "example.com"
    below = Known(found(NAME, "CAA", '0 issue "amazon.com"'), found("example.com", "CAA", '0 issue ";"'))
    assert climb(below, NAME).allowed


def test_a_failed_lookup_forbids_nothing_and_says_why() -> None:
    lookup = Known(
        Answer(Outcome.FAILED, NAME, "CAA", why="silent"), found("example.com", "CAA", '0 issue ";"')
    )
    found_ = climb(lookup, NAME)
    assert (found_.allowed, found_.why, found_.forbids) == (True, "silent", "")


A, AAAA = "A", "AAAA"


@pytest.mark.parametrize(
    ("type_", "answers", "seen", "there"),
    [
        ("CNAME", [found(NAME, A, "192.0.2.1", chain=(ENDPOINT,))], Seen.PRESENT, ()),
        ("CNAME", [found(NAME, A, chain=("www.test", ENDPOINT))], Seen.PRESENT, ()),
        ("CNAME", [Answer(Outcome.NO_NAME, NAME, A, (ENDPOINT,))], Seen.PRESENT, ()),
        ("CNAME", [Answer(Outcome.NO_NAME, NAME, A)], Seen.MISSING, ()),
        ("CNAME", [], Seen.MISSING, ()),
        ("CNAME", [found(NAME, A, chain=("old.test",))], Seen.WRONG, ("CNAME old.test",)),
        (
            "CNAME",
            [found(NAME, A, "192.0.2.9"), found(ENDPOINT, A, "192.0.2.1")],
            Seen.WRONG,
            ("A 192.0.2.9",),
        ),
        (
            "CNAME",
            [found(NAME, A, "192.0.2.1"), found(ENDPOINT, A, "192.0.2.1")],
            Seen.PRESENT,
            (),
        ),
        (
            "ALIAS",
            [found(NAME, A, "192.0.2.9"), found(ENDPOINT, A, "192.0.2.1")],
            Seen.UNKNOWN,
            ("A 192.0.2.9",),
        ),
        (
            "ALIAS",
            [found(NAME, A, "192.0.2.1"), found(ENDPOINT, A, "192.0.2.1"), found(NAME, AAAA, "2001:db8::9")],
            Seen.WRONG,
            ("A 192.0.2.1", "AAAA 2001:db8::9"),
        ),
        ("ALIAS", [Answer(Outcome.FAILED, NAME, A, why="silent")], Seen.UNKNOWN, ()),
        ("ALIAS", [Answer(Outcome.BOGUS, NAME, AAAA), found(NAME, A, "192.0.2.1")], Seen.UNKNOWN, ()),
        ("TXT", [found(NAME, "TXT", "other", f"{ENDPOINT}.")], Seen.PRESENT, ()),
        ("TXT", [found(NAME, "TXT", "other")], Seen.WRONG, ("TXT other",)),
        ("TXT", [Answer(Outcome.NO_NAME, NAME, "TXT")], Seen.MISSING, ()),
        ("TXT", [Answer(Outcome.FAILED, NAME, "TXT")], Seen.UNKNOWN, ()),
    ],
)
def test_the_state_of_a_record(type_: str, answers: list[Answer], seen: Seen, there: tuple[str, ...]) -> None:
    finding = look(Known(*answers), type_, NAME, ENDPOINT)
    assert (finding.seen, finding.found) == (seen, there)


def test_a_resolver_that_rejects_signatures_is_shown() -> None:
    assert look(Known(Answer(Outcome.BOGUS, NAME, A, why="x")), "CNAME", NAME, ENDPOINT).bogus


def test_a_look_at_name_servers_without_an_address_ends_in_time() -> None:
    """The zones of the name servers are dead, and each lookup of one takes as long as it may."""
    clock = FakeClock()

    class Dead(Known):
        def ask(self, name: str, kind: str) -> Answer:
            if kind != "NS":
                clock.advance(6.0)
            return super().ask(name, kind)

    hosts = [f"ns{number}.dead{number}.test" for number in range(4)]
    lookup = Authoritative(Dead(found("example.com", "NS", *hosts)), clock=clock)
    assert lookup.ask(NAME, "A").outcome is Outcome.FAILED
    assert clock.now() <= 10.0 + 6.0
