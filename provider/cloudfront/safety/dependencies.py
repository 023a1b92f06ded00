"""What the external client of one managed resource depends on, in three parts. A function takes the part that
it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from apis.drift import DriftPolicy
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.dns.access import NOT_ASKED, RecordsAccess
from provider.cloudfront.domain.public_look import OFF, PublicDns
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains
from provider.cloudfront.sweep.sweeps import Swept

__all__ = ["AccountAccess", "ClusterView", "Dependencies", "Everyone", "Peers", "Policy"]

Peers = Callable[[Managed, frozenset[str]], Iterable[Managed]]
"""Finds the other managed resources of a kind whose external name or id is one of these."""
Everyone = Callable[[], Iterable[Managed]]
"""Returns the managed resources of all kinds."""


@dataclass(frozen=True)
class AccountAccess:
    """Access to the AWS account of the managed resource."""

    cloudfront: CloudFront
    memory: AccountMemory
    installation: str
    """The provider's installation id; part of each tenant's owner tag."""
    id: str | None
    """The account of the credentials; None if they may not read it."""
    config: str = ""
    """The provider config, for messages."""
    swept: Swept | None = None
    """What the lists of the account show; None if they are not swept."""


@dataclass(frozen=True)
class ClusterView:
    """What the client knows of other managed resources and namespaces."""

    peers: Peers = lambda *_: ()
    """Finds managed resources with the same external resource."""
    everyone: Everyone = lambda: ()
    """The managed resources of all kinds."""
    hold: Callable[[Managed], str] = lambda _: ""
    """Why the provider may not update the external resource of another managed resource; "" if it may."""
    kept: KeptDomains = NOTHING
    """Which namespace has which domain and name, for all accounts."""


@dataclass(frozen=True)
class Policy:
    """What the client may do, and how often."""

    drift_policy: DriftPolicy = DriftPolicy.ENFORCE
    """The policy of resources that set none."""
    poll_seconds: float = 60.0
    """The poll interval of a resource."""
    confirmed: str = ""
    """The token in the confirm annotation of the provider config."""
    frozen: str = ""
    """What forbids all writes, as a message; "" if they are allowed."""
    rehearsing: bool = False
    """The provider records calls that write instead of making them, so it cannot wait for or read back their
    effects."""


@dataclass(frozen=True)
class Dependencies:
    """All of them, for the client itself."""

    account: AccountAccess
    cluster: ClusterView = field(default_factory=ClusterView)
    policy: Policy = field(default_factory=Policy)
    records: RecordsAccess = NOT_ASKED
    """The DNS service for the records of a tenant."""
    proofs: DomainProofs = field(default_factory=DomainProofs)
    """What proves the domains of tenants. By default nothing does, where a proof is required."""
    public: PublicDns = OFF
    """Public DNS, for the records of tenants."""
