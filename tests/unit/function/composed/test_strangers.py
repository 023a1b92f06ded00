"""The author of a claim lists resources in spec.crossplane.resourceRefs that the claim does not control."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.composed import strangers
from function.serving import questions
from tests.unit.function import building

FREE: dict[str, Any] = {"name": "orphan", "uid": "u-7", "ownerReferences": None}
OTHERS = {"controller": False}
ITS = {"labels": {"crossplane.io/composite": "acme"}}
ITS_NAMESAKE = {"kind": "App", "name": "acme", "controller": False}
ITSELF = {"kind": "TenantClaim", "name": "acme", "controller": False}
CLUSTER_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {**FREE, "namespace": None},
}
LEGACY = {"apiVersion": "cloudfront.edgetenants.io/v1alpha1", "metadata": {**FREE, "namespace": None}}
UNWANTED = "tenant-0a1b2c3d4e"


def refused(observed: dict[str, dict[str, Any]]) -> str:
    """The message of the FATAL result, or "" if there is none."""
    rsp = building.run(building.request(observed=observed))
    return next((each.message for each in rsp.results if each.severity == fnv1.SEVERITY_FATAL), "")


@pytest.mark.parametrize(
    ("name", "stranger", "kind"),
    [
        (UNWANTED, {"metadata": FREE}, "DistributionTenant orphan"),
        (UNWANTED, {"metadata": {**FREE, "ownerReferences": [OTHERS]}}, "DistributionTenant orphan"),
        (UNWANTED, {"metadata": {**FREE, "labels": {"crossplane.io/composite": "b"}}}, "DistributionTenant"),
        (UNWANTED, {"metadata": {**FREE, **ITS, "ownerReferences": [ITS_NAMESAKE]}}, "DistributionTenant"),
        ("tenant", {"metadata": {**FREE, "labels": {"crossplane.io/composite": "b"}}}, "DistributionTenant"),
        (UNWANTED, LEGACY, "DistributionTenant orphan"),
        ("tenant", LEGACY, "DistributionTenant orphan"),
        ("of-another-step", LEGACY, "DistributionTenant orphan"),
        ("of-another-step", CLUSTER_ROLE, "ClusterRole orphan"),
        ("of-another-step", {"metadata": FREE}, "DistributionTenant orphan"),
    ],
)
def test_crossplane_deletes_nothing_that_the_claim_does_not_control(
    name: str, stranger: dict[str, Any], kind: str
) -> None:
    message = refused({name: stranger})
    assert message.startswith("spec.crossplane.resourceRefs: expected resources that this claim composed")
    assert kind in message


@pytest.mark.parametrize(
    ("name", "observed"),
    [
        ("tenant", {"metadata": FREE}),
        (UNWANTED, {}),
        (UNWANTED, {"metadata": {**FREE, "uid": None}}),
        (UNWANTED, {"metadata": {**FREE, **ITS}}),
        (UNWANTED, {"metadata": {**FREE, **ITS, "ownerReferences": [ITSELF]}}),
        ("tenant", {"metadata": {**FREE, **ITS, "ownerReferences": [ITS_NAMESAKE]}}),
        ("of-another-step", {"apiVersion": "v1", "kind": "Secret", "metadata": FREE}),
    ],
    ids=[
        "wanted again, after a restore",
        "its own",
        "of crossplane render",
        "its own of a backup",
        "its own of a backup that kept the owner",
        "wanted again, and of another owner, too",
        "of a later step",
    ],
)
def test_what_a_claim_may_list_is_not_refused(name: str, observed: dict[str, Any]) -> None:
    assert refused({name: observed}) == ""


def test_a_claim_that_is_refused_for_another_reason_deletes_nothing_either() -> None:
    req = building.request(spec={"plan": "none", "domains": []}, observed={UNWANTED: {"metadata": FREE}})
    assert [each.severity for each in building.run(req).results] == [fnv1.SEVERITY_FATAL]


def test_a_cached_answer_is_not_for_a_claim_with_another_list() -> None:
    before, after = (
        building.request(observed={UNWANTED: each})
        for each in ({"metadata": {"uid": "u-7"}}, {"metadata": FREE})
    )
    assert questions.question(before) != questions.question(after)
    beside = building.request(observed={"of-another-step": CLUSTER_ROLE})
    assert questions.question(beside) != questions.question(building.request())


def test_a_legacy_composite_may_have_cluster_scoped_resources() -> None:
    req = building.request(observed={"of-another-step": CLUSTER_ROLE})
    del req.observed.composite.resource.fields["metadata"].struct_value.fields["namespace"]
    assert strangers.find(req) == []


def test_what_another_composite_composed_is_said_to_be_its() -> None:
    said = refused({UNWANTED: {"metadata": {**FREE, "labels": {"crossplane.io/composite": "other"}}}})
    assert "DistributionTenant orphan, which has no controller, and is other's by its label" in said
    assert "delete" not in said
