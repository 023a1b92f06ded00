from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis import tenantplans
from apis.errors import InvalidInput
from function.composed import naming

DEFAULT = "{namespace}.{name}"
LONG = "x" * 70


@pytest.mark.parametrize(
    ("template", "namespace", "name", "expected"),
    [
        (DEFAULT, "shop", "acme", "shop.acme"),
        ("{name}", "shop", "acme", "acme"),
        ("prod-{namespace}-{name}", "shop", "acme", "prod-shop-acme"),
        (DEFAULT, "", "acme-8fj2k", "acme-8fj2k"),
        ("{name}.", "shop", "acme", "acme"),
        ("{name}", "shop", "a.b", "a.b"),
    ],
)
def test_template(template: str, namespace: str, name: str, expected: str) -> None:
    assert naming.external(template, namespace, name) == expected


def test_a_name_of_128_characters_is_kept() -> None:
    namespace, name = "n" * 63, "a" * 64

    assert naming.external(DEFAULT, namespace, name) == f"{namespace}.{name}"


def test_a_longer_name_is_cut_and_told_apart_by_a_hash() -> None:
    one, other = (naming.external(DEFAULT, LONG, f"{LONG}-{end}") for end in ("one", "two"))

    assert one != other
    assert len(one) == len(other) == 128
    assert one[:107] == other[:107]


def test_a_name_too_short_for_cloudfront_has_a_hash() -> None:
    assert naming.external("{name}", "shop", "a") == f"a-{naming.digest('a')}"


def test_a_domain_of_a_long_claim_still_counts() -> None:
    names = {naming.external(DEFAULT, LONG, LONG, f"{n}.example.com") for n in range(50)}

    assert len(names) == 50


inner = st.text("abcz019.-", max_size=251)
k8s_names = st.builds("{}{}{}".format, st.sampled_from("az09"), inner, st.sampled_from("az09")) | st.just("a")
namespaces = st.text("abz019", max_size=63)
templates = st.lists(st.sampled_from(["{namespace}", "-", ".", "a", "Z9"]), max_size=4).map(
    lambda parts: "".join([*parts, "{name}", *reversed(parts)])
)


@given(templates, namespaces, k8s_names, st.none() | st.just("a.example.com"))
def test_every_name_is_one_that_cloudfront_takes(
    template: str, namespace: str, name: str, domain: str | None
) -> None:
    assert naming.VALID.fullmatch(naming.external(template, namespace, name, domain))


@given(templates)
def test_these_templates_are_those_that_plans_may_have(template: str) -> None:
    tenantplans.parse({"plans": {"p": {"distributionId": "E1", "name": template}}})


@pytest.mark.parametrize("template", ["{namespace}", "{name}/x", "{uid}-{name}", "{name}_"])
def test_others_are_refused(template: str) -> None:
    with pytest.raises(InvalidInput, match=r"plans\.p\.name"):
        tenantplans.parse({"plans": {"p": {"distributionId": "E1", "name": template}}})


def test_the_parking_name_of_one_tenant_does_not_tell_that_of_the_next() -> None:
    wildcard, uids, tenants = (
        "*.parking.example.com",
        ("u-1", "u-2"),
        ("tenant", "tenant-0123456789abcdef0123"),
    )
    changes = ("dt_1/4", "dt_1/6", "dt_2/4")
    names = [
        (tenant, naming.parked(wildcard, uid, tenant, change))
        for uid, tenant, change in itertools.product(uids, tenants, changes)
    ]
    ends = {name.removesuffix(".parking.example.com").rpartition("-")[2] for _, name in names}

    assert len(ends) == 12
    assert all(naming.is_parked(wildcard, tenant, name) for tenant, name in names)


@pytest.mark.parametrize(
    "domain",
    [
        "tenant.parking.example.com",
        "tenant-c1cd5f8b1f.example.com",
        "other-c1cd5f8b1f.parking.example.com",
        "tenant-c1cd5f8b1f.www.parking.example.com",
        "tenant-c1cd5f8b1f0.parking.example.com",
    ],
)
def test_other_names_are_no_parking_names(domain: str) -> None:
    assert not naming.is_parked("*.parking.example.com", "tenant", domain)
