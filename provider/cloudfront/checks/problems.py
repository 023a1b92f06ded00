"""The results of the checks before a write, and calls that may lack permission."""

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
    """One problem in the spec."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Result:
    """The findings of all checks."""

    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Operations that the provider lacks permission for."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """The domains that may be taken from other tenants, each with a description of its tenant."""
    covered_later: bool = False
    """A certificate covers these domains only after the update."""
    unfinished: bool = False
    """One reconcile had not enough time to check everything."""
    unread: bool = False
    """The next reconcile has to read more of the tenants that domains are taken from."""

    @property
    def reason(self) -> Reason:
        """The reason, if all problems have the same one; else ValidationFailed."""
        reasons = {problem.reason for problem in self.problems}
        return reasons.pop() if len(reasons) == 1 else Reason.VALIDATION_FAILED

    @property
    def message(self) -> str:
        """All problems on one line. Two checks may find the same one."""
        return "; ".join(dict.fromkeys(problem.message for problem in self.problems))


class Permitted:
    """Makes calls to AWS, and skips those without permission."""

    def __init__(self) -> None:
        self._denied: set[str] = set()

    @property
    def denied(self) -> tuple[str, ...]:
        """The operations without permission, sorted."""
        return tuple(sorted(self._denied))

    def ask(self, ask: Callable[[], Answer]) -> tuple[bool, Answer | None]:
        """Whether the call is permitted, and its answer.

        Raises:
            AwsError: the call failed for another reason.
        """
        try:
            return True, ask()
        except AwsError as error:
            if not error.not_permitted:
                raise
            self._denied.add(error.operation)
            return False, None
