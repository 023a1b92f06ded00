"""The objects that managed resources refer to: how they are read, and which resources wait for them.

Our own kinds are read from their informers, and a change requeues the resources that wait for it. Kinds of
other providers are read on each reconcile that needs them: a watch would need permissions that the provider
does not have by default, and would fail for a kind that is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from edgetenants_runtime.api.references import ReferenceTarget
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.kube.cache import Cache, ObjectChange
from edgetenants_runtime.kube.errors import Forbidden, NotFound, NotServed
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ResourceKind
from edgetenants_runtime.paths import at
from edgetenants_runtime.rules.meta import MalformedAnnotation
from edgetenants_runtime.rules.references import Ask, asks

__all__ = ["BY_TARGET", "Reader", "Targets", "by_target", "follow", "kinds_of", "own_kinds", "waiting_for"]

BY_TARGET = "target"
"""Index of the managed resources by the objects that they wait for or follow."""

T = TypeVar("T")


class Reader(Protocol):
    """The API server requests used here; `kube.client.KubeClient` implements them."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """One object. Raises KubeError."""
        ...

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """The objects in the namespace ("": in all) with all the labels. Raises KubeError."""
        ...


class Targets:
    """Implements references.Lookup."""

    def __init__(
        self, reader: Reader, informer_of: Callable[[ResourceKind], Informer | None] = lambda _: None
    ) -> None:
        """`informer_of` returns the informer of one of our own kinds; None if there is none."""
        self._reader = reader
        self._informer_of = informer_of

    def get(self, target: ReferenceTarget, key: ObjectKey) -> Managed | None:
        """As `Lookup.get`."""
        cache = self._cache(target)
        if cache is not None:
            known = cache.get(key)
            return Managed(known) if known else None
        try:
            return Managed(_read(target, lambda kind: self._reader.get(kind, key)))
        except NotFound:
            return None

    def select(self, target: ReferenceTarget, namespace: str, labels: Mapping[str, str]) -> Sequence[Managed]:
        """As `Lookup.select`."""
        cache = self._cache(target)
        if cache is None:
            found = _read(target, lambda kind: self._reader.select(kind, namespace, labels))
            return [Managed(obj) for obj in found]
        known = [cache.get(key) for key in cache.keys() if key.namespace == namespace]  # noqa: SIM118 - a method of ours
        matching = [Managed(obj) for obj in known if obj]
        return [each for each in matching if labels.items() <= each.labels.items()]

    def _cache(self, target: ReferenceTarget) -> Cache | None:
        informer = None if target.provider else self._informer_of(kinds_of(target)[0])
        return informer.cache if informer is not None and informer.synced and informer.served else None


def kinds_of(target: ReferenceTarget) -> tuple[ResourceKind, ...]:
    """The kind in each of its versions."""
    return tuple(
        ResourceKind(target.group, version, target.kind, target.plural, namespaced=target.namespaced)
        for version in target.versions
    )


def own_kinds(kind: ManagedKind) -> tuple[ResourceKind, ...]:
    """Our own kinds that a kind's fields refer to, each once."""
    own = [kinds_of(field.target)[0] for field in kind.references if not field.target.provider]
    return tuple(dict.fromkeys(own))


def by_target(kind: ManagedKind) -> Callable[[Mapping[str, Any]], tuple[str, ...]]:
    """The index BY_TARGET for the managed resources of a kind."""

    def values(obj: Mapping[str, Any]) -> tuple[str, ...]:
        try:
            looked_up = list(asks(Managed(obj), kind.references))
        except MalformedAnnotation:
            # Its reconcile reports that; no change of another object helps.
            return ()
        return tuple(dict.fromkeys(value for ask in looked_up for value in _waits(ask)))

    return values


def follow(
    target: Informer, kind: ManagedKind, referrers: Cache, enqueue: Callable[[ObjectKey], None]
) -> None:
    """Reconcile the managed resources of a kind when an object changes that they wait for or follow. Call it
    before the informer starts."""

    def on_change(change: ObjectChange) -> None:
        for key in waiting_for(kind, target.kind, referrers, change):
            enqueue(key)

    target.add_handler(on_change)
    # The informer does not report our own writes, such as the id of a connection group.
    target.cache.on_own_write(on_change)


def waiting_for(
    kind: ManagedKind, target: ResourceKind, cache: Cache, change: ObjectChange
) -> list[ObjectKey]:
    """The managed resources of a kind, in their `cache`, that a change of a target affects."""
    if not _is_news(kind, target, change):
        return []
    names = (
        _one(target.plural, target.group, change.key),
        _any(target.plural, target.group, change.key.namespace),
    )
    return [key for name in names for key in cache.keys_by_index(BY_TARGET, name)]


def _is_news(kind: ManagedKind, target: ResourceKind, change: ObjectChange) -> bool:
    """The value that is read from the target, or a property that it is selected by, has changed."""
    paths = {
        field.target.value
        for field in kind.references
        if kinds_of(field.target)[0].resource == target.resource
    }
    return _taken(change.old, paths) != _taken(change.new, paths)


def _taken(obj: Mapping[str, Any] | None, paths: set[str]) -> list[Any]:
    if obj is None:
        return []
    mr = Managed(obj)
    values = [at(obj, path) if path else mr.external_name for path in sorted(paths)]
    return [mr.uid, mr.deleted, mr.labels, (mr.controller or {}).get("uid"), *values]


def _waits(ask: Ask) -> Iterator[str]:
    target = ask.field.target
    if target.provider:
        return
    for reference in ask.references:
        yield _one(target.plural, target.group, ask.key(reference))
    if not ask.references:
        yield _any(target.plural, target.group, ask.selected_in)


def _one(plural: str, group: str, key: ObjectKey) -> str:
    return f"{plural}.{group} {key}"


def _any(plural: str, group: str, namespace: str) -> str:
    return f"{plural}.{group} {namespace}/*"


def _read(target: ReferenceTarget, ask: Callable[[ResourceKind], T]) -> T:
    """The response for the first version that is served. Raises ExternalError, KubeError."""
    for kind in kinds_of(target):
        try:
            return ask(kind)
        except NotServed:
            continue
        except Forbidden as error:
            hint = f"; {target.hint}" if target.hint else ""
            raise ExternalError(f"{error}{hint}") from error
    resource = kinds_of(target)[0].resource
    missing = f"install {target.provider}" if target.provider else "activate it"
    versions = " or ".join(target.versions)
    raise ExternalError(
        f"{target.kind} ({resource}, version {versions}) is not served by this cluster; {missing}"
    )
