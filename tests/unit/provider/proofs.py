"""Tables of what must not happen, with the tests that show it and the mutations that those tests notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.mutation import Mutation
from tests.mutants.table import TARGETS

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Row:
    """One thing, in plain words."""

    words: str
    tests: tuple[str, ...]
    """`path/from/the/root.py::test`."""
    mutations: tuple[str, ...] = ()
    """Names in tests/mutants; each is noticed by one of the tests."""


def missing_tests(row: Row) -> list[str]:
    """Tests that are named and do not exist."""
    return [test for test in row.tests if not _exists(*test.split("::"))]


def unproven(row: Row) -> list[str]:
    """Mutations that do not exist, or that none of the row's tests is named to notice."""
    return [name for name in row.mutations if not _noticed(name, row.tests)]


def _noticed(name: str, tests: tuple[str, ...]) -> bool:
    return any(_same(noticing, test) for noticing in _noticing(name) for test in tests)


def _same(noticing: str, test: str) -> bool:
    # A mutation may name a whole file.
    return noticing == test or ("::" not in noticing and noticing == test.partition("::")[0])


def _noticing(name: str) -> Iterator[str]:
    """The tests of the mutation of that name, from the root."""
    for target in TARGETS.values():
        for mutation in filter(lambda m: m.name == name, target.mutations):
            yield from (f"{target.tests}/{test}" for test in mutation.tests)


@cache
def _functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _exists(path: str, name: str) -> bool:
    return (ROOT / path).exists() and name in _functions(path)


def mutations_of(file: tuple[Mutation, ...]) -> frozenset[str]:
    """The names of a table of mutations."""
    return frozenset(mutation.name for mutation in file)
