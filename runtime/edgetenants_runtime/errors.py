"""What implementers raise.

Exception
├── Frozen          an error is a value: once made, nobody changes it
│   ├── NotYet          the world is not ready; nobody's fault
│   └── ExternalError   the external API, the spec or the configuration refuses
└── anything else   a bug: logged with its traceback, retried with back-off
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import wait

__all__ = ["ExternalError", "Frozen", "NotYet", "Retry", "RetryMode"]


class RetryMode(StrEnum):
    """How a failed reconcile is tried again."""

    BACKOFF = "Backoff"
    """Soon, then less and less often: 1 s doubling to 60 s for the object."""
    AFTER = "After"
    """After the seconds given: the outside world said when, for example by throttling."""
    REAL_BACKOFF = "RealBackoff"
    """The same in real time: it is Kubernetes that is waited for, not the outside world."""
    POLL = "Poll"
    """At the poll interval: only a change of the spec or of the world can help."""
    NEVER = "Never"
    """When the managed resource changes: nothing else can help."""


@dataclass(frozen=True)
class Retry:
    """When to try again; made by `backoff`, `real_backoff`, `after`, `poll` or
    `never`."""

    mode: RetryMode
    seconds: float = 0.0
    """Of the injected clock; for AFTER only. Bounded, see `bounds.wait`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", wait(self.seconds))

    @classmethod
    def backoff(cls) -> Retry:
        """With the object's exponential back-off."""
        return cls(RetryMode.BACKOFF)

    @classmethod
    def real_backoff(cls) -> Retry:
        """With the object's exponential back-off in real time."""
        return cls(RetryMode.REAL_BACKOFF)

    @classmethod
    def after(cls, seconds: float) -> Retry:
        """After that many seconds."""
        return cls(RetryMode.AFTER, seconds)

    @classmethod
    def poll(cls) -> Retry:
        """At the poll interval: terminal until the spec or the world changes."""
        return cls(RetryMode.POLL)

    @classmethod
    def never(cls) -> Retry:
        """Not before the managed resource changes; its event is recorded once."""
        return cls(RetryMode.NEVER)


class Frozen(Exception):  # noqa: N818 - says what it is like
    """An exception whose attributes are set once: one that is kept may be raised to many."""

    def __setattr__(self, name: str, value: object) -> None:
        # Python's own (__traceback__ and its like) do not stand in __dict__ and may change.
        if name in self.__dict__:
            raise AttributeError(f"{name} of {type(self).__name__} cannot be changed; create another error")
        super().__setattr__(name, value)


class NotYet(Frozen):
    """The world is not ready. Retried after `after` seconds; never a Warning event; Synced stays True.

    Raised by `create`, it says that nothing was made, unless it says `made_nothing=False`.
    """

    def __init__(
        self,
        message: str,
        *,
        after: float,
        conditions: Sequence[Condition] = (),
        made_nothing: bool = True,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.after = wait(after)
        self.conditions = tuple(conditions)
        self.made_nothing = made_nothing


class ExternalError(Frozen):
    """The step failed for a reason that people can understand.

    Synced becomes False with ReconcileError and the message, and a Warning event with crossplane-runtime's
    reason for the step is recorded. The message is finding, cause in the external API's words, next action;
    it is written to status, so it must not differ between two failures of one cause. What does differ, the
    request id, is given apart: it is appended as ` (request id: …)`, a suffix that comparisons of status
    and events ignore.

    Raised by `create`, it leaves open whether something was made: an answer may be lost, and a call may still
    run. A clear refusal says `made_nothing=True`. After any other failure a deletion waits for what may yet
    show, and a creation that cannot be repeated safely stops until people have looked.
    """

    def __init__(
        self,
        message: str,
        *,
        conditions: Sequence[Condition] = (),
        retry: Retry | None = None,
        request_id: str = "",
        made_nothing: bool = False,
    ) -> None:
        text = f"{message} (request id: {request_id})" if request_id else message
        super().__init__(text)
        self.message = text
        self.conditions = tuple(conditions)
        self.retry = retry or Retry.backoff()
        self.made_nothing = made_nothing

    def but(
        self,
        *,
        conditions: Sequence[Condition] | None = None,
        retry: Retry | None = None,
        made_nothing: bool | None = None,
    ) -> ExternalError:
        """The same error with these instead; without any, a fresh one to raise."""
        return ExternalError(
            self.message,
            conditions=self.conditions if conditions is None else conditions,
            retry=retry or self.retry,
            made_nothing=self.made_nothing if made_nothing is None else made_nothing,
        )
