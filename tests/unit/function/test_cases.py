"""Requests and what is asked of their answers: cases/*.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf import json_format

from apis import kinds
from tests.unit.function import building

LEGACY = {
    "kind": "XTenantClaim",
    "metadata": {"name": "acme-8fj2k", "namespace": None, "uid": "u-9"},
    "spec": {
        "claimRef": {"namespace": "shop", "name": "acme"},
        "plan": None,
        "domains": ["acme.example.com"],
    },
}


# Reads ten times faster where PyYAML has it. Each of the mutations that these cases notice reads them all.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _cases() -> Iterator[Any]:
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml")):
        for case in yaml.load(path.read_text(), Loader=_LOADER):
            yield pytest.param(case, id=f"{path.stem}: {case['it']}")


CASES = tuple(_cases())


def _request(case: Mapping[str, Any]) -> fnv1.RunFunctionRequest:
    known = {"it", "want", "legacy", "xr", "spec", "input", "observed", "serving", "ready", "synced"}
    assert set(case) <= known, set(case) - known
    return building.request(
        xr=building.merged(LEGACY if case.get("legacy") else {}, case.get("xr", {})),
        spec=case.get("spec"),
        input_=case.get("input"),
        observed=_observed(case),
    )


def _observed(case: Mapping[str, Any]) -> dict[str, Any]:
    observed = dict(case.get("observed", {}))
    if "serving" in case:
        observed["tenant"] = building.merged({"status": building.live_status()}, case["serving"])
    told = [
        building.condition(name.capitalize(), *case[name]) for name in ("ready", "synced") if name in case
    ]
    if told:
        tenant = observed.get("tenant", {})
        kept = [
            c
            for c in tenant.get("status", {}).get("conditions", [])
            if c["type"] not in {t["type"] for t in told}
        ]
        observed["tenant"] = building.merged(tenant, {"status": {"conditions": kept + told}})
    return observed


def _found(rsp: fnv1.RunFunctionResponse, want: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in the words of `want`."""
    desired, status = building.desired(rsp), building.status(rsp)
    live_status, reason, message = building.live(rsp)
    for_provider = {name: each["spec"]["forProvider"] for name, each in desired.items()}
    conditions = building.conditions(rsp)
    says_blocked = conditions["Blocked"][2]
    found: dict[str, Any] = {
        "conditions": {type_: list(conditions[type_][:2]) for type_ in want.get("conditions", ())},
        "degraded": conditions["Degraded"][2],
        "reconciling": conditions["Reconciling"][2],
        "suspended": conditions["Suspended"][2],
        "review": conditions.get("NeedsReview", ("", "", ""))[2],
        "blocked": [text for text in want.get("blocked", ()) if text in says_blocked],
        "live": [live_status, reason],
        "message": [text for text in want.get("message", ()) if text in message],
        "resources": desired,
        "ready": building.ready(rsp),
        "results": building.results(rsp),
        "status": status,
        "phase": status.get("phase"),
        "url": status.get("url"),
        "domains": status.get("domains"),
        "says": message,
        "api_versions": {name: each["apiVersion"] for name, each in desired.items()},
        "status_has": _subset(status, want.get("status_has", {})),
        "for_provider": _subset(for_provider, want.get("for_provider", {})),
        "envelope": _subset({name: each["spec"] for name, each in desired.items()}, want.get("envelope", {})),
        "metadata": _subset(
            {name: each["metadata"] for name, each in desired.items()}, want.get("metadata", {})
        ),
        "external_name": _subset(_external_names(desired), want.get("external_name", {})),
        "target": fnv1.Target.Name(rsp.conditions[0].target),
    }
    return {key: found[key] for key in want}


def _external_names(desired: Mapping[str, Any]) -> dict[str, str]:
    return {n: each["metadata"]["annotations"]["crossplane.io/external-name"] for n, each in desired.items()}


def _subset(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Of each wanted object the wanted fields, each whole."""
    return {
        key: {k: found.get(key, {}).get(k) for k in value} if isinstance(value, Mapping) else found.get(key)
        for key, value in wanted.items()
    }


@pytest.mark.parametrize("case", CASES)
def test_case(case: Mapping[str, Any]) -> None:
    rsp = building.reconcile(_request(case))

    assert _found(rsp, case["want"]) == case["want"], building.live(rsp)


@pytest.mark.parametrize("case", CASES)
def test_each_case_keeps_the_rules_of_the_protocol(case: Mapping[str, Any]) -> None:
    req = _request(case)
    before = req.SerializeToString(deterministic=True)
    rsp = building.run(req)

    assert req.SerializeToString(deterministic=True) == before, "the request was changed"
    assert all(each.reason and each.message for each in rsp.conditions)
    assert all(each.reason and each.message for each in rsp.results)
    assert {each.target for each in (*rsp.conditions, *rsp.results)} <= {
        fnv1.TARGET_COMPOSITE,
        fnv1.TARGET_COMPOSITE_AND_CLAIM,
    }
    assert not set(json_format.MessageToDict(rsp.desired.composite.resource)) - {"status"}
    for resource in building.desired(rsp).values():
        assert "status" not in resource
        assert "name" not in resource["metadata"]
    if any(each.severity == fnv1.SEVERITY_FATAL for each in rsp.results):
        assert rsp.desired == req.desired, "something was composed by half"


SPECS = {
    (kind.api_version, kind.kind): kind.spec
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS)
    if kind.spec
}


@pytest.mark.parametrize("case", CASES)
def test_the_api_server_takes_what_each_case_composes(case: Mapping[str, Any]) -> None:
    for resource in building.desired(building.run(_request(case))).values():
        SPECS[resource["apiVersion"], resource["kind"]].model_validate(resource["spec"])
