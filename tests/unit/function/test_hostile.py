"""Claims and plans that no one should write: each ends in one clear FATAL with its path."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.function import building

DOMAIN = "acme.example.com"
TAGS = {"plans": {"standard": {"allow": {"override": ["parameters", "tags"]}}}}

CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "a line break in a domain": ({"domains": ["acme.\nexample.com"]}, "spec.domains[0]"),
    "a NUL in a domain": ({"domains": ["acme\x00.example.com"]}, "spec.domains[0]"),
    "text that turns round": ({"domains": ["\u202ecom.example.acme"]}, "spec.domains[0]"),
    "an emoji that no registry takes": ({"domains": ["\U0001f4a9.example.com"]}, "spec.domains[0]"),
    "a label of a megabyte": ({"domains": [f"{'a' * 1_000_000}.example.com"]}, "spec.domains[0]"),
    "ten thousand domains": ({"domains": [f"d{n}.example.com" for n in range(10_000)]}, "spec.domains"),
    "a number for a domain": ({"domains": [7]}, "spec.domains[0]"),
    "an infinite domain": ({"domains": [float("inf")]}, "spec.domains[0]"),
    "an object for the domains": ({"domains": {"a": "b"}}, "spec.domains"),
    "null for the domains": ({"domains": None}, "spec.domains"),
    "a text for a boolean": ({"domains": [DOMAIN], "suspended": "yes"}, "spec.suspended"),
    "a list for a map": ({"domains": [DOMAIN], "parameters": ["a"]}, "spec.parameters"),
    "a map in a map": ({"domains": [DOMAIN], "parameters": {"a": {"b": "c"}}}, "spec.parameters.a"),
    "a value of a megabyte": (
        {"domains": [DOMAIN], "parameters": {"a": "x" * 1_000_000}},
        "spec.parameters.a",
    ),
    "a control character in a tag": ({"domains": [DOMAIN], "tags": {"a": "\x07"}}, "spec.tags.a"),
    "a tag of ours": ({"domains": [DOMAIN], "tags": {"edgetenants.io/owner": "me"}}, "spec.tags"),
    "a plan's name that is none": ({"domains": [DOMAIN], "plan": "a\tb"}, "spec.plan"),
    "a plan's name of a megabyte": ({"domains": [DOMAIN], "plan": "a" * 1_000_000}, "spec.plan"),
    "an unknown field with a strange name": ({"domains": [DOMAIN], "\u202e\n": 1}, "spec"),
    "a deep object": (
        {"domains": [DOMAIN], "security": {"geo": {"allow": [[[["DE"]]]]}}},
        "spec.security.geo",
    ),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_a_claim(case: str) -> None:
    spec, path = CLAIMS[case]

    _refused(building.request(spec=spec, input_=TAGS), path)


PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "a control character": ({"distributionId": "E1\x1b[31m"}, "plans.standard.distributionId"),
    "a megabyte": ({"distributionId": "E" * 1_000_000}, "plans.standard.distributionId"),
    "a name that turns round": ({"name": "\u202e{name}"}, "plans.standard.name"),
    "a number for a list": ({"tagsFromLabels": 7}, "plans.standard.tagsFromLabels"),
    "a label that is no text": ({"tagsFromLabels": [{}]}, "plans.standard.tagsFromLabels[0]"),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_plan(case: str) -> None:
    plan, path = PLANS[case]

    _refused(building.request(input_={"plans": {"standard": plan}}), path)


def _refused(req: Any, path: str) -> None:
    rsp = building.run(req)

    (severity, _), message = building.results(rsp)[0], rsp.results[0].message
    assert severity == "FATAL"
    assert not rsp.desired.resources
    assert path in message
    assert "expected" in message
    assert len(message) <= 4096
    assert message.isprintable(), "a message must not be able to redraw a terminal"
