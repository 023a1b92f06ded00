"""The whole state of CloudFront, over all accounts, behind one lock."""

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
"""The account of credentials that nobody made known."""


@dataclass
class World:
    """State, clock and settings. Whoever reads or writes the shelves holds `lock`."""

    clock: VirtualClock
    settings: Settings = field(default_factory=Settings)
    lock: threading.RLock = field(default_factory=threading.RLock)
    distributions: Shelf[Distribution] = field(default_factory=Shelf)
    groups: Shelf[ConnectionGroup] = field(default_factory=Shelf)
    tenants: Shelf[Tenant] = field(default_factory=Shelf)
    anycast_lists: Shelf[AnycastIpList] = field(default_factory=Shelf)
    domains: dict[str, str] = field(default_factory=dict)
    """Who holds a domain: its name in lower case, and the holder's ARN. One namespace over all accounts."""
    book: RecordBook = field(default_factory=RecordBook)
    """DNS records for zones that Route 53 does not have."""
    zone_changes: ChangeBook = field(default_factory=ChangeBook)
    """What was changed in Route 53's hosted zones."""
    lookup: Callable[[str, str], Answer] = field(default=lambda *_: Answer(Code.REFUSED))
    """What CloudFront and ACM see of a name and a record type; nothing until a resolver is put here."""
    dns_generation: Callable[[], tuple[int, ...]] = field(default=tuple)
    """Differs when what `lookup` says may."""
    pending_certificates: list[ManagedCertificate] = field(default_factory=list)
    """Those that wait for validation, also of tenants that are gone."""
    certificate_dues: dict[str, ManagedCertificate] = field(default_factory=dict)
    """By ARN: those that are issued, also of tenants that are gone."""
    next_certificate_due: float = float("inf")
    """When one of these has to be looked at, in virtual seconds."""
    sessions: dict[str, Session] = field(default_factory=dict)
    """By access key: the sessions of roles that STS began here."""
    past: Past = field(default_factory=Past)
    """What reads that lag still show."""
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret
    """For durations by chance, the same in every run."""

    def may_delete(self, resource: Resource) -> bool:
        """Whether a resource is disabled, and at every edge where the settings ask for that."""
        at_every_edge = self.clock.now() >= resource.deployed_at + self.settings.delete_lag_seconds
        return not resource.enabled and (at_every_edge or not self.settings.delete_needs_deployed)

    def delete_error(self, resource: Resource, not_disabled: ErrorCode) -> str:
        """The code for a resource that may not be deleted, where `not_disabled` stands for an enabled one."""
        in_progress = self.settings.delete_in_progress_error
        if resource.enabled or in_progress == ErrorCode.RESOURCE_NOT_DISABLED:
            return not_disabled
        return in_progress

    def knows_holder(self, domain: str) -> bool:
        """Whether a look-up by domain already finds whoever has it."""
        lag = self.settings.domain_lookup_lag_seconds
        return lag == 0 or self.past.held_since.get(domain, -lag) + lag <= self.clock.now()

    def remember(self, tenant: Tenant) -> None:
        """Before each change of a tenant: lists may go on showing it as it is."""
        lag = self.settings.list_lag_of_updates_seconds
        if lag > 0:
            self.past.changes(tenant, self.clock.now(), lag)
