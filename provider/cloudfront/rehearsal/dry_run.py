"""A managed resource under the annotation edgetenants.io/dry-run: what would be done stands in
status.plannedActions, and nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.external import Change, ExternalClient, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import permissions
from provider.cloudfront.aws.errors import not_ready
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.safety.guards import DRY_RUN_ANNOTATION, check_frozen

__all__ = ["DryRunClient"]


class DryRunClient:
    """Implements edgetenants_runtime.external.ExternalClient: observes, rehearses, and does nothing."""

    def __init__(self, watching: ExternalClient, acting: ExternalClient, recorded: Recorder) -> None:
        """`watching` may not write and says so in its conditions; `acting` writes into `recorded`."""
        self._watching, self._acting, self._recorded = watching, acting, recorded

    def observe(self, mr: Managed) -> Observation:
        """See what is there, and what would be done."""
        seen = self._watching.observe(mr)
        planned = rehearse(self._acting, mr, self._recorded).to_status()
        seen = replace(seen, status={**seen.status, "plannedActions": planned or None})
        return _uncreated(mr, seen) if _would_create(mr, seen) else seen

    def create(self, mr: Managed, seen: Observation) -> Change:
        """Not done."""
        del seen
        _held(mr)

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Not done."""
        del seen
        _held(mr)

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Not done."""
        del seen
        _held(mr)


def _would_create(mr: Managed, seen: Observation) -> bool:
    may = permissions(mr.management_policies, mr.deletion_policy)
    return not seen.exists and may.create and not mr.deleted


def _uncreated(mr: Managed, seen: Observation) -> Observation:
    # Said to exist: else the runtime would begin a creation at each look, which writes annotations.
    words = (
        f"The annotation {DRY_RUN_ANNOTATION} is set: tenant {mr.external_name} is not created. Remove it to "
        "have that done."
    )
    return replace(seen, exists=True, conditions=(*seen.conditions, not_ready(Reason.FROZEN, words)))


def _held(mr: Managed) -> NoReturn:
    check_frozen(mr, f"the annotation {DRY_RUN_ANNOTATION} is set")
    raise AssertionError("unreachable: what is frozen is held")
