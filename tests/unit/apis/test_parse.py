"""Bad claims and plans: every problem at once, each with its path, what was expected, and what is there."""

from typing import Any

import pytest

from apis import errors, tenantclaim, tenantplans
from apis.tenant_choices import CertificateMode, Isolation, OnDelete

PLAN = {"distributionId": "E1EDGETENANTS"}


def problems(parse: Any, value: Any) -> list[str]:
    with pytest.raises(errors.InvalidInput) as caught:
        parse(value)
    return [str(problem) for problem in caught.value.problems]


PLAN_CASES: dict[str, tuple[Any, list[str]]] = {
    "nothing under a plan": (
        {"plans": {"standard": {}}},
        ["plans.standard.distributionId: expected a value, got nothing"],
    ),
    "misspelt": (
        {"plans": {"standard": {**PLAN, "certifcate": {}}}},
        ["plans.standard.certifcate: expected certificate (did you mean that?), got an unknown field"],
    ),
    "no field of that kind": (
        {"plans": {"standard": {**PLAN, "allow": {"zzz": 1}}}},
        [
            (
                "plans.standard.allow.zzz: expected one of adopt, domains, maxDomains, maxPerDomain, "
                "onDelete, override, wildcards, got an unknown field"
            )
        ],
    ),
    "every problem at once": (
        {"plans": {"a": {"distributionId": 7}, "b": {**PLAN, "dns": {"mode": "Auto"}}}, "ttl": "1x"},
        [
            "plans.a.distributionId: expected a string, got 7",
            "plans.b.dns.mode: expected 'Managed' or 'Manual', got \"Auto\"",
            'ttl: expected a string that matches ^([0-9]+(ms|s|m|h))+$, got "1x"',
        ],
    ),
    "text is no number": (
        {"plans": {"a": {**PLAN, "allow": {"maxDomains": "5"}}}},
        ['plans.a.allow.maxDomains: expected a number, got "5"'],
    ),
    "a broken number": (
        {"plans": {"a": {**PLAN, "allow": {"maxDomains": 5.5}}}},
        ["plans.a.allow.maxDomains: expected an integer, got 5.5"],
    ),
    "out of bounds": (
        {"plans": {"a": {**PLAN, "allow": {"maxPerDomain": 101, "onDelete": []}}}},
        [
            "plans.a.allow.onDelete: expected at least 1 item, got []",
            "plans.a.allow.maxPerDomain: expected at most 100, got 101",
        ],
    ),
    "text is no boolean": (
        {"plans": {"a": {**PLAN, "deletionProtection": "yes"}}},
        ['plans.a.deletionProtection: expected true or false, got "yes"'],
    ),
    "unknown placeholder": (
        {"plans": {"a": {**PLAN, "name": "{cluster}-{name}"}}},
        [
            (
                "plans.a.name: expected letters, digits, - and . around {name} and, optionally, {namespace}, "
                'got "{cluster}-{name}"'
            )
        ],
    ),
    "name without the claim's": (
        {"plans": {"a": {**PLAN, "name": "{namespace}"}}},
        [
            (
                "plans.a.name: expected letters, digits, - and . around {name} and, optionally, {namespace}, "
                'got "{namespace}"'
            )
        ],
    ),
    "a field with a name that pydantic uses": (
        {"plans": {}, "[key]": None},
        [
            (
                '["[key]"]: expected one of apiVersion, defaultPlan, kind, metadata, plans, plansFrom, ttl, '
                "got an unknown field"
            )
        ],
    ),
    "a plan that is no object": ({"plans": {"a": "E1"}}, ['plans.a: expected an object, got "E1"']),
    "plans that are no object": ({"plans": ["a"]}, ['plans: expected an object, got ["a"]']),
    "other kind": ({"kind": "Plans", "plans": {}}, ["kind: expected 'TenantPlans', got \"Plans\""]),
    "default that is not there": (
        {"defaultPlan": "gold", "plans": {"a": PLAN}},
        ['defaultPlan: expected one of plans, got "gold"'],
    ),
    "managed DNS without a configuration": (
        {"plans": {"a": {**PLAN, "dns": {"mode": "Managed"}}}},
        ["plans.a.dns.configRef: expected configRef with mode Managed, got nothing"],
    ),
}


@pytest.mark.parametrize(("value", "expected"), PLAN_CASES.values(), ids=PLAN_CASES.keys())
def test_bad_plans(value: Any, expected: list[str]) -> None:
    assert problems(tenantplans.parse, value) == expected


def test_an_odd_plan_name_is_named() -> None:
    (problem,) = problems(tenantplans.parse, {"plans": {"a b": PLAN}})
    assert problem.startswith('plans["a b"]: expected a string that matches')


CLAIM_CASES: dict[str, tuple[Any, list[str]]] = {
    "no domains": ({"plan": "standard"}, ["spec.domains: expected a value, got nothing"]),
    "empty domains": ({"domains": []}, ["spec.domains: expected at least 1 item, got []"]),
    "unknown field": (
        {"domains": ["a.de"], "parametres": {}},
        ["spec.parametres: expected parameters (did you mean that?), got an unknown field"],
    ),
    "unknown mode": (
        {"domains": ["a.de"], "certificate": {"mode": "Auto"}},
        ["spec.certificate.mode: expected 'Managed', 'Inherited' or 'Custom', got \"Auto\""],
    ),
    "one name twice": (
        {"domains": ["Bücher.de", "xn--bcher-kva.DE"]},
        [
            (
                "spec.domains: expected no duplicates (Bücher.de and xn--bcher-kva.DE are the same name), "
                'got ["Bücher.de", "xn--bcher-kva.DE"]'
            )
        ],
    ),
    "not an object": ([], ["spec: expected an object, got []"]),
}


@pytest.mark.parametrize(("value", "expected"), CLAIM_CASES.values(), ids=CLAIM_CASES.keys())
def test_bad_claims(value: Any, expected: list[str]) -> None:
    assert problems(tenantclaim.parse, value) == expected


@pytest.mark.parametrize(
    "domain", ["https://a.de", "a.de/x", "a.de:443", "a b.de", "localhost", "a@b.de", "-a.de", "a..de"]
)
def test_a_bad_domain_is_named_by_its_place(domain: str) -> None:
    (problem,) = problems(tenantclaim.parse, {"domains": ["good.de", domain]})
    assert problem.startswith("spec.domains[1]: expected a domain name such as www.example.com")


def test_the_field_that_was_meant_is_looked_for_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    meant = errors.difflib.get_close_matches
    monkeypatch.setattr(
        errors.difflib, "get_close_matches", lambda *args, **more: looked.append(1) or meant(*args, **more)
    )
    unknown = {f"domain{number}": 1 for number in range(2000)}

    found = problems(tenantclaim.parse, {"domains": ["a.de"], **unknown})

    assert len(looked) == 20
    assert len(found) == 2000
    assert found[19] == "spec.domain19: expected domains (did you mean that?), got an unknown field"
    assert found[20] == "spec.domain20: expected a known field, got an unknown field"


def test_a_long_value_is_cut() -> None:
    (problem,) = problems(tenantclaim.parse, {"domains": ["a.de"], "plan": "x" * 5000})
    assert len(problem) < 200


def test_what_crossplane_adds_to_a_spec_is_passed_over() -> None:
    core = {
        "crossplane": {"compositionRef": {"name": "x"}},
        "claimRef": {},
        "resourceRefs": [],
        "compositionUpdatePolicy": "Automatic",
    }
    claim = tenantclaim.parse({"domains": ["a.de"], **core})
    assert (claim.domains, claim.plan, claim.isolation, claim.suspended) == (
        ("a.de",),
        None,
        Isolation.SHARED,
        False,
    )


def test_defaults_of_a_plan() -> None:
    plan = tenantplans.parse({"plans": {"standard": PLAN}}).plans["standard"]
    assert plan.name == "{namespace}.{name}"
    assert plan.provider_config_ref.to_json() == {"kind": "ClusterProviderConfig", "name": "default"}
    assert plan.certificate.mode is CertificateMode.INHERITED
    assert (plan.allow.override, plan.allow.on_delete, plan.allow.max_per_domain) == (
        (),
        (OnDelete.DELETE,),
        10,
    )


def test_numbers_as_a_protobuf_struct_hands_them_out() -> None:
    plans = tenantplans.parse({"plans": {"a": {**PLAN, "allow": {"maxDomains": 5.0}}}})
    assert plans.plans["a"].allow.max_domains == 5


def test_a_broken_plan_is_set_aside() -> None:
    value = {"defaultPlan": "good", "plans": {"good": PLAN, "bad": {}, "b d": PLAN}, "ttl": "5m"}
    plans, broken = tenantplans.salvage(value)
    assert list(plans.plans) == ["good"]
    assert (plans.default_plan, plans.ttl) == ("good", "5m")
    assert str(broken["bad"]) == "plans.bad.distributionId: expected a value, got nothing"
    assert str(broken["b d"]).startswith('plans["b d"]: ')


def test_a_default_plan_that_is_broken_stays_the_default() -> None:
    plans, broken = tenantplans.salvage({"defaultPlan": "bad", "plans": {"bad": {}}})
    assert (plans.default_plan, list(broken)) == ("bad", ["bad"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"plans": {"a": PLAN}, "ttl": 5}, ["ttl: expected a string, got 5"]),
        ({"plans": {"a": PLAN}, "defaultPlan": 7}, ["defaultPlan: expected one of a, got 7"]),
        ({"plans": "a"}, ['plans: expected an object, got "a"']),
    ],
)
def test_what_is_no_single_plans_fault_is_not_set_aside(value: Any, expected: list[str]) -> None:
    assert problems(tenantplans.salvage, value) == expected


def test_a_default_plan_may_come_from_elsewhere() -> None:
    source = {"environmentConfig": {"matchLabels": {"edgetenants.io/plans": "true"}}}
    plans, _ = tenantplans.salvage({"defaultPlan": "gold", "plans": {}, "plansFrom": [source]})
    assert plans.default_plan == "gold"


def test_round_trips() -> None:
    value = {
        "domains": ["a.de"],
        "certificate": {"mode": "Managed"},
        "connectionSecretName": "acme-edge",
        "adopt": {"tenantId": "dt_1"},
    }
    claim = tenantclaim.parse(value)
    assert tenantclaim.parse(claim.to_json()) == claim
    assert claim.to_json() == {**value, "isolation": "Shared", "suspended": False}


def test_a_list_whose_items_are_all_wrong_is_not_also_called_too_short():
    with pytest.raises(errors.InvalidInput) as refusal:
        tenantclaim.parse({"domains": ["a b"]})
    assert [problem.path for problem in refusal.value.problems] == ["spec.domains[0]"]
    with pytest.raises(errors.InvalidInput) as refusal:
        tenantclaim.parse({"domains": []})
    assert [problem.path for problem in refusal.value.problems] == ["spec.domains"]


@pytest.mark.parametrize("name", ["a..b", "a.-b", "a-.b", "a.", "A"])
def test_a_secret_has_a_name_that_kubernetes_accepts(name: str) -> None:
    with pytest.raises(errors.InvalidInput) as refusal:
        tenantclaim.parse({"domains": ["a.de"], "connectionSecretName": name})
    assert [problem.path for problem in refusal.value.problems] == ["spec.connectionSecretName"]
