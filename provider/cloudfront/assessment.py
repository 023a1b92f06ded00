"""The state of a tenant: spec, last write and AWS taken together (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront import applied as records
from provider.cloudfront import diff
from provider.cloudfront.applied import Applied
from provider.cloudfront.desired import Tenant
from provider.cloudfront.diff import Diff
from provider.cloudfront.memory import Attempt
from provider.cloudfront.observed import ObservedTenant

__all__ = ["Assessment", "assess", "attempt", "is_ineffective"]

_TRIES = 2


@dataclass(frozen=True)
class Assessment:
    """The state of one tenant."""

    asked: Tenant
    """What spec.forProvider says."""
    applied: Applied
    seen: ObservedTenant
    todo: Diff
    """What may be brought about under the drift policy."""
    drift: tuple[FieldDiff, ...]
    """What somebody changed behind the provider's back, as far as it is shown."""
    pending: tuple[FieldDiff, ...]
    """What the spec asks for anew."""


def assess(mr: Managed, asked: Tenant, seen: ObservedTenant, default: DriftPolicy) -> Assessment:
    """Compare. `default` is the drift policy of resources that say none."""
    applied = records.read(mr.status)
    ignored = frozenset(mr.spec.get("ignoreDrift") or ())
    policy = DriftPolicy(mr.spec.get("driftPolicy") or default)
    todo = diff.compare(diff.merge(asked, applied, seen, ignored), seen)
    drift = tuple(d for d in todo.all if not applied.changed(records.field_of(d.field), asked))
    pending = tuple(d for d in todo.all if applied.changed(records.field_of(d.field), asked))
    if policy is not DriftPolicy.ENFORCE:
        left = ignored | {d.field for d in drift}
        todo = diff.compare(diff.merge(asked, applied, seen, left), seen)
    shown = () if policy is DriftPolicy.SUSPEND else drift
    return Assessment(asked, applied, seen, todo, shown, pending)


def attempt(after: Assessment) -> Attempt | None:
    """What to remember of an update; None when it left no difference."""
    left = after.todo.all
    if not left:
        return None
    fields = tuple((d.field, d.desired, d.observed) for d in left)
    return Attempt(_digest(after), fields, after.seen.etag, 1)


def is_ineffective(now: Assessment, last: Attempt | None) -> bool:
    """The update was made twice, and neither the spec nor the tenant moved since."""
    current = attempt(now)
    if last is None or current is None or last.count < _TRIES:
        return False
    return (current.asked, current.left, current.etag) == (last.asked, last.left, last.etag)


def _digest(assessment: Assessment) -> str:
    return str(records.record(assessment.asked, "")["hash"])
