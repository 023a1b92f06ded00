"""What the external client of one managed resource works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apis.drift import DriftPolicy
from edgetenants_runtime.managed import Managed
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.memory import Memory

__all__ = ["Context"]


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
    peers: Callable[[Managed], Iterable[Managed]] = lambda _: ()
    """The other managed resources with the same external name."""
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """All managed resources of the kind."""
    confirmed: str = ""
    """What somebody confirmed on the provider config."""
    poll_seconds: float = 60.0
    """Between two looks at a resource."""
