"""The dependencies of a reconciler: the external system, Kubernetes, time and randomness."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from edgetenants_runtime.clock import SystemClock, utc_now
from edgetenants_runtime.external import Connector
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.rules.events import Recorder
from edgetenants_runtime.rules.references import Resolved

__all__ = ["Collaborators", "Pace"]


@dataclass(frozen=True)
class Pace:
    """How often a managed resource is observed."""

    poll_interval: float = 60.0
    """Poll interval, in seconds of the injected clock."""
    shortest_poll: float = 10.0
    """The shortest interval that the annotation crossplane.io/poll-interval can set."""
    jitter: float = 0.1
    """Maximum share of the poll interval that is randomly added or subtracted, so that polls spread out."""
    creation_grace: float = 30.0
    """Real seconds after a creation during which an absent external resource counts as not visible yet."""
    uncertain_grace: float = 120.0
    """Real seconds for which a deletion waits for the external resource of a creation with unknown result.
    Longer than a reconcile plus a call that still takes effect after its client has given up; see
    `Manager`."""


@dataclass(frozen=True)
class Collaborators:
    """The dependencies of a reconciler."""

    connector: Connector
    writer: ManagedWriter
    connections: ConnectionPublisher
    recorder: Recorder
    rng: random.Random
    pace: Pace = Pace()
    now: Callable[[], datetime] = utc_now
    """The time to compare with what the API server and other processes wrote; see `kube.server_time`."""
    uptime: Callable[[], float] = SystemClock().now
    """Real seconds on a monotonic clock, for durations within this process: no step of `now` matters."""
    deletion_held: Callable[[Managed], str] = lambda _: ""
    """Why the external resource of a managed resource that is being deleted must be kept, and how to proceed;
    "" if it may be deleted. Raises KubeError if that is unknown at present. See `deletion.DeletionHold`."""
    left: Callable[[Managed, str | None], None] = lambda *_: None
    """Called with a managed resource that was deleted during the creation of its external resource, and with
    the external name. See `leftovers.Leftovers`."""
    resolve: Callable[[Managed], Resolved] = lambda _: Resolved({})
    """What fills in the resource's references. Raises NotYet, ExternalError, KubeError. See
    `rules.references.resolve`."""
