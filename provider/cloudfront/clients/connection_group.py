"""The external client of ConnectionGroup: the steps that the skeleton (skeleton.py) leaves to the kind.

    deletion   wait for its tenants (group/use.py) ──▶ disable ──▶ delete; the default group stays in AWS
                 └── a successor has the same owner tag ──▶ the group stays in AWS for it

The provider does not disable a group that has tenants: CloudFront would stop serving them. Tenants of other
namespaces may stay forever. So that they do not block a ConnectionGroup that was deleted and created again,
the new one takes the group over as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import structlog

from apis.conditions import TenantReadyReason
from edgetenants_runtime.api.conditions import ConditionType, ReadyReason
from edgetenants_runtime.external import Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import to_external_error
from provider.cloudfront.clients.skeleton import Kind, Skeleton
from provider.cloudfront.group import parts, plan, report, use
from provider.cloudfront.group.actions import CreateGroup
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, Action, run
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.memory import group_look
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import guards
from provider.cloudfront.safety.dependencies import Dependencies
from provider.cloudfront.state import group
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.state.identity import noun

__all__ = ["GroupClient"]

_log = structlog.get_logger("provider.cloudfront.connectiongroup")

_IN_USE: Final = frozenset({"CannotDeleteEntityWhileInUse", "ResourceInUse"})
_BEGUN: Final = frozenset({TenantReadyReason.DISABLING, ReadyReason.DELETING})
_ITS_TENANTS: Final = "for its tenants to be deleted or moved"
_KIND: Final = Kind[Group, ObservedGroup](
    get=lambda cloudfront: cloudfront.get_group,
    from_for_provider=group.from_for_provider,
    at_creation=group.at_creation,
    create=CreateGroup,
    remove=plan.remove,
    absent=report.absent,
    log=_log,
)


class GroupClient(Skeleton[Group, ObservedGroup, GroupState]):
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, deps: Dependencies) -> None:
        super().__init__(deps, _KIND)

    # Observe.

    def _own(self, mr: Managed, seen: ObservedGroup) -> Looked[ObservedGroup] | None:
        self._memory.groups.note(seen.id, group_look.of(seen))
        # The default group belongs to the account, and CloudFront does not allow its deletion.
        leaves = mr.deleted and (seen.is_default or self._taken_over(mr, seen))
        return None if leaves else super()._own(mr, seen)

    def _taken_over(self, mr: Managed, seen: ObservedGroup) -> bool:
        if not owner_look.is_taken_over(mr, seen, self._memory.proofs, self._cluster.peers):
            return False
        _log.info("a successor takes over the connection group", connection_group=seen.name, id=seen.id)
        return True

    def _leaving(self, mr: Managed, owned: Looked[ObservedGroup]) -> Observation:
        seen = super()._leaving(mr, owned)
        if seen.at_provider is None or not self._disabled_to_delete(mr, owned.seen):
            return seen
        # A new process learns from the status that the provider disabled the group: see _disabled_here.
        return replace(seen, at_provider={**seen.at_provider, "enabled": True})

    def _observation(self, mr: Managed, state: GroupState) -> Observation:
        if not use.disables(state):
            # If the spec disabled the group and undid that, a later disabling needs both checks again.
            self._memory.unused.start_over(mr.uid)
        return super()._observation(mr, state)

    # Desired state.

    def _held(self, mr: Managed, asked: Group, seen: ObservedGroup) -> Group:
        if seen.is_default:
            guards.check_default_group(mr, disables=seen.enabled and asked.enabled is False)
        return asked

    def _compare(self, mr: Managed, asked: Group, seen: ObservedGroup) -> GroupState:
        return plan.assess(mr, asked, seen, self._policy.drift_policy)

    def _show(
        self, mr: Managed, state: GroupState, *, served: bool, written: bool, ineffective: bool
    ) -> Shown:
        frozen = self._policy.frozen
        return report.show(state, served=served, written=written, ineffective=ineffective, frozen=frozen)

    # Update.

    def _check_taking(self, mr: Managed, seen: ObservedGroup) -> None:
        super()._check_taking(mr, seen)
        use.check_taking(mr, seen, self._account, self._cluster)

    def _before_writing(self, mr: Managed, state: GroupState) -> None:
        super()._before_writing(mr, state)
        use.check_change(mr, state, self._account, self._cluster)

    def _plan(self, state: GroupState) -> tuple[Action, ...]:
        return plan.converge(state.todo, state.seen)

    def _parts(self, mr: Managed, state: GroupState) -> Iterable[GroupState]:
        return (replace(state, todo=part) for part in parts.of(state.todo, state.seen))

    # Delete.

    def _check_unused(self, mr: Managed, looked: Looked[ObservedGroup]) -> None:
        seen = looked.seen
        found = use.users(mr, seen, self._account, self._cluster)
        use.check_known(mr, seen, self._memory.unused, used=bool(found))
        if found:
            if self._disabled_here(mr, seen):
                owner_look.before_deletion(mr, looked, self._account, self._cluster)
            self._enable_again(mr, seen)
            self._offer(mr, seen)
            raise use.waiting(seen, f"{_ITS_TENANTS}: {found}", self._memory.used.next(mr.uid))
        if not self._memory.proofs.withdraw(seen.id, mr.uid, self._peers(mr, seen)):
            # Not the pauses of its tenants, which may have grown: the successor is usually quick.
            seconds = self._memory.deletions.pause(mr.uid, (seen.id, "successor"), LOOK_AGAIN)
            raise use.waiting(seen, "for the ConnectionGroup that takes it over", seconds)

    def _offer(self, mr: Managed, seen: ObservedGroup) -> None:
        """Offer a group whose tenants stay to a ConnectionGroup with the same owner tag. While its own
        tenants are being deleted, the group may soon be deleted too."""
        if not use.has_leaving(mr, seen, self._cluster.everyone):
            self._memory.proofs.offer(seen.id, mr.uid, self._peers(mr, seen))

    def _peers(self, mr: Managed, seen: ObservedGroup) -> frozenset[str]:
        return frozenset(peer.uid for peer in self._cluster.peers(mr, judgement.names(seen)))

    def _enable_again(self, mr: Managed, seen: ObservedGroup) -> None:
        """Enable the group again at once if a tenant has appeared in it since the provider disabled it."""
        if not self._disabled_here(mr, seen):
            return
        _log.warning("enabling the connection group again because it has tenants", connection_group=seen.name)
        actions = plan.enable_again(seen, self._memory.accepted.of(mr.kind))
        if error := run(actions, seen, self._cloudfront).error:
            what, still = f"enable connection group {seen.name} again", conditions.removing(noun(mr), seen)
            raise to_external_error(error, what, serving=False, meanwhile=still) from error

    def _disabled_here(self, mr: Managed, seen: ObservedGroup) -> bool:
        """The provider disabled it for its deletion: this process did, or the stored status says enabled."""
        there = mr.at_provider.get("id") == seen.id and mr.at_provider.get("enabled") is True
        return not seen.enabled and (there or self._memory.disablings.by(mr.uid, seen.id))

    def _disabled_to_delete(self, mr: Managed, seen: ObservedGroup) -> bool:
        """Whether the provider disabled it before its deletion was put on hold. Otherwise someone else did:
        then the group has another ETag than in status."""
        ready, last = mr.condition(ConditionType.READY), mr.at_provider.get("etag")
        began = ready is not None and ready.reason in _BEGUN
        known = began or last == seen.etag or self._memory.disablings.by(mr.uid, seen.id)
        return known and self._disabled_here(mr, seen)

    def _check_refused_deletion(self, mr: Managed, seen: ObservedGroup, error: AwsError) -> None:
        if error.code in _IN_USE:
            self._memory.unused.start_over(mr.uid)
            self._enable_again(mr, seen)
            raise use.waiting(seen, _ITS_TENANTS, self._memory.used.next(mr.uid)) from error

    def _awaiting(self, mr: Managed, seen: ObservedGroup) -> str:
        return plan.waiting(seen)
