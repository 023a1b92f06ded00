"""The licences of Python packages."""

import importlib.metadata
from typing import Any

import pytest

from xpkg import runtime, wheels
from xpkg.__main__ import ROOT
from xpkg.licences import ALLOWED, licence, problem

LOCKED = sorted({name for lock in runtime.locks(ROOT) for name in wheels.names(lock)})


@pytest.mark.parametrize("name", LOCKED)
def test_each_locked_package_has_a_licence_that_is_allowed(name: str) -> None:
    assert problem(importlib.metadata.metadata(name).json) is None


def test_each_allowed_licence_is_one_of_a_locked_package() -> None:
    found = " ".join(licence(importlib.metadata.metadata(name).json) or "" for name in LOCKED)
    assert {one for one in ALLOWED if one not in found.split()} == set()


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"license_expression": "MIT OR Apache-2.0", "license": "BSD-3-Clause"}, "MIT OR Apache-2.0"),
        ({"license": "ISC", "classifier": ["License :: OSI Approved :: BSD License"]}, "ISC"),
        ({"license": "Apache License 2.0"}, "Apache-2.0"),
        ({"license": "see LICENSE", "classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"license": "a long text\nof a licence"}, None),
        ({"classifier": ["License :: OSI Approved :: BSD License"]}, None),
        ({}, None),
    ],
)
def test_the_most_exact_statement_counts(metadata: dict[str, Any], expected: str | None) -> None:
    assert licence({"name": "x", **metadata}) == expected


def test_a_missing_licence_is_a_problem() -> None:
    expected = "its metadata names no licence; read its licence file and add it to xpkg/licences.py"
    assert problem({"name": "x"}) == expected


def test_a_licence_that_is_not_allowed_is_named() -> None:
    found = problem({"name": "x", "license_expression": "MIT AND GPL-3.0-or-later"})
    assert found == ("licence MIT AND GPL-3.0-or-later: GPL-3.0-or-later is not in xpkg/licences.py")
