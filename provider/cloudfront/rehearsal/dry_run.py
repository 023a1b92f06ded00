"""A managed resource with the annotation edgetenants.io/dry-run: status.plannedActions shows what the
provider would do, and the provider does nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.external import Change, ExternalClient, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import permissions
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.safety.guards import DRY_RUN_ANNOTATION, check_frozen

__all__ = ["DryRunClient"]


class DryRunClient:
    """Implements edgetenants_runtime.external.ExternalClient: observes, rehearses, and does nothing."""

    def __init__(self, watching: ExternalClient, acting: ExternalClient, recorded: Recorder) -> None:
        """`watching` may not write, and its conditions say so; `acting` writes into `recorded`."""
        self._watching, self._acting, self._recorded = watching, acting, recorded

    def observe(self, mr: Managed) -> Observation:
        """Observe the external resource, and plan what the provider would do."""
        seen = self._watching.observe(mr)
        planned = rehearse(self._acting, mr, self._recorded).to_status()
        seen = replace(seen, status={**seen.status, "plannedActions": planned or None})
        return _uncreated(mr, seen) if _would_create(mr, seen) else seen

    def create(self, mr: Managed, seen: Observation) -> Change:
        """Refuse."""
        del seen
        _held(mr)

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Refuse."""
        del seen
        _held(mr)

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Refuse."""
        del seen
        _held(mr)


def _would_create(mr: Managed, seen: Observation) -> bool:
    may = permissions(mr.management_policies, mr.deletion_policy)
    return not seen.exists and may.create and not mr.deleted


def _uncreated(mr: Managed, seen: Observation) -> Observation:
    # Report that it exists: otherwise each reconcile would start a creation, which writes annotations.
    words = (
        f"The annotation {DRY_RUN_ANNOTATION} is set: tenant {mr.external_name} is not created. To create "
        "it, remove the annotation."
    )
    return replace(seen, exists=True, conditions=(*seen.conditions, not_ready(Reason.FROZEN, words)))


def _held(mr: Managed) -> NoReturn:
    check_frozen(mr, f"the annotation {DRY_RUN_ANNOTATION} is set")
    raise AssertionError("unreachable: what is frozen is held")
