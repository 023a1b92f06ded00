"""Why the function refuses to compose.

Exception
├── Refused             a claim, its plan or the request is invalid; becomes a FATAL result
└── StartupFailed       the server cannot start; becomes an exit code
"""

from collections.abc import Iterable

from apis.conditions import LiveReason
from apis.errors import Problem


class Refused(Exception):  # noqa: N818 - it names what happened, as the claim's author reads it
    """The function composes nothing in this call, and existing resources do not change.

    `reason` is the claim's Live reason; `message` names each invalid field and what it allows.
    """

    def __init__(
        self,
        reason: LiveReason,
        message: str,
        *,
        problems: Iterable[Problem] = (),
        denied: bool = False,
    ) -> None:
        """`problems`: those of the claim's fields; `denied`: whether its plan does not allow some of them."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.problems = tuple(problems)
        self.denied = denied


class StartupFailed(Exception):  # noqa: N818
    """The server cannot start; the message names the flag or file that causes it."""


def refuse_claim(problems: Iterable[Problem], denied: Iterable[Problem] = ()) -> None:
    """Refuse the claim with all its problems at once, if there are any.

    Args:
        problems: what is invalid under any plan.
        denied: what its plan does not allow.

    Raises:
        Refused: with reason InvalidClaim.
    """
    denied = tuple(denied)
    found = (*denied, *problems)
    if found:
        text = "; ".join(map(str, found))
        raise Refused(LiveReason.INVALID_CLAIM, text, problems=found, denied=bool(denied))
