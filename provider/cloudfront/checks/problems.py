"""What the checks before a write find, and how they ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from apis.conditions import TenantReadyReason as Reason
from provider.cloudfront.aws.errors import AwsError

__all__ = ["Permitted", "Problem", "Result"]

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Problem:
    """One thing that cannot work."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Result:
    """What was found."""

    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Operations for which the permission lacks."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """The domains that may be taken from other tenants, with these as they may be named."""
    covered_later: bool = False
    """A certificate covers these domains only once the tenant is as asked."""
    unfinished: bool = False
    """Not all could be looked at in the time that a reconcile has."""
    unread: bool = False
    """Some of the tenants that domains are to be taken from are left to the next reconcile."""

    @property
    def reason(self) -> Reason:
        """Of all problems, where it is one; else ValidationFailed."""
        reasons = {problem.reason for problem in self.problems}
        return reasons.pop() if len(reasons) == 1 else Reason.VALIDATION_FAILED

    @property
    def message(self) -> str:
        """All problems on one line."""
        return "; ".join(problem.message for problem in self.problems)


class Permitted:
    """Asks AWS, and leaves out what may not be asked."""

    def __init__(self) -> None:
        self._denied: set[str] = set()

    @property
    def denied(self) -> tuple[str, ...]:
        """The operations that were not permitted, sorted."""
        return tuple(sorted(self._denied))

    def ask(self, ask: Callable[[], Answer]) -> tuple[bool, Answer | None]:
        """Whether the permission is there, and the answer.

        Raises:
            AwsError: it failed for another reason.
        """
        try:
            return True, ask()
        except AwsError as error:
            if not error.not_permitted:
                raise
            self._denied.add(error.operation)
            return False, None
