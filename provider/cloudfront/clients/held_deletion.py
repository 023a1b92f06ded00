"""What the provider still does to a tenant whose deletion is on hold: it follows `enabled` of the spec.

An emergency, and the end of one, do not wait for the confirmation of the deletion. Drift stays: two clients
would write in turn, and an administrator may stop in AWS what the spec leaves enabled. The record of the last
write (status.applied) tells a change of the spec from drift. Other fields of the spec may be invalid
(docs/decisions/0048).

    spec changed ──▶ record opened ──▶ switched ──▶ record closed: from now on, a difference is drift

To disable a tenant for its deletion opens the record too, in case the deletion is put on hold after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import structlog

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, run
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import guards
from provider.cloudfront.safety.dependencies import Dependencies
from provider.cloudfront.state import applied as records
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant import plan
from provider.cloudfront.tenant.actions import SwitchTenant

__all__ = ["FIELD", "HeldDeletion"]

FIELD: Final = "enabled"
"""The field of the spec that the provider follows."""
_RECORDED_SECONDS: Final = 1.0
"""Until the tenant is disabled or enabled whose record was just opened for that."""
_log = structlog.get_logger("provider.cloudfront.tenant")


class HeldDeletion:
    """Disables and enables tenants whose deletion is on hold."""

    def __init__(self, deps: Dependencies) -> None:
        self._account, self._cluster, self._policy = deps.account, deps.cluster, deps.policy
        self._memory = deps.account.memory

    def follows(self, mr: Managed, there: ObservedTenant) -> bool:
        """Whether the spec asks for a change that does not wait for the end of the hold."""
        only_confirmation = guards.waits_for_confirmation(mr, self._policy.frozen)
        return only_confirmation and self._switch(mr, there) is not None

    def follow(self, mr: Managed, looked: Looked[ObservedTenant], held: NotYet) -> NotYet:
        """Disable or enable the tenant if a change of its spec asks for that.

        Args:
            mr: a managed resource whose deletion is on hold.
            looked: its tenant.
            held: the error that says why the deletion is on hold.

        Returns:
            The error to raise. Its message begins with that of `held`.
        """
        switch = self._switch(mr, looked.seen)
        try:
            if switch is None or not owner_look.before_deletion(mr, looked, self._account, self._cluster):
                return held
        except (ExternalError, NotYet) as error:
            # It must not hide why the deletion is on hold.
            words = f"{held.message}. {_not_switched(looked.seen)}: {error.message}"
            return (
                guards.still_held(words, error.after) if isinstance(error, NotYet) else self._later(mr, words)
            )
        if self._policy.rehearsing or records.read(mr.status).is_open(FIELD):
            return self._switched(mr, looked.seen, switch, held)
        # Recorded first. The spec may change back before the result is recorded, and that is not drift.
        record = records.opened(mr.status, FIELD)
        return guards.still_held(held.message, _RECORDED_SECONDS, status={"applied": record})

    def first_record(self, mr: Managed, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record, if there was none to compare the spec with: whatever differs in AWS is drift.

        Args:
            mr: a managed resource whose deletion is on hold.
            status: the fields that its status gets, compared with its whole spec.
        """
        if records.read(mr.status).digests is not None or not status.get("applied"):
            return {}
        return {"applied": records.closed(status, FIELD, mr.for_provider.get(FIELD))}

    def without_comparison(self, mr: Managed, there: ObservedTenant) -> Mapping[str, Any]:
        """The status fields if the tenant cannot be compared with its whole spec: the record must say it if
        they agree in the field, for the next change of the spec."""
        applied, enabled = records.read(mr.status), mr.for_provider.get(FIELD)
        agree = enabled in (None, there.enabled)
        if not applied.known or not (agree or applied.digests is None):
            return {}
        return {"applied": records.closed(mr.status, FIELD, enabled)}

    def begun(self, mr: Managed) -> Mapping[str, Any]:
        """The status fields once the provider has disabled a tenant in order to delete it. If the deletion is
        put on hold after that, the tenant is enabled again, unless its spec disables it."""
        if not records.read(mr.status).known:
            return {}
        return {"applied": records.opened(mr.status, FIELD)}

    def _switch(self, mr: Managed, there: ObservedTenant) -> SwitchTenant | None:
        enabled, applied = mr.for_provider.get(FIELD), records.read(mr.status)
        ignored = FIELD in (mr.spec.get("ignoreDrift") or ())
        if ignored or applied.digests is None or not judgement.updates(mr):
            return None
        if enabled is None and not there.enabled and applied.is_open(FIELD):
            # Only a disabling for the deletion opens the record of a field that the spec does not set.
            enabled = True
        if enabled in (None, there.enabled) or applied.wrote(FIELD, enabled):
            return None
        return plan.switch(there, enabled=bool(enabled), said=self._memory.accepted.of(mr.kind))

    def _switched(self, mr: Managed, there: ObservedTenant, switch: SwitchTenant, held: NotYet) -> NotYet:
        effects = run((switch,), there, self._account.cloudfront)
        if self._policy.rehearsing:
            return held
        self._memory.accepted.note(mr.kind, effects.said)
        if effects.error:
            words = f"{held.message}. {_unswitched(effects.error, there)}"
            is_clear = effects.error.made_nothing and not effects.error.conflict
            return guards.still_held(words, held.after) if is_clear else self._later(mr, words)
        if effects.there.enabled is not switch.enabled:
            words = f"{_not_switched(there)} yet, although CloudFront accepted that"
            return self._later(mr, f"{held.message}. {words}")
        _log.info(f"{effects.message}, whose deletion is on hold", tenant=there.name)
        record = records.closed(mr.status, FIELD, mr.for_provider.get(FIELD))
        words = (
            f"{held.message}. While the deletion is on hold, the tenant follows its spec: {effects.message}"
        )
        return guards.still_held(words, LOOK_AGAIN, status={"applied": record})

    def _later(self, mr: Managed, words: str) -> NotYet:
        """The error before the next try. The pauses grow to a minute until the spec changes again."""
        return guards.still_held(words, self._memory.switches.pause(mr.uid, mr.generation, LOOK_AGAIN))


def _not_switched(there: ObservedTenant) -> str:
    return f"The tenant is not {'disabled' if there.enabled else 'enabled'}"


def _unswitched(error: AwsError, there: ObservedTenant) -> str:
    if error.made_nothing:
        return f"{_not_switched(there)}: {error}"
    return f"It is not known whether the tenant is {'disabled' if there.enabled else 'enabled'}: {error}"
