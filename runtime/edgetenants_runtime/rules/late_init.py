"""Late initialization: which observed values may be filled into empty fields of forProvider (pure).

A filled-in field is desired state from then on. Therefore only the fields of an explicit list (ManagedKind)
are filled in, and never a field that is empty on purpose: one with a reference or selector, or one in
initProvider. The client, which offers the values, must not offer a value that a user has cleared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_runtime.managed import Managed, ManagedKind
from edgetenants_runtime.paths import at, nested, overlaid

__all__ = ["permitted"]


def permitted(kind: ManagedKind, mr: Managed, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `offered` (below spec.forProvider) that may be filled in."""
    fields: dict[str, Any] = {}
    for path in kind.late_initialized:
        value = at(offered, path)
        if value is not None and _is_open(mr, path):
            fields = overlaid(fields, nested(path, value))
    return fields


def _is_open(mr: Managed, path: str) -> bool:
    return at(mr.for_provider, path) is None and at(mr.init_provider, path) is None
