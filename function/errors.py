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

    def __init__(self, reason: LiveReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class StartupFailed(Exception):  # noqa: N818
    """The server cannot start; the message names the flag or file that is at fault."""


def refuse_claim(problems: Iterable[Problem]) -> None:
    """Refuse the claim for all its problems at once, if there are any.

    Raises:
        Refused: with reason InvalidClaim.
    """
    if text := "; ".join(map(str, problems)):
        raise Refused(LiveReason.INVALID_CLAIM, text)
