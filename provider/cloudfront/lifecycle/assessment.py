"""The state of an external resource of any kind: spec, last write and AWS taken together (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Attempt
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
    """What spec.forProvider says."""
    applied: Applied
    seen: Seen
    todo: Diff[Wanted]
    """What may be brought about under the drift policy."""
    drift: tuple[FieldDiff, ...]
    """What somebody changed behind the provider's back, as far as it is shown."""
    pending: tuple[FieldDiff, ...]
    """What the spec asks for anew."""

    @property
    def marked(self) -> bool:
        """Its owner tag, as far as its tags are known, says that it is this resource's."""
        seen, asked = self.seen.tags or {}, self.asked.tags or {}
        return OWNER_TAG in seen and seen[OWNER_TAG] == asked.get(OWNER_TAG)

    @property
    def differs(self) -> bool:
        """There is something to do."""
        return bool(self.todo.all)

    @property
    def left(self) -> bool:
        """The drift policy leaves the drift as it is."""
        return bool(self.drift) and not self.todo.all

    @property
    def lost(self) -> frozenset[str]:
        """The domains that an update takes away."""
        return frozenset()

    @property
    def proven_afresh(self) -> bool:
        """Its owner tag is read before the update, whatever was proven before."""
        return False


def told_apart(
    mr: Managed,
    asked: Wanted,
    applied: Applied,
    default: DriftPolicy,
    compare: Callable[[frozenset[str]], Diff[Wanted]],
) -> tuple[Diff[Wanted], tuple[FieldDiff, ...], tuple[FieldDiff, ...]]:
    """What may be brought about under the drift policy; the drift, as far as it is shown; and what the spec
    asks for anew.

    Args:
        mr: the managed resource.
        asked: what its spec says.
        applied: what was last written.
        default: the drift policy of resources that say none.
        compare: how the external resource differs, but for the paths that stay as they are.
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
    """Of the parts of a change those that change anything, and less than the whole; each once."""
    tried: list[Diff[Wanted]] = []
    for part in parts:
        if part.all and part not in tried and part.all != whole.all:
            tried.append(part)
            yield part


def attempt(after: Assessed[Any, Any]) -> Attempt | None:
    """What to remember of an update; None when it left no difference."""
    left = after.todo.all
    if not left:
        return None
    fields = tuple((d.field, d.desired, d.observed) for d in left)
    return Attempt(str(records.record(after.asked, "")["hash"]), fields, after.seen.etag, 1)


def is_ineffective(now: Assessed[Any, Any], last: Attempt | None) -> bool:
    """The update was made twice, and neither the spec nor the external resource moved since."""
    current = attempt(now)
    if last is None or current is None or last.count < _TRIES:
        return False
    return (current.asked, current.left, current.etag) == (last.asked, last.left, last.etag)
