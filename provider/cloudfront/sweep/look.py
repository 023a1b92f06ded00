"""The looks of one reconcile at its tenant: a Get, or what the lists confirm.

The lists are enough for a tenant that is at rest, and for the end of a roll-out. They also show that a name
is free, before the first creation, and that a tenant is gone that this process deleted. Everything else takes
a Get: a reconcile that a user requested, the daily check, a poll interval of its own, and a change or the
deletion of a tenant that this process has not read itself. So does each tenant while the provider finds out
whether one that is gone is the only one (memory/vanishing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

from edgetenants_runtime.api.annotations import POLL_INTERVAL
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import permissions
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import checking
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.group_look import GroupLook
from provider.cloudfront.memory.schedules import share
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state import observed
from provider.cloudfront.state.look_requested import is_requested
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.inventory import Confirmed
from provider.cloudfront.sweep.sweeps import Swept
from provider.cloudfront.sweep.watching import Follower

__all__ = ["FOLLOWED", "TenantLook"]

_POLLS: Final = 10.0
_LONGEST: Final = 600.0
"""A watched resource is reconciled after this many poll intervals, at most this many seconds or one poll
interval, and when its DNS is to be checked: no list shows that."""
FOLLOWED: Final = 120.0
"""Seconds after which a resource in motion is reconciled if no list has shown what it waits for."""
_FIRST: Final = 1.0
_SPREAD: Final = 4.0
"""Seconds after which a resource asks again for the first list of a process: the first number, and a share of
the second one."""


class TenantLook:
    """The looks of one reconcile."""

    def __init__(self, swept: Swept | None, memory: AccountMemory, poll_seconds: float) -> None:
        """Without `swept`, each look is a Get."""
        self._swept, self._memory, self._poll_seconds = swept, memory, poll_seconds
        self._afresh = False
        self._gone = False
        self._is_first = False
        """A list shows that the name is free, and nothing was ever tried."""
        self.confirmed: Confirmed | None = None
        """What the last look found without a call; None if it took one."""

    def afresh(self) -> None:
        """The next looks are Gets."""
        self._afresh = True

    def get(
        self,
        mr: Managed,
        read: Callable[[str], ObservedTenant],
        differs: Callable[[ObservedTenant], bool],
    ) -> ObservedTenant:
        """Return the tenant with the external name of a managed resource. `read` gets it; `differs` returns
        whether it differs from the spec.

        Raises:
            AwsError: raised by `read`.
            NotYet: the first list of this process is about to come.
        """
        self.confirmed, self._gone = None, False
        if self._swept is None:
            return read(str(mr.external_name))
        self._swept.inventory.unwatch(_follower(mr))
        self._check_absent(mr, self._swept)
        if not self._needs_get(mr):
            found = self._listed(mr, self._swept)
            if found is not None and (found.whole or not differs(found.seen)):
                self.confirmed = found
                return found.seen
        return self._got(mr, read, self._swept)

    def read_others(self) -> None:
        """If this tenant has gone, perhaps with many others, have some of the others read."""
        if self._gone and self._swept is not None and self._is_deciding():
            self._swept.doubt()

    def watched_for(
        self, mr: Managed, seen: ObservedTenant, group: GroupLook, certificate: str | None = None
    ) -> float | None:
        """Have the sweeps watch a tenant at rest, whose connection group was observed as `group`, or which
        waits only for the pending `certificate` with that ARN. Return for how many seconds they do. None: it
        has to be polled."""
        if self._swept is None or POLL_INTERVAL in mr.annotations:
            return None
        longest = min(_POLLS * self._poll_seconds, _LONGEST, self._memory.dns_turns.left(mr.uid))
        seconds = max(self._poll_seconds, longest)
        shown = self._swept.inventory.watch(
            _follower(mr), seen, 2 * seconds, group_disabled=group.disabled, certificate=certificate
        )
        return seconds if shown else None

    def wrote(self, seen: ObservedTenant) -> None:
        """Note what AWS answered to a write."""
        if self._swept is not None:
            self._swept.inventory.wrote(replace(seen, tags=None))

    def moved(self, domains: Container[str]) -> None:
        """Note that domains were moved between tenants."""
        if self._swept is not None:
            self._swept.inventory.moved(domains)

    def exists(self, mr: Managed) -> bool:
        """Note that AWS refused to create a second tenant of that name. Return whether that was the first try
        of all to create one, so that nothing was made."""
        if self._swept is not None:
            self._swept.inventory.exists(str(mr.external_name))
        return self._is_first

    def follow(
        self,
        mr: Managed,
        seen: ObservedTenant,
        every: float,
        *,
        gone: bool = False,
        longest: float = FOLLOWED,
    ) -> float | None:
        """Have the sweeps watch a tenant that is being rolled out, or that is `gone`, as its deletion was
        accepted. Return for how many seconds they do, at most `longest`. None: it has to be polled, after
        `every` seconds."""
        if self._swept is None or POLL_INTERVAL in mr.annotations or self._afresh or self._is_deciding():
            return None
        followed = self._swept.follow(_follower(mr), seen, longest, every, gone=gone)
        return longest if followed else None

    def is_no_longer_pending(self, arn: str | None) -> bool:
        """Whether lists show that a certificate is not pending any more."""
        return self._swept is not None and self._swept.inventory.is_no_longer_pending(arn)

    def _check_absent(self, mr: Managed, swept: Swept) -> None:
        """Raise AwsError if a list shows that AWS does not have the tenant, and that is enough."""
        if mr.deleted:
            id_ = self._memory.known_id(mr.uid)
            deleted = bool(id_) and self._memory.vanished.was_removed(id_)
            absent = deleted and swept.inventory.has_gone(id_, str(mr.external_name))
        else:
            absent = _is_new(mr) and not is_requested(mr) and swept.inventory.lacks(str(mr.external_name))
            self._is_first = absent
        if absent:
            raise AwsError("ListDistributionTenants", "EntityNotFound", "no list shows the tenant")

    def _got(self, mr: Managed, read: Callable[[str], ObservedTenant], swept: Swept) -> ObservedTenant:
        asked = self._memory.clock.now()
        try:
            with checking() if self._memory.deep_checks.is_near(mr.uid) else nullcontext():
                seen = read(str(mr.external_name))
        except AwsError as error:
            if error.absent:
                self._gone = True
                swept.inventory.absent(str(mr.external_name), asked)
            raise
        swept.inventory.got(seen, asked)
        return seen

    def _needs_get(self, mr: Managed) -> bool:
        own = POLL_INTERVAL in mr.annotations or is_requested(mr) or self._memory.deep_checks.is_near(mr.uid)
        return self._afresh or own or self._is_deciding()

    def _is_deciding(self) -> bool:
        return self._memory.vanished.is_deciding(self._poll_seconds)

    def _listed(self, mr: Managed, swept: Swept) -> Confirmed | None:
        if swept.inventory.is_awaited and _is_at_rest(mr):
            words = "waiting for the first list of the account's tenants"
            raise NotYet(words, after=_FIRST + _SPREAD * share(mr.uid), quiet=True)
        name, remembered = str(mr.external_name), lambda row: _remembered(mr, row)
        return swept.inventory.confirmed(name, mr.generation, share(mr.uid), remembered)


def _follower(mr: Managed) -> Follower:
    return Follower(mr.uid, mr.api_version, mr.key)


def _is_new(mr: Managed) -> bool:
    """Whether nothing says that its tenant may exist, and it may create one. AWS refuses to create a second
    tenant of one name, so the creation finds what no list shows yet."""
    may_create = permissions(mr.management_policies, mr.deletion_policy).create
    return may_create and not mr.at_provider.get("id") and not judgement.may_exist(mr)


def _is_at_rest(mr: Managed) -> bool:
    """Whether nothing was left to do for this spec by the time of the last reconcile."""
    synced = mr.condition(ConditionType.SYNCED)
    if synced is None or synced.status is not ConditionStatus.TRUE or not mr.at_provider.get("etag"):
        return False
    return synced.observed_generation == mr.generation


def _remembered(mr: Managed, row: ObservedTenant) -> ObservedTenant | None:
    """The tenant, with the parameters that the status records for this ETag and spec. Anyone who may write
    the status may thereby hide a change from before this process, until the daily check."""
    told = mr.at_provider
    if mr.deleted or not _is_at_rest(mr) or (told.get("id"), told.get("etag")) != (row.id, row.etag):
        return None
    if told.get("customizations") != observed.at_provider(row, None).get("customizations"):
        return None
    parameters = told.get("parameters") or {}
    if not isinstance(parameters, Mapping) or not all(isinstance(each, str) for each in parameters.values()):
        return None
    return replace(row, parameters=dict(parameters))
