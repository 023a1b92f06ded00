"""crossplane-runtime's cases of its two policy resolvers, under its names.

The tests ask the resolver about single actions, some in combinations that no managed resource can have
(`["Create"]`): there a row asks about a supported combination with the action, and about the refusal.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from edgetenants_runtime import Managed
from edgetenants_runtime.rules import policies
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions
from edgetenants_runtime.testing import toy

CONTRACT = Path(__file__).parents[3] / "docs" / "contract.md"
OB, CR, UP, DE, LI, ALL = "Observe", "Create", "Update", "Delete", "LateInitialize", "*"
DISABLED = "Management policies are always enabled"
"""Why the cases with the feature switched off have nothing to test; words of docs/contract.md."""

RESOLVERS = {
    "reconciler_legacy_test.go": (
        "TestTestLegacyManagementPoliciesResolver",
        "TestLegacyManagementPoliciesResolver",
    ),
    "reconciler_modern_test.go": ("TestManagementPoliciesResolver", "TestManagementPoliciesResolver"),
}

# For each test of upstream's: its cases, what is chosen, and what upstream's resolver answers.

IS_PAUSED = {"EnabledEmptyPolicies": ((), True), "EnabledNonEmptyPolicies": ((ALL,), False)}
VALIDATE = {
    "Enabled": ((), True),
    "EnabledSupported": ((ALL,), True),
    "EnabledNotSupported": ((DE,), False),
}
SHOULD_CREATE = {
    "ManagementPoliciesEnabledHasCreate": ((OB, CR), True),
    "ManagementPoliciesEnabledHasCreateAll": ((ALL,), True),
    "ManagementPoliciesEnabledActionNotAllowed": ((OB,), False),
}
SHOULD_UPDATE = {
    "ManagementPoliciesEnabledHasUpdate": ((OB, UP), True),
    "ManagementPoliciesEnabledHasUpdateAll": ((ALL,), True),
    "ManagementPoliciesEnabledActionNotAllowed": ((OB,), False),
}
SHOULD_LATE_INITIALIZE = {
    "ManagementPoliciesEnabledHasLateInitialize": ((OB, LI), True),
    "ManagementPoliciesEnabledHasLateInitializeAll": ((ALL,), True),
    "ManagementPoliciesEnabledActionNotAllowed": ((OB,), False),
}
ONLY_OBSERVE = {
    "ManagementPoliciesEnabledHasOnlyObserve": ((OB,), True),
    "ManagementPoliciesEnabledHasMultipleActions": ((LI, OB), False),
}
LEGACY_SHOULD_DELETE = {
    "DeletionDeleteManagementActionAll": ((ALL,), "Delete", True),
    "DeletionOrphanManagementActionAll": ((ALL,), "Orphan", False),
    "DeletionDeleteManagementActionDelete": ((OB, DE), "Delete", True),
    "DeletionOrphanManagementActionDelete": ((OB, DE), "Orphan", True),
    "DeletionDeleteManagementActionNoDelete": ((OB,), "Delete", False),
}
SHOULD_DELETE = {
    "DeleteManagementActionAll": ((ALL,), None, True),
    "ManagementActionDelete": ((OB, DE), None, True),
    "ManagementActionNoDelete": ((OB,), None, False),
}
OFF = {
    "Disabled",
    "DisabledNonDefault",
    "DisabledDefault",
    "ManagementPoliciesDisabled",
    "DeletionOrphan",
    "DeletionDelete",
}
"""With the feature switched off."""


@pytest.mark.parametrize("name", IS_PAUSED)
def test_is_paused(name: str) -> None:
    chosen, expected = IS_PAUSED[name]
    assert Managed(toy(managementPolicies=list(chosen))).paused is expected


@pytest.mark.parametrize("name", VALIDATE)
def test_validate(name: str) -> None:
    chosen, supported = VALIDATE[name]
    if supported:
        permissions(chosen, None)
        return
    with pytest.raises(UnsupportedPolicies, match=r"spec.managementPolicies \[Delete\] is not supported"):
        permissions(chosen, None)


@pytest.mark.parametrize("name", SHOULD_CREATE)
def test_should_create(name: str) -> None:
    chosen, expected = SHOULD_CREATE[name]
    assert permissions(chosen, None).create is expected


@pytest.mark.parametrize("name", SHOULD_UPDATE)
def test_should_update(name: str) -> None:
    chosen, expected = SHOULD_UPDATE[name]
    assert permissions(chosen, None).update is expected


@pytest.mark.parametrize("name", SHOULD_LATE_INITIALIZE)
def test_should_late_initialize(name: str) -> None:
    chosen, expected = SHOULD_LATE_INITIALIZE[name]
    assert permissions(chosen, None).late_initialize is expected


@pytest.mark.parametrize("name", ONLY_OBSERVE)
def test_should_only_observe(name: str) -> None:
    chosen, expected = ONLY_OBSERVE[name]
    nothing = policies.Permissions(create=False, update=False, delete=False, late_initialize=False)
    assert (permissions(chosen, None) == nothing) is expected


@pytest.mark.parametrize("name", [*LEGACY_SHOULD_DELETE, *SHOULD_DELETE])
def test_should_delete(name: str) -> None:
    chosen, deletion_policy, expected = (LEGACY_SHOULD_DELETE | SHOULD_DELETE)[name]
    assert permissions(chosen, deletion_policy).delete is expected


@pytest.mark.parametrize("action", [CR, UP, DE, LI])
def test_an_action_without_observe_is_refused(action: str) -> None:
    with pytest.raises(UnsupportedPolicies):
        permissions([action], None)


def test_the_reason_stands_in_the_contract() -> None:
    if not CONTRACT.exists():
        pytest.skip("the runtime stands alone")
    assert DISABLED in CONTRACT.read_text()


@pytest.mark.parametrize("file", RESOLVERS)
def test_no_case_is_missing(upstream: Callable[[str, str], set[str]], file: str) -> None:
    first, resolver = RESOLVERS[file]
    tests = {
        f"{first}IsPaused": IS_PAUSED,
        f"{resolver}Validate": VALIDATE,
        f"{resolver}ShouldCreate": SHOULD_CREATE,
        f"{resolver}ShouldUpdate": SHOULD_UPDATE,
        f"{resolver}ShouldLateInitialize": SHOULD_LATE_INITIALIZE,
        f"{resolver}OnlyObserve": ONLY_OBSERVE,
    }
    deletes = ("TestLegacyShouldDelete", LEGACY_SHOULD_DELETE), ("TestShouldDelete", SHOULD_DELETE)
    tests |= dict([deletes["modern" in file]])  # type: ignore[dict-item]
    for test, cases in tests.items():
        assert upstream(f"pkg/reconciler/managed/{file}", test) - OFF == {*cases} - OFF, test
