"""Reasons are closed, documented, and on the reference page."""

import inspect
import re
from enum import StrEnum

import pytest

from apis import conditions, reference
from edgetenants_runtime.api import conditions as crossplane
from edgetenants_runtime.api import managed, providerconfig, references

PAGE = reference.conditions_page()


def enums(module: object) -> list[type[StrEnum]]:
    found = [item for _, item in inspect.getmembers(module, inspect.isclass) if issubclass(item, StrEnum)]
    return [item for item in found if item is not StrEnum and item.__module__ == module.__name__]  # type: ignore[attr-defined]


ALL = [
    enum for module in (conditions, crossplane, managed, providerconfig, references) for enum in enums(module)
]


@pytest.mark.parametrize("enum", ALL, ids=lambda enum: enum.__name__)
def test_every_member_has_a_docstring(enum: type[StrEnum]) -> None:
    assert set(reference.member_docs(enum)) == {member.value for member in enum}


@pytest.mark.parametrize("enum", [enum for enum in enums(conditions) if "Reason" in enum.__name__])
def test_every_reason_is_one_word_and_listed(enum: type[StrEnum]) -> None:
    assert enum in {listed for _, _, listed_enums in reference.REASONS for listed in listed_enums}
    for member in enum:
        assert re.fullmatch("[A-Z][A-Za-z]+", member.value)
        assert f"| `{member.value}` |" in PAGE


def test_every_condition_type_has_a_section() -> None:
    types = {
        *conditions.TenantConditionType,
        *conditions.ClaimConditionType,
        *crossplane.ConditionType,
        *providerconfig.ProviderConfigConditionType,
    }
    assert set(re.findall("^## (.*)$", PAGE, re.MULTILINE)) == {type_.value for type_ in types}


SEED = {
    conditions.TenantReadyReason: (
        "Deploying Disabling Disabled DomainConflict DomainValidationPending CertificateExpired "
        "CertificateSANMismatch MissingCertificate MissingParameters ParentNotFound ValidationFailed "
        "InvalidSpec AccessDenied AWSError QuotaExceeded Throttled AdoptionRefused AccountMismatch "
        "UpdateIneffective Frozen DeletionHeld"
    ),
    conditions.DeployedReason: "Deployed Creating Deploying Disabling Deleting",
    conditions.InSyncReason: "InSync DriftDetected UpdatePending",
    conditions.CertificateReason: "Validated PendingValidation Attaching CertificateFailed NotConfigured",
    conditions.DnsReason: "DNSReady DNSNotConfigured DNSRecordCreating DNSPropagating DNSError",
    conditions.BlockedReason: "AwaitingApproval PolicyDenied MissingDependencies Unblocked",
}
"""Reasons that people select by; one that goes needs a note of deprecation first."""


@pytest.mark.parametrize(("enum", "reasons"), SEED.items())
def test_no_published_reason_is_gone(enum: type[StrEnum], reasons: str) -> None:
    assert set(reasons.split()) <= {member.value for member in enum}


def test_a_member_without_docstring_is_seen() -> None:
    class Bare(StrEnum):
        A = "A"
        B = "B"
        """Documented."""

    assert reference.member_docs(Bare) == {"B": "Documented."}
