"""Lookups at BIND: as the zone's name server, and as a resolver that checks DNSSEC."""

from __future__ import annotations

import dns.query
import dns.rcode
import dns.tsig
import dns.update
import pytest

from provider.dns.public import Authoritative, Outcome, Recursive, caa
from provider.dns.public import Server as Address
from provider.dns.public.verdicts import Seen, look
from tests.contract.dns import servers
from tests.contract.dns.servers import HOST, KEY, SMALL, ZONE

ENDPOINT = "d111111abcdef8.cloudfront.test"
RECORDS = (
    ("right", "CNAME", "next.example.test."),
    ("next", "CNAME", f"{ENDPOINT}."),
    ("wrong", "A", "192.0.2.9"),
    ("loop", "CNAME", "loop2.example.test."),
    ("loop2", "CNAME", "loop.example.test."),
    ("forbidden", "CAA", '0 issue "letsencrypt.org"'),
    ("proof", "TXT", '"one " "value"'),
    *(("big", "TXT", f'"{number:03}{"x" * 240}"') for number in range(30)),
)


@pytest.fixture(scope="module")
def resolver(packages, bind, tmp_path_factory):
    with servers.resolver(packages, tmp_path_factory.mktemp("resolver"), bind) as running:
        update = dns.update.Update(ZONE, keyring=dns.tsig.Key(KEY.name, KEY.secret, KEY.algorithm))
        for name, type_, value in RECORDS:
            update.add(name, 300, type_, value)
        answer = dns.query.tcp(update, HOST, port=bind.port, timeout=5)
        assert answer.rcode() == dns.rcode.NOERROR
        yield running


@pytest.fixture
def recursive(resolver):
    return Recursive((Address(HOST, resolver.port),))


@pytest.fixture(params=["recursive", "authoritative"])
def lookup(request, recursive, bind):
    return recursive if request.param == "recursive" else Authoritative(recursive, port=bind.port)


def test_a_chain_is_followed(lookup):
    answer = lookup.ask(f"right.{ZONE}", "A")
    assert answer.chain[:2] == (f"next.{ZONE}", ENDPOINT)
    assert look(lookup, "CNAME", f"right.{ZONE}", ENDPOINT).seen is Seen.PRESENT


def test_what_is_missing_and_what_is_wrong(lookup):
    assert lookup.ask(f"missing.{ZONE}", "A").outcome is Outcome.NO_NAME
    assert lookup.ask(f"wrong.{ZONE}", "AAAA").outcome is Outcome.NO_TYPE
    assert look(lookup, "CNAME", f"missing.{ZONE}", ENDPOINT).seen is Seen.MISSING
    assert look(lookup, "TXT", f"_cf-challenge.missing.{ZONE}", ENDPOINT).seen is Seen.MISSING


def test_texts_are_joined_and_large_answers_come_over_tcp(lookup):
    assert lookup.ask(f"proof.{ZONE}", "TXT").values == ("one value",)
    assert len(lookup.ask(f"big.{ZONE}", "TXT").values) == 30


def test_a_circle_of_cnames_fails(lookup):
    answer = lookup.ask(f"loop.{ZONE}", "A")
    assert answer.outcome is Outcome.FAILED


def test_caa_of_a_name_and_of_those_above(lookup):
    assert "letsencrypt.org" in caa.climb(lookup, f"forbidden.{ZONE}").forbids
    assert f"forbidden.{ZONE}" in caa.climb(lookup, f"a.b.forbidden.{ZONE}").forbids
    assert not caa.climb(lookup, f"wrong.{ZONE}").forbids


def test_a_wildcard_is_asked_for_as_it_stands(lookup):
    assert lookup.ask(f"*.wild.{ZONE}", "CNAME").values == ("elsewhere.example.net",)


def test_bogus_dnssec_is_told_from_other_failures(recursive):
    assert recursive.ask(SMALL, "SOA").outcome is Outcome.BOGUS
    assert recursive.ask("away.example.test", "A").outcome is Outcome.FAILED


def test_the_name_servers_are_named(recursive, bind):
    answer = Authoritative(recursive, port=bind.port).ask(f"wrong.{ZONE}", "A")
    assert (answer.values, answer.servers) == (("192.0.2.9",), (f"ns.{ZONE}",))
