"""spec.initProvider: values that an external resource is created with, and that are not enforced later
(pure).

A client creates with `at_creation`, and afterwards compares with `mr.for_provider` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgetenants_runtime.managed import Managed

__all__ = ["at_creation", "layered"]

Keys = Mapping[str, tuple[str, ...]]


def at_creation(
    mr: Managed, *, keys: Keys | None = None, whole: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """spec.forProvider merged over spec.initProvider, see `layered`."""
    return layered(mr.init_provider, mr.for_provider, keys=keys, whole=whole)


def layered(
    below: Mapping[str, Any],
    above: Mapping[str, Any],
    *,
    keys: Keys | None = None,
    whole: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Merge two objects field by field.

    Args:
        below: the values for fields that `above` does not set.
        above: takes precedence. Objects are merged key by key; sets and other lists are taken as a whole.
        keys: for each list of type map, by its path, the keys of its items (x-kubernetes-list-map-keys).
            Items with equal keys are merged; those that are only in `below` come last.
        whole: paths of objects that are one choice, such as a mode with its settings; taken as a whole.
    """
    return _objects("", below, above, keys or {}, whole)


def _objects(
    path: str, below: Mapping[str, Any], above: Mapping[str, Any], keys: Keys, whole: frozenset[str]
) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        merged[name] = _values(f"{path}.{name}".lstrip("."), below.get(name), value, keys, whole)
    return merged


def _values(path: str, below: Any, above: Any, keys: Keys, whole: frozenset[str]) -> Any:
    if path in whole:
        return above
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return _objects(path, below, above, keys, whole)
    if path in keys and isinstance(below, Sequence) and isinstance(above, Sequence):
        return _items(path, below, above, keys, whole)
    return above


def _items(
    path: str,
    below: Sequence[Mapping[str, Any]],
    above: Sequence[Mapping[str, Any]],
    keys: Keys,
    whole: frozenset[str],
) -> list[dict[str, Any]]:
    def key(item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(item.get(name) for name in keys[path])

    lower = {key(item): item for item in below}
    merged = [_objects(path, lower.pop(key(item), {}), item, keys, whole) for item in above]
    return merged + [dict(item) for item in lower.values()]
