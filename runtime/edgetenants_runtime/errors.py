"""The errors that connectors and external clients raise.

Exception
├── Frozen          an error is an immutable value
│   ├── NotYet          a dependency is not ready; not an error
│   └── ExternalError   the external API rejects the request, or the spec or configuration is invalid
└── anything else   a bug: logged with its traceback, retried with back-off
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import wait

__all__ = ["ExternalError", "Frozen", "NotYet", "Retry", "RetryMode"]


class RetryMode(StrEnum):
    """How a failed reconcile is retried."""

    BACKOFF = "Backoff"
    """With exponential back-off per object, from 1 s to 60 s."""
    AFTER = "After"
    """After a given number of seconds, for example when the external API throttles."""
    REAL_BACKOFF = "RealBackoff"
    """With exponential back-off in real time, when waiting for Kubernetes and not for the external system."""
    POLL = "Poll"
    """At the poll interval: only a change of the spec or of the external system can help."""
    NEVER = "Never"
    """When the managed resource changes: nothing else can help."""


@dataclass(frozen=True)
class Retry:
    """When to retry. Create it with `backoff`, `real_backoff`, `after`, `poll` or `never`."""

    mode: RetryMode
    seconds: float = 0.0
    """Seconds of the injected clock; for AFTER only. Bounded, see `bounds.wait`."""

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
        """At the poll interval: terminal until the spec or the external system changes."""
        return cls(RetryMode.POLL)

    @classmethod
    def never(cls) -> Retry:
        """Only when the managed resource changes. Its event is recorded once."""
        return cls(RetryMode.NEVER)


class Frozen(Exception):  # noqa: N818 - names a property
    """An exception with immutable attributes, so that one instance can be raised several times."""

    def __setattr__(self, name: str, value: object) -> None:
        # Python's own attributes (such as __traceback__) are not in __dict__ and may change.
        if name in self.__dict__:
            raise AttributeError(f"{name} of {type(self).__name__} cannot be changed; create another error")
        super().__setattr__(name, value)


class NotYet(Frozen):
    """A dependency is not ready. Retried after `after` seconds, without a Warning event; Synced stays True.

    Raised by `create`, it means that nothing was created, unless `made_nothing=False`. Raised by `observe`,
    it means that the external resource may exist.

    `status` has top-level fields of status that take precedence over the observation's, as in Change. With
    `quiet`, the runtime reports nothing: neither an event nor a condition. It is for a wait of some seconds
    that says nothing about the resource.
    """

    def __init__(
        self,
        message: str,
        *,
        after: float,
        conditions: Sequence[Condition] = (),
        made_nothing: bool = True,
        status: Mapping[str, Any] | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.quiet = quiet
        self.after = wait(after)
        self.conditions = tuple(conditions)
        self.made_nothing = made_nothing
        self.status = dict(status or {})

    def but(
        self, *, conditions: Sequence[Condition] | None = None, status: Mapping[str, Any] | None = None
    ) -> NotYet:
        """A copy with other conditions or status fields."""
        return NotYet(
            self.message,
            after=self.after,
            conditions=self.conditions if conditions is None else conditions,
            made_nothing=self.made_nothing,
            status=self.status if status is None else status,
            quiet=self.quiet,
        )


class ExternalError(Frozen):
    """The step failed for a reason that users can understand.

    The runtime sets Synced to False with reason ReconcileError and the message, and emits a Warning event
    with crossplane-runtime's reason for the step. The message states what was found, the cause in the words
    of the external API, and the next action. It is written to status, so it must be the same for two failures
    with the same cause. Pass the request id, which differs, as `request_id`: it is appended as ` (request id:
    …)`, a suffix that comparisons of status and events ignore.

    Raised by `create`, it does not say whether something was created: the response may be lost, and the call
    may still be running. Set `made_nothing=True` for a clear rejection. After any other failure, a deletion
    waits for an external resource that may still appear, and a creation that cannot be repeated safely stops
    until a person has checked its result.

    `status` has top-level fields of status that take precedence over the observation's, as in Change.
    """

    def __init__(
        self,
        message: str,
        *,
        conditions: Sequence[Condition] = (),
        retry: Retry | None = None,
        request_id: str = "",
        made_nothing: bool = False,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        text = f"{message} (request id: {request_id})" if request_id else message
        super().__init__(text)
        self.message = text
        self.conditions = tuple(conditions)
        self.retry = retry or Retry.backoff()
        self.made_nothing = made_nothing
        self.status = dict(status or {})

    def but(
        self,
        *,
        conditions: Sequence[Condition] | None = None,
        retry: Retry | None = None,
        made_nothing: bool | None = None,
        status: Mapping[str, Any] | None = None,
    ) -> ExternalError:
        """A copy of the error with the given values replaced."""
        return ExternalError(
            self.message,
            conditions=self.conditions if conditions is None else conditions,
            retry=retry or self.retry,
            made_nothing=self.made_nothing if made_nothing is None else made_nothing,
            status=self.status if status is None else status,
        )
