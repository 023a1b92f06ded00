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
        "labels": {offline.COMPOSITE: composite},
    }
    return building.merged(building.TENANT, {"metadata": metadata})


def test_two_observed_resources_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        offline.request(CLAIM, OFFERED, [observed("acme-1", "tenant"), observed("acme-2", "tenant")])

    assert "DistributionTenant acme-2" in str(refused.value)
    assert "that DistributionTenant acme-1 does not have" in str(refused.value)


def test_those_of_other_composites_have_names_of_their_own() -> None:
    req = offline.request(
        CLAIM, OFFERED, [observed("acme-1", "tenant"), observed("other-1", "tenant", "other")]
    )

    assert list(req.observed.resources) == ["tenant"]
