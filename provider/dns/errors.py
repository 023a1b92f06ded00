"""The errors of DNS services."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["TIMED_OUT", "DnsError", "Failure", "NoConnection", "SilentNameServer", "Unreachable"]

TIMED_OUT: Final = 408
"""HTTP's code for a request that took the server or a proxy before it too long. Unlike other codes below 500,
it does not say that nothing was written."""


class Failure(Enum):
    """What a failed request means for the next step."""

    CHANGED = "changed"
    """The records are not as they were read. Nothing was written; read them again."""
    REFUSED = "refused"
    """The service refuses the request as it is. Nothing was written."""
    NOT_PERMITTED = "not permitted"
    """The credentials do not permit it. Nothing was written."""
    NO_ZONE = "no zone"
    """The zone does not exist any more."""
    LATER = "later"
    """The service is busy, throttles, or was not asked yet. Nothing was written."""
    UNCERTAIN = "uncertain"
    """No answer came: the change may have been made, or may still be made."""


class DnsError(Exception):
    """A request to a DNS service failed. The message names the request and the service's words."""

    def __init__(
        self, failure: Failure, message: str, *, after: float | None = None, ticket: str = ""
    ) -> None:
        """`after` is the number of seconds until the next try makes sense; None if the service did not say.
        `ticket` identifies a change that may have been made, as that of `store.Written`."""
        super().__init__(message)
        self.failure = failure
        self.after = after
        self.ticket = ticket


class Unreachable(DnsError):  # noqa: N818 - what is true of the service
    """No connection was made, or no answer came in time: other requests would wait as long."""


class NoConnection(Unreachable):
    """No connection was made: others that ask the same host do not get one either."""


class SilentNameServer(DnsError):  # noqa: N818 - what is true of it
    """A name server of a zone, which others run, does not answer. It says nothing about the service."""
