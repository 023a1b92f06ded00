"""Envelopes, conditions and references: the words and defaults that Crossplane promises."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from edgetenants_runtime.api import annotations, conditions
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.api.conditions import LastAsyncOperationReason as Last
from edgetenants_runtime.api.managed import ClusterManagedSpec, ManagementPolicy, NamespacedManagedSpec
from edgetenants_runtime.api.model import Kube
from edgetenants_runtime.api.providerconfig import Credentials, ProviderConfigUsage
from edgetenants_runtime.api.references import Reference, SecretReference


def test_defaults_of_the_namespaced_envelope() -> None:
    assert NamespacedManagedSpec().to_json() == {
        "managementPolicies": ["*"],
        "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
    }


def test_defaults_of_the_cluster_envelope() -> None:
    assert ClusterManagedSpec().to_json() == {
        "managementPolicies": ["*"],
        "deletionPolicy": "Delete",
        "providerConfigRef": {"name": "default"},
    }


@pytest.mark.parametrize("field", ["deletionPolicy", "publishConnectionDetailsTo"])
def test_the_namespaced_envelope_has_nothing_of_old(field: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        NamespacedManagedSpec.model_validate({field: "Delete"})


def test_policies_are_crossplanes() -> None:
    assert {str(policy) for policy in ManagementPolicy} == {
        "*", "Observe", "Create", "Update", "Delete", "LateInitialize",
    }  # fmt: skip


def test_policies_are_replaced_as_a_whole() -> None:
    """Server-side apply would merge a set with the default, to ["*", "Observe", …]."""
    field = NamespacedManagedSpec.model_fields["management_policies"]
    [form] = [each for each in field.metadata if isinstance(each, Kube)]
    assert form.list_type == "atomic"


LAST = "LastAsyncOperation"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (conditions.available(), ("Ready", "True", "Available", "")),
        (conditions.unavailable("gone"), ("Ready", "False", "Unavailable", "gone")),
        (conditions.creating(), ("Ready", "False", "Creating", "")),
        (conditions.deleting(), ("Ready", "False", "Deleting", "")),
        (conditions.reconcile_success(), ("Synced", "True", "ReconcileSuccess", "")),
        (conditions.reconcile_error("no"), ("Synced", "False", "ReconcileError", "no")),
        (conditions.reconcile_paused(), ("Synced", "False", "ReconcilePaused", "")),
        (conditions.deletion_held("no")[0], ("Ready", "False", "DeletionHeld", "no")),
        (conditions.deletion_held("no")[1], ("Synced", "False", "DeletionHeld", "no")),
        (conditions.never_observed("bug"), ("Ready", "Unknown", "Unknown", "bug")),
        (conditions.unforeseen("bug"), ("Unknown", "False", "Unknown", "bug")),
        (conditions.operation_ongoing("50 %"), ("AsyncOperation", "True", "Ongoing", "50 %")),
        (conditions.operation_finished(), ("AsyncOperation", "True", "Finished", "")),
        (conditions.last_operation(Last.SUCCESS), (LAST, "True", "Success", "")),
        (conditions.last_operation(Last.APPLY_FAILURE, "x"), (LAST, "False", "ApplyFailure", "x")),
        (conditions.last_operation(Last.DESTROY_FAILURE, "x"), (LAST, "False", "DestroyFailure", "x")),
    ],
)
def test_conditions_in_crossplanes_words(condition: Condition, expected: tuple[str, ...]) -> None:
    assert (condition.type, condition.status, condition.reason, condition.message) == expected


def test_a_condition_as_kubernetes_has_it() -> None:
    value = {"type": "Ready", "status": "True", "reason": "Available", "message": "", "observedGeneration": 2}
    value["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    assert Condition.model_validate(value).to_json() == value


def test_a_status_that_is_no_word_is_refused() -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate({"type": "Ready", "status": "true", "reason": "Available"})


@pytest.mark.parametrize(
    ("source", "field"), [("Secret", "secretRef"), ("Environment", "env"), ("Filesystem", "fs")]
)
def test_each_source_needs_its_field(source: str, field: str) -> None:
    with pytest.raises(ValidationError, match=f"expected {field} with source {source}, and only then"):
        Credentials.model_validate({"source": source})


def test_credentials_of_both_scopes_are_one_type() -> None:
    ref = {"name": "aws", "key": "credentials"}
    namespaced = Credentials.model_validate({"source": "Secret", "secretRef": ref})
    cluster = Credentials.model_validate({"source": "Secret", "secretRef": {**ref, "namespace": "infra"}})
    assert namespaced.secret_ref is not None
    assert cluster.secret_ref is not None
    assert (namespaced.secret_ref.namespace, cluster.secret_ref.namespace) == (None, "infra")


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "-a", "a" * 254])
def test_a_reference_holds_a_name_that_can_be(name: str) -> None:
    with pytest.raises(ValidationError):
        Reference(name=name)


def test_a_usage_round_trips() -> None:
    value = {
        "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
        "resourceRef": {"apiVersion": "x.io/v1", "kind": "Thing", "name": "a", "uid": "u"},
    }
    assert ProviderConfigUsage.model_validate(value).to_json() == value


def test_annotations_are_crossplanes() -> None:
    keys = {annotations.EXTERNAL_NAME, annotations.PAUSED, annotations.EXTERNAL_CREATE_PENDING}
    assert keys == {
        "crossplane.io/external-name",
        "crossplane.io/paused",
        "crossplane.io/external-create-pending",
    }
    assert annotations.FINALIZER == "finalizer.managedresource.crossplane.io"


def test_importable_without_a_kubernetes_client() -> None:
    code = "import sys, edgetenants_runtime.api as api; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["a..b", "a.-b", "a-.b", "a.", ".a", "A", "a" * 254, ""])
def test_a_name_that_kubernetes_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        SecretReference(name=name)


@pytest.mark.parametrize("name", ["a", "a-b.c-d", "a--b", "7", "a" * 253])
def test_a_name_that_kubernetes_accepts_is_accepted(name: str) -> None:
    assert SecretReference(name=name).name == name
