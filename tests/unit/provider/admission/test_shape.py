"""Objects that no API server would send: they are refused with the field, and cost little."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest

from apis import kinds
from edgetenants_runtime.admission.fields import BadReview
from edgetenants_runtime.admission.review import Verdict
from provider.admission import rules
from tests.unit.provider.admission.test_rules import living, review, tenant

MANY = [f"d{n}.example.com" for n in range(501)]


def claim(domains: Any) -> dict[str, Any]:
    return {"kind": "TenantClaim", "metadata": {"name": "acme"}, "spec": {"domains": domains}}


def changed(*path: str, to: Any) -> dict[str, Any]:
    """A living resource with another value at a path."""
    found = whole = living()
    for name in path[:-1]:
        found = found.setdefault(name, {})
    found[path[-1]] = to
    return whole


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (changed("kind", to="Toy"), r"request\.kind\.kind: expected ConnectionGroup or DistributionTenant"),
        (
            changed("apiVersion", to="v9"),
            r"object\.apiVersion: expected cloudfront\.edgetenants\.io/v1alpha1 or",
        ),
        (changed("apiVersion", to=None), r"object\.apiVersion: expected"),
        (changed("spec", "forProvider", to="x"), r"object\.spec\.forProvider: expected an object"),
        (changed("spec", "initProvider", to=[]), r"object\.spec\.initProvider: expected an object"),
        (changed("spec", "forProvider", "domains", to={}), r"forProvider\.domains: expected a list"),
        (changed("spec", "forProvider", "domains", to=[{}]), r"forProvider\.domains: expected strings"),
        (
            changed("spec", "forProvider", "domains", to=MANY),
            r"forProvider\.domains: expected at most 500 entries",
        ),
        (changed("spec", "initProvider", "domains", to=MANY), r"initProvider\.domains: expected at most 500"),
        (changed("spec", "forProvider", "domains", to=["d" * 254]), r"strings of at most 253 characters"),
        (
            changed("spec", "forProvider", "tags", to=dict.fromkeys(map(str, range(2_000)), "")),
            "at most 3000 values",
        ),
        (changed("spec", "forProvider", "tags", to={"a": "x" * 5_000}), "at most 4096 characters"),
        (changed("spec", "managementPolicies", to=[{}]), r"managementPolicies: expected strings"),
        (changed("spec", "managementPolicies", to="*"), r"managementPolicies: expected a list"),
        (changed("spec", "deletionPolicy", to=[]), r"deletionPolicy: expected a string"),
        (changed("spec", "providerConfigRef", to="x"), r"providerConfigRef: expected an object"),
        (changed("spec", "providerConfigRef", "name", to={}), r"providerConfigRef\.name: expected a string"),
        (changed("status", to=[]), r"object\.status: expected an object"),
        (changed("status", "atProvider", "id", to={}), r"status\.atProvider\.id: expected a string"),
        (changed("status", "applied", to="x"), r"status\.applied: expected an object"),
        (changed("status", "applied", "hash", to=1), r"status\.applied\.hash: expected a string"),
        (
            changed("status", "applied", "tagKeys", to=["a"] * 65),
            r"status\.applied\.tagKeys: expected at most 64",
        ),
    ],
)
def test_a_managed_resource_of_another_shape_is_a_bad_review(obj: dict[str, Any], told: str) -> None:
    with pytest.raises(BadReview, match=told):
        review(obj)
    if "kind" not in told:
        with pytest.raises(BadReview, match=told.replace(r"object\.", r"oldObject\.")):
            review(tenant(), obj)


@pytest.mark.parametrize("domains", ["a.example.com", [1], MANY, ["d" * 254]])
def test_a_claim_of_another_shape_is_a_bad_review(domains: Any) -> None:
    with pytest.raises(BadReview, match=r"request\.object\.spec\.domains: expected"):
        review(claim(domains), path=rules.CLAIMS)
    with pytest.raises(BadReview, match=r"request\.oldObject\.spec\.domains: expected"):
        review(claim(["a.example.com"]), claim(domains), path=rules.CLAIMS)


@pytest.mark.parametrize("kind", [kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT])
def test_as_much_as_the_crd_allows_is_checked(kind: kinds.Kind) -> None:
    fifty = {f"key{n}": "v" for n in range(50)}
    obj = tenant(domains=MANY[:500], tags=fifty, parameters={"tenantName": "a"})
    obj["apiVersion"] = kind.api_version
    obj["spec"]["initProvider"] = {**obj["spec"]["forProvider"], "parameters": fifty}
    assert isinstance(review(obj, living(obj)), Verdict)


@pytest.mark.parametrize(
    "made",
    [
        lambda: tenant(**{f"unknown{n}": "v" for n in range(1_400)}),
        lambda: tenant(tags={f"t{n}": "\x00" * 4_000 for n in range(900)}),
        lambda: tenant(domains=["a" * 252] * 500),
        lambda: tenant(domains=MANY * 2_000),
    ],
)
def test_no_review_takes_long(made: Callable[[], dict[str, Any]]) -> None:
    obj = made()
    assert calls(lambda: review(obj)) < 1_000_000


def calls(do: Callable[[], object]) -> int:
    """Count the calls of functions, in Python and C. Time depends on the machine."""
    counted = itertools.count()
    sys.setprofile(lambda _, event, __: event.endswith("call") and next(counted))
    try:
        with contextlib.suppress(BadReview):
            do()
    finally:
        sys.setprofile(None)
    return next(counted)


def test_the_old_object_has_a_name_as_what_is_stored_has():
    old = living()
    old["metadata"].pop("name")
    with pytest.raises(BadReview, match=r"request\.oldObject\.metadata\.name: expected a name"):
        review(tenant(domains=["b.example.com"]), old)
    new = tenant()
    new["metadata"].pop("name")
    assert review(new).allowed, "the API server generates it"
