"""The page of the metrics. Any pod may ask for it, and to make it takes time of the processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.serving.answers import Answer, refusal
from edgetenants_runtime.serving.pages import Asked
from edgetenants_runtime.serving.room import NoRoom, Room

__all__ = ["Render", "Scrapes"]

Render = Callable[[str], tuple[str, bytes]]
"""Returns the content type and the body for a value of the header Accept."""

_FRESH_SECONDS: Final = 1.0
"""How long an answer is also that of others."""
_WAIT_SECONDS: Final = 5.0
"""How long a scrape waits for another. Prometheus waits 10 s."""
_OPENMETRICS: Final = "application/openmetrics-text"


class Scrapes:
    """A page that is made for one client at a time, and at most once a second in each of the two formats.
    Thread-safe.

    Who asks meanwhile gets the same answer: so many clients cost neither time nor memory.
    """

    def __init__(self, render: Render, clock: Clock | None = None) -> None:
        self._render, self._clock = render, clock or SystemClock()
        self._one = Room(0, 1, wait=_WAIT_SECONDS)
        self._made: dict[str, tuple[float, Answer]] = {}

    def __call__(self, asked: Asked) -> Answer:
        """The answer to a scrape; 503 if another one takes very long."""
        try:
            with self._one.of(asked.client, 1, asked.gone):
                return self._answer(_format(asked.accept))
        except NoRoom:
            return refusal(503, "busy with another scrape")

    def _answer(self, accept: str) -> Answer:
        made_at, answer = self._made.get(accept, (float("-inf"), None))
        if answer is None or self._clock.now() >= made_at + _FRESH_SECONDS:
            content_type, body = self._render(accept)
            answer = Answer(200, body, content_type)
            self._made[accept] = self._clock.now(), answer
        return answer


def _format(accept: str) -> str:
    # One of two: each further format could be asked for, and made, once more.
    return f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in accept else "text/plain"
