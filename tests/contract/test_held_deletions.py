"""While a deletion is on hold, the status shows what is in AWS."""

from __future__ import annotations

import pytest

from edgetenants_runtime.errors import ExternalError
from tests.contract.emulated import DISTRIBUTION
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import managed

DOMAIN, ADDED = "held.example.com", "added.example.com"
FINALIZER = "backup.example.com/finalizer"


def tenant(aws, **spec) -> Reconciled:
    asked = {"distributionId": DISTRIBUTION, "domains": [DOMAIN], "enabled": True}
    obj = managed(asked, **spec)
    obj["metadata"]["resourceVersion"] = "1"
    found = Reconciled(obj, aws)
    found.come_to_rest(20)
    assert found.told("Ready")[0] == "True"
    return found


def held(aws, how: str) -> Reconciled:
    """A tenant whose deletion is on hold."""
    found = tenant(aws, **({"deletionProtection": True} if how == "protected" else {}))
    stored = found.stored
    stored["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    if how == "finalizer":
        stored["metadata"]["finalizers"] += [FINALIZER]
    found.objects.put(found.kind, stored)
    found.objects.touch(found.kind, found.key)
    found.reconcile()
    return found


def change(found: Reconciled, aws, **fields) -> None:
    aws.edit("shop.acme", **fields)
    aws.deploy()
    found.reconcile()


def shown(found: Reconciled) -> dict:
    return found.stored["status"]["atProvider"]


@pytest.mark.parametrize("how", ["protected", "finalizer"])
def test_what_somebody_changes_in_aws_shows(aws, how):
    found = held(aws, how)
    before = found.told("Ready")
    change(found, aws, Enabled=False)
    assert shown(found)["enabled"] is False
    assert shown(found)["status"] == "Deployed"
    assert found.stored["status"]["domainsReady"] == "0/1"
    assert found.told("Deployed")[:2] == ("True", "Deployed")
    assert found.told("InSync")[:2] == ("False", "DriftDetected")
    assert found.told("InSync")[2] == (
        "enabled: desired true, AWS has false. Not done yet: "
        "the provider changes nothing while this resource is being deleted"
    )
    assert found.told("Ready")[:2] == ("False", "DeletionHeld" if how == "protected" else "Disabled")
    assert not [type_ for type_ in ("Ready", "Deployed") if "No action" in found.told(type_)[2]]
    change(found, aws, Enabled=True)
    assert shown(found)["enabled"] is True
    assert found.told("InSync")[:2] == ("True", "InSync")
    assert found.told("Ready") == before
    change(found, aws, Domains=[{"Domain": DOMAIN}, {"Domain": ADDED}])
    assert [each["domain"] for each in shown(found)["domains"]] == [ADDED, DOMAIN]


@pytest.mark.parametrize("how", ["protected", "finalizer"])
def test_nothing_is_written_while_nothing_changes(aws, how):
    found = held(aws, how)
    found.reconcile()
    before = len(found.writes)
    for _ in range(5):
        found.reconcile()
    assert found.writes[before:] == []
    assert "UpdateDistributionTenant" not in aws.journal[-20:]


def test_a_spec_that_is_invalid_shows_what_can_be_told(aws):
    found = held(aws, "finalizer")
    stored = found.stored
    stored["spec"]["forProvider"]["domains"] = ["not a domain"]
    found.objects.put(found.kind, stored)
    change(found, aws, Enabled=False)
    assert found.told("Ready") == (
        "False",
        "Disabled",
        "Tenant shop.acme is disabled in AWS. Its deletion is on hold",
    )
    stored = found.stored
    stored["metadata"]["finalizers"].remove(FINALIZER)
    found.objects.put(found.kind, stored)
    found.reconcile()
    assert not aws.tenants


def test_the_deletion_goes_on_as_soon_as_it_is_confirmed(aws):
    found = held(aws, "protected")
    found.edit(annotations={"edgetenants.io/confirm": found.stored["metadata"]["uid"][:8]})
    found.reconcile()
    assert found.told("Ready")[1] == "Disabling"
    aws.deploy()
    found.reconcile()
    assert not aws.tenants


def test_protection_that_is_turned_off_during_the_deletion_releases_nothing(aws):
    """A claim's edit can turn it off while the claim needs the tenant once more."""
    found = held(aws, "protected")
    stored = found.stored
    del stored["spec"]["deletionProtection"]
    found.objects.put(found.kind, stored)
    for _ in range(3):
        found.reconcile()
    token = stored["metadata"]["uid"][:8]
    words = (
        "deletionProtection was on when the deletion was requested: tenant shop.acme is kept. To delete it, "
        f"and so end what it serves, set the annotation edgetenants.io/confirm to {token}"
    )
    assert found.told("Ready") == ("False", "DeletionHeld", words)
    assert shown(found)["enabled"] is True
    found.edit(annotations={"edgetenants.io/confirm": token})
    found.reconcile()
    aws.deploy()
    found.reconcile()
    assert not aws.tenants


@pytest.mark.parametrize("why", ["paused", "unreadable", "no config"])
def test_a_protected_deletion_is_recorded_before_aws_is_read(aws, why):
    """Else the protection could be edited away meanwhile."""
    found = tenant(aws, deletionProtection=True)
    stored = found.stored
    stored["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    if why == "paused":
        stored["metadata"]["annotations"]["crossplane.io/paused"] = "true"
    elif why == "no config":
        found.configs.refusal = ExternalError("no config")
    else:
        aws.fault("GetDistributionTenant", every=True, code="AccessDenied", status=403)
    found.objects.put(found.kind, stored)
    found.objects.touch(found.kind, found.key)
    found.reconcile()
    assert found.stored["status"]["deletionProtected"] is True
    stored = found.stored
    stored["metadata"]["annotations"].pop("crossplane.io/paused", None)
    del stored["spec"]["deletionProtection"]
    found.objects.put(found.kind, stored)
    found.configs.refusal = None
    aws.admin("DELETE", "faults")
    for _ in range(3):
        found.reconcile()
    assert found.told("Ready")[:2] == ("False", "DeletionHeld")
    assert aws.tenants


def test_what_a_status_says_of_a_deletion_before_there_is_one_is_removed(aws):
    """Else anyone who may write it has the next deletion wait for a confirmation that no spec asks for."""
    found = tenant(aws)
    stored = found.stored
    stored["status"]["deletionProtected"] = True
    found.objects.put(found.kind, stored)
    found.reconcile()
    assert "deletionProtected" not in found.stored["status"]


@pytest.mark.parametrize("code", ["AccessDenied", "ResourceNotDisabled"])
def test_what_was_disabled_for_its_deletion_serves_again_once_that_is_held(aws, code):
    found = tenant(aws, deletionProtection=True)
    stored = found.stored
    stored["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    stored["metadata"]["annotations"]["edgetenants.io/confirm"] = stored["metadata"]["uid"][:8]
    found.objects.put(found.kind, stored)
    found.objects.touch(found.kind, found.key)
    aws.fault(
        "DeleteDistributionTenant", every=True, code=code, status=403 if code == "AccessDenied" else 409
    )
    found.reconcile()
    assert not aws.tenants[0]["Enabled"]
    stored = found.stored
    del stored["metadata"]["annotations"]["edgetenants.io/confirm"]
    found.objects.put(found.kind, stored)
    found.objects.touch(found.kind, found.key)
    found.restart()
    for _ in range(3):
        found.reconcile()
    assert aws.tenants[0]["Enabled"]
    assert found.told("Ready")[:2] == ("False", "DeletionHeld")
