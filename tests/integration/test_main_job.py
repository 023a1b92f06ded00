"""A claim's whole life, as a user sees it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_bad_claims import added_plans
from tests.integration.watching import condition, is_true


def test_a_claim_becomes_a_live_tenant_and_goes_away_again(claims: Claims) -> None:
    claims.apply(claims.claim("acme", domains=["acme.example.com", "shop.acme.com"]))
    claim = claims.wait_ready("acme")

    # No one has made the records, so CloudFront serves both domains and no visitor gets there.
    assert "url" not in claim["status"]
    assert condition(claim, "Live")["reason"] == "Served"
    assert condition(claim, "Degraded")["status"] == "False"
    [tenant] = claims.tenants("acme")
    assert sorted(d["Domain"] for d in tenant["Domains"]) == ["acme.example.com", "shop.acme.com"]
    managed = claims.managed("acme")
    assert managed["metadata"]["annotations"]["crossplane.io/external-name"] == tenant["Name"]
    assert managed["status"]["atProvider"]["id"] == tenant["Id"]
    assert claim["status"]["routingEndpoint"] == managed["status"]["atProvider"]["routingEndpoint"]

    claims.delete("acme")
    claims.wait_gone(["acme"])
    secrets = claims.world.kubectl(
        "get", "providerconfigusages,secrets", "-n", claims.namespace, "-o", "name"
    )
    assert secrets.split() == []


def test_a_changed_parameter_is_rolled_out_while_the_claim_stays_ready(claims: Claims) -> None:
    claims.apply(claims.claim("gold", parameters={"tenantName": "silver"}))
    claims.wait_ready("gold")
    claims.wait_quiet("gold")
    claims.patch("gold", {"parameters": {"tenantName": "gold"}})

    def rolled_out() -> bool:
        assert is_true(claims.get("gold"), "Ready"), "Ready went away during an update"
        [tenant] = claims.tenants("gold")
        values = {p["Name"]: p["Value"] for p in tenant["Parameters"]}
        return values == {"tenantName": "gold", "tier": "standard"} and tenant["Status"] == "Deployed"

    claims.wait("the parameter to be rolled out", rolled_out)
    claims.wait("Deployed", lambda: is_true(claims.managed("gold"), "Deployed"))


def test_a_tenant_disabled_in_aws_is_noticed_and_repaired(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("drifter"))
    claims.wait_ready("drifter")
    world.emulator.edit_tenant(f"{claims.namespace}.drifter", {"Enabled": False})

    claims.wait("the tenant to be enabled again", lambda: claims.tenants("drifter")[0]["Enabled"])
    claims.wait("Ready", lambda: claims.ready("drifter") and is_true(claims.managed("drifter"), "InSync"))
    # Events are sent beside the reconciles, so the event may come after the conditions.
    claims.wait(
        "an event that tells of the repair",
        lambda: any(
            "enabled" in e["message"] and e["involvedObject"]["kind"] == "DistributionTenant"
            for e in claims.events()
        ),
    )


def test_a_tenant_deleted_in_aws_comes_back_under_the_same_name(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("phoenix"))
    claims.wait_ready("phoenix")
    [before] = claims.tenants("phoenix")
    world.emulator.remove_tenant(before["Id"])

    claims.wait(
        "a new tenant",
        lambda: claims.tenants("phoenix") and claims.tenants("phoenix")[0]["Id"] != before["Id"],
    )
    claims.wait(
        "its id in status",
        lambda: claims.managed("phoenix")["status"]["atProvider"]["id"] == claims.tenants("phoenix")[0]["Id"],
    )
    claims.wait_ready("phoenix")


def test_what_people_read(claims: Claims, world: World) -> None:
    """Columns, events in describe, and explain, as a user at the terminal sees them."""
    claims.apply(claims.claim("reader"))
    claims.wait_ready("reader")

    def read() -> tuple[str, str]:
        table = world.kubectl("get", "tenantclaims,edt", "-A")
        return table, next(line for line in table.splitlines() if "reader" in line and "tenantclaim" in line)

    # Core, when its cache is behind, writes the conditions of before once more, and mends it at once.
    # No one has made the domain's record, so CloudFront serves it and no visitor gets there.
    claims.wait("the table to say it", lambda: "Served" in read()[1])
    table, claim_line = read()
    assert "https://" not in claim_line
    wide = world.kubectl("get", "tenantclaims", "reader", "-n", claims.namespace, "-o", "wide")
    assert "DNS does not lead visitors of reader.example.com to" in wide
    managed_line = next(
        line
        for line in table.splitlines()
        if "distributiontenant" in line and f"{claims.namespace}.reader" in line
    )
    assert "1/1" in managed_line

    name = claims.managed("reader")["metadata"]["name"]
    told = world.kubectl("describe", "edt", name, "-n", claims.namespace)
    assert "CreatedExternalResource" in told

    explained = world.kubectl(
        "explain",
        "distributiontenants.spec.forProvider",
        "--api-version=cloudfront.m.edgetenants.io/v1alpha1",
    )
    assert "distributionId" in explained
    assert "<empty>" not in explained


def test_a_suspension_does_not_wait_for_a_domain_that_another_tenant_has(claims: Claims) -> None:
    claims.apply(claims.claim("holder"), claims.claim("stopped", domains=["stopped.example.com"]))
    claims.wait_ready("holder")
    claims.wait_ready("stopped")
    claims.patch("stopped", {"domains": ["stopped.example.com", "holder.example.com"], "suspended": True})

    claims.wait("the tenant to be disabled", lambda: not claims.tenants("stopped")[0]["Enabled"])
    claims.wait("the suspension to be told", lambda: is_true(claims.get("stopped"), "Suspended"))
    claims.wait(
        "the conflict to be told",
        lambda: condition(claims.get("stopped"), "Live")["reason"] == "DomainConflict",
    )


def domains_of(first: str, second: str) -> list[str]:
    return [f"{first}.example.com", f"{second}-2.example.com"]


def test_two_claims_swap_domains(claims: Claims) -> None:
    names = ("left", "right")
    claims.apply(*(claims.claim(name, domains=domains_of(name, name)) for name in names))
    for name in names:
        claims.wait_ready(name)
    after = {"left": domains_of("left", "right"), "right": domains_of("right", "left")}
    for name in names:
        claims.patch(name, {"domains": after[name]})

    def swapped() -> bool:
        return all(
            sorted(d["Domain"] for d in claims.tenants(name)[0]["Domains"]) == sorted(after[name])
            for name in names
        )

    claims.wait("the swap", swapped)
    for name in names:
        claims.wait_ready(name)


def test_a_claim_is_not_suspended_while_its_former_tenant_serves(claims: Claims, world: World) -> None:
    """The claim is made again, and its former tenant's deletion is held by the plan."""
    with added_plans(world, {"guarded": {"distributionId": "E1EDGETENANTS", "deletionProtection": True}}):
        claims.apply(claims.claim("twice", plan="guarded"))
        claims.wait_ready("twice")
        former = claims.managed("twice")["metadata"]["name"]
        claims.delete("twice")
        claims.wait("the claim to go", lambda: not claims.get("twice"))
        claims.apply(claims.claim("twice", plan="guarded", suspended=True))

        def told(type_: str, status: str, *words: str) -> bool:
            found = condition(claims.get("twice"), type_)
            return found.get("status") == status and all(word in found["message"] for word in words)

        says = f"DistributionTenant {former}, a former tenant of the claim, still serves"
        confirm = f"confirm of DistributionTenant {former} to {token(claims, former)}"
        claims.wait("Suspended to name it", lambda: told("Suspended", "False", says, confirm))
        assert claims.tenants("twice")[0]["Enabled"]
        confirm_deletion(claims, former)
        claims.wait("it to be suspended", lambda: told("Suspended", "True"), seconds=150)
        assert not any(tenant["Enabled"] for tenant in claims.tenants("twice"))

        present = claims.managed("twice")["metadata"]["name"]
        claims.delete("twice")
        confirm_deletion(claims, present)
        claims.wait_gone(["twice"])


def token(claims: Claims, name: str) -> str:
    """The token that confirms the deletion of a managed resource, once its deletion is held."""
    ready = lambda: condition(claims.get(name, "edt"), "Ready")  # noqa: E731
    claims.wait(f"the deletion of {name} to be held", lambda: ready()["reason"] == "DeletionHeld")
    return str(ready()["message"]).rpartition(" ")[2]


def confirm_deletion(claims: Claims, name: str) -> None:
    annotation = f"edgetenants.io/confirm={token(claims, name)}"
    claims.world.kubectl("annotate", "edt", name, "-n", claims.namespace, annotation)


def test_a_protected_tenant_whose_domain_is_put_back_is_kept_as_the_claim_says(
    claims: Claims, world: World
) -> None:
    """Its deletion waits for a confirmation, and cannot be taken back. A plan without deletionProtection, in
    the same edit, confirms nothing."""
    plan = {"distributionId": "E1EDGETENANTS", "allow": {"maxPerDomain": 10}}
    both, one = ["kept.example.com", "put-back.example.com"], ["kept.example.com"]

    def ids() -> dict[str, str]:
        every = [t for t in world.emulator.state()["tenants"] if t["Name"].startswith(f"{claims.namespace}.")]
        served = {t["Domains"][0]["Domain"]: str(t["Id"]) for t in every}
        return {domain: served[domain] for domain in both if domain in served}

    plans = {"guarded": {**plan, "deletionProtection": True}, "open": plan}
    with added_plans(world, plans), unprotected_afterwards(claims):
        claims.apply(claims.claim("back", plan="guarded", isolation="PerDomain", domains=both))
        claims.wait_ready("back")
        before = ids()
        start = world.emulator.calls()["total"]
        # Two minutes: core's circuit breaker may drop an edit, which then has effect after one.
        claims.patch("back", {"domains": one})
        departing = claims.wait("a deletion to be held", lambda: held(claims), 120)
        name = held(claims, "name")
        claims.patch("back", {"domains": both, "plan": "open"})
        keep = f"set spec.managementPolicies of DistributionTenant {name} to [Observe]"
        claims.wait("the claim to say how", lambda: keep in json.dumps(claims.get("back")["status"]), 120)
        change(claims, str(name), {"managementPolicies": ["Observe"]})
        claims.wait("the resource to go", lambda: departing not in uids(claims), 120)
        claims.wait("another one", lambda: len(uids(claims)) == 2, 120)
        claims.wait_ready("back", seconds=120)
        assert ids() == before
        calls = world.emulator.calls(since=start)["calls"]
        writes = ("DeleteDistributionTenant", "UpdateDistributionTenant")
        assert [c for c in calls if c["operation"] in writes and c["target"] in before.values()] == []
        claims.delete("back")
        claims.wait("the claim to go", lambda: not claims.get("back"))


@contextmanager
def unprotected_afterwards(claims: Claims) -> Iterator[None]:
    """Whatever happens, no deletion stays on hold in the cluster that other tests share."""
    try:
        yield
    finally:
        claims.world.kubectl("delete", "tenantclaims", "--all", "-n", claims.namespace, "--timeout=60s")
        for each in claims.reader.items("edt", claims.namespace):
            confirmed = f"edgetenants.io/confirm={each['metadata']['uid'][:8]}"
            name = each["metadata"]["name"]
            # It may be gone by now, and so need none.
            claims.world.kubectl(
                "annotate", "edt", name, "-n", claims.namespace, confirmed, "--overwrite", check=False
            )


def change(claims: Claims, name: str, spec: dict[str, object]) -> None:
    """Change the spec of a managed resource."""
    body = json.dumps({"spec": spec})
    claims.world.kubectl("patch", "edt", name, "-n", claims.namespace, "--type=merge", "-p", body)


def held(claims: Claims, field: str = "uid") -> str | None:
    """The tenant of claim back whose deletion is held."""
    found = [
        str(each["metadata"][field])
        for each in claims.reader.items("edt", claims.namespace)
        if each["metadata"].get("deletionTimestamp")
        and condition(each, "Ready").get("reason") == "DeletionHeld"
    ]
    return found[0] if found else None


def uids(claims: Claims) -> set[str]:
    return {str(each["metadata"]["uid"]) for each in claims.reader.items("edt", claims.namespace)}


def test_a_tenant_comes_back_though_a_domain_that_was_added_is_refused(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("keeper"), claims.claim("back"))
    claims.wait_ready("keeper")
    claims.wait_ready("back")
    claims.patch("back", {"domains": ["back.example.com", "keeper.example.com"]})
    claims.wait(
        "the conflict", lambda: condition(claims.get("back"), "Live").get("reason") == "DomainConflict"
    )
    [before] = claims.tenants("back")
    world.emulator.remove_tenant(before["Id"])

    def served() -> list[str]:
        return [d["Domain"] for tenant in claims.tenants("back") for d in tenant["Domains"]]

    claims.wait("the tenant to come back", lambda: served() == ["back.example.com"])
    claims.wait(
        "the conflict again", lambda: condition(claims.get("back"), "Live").get("reason") == "DomainConflict"
    )
