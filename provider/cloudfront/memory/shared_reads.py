"""What many managed resources read at the same time, such as a distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from edgetenants_runtime.clock import Clock
from provider.cloudfront.memory.answers import Answers

__all__ = ["SharedReads"]

_SHARED_SECONDS: Final = 60.0

T = TypeVar("T")


class SharedReads:
    """The shared reads of an account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._answers = Answers(clock)

    def get(self, what: str, read: Callable[[], T]) -> T:
        """Return what many resources need, read once a minute. None is not cached.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._answers.get(what, read, lambda answer: 0.0 if answer is None else _SHARED_SECONDS)
