"""Names of managed resources: what is wanted again is another object than what is being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from function.composed.naming import ending, prefix
from function.serving.questions import question
from tests.unit.function import building

DEDICATED = {"plans": {"standard": {"connection": {"dedicated": True}}}}
BOTH = ("connection-group", "tenant")
UID = "u-1"


def prefixes(
    generation: int | None = 3, *noted: str, legacy: bool = False, **observed: Any
) -> dict[str, str | None]:
    """The prefix of each composed resource. `noted`: names in the composite's resourceRefs."""
    refs = {"resourceRefs": [{"kind": "DistributionTenant", "name": each} for each in noted]}
    spec = {"plan": "standard", "domains": ["acme.example.com"]}
    spec |= refs if legacy else {"crossplane": refs}
    xr = {"metadata": {"uid": UID} | ({"generation": generation} if generation else {})}
    named = {name.replace("_", "-"): each for name, each in observed.items()}
    req = building.request(xr=xr, spec=spec, input_=DEDICATED, observed=named)
    question(req)
    found = building.desired(building.run(req))
    return {name: each["metadata"].get("generateName") for name, each in found.items()}


def test_each_generation_has_other_names() -> None:
    assert prefixes(3) == dict.fromkeys(BOTH, "acme-3-")
    assert prefixes(4) == dict.fromkeys(BOTH, "acme-4-")


def test_what_exists_keeps_its_name() -> None:
    seen: dict[str, Any] = {"tenant": {}, "connection_group": {"kind": "ConnectionGroup"}}
    assert prefixes(**seen) == dict.fromkeys(BOTH)


def test_what_crossplane_names_alone_has_no_prefix() -> None:
    assert prefixes(None) == dict.fromkeys(BOTH)


@pytest.mark.parametrize("legacy", [False, True])
def test_what_could_not_be_created_keeps_its_name(legacy: bool) -> None:
    """Otherwise each attempt would change the composite, and lead to the next one at once."""
    noted = (f"acme-1-{ending(UID, 'tenant')}", "acme-2-000000000000")
    assert prefixes(3, *noted, legacy=legacy) == {"connection-group": "acme-3-", "tenant": "acme-1-"}
    seen: dict[str, Any] = {"connection_group": {"kind": "ConnectionGroup"}}
    found = prefixes(3, *noted, legacy=legacy, **seen)
    assert found == {"connection-group": None, "tenant": "acme-1-"}


def test_names_from_before_are_kept_too() -> None:
    assert prefixes(3, f"acme-{ending(UID, 'tenant')}")["tenant"] == "acme-"


@pytest.mark.parametrize("name", ["a" * 253, "a" * 29 + "." + "b" * 20, "a" * 47 + "--" + "b" * 20])
def test_the_generation_is_not_what_crossplane_cuts(name: str) -> None:
    """It cuts the end of what has more than 51 characters (internal/names, ChildName)."""
    one, other = prefix(name, 1), prefix(name, 2**63 - 1)
    assert one != other
    assert max(len(one), len(other)) <= 51
    assert one.startswith(name[:28])
    assert ".-" not in one
    assert "--" not in one
