"""A tenant whose connection group does not exist yet follows the rest of its spec, and says what waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from provider.main import TREES, managed_kind
from tests.contract.reconciled import Reconciled
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import FOR_PROVIDER, managed

REF = {"connectionGroupIdRef": {"name": "later"}}
ALWAYS = {"connectionGroupIdRef": {"name": "later", "policy": {"resolve": "Always"}}}
CHANGED = {"parameters": {"tenantName": "changed"}}
KEPT = "keeps its value in AWS"


@pytest.fixture
def serving(aws):
    mr = Reconciled(managed(), aws)
    mr.come_to_rest()
    return mr


def respec(mr, **fields):
    """A user changes fields of spec."""
    stored = mr.stored
    stored["spec"] |= fields
    stored["metadata"]["generation"] += 1
    mr.objects.put(mr.kind, stored)


def freeze(mr):
    resolved = mr.configs.resolved
    mr.configs.resolved = replace(resolved, spec={**resolved.spec, "writes": "Frozen"}, generation=2)


def group_of(aws, name):
    group = Reconciled(manifest(name=name), aws)
    group.come_to_rest()
    return group.stored["status"]["atProvider"]["id"]


def pass_time(aws, mr, seconds):
    aws.clock.advance(seconds)
    mr.time += timedelta(seconds=seconds)


@pytest.mark.parametrize("why", ["frozen", "observe only", "drift is reported"])
def test_synced_does_not_say_that_the_rest_is_done(aws, serving, why):
    if why == "frozen":
        freeze(serving)
    elif why == "observe only":
        respec(serving, managementPolicies=["Observe"])
    else:
        respec(serving, driftPolicy="Report")
        aws.edit("shop.acme", Parameters=[{"Name": "tenantName", "Value": "foreign"}])
    serving.edit(**REF, **({} if why == "drift is reported" else CHANGED))
    serving.reconcile()
    assert serving.told("Synced")[2].startswith(
        "references cannot be resolved, and the rest of the spec does not"
    )
    assert KEPT not in serving.told("InSync")[2], "what differs is told first"
    assert serving.told("InSync")[0] == "False"


@pytest.mark.parametrize("policy", ["Enforce", "Report"])
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_tenant_that_is_gone_is_told(aws, serving, policy, waits, frozen):
    respec(serving, driftPolicy=policy)
    if waits:
        group = manifest()
        group["metadata"] |= {"name": "later", "namespace": "shop"}
        serving.objects.put(managed_kind(TREES[0].group), group)
    serving.edit(**REF)
    serving.reconcile()
    assert KEPT in serving.told("InSync")[2]
    aws.edit("shop.acme", Enabled=False)
    aws.deploy()
    seen = aws.calls.get_tenant("shop.acme")
    aws.calls.delete_tenant(seen.id, seen.etag)
    if frozen:
        freeze(serving)
    for _ in range(6):
        serving.reconcile()
        pass_time(aws, serving, 30)
    assert serving.told("Ready")[0] == "False"
    assert KEPT not in serving.told("InSync")[2]
    assert not aws.tenants, "it is not created in another group"


def test_a_former_value_is_not_enforced(aws):
    """A reference that is always resolved has one; the tenant keeps what AWS has."""
    one, two = group_of(aws, "shop.one"), group_of(aws, "shop.two")
    mr = Reconciled(managed({**FOR_PROVIDER, "connectionGroupId": one}), aws)
    mr.come_to_rest()
    mr.edit(**ALWAYS)
    mr.come_to_rest()
    aws.edit("shop.acme", ConnectionGroupId=two)
    mr.edit(**CHANGED)
    mr.come_to_rest()
    seen = aws.calls.get_tenant("shop.acme")
    assert (seen.connection_group_id, seen.parameters["tenantName"]) == (two, "changed")
    assert KEPT in mr.told("InSync")[2]
    assert mr.stored["spec"]["forProvider"]["connectionGroupId"] == one, "nothing is written"


def test_a_tenant_of_a_creation_whose_answer_was_lost_is_looked_for(aws):
    mr = Reconciled(managed(), aws)
    lost = {"action": "fail", "code": "InternalError", "status": 500, "message": "lost"}
    aws.fault("CreateDistributionTenant", when="after", **lost)
    aws.fault("GetDistributionTenant", nth=2, code="EntityNotFound", status=404, message="not yet")
    mr.reconcile()
    mr.edit(enabled=False, **REF)
    for _ in range(8):
        mr.reconcile()
        pass_time(aws, mr, 5)
    assert [each["Enabled"] for each in aws.tenants] == [False]


def test_a_reference_of_init_provider_is_for_the_creation_alone(aws, serving):
    stored = serving.stored
    kept = {k: v for k, v in stored["metadata"]["annotations"].items() if "external-create" not in k}
    stored["metadata"]["annotations"] = kept
    serving.objects.put(serving.kind, stored)
    serving.restart()
    respec(serving, initProvider=REF)
    serving.reconcile()
    assert serving.told("InSync")[0] == "True"
    assert serving.told("Synced")[0] == "True"


@pytest.mark.parametrize(
    "changed",
    ["crossplane.io/reconcile-requested-at", "crossplane.io/external-name"],
    ids=["request", "name"],
)
def test_a_request_or_another_name_is_followed_by_a_look(aws, changed):
    mr = Reconciled(managed(), aws)
    mr.edit(**REF)
    mr.reconcile()
    before = len(aws.journal)
    mr.reconcile()
    assert len(aws.journal) == before
    mr.edit(annotations={changed: "shop.other"})
    mr.reconcile()
    assert len(aws.journal) > before
