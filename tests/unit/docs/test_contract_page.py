"""docs/contract.md names every rule that a case proves, and nothing that is not there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "contract.md").read_text()
PACKAGE = ROOT / "runtime" / "edgetenants_runtime"
RULE = r"[a-z][a-z-]*(?:\.[a-z-]+)?"


def rows() -> list[tuple[str, str, str]]:
    """(rule, where, proved by) of every table of the page."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| Rule")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(row[0].strip(), row[1].strip(), row[2].strip()) for row in cells if len(row) == 3]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def proved_in_tests() -> set[str]:
    """The rules that cases and docstrings of the runtime's tests name."""
    text = "\n".join(path.read_text() for path in (ROOT / "runtime" / "tests").rglob("test_*.py"))
    cases = re.findall(rf'Case\(\s*f?"[^"]+",\s*"({RULE})",', text)
    return {*cases, *re.findall(rf"Rule: ({RULE})", text)}


def claimed() -> set[str]:
    return {token for _, _, proof in rows() for token in quoted(proof) if re.fullmatch(RULE, token)}


def test_the_page_has_its_rows() -> None:
    assert len(rows()) > 60
    assert len(proved_in_tests()) > 70


def test_every_rule_that_is_proved_is_on_the_page_and_the_other_way_round() -> None:
    assert claimed() == proved_in_tests()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_a_row_has_a_proof_or_a_reason(row: tuple[str, str, str]) -> None:
    assert quoted(row[2]) or row[2].startswith("Not ")


WHERE = sorted({token for _, where, _ in rows() for token in quoted(where)})


@pytest.mark.parametrize("where", WHERE)
def test_a_place_exists(where: str) -> None:
    if where.endswith(".py"):
        assert (ROOT / where).is_file()
        return
    module, _, name = where.rpartition(".")
    source = (PACKAGE / f"{module}.py").read_text()
    assert re.search(rf"(?:def|class) {name}\b", source)


TESTS = sorted({token for _, _, proof in rows() for token in quoted(proof) if "::" in token})


@pytest.mark.parametrize("named", TESTS)
def test_a_named_test_exists(named: str) -> None:
    path, _, function = named.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text()
