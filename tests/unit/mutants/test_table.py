"""The table of mutations does not rot: `make mutants` tries it, this tells of a snippet that has moved."""

from collections import Counter
from pathlib import Path

import pytest

import tests.mutants.__main__ as trials
from tests.mutants.__main__ import ROOT, stale
from tests.mutants.mutation import Mutation
from tests.mutants.table import TARGETS, Target

LEAST = {"runtime": 40, "provider": 20, "function": 8, "cli": 20, "apis": 3}


@pytest.mark.parametrize("name", TARGETS)
def test_every_snippet_stands_in_its_file_once(name: str) -> None:
    assert stale(TARGETS[name]) == []


def test_a_snippet_that_is_gone_is_told() -> None:
    gone = Mutation("m", "meta.py", "no such line", "", "", ())
    assert stale(Target("runtime", "edgetenants_runtime", "runtime/tests", (gone,))) == [
        "stale: m: its snippet occurs 0 times in meta.py"
    ]


def test_a_mutation_that_is_no_python_is_told(tmp_path: Path) -> None:
    (tmp_path / "meta.py").write_text("1")
    broken = Mutation("m", "meta.py", "1", "(", "", ())
    (told,) = stale(Target("", str(tmp_path), "tests", (broken,)))
    assert told == "stale: m: meta.py is no Python with it: '(' was never closed in line 1"


@pytest.mark.parametrize("name", TARGETS)
def test_names_are_unique_and_tests_exist(name: str) -> None:
    target = TARGETS[name]
    assert [n for n, times in Counter(m.name for m in target.mutations).items() if times > 1] == []
    tests = {test.partition("::")[0] for mutation in target.mutations for test in mutation.tests}
    files = {Path(ROOT / target.tests / test) for test in tests}
    assert [file for file in files if not file.exists()] == []
    assert len(target.mutations) >= LEAST[name]


UNTRIED = Mutation("m", "__init__.py", "1", "2", "", ("unit/mutants/test_table.py",))
BY = f"{ROOT}/tests/unit/mutants/test_table.py::test_by_chance"


def tried(monkeypatch: pytest.MonkeyPatch, *, unchanged: str, mutated: str) -> list[str]:
    """What a trial tells where pytest says these of the unchanged package and of the mutated one."""

    def passes(folder: Path, *_: object, **__: object) -> str:
        return unchanged if folder.name == "unchanged" else mutated

    monkeypatch.setattr(trials, "passes", passes)
    target = Target(".", "tests/unit/mutants", "tests", (UNTRIED,))
    monkeypatch.setattr(trials.shutil, "copytree", _a_file)
    return trials.Trial("x", target, {}).survivors([UNTRIED])


def _a_file(_: Path, to: Path, **__: object) -> None:
    to.mkdir(parents=True)
    (to / "__init__.py").write_text("1")


def test_a_mutation_that_no_test_notices_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each[:11] for each in tried(monkeypatch, unchanged="", mutated="")] == ["survives: m"]


def test_a_test_that_fails_without_the_mutation_too_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"FAILED {BY} - no"
    assert tried(monkeypatch, unchanged="", mutated=told) == []
    faults = tried(monkeypatch, unchanged=told, mutated=told)
    assert faults == [f"the unchanged package fails:\n{told}"]
