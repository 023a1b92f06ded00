"""AWS's API models, reduced to what the provider calls, and shared by the sessions of all configs.

botocore makes a client class with a method for each operation of a service, for each session. CloudFront has
more than 150 operations, and the provider calls two dozen. So a session gets models of these only: its
clients then take a third of the memory, and the models themselves a tenth. Anyone who may create a provider
config may create a thousand.

A client has no method for an operation that is not in aws/operations.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from botocore.loaders import Loader

from provider.cloudfront.aws.operations import OPERATIONS

__all__ = ["MODELS", "SERVICES", "Models", "reduced"]

_NAMES: Final = {
    service: frozenset(each.name for each in OPERATIONS.values() if each.service == service)
    for service in {each.service for each in OPERATIONS.values()}
}
SERVICES: Final = frozenset(_NAMES)
"""The services that the provider calls, by their names in botocore."""
_MODEL: Final = "service-2"
_DOCUMENTATION: Final = "documentation"
_NAMED: Final = frozenset({"members", "shapes", "operations", "clientContextParams"})
"""Keys of a model whose values are named by the service."""
_REFERENCES: Final = ("input", "output", "member", "key", "value")


class Models(Loader):
    """Loads each model once. Thread-safe: two threads may load the same one, and then one of both is used."""

    def __init__(self) -> None:
        super().__init__()
        self._reduced: dict[tuple[str, str | None], Any] = {}

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        """See Loader. The model of a service that the provider calls has only its operations."""
        if service_name not in SERVICES or type_name != _MODEL:
            return super().load_service_model(service_name, type_name, api_version)
        key = (service_name, api_version)
        if key not in self._reduced:
            # A loader of its own: this one would keep the whole model.
            whole = Loader().load_service_model(service_name, type_name, api_version)
            self._reduced.setdefault(key, reduced(whole, _NAMES[service_name]))
        return self._reduced[key]

    @property
    def search_paths(self) -> list[str]:
        """Return a copy: boto3 adds the paths of its own resources for each session."""
        return list(super().search_paths)


MODELS: Final = Models()
"""Those of this process."""


def reduced(model: Mapping[str, Any], operations: Iterable[str]) -> dict[str, Any]:
    """Return a service's model with these operations and the shapes that they need, without documentation
    (pure). What botocore reads of a model is described at
    https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html and in botocore/model.py."""
    kept = {name: model["operations"][name] for name in sorted(operations)}
    names = _needed(model["shapes"], [shape for each in kept.values() for shape in _named(each)])
    shapes = {name: shape for name, shape in model["shapes"].items() if name in names}
    rest = {key: value for key, value in model.items() if key not in ("operations", "shapes")}
    return dict(_undocumented({**rest, "operations": kept, "shapes": shapes}))


def _needed(shapes: Mapping[str, Any], first: Iterable[str]) -> set[str]:
    found, left = set[str](), list(first)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _named(shapes[name])
    return found


def _named(node: Mapping[str, Any]) -> Iterator[str]:
    """The shapes to which an operation or a shape refers."""
    for reference in _REFERENCES:
        if isinstance(node.get(reference), Mapping):
            yield node[reference]["shape"]
    for each in (*node.get("errors", ()), *(node.get("members") or {}).values()):
        yield each["shape"]


def _undocumented(node: Any, *, named: bool = False) -> Any:
    """Return a copy whose documentation is empty: botocore expects the key in some places. `named`: the keys
    are names that the service chose."""
    if isinstance(node, Mapping):
        return {
            key: ""
            if key == _DOCUMENTATION and not named
            else _undocumented(value, named=not named and key in _NAMED)
            for key, value in node.items()
        }
    return [_undocumented(each) for each in node] if isinstance(node, list) else node
