"""The complete state of CloudFront for all accounts, with one lock."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.errors import ErrorCode
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.past import Past
from edgetenants_emulator.state.records import (
    AnycastIpList,
    ConnectionGroup,
    Distribution,
    ManagedCertificate,
    Resource,
    Session,
    Shelf,
    Tenant,
)
from edgetenants_emulator.zones.authority import Answer, Code
from edgetenants_emulator.zones.record_book import RecordBook
from edgetenants_emulator.zones.zone_changes import ChangeBook

__all__ = ["DEFAULT_ACCOUNT", "World"]

DEFAULT_ACCOUNT = "123456789012"
"""The account of unknown credentials."""


@dataclass
class World:
    """State, clock and settings. Reads and writes of the shelves require `lock`."""

    clock: VirtualClock
    settings: Settings = field(default_factory=Settings)
    lock: threading.RLock = field(default_factory=threading.RLock)
    distributions: Shelf[Distribution] = field(default_factory=Shelf)
    groups: Shelf[ConnectionGroup] = field(default_factory=Shelf)
    tenants: Shelf[Tenant] = field(default_factory=Shelf)
    anycast_lists: Shelf[AnycastIpList] = field(default_factory=Shelf)
    domains: dict[str, str] = field(default_factory=dict)
    """The holder's ARN by domain in lower case, in one namespace for all accounts."""
    book: RecordBook = field(default_factory=RecordBook)
    """DNS records in zones outside Route 53."""
    zone_changes: ChangeBook = field(default_factory=ChangeBook)
    """The changes of Route 53's hosted zones."""
    lookup: Callable[[str, str], Answer] = field(default=lambda *_: Answer(Code.REFUSED))
    """The DNS answer that CloudFront and ACM see for a name and a type; refused until a resolver is set."""
    dns_generation: Callable[[], tuple[int, ...]] = field(default=tuple)
    """Changes whenever the answers of `lookup` may have changed."""
    pending_certificates: list[ManagedCertificate] = field(default_factory=list)
    """Certificates that wait for validation, including those of deleted tenants."""
    certificate_dues: dict[str, ManagedCertificate] = field(default_factory=dict)
    """Issued certificates by ARN, including those of deleted tenants."""
    next_certificate_due: float = float("inf")
    """When the next of these certificates is due, in virtual seconds."""
    sessions: dict[str, Session] = field(default_factory=dict)
    """The sessions of roles that STS started, by access key."""
    past: Past = field(default_factory=Past)
    """The former state for reads that lag."""
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret
    """The random generator for durations, the same in every run."""

    def may_delete(self, resource: Resource) -> bool:
        """Whether a resource is disabled and, if the settings require it, Deployed."""
        at_every_edge = self.clock.now() >= resource.deployed_at + self.settings.delete_lag_seconds
        return not resource.enabled and (at_every_edge or not self.settings.delete_needs_deployed)

    def delete_error(self, resource: Resource, not_disabled: ErrorCode) -> str:
        """The error code for a resource that may not be deleted; `not_disabled` is the one for an enabled
        one."""
        in_progress = self.settings.delete_in_progress_error
        if resource.enabled or in_progress == ErrorCode.RESOURCE_NOT_DISABLED:
            return not_disabled
        return in_progress

    def knows_holder(self, domain: str) -> bool:
        """Whether a lookup by domain already finds its holder."""
        lag = self.settings.domain_lookup_lag_seconds
        return lag == 0 or self.past.held_since.get(domain, -lag) + lag <= self.clock.now()

    def remember(self, tenant: Tenant) -> None:
        """Keep a tenant's version before a change, because lists may still show it."""
        lag = self.settings.list_lag_of_updates_seconds
        if lag > 0:
            self.past.changes(tenant, self.clock.now(), lag)
