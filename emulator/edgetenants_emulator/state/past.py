"""The former state for reads that lag: tenants before a change or a delete, former tags, new domains.

It is kept only if the setting is above 0, and only for that time. It is not part of a saved state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from edgetenants_emulator.state.records import Tenant

__all__ = ["Past"]


@dataclass
class Past:
    """The former state, guarded by the world's lock. Times are virtual seconds."""

    versions: dict[str, list[tuple[float, Tenant]]] = field(default_factory=dict)
    """Former versions by tenant id, with the time of their end, the oldest first."""
    deleted: list[tuple[float, Tenant]] = field(default_factory=list)
    """Deleted tenants, with the time of their deletion."""
    tags: dict[str, list[tuple[float, dict[str, str]]]] = field(default_factory=dict)
    """Former tags by ARN, with the time of their end, the oldest first."""
    held_since: dict[str, float] = field(default_factory=dict)
    """The time since when the holder has a domain, by domain."""

    def changes(self, tenant: Tenant, now: float, lag: float) -> None:
        """Keep the current version of a tenant before a change."""
        kept = [each for each in self.versions.get(tenant.id, ()) if each[0] + lag > now]
        self.versions[tenant.id] = [*kept, (now, _copy(tenant))]

    def deletes(self, tenant: Tenant, now: float, lag: float) -> None:
        """Keep a tenant when it is deleted."""
        self.versions.pop(tenant.id, None)
        self.deleted = [*(each for each in self.deleted if each[0] + lag > now), (now, _copy(tenant))]

    def retags(self, arn: str, tags: dict[str, str], now: float, lag: float) -> None:
        """Keep the current tags before a change."""
        kept = [each for each in self.tags.get(arn, ()) if each[0] + lag > now]
        self.tags[arn] = [*kept, (now, tags)]

    def listed(self, account: str, live: Iterable[Tenant], at: float, deleted_after: float) -> list[Tenant]:
        """An account's tenants as they were at the time `at`, with those deleted after `deleted_after`."""
        gone = [each for when, each in self.deleted if when > deleted_after and each.account == account]
        if not gone and not self.versions:
            return list(live)
        shown = [self._version(tenant, at) for tenant in live]
        return sorted([*shown, *gone], key=lambda tenant: tenant.number)

    def tags_at(self, arn: str, tags: dict[str, str], at: float) -> dict[str, str]:
        """The tags of a resource at a time; `tags` are its current ones."""
        return next((former for until, former in self.tags.get(arn, ()) if until > at), tags)

    def _version(self, tenant: Tenant, at: float) -> Tenant:
        former = self.versions.get(tenant.id)
        if not former:
            return tenant
        return next((version for until, version in former if until > at), tenant)


def _copy(tenant: Tenant) -> Tenant:
    # A change replaces other members, but may modify the statuses of domains in place.
    return replace(tenant, domains=dict(tenant.domains))
