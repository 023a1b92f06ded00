"""What the external client of one managed resource works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apis.drift import DriftPolicy
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Memory
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains

__all__ = ["Context", "Peers"]

Peers = Callable[[Managed, frozenset[str]], Iterable[Managed]]
"""The other managed resources of a kind whose external name is one of these, or that hold that id."""


@dataclass(frozen=True)
class Context:
    """What one managed resource's client works with."""

    cloudfront: CloudFront
    memory: Memory
    installation: str
    """Of the provider; part of each tenant's owner."""
    account: str | None
    """Of the credentials; None where it may not be asked."""
    config: str = ""
    """The provider config, for messages."""
    frozen: str = ""
    """What forbids every write, in words; empty where nothing does."""
    drift_policy: DriftPolicy = DriftPolicy.ENFORCE
    """Of resources that say none."""
    peers: Peers = lambda *_: ()
    """Those that lead to the same external resource."""
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """The managed resources of all kinds."""
    confirmed: str = ""
    """What somebody confirmed on the provider config."""
    poll_seconds: float = 60.0
    """Between two looks at a resource."""
    kept: KeptDomains = NOTHING
    """Who has which domain and name, of all accounts."""
    rehearsing: bool = False
    """Calls that write are recorded and not made, so that nothing can be waited for or read back."""
