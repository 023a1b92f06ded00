"""Which process of `make test` runs which file."""

from __future__ import annotations

from pathlib import Path

from tests.lanes import FIRST, ON_A_CONTROL_PLANE, following

ROOT = Path(__file__).resolve().parents[2]
SLOW = f"{ON_A_CONTROL_PLANE}{FIRST[0]}.py"
OTHER = f"{ON_A_CONTROL_PLANE}test_accounts.py"
UNIT = "tests/unit/test_lanes.py"


def test_the_slow_files_exist() -> None:
    assert [name for name in FIRST if not (ROOT / ON_A_CONTROL_PLANE / f"{name}.py").exists()] == []


def test_the_filler_takes_what_needs_a_core() -> None:
    assert following([OTHER, SLOW, UNIT], filler=True) == UNIT


def test_the_others_take_the_slow_files_first_and_help_in_the_end() -> None:
    assert following([UNIT, OTHER, SLOW], filler=False) == SLOW
    assert following([UNIT, OTHER], filler=False) == OTHER
    assert following([UNIT], filler=False) == UNIT
