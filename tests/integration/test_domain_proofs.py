"""Proofs of domains on the real control plane: what a claim waits for, and what another namespace gets with
a copy of the record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.world import World
from tests.contract.dns.answering import HOST, Answering, answering
from tests.integration.claims import Claims
from tests.integration.hostile import Teams
from tests.integration.test_bad_claims import added_plans
from tests.integration.test_references import look_again
from tests.integration.watching import Object, condition, is_true

PLAN = {"distributionId": "E1EDGETENANTS", "domainProof": {"mode": "Required"}}


@contextmanager
def provider_with(world: World, *flags: str) -> Iterator[None]:
    """The provider runs with these flags meanwhile."""
    world.processes.stop("provider")
    world.processes.start("provider", flags=flags)
    try:
        yield
    finally:
        world.processes.restart("provider")


@pytest.fixture(scope="module")
def dns() -> Iterator[Answering]:
    with answering() as server:
        yield server


def records(claims: Claims, name: str, resource: str = "tenantclaim") -> list[Object]:
    """The records that prove its domains, as its status shows them."""
    shown = claims.get(name, resource).get("status", {}).get("dnsInstructions") or ()
    return [each for each in shown if each["purpose"] == "Proof"]


def states(claims: Claims, name: str) -> list[str]:
    return [each["state"] for each in records(claims, name)]


def proof(claims: Claims, name: str, resource: str = "tenantclaim") -> Object:
    """The first of them."""
    found: list[Object] = claims.wait(f"the proof of {name}", lambda: records(claims, name, resource))
    return found[0]


def live(claims: Claims, name: str, reason: str) -> Object:
    says = lambda: condition(claims.get(name), "Live").get("reason") == reason  # noqa: E731
    claims.wait(f"Live {reason} of {name}", says, 90)
    return condition(claims.get(name), "Live")


def creations(world: World) -> int:
    return int(world.emulator.calls()["by_operation"].get("CreateDistributionTenant", 0))


def test_of_two_namespaces_the_one_with_the_proof_has_the_domain(
    claims: Claims, world: World, dns: Answering
) -> None:
    thief = Claims(world, f"{claims.namespace}-b")
    resolvers = f"--dns-resolvers={HOST}:{dns.port}"
    with added_plans(world, {"proven": PLAN}), provider_with(world, resolvers):
        world.emulator.reset_calls()
        for each in (thief, claims):
            each.apply(each.claim("shop", plan="proven", domains=["proven.example.com"]))
        own, others = proof(claims, "shop"), proof(thief, "shop")
        assert own["name"] == others["name"] == "_edgetenants-proof.proven.example.com"
        assert own["value"] != others["value"]
        message = live(claims, "shop", "WaitingForDNS")["message"]
        assert "status.dnsInstructions" in message
        live(thief, "shop", "WaitingForDNS")
        assert creations(world) == 0

        # The owner of the domain chose one of them; the other replays what DNS shows.
        dns.texts[own["name"]] = [own["value"]]
        claims.wait_ready("shop", seconds=90)
        assert proof(claims, "shop")["state"] == "Present"
        claims.wait("Live", lambda: condition(claims.get("shop"), "Live").get("status") == "True")
        # Until the provider asks who has the domain again, it says what it said before.
        told = condition(thief.get("shop"), "Live")
        assert told["reason"] in ("WaitingForDNS", "DomainConflict")
        assert claims.namespace not in told["message"].replace(thief.namespace, "")
        assert not thief.tenants("shop")
        assert creations(world) == 1
        value = proof(claims, "shop")["value"]

        # The owner takes it back: nothing goes down, and nothing comes.
        dns.texts.clear()
        both = ["proven.example.com", "second.example.com"]
        claims.patch("shop", {"domains": both})
        claims.wait("the second to be asked for", lambda: len(records(claims, "shop")) == 2, 90)
        # Otherwise, the provider looks for a proof that was there once a day.
        look_again(claims, claims.managed("shop")["metadata"]["name"], "now")
        claims.wait("the second to wait", lambda: states(claims, "shop") == ["Missing", "Missing"], 90)
        [tenant] = claims.tenants("shop")
        assert [each["Domain"] for each in tenant["Domains"]] == ["proven.example.com"]
        assert is_true(claims.managed("shop"), "DNSReady")
        for each in records(claims, "shop"):
            dns.texts[each["name"]] = [each["value"]]
        claims.wait_ready("shop", seconds=90)

        # A claim that is created again needs no other record.
        claims.delete("shop")
        claims.wait_gone(["shop"])
        thief.wait("the thief to wait", lambda: not thief.tenants("shop"))
        claims.apply(claims.claim("shop", plan="proven", domains=["proven.example.com"]))
        claims.wait_ready("shop", seconds=90)
        assert proof(claims, "shop")["value"] == value
        thief.delete_all()


def test_a_team_that_writes_managed_resources_does_not_leave_the_proof_out(
    teams: Teams, world: World, dns: Answering
) -> None:
    red = teams.red
    flags = ("--require-domain-proof", f"--dns-resolvers={HOST}:{dns.port}")
    with provider_with(world, *flags):
        world.emulator.reset_calls()
        loose = {"mode": "NotRequired", "exempt": ["**.example.com"]}
        red.apply(red.tenant("taken", forProvider={"domains": ["taken.example.com"]}, domainProof=loose))
        record = proof(red, "taken", "edt")
        ready = lambda: condition(red.get("taken", "edt"), "Ready")  # noqa: E731
        red.wait("the refusal", lambda: ready().get("reason") == "DomainValidationPending")
        red.forge("taken", {"dnsInstructions": [{**record, "state": "Present"}]})
        red.wait("the state to be put right", lambda: proof(red, "taken", "edt")["state"] == "Missing")
        assert creations(world) == 0
        dns.texts[record["name"]] = [record["value"]]
        red.wait("it to be served", lambda: is_true(red.get("taken", "edt"), "Ready"), 90)
        red.remove("taken")
