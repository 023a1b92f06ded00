"""Reads a tenant's connection group, and checks whether DNS leads the tenant's domains to it, with CloudFront
and in public DNS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from apis.conditions import TenantConditionType
from apis.dns import DnsInstruction, RecordState
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import checking
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_instructions import Found, State, key_of
from provider.cloudfront.domain.public_look import OFF, PublicDns, both, found_in
from provider.cloudfront.memory import group_look
from provider.cloudfront.memory.group_look import GroupLook
from provider.cloudfront.memory.group_states import GroupStates
from provider.cloudfront.memory.schedules import DnsTurns
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.look_requested import is_requested
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["DnsLook", "Records", "unseen"]

_log = structlog.get_logger("provider.cloudfront.dnslook")

_WAITED_FOR: Final = 300.0
_MISSING: Final = 3600.0


@dataclass(frozen=True)
class Records:
    """The records of a tenant."""

    state: State = dns_instructions.UNKNOWN
    """The last known state of each record."""
    found: Found = dns_instructions.NOTHING
    """What is wrong with each record, as far as public DNS says."""
    unseen: str = ""
    """Why the provider may not check them; see dns_instructions.unseen."""
    fresh: bool = False
    """CloudFront has just said it."""


_NO_RECORDS: Final = Records()


def unseen(group: GroupLook, records: Records = _NO_RECORDS) -> str:
    """The message about what the provider may not read; empty if there is nothing to report."""
    if group.refused and group.endpoint is None:
        return dns_instructions.nowhere(group.refused)
    return records.unseen


@dataclass(frozen=True)
class DnsLook:
    """Reads connection groups and checks DNS. A failure does not stop the reconcile: the provider logs it,
    and shows a missing permission in the condition DNSReady."""

    cloudfront: CloudFront
    groups: GroupStates
    turns: DnsTurns
    config: str = ""
    """The provider config whose credentials are used."""
    public: PublicDns = OFF

    def group(self, mr: Managed, group: str | None) -> GroupLook:
        """The connection group of a tenant. If the tenant names none, it is the account's default group, with
        the routing endpoint only."""
        look = self.groups.get(group or "", self._read, config=self.config)
        if group is None:
            return GroupLook(endpoint=look.endpoint, refused=look.refused)
        same = mr.at_provider.get("connectionGroupId") == group
        known = mr.at_provider.get("routingEndpoint") if same else None
        return replace(look, endpoint=look.endpoint or known)

    def records(
        self, mr: Managed, seen: ObservedTenant, wanted: Sequence[DnsInstruction], *, moving: bool
    ) -> Records:
        """The states of the `wanted` records: from CloudFront and from public DNS if a check is due, else
        from the stored status. A tenant that is `moving`, as an update is written or due, is not checked.

        The provider checks when the tenant is rolled out, then every five minutes while a domain is not
        served, or as often as a fifth of the allowed call rate permits. Otherwise it checks every ten
        minutes, or as often as a tenth of the rate permits, but at least every hour while a record is not
        present. On request, it checks at once.
        """
        stored = self._stored(mr)
        if moving or not seen.deployed or not self._due(mr, seen, refused=bool(stored.unseen)):
            return stored
        return self._look(mr, wanted, self._told(seen, stored), caa=bool(seen.inactive_domains))

    def of_absent(self, mr: Managed, wanted: Sequence[DnsInstruction]) -> Records:
        """The states of the records that a tenant will need: from public DNS if a look is due, else from the
        stored status. CloudFront checks no records of a tenant that it does not have."""
        if self.public.is_off:
            return _NO_RECORDS
        stored = self._stored(mr)
        if not wanted or not self.public.is_due(mr.uid, at_once=is_requested(mr)):
            return stored
        return self._look(mr, wanted, stored, caa=True)

    def _stored(self, mr: Managed) -> Records:
        found = dns_instructions.NOTHING if self.public.is_off else dns_instructions.stored_found(mr.status)
        return Records(dns_instructions.stored(mr.status), found, _unseen(mr))

    def _told(self, seen: ObservedTenant, stored: Records) -> Records:
        try:
            with checking():
                told = dns_instructions.told(self.cloudfront.verify_dns(seen.id))
        except AwsError as error:
            _log.warning("cannot verify DNS", tenant=seen.name, error=str(error))
            return replace(stored, unseen=dns_instructions.unseen(error)) if error.not_permitted else stored
        return replace(stored, state=told, unseen="", fresh=True)

    def _look(self, mr: Managed, wanted: Sequence[DnsInstruction], told: Records, *, caa: bool) -> Records:
        """What CloudFront told, with what public DNS says."""
        known = [record.model_copy(update={"state": told.state(record)}) for record in wanted]
        findings = self.public.look(namespace_of(mr), known, caa=caa)
        state = both(findings, told.state, fresh=told.fresh)
        seen = (findings.get(key_of(record)) for record in wanted)
        is_known = bool(wanted) and all(each and each.state is not RecordState.UNKNOWN for each in seen)
        unseen = "" if is_known else told.unseen
        return replace(told, state=state, found=found_in(findings, told.found, state), unseen=unseen)

    def _due(self, mr: Managed, seen: ObservedTenant, *, refused: bool) -> bool:
        instructions = dns_instructions.of_cloudfront(mr.status)
        # A refusal is an answer too: after a restart, the provider need not ask for all tenants at once.
        never = not refused and all(item.get("state") == "Unknown" for item in instructions)
        if is_requested(mr):
            self.turns.checked(mr.uid)
            return True
        if seen.inactive_domains:
            return self.turns.is_due_every(mr.uid, _WAITED_FOR, never=never)
        longest = self.turns.longest if dns_instructions.all_present(mr.status) else _MISSING
        return self.turns.is_due(mr.uid, longest, never=never)

    def _read(self, group: str) -> GroupLook:
        try:
            seen = self.cloudfront.get_group(group) if group else self.cloudfront.default_group()
        except AwsError as error:
            _log.warning("cannot read the connection group", connection_group=group, error=str(error))
            raise
        if seen is None:
            return group_look.UNKNOWN
        look = group_look.of(seen)
        if seen.id != group:
            # Tenants refer to it by its id.
            self.groups.note(seen.id, look)
        return look


def _unseen(mr: Managed) -> str:
    said = mr.condition(TenantConditionType.DNS_READY)
    return dns_instructions.stored_unseen(said.message) if said else ""
