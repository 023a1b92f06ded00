"""The DNS service that holds the records of one managed resource."""

from __future__ import annotations

from dataclasses import dataclass, field

from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns.ownership import Owner
from provider.dns.plan import Gave, gave_nothing
from provider.dns.store import RecordStore

__all__ = ["DEFAULT_TTL", "NOT_ASKED", "RecordsAccess"]

DEFAULT_TTL = 300
"""Seconds."""


@dataclass(frozen=True)
class RecordsAccess:
    """What one reconcile has of the DNS service."""

    asked: bool = True
    """The spec asks for records."""
    store: RecordStore | None = None
    """None if there is a problem."""
    problem: str = ""
    """Why the service cannot be used, as a message."""
    is_nowhere: bool = False
    """The provider config names no service, so nothing can be removed, and nothing waits for that."""
    config: str = ""
    """The provider config, for messages."""
    frozen: str = ""
    """What forbids all writes, as a message; "" if they are allowed."""
    owner: Owner = field(default_factory=lambda: Owner(""))
    gave: Gave = gave_nothing
    """Whether the resource that made records agrees to give its domains to this one."""
    ttl: int = DEFAULT_TTL
    may_replace: bool = False
    """The provider config allows to replace records of others, after a confirmation."""
    tickets: RecordTickets = field(default_factory=RecordTickets)


NOT_ASKED = RecordsAccess(asked=False)
"""For a resource whose spec asks for no records."""
