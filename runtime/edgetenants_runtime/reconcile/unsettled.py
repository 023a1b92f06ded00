"""Whether a managed resource has settled, and what it waits for if it has not, as its status says."""

from __future__ import annotations

from datetime import datetime

from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.clock import parse_rfc3339
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.queueing.following import LONGEST_COURSE
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.rules.meta import within

__all__ = ["awaits", "has_new_spec", "is_settled", "news"]


def is_settled(mr: Managed) -> bool:
    """The spec was observed, and the resource is Synced and Ready. One that is being deleted has not settled
    before it is gone."""
    return not (mr.deleted or has_new_spec(mr) or _not_true(mr))


def has_new_spec(mr: Managed) -> bool:
    """The spec has changed since the last reconcile or the last observation, or the resource is new. A
    deletion counts as a change of spec, as the API server counts it in metadata.generation."""
    synced, observed = mr.condition(ConditionType.SYNCED), mr.status.get("observedGeneration")
    if synced is None or synced.observed_generation != mr.generation:
        return True
    # Other clients may have written the status without this field.
    return isinstance(observed, int) and observed != mr.generation


def news(mr: Managed) -> Priority:
    """The priority of a change of the object."""
    return Priority.DELETION if mr.deleted else Priority.CHANGE


def awaits(mr: Managed, now: datetime) -> Priority:
    """What a resource waits for that was found in a list, as after a restart or a fail-over: its change or
    deletion, unless it has settled or is paused. POLL, too, if its spec was observed and it has not become
    Ready or Synced for so long that what follows its change would have become a poll without a restart.
    `now` is real time."""
    if mr.paused or is_settled(mr):
        return Priority.POLL
    since = [mr.deleted_at] if mr.deleted_at else [_changed(each, now) for each in _not_true(mr)]
    recent = any(within(LONGEST_COURSE, moment, now) for moment in since)
    return news(mr) if recent or has_new_spec(mr) else Priority.POLL


def _not_true(mr: Managed) -> list[Condition | None]:
    """Ready and Synced, if they are not True; None for a missing one."""
    found = (mr.condition(ConditionType.READY), mr.condition(ConditionType.SYNCED))
    return [each for each in found if each is None or each.status is not ConditionStatus.TRUE]


def _changed(condition: Condition | None, now: datetime) -> datetime:
    try:
        return parse_rfc3339((condition and condition.last_transition_time) or "")
    except ValueError:
        # Missing, or anything: anyone who may write the status may write it.
        return now
