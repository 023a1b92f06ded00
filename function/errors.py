"""Why the function refuses to compose.

Exception
├── Refused             a claim, its plan or the request cannot be used; becomes a FATAL result
└── StartupFailed       the server cannot start; becomes an exit code
"""

from collections.abc import Iterable

from apis.conditions import LiveReason
from apis.errors import Problem


class Refused(Exception):  # noqa: N818 - it says what was done, which is what the claim's author reads
    """Nothing is composed in this call, and nothing that exists is touched.

    `reason` is the claim's Live reason, `message` names each wrong field with what is allowed there.
    """

    def __init__(
        self, reason: LiveReason, message: str, *, problems: Iterable[Problem] = (), denied: bool = False
    ) -> None:
        """`problems`: those of the claim's fields; `denied`: its plan does not allow some of them."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.problems = tuple(problems)
        self.denied = denied


class StartupFailed(Exception):  # noqa: N818
    """The server cannot start; the message names the flag or file that is at fault."""


def refuse_claim(problems: Iterable[Problem], denied: Iterable[Problem] = ()) -> None:
    """Refuse the claim for all its problems at once, if there are any.

    Args:
        problems: what cannot be.
        denied: what its plan does not allow.

    Raises:
        Refused: with reason InvalidClaim.
    """
    denied = tuple(denied)
    found = (*denied, *problems)
    if found:
        text = "; ".join(map(str, found))
        raise Refused(LiveReason.INVALID_CLAIM, text, problems=found, denied=bool(denied))
