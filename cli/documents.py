"""Reads YAML files: every object, and the line of each of its fields."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from apis.errors import Problem
from cli.json_values import Reading, nodes

__all__ = ["Document", "UnreadableFile", "gather", "read_all"]

Step = str | int

_STEP = re.compile(r'\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')
_ITEM = re.compile(r"items\[(\d+)\]\.?(.*)", re.DOTALL)
_ENDINGS: Final = (".yaml", ".yml", ".json")
"""The endings of the files that are read from folders, the same as kubectl's."""


class UnreadableFile(Exception):  # noqa: N818 - names the thing found
    """A file cannot be read as YAML; the message contains its name and, if known, the line."""


@dataclass(frozen=True)
class Document:
    """One object in a file."""

    file: str
    value: dict[str, Any]
    node: yaml.Node
    flaws: tuple[Problem, ...] = ()
    """What kubectl would silently drop or change, such as the first of two equal keys."""

    @property
    def api_version(self) -> str:
        """The object's apiVersion, or ""."""
        return str(self.value.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        """The object's kind, or ""."""
        return str(self.value.get("kind") or "")

    @property
    def group(self) -> str:
        """The group of the object's apiVersion; the version if there is no group."""
        return self.api_version.partition("/")[0]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's metadata."""
        return self.at("metadata")

    @property
    def name(self) -> str:
        """The object's name, or its generateName, for messages."""
        begin = self.metadata.get("generateName")
        return str(self.metadata.get("name") or (f"{begin}…" if begin else "?"))

    @property
    def namespace(self) -> str:
        """The object's namespace, or ""."""
        return str(self.metadata.get("namespace") or "")

    def at(self, *path: str) -> Mapping[str, Any]:
        """The object at a path; empty if the path does not exist or is not an object."""
        found: Any = self.value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def place(self, path: str) -> str:
        """`file:line:column` of the field at a path such as `spec.domains[0]`, or of its nearest parent."""
        mark = _find(self.node, _steps(path)).start_mark
        return f"{self.file}:{mark.line + 1}:{mark.column + 1}"


def read_all(paths: Sequence[Path]) -> list[Document]:
    """The objects in files, in folders and their subfolders, and in `-` (standard input), in order.

    Raises:
        UnreadableFile: a file cannot be read, or an object has a flaw.
    """
    documents, unreadable = gather(paths)
    if unreadable:
        raise unreadable[0]
    for document in documents:
        for flaw in document.flaws:
            raise UnreadableFile(f"{document.place(flaw.path)}: {flaw}")
    return documents


def gather(paths: Sequence[Path]) -> tuple[list[Document], list[UnreadableFile]]:
    """Like `read_all`, but returns all objects, including those with flaws, and the files that cannot be
    read."""
    documents: list[Document] = []
    unreadable: list[UnreadableFile] = []
    for file in (file for path in paths for file in _files(path)):
        try:
            documents.extend(_read(file))
        except UnreadableFile as error:
            unreadable.append(error)
    return documents, unreadable


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or the YAML files in a folder and its subfolders, except hidden ones."""
    if not path.is_dir():
        yield path
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from (
            Path(folder) / name for name in sorted(names) if name.endswith(_ENDINGS) and name[0] != "."
        )


def _read(path: Path) -> list[Document]:
    try:
        read = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return list(_documents(str(path), read.decode("utf-8")))
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: invalid UTF-8: {error.reason} at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise UnreadableFile(_told(str(path), error)) from error


def _documents(file: str, text: str) -> Iterator[Document]:
    reading = Reading(most=len(text))
    for node in nodes(text):
        reading.flaws.clear()
        found = _object(file, reading.value(node), node, reading.flaws)
        if found is None:
            continue
        if found.value.get("kind") == "List" and isinstance(found.value.get("items"), list):
            yield from _items(found)
        else:
            yield found


def _object(file: str, value: Any, node: yaml.Node, flaws: Iterable[Problem]) -> Document | None:
    """The object in a document; None if the document is empty."""
    found = Document(file, value, node, tuple(flaws))
    if value is None and not found.flaws:
        return None
    if not isinstance(value, dict):
        raise UnreadableFile(f"{found.place('')}: expected an object, got {value!r:.80}")
    return found


def _items(listed: Document) -> Iterator[Document]:
    flaws: dict[int, list[Problem]] = {}
    for flaw in listed.flaws:
        at = _ITEM.fullmatch(flaw.path)
        if at is None:
            raise UnreadableFile(f"{listed.place(flaw.path)}: {flaw}")
        flaws.setdefault(int(at[1]), []).append(replace(flaw, path=at[2]))
    for index, item in enumerate(listed.value["items"]):
        node = _find(listed.node, ("items", index))
        found = _object(listed.file, item, node, flaws.get(index, ()))
        if found is not None:
            yield found


def _told(file: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
    return f"{where}: invalid YAML: {getattr(error, 'problem', None) or ' '.join(str(error).split())}"


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
    # Of equal keys, the last one counts.
    return next((value for key, value in reversed(node.value) if key.value == step), None)
