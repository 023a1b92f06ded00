"""A cache of responses from AWS, shared by all resources of an account.

Only one worker at a time makes a given request: a thousand tenants that start together share one call. No
lock is held during the call. Workers with other requests continue; workers with the same request wait a
little and come back later, so one call that hangs does not block the others. A response that arrives before a
reconcile runs out of time is there for the next one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws.errors import PAUSED, AwsError, ErrorClass

__all__ = ["MOST", "Answers", "SharedReads"]

MOST: Final = 20_000
"""Maximum number of cached responses; the oldest are dropped first."""
_LONGEST_WAIT: Final = 5.0
"""Seconds that a worker waits for another worker's call; real time, because it is the connection that
hangs."""
_AGAIN: Final = 2.0
_OF_THE_ACCOUNT: Final = frozenset({ErrorClass.THROTTLED, ErrorClass.WAIT})
"""Failures that all workers would get. Others may be due to one worker's credentials, and name them."""
_SHARED_SECONDS: Final = 60.0

T = TypeVar("T")


@dataclass(frozen=True)
class _Kept:
    answer: Any
    until: float


@dataclass
class _Question:
    """A request in progress."""

    urgency: Urgency
    """The highest of those who wait for it."""
    over: threading.Event = field(default_factory=threading.Event)
    answer: _Kept | None = None
    failure: AwsError | None = None
    outdated: bool = False
    """Something newer was noted, or the response forgotten, since the call was made."""


class Answers:
    """The cache. Thread-safe."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._asked: dict[Hashable, _Question] = {}

    def get(self, what: Hashable, ask: Callable[[], T], lasts: Callable[[T], float]) -> T:
        """Return the response, from memory while it is valid.

        Args:
            what: identifies the request.
            ask: makes the call. Failures are not cached.
            lasts: returns for how many seconds a response is valid.

        Raises:
            AwsError: `ask` raised it; or AWS throttled the worker that made the call for all; or, with code
                Paused, another worker's call hangs.
        """
        while True:
            with self._lock:
                if (known := self._fresh(what)) is not None:
                    answer: T = known.answer
                    return answer
                question, mine = self._asked.get(what), False
                if question is None:
                    question, mine = self._asked.setdefault(what, _question()), True
                # It may wait for the account's rate, behind what is less urgent than this worker.
                question.urgency.raise_to(urgency.current().priority)
            if mine:
                return self._ask(what, question, ask, lasts)
            _wait(what, question)
            if question.answer is not None and not question.outdated:
                told: T = question.answer.answer
                return told
            # It began before something newer was noted. Or it failed for a reason of the other worker, such
            # as its credentials or its deadline.

    def note(self, what: Hashable, answer: object, seconds: float) -> None:
        """Cache a response that came with another call."""
        with self._lock:
            self._outdate(what)
            self._keep(what, _Kept(answer, self._clock.now() + seconds))

    def last(self, what: Hashable) -> Any | None:
        """Return the last cached response, however old; None if there is none."""
        with self._lock:
            known = self._kept.get(what)
            return known.answer if known else None

    def fresh(self, what: Hashable) -> Any | None:
        """Return the cached response while it is valid; None if there is none."""
        with self._lock:
            known = self._fresh(what)
            return known.answer if known else None

    def is_old(self, what: Hashable) -> bool:
        """Whether there is a response that is no longer valid."""
        with self._lock:
            return what in self._kept and self._fresh(what) is None

    def forget(self, what: Hashable) -> None:
        """Drop the response, so that the next request calls AWS again."""
        with self._lock:
            self._outdate(what)
            self._kept.pop(what, None)

    def _outdate(self, what: Hashable) -> None:
        if what in self._asked:
            self._asked[what].outdated = True

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
            with urgency.within(question.urgency):
                answer = ask()
        except AwsError as error:
            question.failure = error
            raise
        else:
            seconds = lasts(answer)
            question.answer = _Kept(answer, self._clock.now() + seconds)
            with self._lock:
                if seconds > 0 and not question.outdated:
                    self._keep(what, question.answer)
            return answer
        finally:
            with self._lock:
                del self._asked[what]
            question.over.set()


class SharedReads:
    """What many managed resources read at the same time, such as a distribution. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._answers = Answers(clock)

    def get(self, what: Hashable, read: Callable[[], T], lasts: Callable[[T], float] | None = None) -> T:
        """Return what many resources need, read once a minute, or again after as many seconds as `lasts`
        returns. By default, None is not cached.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._answers.get(what, read, lasts or _lasts)

    def last(self, what: Hashable) -> Any | None:
        """Return the last answer, however old; None if there is none."""
        return self._answers.last(what)

    def last_if_fresh(self, what: Hashable) -> Any | None:
        """Return the last answer while it is valid; None if there is none."""
        return self._answers.fresh(what)

    def note(self, what: Hashable, answer: object, seconds: float) -> None:
        """Remember an answer for this many seconds."""
        self._answers.note(what, answer, seconds)


def _lasts(answer: object) -> float:
    return 0.0 if answer is None else _SHARED_SECONDS


def _question() -> _Question:
    """One of the current worker."""
    mine = urgency.current()
    return _Question(Urgency(mine.priority, mine.held))


def _wait(what: Hashable, question: _Question) -> None:
    if not question.over.wait(min(_LONGEST_WAIT, deadline.remaining())):
        words = "another worker made the same request and has no response yet"
        raise AwsError(f"look up {what}", PAUSED, words, after=_AGAIN)
    if question.failure is not None and question.failure.verdict.class_ in _OF_THE_ACCOUNT:
        # Each worker raises its own copy, because raising adds a traceback.
        raise question.failure.copied() from question.failure
