"""Resolves references: fills in fields from the objects that they refer to (pure, except for `Lookup`).

The rules are crossplane-runtime's (pkg/reference). A field that is set remains unchanged, unless its policy
is Always. A reference takes precedence over a selector, unless the selector's policy is Always. The result of
a selector is stored as a reference; several results are stored in the order of their values, each value once.
To replace a stale value, clear the field or set the policy Always.

               ┌─ field set, not Always ─────────────────────▶ nothing to do
    reference ─┤                 ┌─ not found ─┬─ Required ──▶ ExternalError (or Resolved.unresolved)
    selector   └─ look it up ────┤             └─ Optional ──▶ the field is unchanged
                                 ├─ without a value ─────────▶ NotYet (the same, or unchanged)
                                 └─ with a value ────────────▶ field := value, reference := the object found
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType, creating
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget, Resolution, Resolve
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.paths import at, nested, overlaid
from edgetenants_runtime.rules import meta

__all__ = ["Ask", "Lookup", "Resolved", "asks", "describe", "resolve"]

_BLOCKS = ("forProvider", "initProvider")
_LOOK_AGAIN = 15.0
"""Seconds of the injected clock: the value appears when the external system has created something. Our own
kinds are also watched."""


class Lookup(Protocol):
    """Finds referenced objects. Both methods raise ExternalError if the kind cannot be read, and
    KubeError."""

    def get(self, target: ReferenceTarget, key: ObjectKey) -> Managed | None:
        """The object; None if it does not exist."""
        ...

    def select(self, target: ReferenceTarget, namespace: str, labels: Mapping[str, str]) -> Sequence[Managed]:
        """The objects in the namespace ("": cluster-scoped ones) with all the labels."""
        ...


@dataclass(frozen=True)
class Ask:
    """One field to resolve now."""

    field: ReferenceField
    block: str
    """forProvider or initProvider."""
    namespace: str
    """The namespace of the managed resource."""
    references: tuple[Mapping[str, Any], ...]
    """References by name; empty if the selector applies."""
    selector: Mapping[str, Any] | None = None

    @property
    def path(self) -> str:
        """Path of the reference or selector in spec, for messages."""
        return f"spec.{self.block}.{self.field.reference if self.references else self.field.selector}"

    @property
    def optional(self) -> bool:
        """The reconcile may continue without the field."""
        asked = self.references or (self.selector or {},)
        return all(_policy(each).get("resolution") == Resolution.OPTIONAL for each in asked)

    def key(self, reference: Mapping[str, Any]) -> ObjectKey:
        """The object that a reference names."""
        return ObjectKey(self._in(reference), reference["name"])

    @property
    def selected_in(self) -> str:
        """The namespace to select in."""
        return self._in(self.selector or {})

    def _in(self, asked: Mapping[str, Any]) -> str:
        return (asked.get("namespace") or self.namespace) if self.field.target.namespaced else ""


@dataclass(frozen=True)
class Resolved:
    """The result for one managed resource."""

    patch: Mapping[str, Any]
    """The JSON merge patch of spec that fills in the referenced values; empty if nothing is to be written."""
    unresolved: ExternalError | NotYet | None = None
    """Why a field that may follow later could not be resolved (ReferenceField.follows_later)."""
    left_out: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The JSON merge patch of spec that removes former values of such fields. It is not written: it is for an
    external resource that keeps what it has meanwhile."""
    at_creation: bool = False
    """`unresolved` is about initProvider, so an external resource that exists does not need it."""


class _Unresolved(Exception):  # noqa: N818 - names a state
    """There is no value. `waiting`: the object exists, but has no value yet."""

    def __init__(self, message: str, *, waiting: bool = False) -> None:
        super().__init__(message)
        self.waiting = waiting


def resolve(mr: Managed, fields: Sequence[ReferenceField], lookup: Lookup) -> Resolved:
    """Look up the referenced values.

    Raises:
        NotYet: an object exists but has no value yet.
        ExternalError: an object does not exist, or its kind cannot be read; the message has the field's path.
        KubeError: the API server does not respond.
    """
    patch: dict[str, Any] = {}
    later: list[tuple[Ask, ExternalError | NotYet]] = []
    for ask in asks(mr, fields):
        try:
            patch = overlaid(patch, _resolved(ask, mr, lookup))
        except (ExternalError, NotYet) as why:
            if not ask.field.follows_later:
                raise
            later.append((ask, why))
    if not later:
        return Resolved(patch)
    first, unresolved = later[0]
    left_out: dict[str, Any] = {}
    for ask, _ in later:
        left_out = overlaid(left_out, {ask.block: nested(ask.field.field, None)})
    # Those of initProvider come last.
    return Resolved(patch, unresolved, left_out, at_creation=first.block == "initProvider")


def asks(mr: Managed, fields: Sequence[ReferenceField]) -> Iterator[Ask]:
    """The fields to resolve now."""
    for block in _BLOCKS:
        for field in fields:
            if block == "initProvider" and not _starts_with(mr, field):
                continue
            ask = _ask(mr, field, block)
            if ask is not None:
                yield ask


def describe(target: ReferenceTarget, key: ObjectKey) -> str:
    """The object's name for messages."""
    return f"{target.kind} {key}" + (f" of {target.provider}" if target.provider else "")


def _resolved(ask: Ask, mr: Managed, lookup: Lookup) -> dict[str, Any]:
    try:
        found = _found(ask, mr, lookup)
    except _Unresolved as why:
        if ask.optional:
            return {}
        raise _told(mr, f"{ask.path}: {why}", waiting=why.waiting) from why
    except ExternalError as why:
        # Even with policy Optional: otherwise a missing permission would never be reported.
        raise _told(mr, f"{ask.path}: {why.message}") from why
    return _changes(mr, ask, found)


def _starts_with(mr: Managed, field: ReferenceField) -> bool:
    """The field of initProvider applies: it is used only at creation, and if forProvider does not set it."""
    if meta.creation(mr.annotations).succeeded is not None:
        return False
    above = (field.field, field.reference, field.selector)
    return all(at(mr.for_provider, path) is None for path in above)


def _ask(mr: Managed, field: ReferenceField, block: str) -> Ask | None:
    values = mr.spec.get(block) or {}
    given = at(values, field.reference) or ()
    references = tuple(given) if field.many else (given,) if given else ()
    selector = at(values, field.selector)
    always = any(_always(each) for each in ((selector,) if selector is not None else references))
    if selector is not None and always:
        references = ()
    if (at(values, field.field) and not always) or (selector is None and not references):
        return None
    return Ask(field, block, mr.namespace, references, selector)


def _always(asked: Mapping[str, Any]) -> bool:
    return _policy(asked).get("resolve") == Resolve.ALWAYS


def _policy(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    return asked.get("policy") or {}


def _found(ask: Ask, mr: Managed, lookup: Lookup) -> list[tuple[ObjectKey, str]]:
    """The objects with their values, in the order to store them."""
    target = ask.field.target
    if ask.references:
        keys = [ask.key(reference) for reference in ask.references]
        return [(key, _value(target, key, lookup.get(target, key))) for key in keys]
    matching = _matching(ask, mr, lookup)
    chosen = matching if ask.field.many else matching[:1]
    return _by_value([(each.key, _value(target, each.key, each)) for each in chosen])


def _by_value(found: Sequence[tuple[ObjectKey, str]]) -> list[tuple[ObjectKey, str]]:
    """Sorted by value, each value once, with the first object by name that has it."""
    first = {value: key for key, value in reversed(found)}
    return [(key, value) for value, key in sorted(first.items())]


def _value(target: ReferenceTarget, key: ObjectKey, found: Managed | None) -> str:
    if found is None:
        raise _Unresolved(f"{describe(target, key)} does not exist")
    value = at(found.raw, target.value) if target.value else found.external_name
    if not value:
        what = target.value.rpartition(".")[2] or "external name"
        raise _Unresolved(f"waiting for {describe(target, key)} to have its {what}", waiting=True)
    return str(value)


def _matching(ask: Ask, mr: Managed, lookup: Lookup) -> list[Managed]:
    selector = ask.selector or {}
    labels = selector.get("matchLabels") or {}
    siblings = bool(selector.get("matchControllerRef"))
    if siblings and mr.controller is None:
        raise _Unresolved("matchControllerRef is true, but this resource has no controller")
    found = [
        each
        for each in lookup.select(ask.field.target, ask.selected_in, labels)
        if not each.deleted and (not siblings or _same_controller(mr, each))
    ]
    if not found:
        raise _Unresolved(_no_match(ask, mr, labels, siblings=siblings))
    return sorted(found, key=lambda each: each.key)


def _same_controller(one: Managed, other: Managed) -> bool:
    mine, theirs = one.controller, other.controller
    return bool(mine and theirs and mine.get("uid") == theirs.get("uid"))


def _no_match(ask: Ask, mr: Managed, labels: Mapping[str, str], *, siblings: bool) -> str:
    wanted = [f"the label {name}={value}" for name, value in sorted(labels.items())]
    if siblings:
        owner = mr.controller or {}
        wanted.append(f"{owner.get('kind')} {owner.get('name')} as its controller")
    target = ask.field.target
    where = f" in namespace {ask.selected_in}" if ask.selected_in else ""
    kind = target.kind + (f" of {target.provider}" if target.provider else "")
    return f"there is no {kind}{where}" + (f" with {' and '.join(wanted)}" if wanted else "")


def _changes(mr: Managed, ask: Ask, found: Sequence[tuple[ObjectKey, str]]) -> dict[str, Any]:
    values = mr.spec.get(ask.block) or {}
    contents = [value for _, value in found]
    value = contents if ask.field.many else contents[0]
    patch = {} if at(values, ask.field.field) == value else nested(ask.field.field, value)
    if not ask.references:
        patch = overlaid(patch, _noted(ask, at(values, ask.field.reference), [key for key, _ in found]))
    return {ask.block: patch} if patch else {}


def _noted(ask: Ask, before: Any, keys: Sequence[ObjectKey]) -> dict[str, Any]:
    """The result of a selector as references; empty if they are already stored."""
    if ask.field.many:
        noted = [_reference(ask, key) for key in keys]
        return {} if before == noted else nested(ask.field.reference, noted)
    if before and ask.key(before) == keys[0]:
        return {}
    stale = {"namespace": None} if (before or {}).get("namespace") else {}
    return nested(ask.field.reference, stale | _reference(ask, keys[0]))


def _reference(ask: Ask, key: ObjectKey) -> dict[str, str]:
    elsewhere = key.namespace and key.namespace != ask.namespace
    return {"name": key.name} | ({"namespace": key.namespace} if elsewhere else {})


def _told(mr: Managed, message: str, *, waiting: bool = False) -> ExternalError | NotYet:
    ready = mr.condition(ConditionType.READY)
    # What is Ready remains so.
    serves = ready is not None and ready.status is ConditionStatus.TRUE
    conditions = () if serves else (creating(message),)
    if waiting:
        return NotYet(message, after=_LOOK_AGAIN, conditions=conditions)
    return ExternalError(message, conditions=conditions, retry=Retry.real_backoff())
