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
    assert set(building.run(request()).requirements.resources) == {TENANTS}


def test_a_claim_with_its_own_group_requires_both_kinds() -> None:
    own = {"plans": {"standard": {"connection": {"dedicated": True}}}}
    rsp = building.run(building.request(xr={"metadata": {"uid": "u-1", "generation": 7}}, input_=own))
    labels = building.desired(rsp)["tenant"]["metadata"]["labels"]
    required = rsp.requirements.resources
    assert set(required) == {TENANTS, GROUPS}
    assert all(dict(each.match_labels.labels) == labels for each in required.values())
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
    assert set(building.run(req).requirements.resources) == {TENANTS, GROUPS}


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
