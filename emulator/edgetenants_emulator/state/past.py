"""What reads that lag still show: tenants as they were before a change or a delete, former tags, new domains.

Nothing is kept unless the setting for it is above 0, and only for so long. It is not a part of a saved state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from edgetenants_emulator.state.records import Tenant

__all__ = ["Past"]


@dataclass
class Past:
    """The world's lock guards it. Times are virtual seconds."""

    versions: dict[str, list[tuple[float, Tenant]]] = field(default_factory=dict)
    """By a tenant's id: until when it was like this, the oldest first."""
    deleted: list[tuple[float, Tenant]] = field(default_factory=list)
    """When it was deleted, and the tenant."""
    tags: dict[str, list[tuple[float, dict[str, str]]]] = field(default_factory=dict)
    """By ARN: until when the tags were these, the oldest first."""
    held_since: dict[str, float] = field(default_factory=dict)
    """By domain: since when its holder has it."""

    def changes(self, tenant: Tenant, now: float, lag: float) -> None:
        """Keep a tenant that is about to be changed."""
        kept = [each for each in self.versions.get(tenant.id, ()) if each[0] + lag > now]
        self.versions[tenant.id] = [*kept, (now, _copy(tenant))]

    def deletes(self, tenant: Tenant, now: float, lag: float) -> None:
        """Keep a tenant that is deleted now."""
        self.versions.pop(tenant.id, None)
        self.deleted = [*(each for each in self.deleted if each[0] + lag > now), (now, _copy(tenant))]

    def retags(self, arn: str, tags: dict[str, str], now: float, lag: float) -> None:
        """Keep the tags that are about to be changed."""
        kept = [each for each in self.tags.get(arn, ()) if each[0] + lag > now]
        self.tags[arn] = [*kept, (now, tags)]

    def listed(self, account: str, live: Iterable[Tenant], at: float, deleted_after: float) -> list[Tenant]:
        """An account's tenants as they were at a time, with those that were deleted after another."""
        gone = [each for when, each in self.deleted if when > deleted_after and each.account == account]
        if not gone and not self.versions:
            return list(live)
        shown = [self._version(tenant, at) for tenant in live]
        return sorted([*shown, *gone], key=lambda tenant: tenant.number)

    def tags_at(self, arn: str, tags: dict[str, str], at: float) -> dict[str, str]:
        """The tags of a time, of a resource that has these now."""
        return next((former for until, former in self.tags.get(arn, ()) if until > at), tags)

    def _version(self, tenant: Tenant, at: float) -> Tenant:
        former = self.versions.get(tenant.id)
        if not former:
            return tenant
        return next((version for until, version in former if until > at), tenant)


def _copy(tenant: Tenant) -> Tenant:
    # Other members are replaced by a change, the statuses of domains may be changed in place.
    return replace(tenant, domains=dict(tenant.domains))
