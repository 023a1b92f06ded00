"""What the conditions say while a field waits for its reference and AWS has everything else."""

from __future__ import annotations

import pytest

from edgetenants_runtime import Managed
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from provider.cloudfront.clients.progress import unresolved

WAITING = "spec.forProvider.connectionGroupIdRef: waiting for ConnectionGroup shop/acme to have its id"
MR = Managed({"metadata": {"name": "acme", "generation": 2}, "spec": {"managementPolicies": ["*"]}})


def condition(type_: str, status: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type_, status=ConditionStatus(status), reason=reason, message=message)


READY = condition("Ready", "True", "Available")


def test_a_tenant_is_not_in_sync_without_its_group() -> None:
    told = unresolved(MR, WAITING, (READY, condition("InSync", "True", "InSync")))
    [in_sync, reconciling] = told
    assert (in_sync.type, in_sync.status, in_sync.reason) == ("InSync", "False", "UpdatePending")
    assert in_sync.message.endswith(f". Not done yet: {WAITING}")
    assert (reconciling.type, reconciling.status) == ("Reconciling", "True")


def test_what_in_sync_says_else_is_kept() -> None:
    unset = condition("InSync", "True", "InSync", "AWS has a web ACL that the spec does not set")
    [in_sync, *_] = unresolved(MR, WAITING, (READY, unset))
    assert in_sync.message.startswith("AWS has a web ACL that the spec does not set. ")


@pytest.mark.parametrize("reason", ["DriftDetected", "Frozen", "UpdateIneffective", "UpdatePending"])
def test_other_differences_are_told_first(reason: str) -> None:
    assert unresolved(MR, WAITING, (READY, condition("InSync", "False", reason, "enabled"))) == ()


def test_what_is_not_known_is_not_told() -> None:
    assert unresolved(MR, WAITING, (READY,)) == ()
