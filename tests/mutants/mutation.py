"""One mutation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A change that breaks the code, and the tests that must catch it."""

    name: str
    """A description of the defect."""
    file: str
    """The file, relative to the package."""
    old: str
    """The snippet to replace. It must occur exactly once in the file, so that the table stays up to date."""
    new: str
    why: str
    """The effect on users."""
    tests: tuple[str, ...]
    """Test files, or `file.py::test`; put the fastest one that catches the mutation first."""
