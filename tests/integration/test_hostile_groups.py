"""Connection groups as weapons: what one team has in its hands takes no other's tenants down."""

from __future__ import annotations

import yaml

from tests.integration.hostile import ROOT, Teams, unharmed
from tests.integration.test_references import applied
from tests.integration.watching import Object

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


def test_a_tenant_of_another_keeps_no_recreated_claim_from_its_group(teams: Teams) -> None:
    """The tenant stays in the group for good, so the group stays too and the new claim has it."""
    blue, red = teams.blue, teams.red
    plans = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    plans["metadata"]["name"] = "hostile-dedicated"
    plans["spec"]["pipeline"][0]["input"]["plans"]["standard"]["connection"] = {"dedicated": True}
    asked = blue.claim("own", crossplane={"compositionRef": {"name": "hostile-dedicated"}})

    def group() -> Object:
        found = red.admin.emulator.state()["connectionGroups"]
        return next((dict(each) for each in found if each["Name"] == f"{blue.namespace}.own"), {})

    with applied(red.admin, yaml.safe_dump(plans)):
        blue.apply(asked)
        blue.wait_ready("own", seconds=90)
        before = group()
        theirs = {"namespace": blue.namespace, "matchLabels": {"crossplane.io/composite": "own"}}
        red.served("lodger", forProvider={"connectionGroupIdSelector": theirs})
        [lodger] = red.tenants("lodger")
        assert lodger["ConnectionGroupId"] == before["Id"]
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

        # Nothing is left behind: without the tenant of the other team, the group goes with its claim.
        red.remove("lodger")
        red.wait("the tenant to go", lambda: not red.get("lodger", "edt"), 90)
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
