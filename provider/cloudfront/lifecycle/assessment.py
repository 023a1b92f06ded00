"""The state of an external resource of any kind, from its spec, the last write and AWS (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.memory.updates import Attempt
from provider.cloudfront.state import applied as records
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.diff import Diff, Wanted
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import Observed

__all__ = ["Assessed", "attempt", "is_ineffective", "smaller", "told_apart"]

_TRIES = 2

Seen = TypeVar("Seen", bound=Observed)


@dataclass(frozen=True)
class Assessed(Generic[Wanted, Seen]):
    """The state of one external resource."""

    asked: Wanted
    """The desired state, from spec.forProvider."""
    applied: Applied
    seen: Seen
    todo: Diff[Wanted]
    """The differences that the drift policy allows to correct."""
    drift: tuple[FieldDiff, ...]
    """The differences that someone made in AWS, if the drift policy shows them."""
    pending: tuple[FieldDiff, ...]
    """The differences that a change of the spec caused."""

    @property
    def marked(self) -> bool:
        """Its tags are known, and its owner tag names this resource."""
        seen, asked = self.seen.tags or {}, self.asked.tags or {}
        return OWNER_TAG in seen and seen[OWNER_TAG] == asked.get(OWNER_TAG)

    @property
    def differs(self) -> bool:
        """Something has to be written."""
        return bool(self.todo.all)

    @property
    def left(self) -> bool:
        """The drift policy does not correct the drift."""
        return bool(self.drift) and not self.todo.all

    @property
    def lost(self) -> frozenset[str]:
        """The domains that the update removes."""
        return frozenset()

    @property
    def proven_afresh(self) -> bool:
        """The provider reads the owner tag before the update, even if ownership was proven before."""
        return False


def told_apart(
    mr: Managed,
    asked: Wanted,
    applied: Applied,
    default: DriftPolicy,
    compare: Callable[[frozenset[str]], Diff[Wanted]],
) -> tuple[Diff[Wanted], tuple[FieldDiff, ...], tuple[FieldDiff, ...]]:
    """Tell drift from changes of the spec.

    Returns the differences to correct under the drift policy, the drift if the policy shows it, and the
    differences that a change of the spec caused.

    Args:
        mr: the managed resource.
        asked: the desired state, from its spec.
        applied: the record of the last write.
        default: the drift policy of resources that set none.
        compare: compares the external resource with the desired state, except for the given paths.
    """
    ignored = frozenset(mr.spec.get("ignoreDrift") or ())
    policy = DriftPolicy(mr.spec.get("driftPolicy") or default)
    todo = compare(ignored)
    drift = tuple(d for d in todo.all if not applied.changed(records.field_of(d.field), asked))
    pending = tuple(d for d in todo.all if applied.changed(records.field_of(d.field), asked))
    if policy is not DriftPolicy.ENFORCE:
        todo = compare(ignored | {d.field for d in drift})
    return todo, () if policy is DriftPolicy.SUSPEND else drift, pending


def smaller(whole: Diff[Wanted], parts: Iterable[Diff[Wanted]]) -> Iterator[Diff[Wanted]]:
    """The parts that change something but less than the whole, without duplicates."""
    tried: list[Diff[Wanted]] = []
    for part in parts:
        if part.all and part not in tried and part.all != whole.all:
            tried.append(part)
            yield part


def attempt(after: Assessed[Any, Any]) -> Attempt | None:
    """What to remember of an update; None if it left no difference."""
    left = after.todo.all
    if not left:
        return None
    fields = tuple((d.field, d.desired, d.observed) for d in left)
    return Attempt(str(records.record(after.asked, "")["hash"]), fields, after.seen.etag, 1)


def is_ineffective(now: Assessed[Any, Any], last: Attempt | None) -> bool:
    """The same update was sent twice, and neither spec nor external resource has changed since."""
    current = attempt(now)
    if last is None or current is None or last.count < _TRIES:
        return False
    return (current.asked, current.left, current.etag) == (last.asked, last.left, last.etag)
