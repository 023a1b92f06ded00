"""Print the test files that a change can affect, one per line.

    python -m tests.affected [--since REV]

A change is what differs from the commit at which this branch left REV, with uncommitted and new files. It
affects a test file that

    - imports a changed Python module, directly or through others,
    - has a changed conftest.py in its folder or above, or is changed itself,
    - contains the name of another changed file, or of the folder of that file, in quotes.

Tests on a control plane start the programs, so they import next to nothing. The tests of the main job stand
for all of them, unless the change is in the tests on a control plane themselves. `.ci/run` runs all.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    **{name: name for name in ("apis", "cli", "function", "provider", "sandbox", "sources", "xpkg")},
    "edgetenants_emulator": "emulator/edgetenants_emulator",
    "edgetenants_runtime": "runtime/edgetenants_runtime",
}
"""Each package, and its folder."""
BY_NAME = {"cli.main": "cli.commands"}
"""A module that imports all modules of a package by their names."""
TESTS = ("tests", "emulator/tests", "runtime/tests")
ON_A_CONTROL_PLANE = "tests/integration/"
MAIN_JOB = "tests/integration/test_main_job.py"
FOR_ALL = ("pyproject.toml", "requirements/")
"""What can affect every test."""


def main(arguments: list[str] | None = None) -> int:
    """Return 2 if git does not know the revision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--since", default="main", metavar="REV", help="default: %(default)s")
    asked = parser.parse_args(arguments)
    try:
        files = changed(ROOT, asked.since)
    except subprocess.CalledProcessError as error:
        print(f"--since {asked.since}: expected a branch or commit. {error.stderr.strip()}", file=sys.stderr)
        return 2
    found = affected(ROOT, files)
    print(f"{len(files)} changed files affect {len(found)} test files", file=sys.stderr)
    for test in found:
        print(test)
    return 0


def changed(root: Path, since: str) -> set[str]:
    """Return the paths that differ from the commit at which HEAD left `since`.

    Raises:
        CalledProcessError: git does not know `since`.
    """
    base = _git(root, "merge-base", "HEAD", since)[0]
    differ = _git(root, "diff", "--name-only", "--no-renames", base)
    return {*differ, *_git(root, "ls-files", "--others", "--exclude-standard")}


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def affected(root: Path, files: Iterable[str]) -> list[str]:
    """Return the test files that a change of these files can affect. All paths are relative to `root`."""
    change = Change.of(files)
    tests = Tests(root)
    found = {test for test in tests.files() if tests.is_affected(test, change)}
    if change.modules or change.is_for_all:
        found.add(MAIN_JOB)
    return sorted(found)


@dataclass(frozen=True)
class Change:
    """Changed files."""

    files: frozenset[str]
    modules: frozenset[str]
    """The modules of the packages that are changed, or import one that is."""
    words: re.Pattern[str] | None
    """Finds the names of files that are not Python, and of their folders."""

    @classmethod
    def of(cls, files: Iterable[str]) -> Change:
        files = frozenset(files)
        others = [PurePath(file) for file in files if not file.endswith(".py")]
        names = {name for path in others for name in (path.name, path.parent.name) if name}
        quoted = re.compile("[\"'/](" + "|".join(map(re.escape, sorted(names))) + ")[\"'/]")
        return cls(files, frozenset(_importing(files)), quoted if names else None)

    @property
    def is_for_all(self) -> bool:
        return any(file.startswith(FOR_ALL) for file in self.files)


def _importing(files: Iterable[str]) -> set[str]:
    modules = {module for file in files if (module := _module(file))}
    if not modules:
        return set()
    graph = _graph()
    # A module that was removed is in no graph; what imported it is changed, too.
    known = modules & graph.modules
    return modules.union(*(graph.find_downstream_modules(module) for module in known))


@cache
def _graph() -> grimp.ImportGraph:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for importer, package in BY_NAME.items():
        for module in graph.find_children(package):
            graph.add_import(importer=importer, imported=module)
    return graph


def _module(file: str) -> str:
    """Return the dotted name of a module of the packages; empty for another file."""
    if not file.endswith(".py"):
        return ""
    for package, folder in PACKAGES.items():
        if file.startswith(f"{folder}/"):
            parts = [package, *PurePath(file).relative_to(folder).with_suffix("").parts]
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return ""


@dataclass(frozen=True)
class Tests:
    """The test files of a repository, and what they import."""

    root: Path

    def files(self) -> Iterator[str]:
        for folder in TESTS:
            yield from (str(path.relative_to(self.root)) for path in (self.root / folder).rglob("test_*.py"))

    def is_affected(self, test: str, change: Change) -> bool:
        files, modules = self._reached(test)
        if not change.files.isdisjoint(files):
            return True
        if test.startswith(ON_A_CONTROL_PLANE):
            return False
        if change.is_for_all or not change.modules.isdisjoint(modules):
            return True
        return bool(change.words and change.words.search((self.root / test).read_text()))

    def _reached(self, test: str) -> tuple[set[str], set[str]]:
        """Return the files of tests that a test imports, and the names that it imports from elsewhere."""
        files, names, todo = set(), set(), [test, *self._conftests(test)]
        while todo:
            file = todo.pop()
            if file in files:
                continue
            files.add(file)
            for name in _imported(self.root / file):
                helper = f"{name.replace('.', '/')}.py"
                if (self.root / helper).is_file() and helper.startswith(TESTS):
                    todo.append(helper)
                else:
                    names.add(name)
        return files, names

    def _conftests(self, test: str) -> Iterator[str]:
        for folder in PurePath(test).parents:
            if (self.root / folder / "conftest.py").is_file():
                yield str(folder / "conftest.py")


@cache
def _imported(file: Path) -> frozenset[str]:
    return frozenset(_names(ast.parse(file.read_text(), file)))


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of all imported modules. Of `from a import b`, both `a` and `a.b` may be one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


if __name__ == "__main__":
    sys.exit(main())
