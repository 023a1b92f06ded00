"""The steps of a reconcile, and how a failed step is reported and retried.

A failed step is a row in a table here, not a branch in the reconciler: the row has the text for the log, the
event and the condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import TracebackType
from typing import Any, Final

from edgetenants_runtime.api.conditions import Condition, creating, deleting, unforeseen
from edgetenants_runtime.errors import ExternalError, NotYet, Retry, RetryMode
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.rules.events import EventReason
from edgetenants_runtime.rules.meta import MalformedAnnotation
from edgetenants_runtime.rules.policies import UnsupportedPolicies

__all__ = ["Next", "Outcome", "Step", "StepFailed", "outcome_of", "step"]


class Next(StrEnum):
    """When the managed resource is reconciled again."""

    NEVER = "Never"
    """When it changes."""
    AFTER = "After"
    """After a number of seconds of the injected clock, or when it changes."""
    BACKOFF = "Backoff"
    """With exponential back-off on the injected clock."""
    REAL_BACKOFF = "RealBackoff"
    """With exponential back-off in real time: the API server has a problem, or has a newer version than the
    cache."""
    SOON = "Soon"
    """Immediately, in real time: a write returned a change by another client, which the watch does not report
    again."""


@dataclass(frozen=True)
class Outcome:
    """The result of a reconcile. Two are equal if they say the same about when it is reconciled again."""

    next: Next
    seconds: float = 0.0
    """For AFTER."""
    failed: bool = False
    """A step failed; counts for the back-off."""
    made: Priority | None = field(default=None, compare=False)
    """It changed the external resource, or tried to: the priority of what follows. None: it changed nothing.
    """
    settled: bool = field(default=False, compare=False)
    """The resource is as desired: nothing follows an earlier change any more."""


@dataclass(frozen=True)
class Says:
    """How a failed step is reported."""

    reason: EventReason
    words: str = ""
    """Prefix of the cause in the condition's message."""
    ready: Condition | None = None
    """Ready while the step fails, unless the client sets it."""


class Step(Enum):
    """The steps of a reconcile, in order."""

    RECONCILE = Says(EventReason.CANNOT_INITIALIZE, "reconcile failed")
    """Anything between the steps."""
    POLICIES = Says(EventReason.INVALID_MANAGEMENT_POLICY)
    INITIALIZE = Says(EventReason.CANNOT_INITIALIZE)
    CREATION_GUARD = Says(EventReason.CANNOT_INITIALIZE, ready=creating())
    RESOLVE = Says(EventReason.CANNOT_RESOLVE, "cannot resolve references")
    CONNECT = Says(EventReason.CANNOT_CONNECT, "connect failed")
    OBSERVE = Says(EventReason.CANNOT_OBSERVE, "observe failed")
    FOLLOW_LATER = Says(
        EventReason.CANNOT_RESOLVE,
        "references cannot be resolved, and the rest of the spec does not wait for them",
    )
    JUDGE_DELETION = Says(
        EventReason.CANNOT_DELETE, "cannot determine whether the deletion is held", deleting()
    )
    DELETE = Says(EventReason.CANNOT_DELETE, "delete failed", deleting())
    RELEASE = Says(EventReason.CANNOT_UPDATE_MANAGED, "cannot remove managed resource finalizer", deleting())
    PUBLISH = Says(EventReason.CANNOT_PUBLISH, "cannot publish connection details")
    HOLD = Says(EventReason.CANNOT_UPDATE_MANAGED, "cannot add managed resource finalizer")
    PREPARE = Says(EventReason.CANNOT_UPDATE_MANAGED, "cannot update managed resource", creating())
    CREATE = Says(EventReason.CANNOT_CREATE, "create failed", creating())
    ANNOTATE = Says(
        EventReason.CANNOT_UPDATE_MANAGED, "cannot update managed resource annotations", creating()
    )
    PUBLISH_CREATED = Says(EventReason.CANNOT_PUBLISH, "cannot publish connection details", creating())
    LATE_INITIALIZE = Says(EventReason.CANNOT_UPDATE_MANAGED, "cannot update managed resource")
    UPDATE = Says(EventReason.CANNOT_UPDATE, "update failed")
    DISCONNECT = Says(EventReason.CANNOT_DISCONNECT, "disconnect failed")
    REPORT = Says(EventReason.CANNOT_UPDATE_MANAGED, "cannot update managed resource status")


_DECLARED: Final = (ExternalError, NotYet, UnsupportedPolicies, MalformedAnnotation, KubeError)
"""What a step may raise; anything else is a bug."""


class StepFailed(Exception):  # noqa: N818 - says what happened
    """A step raised: `cause` is what it raised, the other attributes are how it is reported and retried."""

    def __init__(self, failed: Step, cause: Exception) -> None:
        super().__init__(f"{failed.name}: {cause}")
        self.step = failed
        self.cause = cause
        self.bug = not isinstance(cause, _DECLARED)
        """Its text is only logged."""
        words = f"unexpected {type(cause).__name__}; see the provider's log for details"
        self.message = _said(failed.value, words if self.bug else str(cause))
        self.conditions = self._conditions()

    @property
    def retry(self) -> Retry:
        """When the reconcile is retried."""
        match self.cause:
            case ExternalError() as error:
                return error.retry
            case UnsupportedPolicies() | MalformedAnnotation():
                return Retry.never()
            case KubeError():
                return Retry.real_backoff()
            case _:
                return Retry.backoff()

    @property
    def status(self) -> Mapping[str, Any]:
        """The fields of status that the cause sets."""
        return self.cause.status if isinstance(self.cause, ExternalError) else {}

    def _conditions(self) -> tuple[Condition, ...]:
        ready = (self.step.value.ready,) if self.step.value.ready else ()
        more = self.cause.conditions if isinstance(self.cause, ExternalError) else ()
        return (*ready, *more, *((unforeseen(self.message),) if self.bug else ()))


class step:  # noqa: N801 - reads as a statement: `with step(Step.OBSERVE):`
    """Turns any exception of its block into StepFailed; never suppresses one."""

    def __init__(self, which: Step) -> None:
        self._which = which

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, StepFailed):
            raise StepFailed(self._which, error) from error


def outcome_of(retry: Retry, poll_seconds: float) -> Outcome:
    """The outcome of a failed step."""
    if retry.mode is RetryMode.REAL_BACKOFF:
        return Outcome(Next.REAL_BACKOFF, failed=True)
    if retry.mode is RetryMode.BACKOFF:
        return Outcome(Next.BACKOFF, failed=True)
    if retry.mode is RetryMode.NEVER:
        return Outcome(Next.NEVER, failed=True)
    seconds = retry.seconds if retry.mode is RetryMode.AFTER else poll_seconds
    return Outcome(Next.AFTER, seconds, failed=True)


def _said(says: Says, cause: str) -> str:
    return f"{says.words}: {cause}" if says.words else cause
