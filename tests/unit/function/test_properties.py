"""What holds for every request: equal answers, settled answers, and never a crash."""

from __future__ import annotations

import string
from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from hypothesis import given
from hypothesis import strategies as st

from apis.conditions import ClaimConditionType
from apis.kinds import DISTRIBUTION_TENANT
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from function.protocol import structs
from tests.unit.function import building
from tests.unit.function.changes.test_switches import TOKENS

ALL = ["parameters", "certificate", "dns", "security.webAcl", "security.geo", "connection", "tags"]
GENEROUS = {
    "plans": {
        "standard": {
            "dns": {"configRef": {"kind": "ProviderConfig", "name": "dns"}},
            "allow": {"override": ALL, "adopt": True, "onDelete": ["Delete", "Orphan"]},
        }
    }
}

labels = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
domain_names = st.tuples(st.sampled_from(["", "*."]), labels, labels).map(
    lambda p: f"{p[0]}{p[1]}.{p[2]}.com"
)
texts = st.text(string.ascii_letters, min_size=1, max_size=5)
specs = st.fixed_dictionaries(
    {"domains": st.lists(domain_names, min_size=1, max_size=4, unique_by=str.lower)},
    optional={
        "isolation": st.sampled_from(["Shared", "PerDomain"]),
        "parameters": st.dictionaries(texts, texts, max_size=3),
        "certificate": st.sampled_from([{"mode": "Managed"}, {"mode": "Inherited"}]),
        "dns": st.sampled_from([{"mode": "Managed"}, {"mode": "Manual"}]),
        "security": st.sampled_from([{"geo": {"allow": ["DE", "FR"]}}, {"webAcl": {"mode": "Disabled"}}, {}]),
        "connection": st.fixed_dictionaries({"dedicated": st.booleans()}),
        "suspended": st.booleans(),
        "onDelete": st.sampled_from(["Delete", "Orphan"]),
        "tags": st.dictionaries(texts, texts, max_size=3),
        "connectionSecretName": st.just("edge"),
    },
)

json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _bytes(rsp: fnv1.RunFunctionResponse) -> bytes:
    return rsp.SerializeToString(deterministic=True)


@given(specs)
def test_equal_requests_have_equal_answers(spec: dict[str, Any]) -> None:
    req = building.request(spec=spec, input_=GENEROUS)
    shuffled = building.request(spec=dict(reversed(spec.items())), input_=dict(reversed(GENEROUS.items())))

    assert _bytes(building.run(req)) == _bytes(building.run(shuffled)) == _bytes(building.run(req))


@given(specs)
def test_what_is_composed_is_valid(spec: dict[str, Any]) -> None:
    for resource in building.desired(building.run(building.request(spec=spec, input_=GENEROUS))).values():
        if resource["kind"] == DISTRIBUTION_TENANT.kind:
            assert DISTRIBUTION_TENANT.spec
            DISTRIBUTION_TENANT.spec.model_validate(resource["spec"])


@given(specs, st.data())
def test_what_was_composed_and_is_observed_changes_nothing(spec: dict[str, Any], data: st.DataObject) -> None:
    served = data.draw(st.booleans())
    wanted: dict[str, dict[str, Any]] = {}
    for _ in range(3):  # of many tenants, some follow when those before them serve
        again = _with_observed(spec, wanted, served)
        assert {name: again[name] for name in wanted} == _without_prefixes(wanted)
        wanted = again

    assert _with_observed(spec, wanted, served) == _without_prefixes(wanted)


def _without_prefixes(wanted: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Only what does not exist yet has one."""
    for resource in wanted.values():
        resource["metadata"].pop("generateName", None)
    return wanted


def _with_observed(spec: dict[str, Any], wanted: dict[str, dict[str, Any]], served: bool) -> dict[str, Any]:
    """What is wanted once all that was wanted exists."""
    observed = {name: _as_observed(resource, served) for name, resource in wanted.items()}
    return building.desired(building.run(building.request(spec=spec, input_=GENEROUS, observed=observed)))


def _as_observed(resource: dict[str, Any], served: bool) -> dict[str, Any]:
    domains = resource["spec"]["forProvider"].get("domains", [])
    status = building.live_status(*domains) if served else {}
    return {**resource, "metadata": {**resource["metadata"], "generation": 1}, "status": status}


def settled(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The composed resources of a claim that serves."""
    observed: dict[str, dict[str, Any]] = {}
    for _ in range(3):
        wanted = building.desired(
            building.run(building.request(spec=spec, input_=GENEROUS, observed=observed))
        )
        observed = {name: _as_observed(resource, True) for name, resource in wanted.items()}
    return observed


RENAMED = building.merged(
    GENEROUS, {"plans": {"standard": {"name": "other-{name}", "distributionId": "E1OTHER"}}}
)

PARKED = building.merged(GENEROUS, {"plans": {"standard": {"parkingDomain": "*.parking.example.com"}}})


@given(specs, specs, st.booleans(), st.sampled_from([GENEROUS, RENAMED, PARKED]))
def test_no_change_takes_a_domain_down_that_stays_or_renames_its_tenant(
    before: dict[str, Any], after: dict[str, Any], stays: bool, plans: dict[str, Any]
) -> None:
    if stays:
        after = {**after, "domains": [*before["domains"][:1], *after["domains"]]}
    observed = settled(before)

    rsp = building.run(building.request(spec=after, input_=plans, observed=observed))

    if not any(severity == "FATAL" for severity, _ in building.results(rsp)):
        _keeps(observed, building.desired(rsp), {each.lower() for each in after["domains"]})


def _keeps(observed: dict[str, Any], wanted: dict[str, Any], asked: set[str]) -> None:
    for name, tenant in observed.items():
        had = tenant["spec"]["forProvider"]
        staying = asked & set(had.get("domains", []))
        if not staying:
            continue
        now = wanted[name]["spec"]["forProvider"]
        assert staying <= set(now["domains"])
        assert now["distributionId"] == had["distributionId"]
        assert (
            wanted[name]["metadata"]["annotations"].items()
            >= {EXTERNAL_NAME: tenant["metadata"]["annotations"][EXTERNAL_NAME]}.items()
        )
        if "connectionGroupIdSelector" in had:
            assert "connection-group" in wanted


@given(specs)
def test_an_answer_settles(spec: dict[str, Any]) -> None:
    """Conditions and status fed back bring no event and no other status."""
    first = building.run(building.request(spec=spec, input_=GENEROUS))
    told = [building.condition(type_, *says) for type_, says in building.conditions(first).items()]
    fed_back = {**building.status(first), "conditions": told}

    again = building.run(building.request(xr={"status": fed_back}, spec=spec, input_=GENEROUS))

    assert building.status(again) == building.status(first)
    assert building.conditions(again) == building.conditions(first)
    assert [severity for severity, _ in building.results(again) if severity != "FATAL"] == []


@given(
    st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), json_values),
    st.dictionaries(st.sampled_from(["apiVersion", "kind", "plans", "defaultPlan", "ttl", "x"]), json_values),
    json_values,
)
def test_no_request_is_a_crash(xr: dict[str, Any], input_: dict[str, Any], observed: Any) -> None:
    req = fnv1.RunFunctionRequest()
    req.observed.composite.resource.update(xr)
    req.input.update(input_)
    req.observed.resources["tenant"].resource.update(
        {"status": observed, "metadata": observed, "spec": observed}
    )

    rsp = building.run(req)

    assert rsp.results[0].severity == fnv1.SEVERITY_FATAL
    assert rsp.results[0].message


@given(
    st.dictionaries(st.text(max_size=12) | st.sampled_from(["plan", "domains", "tags"]), json_values),
    json_values,
)
def test_no_claim_and_no_tenant_is_a_crash(spec: dict[str, Any], observed: Any) -> None:
    req = building.request(spec={"domains": ["a.example.com"], **spec})
    tenant = req.observed.resources["tenant"].resource
    tenant.update({"status": {"conditions": observed, "atProvider": observed, "dnsInstructions": observed}})
    tenant.update(
        {"metadata": {"generation": observed, "annotations": observed}, "spec": {"forProvider": observed}}
    )

    rsp = building.run(req)

    told = [each.type for each in rsp.conditions]
    # NeedsReview is set on claims that have something to review.
    reviewed = ClaimConditionType.NEEDS_REVIEW in told
    assert told == [
        each for each in ClaimConditionType if each is not ClaimConditionType.NEEDS_REVIEW or reviewed
    ]
    assert structs.plain_object(tenant) is not None


@given(st.sampled_from(["Shared", "PerDomain"]), json_values, json_values, st.booleans())
def test_no_change_of_isolation_is_a_crash(isolation: str, one: Any, other: Any, confirmed: bool) -> None:
    annotations = {"edgetenants.io/confirm": TOKENS} if confirmed else {}
    domains = ["a.example.com", "b.example.com"]
    req = building.request(
        xr={"metadata": {"annotations": annotations}},
        spec={"domains": domains, "isolation": isolation},
        input_=PARKED,
    )
    for name, forged in (("tenant", one), ("tenant-7653e4959f8eac25a7d5", other)):
        tenant = req.observed.resources[name].resource
        tenant.update(building.merged(building.TENANT, {"status": building.live_status(*domains)}))
        tenant.update({"metadata": {"generation": forged, "annotations": forged}})
        tenant["status"]["atProvider"].update({"domains": forged, "enabled": forged})
        tenant["status"].update({"conditions": forged})

    rsp = building.run(req)

    assert not [reason for severity, reason in building.results(rsp) if severity == "FATAL"]
    assert all(each["spec"]["forProvider"]["domains"] for each in building.desired(rsp).values())


SOURCES = {
    "plansFrom": [
        {"environmentConfig": {"name": "shelf"}},
        {"environmentConfig": {"matchLabels": {"a": "b"}}},
    ]
}


@given(st.none() | st.lists(json_values, max_size=2), st.lists(json_values, max_size=2), st.booleans())
def test_no_source_of_plans_is_a_crash_and_what_is_required_stays(
    named: list[Any] | None, selected: list[Any], capable: bool
) -> None:
    req = building.request(input_=SOURCES)
    if capable:
        req.meta.capabilities.append(fnv1.CAPABILITY_REQUIRED_RESOURCES)
    before = building.run(req)
    for name, found in (("plans-0", named), ("plans-1", selected)):
        if found is not None:
            answers = req.required_resources[name]
            answers.SetInParent()
            for plans in found:
                answers.items.add().resource.update({"metadata": {"name": "shelf"}, "data": {"plans": plans}})

    rsp = building.run(req)

    assert rsp.requirements == before.requirements
    assert [each.type for each in rsp.conditions if each.type == "Live"] == ["Live"]


@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), json_values), max_size=3))
def test_no_claim_that_is_reported_on_is_a_crash(claims: list[dict[str, Any]]) -> None:
    req = fnv1.RunFunctionRequest()
    req.input.update({"apiVersion": building.INPUT["apiVersion"], "kind": "TenantReport"})
    before = building.run(req)
    answers = req.required_resources["claims"]
    answers.SetInParent()
    for claim in claims:
        answers.items.add().resource.update(claim)

    rsp = building.run(req)

    assert rsp.requirements == before.requirements
    assert rsp.output["claims"] == len(claims)
