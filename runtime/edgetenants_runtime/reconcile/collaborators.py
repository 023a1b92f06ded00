"""What a reconciler is given: the outside world, Kubernetes, time and chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from edgetenants_runtime.clock import utc_now
from edgetenants_runtime.external import Connector
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.rules.events import Recorder

__all__ = ["Collaborators", "Pace"]


@dataclass(frozen=True)
class Pace:
    """How often a managed resource is looked at."""

    poll_interval: float = 60.0
    """Seconds of the injected clock between two looks while nothing changes."""
    shortest_poll: float = 10.0
    """The least that the annotation crossplane.io/poll-interval can ask for."""
    jitter: float = 0.1
    """Share of the poll interval by which each look is moved at random, so that resources spread."""
    creation_grace: float = 30.0
    """Real seconds after a creation in which an absent external resource is taken for one that does not
    show yet."""
    uncertain_grace: float = 120.0
    """Real seconds for which a deletion waits for what a creation that nobody knows the end of may yet make.
    Longer than a reconcile and a call that goes on outside after its client has given up; see `Manager`."""


@dataclass(frozen=True)
class Collaborators:
    """What a reconciler works with."""

    connector: Connector
    writer: ManagedWriter
    connections: ConnectionPublisher
    recorder: Recorder
    rng: random.Random
    pace: Pace = Pace()
    now: Callable[[], datetime] = utc_now
    deletion_held: Callable[[Managed], str] = lambda _: ""
    """Why the external resource of a managed resource that is being deleted must not be deleted, with the way
    out; "" where it may. Raises KubeError where that cannot be told now. See `deletion.DeletionHold`."""
    left: Callable[[Managed, str | None], None] = lambda *_: None
    """Is told of a managed resource that went while its external resource was made, and of the external name.
    See `leftovers.Leftovers`."""
    resolve: Callable[[Managed], Mapping[str, Any]] = lambda _: {}
    """The JSON merge patch of spec that fills in what the resource refers to, empty when there is nothing to
    write. Raises NotYet, ExternalError, KubeError. See `rules.references.resolve`."""
