"""The report on all claims, as a step of an Operation."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from function.protocol import structs

INPUT = {"apiVersion": "edgetenants.fn.crossplane.io/v1alpha1", "kind": "TenantReport"}


def claim(name: str, phase: str | None, reason: str, **holding: str) -> dict[str, Any]:
    """A claim; `holding` are conditions that are True, with their messages."""
    live = {"type": "Live", "status": str(phase == "Live"), "reason": reason, "message": f"{name} says."}
    others = [{"type": type_, "status": "True", "message": text} for type_, text in holding.items()]
    status = {"conditions": [live, *others]} | ({"phase": phase} if phase else {})
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"plan": "gold"}, "status": status}


def request(found: list[dict[str, Any]] | None = None, **input_: Any) -> fnv1.RunFunctionRequest:
    req = fnv1.RunFunctionRequest(meta=fnv1.RequestMeta(tag="t"))
    req.input.update({**INPUT, **input_})
    if found is not None:
        req.required_resources["claims"].SetInParent()
        for each in found:
            req.required_resources["claims"].items.add().resource.update(each)
    return req


def report(*claims: dict[str, Any], **input_: Any) -> dict[str, Any]:
    return structs.plain_object(fn.run(request(list(claims), **input_)).response.output)


def test_claims_are_required_with_each_call_in_the_same_words() -> None:
    labels = {"claims": {"matchLabels": {"team": "shop"}, "namespace": "shop"}}
    first = fn.run(request(**labels)).response
    then = fn.run(request([], **labels)).response

    selector = first.requirements.resources["claims"]
    assert (selector.api_version, selector.kind) == ("platform.edgetenants.io/v1alpha1", "TenantClaim")
    assert (dict(selector.match_labels.labels), selector.namespace) == ({"team": "shop"}, "shop")
    assert then.requirements == first.requirements
    assert not first.HasField("output")
    assert first.meta.tag == "t"


def test_all_claims_are_asked_for_by_no_labels_rather_than_by_nothing() -> None:
    assert fn.run(request()).response.requirements.resources["claims"].HasField("match_labels")


def test_what_is_counted_and_who_is_listed() -> None:
    found = report(
        claim("well", "Live", "Live"),
        claim("asleep", "Suspended", "Suspended"),
        claim("new", "Deploying", "Deploying"),
        claim("waits", "WaitingForDNS", "WaitingForDNS"),
        claim("broken", "Failed", "DomainConflict"),
        claim("held", "Live", "Live", Blocked="Set the annotation."),
        claim("drifts", "Live", "Live", Degraded="enabled differs"),
        claim("unseen", None, ""),
    )

    assert found["claims"] == 8
    assert found["byPhase"] == {
        "Deploying": 1, "Failed": 1, "Live": 3, "Suspended": 1, "Unknown": 1, "WaitingForDNS": 1,
    }  # fmt: skip
    assert found["byReason"]["Unknown"] == 1
    listed = {row["name"]: row["message"] for row in found["attention"]}
    assert listed == {
        "broken": "broken says.",
        "held": "Set the annotation.",
        "drifts": "enabled differs",
        "unseen": "unseen says.",
        "waits": "waits says.",
    }
    assert found["attention"][0]["name"] == "broken"


def _held(type_: str, reason: str) -> dict[str, str]:
    return {"type": type_, "status": "True", "reason": reason, "message": f"{type_} says."}


@pytest.mark.parametrize(
    ("live", "others", "teller"),
    [
        ("False", [_held("Degraded", "TenantFailed")], "Live"),
        ("True", [_held("Degraded", "TenantFailed")], "Degraded"),
        ("True", [_held("Degraded", "DNSRecordLost")], "Live"),
        ("False", [_held("Degraded", "ClaimRefused"), _held("Blocked", "PolicyDenied")], "Live"),
        ("True", [_held("Degraded", "ClaimRefused"), _held("Blocked", "PolicyDenied")], "Degraded"),
        ("True", [_held("Degraded", "ClaimRefused"), _held("Blocked", "MissingDependencies")], "Degraded"),
        ("False", [_held("Blocked", "AwaitingApproval")], "Blocked"),
    ],
)
def test_a_row_has_the_cause_and_not_what_refers_to_it(
    live: str, others: list[dict[str, str]], teller: str
) -> None:
    says = {"type": "Live", "status": live, "reason": "X", "message": "Live says."}
    odd = {"metadata": {"name": "odd"}, "status": {"phase": "Failed", "conditions": [says, *others]}}

    [row] = report(odd)["attention"]

    assert row["message"] == f"{teller} says."


def test_the_order_in_which_core_reads_changes_nothing() -> None:
    claims = [
        claim(f"c{n}", phase, "R") for n, phase in enumerate(["Failed", "Live", "WaitingForDNS", "Failed"])
    ]

    one, other = (fn.run(request(each)).response for each in (claims, claims[::-1]))

    assert one.output == other.output


def test_no_more_rows_than_are_asked_for() -> None:
    found = report(*(claim(f"c{n:02d}", "Failed", "Throttled") for n in range(12)), mostRows=10)

    assert (len(found["attention"]), found["notListed"], found["claims"]) == (10, 2, 12)


def test_messages_are_cut() -> None:
    found = report(claim("long", "Live", "Live", Degraded="x" * 5000))

    assert len(found["attention"][0]["message"]) == 512


@pytest.mark.parametrize(
    ("input_", "path"),
    [({"mostRows": 5000}, "mostRows"), ({"claims": {"kind": ""}}, "claims.kind"), ({"rows": 1}, "rows")],
)
def test_a_wrong_input_is_fatal_with_its_path(input_: dict[str, Any], path: str) -> None:
    answer = fn.run(request([], **input_))

    (result,) = answer.response.results
    assert (result.severity, answer.refused) == (fnv1.SEVERITY_FATAL, True)
    assert f"{path}: expected" in result.message


def test_what_earlier_steps_want_is_passed_on() -> None:
    req = request([])
    req.desired.resources["other"].resource.update({"kind": "ConfigMap"})
    req.context.update({"key": "value"})

    rsp = fn.run(req).response

    assert (rsp.desired, rsp.context) == (req.desired, req.context)


@pytest.mark.parametrize("reason", ["B" * 65, "B\n", "no: reason", "Ä"])
def test_what_is_no_reason_breaks_no_report(reason: str) -> None:
    """A user with rights on the status may write anything there, and pause the claim."""
    found = report(claim("forged", "Failed", reason), claim("odd", "B" * 1000, "Failed"))
    assert found["byReason"] == {"Failed": 1, "Other": 1}
    assert found["byPhase"] == {"Failed": 1, "Other": 1}
    assert [row["reason"] for row in found["attention"]] == ["Other", "Failed"]


def test_one_namespace_does_not_fill_the_report() -> None:
    many = [claim(f"a{n}", "Failed", "Failed") for n in range(30)]
    other = claim("z", "Failed", "Failed")
    other["metadata"]["namespace"] = "zoo"
    waits = claim("w", "WaitingForDNS", "WaitingForDNS")
    waits["metadata"]["namespace"] = "zoo"
    found = report(*many, other, waits, mostRows=3)
    assert [(row["namespace"], row["name"]) for row in found["attention"]] == [
        ("shop", "a0"),
        ("zoo", "z"),
        ("shop", "a1"),
    ]
    assert found["notListed"] == 29
    found = report(*many, waits, mostRows=3)
    assert [row["name"] for row in found["attention"]] == ["a0", "a1", "w"]


@pytest.mark.parametrize("reason", ["ReconcilePaused", "ReconcileError"])
def test_a_claim_that_is_not_reconciled_needs_attention(reason: str) -> None:
    """Its conditions may be old: a paused claim can be changed, suspended and deleted without an effect."""
    paused = claim("paused", "Live", "Live")
    synced = {"type": "Synced", "status": "False", "reason": reason, "message": "It is paused."}
    paused["status"]["conditions"].append(synced)
    [row] = report(paused, claim("well", "Live", "Live"))["attention"]
    assert (row["name"], row["synced"], row["message"]) == ("paused", False, "It is paused.")


def test_what_a_refused_claim_says_is_not_hidden() -> None:
    refused = claim("refused", "Live", "Live", Degraded="The plan allows none.")
    refused["status"]["conditions"].append({"type": "Synced", "status": "False", "reason": "ReconcileError"})
    [row] = report(refused)["attention"]
    assert row["message"] == "The plan allows none."
