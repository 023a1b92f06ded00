"""The actions of a history. Each prints as the Python code that creates it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum, StrEnum
from typing import Any

__all__ = [
    "Action",
    "Apply",
    "At",
    "Delete",
    "DeletionPolicy",
    "Drift",
    "HoldBy",
    "Pause",
    "Policies",
    "Publish",
    "Reconcile",
    "Resize",
    "Restart",
    "Setting",
    "Settle",
    "Strip",
    "Trouble",
    "Vanish",
    "Wait",
    "script",
]


class Trouble(StrEnum):
    """A failure of one call, to the API server or to the external API."""

    FAILS = "Fails"
    """It has no effect: HTTP 503, or a rejection by the external API."""
    UNANSWERED = "Unanswered"
    """It takes effect, but the response is lost."""
    REFUSED = "Refused"
    """It has no effect: RBAC forbids it, or the external system is not ready yet."""
    CONFLICT = "Conflict"
    """Another client writes to the managed resource just before it."""
    BUG = "Bug"
    """The external call takes effect, then raises an undeclared exception."""
    DIES_BEFORE = "DiesBefore"
    """The process dies before it."""
    DIES_AFTER = "DiesAfter"
    """The process dies after it took effect."""


class Action:
    """One action of a history."""

    def __repr__(self) -> str:
        return _shown(self)


@dataclass(frozen=True, repr=False)
class Setting(Action):
    """The kind of the managed resources, and the delays of the external system."""

    cluster: bool = False
    """Cluster-scoped (with a deletion policy) instead of namespaced."""
    generated: bool = False
    """The external system chooses the names."""
    shows_after: float = 0.0
    """Seconds until a new external resource is visible; shorter than the creation grace period."""
    goes_after: float = 0.0
    """Seconds that a deletion takes."""
    lands_after: float = 0.0
    """Seconds until a creation whose response was lost takes effect; shorter than the grace period for an
    uncertain creation."""
    records: bool = False
    """The client records with each creation where it goes."""


@dataclass(frozen=True, repr=False)
class Apply(Action):
    """A user creates the managed resource, unless it exists."""

    mr: str
    external_name: str = ""
    """The external-name annotation, if any; for deterministic names only."""


@dataclass(frozen=True, repr=False)
class Resize(Action):
    """A user changes the size."""

    mr: str
    size: int


@dataclass(frozen=True, repr=False)
class Policies(Action):
    """A user sets the management policies."""

    mr: str
    policies: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class DeletionPolicy(Action):
    """A user sets the deletion policy; cluster-scoped resources only."""

    mr: str
    policy: str


@dataclass(frozen=True, repr=False)
class Pause(Action):
    """A user pauses or resumes the managed resource."""

    mr: str
    paused: bool = True


@dataclass(frozen=True, repr=False)
class Publish(Action):
    """A user requests connection details in the Secret `own`, `shared` (by all) or `foreign` (of another
    owner); "" for none."""

    mr: str
    secret: str = "own"  # noqa: S105 - its name, not its content


@dataclass(frozen=True, repr=False)
class HoldBy(Action):
    """Another controller adds or removes its finalizer."""

    mr: str
    held: bool = True


@dataclass(frozen=True, repr=False)
class Strip(Action):
    """A user removes our finalizer by hand, and is then responsible for the external resource."""

    mr: str


@dataclass(frozen=True, repr=False)
class Delete(Action):
    """A user deletes the managed resource."""

    mr: str


@dataclass(frozen=True, repr=False)
class Settle(Action):
    """A user checks whether an interrupted creation created something, and records the result."""

    mr: str


@dataclass(frozen=True, repr=False)
class Drift(Action):
    """The external resource drifts."""

    mr: str
    size: int


@dataclass(frozen=True, repr=False)
class Vanish(Action):
    """The external resource is deleted in the external system."""

    mr: str


@dataclass(frozen=True, repr=False)
class Wait(Action):
    """Time passes."""

    seconds: float


@dataclass(frozen=True, repr=False)
class Restart(Action):
    """The provider is restarted: what was only in memory is lost."""


@dataclass(frozen=True, repr=False)
class At(Action):
    """At the call with that number (from 0) of a reconcile, a failure occurs, or another action just before
    it."""

    call: int
    what: Trouble | Action
    times: int = 1
    """The number of consecutive calls."""


@dataclass(frozen=True, repr=False)
class Reconcile(Action):
    """The provider reconciles the managed resource."""

    mr: str
    at: tuple[At, ...] = ()
    stale: bool = False
    """The watch is behind: changes of others since the last reconcile are not in the cache yet."""
    behind: int = 0
    """The number of versions by which the cache is older still, including our own writes."""


def script(setting: Setting, history: Iterable[Action]) -> str:
    """The Python code that plays the history."""
    lines = "".join(f"    {action!r},\n" for action in (setting, *history))
    return f"play(\n{lines})"


def _shown(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return "(" + "".join(f"{_shown(member)}, " for member in value).strip() + ")"
    if not isinstance(value, Action):
        return repr(value)
    shown = [_argument(field, getattr(value, field.name)) for field in fields(value)]  # type: ignore[arg-type]
    return f"{type(value).__name__}({', '.join(argument for argument in shown if argument)})"


def _argument(field: Field[Any], value: Any) -> str:
    if field.default is MISSING:
        return _shown(value)
    return "" if value == field.default else f"{field.name}={_shown(value)}"
