"""The provider has only the rules that Crossplane's RBAC manager gives it, and says which one it misses."""

import json

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.watching import Object

ROLE = "crossplane:provider:provider-edgetenants:system"


def rules(world: World) -> list[Object]:
    found: list[Object] = json.loads(world.kubectl("get", "clusterrole", ROLE, "-o", "json"))["rules"]
    return found


def set_rules(world: World, wanted: list[Object]) -> None:
    world.kubectl("patch", "clusterrole", ROLE, "--type=merge", "-p", json.dumps({"rules": wanted}))


def without(world: World, resource: str, verbs: set[str]) -> list[Object]:
    """The role's rules without those verbs on that resource."""
    kept: list[Object] = []
    for rule in rules(world):
        others = [r for r in rule.get("resources", []) if r != resource]
        if others:
            kept.append({**rule, "resources": others})
        left = [v for v in rule["verbs"] if v not in verbs]
        if resource in rule.get("resources", []) and left:
            kept.append({**rule, "resources": [resource], "verbs": left})
    return kept


TAKEN_AWAY = {
    "reading managed resources": (
        "distributiontenants",
        {"get", "list", "watch"},
        ("list", "distributiontenants"),
    ),
    "writing their status": (
        "distributiontenants/status",
        {"update", "patch"},
        ("patch", "distributiontenants/status"),
    ),
    "tracking the use of a config": (
        "providerconfigusages",
        {"create", "update", "patch"},
        ("create", "providerconfigusages"),
    ),
    "reading credentials": (
        "secrets",
        {"*", "get", "list", "watch", "create", "update", "patch", "delete"},
        ("get", "secrets"),
    ),
}


@pytest.mark.parametrize("case", TAKEN_AWAY)
def test_a_rule_taken_away_is_named_and_given_back_heals(claims: Claims, world: World, case: str) -> None:
    resource, verbs, named = TAKEN_AWAY[case]
    before = rules(world)
    set_rules(world, without(world, resource, verbs))
    try:
        world.processes.kill("provider")
        world.processes.start("provider", ready=False)
        claims.apply(claims.claim("blocked"))
        claims.wait("the log to name the rule", lambda: all(word in world.log("provider") for word in named))
        assert claims.ready("blocked") is None
        refusals = world.log("provider").count("Forbidden") + world.log("provider").count("forbidden")
        assert refusals < 100, "a refused call is repeated without back-off"
    finally:
        set_rules(world, before)
    claims.wait_ready("blocked")


def test_the_provider_was_never_refused_anything_in_ordinary_work(claims: Claims, world: World) -> None:
    """Whatever it asks for beyond its rules would show as a 403 in the audit log."""
    start = world.audit_log.stat().st_size
    claims.apply(claims.claim("ordinary"))
    claims.wait_ready("ordinary")
    claims.delete("ordinary")
    claims.wait_gone(["ordinary"])
    with world.audit_log.open() as log:
        log.seek(start)
        entries = [json.loads(line) for line in log if line.strip()]
    by_provider = [e for e in entries if e["user"]["username"].endswith(":provider-edgetenants")]
    assert by_provider, "the audit log tells nothing of the provider"
    assert [e["requestURI"] for e in by_provider if e.get("responseStatus", {}).get("code") == 403] == []
