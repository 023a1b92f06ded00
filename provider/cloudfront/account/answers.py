"""What AWS told, kept for a while and shared by all resources of an account.

Each thing is asked by one worker at a time: a thousand tenants that start at once share one call. No lock is
held meanwhile: those who ask for something else go on, and those who ask for the same wait a little and come
again later, so that one call that hangs stops nobody else. What was learnt before a reconcile ran out of time
is there for the next one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.cloudfront.aws.errors import PAUSED, AwsError

__all__ = ["MOST", "Answers"]

MOST: Final = 20_000
"""Answers that are kept; the oldest go first."""
_PATIENCE: Final = 5.0
"""Real seconds, as what hangs is a connection, that a worker waits for the answer to another's call."""
_AGAIN: Final = 2.0

T = TypeVar("T")


@dataclass(frozen=True)
class _Kept:
    answer: Any
    until: float


@dataclass
class _Question:
    """One that is under way."""

    over: threading.Event = field(default_factory=threading.Event)
    answer: _Kept | None = None
    failure: AwsError | None = None


class Answers:
    """Thread-safe."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._asked: dict[Hashable, _Question] = {}

    def get(self, what: Hashable, ask: Callable[[], T], lasts: Callable[[T], float]) -> T:
        """The answer, from memory while it lasts.

        Args:
            what: names the question.
            ask: asks AWS. What fails is not kept.
            lasts: for how many seconds an answer is kept.

        Raises:
            AwsError: what `ask` raised, here or in the worker that asked for all; or, of code Paused, another
                worker's call hangs.
        """
        while True:
            with self._lock:
                if (known := self._fresh(what)) is not None:
                    answer: T = known.answer
                    return answer
                question, mine = self._asked.get(what), False
                if question is None:
                    question, mine = self._asked.setdefault(what, _Question()), True
            if mine:
                return self._ask(what, question, ask, lasts)
            _wait(what, question)
            if question.answer is not None:
                told: T = question.answer.answer
                return told
            # Where it failed for a reason of the other's own, such as its deadline, it is asked anew.

    def note(self, what: Hashable, answer: object, seconds: float) -> None:
        """It was learnt by the way."""
        with self._lock:
            self._keep(what, _Kept(answer, self._clock.now() + seconds))

    def last(self, what: Hashable) -> Any | None:
        """The last answer that is still kept, however old; None without one."""
        with self._lock:
            known = self._kept.get(what)
            return known.answer if known else None

    def is_old(self, what: Hashable) -> bool:
        """There is an answer, and it lasts no more."""
        with self._lock:
            return what in self._kept and self._fresh(what) is None

    def forget(self, what: Hashable) -> None:
        """It is to be asked anew."""
        with self._lock:
            self._kept.pop(what, None)

    def _fresh(self, what: Hashable) -> _Kept | None:
        known = self._kept.get(what)
        return known if known and self._clock.now() < known.until else None

    def _keep(self, what: Hashable, kept: _Kept) -> None:
        self._kept[what] = kept
        self._kept.move_to_end(what)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def _ask(
        self, what: Hashable, question: _Question, ask: Callable[[], T], lasts: Callable[[T], float]
    ) -> T:
        try:
            answer = ask()
        except AwsError as error:
            question.failure = error
            raise
        else:
            seconds = lasts(answer)
            question.answer = _Kept(answer, self._clock.now() + seconds)
            if seconds > 0:
                with self._lock:
                    self._keep(what, question.answer)
            return answer
        finally:
            with self._lock:
                del self._asked[what]
            question.over.set()


def _wait(what: Hashable, question: _Question) -> None:
    if not question.over.wait(min(_PATIENCE, deadline.remaining())):
        words = "another worker asked AWS for the same and has no answer yet"
        raise AwsError(f"look up {what}", PAUSED, words, after=_AGAIN)
    if question.failure is not None:
        # Each worker has its own: what is raised is marked with where it was.
        raise question.failure.copied() from question.failure
