"""Names of managed resources: another for each plan, so that a deletion goes on under its own plan."""

from __future__ import annotations

from typing import Any

import pytest

from function.composed.naming import prefix
from tests.unit.function import building

PLANS = {"plans": {"gold": {"distributionId": "E2", "connection": {"dedicated": True}}}}
GROUP = {"plans": {"standard": {"connection": {"dedicated": True}}}}


def prefixes(plan: str = "standard", **observed: Any) -> dict[str, str | None]:
    spec = {"plan": plan, "domains": ["acme.example.com"]}
    req = building.request(spec=spec, input_=building.merged(PLANS, GROUP), observed=observed)
    found = building.desired(building.run(req))
    return {name: each["metadata"].get("generateName") for name, each in found.items()}


def test_resources_of_different_plans_have_different_names() -> None:
    standard, gold = prefixes(), prefixes("gold")
    assert standard.keys() == gold.keys() == {"tenant", "connection-group"}
    assert len(set(standard.values())) == len(set(gold.values())) == 1
    assert not set(standard.values()) & set(gold.values())
    assert all(str(each).startswith("acme-") for each in standard.values())


def test_what_exists_keeps_its_name() -> None:
    seen: dict[str, Any] = {"tenant": {}, "connection-group": {"kind": "ConnectionGroup"}}
    assert prefixes(**seen) == {"tenant": None, "connection-group": None}


@pytest.mark.parametrize("name", ["a" * 253, "a" * 39 + "." + "b" * 20, "a" * 38 + "--" + "b" * 20])
def test_the_hash_is_not_what_crossplane_cuts(name: str) -> None:
    """It cuts the end of what has more than 50 characters (internal/names, ChildName)."""
    gold, standard = prefix(name, "gold"), prefix(name, "standard")
    assert gold != standard
    assert max(len(gold), len(standard)) <= 50
    assert gold.startswith(name[:38])
    assert ".-" not in gold
    assert "--" not in gold
