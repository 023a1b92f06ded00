"""Looking at where a tenant's domains must lead, and whether they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog

from edgetenants_runtime.managed import Managed
from provider.cloudfront import dnsinstructions
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.dnsinstructions import State
from provider.cloudfront.errors import AwsError
from provider.cloudfront.memory import DEEP_CHECK_SECONDS, Memory
from provider.cloudfront.observed import ObservedTenant

__all__ = ["DnsLook"]

_log = structlog.get_logger("provider.cloudfront.dnslook")

_WAITED_FOR: Final = 300.0
_MISSING: Final = 3600.0


@dataclass(frozen=True)
class DnsLook:
    """What a failure to look is told to is the log: a tenant is managed all the same."""

    cloudfront: CloudFront
    memory: Memory

    def endpoint(self, mr: Managed, group: str | None) -> str | None:
        """The routing endpoint of a connection group, of the account's default one without; None while that
        cannot be told."""
        known = mr.at_provider.get("routingEndpoint")
        same = group is not None and mr.at_provider.get("connectionGroupId") == group
        return self.memory.endpoint(group or "", self._read) or (known if same else None)

    def states(self, mr: Managed, seen: ObservedTenant) -> State:
        """Whether the records are in place: by CloudFront where a look is due, else as written down.

        Looked at when the tenant is rolled out, then every five minutes while a domain is not served, every
        hour while a record is not in place, else once a day.
        """
        stored = dnsinstructions.stored(mr.status)
        if not seen.deployed or not self._due(mr, seen):
            return stored
        try:
            return dnsinstructions.told(self.cloudfront.verify_dns(seen.id))
        except AwsError as error:
            _log.warning("cannot verify the DNS", tenant=seen.name, error=str(error))
            return stored

    def _due(self, mr: Managed, seen: ObservedTenant) -> bool:
        instructions = mr.status.get("dnsInstructions") or ()
        never = all(item.get("state") == "Unknown" for item in instructions)
        every = _WAITED_FOR if seen.inactive_domains else _MISSING
        if not seen.inactive_domains and dnsinstructions.all_present(mr.status):
            every = DEEP_CHECK_SECONDS
        return self.memory.verification_due(mr.uid, every, never=never)

    def _read(self, group: str) -> str | None:
        try:
            if group:
                return self.cloudfront.get_group(group).routing_endpoint
            default = self.cloudfront.default_group()
        except AwsError as error:
            _log.warning("cannot read the routing endpoint", connection_group=group, error=str(error))
            return None
        if default is None:
            return None
        # Its tenants name it by its id.
        self.memory.note_endpoint(default.id, default.routing_endpoint)
        return default.routing_endpoint
