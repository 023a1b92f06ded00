"""Templates: how the columns of a row become an object. No code runs in a template, and a value is never
read as one.

A template is compiled when the TenantSource is applied, and everything that does not depend on a row is
checked then: unknown fields, missing fields, values without placeholders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis import errors, kinds
from apis.errors import Finding
from apis.kinds import Kind
from apis.schema import without_nulls
from apis.tenantsource import COLUMN_PATTERN, Template, TemplateKind
from edgetenants_runtime.api.model import ApiModel
from sources.names import label_value, object_name
from sources.stores.store import Row, Value
from sources.stores.values import parsed, row_of

__all__ = ["KINDS", "Compiled", "InvalidRow", "InvalidTemplate", "Rendered", "compile_template", "path_of"]

Location = tuple[str | int, ...]

KINDS: Final[Mapping[TemplateKind, Kind]] = {
    TemplateKind.TENANT_CLAIM: kinds.TENANT_CLAIM,
    TemplateKind.DISTRIBUTION_TENANT: kinds.DISTRIBUTION_TENANT,
}
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_COLUMN: Final = re.compile(COLUMN_PATTERN.strip("^$"))
_LABEL_KEY: Final = re.compile(
    r"((?=[^/]{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_RESERVED: Final = ("edgetenants.io", "crossplane.io", "kubernetes.io", "k8s.io")
"""Others read such labels as their own: whose composite an object is, who manages it, what may prune it."""
_DEEPEST: Final = 32
"""Levels of a template, and of a row's overrides."""
_LONG_NUMBER: Final = re.compile("[0-9]{19}")
_LARGEST: Final = 128 * 1024
"""Characters of an object's spec as JSON, and of all texts of an object. etcd refuses objects of more than
1.5 MB."""


class InvalidTemplate(ValueError):  # noqa: N818 - more specific than ValueError
    """A template does not fit its kind; the message has all problems."""


class InvalidRow(ValueError):  # noqa: N818 - more specific than ValueError
    """A row cannot become an object. Neither text has values of the row."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}")
        self.field, self.expected = field, expected


@dataclass(frozen=True)
class Rendered:
    """An object that a row asks for."""

    name: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    size: int
    """Characters of the spec, as JSON."""


@dataclass(frozen=True)
class _Column:
    """A placeholder."""

    name: str


class _Room:
    """How many characters the object of a row may still get. All are counted before texts are joined: a short
    template can repeat a long value a thousand times."""

    def __init__(self) -> None:
        self._left = _LARGEST

    def take(self, characters: int, field: str | Location) -> None:
        """Raises InvalidRow."""
        self._left -= characters
        if self._left < 0:
            raise InvalidRow(_named(field), f"less text: an object has at most {_LARGEST} characters")

    def take_all(self, value: Value, field: str | Location) -> None:
        """The same for a value that stays what it is. Raises InvalidRow."""
        self.take(len(value) if isinstance(value, str) else 1, field)
        if isinstance(value, list):
            for item in value:
                self.take_all(item, field)
        elif isinstance(value, dict):
            for name, item in value.items():
                self.take(len(name), field)
                self.take_all(item, field)


_Parts = tuple[str | _Column, ...]


@dataclass(frozen=True)
class _Text:
    """A string with placeholders."""

    parts: _Parts

    @property
    def whole(self) -> _Column | None:
        """The placeholder, if the string is nothing else."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, _Column) else None

    @property
    def fixed(self) -> str | None:
        """The string, if it has no placeholder."""
        variable = any(isinstance(part, _Column) for part in self.parts)
        return None if variable else "".join(map(str, self.parts))


@dataclass(frozen=True)
class Compiled:
    """A checked template."""

    kind: Kind
    name: _Text
    labels: Mapping[str, _Text]
    spec: Any
    """As in the template, with _Text in place of each string."""
    defaults: Mapping[str, Value]
    holes: frozenset[Location]
    """The fields of the spec that depend on the row."""
    overrides: str | None = None
    """The column of a row's overrides."""
    allowed: tuple[tuple[str, ...], ...] = ()
    """The paths that overrides may set."""

    def render(self, row: Row) -> Rendered:
        """The object of a row. Raises InvalidRow."""
        room = _Room()
        name = self._text(self.name, row, "metadata.name", room)
        labels = {
            key: label_value(self._text(text, row, f"metadata.labels[{key}]", room))
            for key, text in self.labels.items()
        }
        # The API server drops nulls.
        spec = without_nulls(self._overridden(self._filled(self.spec, row, (), room), row))
        size = self._check(spec)
        if not name:
            raise InvalidRow("metadata.name", "a name that is not empty")
        return Rendered(object_name(name), labels, spec, size)

    def _filled(self, node: Any, row: Row, at: Location, room: _Room) -> Any:
        if isinstance(node, Mapping):
            return {key: self._filled(value, row, (*at, key), room) for key, value in node.items()}
        if isinstance(node, list):
            return [self._filled(value, row, (*at, n), room) for n, value in enumerate(node)]
        if not isinstance(node, _Text):
            return node
        if node.whole:
            value = self._value(node.whole, row, at)
            room.take_all(value, at)
            return value
        return self._text(node, row, at, room)

    def _text(self, text: _Text, row: Row, field: str | Location, room: _Room) -> str:
        parts: list[str] = []
        for part in text.parts:
            parts.append(
                part if isinstance(part, str) else _as_text(self._value(part, row, field), part, field)
            )
            room.take(len(parts[-1]), field)
        return "".join(parts)

    def _value(self, column: _Column, row: Row, field: str | Location) -> Value:
        _refuse_unfit(column.name, row, field)
        value = row.columns.get(column.name)
        if value is None:
            value = self.defaults.get(column.name)
        if value is None:
            expected = f"a value in the column {column.name}, which has no default"
            raise InvalidRow(_named(field), expected)
        return value

    def _overridden(self, spec: Any, row: Row) -> Any:
        if self.overrides is None:
            return spec
        field = f"the column {self.overrides}"
        _refuse_unfit(self.overrides, row, field)
        wanted = _as_object(row.columns.get(self.overrides), field)
        for location in _leaves(wanted):
            if not any(location[: len(path)] == path for path in self.allowed):
                raise InvalidRow(field, "only fields that template.overrides.allow has")
        return _merged(spec, wanted)

    def _check(self, spec: Any) -> int:
        """The characters of the spec as JSON. Raises InvalidRow."""
        found = errors.findings(_model(self.kind), spec, "spec")
        if found:
            first = found[0]
            raise InvalidRow(path_of(self.shown(first.location)), first.expected)
        text = json.dumps(spec)
        if len(text) > _LARGEST:
            raise InvalidRow("spec", f"at most {_LARGEST} characters as JSON")
        if _LONG_NUMBER.search(text):
            at = next((at for at, value in _values(spec, ()) if _is_long(value)), None)
            if at is not None:
                raise InvalidRow(
                    path_of(self.shown(at)), "an integer of at most 64 bits, or the number as text"
                )
        return len(text)

    def shown(self, location: Location) -> Location:
        """The part of a location that is the template's: names below it may be the row's values."""
        for n in range(1, len(location) + 1):
            if location[:n] in self.holes or location[:n] in self.allowed:
                return location[:n]
        return location


def compile_template(template: Template) -> Compiled:
    """Check a template.

    Raises:
        InvalidTemplate: with all problems.
    """
    problems: list[str] = []
    spec = _parsed(template.spec, "template.spec", problems)
    name = _string(template.name, "template.name", problems)
    labels = {k: _string(v, f"template.labels[{k}]", problems) for k, v in template.labels.items()}
    problems += [why for key in template.labels for why in _label_problems(key)]
    problems += [
        f"template.defaults: expected the name of a column, got {errors.shown(key)}"
        for key in template.defaults
        if not _COLUMN.fullmatch(key)
    ]
    problems += [
        f"template.defaults.{column}: expected {expected}"
        for column, expected in row_of(template.defaults.items(), "").unfit.items()
    ]
    if name.fixed is not None and not problems:
        problems.append("template.name: expected a placeholder such as {id}, as each row needs its own name")
    holes = frozenset(_holes(spec, ()))
    kind = KINDS[template.kind]
    if not problems:
        problems += _misfits(kind, spec, holes)
    if problems:
        raise InvalidTemplate("; ".join(problems))
    overrides = template.overrides
    return Compiled(
        kind,
        name,
        labels,
        spec,
        template.defaults,
        holes,
        overrides.column if overrides else None,
        tuple(tuple(path.split(".")) for path in overrides.allow) if overrides else (),
    )


def _label_problems(key: str) -> Iterator[str]:
    if not _LABEL_KEY.fullmatch(key):
        yield f"template.labels: expected the name of a label, got {errors.shown(key)}"
    domain = key.rpartition("/")[0]
    if any(domain == each or domain.endswith(f".{each}") for each in _RESERVED):
        yield f"template.labels: expected no label of {', '.join(_RESERVED)}, got {errors.shown(key)}"


def _misfits(kind: Kind, spec: Any, holes: frozenset[Location]) -> list[str]:
    """What is wrong with the spec whatever a row has."""
    sample = _sample(spec)
    found = errors.findings(_model(kind), sample, "template.spec")
    around = frozenset(hole[:n] for hole in holes for n in range(len(hole) + 1))
    return [str(each.problem) for each in found if not _depends(each, holes, around)]


def _depends(finding: Finding, holes: frozenset[Location], around: frozenset[Location]) -> bool:
    """Whether a row may correct it: it is about a placeholder, or about a value that contains one, whose
    location is in `around`. No search through all placeholders: each may have a finding."""
    where = finding.location
    if any(where[:n] in holes for n in range(len(where))):
        return True
    return not finding.structural and where in around


def _sample(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _sample(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_sample(value) for value in node]
    if not isinstance(node, _Text):
        return node
    return "".join(part if isinstance(part, str) else "{" + part.name + "}" for part in node.parts)


def _holes(node: Any, at: Location) -> Iterator[Location]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _holes(value, (*at, key))
    elif isinstance(node, list):
        for n, value in enumerate(node):
            yield from _holes(value, (*at, n))
    elif isinstance(node, _Text) and node.fixed is None:
        yield at


def _parsed(node: Any, path: str, problems: list[str], level: int = 0) -> Any:
    if level > _DEEPEST:
        problems.append(f"{path}: expected at most {_DEEPEST} levels")
        return None
    if isinstance(node, Mapping):
        problems += [
            f"{path}: expected no placeholder in the name of a field, got {errors.shown(key)}"
            for key in node
            if "{" in key or "}" in key
        ]
        return {k: _parsed(v, f"{path}.{k}", problems, level + 1) for k, v in node.items()}
    if isinstance(node, list):
        return [_parsed(v, f"{path}[{n}]", problems, level + 1) for n, v in enumerate(node)]
    return _string(node, path, problems) if isinstance(node, str) else node


def _string(text: str, path: str, problems: list[str]) -> _Text:
    parts: list[str | _Column] = []
    end = 0
    for match in _TOKEN.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match[0] in ("{{", "}}"):
            parts.append(match[0][0])
        elif match[1] is not None and _COLUMN.fullmatch(match[1]):
            parts.append(_Column(match[1]))
        else:
            expected = "{column}, or {{ and }} for braces"
            problems.append(f"{path}: expected {expected}, got {errors.shown(text)}")
            break
    parts.append(text[end:])
    return _Text(tuple(part for part in parts if part))


def _as_text(value: Value, column: _Column, field: str | Location) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict) or value is None:
        raise InvalidRow(_named(field), f"text, a number or a boolean in the column {column.name}")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _refuse_unfit(column: str, row: Row, field: str | Location) -> None:
    if column in row.unfit:
        raise InvalidRow(_named(field), f"{row.unfit[column]}, in the column {column}")


def _as_object(value: Value, field: str) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        read = row_of([(field, _json(value, field))], "")
        for expected in read.unfit.values():
            raise InvalidRow(field, expected)
        value = read.columns[field]
    if not isinstance(value, dict):
        raise InvalidRow(field, "a JSON object")
    return value


def _json(text: str, field: str) -> object:
    try:
        return parsed(text)
    except ValueError:
        # Without the cause: it has the text.
        raise InvalidRow(field, "a JSON object") from None


def _values(node: Any, at: Location) -> Iterator[tuple[Location, Any]]:
    items = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*at, key), value
        yield from _values(value, (*at, key))


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _leaves(node: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(node, Mapping) or not node or len(at) > _DEEPEST:
        if at:
            yield at
        return
    for key, value in node.items():
        yield from _leaves(value, (*at, key))


def _merged(spec: Any, wanted: Mapping[str, Any]) -> Any:
    """The spec with the fields of `wanted` in it; objects are merged, all else is replaced."""
    if not isinstance(spec, Mapping):
        return wanted
    merged = dict(spec)
    for key, value in wanted.items():
        merged[key] = _merged(merged.get(key), value) if isinstance(value, Mapping) else value
    return merged


def _model(kind: Kind) -> type[ApiModel]:
    if kind.spec is None:
        raise ValueError(f"{kind.kind} has no spec")
    return kind.spec


def path_of(location: Location) -> str:
    """The path of a field of the spec."""
    return ("spec" + "".join(map(errors.step, location))).removeprefix(".")


def _named(field: str | Location) -> str:
    """A path is only made for a message: to make it costs a fifth of a row."""
    return field if isinstance(field, str) else path_of(field)
