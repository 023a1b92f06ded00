"""Requests made from files."""

from __future__ import annotations

import pytest

from apis.errors import InvalidInput
from function import offline
from tests.unit.function import building

CLAIM = building.XR
OFFERED = offline.Pricelist.of([building.INPUT])


def observed(name: str, composed: str, composite: str = "acme") -> dict[str, object]:
    metadata = {
        "name": name,
        "annotations": {offline.COMPOSED_NAME: composed},
        "labels": {offline.LABEL_COMPOSITE: composite},
    }
    return building.merged(building.TENANT, {"metadata": metadata})


def test_two_observed_resources_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        offline.request(CLAIM, OFFERED, [observed("acme-1", "tenant"), observed("acme-2", "tenant")])

    assert "DistributionTenant acme-2" in str(refused.value)
    assert "that DistributionTenant acme-1 does not have" in str(refused.value)


def test_those_of_other_composites_have_names_of_their_own() -> None:
    other = building.merged(observed("other-1", "tenant", "other"), {"metadata": {"ownerReferences": None}})
    req = offline.request(CLAIM, OFFERED, [observed("acme-1", "tenant"), other])

    assert list(req.observed.resources) == ["tenant"]


@pytest.mark.parametrize(
    "controller", [{"name": "other"}, {"uid": "u-0"}, {"kind": "App"}], ids=["forged", "former", "namesake"]
)
def test_a_label_does_not_make_it_the_claims(controller: dict[str, str]) -> None:
    """Its author may have chosen the label, or the claim was deleted and created again."""
    owner = {"kind": "TenantClaim", "name": "acme", "uid": "u-1", "controller": True, **controller}
    other = building.merged(observed("acme-0", "tenant"), {"metadata": {"ownerReferences": [owner]}})
    req = offline.request(CLAIM, OFFERED, [other, observed("acme-1", "tenant")])

    assert req.observed.resources["tenant"].resource["metadata"]["name"] == "acme-1"
