"""The base class of all API types, and markers for what plain OpenAPI cannot express.

A marker has two effects: it adds a Kubernetes extension to the JSON schema, from which the CRD is generated,
and it enforces the same rule in Python, for objects that no API server has validated (a function's input, a
file).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

RULES_KEY = "x-kubernetes-validations"
ONLY_KEY = "x-only-scope"
REQUIRED_KEY = "x-required"
PARTIAL_KEY = "x-partial-of"
PRESENCE_KEY = "x-presence"
"""Keys that start with x- but not with x-kubernetes- are for the schema converter, which removes them."""


class Scope(StrEnum):
    """The scope of a kind."""

    NAMESPACED = "Namespaced"
    """Namespaced (Crossplane v2)."""
    CLUSTER = "Cluster"
    """Cluster-scoped (Crossplane v1, and cluster-wide configuration)."""


@dataclass(frozen=True)
class Rule:
    """One CEL rule of a CRD (https://kubernetes.io/docs/reference/using-api/cel/) and its Python
    equivalent."""

    rule: str
    """The CEL expression; `self` is the value that carries the rule."""
    message: str
    """What the user reads when the rule is violated: the field, and what was expected."""
    holds: Callable[[Any], bool] | None = None
    """The same rule in Python, over the parsed value; None if only the API server can evaluate it."""
    presence: bool = False
    """The rule requires fields to be present. It is left out for partial objects (initProvider)."""
    field: str | None = None
    """The field that the error points at, below the value that carries the rule (`.arn`); None: that
    value."""

    def extension(self) -> dict[str, Any]:
        """The rule as an entry of x-kubernetes-validations."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.field is not None:
            entry["fieldPath"] = self.field
        if self.presence:
            entry[PRESENCE_KEY] = True
        return entry


_UNCHANGED: Final = Rule(
    "self == oldSelf",
    "field is immutable; to change it, delete this resource and create another",
    presence=True,
)
"""Only the API server can evaluate it, as it has both objects (Kubernetes, "Transition rules"). In
initProvider the value has no effect after the creation, so it may change."""


@dataclass(frozen=True)
class Kube:
    """Kubernetes properties of a field beyond its type; used in `Annotated`."""

    list_type: Literal["set", "map", "atomic"] | None = None
    """How server-side apply merges the list; a set and a map reject duplicates."""
    keys: tuple[str, ...] = ()
    """The keys (JSON names) that identify the items of a list of type map."""
    rules: tuple[Rule, ...] = ()
    """CEL rules over the field's value."""
    only: Scope | None = None
    """The field exists only in kinds of this scope."""
    required: bool = False
    """Required in the CRD, although optional in the Python type."""
    partial_of: type[BaseModel] | None = None
    """The field has that type's schema, with no required fields."""
    immutable: bool = False
    """Once set, the field cannot be changed. It can be set later, and be removed: the API server compares
    only if there are two values. Not applied to initProvider, which has no effect after the creation."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if self.list_type in (None, "atomic") and not any(rule.holds for rule in self.rules):
            # Nothing to check in Python. An item of a long list has no call for nothing.
            return schema
        return core_schema.no_info_after_validator_function(self._check, schema)

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = dict(handler(core))
        schema |= {
            "x-kubernetes-list-type": self.list_type,
            "x-kubernetes-list-map-keys": list(self.keys) or None,
            RULES_KEY: [rule.extension() for rule in self._all_rules()] or None,
            ONLY_KEY: self.only.value if self.only else None,
            REQUIRED_KEY: self.required or None,
            # As text: pydantic would resolve the references of an object in its own definitions.
            PARTIAL_KEY: json.dumps(self.partial_of.model_json_schema()) if self.partial_of else None,
        }
        return {key: value for key, value in schema.items() if value is not None}

    def _all_rules(self) -> tuple[Rule, ...]:
        return (*self.rules, _UNCHANGED) if self.immutable else self.rules

    def _check(self, value: Any) -> Any:
        if value is None:
            return value
        check_rules(self.rules, value)
        if self.list_type in ("set", "map"):
            self._check_unique(value)
        return value

    def _check_unique(self, items: Iterable[Any]) -> None:
        seen: set[Any] = set()
        for item in items:
            key = item if self.list_type == "set" else tuple(_field(item, name) for name in self.keys)
            if key in seen:
                shown = key if self.list_type == "set" else ", ".join(map(str, key))
                raise PydanticCustomError(
                    "duplicate", "expected no duplicates ({item} appears twice)", {"item": str(shown)}
                )
            seen.add(key)


def _field(item: Any, json_name: str) -> Any:
    fields = type(item).model_fields
    return next(getattr(item, name) for name, field in fields.items() if (field.alias or name) == json_name)


def check_rules(rules: Iterable[Rule], value: Any) -> None:
    """Apply the Python equivalents of `rules` to a parsed value.

    Raises:
        PydanticCustomError: of type `rule`, with the rule's message, for the first violated rule.
    """
    for rule in rules:
        if rule.holds is not None and not rule.holds(value):
            raise PydanticCustomError(
                "rule", "{message}", {"message": rule.message, "field": rule.field or ""}
            )


class ApiModel(BaseModel):
    """One API object: camelCase in JSON, snake_case in Python, without unknown fields, and immutable.

    The docstring of a field is its description in the CRD.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    cel_rules: ClassVar[tuple[Rule, ...]] = ()
    """CEL rules over the whole object. Those of base classes apply too."""

    @classmethod
    @cache  # called for each object that is parsed
    def all_cel_rules(cls) -> tuple[Rule, ...]:
        """The rules of this class and of its bases, bases first."""
        own = [vars(base).get("cel_rules", ()) for base in reversed(cls.__mro__)]
        return tuple(rule for rules in own for rule in rules)

    @model_validator(mode="after")
    def _check_cel_rules(self) -> Self:
        check_rules(self.all_cel_rules(), self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        reference = handler(core)
        schema = handler.resolve_ref_schema(reference)
        if rules := cls.all_cel_rules():
            schema[RULES_KEY] = [rule.extension() for rule in rules]
        return reference

    def to_json(self) -> dict[str, Any]:
        """The object in JSON form: camelCase, without unset (None) fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _refuse_text(value: Any) -> Any:
    if isinstance(value, str | bool):
        raise PydanticCustomError("number_type", "expected a number")
    return value


Bool = StrictBool
"""A JSON boolean. The string "true" is rejected."""

NOT_TEXT: Final = BeforeValidator(_refuse_text)
"""For numbers: 5 and 5.0 (which protobuf's Struct returns) are the same; the string "5" is rejected.

Put it last in `Annotated`: bounds after it would not reach the CRD.
"""
