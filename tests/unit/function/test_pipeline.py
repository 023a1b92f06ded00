"""The function among others: what they want is passed on, and what it wants is its own."""

from __future__ import annotations

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function.composed import observed
from tests.unit.function import building


def _busy_request() -> fnv1.RunFunctionRequest:
    req = building.request()
    req.context.update({"apiextensions.crossplane.io/environment": {"a": 1}})
    req.desired.composite.resource.update({"status": {"theirs": "kept", "phase": "Odd"}})
    req.desired.composite.connection_details["theirs"] = b"\xff"
    req.desired.resources["bucket"].resource.update({"kind": "Bucket", "spec": {"n": 3}})
    req.desired.resources["bucket"].ready = fnv1.READY_TRUE
    return req


def test_what_others_want_and_the_context_are_passed_on() -> None:
    req = _busy_request()

    rsp = building.run(req)

    assert rsp.desired.resources["bucket"] == req.desired.resources["bucket"]
    assert rsp.context == req.context
    assert rsp.meta.tag == req.meta.tag
    assert building.status(rsp)["theirs"] == "kept"
    assert building.status(rsp)["phase"] == "Pending"
    assert rsp.desired.composite.connection_details["theirs"] == b"\xff"


def test_a_refusal_passes_on_what_others_want() -> None:
    req = _busy_request()
    req.observed.composite.resource.update({"spec": {"domains": []}})

    rsp = building.run(req)

    assert rsp.desired == req.desired
    assert rsp.context == req.context


def test_an_absent_context_stays_absent() -> None:
    assert not building.run(building.request()).HasField("context")


def test_what_an_earlier_step_wants_under_our_name_is_not_replaced_silently() -> None:
    req = building.request(observed={"tenant": {"status": building.live_status()}})
    req.desired.resources["tenant"].resource.update({"kind": "ConfigMap", "data": {"a": "b"}})

    rsp = building.run(req)

    assert building.results(rsp) == [["FATAL", "Failed"]]
    assert "an earlier step composes a ConfigMap with the name tenant" in rsp.results[0].message
    assert building.live(rsp)[:2] == ("True", "Live")
    assert rsp.desired == req.desired


def test_an_earlier_step_may_want_the_same_and_what_we_do_not_compose() -> None:
    req = building.request()
    same = building.run(req).desired.resources["tenant"]
    req.desired.resources["tenant"].CopyFrom(same)
    req.desired.resources["connection-group"].resource.update({"kind": "ConfigMap"})

    rsp = building.run(req)

    assert building.results(rsp) == [["NORMAL", "Creating"]]
    assert rsp.desired.resources["connection-group"].resource["kind"] == "ConfigMap"


def test_a_tenant_of_another_step_is_none_of_ours() -> None:
    other = {"spec": {"forProvider": {"domains": ["blog.example.com"]}}, "status": building.live_status()}
    req = building.request(observed={"tenant-blog": other, "tenant": {"status": building.live_status()}})
    assert building.conditions(building.run(req))["Blocked"][0] == "False"

    waits = building.request(
        observed={"tenant-blog": other}, input_={"plansFrom": [{"environmentConfig": {"name": "shelf"}}]}
    )
    assert "tenant-blog" not in building.run(waits).desired.resources


def test_no_requirements_so_that_one_call_is_enough() -> None:
    rsp = building.run(building.request())

    assert not rsp.requirements.resources
    assert not rsp.requirements.extra_resources


def test_a_legacy_composite_has_its_tenants_connection_details() -> None:
    xr = {"metadata": {"namespace": None}, "spec": {"claimRef": {"namespace": "shop", "name": "acme"}}}
    req = building.request(xr=xr, observed={"tenant": {}})
    req.observed.resources["tenant"].connection_details["url"] = b"https://acme.example.com"

    assert dict(building.run(req).desired.composite.connection_details) == {
        "url": b"https://acme.example.com"
    }


def test_a_modern_composite_has_none() -> None:
    req = building.request(observed={"tenant": {}})
    req.observed.resources["tenant"].connection_details["url"] = b"https://acme.example.com"

    assert not building.run(req).desired.composite.connection_details


def test_a_message_has_a_bound() -> None:
    domains = ["-" * 200 + str(n) for n in range(400)]

    rsp = building.run(building.request(spec={"domains": domains}))

    assert len(rsp.conditions[0].message) == len(rsp.results[0].message) == 4096


def _secret_of(length: int) -> tuple[str, str, str]:
    spec = {"domains": ["a.example.com"], "isolation": "PerDomain", "connectionSecretName": "s" * length}
    return building.live(building.run(building.request(spec=spec)))


def test_a_secret_name_leaves_room_for_the_domains_digest() -> None:
    assert _secret_of(232)[1] == "Creating"
    assert _secret_of(233)[1] == "InvalidClaim"
    assert "spec.connectionSecretName: expected at most 232" in _secret_of(233)[2]


def test_each_observed_resource_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else takes as much time."""
    names = ("connection-group", "tenant")
    read, seen = observed.read, []

    def counted(resource: Struct) -> observed.ObservedTenant:
        seen.append(resource)
        return read(resource)

    monkeypatch.setattr(observed, "read", counted)
    building.run(building.request(observed={name: {"status": building.live_status()} for name in names}))
    assert len(seen) == len(names)
