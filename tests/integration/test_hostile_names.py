"""Names, ids, annotations, labels and tags that pretend: whose a tenant is they do not decide."""

from __future__ import annotations

import json

import boto3
import pytest

from tests.integration.hostile import DISTRIBUTION, Team, Teams, unharmed
from tests.integration.watching import Object, is_true

EXTERNAL_NAME = "crossplane.io/external-name"
OWNER = "edgetenants.io/owner"


def aws(team: Team) -> boto3.client:
    """The account as its administrator has it."""
    variables = team.admin.environment()
    return boto3.client(
        "cloudfront",
        endpoint_url=team.admin.emulator.endpoint,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )


def unowned(team: Team, name: str, **tags: str) -> Object:
    """A tenant that a user made at the console."""
    found: Object = aws(team).create_distribution_tenant(
        DistributionId=DISTRIBUTION,
        Name=f"console.{name}",
        Domains=[{"Domain": f"{name}-console.example.com"}],
        Tags={"Items": [{"Key": key, "Value": value} for key, value in tags.items()]},
    )["DistributionTenant"]
    return found


def tags(team: Team, arn: str) -> dict[str, str]:
    items = aws(team).list_tags_for_resource(Resource=arn)["Tags"]["Items"]
    return {item["Key"]: item["Value"] for item in items}


@pytest.mark.parametrize("way", ["Name", "Id", "Arn"])
def test_what_leads_to_anothers_tenant_is_refused_with_adopt_too(teams: Teams, way: str) -> None:
    blue, red, name = teams.blue, teams.red, f"leads-{way.lower()}"
    shop = blue.served(way.lower())
    with unharmed(blue, way.lower()):
        leads = {EXTERNAL_NAME: shop[way], "edgetenants.io/adopt": shop["Id"]}
        red.apply(red.tenant(name, annotations=leads, forProvider={"enabled": False}))
        red.told(name, shop[way], EXTERNAL_NAME)
        assert "AdoptionRefused" in red.everything_said(name)
        red.remove(name)
        red.wait("it to be let go", lambda: not red.get(name, "edt"), 30)


def test_a_refusal_does_not_name_the_owner(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    shop = blue.served("private")
    red.apply(red.tenant("curious", annotations={EXTERNAL_NAME: shop["Id"]}))
    red.told("curious", shop["Id"], EXTERNAL_NAME)
    assert blue.namespace not in red.everything_said("curious")


def test_labels_and_owner_references_make_nobody_another(teams: Teams) -> None:
    """What core writes on what it composed, written by red: for blue's claim, and controlled by it."""
    blue, red = teams.blue, teams.red
    blue.apply(blue.claim("acme", domains=[f"acme-{blue.namespace}.example.com"]))
    claim = blue.wait_ready("acme")
    managed = blue.managed("acme")
    name = managed["metadata"]["name"]
    external = managed["metadata"]["annotations"][EXTERNAL_NAME]
    before = blue.tenants("acme")
    fake = red.tenant(name, annotations={EXTERNAL_NAME: external})
    fake["metadata"]["labels"] = {
        **managed["metadata"]["labels"],
        "crossplane.io/claim-namespace": blue.namespace,
        "crossplane.io/claim-name": "acme",
    }
    reference = {"apiVersion": claim["apiVersion"], "kind": claim["kind"], "name": "acme"}
    fake["metadata"]["ownerReferences"] = [
        {**reference, "uid": claim["metadata"]["uid"], "controller": True, "blockOwnerDeletion": False}
    ]
    red.apply(fake)
    red.wait(
        "the refusal, or the collector",
        lambda: not red.get(name, "edt") or "AdoptionRefused" in red.everything_said(name),
        30,
    )
    blue.looked_at(name)
    assert blue.tenants("acme") == before
    assert blue.ready("acme")
    assert blue.managed("acme")["metadata"]["uid"] == managed["metadata"]["uid"]


@pytest.mark.parametrize(
    "key",
    [
        OWNER,
        "EDGETENANTS.IO/OWNER",
        "edgetenants.io/Owner",
        "edgetenants.io/owner ",
        f" {OWNER}",
        "crossplane-name",
        "Crossplane-Namespace",
        "aws:owner",
        "AWS:owner",
    ],
)
def test_tags_of_the_spec_do_not_pretend_an_owner(teams: Teams, key: str) -> None:
    blue, red = teams.blue, teams.red
    identity = f"someone/DistributionTenant/{blue.namespace}/{blue.namespace}.id"
    said = red.refused(
        "apply", "-f", "-", input=json.dumps(red.tenant("tagged", forProvider={"tags": {key: identity}}))
    )
    assert "tags" in said


def test_a_tag_that_looks_like_the_owners_is_no_more_than_a_tag(teams: Teams) -> None:
    """The API server takes a key in other letters that look the same. The provider refuses it."""
    red = teams.red
    red.apply(red.tenant("looks", forProvider={"tags": {f"\uff45{OWNER[1:]}": "someone else"}}))
    red.wait("the refusal", lambda: "tags" in red.everything_said("looks"), 30)
    assert not is_true(red.looked_at("looks"), "Synced")
    assert red.tenants("looks") == []


def test_of_two_that_adopt_one_tenant_one_has_it(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    found = unowned(blue, "race", **{"Crossplane-cost": "c", "edgetenants-cost": "e"})
    both = {EXTERNAL_NAME: found["Name"], "edgetenants.io/adopt": found["Id"]}
    domains = {"domains": ["race-console.example.com"]}
    for team in (blue, red):
        team.apply(team.tenant("race", annotations=both, forProvider=domains))
    settled = lambda: [t for t in (blue, red) if is_true(t.looked_at("race"), "Ready")]  # noqa: E731
    blue.wait("one to have it", settled, 30)
    blue.admin.emulator.step(300)
    for team in (blue, red, blue, red):
        team.looked_at("race")
    [winner] = settled()
    loser = red if winner is blue else blue
    said = loser.told("race", found["Name"])
    assert winner.namespace not in said
    assert "AdoptionRefused" in loser.everything_said("race")
    now = tags(blue, found["Arn"])
    assert f"/{winner.namespace}/" in now[OWNER]
    assert (now["Crossplane-cost"], now["edgetenants-cost"]) == ("c", "e"), (
        "foreign tags are nobody's to remove"
    )
    loser.remove("race")
    loser.wait("it to be let go", lambda: not loser.get("race", "edt"), 30)
    assert is_true(winner.looked_at("race"), "Ready")
    assert blue.admin.emulator.tenant(found["Name"])["Enabled"]


def test_a_tenant_that_an_administrator_gave_away_is_left_alone(teams: Teams) -> None:
    """The owner tag is changed in AWS: the former owner neither repairs that nor deletes the tenant."""
    blue, red = teams.blue, teams.red
    given = blue.served("given")
    before = tags(blue, given["Arn"])
    owner = before[OWNER].replace(f"/{blue.namespace}/", f"/{red.namespace}/")
    aws(blue).tag_resource(Resource=given["Arn"], Tags={"Items": [{"Key": OWNER, "Value": owner}]})
    blue.change("given", {"spec": {"forProvider": {"tags": {"more": "1"}}}})
    blue.looked_at("given")
    assert tags(blue, given["Arn"])[OWNER] == owner
    blue.remove("given")
    blue.wait("it to be let go", lambda: not blue.get("given", "edt"), 30)
    assert blue.admin.emulator.tenant(given["Name"])["Enabled"]


def test_a_name_that_another_namespace_would_have_is_refused_to_it_with_a_way_out(teams: Teams) -> None:
    """The names of an account are one space. Who first takes one that begins with no namespace has it."""
    blue, red = teams.blue, teams.red
    name = {EXTERNAL_NAME: f"prod-{blue.namespace}.next"}
    red.apply(red.tenant("squatter", annotations=name))
    red.serve("squatter")
    before = blue.tenants("next")
    blue.apply(blue.tenant("next", annotations=name))
    said = blue.told("next", "exists in CloudFront", EXTERNAL_NAME)
    assert red.namespace not in said
    assert blue.tenants("next") == before
    assert is_true(red.looked_at("squatter"), "Ready")


def test_the_names_of_the_tenants_that_a_claim_gets_are_kept_for_its_namespace(teams: Teams) -> None:
    """Those of an isolation change can be computed, and are no one's before it."""
    blue, red = teams.blue, teams.red
    blue.served("iso")
    name = {EXTERNAL_NAME: f"{blue.namespace}.iso-315ffba3fd"}
    red.apply(red.tenant("computed", annotations=name))
    red.told("computed", "is kept for another namespace", EXTERNAL_NAME)
    assert "AdoptionRefused" in red.everything_said("computed")
    blue.apply(blue.tenant("computed", annotations=name))
    blue.serve("computed")
    red.looked_at("computed")
    assert "AdoptionRefused" in red.everything_said("computed")
