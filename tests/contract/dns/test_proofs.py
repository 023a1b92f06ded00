"""Proofs of domains against a real server: what its owner publishes with dynamic updates is found."""

from __future__ import annotations

import dns.query
import dns.tsig
import dns.update
import pytest

from provider.cloudfront.domain import proof
from provider.cloudfront.domain.text_lookup import LookupFailed, Resolvers, Texts
from provider.cloudfront.memory.proof_answers import Standing
from tests.contract.dns.servers import HOST, KEY, ZONE, Running

SHOP = f"proven.{ZONE}"
MINE = proof.value("i", "shop", SHOP)


def publish(running: Running, domain: str, *values: str) -> None:
    """The owner of the zone replaces the TXT records of the proof's name."""
    key = dns.tsig.Key(KEY.name, KEY.secret, KEY.algorithm)
    update = dns.update.UpdateMessage(ZONE, keyring=key)
    update.delete(f"{proof.name(domain)}.", "TXT")
    for each in values:
        update.add(f"{proof.name(domain)}.", 60, "TXT", f'"{each}"')
    assert dns.query.tcp(update, HOST, timeout=5, port=running.port).rcode() == 0


def look(running: Running, domain: str) -> Texts:
    return Resolvers([(HOST, running.port)])(proof.name(domain), 3.0)


@pytest.mark.parametrize("server", ["bind", "knot"])
class TestProofs:
    @pytest.fixture
    def running(self, request, server) -> Running:
        return request.getfixturevalue(server)

    def test_a_proof_comes_and_goes(self, running):
        assert look(running, SHOP) == Texts()
        publish(running, SHOP, "v=spf1 -all", MINE)
        assert proof.judged(look(running, SHOP), MINE).standing is Standing.PROVEN
        publish(running, SHOP)
        assert look(running, SHOP) == Texts()

    def test_a_long_answer_comes_over_tcp(self, running):
        others = [f"{'x' * 200}{number}" for number in range(30)]
        publish(running, SHOP, *others, MINE)
        assert proof.judged(look(running, SHOP), MINE).standing is Standing.PROVEN
        publish(running, SHOP)

    def test_a_wildcard_alias_proves_nothing(self, running):
        # *.wild is a CNAME to a name outside the zone.
        found = look(running, f"wild.{ZONE}")
        assert found.alias_of == "elsewhere.example.net"
        assert proof.judged(found, MINE).standing is Standing.WRONG

    def test_a_zone_that_the_server_does_not_have_is_no_answer(self, running):
        with pytest.raises(LookupFailed, match="REFUSED"):
            look(running, "acme.com")
