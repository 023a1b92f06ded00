"""The label by which the resources of a composite are found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.function import building

LABEL = "crossplane.io/composite"


@pytest.mark.parametrize(
    ("legacy", "words"),
    [
        ({}, 'expected no value, or the name of the claim, got "other"'),
        (
            {"spec": {"claimRef": {"namespace": "shop", "name": "other"}}},
            'expected no value, or the name of its composite, acme, got "other"',
        ),
    ],
    ids=["namespaced", "legacy"],
)
def test_a_claim_with_the_label_of_another_one_is_refused(legacy: dict[str, Any], words: str) -> None:
    xr = building.merged({"metadata": {"labels": {LABEL: "other"}}}, legacy)
    live = building.conditions(building.run(building.request(xr=xr)))["Live"]
    assert live[:2] == ("False", "InvalidClaim")
    assert f"metadata.labels[{LABEL}]: {words}" in live[2]


def test_its_own_label_is_crossplanes() -> None:
    xr = {"metadata": {"labels": {LABEL: "acme"}}}
    assert building.conditions(building.run(building.request(xr=xr)))["Live"][1] != "InvalidClaim"
