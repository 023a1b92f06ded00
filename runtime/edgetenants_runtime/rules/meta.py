"""Pure functions for Crossplane's metadata on managed resources (crossplane-runtime pkg/meta)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, datetime, timedelta
from typing import Any, TypeGuard

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import Condition, ReadyReason
from edgetenants_runtime.bounds import excerpt, wait
from edgetenants_runtime.clock import parse_rfc3339, rfc3339_micro
from edgetenants_runtime.managed import Managed

__all__ = [
    "Creation",
    "MalformedAnnotation",
    "controller_reference",
    "creation",
    "creation_failed",
    "creation_pending",
    "creation_succeeded",
    "parse_duration",
    "poll_interval",
    "with_finalizer",
    "within",
    "without_finalizer",
]


_TICK = timedelta(microseconds=1)
"""The smallest difference between two of these annotations."""


class MalformedAnnotation(ValueError):  # noqa: N818 - names the thing found
    """An annotation has an invalid value; the message names it."""


@dataclass(frozen=True)
class Creation:
    """When a creation of the external resource last started and how it last ended."""

    pending: datetime | None = None
    succeeded: datetime | None = None
    failed: datetime | None = None

    @property
    def incomplete(self) -> bool:
        """A creation was started and its result is unknown: an external resource may or may not exist."""
        return self.pending is not None and not _after(self.ended, self.pending)

    @property
    def attempted_since_success(self) -> bool:
        """A creation was started after the last success, so `pending` need not be written again."""
        return self.pending is not None and not _after(self.succeeded, self.pending)

    @property
    def ended(self) -> datetime | None:
        """When a creation last ended, successful or not."""
        return max((moment for moment in (self.succeeded, self.failed) if moment), default=None)

    def begins(self, now: datetime) -> datetime:
        """The start time of a creation: after the end of the previous one, even if the clock was set back."""
        return max(now, self.ended + _TICK) if _counts(self.ended) else now

    def ends(self, now: datetime) -> datetime:
        """The end time of the running creation: not before its start, even if the clock was set back."""
        return max(now, self.pending) if _counts(self.pending) else now

    def succeeded_within(self, seconds: float, now: datetime) -> bool:
        """A creation succeeded less than that many seconds ago."""
        return self.succeeded is not None and within(seconds, self.succeeded, now)

    def seen_since(self, ready: Condition | None) -> bool:
        """Ready has changed since the creation, to a reason that requires an observation of the external
        resource: it was observed, by this process or the previous one."""
        unseen = (ReadyReason.CREATING, ReadyReason.UNKNOWN)
        if ready is None or ready.reason in unseen or not ready.last_transition_time:
            return False
        try:
            moved = parse_rfc3339(ready.last_transition_time)
        except ValueError:
            return False
        # Conditions have whole seconds. Equal counts as after: the same resource is not created twice in one.
        return self.succeeded is not None and moved >= self.succeeded.replace(microsecond=0)


def _counts(moment: datetime | None) -> TypeGuard[datetime]:
    # There is no time after the last year of the calendar.
    return moment is not None and moment.year < MAXYEAR


def _after(moment: datetime | None, begun: datetime) -> bool:
    # Equal counts as after: other runtimes write whole seconds.
    return moment is not None and moment >= begun


def within(seconds: float, moment: datetime, now: datetime) -> bool:
    """The moment is less than that many seconds ago. A moment that far or further in the future does not
    count."""
    return -seconds < (now - moment).total_seconds() < seconds


def creation(annotations: Mapping[str, str]) -> Creation:
    """The state of the creation from the three external-create annotations.

    Raises MalformedAnnotation: an invalid time must not count as a creation that never started.
    """
    return Creation(
        pending=_moment(annotations, names.EXTERNAL_CREATE_PENDING),
        succeeded=_moment(annotations, names.EXTERNAL_CREATE_SUCCEEDED),
        failed=_moment(annotations, names.EXTERNAL_CREATE_FAILED),
    )


def _moment(annotations: Mapping[str, str], name: str) -> datetime | None:
    text = annotations.get(name)
    if not text:
        return None
    try:
        return parse_rfc3339(text)
    except ValueError:
        raise MalformedAnnotation(f"annotation {name} is not an RFC 3339 time: {excerpt(text)}") from None


def check_name(annotations: Mapping[str, str], longest: int) -> None:
    """Check that the external name has at most `longest` characters: the part of a name that is read would be
    another name.

    Raises MalformedAnnotation.
    """
    if len(annotations.get(names.EXTERNAL_NAME) or "") > longest:
        raise MalformedAnnotation(
            f"annotation {names.EXTERNAL_NAME}: expected at most {longest} characters, got more"
        )


def creation_pending(now: datetime) -> dict[str, str]:
    """The annotation for the start of a creation."""
    return {names.EXTERNAL_CREATE_PENDING: rfc3339_micro(now)}


def creation_succeeded(now: datetime) -> dict[str, str]:
    """The annotation for a successful creation."""
    return {names.EXTERNAL_CREATE_SUCCEEDED: rfc3339_micro(now)}


def creation_failed(now: datetime) -> dict[str, str]:
    """The annotation for a failed creation."""
    return {names.EXTERNAL_CREATE_FAILED: rfc3339_micro(now)}


def with_finalizer(finalizers: Sequence[str]) -> list[str]:
    """The finalizers, including ours."""
    return list(finalizers) if names.FINALIZER in finalizers else [*finalizers, names.FINALIZER]


def without_finalizer(finalizers: Sequence[str]) -> list[str]:
    """The finalizers without ours, the others in their order."""
    return [finalizer for finalizer in finalizers if finalizer != names.FINALIZER]


def controller_reference(mr: Managed) -> dict[str, Any]:
    """An ownerReference that makes the managed resource the controller."""
    return {
        "apiVersion": mr.api_version,
        "kind": mr.kind,
        "name": mr.name,
        "uid": mr.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_ZERO = "0"
"""The only duration without a unit."""
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|m|s|us|µs|ns)")
_LONGEST_DURATION = 64
"""Characters. The time to parse a duration grows with the square of its length."""


def parse_duration(text: str) -> float:
    """The seconds of a duration in Go's format; never negative.

    >>> parse_duration("1h30m"), parse_duration("1.5s"), parse_duration("0")
    (5400.0, 1.5, 0.0)

    Raises ValueError.
    """
    if text == _ZERO:
        return 0.0
    parts = _DURATION.findall(text) if len(text) <= _LONGEST_DURATION else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"not a duration such as 30s, 5m or 1h30m: {excerpt(text)}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def poll_interval(annotations: Mapping[str, str], *, default: float, shortest: float) -> float:
    """The poll interval in seconds: the annotation crossplane.io/poll-interval, at least `shortest` and
    bounded like every wait, else `default`. An interval of zero is ignored, as with crossplane-runtime.

    Raises MalformedAnnotation.
    """
    text = annotations.get(names.POLL_INTERVAL)
    if not text:
        return default
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise MalformedAnnotation(f"annotation {names.POLL_INTERVAL} is {error}") from None
    return max(shortest, wait(seconds)) if seconds > 0 else default
