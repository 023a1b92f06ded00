"""A third kind, whole, as the skeleton takes it: CloudFront's key value stores.

Only here, to show what a kind has to supply; the product has no such kind. What is missing is its API type
(apis/), its calls to AWS, and its line in the tables of nouns, ids and name keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import structlog

from apis.drift import DriftPolicy
from edgetenants_runtime.api.conditions import Condition, available
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.clients.skeleton import Kind, Skeleton
from provider.cloudfront.lifecycle import conditions, report
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, Action, Effects, Wait, with_tags
from provider.cloudfront.lifecycle.assessment import Assessed, told_apart
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.safety.dependencies import Dependencies
from provider.cloudfront.state import applied as records
from provider.cloudfront.state import diff, identity
from provider.cloudfront.state.diff import Diff
from provider.cloudfront.state.observed import Observed

FIELDS: Final = ("comment", "tags")

# What is asked, and what is there.


@dataclass(frozen=True)
class Store:
    """A store as it should be. None means that nothing is said."""

    name: str
    comment: str | None = None
    tags: Mapping[str, str] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        return {"comment": self.comment, "tags": self.tags or None}


@dataclass(frozen=True)
class ObservedStore(Observed):
    """One store at one moment."""

    comment: str = ""


def from_for_provider(mr: Managed, *, installation: str, name: str) -> Store:
    asked = mr.for_provider
    tags = {**(asked.get("tags") or {}), **identity.own_tags(mr, installation, name)}
    return Store(name, asked.get("comment"), tags)


# What is done.


@dataclass(frozen=True)
class CreateStore:
    store: Store

    def __str__(self) -> str:
        return f"created store {self.store.name}"

    def do(self, effects: Effects[ObservedStore], cloudfront: Any) -> None:
        effects.seen = replace(cloudfront.create_store(self.store), tags=self.store.tags)


@dataclass(frozen=True)
class UpdateStore:
    id: str
    store: Store
    changes: tuple[FieldDiff, ...]

    def __str__(self) -> str:
        told = ", ".join(f"{each.field} {each.observed} → {each.desired}" for each in self.changes)
        return f"updated store {self.store.name}: {told}"

    def do(self, effects: Effects[ObservedStore], cloudfront: Any) -> None:
        effects.answered(cloudfront.update_store(self.id, effects.etag, self.store))


@dataclass(frozen=True)
class DeleteStore:
    id: str
    name: str

    def __str__(self) -> str:
        return f"deleted store {self.name}"

    def do(self, effects: Effects[ObservedStore], cloudfront: Any) -> None:
        cloudfront.delete_store(self.id, effects.etag)
        effects.seen = None


# Assess and plan.

StoreState = Assessed[Store, ObservedStore]


def assess(mr: Managed, asked: Store, seen: ObservedStore, default: DriftPolicy) -> StoreState:
    applied = records.read(mr.status, FIELDS)

    def compared(ignored: frozenset[str]) -> Diff[Store]:
        leaves = asked.comment is None or "comment" in ignored
        target = Store(seen.name, seen.comment if leaves else asked.comment)
        if seen.tags is not None:
            tags = diff.merge_tags(asked.tags or {}, applied, seen.tags, ignored)
            target = replace(target, tags=tags)
        return _compare(target, seen)

    return StoreState(asked, applied, seen, *told_apart(mr, asked, applied, default, compared))


def _compare(target: Store, seen: ObservedStore) -> Diff[Store]:
    differs = target.comment != seen.comment
    fields = (FieldDiff("comment", diff.text(target.comment), diff.text(seen.comment)),) if differs else ()
    if target.tags is None or seen.tags is None:
        return Diff(target, fields)
    return Diff(target, fields, tuple(diff.entries("tags", target.tags, seen.tags)))


def converge(todo: Diff[Store], seen: ObservedStore) -> tuple[Action, ...]:
    update = (UpdateStore(seen.id, todo.target, todo.fields),) if todo.fields else ()
    return with_tags(update, todo, seen)


def remove(seen: ObservedStore, *, refused: bool, early: bool, said: object) -> tuple[Action, ...]:
    if not seen.deployed and (refused or not early):
        return (Wait(f"waiting for CloudFront before deleting store {seen.name}"),)
    return (DeleteStore(seen.id, seen.name),)


# Report.


def absent() -> tuple[Condition, ...]:
    return ()


def show(state: StoreState, *, ineffective: bool, written: bool, frozen: str) -> Shown:
    seen, differing = state.seen, conditions.told((*state.drift, *state.pending))
    drift, left = bool(state.drift), state.left
    return Shown(
        conditions=(
            available(),
            conditions.deployed(seen),
            conditions.in_sync(
                seen, differing, drift=drift, left=left, ineffective=ineffective, frozen=frozen
            ),
        ),
        at_provider={"id": seen.id, "arn": seen.arn, "name": seen.name, "tags": dict(seen.tags or {})},
        status=report.status(state, written=written),
        connection_details=report.details({"storeId": seen.id}),
        late={"comment": seen.comment},
        next_look=None if seen.deployed else LOOK_AGAIN,
    )


# The client.

_KIND: Final = Kind[Store, ObservedStore](
    get=lambda cloudfront: cloudfront.get_store,
    from_for_provider=from_for_provider,
    at_creation=from_for_provider,
    create=CreateStore,
    remove=remove,
    absent=absent,
    log=structlog.get_logger("provider.cloudfront.store"),
)


class StoreClient(Skeleton[Store, ObservedStore, StoreState]):
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, deps: Dependencies) -> None:
        super().__init__(deps, _KIND)

    def _compare(self, mr: Managed, asked: Store, seen: ObservedStore) -> StoreState:
        return assess(mr, asked, seen, self._policy.drift_policy)

    def _plan(self, state: StoreState) -> tuple[Action, ...]:
        return converge(state.todo, state.seen)

    def _show(
        self, mr: Managed, state: StoreState, *, served: bool, written: bool, ineffective: bool
    ) -> Shown:
        return show(state, ineffective=ineffective, written=written, frozen=self._policy.frozen)
