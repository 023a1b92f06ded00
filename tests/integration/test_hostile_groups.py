"""Connection groups as weapons: what one team has in its hands takes no other's tenants down."""

from __future__ import annotations

import yaml

from tests.integration.hostile import DISTRIBUTION, ROOT, Team, Teams, unharmed
from tests.integration.test_hostile_names import aws
from tests.integration.test_references import applied
from tests.integration.watching import Object, condition, is_true

EXTERNAL_NAME = "crossplane.io/external-name"


def test_a_group_that_others_use_is_not_disabled_when_its_owner_deletes_it(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    red.apply(red.group("trap"))
    red.serve("trap", kind="ecg")
    blue.served("guest", forProvider={"connectionGroupId": red.id_of("trap", "ecg")})
    with unharmed(blue, "guest"):
        red.remove("trap", "ecg")
        red.wait("it to wait", lambda: "waits" in red.everything_said("trap", kind="ecg"), 30)
        red.admin.emulator.step(600)
        [group] = [g for g in red.admin.emulator.state()["connectionGroups"] if g["Name"].endswith(".trap")]
        assert group["Enabled"]
    words = red.everything_said("trap", kind="ecg")
    assert blue.namespace not in words, "the waiting names another's tenant"


def lodging(team: Team, name: str, group: str) -> Object:
    """A tenant that someone created in the group at the console."""
    found: Object = aws(team).create_distribution_tenant(
        DistributionId=DISTRIBUTION,
        Name=f"lodging.{name}",
        Domains=[{"Domain": f"{name}-lodging.example.com"}],
        ConnectionGroupId=group,
    )["DistributionTenant"]
    return found


def end(team: Team, tenant: Object) -> None:
    """Delete it at the console."""
    client = aws(team)
    etag = client.get_distribution_tenant(Identifier=tenant["Id"])["ETag"]
    etag = client.update_distribution_tenant(Id=tenant["Id"], IfMatch=etag, Enabled=False)["ETag"]
    team.admin.emulator.step(600)
    client.delete_distribution_tenant(Id=tenant["Id"], IfMatch=etag)


def dedicated(name: str, connection: Object | None = None) -> str:
    """A Composition whose claims have, or may have, a connection group of their own."""
    plans = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    plans["metadata"]["name"] = name
    plan = plans["spec"]["pipeline"][0]["input"]["plans"]["standard"]
    plan["connection"] = connection or {"dedicated": True}
    plan["allow"]["override"] = [*plan["allow"].get("override", []), "connection"]
    plan["allow"]["onDelete"] = ["Delete", "Orphan"]
    return yaml.safe_dump(plans)


def test_no_tenant_of_another_namespace_joins_a_claims_own_group(teams: Teams) -> None:
    """Whichever way it names the group, and whatever it may read."""
    blue, red = teams.blue, teams.red
    with applied(red.admin, dedicated("hostile-own")):
        blue.apply(blue.claim("alone", crossplane={"compositionRef": {"name": "hostile-own"}}))
        blue.wait_ready("alone", seconds=90)
        [tenant] = blue.tenants("alone")
        group = tenant["ConnectionGroupId"]
        theirs = {"namespace": blue.namespace, "matchLabels": {"crossplane.io/composite": "alone"}}
        for name, asks in {
            "by-id": {"connectionGroupId": group},
            "by-labels": {"connectionGroupIdSelector": theirs},
        }.items():
            red.apply(red.tenant(name, forProvider=asks))
            said = red.told(name, "is only for a claim of another namespace", kind="edt")
            assert blue.namespace not in said
        red.served("moves")
        red.change("moves", {"spec": {"forProvider": {"connectionGroupId": group}}})
        red.told("moves", "is only for a claim of another namespace", kind="edt")
        inside = [t["Name"] for t in red.admin.emulator.state()["tenants"] if t["ConnectionGroupId"] == group]
        assert inside == [tenant["Name"]]
        for name in ("by-id", "by-labels", "moves"):
            red.remove(name)

        # The team's own tenants may.
        blue.served("beside", forProvider={"connectionGroupId": group})
        blue.remove("beside", "edt")
        blue.delete("alone")
        blue.wait("the claim and its group to go", lambda: not blue.reader.items("ecg", blue.namespace), 240)


def test_a_claim_that_waits_for_its_own_group_follows_its_plan_nevertheless(teams: Teams) -> None:
    """Its author may ask for a group that cannot be created: that keeps no suspension from its tenant."""
    blue, red = teams.blue, teams.red
    emulator = red.admin.emulator
    own = {"compositionRef": {"name": "hostile-waits"}}
    error = {"code": "EntityLimitExceeded", "status": 400, "message": "too many connection groups"}
    says = lambda type_: condition(blue.get("waits"), type_).get("message", "")  # noqa: E731
    enabled = lambda: blue.tenants("waits")[0]["Enabled"]  # noqa: E731
    with applied(red.admin, dedicated("hostile-waits", {"dedicated": False})):
        blue.apply(blue.claim("waits", crossplane=own))
        blue.wait_ready("waits", seconds=90)
        before = blue.tenants("waits")[0]["ConnectionGroupId"]
        emulator.fail("CreateConnectionGroup", error, every=True)
        blue.patch("waits", {"connection": {"dedicated": True}})
        blue.wait("its cause", lambda: "too many connection groups" in says("Degraded"), 60)
        waits = "A field whose reference cannot be resolved keeps its value in AWS. Not done yet: "
        blue.told(blue.managed("waits")["metadata"]["name"], waits, type_="InSync")
        assert "Degraded says" in says("Reconciling")

        blue.patch("waits", {"suspended": True})
        blue.wait("the tenant to stop", lambda: not enabled(), 60)
        blue.wait("the claim to say so", lambda: is_true(blue.get("waits"), "Suspended"), 60)
        blue.patch("waits", {"suspended": False, "parameters": {"tenantName": "while-it-waits"}})
        blue.wait("the tenant to serve", enabled, 60)
        values = lambda: {each["Value"] for each in blue.tenants("waits")[0]["Parameters"]}  # noqa: E731
        blue.wait("its parameter", lambda: "while-it-waits" in values(), 60)
        blue.wait("Live", lambda: is_true(blue.get("waits"), "Live"), 60)
        assert blue.tenants("waits")[0]["ConnectionGroupId"] == before

        emulator.clear_faults()
        moved = lambda: blue.tenants("waits")[0]["ConnectionGroupId"] != before  # noqa: E731
        blue.wait("its own group", moved, 120)
        blue.wait_ready("waits", seconds=90)
        blue.wait("nothing to need attention", lambda: "Nothing needs" in says("Degraded"), 60)
        blue.delete("waits")
        blue.wait("the claim and its group to go", lambda: not blue.groups("waits"), 240)


def test_no_tenant_of_another_namespace_joins_a_group_that_a_claim_left(teams: Teams) -> None:
    """The claim will come again. Until then, no object in the cluster stands for the group."""
    blue, red = teams.blue, teams.red
    asked = blue.claim("returns", crossplane={"compositionRef": {"name": "hostile-left"}}, onDelete="Orphan")
    with applied(red.admin, dedicated("hostile-left")):
        blue.apply(asked)
        blue.wait_ready("returns", seconds=90)
        [tenant] = blue.tenants("returns")
        blue.delete("returns")
        blue.wait("its objects to go", lambda: not (blue.managed("returns") or blue.groups("returns")), 120)
        red.apply(red.tenant("joins", forProvider={"connectionGroupId": tenant["ConnectionGroupId"]}))
        said = red.told("joins", "is only for a claim of another namespace", kind="edt")
        assert blue.namespace not in said
        blue.apply({**asked, "spec": {**asked["spec"], "onDelete": "Delete"}})
        blue.wait_ready("returns", seconds=90)
        assert blue.tenants("returns")[0]["Id"] == tenant["Id"]
        blue.delete("returns")
        blue.wait("the claim and its group to go", lambda: not blue.groups("returns"), 240)


def test_a_tenant_of_another_keeps_no_recreated_claim_from_its_group(teams: Teams) -> None:
    """The tenant stays in the group for good, so the group stays too and the new claim has it."""
    blue, red = teams.blue, teams.red
    asked = blue.claim("own", crossplane={"compositionRef": {"name": "hostile-dedicated"}})

    def group() -> Object:
        found = red.admin.emulator.state()["connectionGroups"]
        return next((dict(each) for each in found if each["Name"] == f"{blue.namespace}.own"), {})

    with applied(red.admin, dedicated("hostile-dedicated")):
        blue.apply(asked)
        blue.wait_ready("own", seconds=90)
        before = group()
        lodger = lodging(red, "lodger", before["Id"])
        first = blue.get("own")["metadata"]["uid"]
        blue.delete("own")
        blue.wait("the claim to go", lambda: not blue.get("own"), 90)
        blue.apply(asked)
        blue.wait_ready("own", seconds=240)
        assert blue.get("own")["metadata"]["uid"] != first
        [tenant] = blue.tenants("own")
        now = group()
        assert (now["Id"], now["Enabled"]) == (before["Id"], True)
        assert tenant["ConnectionGroupId"] == before["Id"]
        blue.wait("the old ConnectionGroup to go", lambda: len(blue.groups("own")) == 1, 90)

        # Nothing is left behind: without that tenant, the group goes with its claim.
        end(red, lodger)
        blue.delete("own")
        blue.wait("the group to go", lambda: group() == {}, 240)


def test_a_group_is_taken_over_by_nobody_else(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.apply(blue.group("front"))
    blue.serve("front", kind="ecg")
    with unharmed(blue, "front", kind="ecg"):
        id_ = blue.id_of("front", "ecg")
        leads = {EXTERNAL_NAME: id_, "edgetenants.io/adopt": id_}
        red.apply(red.group("thief", annotations=leads, forProvider={"enabled": False}))
        said = red.told("thief", id_, EXTERNAL_NAME, kind="ecg")
        assert blue.namespace not in said
        red.remove("thief", "ecg")
        red.wait("it to be let go", lambda: not red.get("thief", "ecg"), 30)


def test_the_accounts_default_group_is_disabled_by_no_team(teams: Teams) -> None:
    """Every tenant that names no group is in it."""
    blue, red = teams.blue, teams.red
    blue.served("usual")
    [default] = [g for g in red.admin.emulator.state()["connectionGroups"] if g["IsDefault"]][:1]
    with unharmed(blue, "usual"):
        leads = {EXTERNAL_NAME: default["Id"], "edgetenants.io/adopt": default["Id"]}
        red.apply(red.group("all", annotations=leads, forProvider={"enabled": False}))
        red.told("all", "spec.forProvider.enabled", kind="ecg")
        red.admin.emulator.step(300)
        red.looked_at("all", "ecg")
        now = [g for g in red.admin.emulator.state()["connectionGroups"] if g["Id"] == default["Id"]]
        assert now == [default]


def test_a_reference_into_another_namespace_reads_and_changes_nothing_there(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.apply(blue.group("shared"))
    blue.serve("shared", kind="ecg")
    with unharmed(blue, "shared", kind="ecg"):
        there = {"name": "shared", "namespace": blue.namespace}
        red.apply(red.tenant("visitor", forProvider={"connectionGroupIdRef": there}))
        red.serve("visitor")
        red.remove("visitor")
        red.wait("it to go", lambda: not red.get("visitor", "edt"), 60)
