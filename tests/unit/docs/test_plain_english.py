"""The hand-written pages, and the strings and docstrings of the code, are in plain English: none has a phrase
of the word list in plain_english.py, outside of code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.plain_english import ACTORS, ADVICE, findings, of_python, of_remarks

ROOT = Path(__file__).resolve().parents[3]
GENERATED = {ROOT / "docs" / "iam.md"}
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "how-to").glob("*.md"),
        *(ROOT / "examples").glob("**/README.md"),
        ROOT / "emulator" / "README.md",
        ROOT / "runtime" / "README.md",
        ROOT / "sandbox" / "controlplane" / "README.md",
    }
    - GENERATED
)
PACKAGES = (
    "apis",
    "cli",
    "emulator/edgetenants_emulator",
    "function",
    "provider",
    "runtime/edgetenants_runtime",
    "sandbox",
    "xpkg",
)
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).glob("**/*.py"))
TESTS = ("emulator/tests", "runtime/tests", "tests")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def test_the_pages_are_there() -> None:
    assert len(PAGES) > 40
    assert all(page.is_file() for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_in_plain_english(page: Path) -> None:
    found = findings(str(page.relative_to(ROOT)), page.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_names_who_acts(page: Path) -> None:
    found = findings(str(page.relative_to(ROOT)), page.read_text(), ACTORS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_strings_and_docstrings_are_in_plain_english(module: Path) -> None:
    found = of_python(str(module.relative_to(ROOT)), module.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_comments_are_in_plain_english(module: Path) -> None:
    found = of_remarks(str(module.relative_to(ROOT)), module.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", TESTS)
def test_remarks_in_tests_name_who_acts(folder: str) -> None:
    found = [
        line
        for file in sorted((ROOT / folder).glob("**/*.py"))
        for line in of_remarks(str(file.relative_to(ROOT)), file.read_text(), ACTORS)
    ]
    assert not found, "\n".join(found)


def test_comments_are_found_with_their_line() -> None:
    source = '"""Made\nanew."""\nx = "anew"  # is told\n# Two\ny = 1  # begun\n'
    assert [line.partition(": '")[0] for line in of_remarks("m.py", source)] == ["m.py:2", "m.py:3", "m.py:5"]
    assert len(of_remarks("m.py", source, ACTORS)) == 1


def test_strings_of_python_are_found_with_their_line() -> None:
    source = '"""Made\nanew."""\nnobody = "x anew"\nf"{nobody} is told {1}"  # anew\n'
    assert [line.partition(": '")[0] for line in of_python("m.py", source)] == ["m.py:2", "m.py:3", "m.py:4"]
    assert len(of_python("m.py", source, docstrings=False)) == 2


def test_a_finding_has_file_line_phrase_and_advice() -> None:
    found = findings("page.md", "# Page\n\nThe tenant is made\nagain, anew.\n")
    assert found == ["page.md:3: 'made again': recreate", f"page.md:4: 'anew': {ADVICE['anew']}"]


def test_quoted_messages_are_exempt() -> None:
    quoted = "It says `Somebody else changed\nit`.\n\n  ```\n  $ see   # nobody\n  ```\n\n[More](anew.md).\n"
    assert findings("page.md", quoted) == []
    assert findings("page.md", f"{quoted}anew\n") == [f"page.md:9: 'anew': {ADVICE['anew']}"]
