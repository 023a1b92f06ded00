"""A domain that one team serves is had by no other: not by moves, not by waiting for a gap.
No one learns whose it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from sandbox.world import World
from tests.integration.hostile import Team, Teams, unharmed
from tests.integration.test_certificates import admin
from tests.integration.watching import is_true

EXTERNAL_NAME, ADOPT = "crossplane.io/external-name", "edgetenants.io/adopt"
TAKE, GIVE = "edgetenants.io/take-domains-from", "edgetenants.io/give-domains-to"


def domains(shown: object) -> list[str]:
    return sorted(each["Domain"] for each in shown["Domains"])  # type: ignore[index]


@pytest.fixture(scope="module", autouse=True)
def moves_are_easy(world: World) -> Iterator[None]:
    """CloudFront itself keeps no one from a move: an enabled tenant may give."""
    before = admin(world, "GET", "settings")
    world.emulator.change_settings({"domain_move_needs_disabled_source": False})
    yield
    admin(world, "PATCH", "settings", before)


def test_an_onlooker_cannot_give_away_what_it_looks_at(teams: Teams) -> None:
    """It looks since before there was anything to see, so that it is the first of those that have the id."""
    blue, red = teams.blue, teams.red
    looking = {EXTERNAL_NAME: f"{blue.namespace}.mine", GIVE: f"{red.namespace}/{red.namespace}.taker"}
    red.apply(red.tenant("onlooker", annotations=looking, managementPolicies=["Observe"]))
    mine = [f"a-{blue.namespace}.example.com", f"b-{blue.namespace}.example.com"]
    shop = blue.served("mine", forProvider={"domains": mine})
    with unharmed(blue, "mine"):
        assert red.looked_at("onlooker")["status"]["atProvider"]["id"] == shop["Id"]
        taking = {TAKE: shop["Id"]}
        own = [f"taker-{red.namespace}.example.com", mine[0]]
        red.apply(red.tenant("taker", annotations=taking, forProvider={"domains": own}))
        red.told("taker", mine[0])
        red.looked_at("taker")


def test_a_forged_holder_cannot_give_either(teams: Teams) -> None:
    """As above, by a resource that says in its status that the tenant is its own."""
    blue, red = teams.blue, teams.red
    giving = {GIVE: f"{red.namespace}/{red.namespace}.second", "crossplane.io/paused": "true"}
    red.apply(red.tenant("holder", annotations=giving))
    mine = [f"c-{blue.namespace}.example.com", f"d-{blue.namespace}.example.com"]
    shop = blue.served("theirs", forProvider={"domains": mine})
    with unharmed(blue, "theirs"):
        red.forge("holder", blue.get("theirs", "edt")["status"])
        own = [f"second-{red.namespace}.example.com", mine[0]]
        red.apply(red.tenant("second", annotations={TAKE: shop["Id"]}, forProvider={"domains": own}))
        red.told("second", mine[0])
        red.looked_at("second")


def test_a_domain_of_another_is_refused_without_a_word_of_whose_it_is(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    wanted = f"wanted-{blue.namespace}"
    shop = blue.served("wanted", forProvider={"domains": ["wanted.example.com"]})
    with unharmed(blue, "wanted"):
        red.apply(red.tenant("wants", forProvider={"domains": ["wanted.example.com"]}))
        red.apply(red.claim("asks", domains=["wanted.example.com"]))
        red.told("wants", "wanted.example.com")
        red.wait("the claim to say so", lambda: "wanted.example.com" in said_live(red.get("asks")), 30)
        words = red.everything_said("wants") + red.everything_said("asks", kind="tenantclaim")
        assert [word for word in (blue.namespace, wanted, shop["Id"]) if word in words] == []


def said_live(claim: dict) -> str:  # type: ignore[type-arg]
    conditions = claim.get("status", {}).get("conditions", [])
    return " ".join(c.get("message", "") for c in conditions if c["status"] == "False")


def test_a_domain_is_not_had_in_the_gap_after_a_deletion_at_the_console(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    kept = blue.served("kept", forProvider={"domains": ["kept.example.com"]})
    red.apply(red.tenant("waits", forProvider={"domains": ["kept.example.com"]}))
    red.told("waits", "kept.example.com")
    blue.admin.emulator.remove_tenant(kept["Name"])
    for _ in range(3):
        red.looked_at("waits")
    assert red.tenants("waits") == []
    blue.wait("it to be made anew", lambda: blue.looked_at("kept") and blue.tenants("kept"), 40)
    blue.serve("kept")
    assert not is_true(red.looked_at("waits"), "Synced")


def test_a_tenant_that_is_left_in_aws_is_not_adopted_by_another_namespace(teams: Teams) -> None:
    """It serves on, so no one else may change what it serves: neither at once, nor after the seconds that a
    resource has to come back."""
    blue, red = teams.blue, teams.red
    keeping = ["Observe", "Create", "Update", "LateInitialize"]
    left = blue.served(
        "left", managementPolicies=keeping, forProvider={"domains": ["left-in-aws.example.com"]}
    )
    blue.remove("left")
    blue.wait("the resource to go", lambda: not blue.get("left", "edt"), 30)
    adopting = {EXTERNAL_NAME: left["Name"], ADOPT: left["Id"]}
    red.apply(red.tenant("finder", annotations=adopting, forProvider={"domains": ["found.example.com"]}))
    blue.wait("two rounds over the records", lambda: idle_seconds(blue, "left-in-aws.example.com") > 22, 60)
    red.looked_at("finder")
    red.told("finder", "belongs to another namespace")
    assert blue.tenants("left") == [left]


def idle_seconds(team: Team, domain: str) -> float:
    """For how long the record of a domain says that no one holds it."""
    shown = team.admin.kubectl("get", "cm", "-A", "-l", "edgetenants.io/kept-domains=true", "-o", "json")
    # One whose records have all ended has no data.
    every = [each.get("data") or {} for each in json.loads(shown)["items"]]
    records = {key: value for each in every for key, value in each.items()}
    since = json.loads(records[domain]).get("notHeldSince")
    return (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds() if since else 0.0


def test_a_rehearsal_tells_no_more_than_the_real_thing(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    shop = blue.served("quiet", forProvider={"domains": ["quiet.example.com"]})
    with unharmed(blue, "quiet"):
        dry = {"edgetenants.io/dry-run": "true", TAKE: "dt_guessed"}
        own = [f"rehearses-{red.namespace}.example.com", "quiet.example.com"]
        red.apply(red.tenant("rehearses", annotations=dry, forProvider={"domains": own}))
        red.looked_at("rehearses")
        words = red.everything_said("rehearses")
        assert [word for word in (blue.namespace, shop["Id"]) if word in words] == []
        assert red.tenants("rehearses") == []
