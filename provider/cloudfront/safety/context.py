"""The dependencies of one managed resource's external client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apis.drift import DriftPolicy
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains

__all__ = ["Context", "Peers"]

Peers = Callable[[Managed, frozenset[str]], Iterable[Managed]]
"""Finds the other managed resources of a kind whose external name or id is one of these."""


@dataclass(frozen=True)
class Context:
    """The dependencies and settings of one managed resource's client."""

    cloudfront: CloudFront
    memory: AccountMemory
    installation: str
    """The provider's installation id; part of each tenant's owner tag."""
    account: str | None
    """The account of the credentials; None if they may not read it."""
    config: str = ""
    """The provider config, for messages."""
    frozen: str = ""
    """What forbids all writes, as a message; "" if they are allowed."""
    drift_policy: DriftPolicy = DriftPolicy.ENFORCE
    """The policy of resources that set none."""
    peers: Peers = lambda *_: ()
    """Finds managed resources with the same external resource."""
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """The managed resources of all kinds."""
    confirmed: str = ""
    """The token in the confirm annotation of the provider config."""
    poll_seconds: float = 60.0
    """The poll interval of a resource."""
    kept: KeptDomains = NOTHING
    """Which namespace has which domain and name, for all accounts."""
    rehearsing: bool = False
    """The provider records calls that write instead of making them, so it cannot wait for or read back their
    effects."""
