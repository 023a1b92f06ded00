"""Anyone who may write `status` writes there what the provider should say. For others nothing follows."""

from __future__ import annotations

import pytest

from tests.integration.hostile import Teams, unharmed
from tests.integration.watching import Object, is_true

PAUSED = "crossplane.io/paused"


def forged(teams: Teams, name: str, leads_to: str, like: str, kind: str = "edt", **asked: object) -> None:
    """A resource of red's that leads to what blue has, and whose status says that it made it, as blue's own
    says. It is paused until all of that stands there, so that the provider never sees it without."""
    red = teams.red
    given = {"crossplane.io/external-name": leads_to, PAUSED: "true"}
    made = red.tenant if kind == "edt" else red.group
    red.apply(made(name, annotations=given, forProvider=asked))
    theirs = teams.blue.get(like, kind)["status"]
    red.forge(name, theirs, kind)
    assert red.get(name, kind)["status"]["applied"] == theirs["applied"]
    red.change(name, {"metadata": {"annotations": {PAUSED: None}}}, kind)


@pytest.mark.parametrize("way", ["Name", "Id", "Arn"])
def test_a_forged_record_changes_and_deletes_nothing(teams: Teams, way: str) -> None:
    blue, red, name = teams.blue, teams.red, f"forged-{way.lower()}"
    shop = blue.served(way.lower(), forProvider={"domains": [f"true-{way.lower()}.example.com"]})
    with unharmed(blue, way.lower()):
        forged(teams, name, shop[way], way.lower(), domains=[f"{name}.example.com"], enabled=False)
        red.looked_at(name)
        said = red.told(name, "another namespace")
        assert way == "Name" or blue.namespace not in said
        red.remove(name)
        red.wait("it to be let go", lambda: not red.get(name, "edt"), 30)


def test_a_forged_record_of_a_group_changes_and_deletes_nothing(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.apply(blue.group("front"))
    blue.serve("front", kind="ecg")
    with unharmed(blue, "front", kind="ecg"):
        forged(teams, "forged", f"{blue.namespace}.front", "front", "ecg", enabled=False)
        red.looked_at("forged", "ecg")
        red.told("forged", f"{blue.namespace}.front", kind="ecg")
        red.remove("forged", "ecg")
        red.wait("it to be let go", lambda: not red.get("forged", "ecg"), 30)


def test_an_id_forged_onto_a_tenant_of_ones_own_leads_to_nobody_elses(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.served("neighbour")
    red.served("own")
    with unharmed(blue, "neighbour"):
        theirs: Object = blue.get("neighbour", "edt")["status"]["atProvider"]
        red.change("own", {"metadata": {"annotations": {PAUSED: "true"}}})
        red.forge("own", {"atProvider": {key: theirs[key] for key in ("id", "arn", "name", "etag")}})
        red.change("own", {"spec": {"forProvider": {"tags": {"by": "red"}}}})
        red.change("own", {"metadata": {"annotations": {PAUSED: None}}})
        red.looked_at("own")
        red.remove("own")
        red.wait("it to be seen to", lambda: seen_again(teams, "own"), 30)


def seen_again(teams: Teams, name: str) -> bool:
    """The provider has looked at it, or has let it go."""
    return not teams.red.get(name, "edt") or bool(teams.red.looked_at(name))


def test_forged_conditions_are_put_right(teams: Teams) -> None:
    red = teams.red
    red.apply(red.tenant("liar", forProvider={"distributionId": "E1NOTTHERE"}))
    red.looked_at("liar")
    now = "2026-01-01T00:00:00Z"
    red.forge("liar", {"conditions": [
        {"type": type_, "status": "True", "reason": "Available", "lastTransitionTime": now}
        for type_ in ("Ready", "Synced", "Deployed", "InSync")
    ]})  # fmt: skip
    found = red.looked_at("liar")
    assert not is_true(found, "Synced")
    assert not is_true(found, "Ready")


def test_forged_losses_hold_nobodys_recreation(teams: Teams) -> None:
    """More tenants than may vanish at once, none of which ever was."""
    blue, red = teams.blue, teams.red
    lost = blue.served("lost")
    names = [f"never{number}" for number in range(8)]
    for number, name in enumerate(names):
        red.apply(red.tenant(name, annotations={PAUSED: "true"}))
        arn = lost["Arn"].replace(lost["Id"], f"dt_never{number}")
        external = f"{red.namespace}.{name}"
        record = blue.get("lost", "edt")["status"]["applied"]
        red.forge(
            name, {"atProvider": {"id": f"dt_never{number}", "arn": arn, "name": external}, "applied": record}
        )
        red.change(name, {"metadata": {"annotations": {PAUSED: None}}})
    for name in names:
        red.looked_at(name)
    teams.blue.admin.emulator.remove_tenant(lost["Name"])
    again = lambda: blue.looked_at("lost") and blue.tenants("lost")  # noqa: E731
    assert blue.wait("it to be made anew", again, 40)
    blue.serve("lost")


def test_the_name_of_a_live_tenant_vouches_for_no_forged_loss(teams: Teams) -> None:
    """As many as may vanish at once, and one that never was, whose status has the name of a live tenant."""
    blue, red, ghost = teams.blue, teams.red, "ghost-of-red"
    lost = [f"lost{number}" for number in range(5)]
    for name in lost:
        blue.apply(blue.tenant(name))
    live = red.served("live")
    blue.serve(*lost)
    named = {"crossplane.io/external-name": ghost, PAUSED: "true"}
    red.apply(red.tenant("ghost", annotations=named))
    told = {"id": ghost, "name": live["Name"], "arn": live["Arn"].replace(live["Id"], ghost)}
    red.forge("ghost", {"atProvider": told, "applied": red.get("live", "edt")["status"]["applied"]})
    red.change("ghost", {"metadata": {"annotations": {PAUSED: None}}})
    for name in lost:
        teams.blue.admin.emulator.remove_tenant(f"{blue.namespace}.{name}")
    red.looked_at("ghost")
    again = lambda: all(blue.looked_at(name) and blue.tenants(name) for name in lost)  # noqa: E731
    assert blue.wait("all five to be made anew", again, 60)
    blue.serve(*lost)


def test_who_gave_its_tenants_to_other_resources_has_lost_none(teams: Teams) -> None:
    """More than may vanish at once. Their former resources say that they had others, which are gone."""
    blue, red = teams.blue, teams.red
    single = blue.served("single")
    names = [f"given{number}" for number in range(6)]
    for name in names:
        red.apply(red.tenant(name))
    red.serve(*names)
    for name in names:
        red.change(name, {"spec": {"managementPolicies": ["Observe"]}})
        red.looked_at(name)
        domains = {"domains": [f"{name}-{red.namespace}.example.com"]}
        external = {"crossplane.io/external-name": f"{red.namespace}.{name}"}
        red.apply(red.tenant(f"{name}-again", annotations=external, forProvider=domains))
    red.serve(*(f"{name}-again" for name in names))
    for name in names:
        red.change(name, {"metadata": {"annotations": {PAUSED: "true"}}})
        elsewhere = {"crossplane.io/external-name": f"{red.namespace}.{name}-ghost"}
        change = {"metadata": {"annotations": elsewhere}, "spec": {"managementPolicies": ["*"]}}
        red.change(name, change)
        red.forge(name, {"atProvider": {"name": f"{red.namespace}.{name}-ghost"}})
        red.change(name, {"metadata": {"annotations": {PAUSED: None}}})
    for name in names:
        red.told(name, "is gone from AWS", type_="Ready")
    teams.blue.admin.emulator.remove_tenant(single["Name"])
    again = lambda: blue.looked_at("single") and blue.tenants("single")  # noqa: E731
    assert blue.wait("it to be made anew", again, 40)
    blue.serve("single")


def test_a_forged_list_of_tags_removes_none_that_a_spec_cannot_name(teams: Teams) -> None:
    red = teams.red
    arn = red.served("tagged")["Arn"]
    aws = red.world.emulator.client("cloudfront")
    others = {"Edgetenants-foo": "1", "crossplane-other": "2", "AWS-like": "3"}
    aws.tag_resource(Resource=arn, Tags={"Items": [{"Key": k, "Value": v} for k, v in others.items()]})
    red.forge("tagged", {"applied": {"tagKeys": list(others)}})
    red.looked_at("tagged")

    def left() -> set[str]:
        items = aws.list_tags_for_resource(Resource=arn)["Tags"]["Items"]
        return {item["Key"] for item in items}.intersection(others)

    # A spec may name the third, and may let go of it.
    red.wait("the repair", lambda: left() == {"Edgetenants-foo", "crossplane-other"}, 30)
    red.looked_at("tagged")
    assert left() == {"Edgetenants-foo", "crossplane-other"}
