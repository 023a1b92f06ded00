"""Convert a pydantic model to the structural OpenAPI v3 schema that Kubernetes accepts in a CRD.

Kubernetes refuses much of JSON Schema ("Specifying a structural schema", Kubernetes documentation):
references, null as an alternative, closed objects, constraints on property names. So this module replaces
references by their targets, and an optional field is one that may be absent. The API server prunes unknown
fields anyway.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from edgetenants_runtime.api.model import (
    ONLY_KEY,
    PARTIAL_KEY,
    PRESENCE_KEY,
    REQUIRED_KEY,
    RULES_KEY,
    Scope,
)

Schema = dict[str, Any]

_COPIED: Final = (
    "description",
    "enum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
)
"""Keywords that mean the same in JSON Schema and in a structural schema. All others are rewritten or
dropped."""


@dataclass(frozen=True)
class _Conversion:
    """How one model is converted."""

    definitions: Mapping[str, Schema]
    scope: Scope
    partial: bool = False
    defaults: bool = True

    def convert(self, node: Mapping[str, Any]) -> Schema:
        node = self._in_place(node)
        if PARTIAL_KEY in node:
            return self._partial(node)
        result: Schema = {key: node[key] for key in _COPIED if key in node}
        if "description" in node:
            result["description"] = re.sub(r"\s+", " ", node["description"]).strip()
        if "const" in node:
            result |= {"type": "string", "enum": [node["const"]]}
        if self.defaults and not self.partial and node.get("default") is not None:
            result["default"] = without_nulls(node["default"])
        result |= self._rules(node) | self._children(node)
        return result

    def _in_place(self, node: Mapping[str, Any]) -> Schema:
        """Replace a reference by its target; keywords next to the reference take precedence."""
        if "$ref" in node:
            target = self.definitions[node["$ref"].removeprefix("#/$defs/")]
            return self._in_place(target) | {key: node[key] for key in node if key != "$ref"}
        if "anyOf" in node:
            choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
            if len(choices) != 1:
                raise ValueError(f"a field with several types has no structural schema: {node}")
            return self._in_place(choices[0]) | {key: node[key] for key in node if key != "anyOf"}
        return dict(node)

    def _partial(self, node: Mapping[str, Any]) -> Schema:
        target = json.loads(node[PARTIAL_KEY])
        inner = replace(self, definitions=target.get("$defs", {}), partial=True)
        return inner.convert(target | {"description": node["description"]})

    def _rules(self, node: Mapping[str, Any]) -> Schema:
        rules = [rule for rule in node.get(RULES_KEY, ()) if not (self.partial and rule.get(PRESENCE_KEY))]
        plain = [{key: rule[key] for key in rule if key != PRESENCE_KEY} for rule in rules]
        return {RULES_KEY: plain} if plain else {}

    def _children(self, node: Mapping[str, Any]) -> Schema:
        if node.get("type") == "array":
            return {"items": self._item(node)}
        if node.get("type") != "object":
            return {}
        if "properties" in node:
            return self._properties(node)
        values = map_values(node)
        return (
            {"additionalProperties": self.convert(values)}
            if values
            else {"x-kubernetes-preserve-unknown-fields": True}
        )

    def _item(self, node: Mapping[str, Any]) -> Schema:
        item = self.convert(node["items"])
        # The keys of a list map are required even if all other fields are optional.
        if self.partial and (keys := node.get("x-kubernetes-list-map-keys")):
            item["required"] = sorted(keys)
        return item

    def _properties(self, node: Mapping[str, Any]) -> Schema:
        fields = {
            name: field
            for name, field in node["properties"].items()
            if field.get(ONLY_KEY) in (None, self.scope.value)
        }
        asked = {name for name in node.get("required", ()) if name in fields}
        asked |= {name for name, field in fields.items() if field.get(REQUIRED_KEY)}
        result: Schema = {"properties": {name: self.convert(fields[name]) for name in sorted(fields)}}
        if asked and not self.partial:
            result["required"] = sorted(asked)
        return result


def structural(model: type[BaseModel], scope: Scope, *, defaults: bool = True) -> Schema:
    """The structural schema of `model` in kinds of `scope`.

    Args:
        model: the model of an object or field.
        scope: the scope of the kind; fields that only the other scope has are left out.
        defaults: whether to include defaults. A status must have none, because the provider would not have
            set them.

    Raises:
        ValueError: a field has several types, which a structural schema cannot express.
    """
    schema = model.model_json_schema(by_alias=True, mode="validation")
    return _Conversion(schema.get("$defs", {}), scope, defaults=defaults).convert(schema)


def map_values(node: Mapping[str, Any]) -> Schema | None:
    """The schema of a map's values; None if they can be anything.

    pydantic puts it under patternProperties if a pattern restricts the keys.
    """
    patterns = node.get("patternProperties", {})
    values = next(iter(patterns.values()), node.get("additionalProperties"))
    return values if isinstance(values, dict) else None


def without_nulls(value: Any) -> Any:
    """A JSON value without null members of objects."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
