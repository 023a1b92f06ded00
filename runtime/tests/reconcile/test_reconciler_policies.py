"""Every combination of management policies, and what is done outside under each."""

import itertools

import pytest

from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.managed import ManagementPolicy
from edgetenants_runtime.external import Observation
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import (
    HELD_MR,
    NEVER_FAILED,
    POLL_FAILED,
    VARIANTS,
    Variant,
    conditions_of,
    name,
)

OB, CR, UP, DE, LI = "Observe", "Create", "Update", "Delete", "LateInitialize"

TABLE = {
    # policies: (absent, differs, deleted, late initialization)
    ("*",): ("create", "update", "delete", True),
    (OB, CR, UP, DE, LI): ("create", "update", "delete", True),
    (OB, CR, UP, DE): ("create", "update", "delete", False),
    (OB, CR, UP, LI): ("create", "update", "orphan", True),
    (OB, CR, UP): ("create", "update", "orphan", False),
    (OB, CR, DE, LI): ("create", "", "delete", True),
    (OB, CR, LI): ("create", "", "orphan", True),
    (OB, CR, DE): ("create", "", "delete", False),
    (OB, CR): ("create", "", "orphan", False),
    (OB, DE): ("error", "", "delete", False),
    (OB, LI): ("error", "", "orphan", True),
    (OB, UP): ("error", "update", "orphan", False),
    (OB, UP, LI): ("error", "update", "orphan", True),
    (OB,): ("error", "", "orphan", False),
    (): ("paused", "paused", "paused", False),
}
"""What crossplane-runtime accepts (pkg/reconciler/managed/policies.go) and does."""

REFUSED = [
    combination
    for size in range(1, 7)
    for combination in itertools.combinations([policy.value for policy in ManagementPolicy], size)
    if frozenset(combination) not in {frozenset(accepted) for accepted in TABLE}
]
ROWS = [(policies, *row) for policies, row in TABLE.items()]


def ids(of: object) -> str:
    return "+".join(of) or "none" if isinstance(of, tuple) else name(of) if isinstance(of, Variant) else ""


def world_of(policies: tuple[str, ...], variant: Variant, **changes: object) -> World:
    spec = {"managementPolicies": list(policies)}
    return World(toy(cluster=variant.cluster, **HELD_MR, **spec, **changes), variant.kind)  # type: ignore[arg-type]


def done_outside(world: World) -> str:
    """What was called that changes something, or how the reconcile ended without."""
    outcome = world.reconcile()
    calls = [line.split()[1] for line in world.journal if line.startswith("external")]
    changing = [call for call in calls if call != "observe"]
    if changing:
        return "+".join(changing)
    if conditions_of(world.mr).get("Synced") == "False/ReconcilePaused":
        assert calls == []
        return "paused"
    if world.mr is None:
        assert calls == []
        return "orphan"
    return "error" if outcome == POLL_FAILED else ""


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize(("policies", "absent", "differs", "deleted", "late"), ROWS, ids=ids)
def test_what_each_combination_does(
    policies: tuple[str, ...], absent: str, differs: str, deleted: str, late: bool, variant: Variant
) -> None:
    """Rule: policies.supported"""
    assert done_outside(world_of(policies, variant)) == absent

    there = world_of(policies, variant)
    there.external.toys = {"acme": 7}
    assert done_outside(there) == differs

    goes = world_of(policies, variant, deleted=True)
    goes.external.toys = {"acme": 1}
    assert done_outside(goes) == deleted

    empty = world_of(policies, variant)
    empty.external.toys = {"acme": 1}
    empty.external.observation = Observation(
        True, conditions=(conditions.available(),), late_initialized={"colour": "red"}
    )
    empty.reconcile()
    assert ("spec colour" in empty.journal) is late


@pytest.mark.parametrize("deleted", [False, True], ids=["lives", "deleted"])
@pytest.mark.parametrize("policies", REFUSED, ids=ids)
def test_every_other_combination_does_nothing_and_names_the_allowed(
    policies: tuple[str, ...], deleted: bool
) -> None:
    """Rule: policies.others"""
    world = world_of(policies, VARIANTS[0], deleted=deleted)
    world.external.toys = {"acme": 7}
    assert world.reconcile() == NEVER_FAILED
    assert world.journal == [
        "event Warning CannotUseInvalidManagementPolicy",
        "status Synced=False/ReconcileError",
    ]
    told = world.status()["conditions"][0]["message"]
    for accepted in TABLE:
        assert "[" + ", ".join(sorted(accepted)) + "]" in told


def test_all_combinations_are_here() -> None:
    assert len(TABLE) + len(REFUSED) == 2 ** len(ManagementPolicy)


def test_order_and_repetition_do_not_matter() -> None:
    """Rule: policies.supported"""
    world = world_of((DE, OB, OB), VARIANTS[0], deleted=True)
    world.external.toys = {"acme": 1}
    assert done_outside(world) == "delete"


def test_without_the_field_everything_is_permitted() -> None:
    """Rule: policies.default"""
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 7}
    assert done_outside(world) == "update"


@pytest.mark.parametrize("policies", [(OB,), (OB, LI)], ids=ids)
@pytest.mark.parametrize("deleted", [False, True], ids=["lives", "deleted"])
@pytest.mark.parametrize("toys", [{}, {"acme": 1}, {"acme": 7}], ids=["absent", "same", "differs"])
def test_observe_only_never_writes_outside(
    policies: tuple[str, ...], deleted: bool, toys: dict[str, int]
) -> None:
    """Rule: observe-only.no-writes"""
    world = world_of(policies, VARIANTS[0], deleted=deleted)
    world.external.toys = dict(toys)
    for _ in range(5):
        world.reconcile()
    assert world.external.toys == toys
    assert {line for line in world.journal if line.startswith("external")} <= {"external observe acme"}
