"""The words of a history. Each prints as the Python that makes it."""

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
    """What happens to one call, of the API server or of the external API."""

    FAILS = "Fails"
    """It has no effect: HTTP 503, or a refusal of the external API."""
    UNANSWERED = "Unanswered"
    """It has its effect, and the answer is lost."""
    REFUSED = "Refused"
    """It has no effect: RBAC forbids it, or the outside world is not ready yet."""
    CONFLICT = "Conflict"
    """Somebody else writes to the managed resource just before."""
    BUG = "Bug"
    """The external call has its effect, then raises what no one declared."""
    DIES_BEFORE = "DiesBefore"
    """The process dies before it."""
    DIES_AFTER = "DiesAfter"
    """The process dies after its effect."""


class Action:
    """One thing that happens."""

    def __repr__(self) -> str:
        return _shown(self)


@dataclass(frozen=True, repr=False)
class Setting(Action):
    """The kind that the history is about, and the outside world's habits."""

    cluster: bool = False
    """Cluster-scoped (with a deletion policy) instead of namespaced."""
    generated: bool = False
    """The outside world chooses the names."""
    shows_after: float = 0.0
    """Seconds until a look sees what was created; below the grace after a creation."""
    goes_after: float = 0.0
    """Seconds that a deletion takes."""
    lands_after: float = 0.0
    """Seconds after which a creation has its effect whose answer was lost; below the grace after such a
    creation."""


@dataclass(frozen=True, repr=False)
class Apply(Action):
    """Somebody creates the managed resource, unless it exists."""

    mr: str
    external_name: str = ""
    """The annotation, if any; deterministic names only."""


@dataclass(frozen=True, repr=False)
class Resize(Action):
    """Somebody asks for another size."""

    mr: str
    size: int


@dataclass(frozen=True, repr=False)
class Policies(Action):
    """Somebody sets the management policies."""

    mr: str
    policies: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class DeletionPolicy(Action):
    """Somebody sets the deletion policy; cluster-scoped resources only."""

    mr: str
    policy: str


@dataclass(frozen=True, repr=False)
class Pause(Action):
    """Somebody pauses the managed resource, or ends the pause."""

    mr: str
    paused: bool = True


@dataclass(frozen=True, repr=False)
class Publish(Action):
    """Somebody asks for connection details: in `own`, `shared` (by all) or `foreign` (somebody's), "" for
    none."""

    mr: str
    secret: str = "own"  # noqa: S105 - which one, not what is in it


@dataclass(frozen=True, repr=False)
class HoldBy(Action):
    """Somebody adds a finalizer of theirs, or takes it away."""

    mr: str
    held: bool = True


@dataclass(frozen=True, repr=False)
class Strip(Action):
    """Somebody takes our finalizer away by hand; what becomes of the external resource is theirs to know."""

    mr: str


@dataclass(frozen=True, repr=False)
class Delete(Action):
    """Somebody deletes the managed resource."""

    mr: str


@dataclass(frozen=True, repr=False)
class Settle(Action):
    """Somebody looks whether an interrupted creation made something, and writes down what they found."""

    mr: str


@dataclass(frozen=True, repr=False)
class Drift(Action):
    """Somebody changes the external resource behind our back."""

    mr: str
    size: int


@dataclass(frozen=True, repr=False)
class Vanish(Action):
    """Somebody deletes the external resource behind our back."""

    mr: str


@dataclass(frozen=True, repr=False)
class Wait(Action):
    """Time passes."""

    seconds: float


@dataclass(frozen=True, repr=False)
class Restart(Action):
    """The provider is restarted: what was only in memory is forgotten."""


@dataclass(frozen=True, repr=False)
class At(Action):
    """At the call of that number (from 0) of a reconcile, trouble comes, or somebody acts just before it."""

    call: int
    what: Trouble | Action
    times: int = 1
    """To so many calls in a row."""


@dataclass(frozen=True, repr=False)
class Reconcile(Action):
    """The provider reconciles the managed resource."""

    mr: str
    at: tuple[At, ...] = ()
    stale: bool = False
    """The watch is behind: what others wrote since the last look is not known yet."""
    behind: int = 0
    """The cache is older than that by so many versions, our own writes included."""


def script(setting: Setting, history: Iterable[Action]) -> str:
    """The Python that plays the history."""
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
