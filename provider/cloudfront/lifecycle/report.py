"""What is shown of an external resource of any kind on its managed resource (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.lifecycle.assessment import Assessed
from provider.cloudfront.state import applied

__all__ = ["Shown", "details", "offered", "status"]


@dataclass(frozen=True)
class Shown:
    """The parts of an Observation or a Change."""

    conditions: tuple[Condition, ...]
    at_provider: Mapping[str, Any]
    status: Mapping[str, Any]
    connection_details: Mapping[str, bytes] = field(repr=False)
    late: Mapping[str, Any] = field(default_factory=dict)
    """What AWS has in the fields that late initialization may fill in."""
    look_after: float | None = None
    """Seconds to the next look where there is nothing to do; None for the poll interval."""


def status(state: Assessed[Any, Any], *, written: bool) -> dict[str, Any]:
    """The fields of status that every kind has: the drift, and the record of the last write.

    The record moves with a write, and when the spec came to ask for what is there already. Its being there
    says that the external resource is ours, so none is made for one that is only looked at.
    """
    drift = {"drift": [_shown(each) for each in state.drift] or None}
    if not (written or state.applied.known or state.marked):
        return drift
    left = frozenset(applied.field_of(d.field) for d in (*state.drift, *state.pending))
    record = applied.record(state.asked, state.seen.etag, state.applied, left)
    moves = written or record["hash"] != state.applied.hash
    return drift | ({"applied": record} if moves else {})


def details(values: Mapping[str, str | None]) -> dict[str, bytes]:
    """Connection details, without those that have no value."""
    return {key: value.encode() for key, value in values.items() if value}


def offered(mr: Managed, state: Assessed[Any, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values of AWS those that late initialization may fill in: for fields that the spec never said
    anything of. What it said before, and says no more, was cleared on purpose and stays empty.

    Which fields may be filled in is said beside the kind (apis.kinds); the runtime does it where the field is
    open and the policy permits it. What is only looked at has no record; it is offered at the first look
    alone.
    """
    if not state.applied.known:
        return {} if mr.at_provider.get("id") else dict(values)
    return {name: value for name, value in values.items() if not state.applied.was_said(name)}


def _shown(difference: FieldDiff) -> dict[str, str]:
    return {"field": difference.field, "desired": difference.desired, "observed": difference.observed}
