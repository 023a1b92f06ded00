"""The table of mutations does not rot: `make mutants` tries it, this tells of a snippet that has moved."""

from collections import Counter
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", TARGETS)
def test_names_are_unique_and_tests_exist(name: str) -> None:
    target = TARGETS[name]
    assert [n for n, times in Counter(m.name for m in target.mutations).items() if times > 1] == []
    tests = {test.partition("::")[0] for mutation in target.mutations for test in mutation.tests}
    files = {Path(ROOT / target.tests / test) for test in tests}
    assert [file for file in files if not file.exists()] == []
    assert len(target.mutations) >= LEAST[name]
