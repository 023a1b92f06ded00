"""docs/security.md: each row has a test, every hostile case stands in it, and what is named is there."""

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "tests" / "integration"
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def cases(files: str) -> set[tuple[str, str]]:
    """The tests of these files, by file and name."""
    return {
        (path.name, function.name)
        for path in TESTS.glob(files)
        for function in ast.parse(path.read_text()).body
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
    }


def rows() -> list[str]:
    _, _, tables = PAGE.partition("## What stops whom")
    lines = [line for line in tables.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| it writes")]


def test_the_page_names_every_case_and_no_other() -> None:
    named = set(NAMED.findall(PAGE))
    assert cases("test_hostile_*.py") <= named <= cases("test_*.py")


def test_the_tables_are_read() -> None:
    assert len(rows()) > 30


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[2:50])
def test_a_row_names_its_tests(row: str) -> None:
    assert NAMED.search(row.rsplit(" | ", 1)[1])


def test_the_role_is_for_claims_alone() -> None:
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    role = yaml.safe_load(block)
    assert [rule["resources"] for rule in role["rules"]] == [["tenantclaims"], ["events"]]


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)", PAGE))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / "docs" / target).exists()
