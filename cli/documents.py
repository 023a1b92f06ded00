"""YAML files as people write them: every object, and the line on which each of its fields stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Document", "UnreadableFile", "read", "read_all"]

Step = str | int

_STEP = re.compile(r'\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')
_FOLDER_GLOBS = ("*.yaml", "*.yml")


class UnreadableFile(Exception):  # noqa: N818 - names the thing found
    """A file cannot be read as YAML; the message names it, and the line where there is one."""


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    file: str
    value: dict[str, Any]
    node: yaml.MappingNode

    @property
    def api_version(self) -> str:
        """The object's apiVersion, "" where there is none."""
        return str(self.value.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        """The object's kind, "" where there is none."""
        return str(self.value.get("kind") or "")

    @property
    def metadata(self) -> dict[str, Any]:
        """The object's metadata."""
        found = self.value.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """The object's name, for messages."""
        return str(self.metadata.get("name") or "?")

    def place(self, path: str) -> str:
        """`file:line:column` of the field at a path such as `spec.domains[0]`, or of what is around it."""
        mark = _find(self.node, _steps(path)).start_mark
        return f"{self.file}:{mark.line + 1}:{mark.column + 1}"


def read_all(paths: Sequence[Path]) -> list[Document]:
    """The objects of several files, folders and `-` (standard input), in their order.

    Raises:
        UnreadableFile: one of them.
    """
    return [document for path in paths for document in read(path)]


def read(path: Path) -> list[Document]:
    """The objects of a file, of the YAML files right in a folder, or of standard input for `-`.

    Raises:
        UnreadableFile: there is none, or it is no YAML, or holds something else than objects.
    """
    if path.is_dir():
        files = sorted(file for glob in _FOLDER_GLOBS for file in path.glob(glob))
        return [document for file in files for document in read(file)]
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        return list(_documents(str(path), text))
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: no UTF-8 text: {error.reason} at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise UnreadableFile(_told(str(path), error)) from error


def _documents(file: str, text: str) -> Iterator[Document]:
    nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    for node, value in zip(nodes, yaml.safe_load_all(text), strict=True):
        if value is None:
            continue
        if not isinstance(value, dict) or not isinstance(node, yaml.MappingNode):
            raise UnreadableFile(f"{file}:{node.start_mark.line + 1}: expected an object, got {value!r:.80}")
        if value.get("kind") == "List" and isinstance(value.get("items"), list):
            yield from _items(file, value, node)
        else:
            yield Document(file, value, node)


def _items(file: str, value: dict[str, Any], node: yaml.MappingNode) -> Iterator[Document]:
    items = _find(node, ("items",))
    for item, each in zip(value["items"], items.value, strict=True):
        yield Document(file, item, each)


def _told(file: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
    return f"{where}: no YAML: {getattr(error, 'problem', None) or error}"


def _steps(path: str) -> tuple[Step, ...]:
    """
    >>> _steps('spec.domains[0].tags["a b"]')
    ('spec', 'domains', 0, 'tags', 'a b')
    """
    return tuple(int(number) if number else word or quoted for word, number, quoted in _STEP.findall(path))


def _find(node: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        below = _child(node, step)
        if below is None:
            return node
        node = below
    return node


def _child(node: Any, step: Step) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return node.value[step] if isinstance(step, int) and step < len(node.value) else None
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == step), None)
