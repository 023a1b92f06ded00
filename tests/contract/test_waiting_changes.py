"""A change that AWS does not have yet never looks finished, to people nor to what waits by kstatus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.errors import ExternalError, Retry
from provider.main import TREES, managed_kind
from tests.contract.kstatus import status_of
from tests.contract.reconciled import Reconciled
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import managed

GET, UPDATE = "GetDistributionTenant", "UpdateDistributionTenant"
CHANGED = {"parameters": {"tenantName": "changed"}}
UNSEEN = "The spec has changed since the provider last read from AWS. Not done yet: "
PAUSED = "AWS is throttling {} requests; they are paused for this account. The provider retries"


@pytest.fixture
def serving(aws):
    mr = Reconciled(managed(), aws)
    mr.come_to_rest()
    assert mr.told("Ready")[:2] == ("True", "Available")
    assert status_of(mr.stored) == "Current"
    return mr


def is_waiting(mr, cause):
    assert mr.told("Ready")[:2] == ("True", "Available"), "it serves all the same"
    assert mr.told("InSync") == ("False", "UpdatePending", cause)
    assert mr.told("Reconciling")[:2] == ("True", "Updating")
    assert status_of(mr.stored) == "InProgress"


def is_done(mr):
    assert mr.told("InSync")[:2] == ("True", "InSync")
    assert status_of(mr.stored) == "Current"


def test_a_change_that_could_not_be_looked_at_is_in_progress(aws, serving):
    serving.edit(**CHANGED)
    aws.fault(GET, action="throttle")
    serving.reconcile()
    is_waiting(serving, f"{UNSEEN}get tenant shop.acme: Throttling: Rate exceeded. The provider retries")
    serving.reconcile()
    assert serving.told("Synced")[0] == "True", "what is only waited for is no error"
    is_waiting(serving, f"{UNSEEN}get tenant shop.acme: Paused: {PAUSED.format(GET)}")
    before = len(serving.writes)
    serving.reconcile()
    assert len(serving.writes) == before, "nothing is written at each look"
    serving.come_to_rest()
    is_done(serving)
    assert serving.told("Reconciling") == ("False", "Stable", "No change is in progress.")


def test_a_change_that_was_not_sent_is_in_progress_with_what_differs(aws, serving):
    serving.edit(**CHANGED)
    aws.fault(UPDATE, action="throttle")
    differs = "parameters.tenantName: desired changed, AWS has acme. Not done yet: "
    serving.reconcile()
    is_waiting(serving, f"{differs}update tenant shop.acme: Throttling: Rate exceeded. The provider retries")
    serving.reconcile()
    is_waiting(serving, f"{differs}update tenant shop.acme: Paused: {PAUSED.format(UPDATE)}")
    serving.come_to_rest()
    is_done(serving)


def test_a_change_that_is_rolled_out_is_in_progress(aws, serving):
    serving.edit(**CHANGED)
    serving.reconcile()
    is_waiting(serving, "AWS has the desired state and is rolling it out. No action is needed.")
    before = len(serving.writes)
    serving.come_to_rest()
    is_done(serving)
    assert len(serving.writes) - before == 1, "what Reconciling says costs no write of its own"


def test_a_change_under_credentials_that_ran_out_is_in_progress(aws, serving):
    aws.fault("GetCallerIdentity", code="ExpiredToken", status=403, message="expired")
    serving.edit(**CHANGED)
    serving.configs.resolved = replace(serving.configs.resolved, generation=2)
    serving.reconcile()
    assert serving.told("InSync")[2].startswith(UNSEEN)
    assert "ExpiredToken" in serving.told("InSync")[2]
    assert status_of(serving.stored) == "InProgress"
    serving.come_to_rest()
    is_done(serving)


GROUP_REF = {"connectionGroupIdRef": {"name": "later"}}
GROUP_MISSING = "spec.forProvider.connectionGroupIdRef: ConnectionGroup shop/later does not exist"
CONFIG_MISSING = ExternalError("spec.providerConfigRef: it does not exist", retry=Retry.poll())


KEPT = "A field whose reference cannot be resolved keeps its value in AWS. Not done yet: "
REST = "references cannot be resolved, and the rest of the spec does not wait for them: "


def test_a_change_that_names_what_is_not_there_is_in_progress(aws, serving):
    serving.edit(**GROUP_REF)
    serving.reconcile()
    is_waiting(serving, f"{KEPT}{GROUP_MISSING}")
    assert serving.told("Synced") == ("False", "ReconcileError", f"{REST}{GROUP_MISSING}")
    assert serving.stored["status"]["observedGeneration"] == 2
    before = len(serving.writes)
    serving.reconcile()
    assert len(serving.writes) == before, "nothing is written at each look"
    serving.edit(connectionGroupIdRef=None)
    serving.come_to_rest()
    is_done(serving)
    assert serving.stored["status"]["observedGeneration"] == 3


def test_a_change_that_refers_to_what_has_no_value_yet_is_in_progress(aws, serving):
    group = manifest()
    group["metadata"] |= {"name": "later", "namespace": "shop"}
    serving.objects.put(managed_kind(TREES[0].group), group)
    serving.edit(**GROUP_REF)
    serving.reconcile()
    assert serving.told("Synced")[0] == "True", "what is only waited for is no error"
    waits = "waiting for ConnectionGroup shop/later to have its id"
    is_waiting(serving, f"{KEPT}spec.forProvider.connectionGroupIdRef: {waits}")


WEB_ACL = {"customizations": {"webAcl": {"action": "override", "arnRef": {"name": "later"}}}}
ACL_MISSING = (
    "spec.forProvider.customizations.webAcl.arnRef: WebACL shop/later of provider-upjet-aws does not exist"
)


def test_a_web_acl_that_is_not_there_is_waited_for(aws, serving):
    """Without it, the tenant would lose the one that it has."""
    serving.edit(**WEB_ACL, **CHANGED)
    serving.reconcile()
    is_waiting(serving, f"{UNSEEN}cannot resolve references: {ACL_MISSING}")
    assert serving.stored["status"]["observedGeneration"] == 1, "AWS was not looked at for the change"


def test_a_change_whose_config_is_not_there_is_in_progress(aws, serving):
    serving.edit(**CHANGED)
    serving.configs.refusal = CONFIG_MISSING
    serving.reconcile()
    is_waiting(serving, f"{UNSEEN}{CONFIG_MISSING.message}")
    serving.configs.refusal = None
    serving.come_to_rest()
    is_done(serving)


def test_a_new_resource_whose_config_is_not_there_is_in_progress(aws):
    mr = Reconciled(managed(), aws)
    mr.configs.refusal = CONFIG_MISSING
    mr.reconcile()
    assert mr.told("Synced")[:2] == ("False", "ReconcileError")
    assert mr.stored["status"]["observedGeneration"] == 0, "no generation was ever looked at"
    assert status_of(mr.stored) == "InProgress"
    mr.configs.refusal = None
    mr.come_to_rest()
    assert status_of(mr.stored) == "Current"


def test_a_change_of_what_is_paused_is_in_progress(aws, serving):
    serving.edit(annotations={"crossplane.io/paused": "true"})
    serving.reconcile()
    assert status_of(serving.stored) == "Current", "nothing was changed"
    serving.edit(**CHANGED)
    serving.reconcile()
    why = "Reconciliation is paused via the annotation crossplane.io/paused."
    paused = f"{why} Remove it to resume reconciliation."
    is_waiting(serving, f"{UNSEEN}{paused}")
    serving.edit(annotations={"crossplane.io/paused": "false"})
    serving.come_to_rest()
    is_done(serving)


def test_a_spec_that_asks_for_a_pause_is_as_asked(aws, serving):
    stored = serving.stored
    stored["spec"]["managementPolicies"] = []
    stored["metadata"]["generation"] += 1
    serving.objects.put(serving.kind, stored)
    serving.reconcile()
    assert serving.told("Synced")[:2] == ("False", "ReconcilePaused")
    assert serving.told("InSync")[:2] == ("True", "InSync")
    assert status_of(serving.stored) == "Current"


def test_a_change_with_policies_that_are_none_is_in_progress(aws, serving):
    stored = serving.stored
    stored["spec"]["managementPolicies"] = ["Delete"]
    stored["metadata"]["generation"] += 1
    serving.objects.put(serving.kind, stored)
    serving.reconcile()
    assert serving.told("InSync")[:2] == ("False", "UpdatePending")
    assert status_of(serving.stored) == "InProgress"


def test_drift_that_cannot_be_repaired_yet_is_in_progress_with_its_cause(aws, serving):
    aws.edit("shop.acme", Enabled=True, Parameters=[{"Name": "tenantName", "Value": "foreign"}])
    aws.fault(UPDATE, action="throttle")
    serving.reconcile()
    status, reason, message = serving.told("InSync")
    assert (status, reason) == ("False", "DriftDetected")
    assert message.endswith(
        "Not done yet: update tenant shop.acme: Throttling: Rate exceeded. The provider retries"
    )
    assert status_of(serving.stored) == "InProgress"
    serving.come_to_rest()
    is_done(serving)


def test_drift_that_is_left_is_no_change_on_its_way(aws, serving):
    stored = serving.stored
    stored["spec"]["driftPolicy"] = "Report"
    serving.objects.put(serving.kind, stored)
    aws.edit("shop.acme", Parameters=[{"Name": "tenantName", "Value": "foreign"}])
    serving.come_to_rest()
    assert serving.told("InSync")[:2] == ("False", "DriftDetected")
    assert status_of(serving.stored) == "Current"


def test_a_change_under_frozen_writes_is_in_progress_until_they_are_lifted(serving):
    lifted = serving.configs.resolved
    serving.configs.resolved = replace(lifted, spec={**lifted.spec, "writes": "Frozen"}, generation=2)
    serving.edit(**CHANGED)
    serving.reconcile()
    why = "spec.writes of ClusterProviderConfig default is Frozen. Writes resume when that setting is removed"
    differs = "parameters.tenantName: desired changed, AWS has acme"
    assert serving.told("InSync") == ("False", "Frozen", f"{differs}. Not done yet: {why}")
    assert status_of(serving.stored) == "InProgress"
    serving.configs.resolved = lifted
    serving.come_to_rest()
    is_done(serving)


def test_nothing_is_said_where_nothing_waits(aws, serving):
    before = serving.stored
    aws.fault(GET, action="throttle")
    serving.reconcile()
    serving.reconcile()
    assert serving.told("InSync")[:2] == ("True", "InSync")
    assert serving.told("Reconciling") == ("", "", ""), "a resource that never waited has no such condition"
    assert status_of(serving.stored) == status_of(before) == "Current"


def test_a_connection_group_says_the_same(aws):
    group = Reconciled(manifest(), aws)
    group.come_to_rest()
    assert status_of(group.stored) == "Current"
    group.edit(ipv6Enabled=False)
    aws.fault("UpdateConnectionGroup", action="throttle")
    group.reconcile()
    assert group.told("InSync")[:2] == ("False", "UpdatePending")
    assert group.told("InSync")[2].endswith("Throttling: Rate exceeded. The provider retries")
    assert status_of(group.stored) == "InProgress"
    group.come_to_rest()
    is_done(group)


def test_a_tenant_that_is_only_disabled_is_not_told_as_deleted(aws, serving):
    serving.delete()
    serving.reconcile()
    assert serving.told("Deployed")[:2] == ("False", "Disabling")
    pending = [
        "event Normal PendingExternalResource",
        "status Ready=False/Disabling Deployed=False/Disabling applied",
    ]
    assert serving.journal[-2:] == pending
    assert "event Normal DeletedExternalResource" not in serving.journal
    assert status_of(serving.stored) == "Terminating"
    aws.deploy()
    serving.reconcile()
    assert serving.journal[-2] == "event Normal DeletedExternalResource"
    assert not aws.tenants
