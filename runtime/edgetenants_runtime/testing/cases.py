"""Helpers for tables of reconciles: one case for each result of a step.

A case is written once, for a namespaced kind with deterministic names, and also run for both scopes and for
generated names. The differences for generated names follow from one rule: a managed resource without an
external name is observed and created without a name, and gets it with the success.
"""

# ruff: noqa: S101 - these are assertions of tests

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed, ManagedKind
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing.toys import CLUSTER_TOYS, TOYS, toy
from edgetenants_runtime.testing.world import World

__all__ = [
    "BACKOFF",
    "CREATE",
    "CREATING",
    "DELETE",
    "DELETING",
    "EARLY",
    "ERROR",
    "FAILED",
    "GENERATED",
    "HELD",
    "HELD_MR",
    "NAMED",
    "NEVER",
    "NEVER_FAILED",
    "OBSERVE",
    "POLL",
    "POLL_FAILED",
    "READY",
    "REAL_BACKOFF",
    "REAL_BACKOFF_FAILED",
    "SETTLED",
    "SETTLED_MR",
    "SYNCED",
    "VARIANTS",
    "Case",
    "Naming",
    "Variant",
    "condition",
    "conditions_of",
    "name",
    "pairs",
    "ready",
    "run",
    "synced",
]

SYNCED, ERROR = "Synced=True/ReconcileSuccess", "Synced=False/ReconcileError"
READY, CREATING, DELETING = "Ready=True/Available", "Ready=False/Creating", "Ready=False/Deleting"
HELD = [names.FINALIZER]
NAMED = {names.EXTERNAL_NAME: "acme"}
EARLY = "2025-12-31T23:00:00Z"
"""An hour before the start time of a `World`."""

OBSERVE = "external observe acme"
CREATE = [
    OBSERVE,
    "metadata +finalizer external-name external-create-pending",
    "external create acme",
    "metadata external-create-succeeded",
    "event Normal CreatedExternalResource",
    f"status {CREATING} {SYNCED}",
]
DELETE = [
    OBSERVE,
    "external delete acme",
    "event Normal DeletedExternalResource",
    f"status {DELETING} {SYNCED}",
]

POLL, POLL_FAILED = Outcome(Next.AFTER, 60.0), Outcome(Next.AFTER, 60.0, failed=True)
NEVER, NEVER_FAILED = Outcome(Next.NEVER), Outcome(Next.NEVER, failed=True)
BACKOFF, FAILED = Outcome(Next.BACKOFF), Outcome(Next.BACKOFF, failed=True)
REAL_BACKOFF, REAL_BACKOFF_FAILED = Outcome(Next.REAL_BACKOFF), Outcome(Next.REAL_BACKOFF, failed=True)


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    """A condition that was stored long ago."""
    stored = {
        "type": type_,
        "status": status,
        "reason": reason,
        "lastTransitionTime": EARLY,
        "observedGeneration": 1,
    }
    return stored | ({"message": message} if message else {})


def synced(reason: str, status: str = "False", message: str = "") -> dict[str, Any]:
    """A stored Synced condition."""
    return condition("Synced", status, reason, message)


def ready(reason: str, status: str) -> dict[str, Any]:
    """A stored Ready condition."""
    return condition("Ready", status, reason)


SETTLED = {
    "conditions": [ready("Available", "True"), synced("ReconcileSuccess", "True")],
    "observedGeneration": 1,
}
SETTLED_MR: dict[str, Any] = {"finalizers": HELD, "annotations": NAMED, "status": SETTLED}
HELD_MR: dict[str, Any] = {"finalizers": HELD, "annotations": NAMED}


class Naming(StrEnum):
    """Who chooses external names."""

    DETERMINISTIC = "Deterministic"
    """The runtime, before the creation."""
    GENERATED = "Generated"
    """The external API, during the creation."""
    BOTH = "Both"
    """Either."""


@dataclass(frozen=True)
class Variant:
    """A kind of managed resource that a case is run for."""

    cluster: bool = False
    generated: bool = False

    def __str__(self) -> str:
        scope = "cluster" if self.cluster else "namespaced"
        return f"{scope}, generated" if self.generated else scope

    @property
    def kind(self) -> ManagedKind:
        """The kind."""
        kind = CLUSTER_TOYS if self.cluster else TOYS
        return replace(kind, deterministic_name=not self.generated)


VARIANTS = tuple(Variant(cluster, generated) for generated in (False, True) for cluster in (False, True))
GENERATED = Variant(generated=True).kind


@dataclass(frozen=True)
class Case:
    """One reconcile and all its actions."""

    id: str
    """A sentence."""
    rule: str
    """Id of the contract's rule that it tests."""
    journal: list[str]
    """Objects written, external calls, events and conditions, in order."""
    outcome: Outcome
    mr: Mapping[str, Any] = field(default_factory=dict)
    """As `toy` takes it."""
    toys: Mapping[str, int] = field(default_factory=dict)
    """The external resources; a toy with a size other than 1 differs from the desired state."""
    external: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of `FakeExternal`."""
    failing: Mapping[str, list[KubeError]] = field(default_factory=dict)
    """As `FakeObjects.failing`."""
    held: str | Exception = ""
    """As `World.held`."""
    says: str = ""
    """Part of the message of the last event."""
    conditions: Mapping[str, str] | None = None
    """All conditions afterwards, by type: `status/reason`."""
    generated: list[str] | None = None
    """The journal for generated names, if it does not follow from the rule."""
    naming: Naming = Naming.BOTH
    """The kinds of names that the case applies to."""

    def fits(self, variant: Variant) -> bool:
        """The case applies to the variant."""
        return self.naming in (Naming.BOTH, Naming.GENERATED if variant.generated else Naming.DETERMINISTIC)


def pairs(cases: Iterable[Case]) -> list[tuple[Case, Variant]]:
    """Each case with each variant that it applies to."""
    return [(case, variant) for case in cases for variant in VARIANTS if case.fits(variant)]


def name(of: Case | Variant) -> str:
    """The name of a test of the pair."""
    return of.id if isinstance(of, Case) else str(of)


def conditions_of(mr: Managed | None) -> dict[str, str]:
    """All conditions, by type: `status/reason`."""
    stored = mr.status.get("conditions") or () if mr else ()
    return {c["type"]: f"{c['status']}/{c['reason']}" for c in stored}


def run(case: Case, variant: Variant) -> World:
    """Reconcile once and compare everything; an AssertionError shows what differs."""
    world = _world(case, variant)
    before = world.mr
    outcome = world.reconcile()
    assert world.journal == _expected(case, variant)
    assert outcome == case.outcome
    if case.says:
        assert case.says in world.recorder.messages[-1]
    if case.conditions is not None:
        assert conditions_of(world.mr) == case.conditions
    _check_kept(before, world.mr)
    if outcome == POLL and "change" not in case.external:
        _check_quiet(world)
    return world


def _world(case: Case, variant: Variant) -> World:
    changes = dict(case.mr)
    named = names.EXTERNAL_NAME in (changes.get("annotations") or {})
    if variant.generated and case.generated is None and case.toys and not named:
        # Only the annotation can name the external resource.
        changes["annotations"] = NAMED | dict(changes.get("annotations") or {})
        named = True
    world = World(toy(cluster=variant.cluster, **changes), variant.kind)
    world.external.toys = dict(case.toys)
    if variant.generated and not named:
        world.external.change = Change(external_name="toy-7")
    for name, value in case.external.items():
        setattr(world.external, name, {k: list(v) for k, v in value.items()} if name == "refusing" else value)
    world.objects.failing = {entry: list(errors) for entry, errors in case.failing.items()}
    world.held = case.held
    return world


def _expected(case: Case, variant: Variant) -> list[str]:
    if not variant.generated:
        return case.journal
    if case.generated is not None:
        return case.generated
    if names.EXTERNAL_NAME in (case.mr.get("annotations") or {}):
        return case.journal
    return [_generated(line, named=bool(case.toys)) for line in case.journal]


def _generated(line: str, *, named: bool) -> str:
    line = line.replace(" external-name", "")
    if named:
        return line
    if line == "metadata external-create-succeeded":
        return f"{line} external-name"
    return f"{line.removesuffix('acme')}None" if line.startswith("external ") else line


def _check_kept(before: Managed | None, after: Managed | None) -> None:
    """For every reconcile: data of others is unchanged, and new conditions have the observed generation."""
    if before is None or after is None:
        return
    others = [f for f in before.finalizers if f != names.FINALIZER]
    assert [f for f in after.finalizers if f != names.FINALIZER] == others
    stored = before.status.get("conditions") or ()
    for told in (c for c in after.status.get("conditions") or () if c not in stored):
        assert told["observedGeneration"] == after.generation
        _check_transition(before.condition(told["type"]), told)


def _check_transition(old: Condition | None, new: Mapping[str, Any]) -> None:
    stays = old is not None and old.status == new["status"]
    assert (old is not None and new["lastTransitionTime"] == old.last_transition_time) is stays


def _check_quiet(world: World) -> None:
    """The next reconcile writes nothing to Kubernetes, except counts of events."""
    done = len(world.journal)
    world.reconcile()
    again = world.journal[done:]
    assert [line for line in again if not line.startswith(("external", "event"))] == []
