"""Reports changes that AWS does not have yet, and what delays them, so that no one takes them for finished.

    InSync        False with the cause, also if the provider could not read AWS since the spec changed
    Reconciling   True while Ready stays True: tools that use kstatus wait for it

A resource gets the condition Reconciling when a change first waits while the resource is Ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from apis.conditions import AS_IT_IS, NOT_DONE, InSyncReason, ReconcilingReason, TenantConditionType
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change, ExternalClient, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.status import without_request_id

__all__ = ["ProgressClient", "held_up", "unresolved", "waiting"]

Conditions = tuple[Condition, ...]

_UNSEEN: Final = "The spec has changed since the provider last read from AWS"
_GOING: Final = "A change waits to be sent to AWS or is being rolled out; InSync shows which."
_STABLE: Final = "No change is in progress."
_OWED: Final = frozenset({InSyncReason.UPDATE_PENDING, InSyncReason.DRIFT_DETECTED})
"""Reasons of InSync with which the provider has something to send."""


class ProgressClient:
    """An external client that reports changes until AWS has them."""

    def __init__(self, client: ExternalClient) -> None:
        self._client = client

    def observe(self, mr: Managed) -> Observation:
        """See ExternalClient."""
        with held_up(mr):
            seen = self._client.observe(mr)
        said = seen.conditions
        return replace(seen, conditions=(*said, *_reconciling(mr, said, settled=seen.up_to_date)))

    def create(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._client.create(mr, seen)

    def update(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        with held_up(mr, seen.conditions):
            change = self._client.update(mr, seen)
        said = change.conditions
        return replace(change, conditions=(*said, *_reconciling(mr, said, settled=False)))

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._client.delete(mr, seen)


@contextmanager
def held_up(mr: Managed, seen: Conditions = ()) -> Iterator[None]:
    """Report a failure in the block as the cause that delays a change, if there is one. `seen` are the
    conditions of an observation before it."""
    try:
        yield
    except (ExternalError, NotYet) as error:
        raise error.but(conditions=(*error.conditions, *waiting(mr, error.message, seen))) from error


def waiting(mr: Managed, cause: str, seen: Conditions = ()) -> Conditions:
    """The conditions of a change that waits, if there is one. `cause` says what it waits for; `seen` are the
    conditions of an observation before it."""
    if mr.deleted:
        return ()
    now = _last(seen, TenantConditionType.IN_SYNC)
    what = _owed(now) if now else _unsent(mr)
    if what is None:
        return ()
    reason, difference = what
    waits = Condition(
        type=TenantConditionType.IN_SYNC.value,
        status=ConditionStatus.FALSE,
        reason=reason,
        message=f"{difference}{NOT_DONE}{without_request_id(cause)}",
    )
    return (waits, *_reconciling(mr, (*seen, waits), settled=False))


def unresolved(mr: Managed, cause: str, told: Conditions) -> Conditions:
    """The conditions while a field of the resource waits for its reference, and AWS has everything else.
    Other differences are reported first."""
    now = _last(told, TenantConditionType.IN_SYNC)
    if now is None or now.status is not ConditionStatus.TRUE or mr.deleted:
        return ()
    kept = f"{now.message}. " if now.message else ""
    waits = Condition(
        type=TenantConditionType.IN_SYNC.value,
        status=ConditionStatus.FALSE,
        reason=InSyncReason.UPDATE_PENDING.value,
        message=f"{kept}{AS_IT_IS}{NOT_DONE}{without_request_id(cause)}",
    )
    return (waits, *_reconciling(mr, (*told, waits), settled=False))


def _owed(now: Condition) -> tuple[str, str] | None:
    """What an observation found to be sent: the reason, and the differences."""
    return (now.reason, now.message) if _is_false(now) and now.reason in _OWED else None


def _unsent(mr: Managed) -> tuple[str, str] | None:
    """The same if the provider could not read AWS: the last report, or a change of the spec since."""
    last = mr.condition(TenantConditionType.IN_SYNC)
    if last is None:
        return None
    told, mark, _ = last.message.partition(NOT_DONE)
    if _is_false(last) and last.reason in _OWED and mark and AS_IT_IS not in told:
        return last.reason, told
    looked_at = last.observed_generation
    if looked_at is not None and looked_at < mr.generation:
        return InSyncReason.UPDATE_PENDING.value, _UNSEEN
    return None


def _reconciling(mr: Managed, said: Conditions, *, settled: bool) -> Conditions:
    """The condition Reconciling. `settled`: there is nothing to send now."""
    in_sync = _last(said, TenantConditionType.IN_SYNC)
    known = mr.condition(TenantConditionType.RECONCILING) is not None
    if in_sync is None or mr.deleted:
        return ()
    if not _goes_on(mr, in_sync, settled=settled):
        return (_told(False, ReconcilingReason.STABLE, _STABLE),) if known else ()
    ready = _last(said, ConditionType.READY) or mr.condition(ConditionType.READY)
    serves = ready is not None and ready.status is ConditionStatus.TRUE
    return (_told(True, ReconcilingReason.UPDATING, _GOING),) if serves or known else ()


def _goes_on(mr: Managed, in_sync: Condition, *, settled: bool) -> bool:
    if not _is_false(in_sync) or not set(mr.management_policies) & {"*", "Update"}:
        return False
    if in_sync.reason == InSyncReason.DRIFT_DETECTED:
        # Drift is in progress only under driftPolicy Enforce; others do not correct it.
        return not settled
    return in_sync.reason in (InSyncReason.UPDATE_PENDING, InSyncReason.FROZEN)


def _told(going: bool, reason: ReconcilingReason, message: str) -> Condition:
    status = ConditionStatus.TRUE if going else ConditionStatus.FALSE
    type_ = TenantConditionType.RECONCILING.value
    return Condition(type=type_, status=status, reason=reason.value, message=message)


def _is_false(condition: Condition) -> bool:
    return condition.status is ConditionStatus.FALSE


def _last(said: Conditions, type_: str) -> Condition | None:
    return next((each for each in reversed(said) if each.type == type_), None)
