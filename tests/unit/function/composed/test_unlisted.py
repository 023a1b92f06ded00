"""A claim whose list of composed resources was lost: they are composed under the names that they have."""

from __future__ import annotations

from typing import Any

import pytest

from function.composed.naming import digest, ending
from tests.unit.function import building

OWNER = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "name": "acme",
    "uid": "u-1",
}
TENANTS, GROUPS = "unlisted-tenants", "unlisted-connection-groups"
BY_COMPOSITE = "-by-composite"
ALL_TENANTS = {TENANTS, TENANTS + BY_COMPOSITE}
ALL = ALL_TENANTS | {GROUPS, GROUPS + BY_COMPOSITE}


def request(**changes: Any) -> Any:
    xr = {"metadata": {"uid": "u-1", "generation": 7}}
    return building.request(xr=building.merged(xr, changes))


def present(name: str = "acme-3-0b841632e907", composed: str = "tenant", **metadata: Any) -> dict[str, Any]:
    """One of the claim's tenants, which Crossplane does not list."""
    own = {
        "name": name,
        "uid": "u-2",
        "annotations": {
            "crossplane.io/composition-resource-name": composed,
            "crossplane.io/external-name": "shop.kept",
        },
        "ownerReferences": [OWNER | {"controller": True}],
    }
    return building.merged(building.TENANT, {"metadata": building.merged(own, metadata)})


def test_what_exists_is_composed_under_its_name() -> None:
    found = building.desired(building.reconcile(request(), {TENANTS: [present()]}))["tenant"]["metadata"]
    assert found["name"] == "acme-3-0b841632e907"
    assert "generateName" not in found
    assert found["annotations"]["crossplane.io/external-name"] == "shop.kept"


def test_what_the_claim_no_longer_wants_is_listed_once_more() -> None:
    """Crossplane deletes only what it lists."""
    other = present("acme-3-111111111111", "tenant-7653e4959f8eac25a7d5")
    found = building.desired(building.reconcile(request(), {TENANTS: [present(), other]}))
    assert found["tenant-7653e4959f8eac25a7d5"]["metadata"]["name"] == "acme-3-111111111111"


def test_tenants_are_required_by_the_claims_label() -> None:
    """Not connection groups, whose kind may not be installed."""
    assert set(building.run(request()).requirements.resources) == ALL_TENANTS


def test_a_claim_with_its_own_group_requires_both_kinds() -> None:
    own = {"plans": {"standard": {"connection": {"dedicated": True}}}}
    rsp = building.run(building.request(xr={"metadata": {"uid": "u-1", "generation": 7}}, input_=own))
    labels = building.desired(rsp)["tenant"]["metadata"]["labels"]
    required = rsp.requirements.resources
    assert set(required) == ALL
    theirs = {"crossplane.io/composite": "acme"}
    for name, each in required.items():
        assert dict(each.match_labels.labels) == (theirs if name.endswith(BY_COMPOSITE) else labels)
    assert {each.kind for each in required.values()} == {"DistributionTenant", "ConnectionGroup"}
    assert {each.namespace for each in required.values()} == {"shop"}


@pytest.mark.parametrize(
    "changes",
    [
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"ownerReferences": [OWNER | {"controller": True, "uid": "u-9"}]},
        {"ownerReferences": [OWNER]},
        {"annotations": {"crossplane.io/composition-resource-name": "other"}},
    ],
    ids=["being deleted", "another composite's", "not controlled", "another step's"],
)
def test_what_is_not_the_claims_any_more_is_left_alone(changes: dict[str, Any]) -> None:
    found = building.desired(building.reconcile(request(), {TENANTS: [present(**changes)]}))
    assert list(found) == ["tenant"]
    assert found["tenant"]["metadata"]["generateName"] == "acme-7-"
    assert "name" not in found["tenant"]["metadata"]


NOTED = {"resourceRefs": [{"kind": "DistributionTenant", "name": f"acme-3-{ending('u-1', 'tenant')}"}]}


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"crossplane": NOTED}},
        {"spec": NOTED},
        {"metadata": {"generation": None}},
    ],
    ids=["a list", "a legacy list", "crossplane render"],
)
def test_what_crossplane_knows_is_not_required(changes: dict[str, Any]) -> None:
    assert not building.run(request(**changes)).requirements.resources


def test_what_is_observed_is_not_required_but_for_what_is_new() -> None:
    observed = {"tenant": {"status": building.live_status()}}
    xr = {"metadata": {"uid": "u-1", "generation": 7}}
    req = building.request(xr=xr, observed=observed)
    assert not building.run(req).requirements.resources
    own = {"plans": {"standard": {"connection": {"dedicated": True}}}}
    req = building.request(xr=xr, observed=observed, input_=own)
    assert set(building.run(req).requirements.resources) == ALL


def test_a_second_domain_finds_the_tenant_that_crossplane_forgot() -> None:
    """The composite was read from before its name was noted."""
    spec = {"plan": "standard", "isolation": "PerDomain", "domains": ["a.example.com", "b.example.com"]}
    first, second = (f"tenant-{digest(domain)}" for domain in spec["domains"])
    xr = {"metadata": {"uid": "u-1", "generation": 7}}
    req = building.request(xr=xr, spec=spec, observed={first: {"status": building.live_status()}})
    lost = present("acme-6-111111111111", second)
    found = building.desired(building.reconcile(req, {TENANTS: [present("acme-3-0", first), lost]}))
    assert found[second]["metadata"]["name"] == "acme-6-111111111111"
    assert "name" not in found[first]["metadata"], "Crossplane knows it"


def test_what_an_earlier_version_composed_is_found_by_crossplanes_label() -> None:
    answers = {TENANTS + BY_COMPOSITE: [present("acme-0b841632e907")]}
    found = building.desired(building.reconcile(request(), answers))
    assert found["tenant"]["metadata"]["name"] == "acme-0b841632e907"


def test_a_claim_with_a_name_that_no_label_can_have_looks_by_its_own_label_only() -> None:
    asked = building.request(xr={"metadata": {"uid": "u-1", "generation": 7, "name": "a" * 64}})
    assert set(building.run(asked).requirements.resources) == {TENANTS}


def test_what_changed_since_it_was_read_is_not_written() -> None:
    """Crossplane may have deleted it a moment ago. The API server refuses another version."""
    version = {"resourceVersion": "41"}
    other = present("acme-3-111111111111", "tenant-7653e4959f8eac25a7d5", **version)
    found = building.desired(building.reconcile(request(), {TENANTS: [present(**version), other]}))
    for each in found.values():
        assert each["metadata"]["resourceVersion"] == "41"
        assert "uid" not in each["metadata"]


def test_what_crossplane_deletes_is_not_listed_again() -> None:
    """Its list has the claim's other resources. The cache may still show what is gone, and the API server
    would create it."""
    other = present("acme-3-111111111111", "tenant-7653e4959f8eac25a7d5")
    listed = {"spec": {"crossplane": {"resourceRefs": [{"kind": "Other", "name": "acme-3-222222222222"}]}}}
    found = building.desired(building.reconcile(request(**listed), {TENANTS: [present(), other]}))
    assert {name: each["metadata"]["name"] for name, each in found.items()} == {
        "tenant": "acme-3-0b841632e907"
    }


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_the_one_that_exists_in_aws_is_composed_and_then_the_older_one(first: int) -> None:
    made = "2026-01-0{}T00:00:00Z"
    there = present("acme-12-0", creationTimestamp=made.format(2)) | {"status": building.live_status()}
    two = [there, present("acme-3-0", creationTimestamp=made.format(1))]
    found = building.desired(building.reconcile(request(), {TENANTS: [two[first], two[1 - first]]}))
    assert found["tenant"]["metadata"]["name"] == "acme-12-0"
    neither = [present("acme-12-0", creationTimestamp=made.format(1)), two[1] | {"status": {}}]
    neither[1]["metadata"]["creationTimestamp"] = made.format(2)
    found = building.desired(building.reconcile(request(), {TENANTS: [neither[first], neither[1 - first]]}))
    assert found["tenant"]["metadata"]["name"] == "acme-12-0"


def test_a_group_that_the_same_edit_gives_up_is_looked_for_too() -> None:
    own = {"spec": {"forProvider": {"connectionGroupIdSelector": {"matchControllerRef": True}}}}
    req = request()
    asked = building.reconcile(req, {TENANTS: [building.merged(present(), own)]}).requirements.resources
    assert set(asked) == ALL
