"""The table of mutations does not rot: `make mutants` tries it, this tells of a snippet that has moved."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import tests.mutants.__main__ as trials
from tests.mutants.__main__ import ROOT, stale
from tests.mutants.mutation import Mutation
from tests.mutants.table import TARGETS, Target

LEAST = {"runtime": 40, "provider": 20, "sources": 20, "function": 8, "cli": 20, "apis": 3}


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
    return trials.Trial("x", target, {}, {}).survivors([UNTRIED])


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


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trials.Trial:
    """A mutation that a test noticed, as it was recorded."""
    for name in ("package/__init__.py", "test_it.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    target = Target(str(tmp_path), "package", "tests", (UNTRIED,))
    trial = trials.Trial("x", target, {"m": "test_it.py::test_it"}, {})
    trial.digests["m"] = trial._digest(UNTRIED, "test_it.py::test_it")
    # Not of the tenth that this commit tries.
    monkeypatch.setattr(trials, "_share", {"m": 1}.get)
    return trial


def test_what_has_not_changed_is_left_out(recorded: trials.Trial) -> None:
    assert not recorded.is_due(UNTRIED)


@pytest.mark.parametrize("file", ["package/__init__.py", "test_it.py"])
@pytest.mark.parametrize("content", ["2", None])
def test_what_has_changed_is_tried(recorded: trials.Trial, file: str, content: str | None) -> None:
    path = Path(recorded.target.root) / file
    path.write_text(content) if content else path.unlink()
    assert recorded.is_due(UNTRIED)


def test_a_mutation_that_reads_otherwise_is_tried(recorded: trials.Trial) -> None:
    assert recorded.is_due(replace(UNTRIED, new="3"))


def test_what_was_never_recorded_is_tried(recorded: trials.Trial) -> None:
    assert recorded.is_due(replace(UNTRIED, name="n"))


def test_each_commit_tries_a_tenth_of_what_has_not_changed(
    recorded: trials.Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "_share", lambda _: 1)
    assert recorded.is_due(UNTRIED)
    monkeypatch.undo()
    names = [mutation.name for target in TARGETS.values() for mutation in target.mutations]
    shares = Counter(map(trials._share, names))
    assert sorted(shares) == list(range(10))
    assert max(shares.values()) < len(names) / 7
