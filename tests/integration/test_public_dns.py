"""What the status of a claim says of its records in public DNS, on the real control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.world import World
from tests.contract.dns.answering import HOST, Answering, answering
from tests.integration.claims import Claims
from tests.integration.test_domain_proofs import provider_with
from tests.integration.test_references import look_again


@pytest.fixture(scope="module")
def dns() -> Iterator[Answering]:
    with answering() as server:
        yield server


def seen(claims: Claims, name: str) -> dict[str, tuple[str, str | None]]:
    """State and `found` of each record, by name."""
    every = claims.get(name).get("status", {}).get("dnsInstructions") or ()
    return {each["name"]: (each["state"], each.get("found")) for each in every}


def test_a_claim_shows_what_is_in_the_place_of_its_record(
    claims: Claims, world: World, dns: Answering
) -> None:
    domain = "public-dns.example.com"
    dns.aliases[domain] = "old.example.net"
    world.emulator.make_record(domain, "CNAME", "old.example.net")
    with provider_with(world, "--dns-check=recursive", f"--dns-resolvers={HOST}:{dns.port}"):
        claims.apply(claims.claim("shop", domains=[domain]))
        claims.wait_ready("shop", seconds=90)
        wrong = ("Wrong", "CNAME old.example.net")
        claims.wait("what is there instead", lambda: seen(claims, "shop").get(domain) == wrong, 90)

        # The customer corrects it.
        dns.aliases[domain] = claims.managed("shop")["status"]["atProvider"]["routingEndpoint"]
        look_again(claims, claims.managed("shop")["metadata"]["name"], "now")
        claims.wait("the record", lambda: seen(claims, "shop").get(domain) == ("Present", None), 60)

        # No server answers: what was seen last counts, and nothing waits.
        dns.silent.add(domain)
        look_again(claims, claims.managed("shop")["metadata"]["name"], "again")
        claims.patch("shop", {"parameters": {"tenantName": "other"}})
        claims.wait_ready("shop", seconds=90)
        assert seen(claims, "shop")[domain] == ("Present", None)
