"""The parts of a managed resource's status that all kinds share (pure)."""

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
    """The values in AWS of the fields that late initialization may set."""
    next_look: float | None = None
    """Seconds until the next poll if there is nothing to write; None for the poll interval."""


def status(state: Assessed[Any, Any], *, written: bool) -> dict[str, Any]:
    """The status fields that all kinds have: the drift, and the record of the last write.

    The record changes with a write, and when the spec changes to what AWS already has. A record means that
    the external resource is ours, so resources that the provider only observes get none.
    """
    drift = {"drift": [_shown(each) for each in state.drift] or None}
    if not (written or state.applied.known or state.marked):
        return drift
    left = frozenset(applied.field_of(d.field) for d in (*state.drift, *state.pending))
    record = applied.record(state.asked, state.seen.etag, state.applied, left)
    moves = written or record["hash"] != state.applied.hash
    return drift | ({"applied": record} if moves else {})


def details(values: Mapping[str, str | None]) -> dict[str, bytes]:
    """Connection details, without empty ones."""
    return {key: value.encode() for key, value in values.items() if value}


def offered(mr: Managed, state: Assessed[Any, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in AWS that late initialization may set: those of fields that the spec never set.

    A field that was set and removed again was cleared on purpose, and stays empty.

    apis.kinds lists the fields that late initialization may set; the runtime sets those that are unset, if
    the management policies allow it. A resource that the provider only observes has no record, so its values
    are offered at the first observation only.
    """
    if not state.applied.known:
        return {} if mr.at_provider.get("id") else dict(values)
    return {name: value for name, value in values.items() if not state.applied.was_said(name)}


def _shown(difference: FieldDiff) -> dict[str, str]:
    return {"field": difference.field, "desired": difference.desired, "observed": difference.observed}
