"""One mutation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A change that breaks something, and the tests that must notice."""

    name: str
    """What is broken, in words."""
    file: str
    """Below the package."""
    old: str
    """Stands in the file exactly once; so the table cannot rot."""
    new: str
    why: str
    """What it would do to users."""
    tests: tuple[str, ...]
    """Files of tests, or `file.py::test`; the quickest that notices goes first."""
