"""Notices outages of the API server, after which its state may be another one: etcd may have been restored.

A restore stops the API server for longer than a reconnection takes. When it answers again, it may have passed
the last version that was seen, so that its version tells nothing, and it must be listed. It is not listed
after each end of a watch, or each restart of one of several API servers: a list costs pages. A list that the
server refuses stays due, and is tried again after a pause.
"""

from __future__ import annotations

from edgetenants_runtime.clock import Stopwatch

__all__ = ["Outages"]


class Outages:
    """The outages that one reflector meets. It has one thread."""

    SHORT = 5.0
    """Seconds; an interruption of at most that, with at most one failed attempt, is no outage."""
    QUIET = 120.0
    """Seconds; bookmarks arrive about every minute, so a connection that breaks after more had been cut off
    before."""
    FIRST_PAUSE, LONGEST_PAUSE = 60.0, 600.0
    """Seconds between two lists: a server that comes and goes is listed less and less often."""
    AGAIN = 15.0
    """Seconds after which a list that was refused is due again; twice as many after each further refusal, up
    to FIRST_PAUSE."""

    def __init__(self) -> None:
        self._down: Stopwatch | None = None
        self._failed = 0
        self._suspected = False
        self._heard, self._listed = Stopwatch(), Stopwatch()
        self._pause = self.FIRST_PAUSE
        self._refused, self._again = Stopwatch(), 0.0

    def broke(self) -> None:
        """The connection of a watch broke."""
        self._down = self._down or Stopwatch()
        self._suspected |= self._heard.elapsed() > self.QUIET

    def failed(self, *, transient: bool) -> None:
        """An attempt to reconnect failed; `transient`: the server does not work, or was not reached."""
        self._down = self._down or Stopwatch()
        self._failed += transient
        self._suspected |= self._failed > 1

    def heard(self) -> None:
        """A watch told something."""
        self._heard = Stopwatch()

    def answered(self) -> None:
        """The server answered a request."""
        self._suspected |= self._down is not None and self._down.elapsed() > self.SHORT
        self._down, self._failed = None, 0
        self.heard()

    def listed(self) -> None:
        """All objects were listed."""
        self.answered()
        if self._suspected:
            calm = self._listed.elapsed() > 2 * self.LONGEST_PAUSE
            self._pause = self.FIRST_PAUSE if calm else min(2 * self._pause, self.LONGEST_PAUSE)
        self._suspected, self._listed = False, Stopwatch()
        self._again = 0.0

    def refused(self, retry_after: float) -> None:
        """The server refused the list that was due; it is due again after `retry_after` seconds or more."""
        longer = max(self.AGAIN, min(2 * self._again, self.FIRST_PAUSE))
        self._refused, self._again = Stopwatch(), max(longer, retry_after)
        self._suspected = True

    @property
    def in_doubt(self) -> float | None:
        """Seconds after which to ask the server again, or to list it if it has just answered; None if there
        was no outage."""
        if self._down is not None:
            return self.SHORT
        if not self._suspected:
            return None
        return max(0.0, self._pause - self._listed.elapsed(), self._again - self._refused.elapsed())
