"""What the provider remembers between reconciles, for all managed resources of one AWS account.

Nothing here is needed for correctness: a process that starts with an empty memory makes a few more calls, and
proves ownership again before it writes (ownership/proofs.py).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from itertools import islice, takewhile
from typing import Final, Protocol

from edgetenants_runtime.clock import Clock, utc_now
from provider.cloudfront.aws.pacing.rates import DEFAULT_RATE
from provider.cloudfront.memory.answers import SharedReads
from provider.cloudfront.memory.certificate_requests import CertificateRequests
from provider.cloudfront.memory.deletions import AcceptedDisablings, Disablings, RefusedDeletions
from provider.cloudfront.memory.domain_holders import DomainHolders
from provider.cloudfront.memory.group_states import GroupStates
from provider.cloudfront.memory.log_changes import LogChanges
from provider.cloudfront.memory.pauses import BackOff, SecondChecks, Standstills
from provider.cloudfront.memory.readings import Readings
from provider.cloudfront.memory.record_tickets import LeftBehind
from provider.cloudfront.memory.rows import SharedRows
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS, DeepChecks, DnsTurns
from provider.cloudfront.memory.sightings import Sightings
from provider.cloudfront.memory.tag_checks import TagChecks
from provider.cloudfront.memory.updates import AppliedParts, Contentions, UpdateAttempts
from provider.cloudfront.memory.vanishing import Vanished
from provider.cloudfront.memory.writes import Writes
from provider.cloudfront.ownership.proofs import OwnerProofs
from provider.cloudfront.quota.quotas import Quotas, Wake

__all__ = ["AccountMemory"]

_SECOND_CHECK_SECONDS: Final = 15.0
_FIRST_CHECK_OF_TENANTS: Final = 5.0
_FIRST_CHECK: Final = 1.0
_LONGEST_WAIT: Final = 300.0
"""Seconds between two polls of a pending certificate at most: customers take days to validate some."""
_IDLE_SECONDS: Final = 7 * 24 * 3600.0
"""A resource that was not observed for this long is forgotten: one that leaves its tenant in AWS is not
observed when it is deleted."""
_MOST_SEEN: Final = 100_000
"""The most resources of one account to remember; those that were not observed for longest are forgotten. A
resource that only observes may be created and deleted in a loop."""


class _PerResource(Protocol):
    """A part that remembers something of each managed resource."""

    def forget(self, uid: str) -> None:
        """Forget that resource."""
        ...


class _LastSeen:
    """The last observations of an account's resources. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def note(self, uid: str, id_: str) -> list[str]:
        """Note an observation, and return the resources to forget: they were not observed for long."""
        now = self._clock.now()
        with self._lock:
            self._seen[uid] = (id_, now)
            self._seen.move_to_end(uid)
            idle = now - _IDLE_SECONDS
            over = islice(self._seen, max(0, len(self._seen) - _MOST_SEEN))
            return [*over] or list(takewhile(lambda each: self._seen[each][1] < idle, self._seen))

    def id_of(self, uid: str) -> str:
        """Return the id of the external resource that was observed last; "" if none was."""
        with self._lock:
            return self._seen.get(uid, ("", 0.0))[0]

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._seen.pop(uid, None)


class AccountMemory:
    """The memory of one account: its parts, and what concerns all of them. Thread-safe."""

    def __init__(  # noqa: PLR0913 - what its parts have in common, by name
        self,
        clock: Clock,
        *,
        second_check: float = _SECOND_CHECK_SECONDS,
        today: Callable[[], datetime] = utc_now,
        rate: Callable[[], float] = lambda: DEFAULT_RATE,
        sightings: Sightings | None = None,
        check_seconds: float = DEEP_CHECK_SECONDS,
        wake: Wake | None = None,
    ) -> None:
        """`rate` returns the permitted requests per second to CloudFront. All accounts have the same
        `sightings`. `check_seconds` is the longest interval between checks of what neither a list nor a Get
        shows. `wake` reconciles resources that wait for room in the account, when their turn comes."""
        self.clock, self.today = clock, today
        # Shared by many resources.
        self.groups = GroupStates(clock)
        self.shared = SharedReads(clock)
        self.holders = DomainHolders(clock)
        self.accepted = AcceptedDisablings()
        self.log_changes = LogChanges()
        self.writes = Writes(clock)
        self.quotas = Quotas(clock, wake)
        self.rows = SharedRows()
        self.left_behind = LeftBehind()
        # Of each resource.
        self.proofs = OwnerProofs(clock)
        self.vanished = Vanished(clock, today)
        self.unseen = BackOff(_FIRST_CHECK)
        """For an object that AWS says exists but does not return."""
        self.deep_checks = DeepChecks(clock, today, check_seconds, rate)
        self.dns_turns = DnsTurns(clock, rate, check_seconds)
        self.attempts = UpdateAttempts()
        self.parts = AppliedParts()
        self.refused_deletions = RefusedDeletions()
        self.requests = CertificateRequests(clock, today)
        self.unused = SecondChecks(clock, second_check)
        """For a connection group without tenants: a list may lag behind a new tenant."""
        self.gone = SecondChecks(clock, second_check)
        """For a missing external resource that is to be deleted: a single response may come from a replica
        that lags behind, or from an endpoint that is not AWS's."""
        self.handed_over = SecondChecks(clock, second_check)
        """For an external resource that is to be deleted and does not have its owner's tag: tags may lag
        behind."""
        self.readings = Readings(clock)
        self.used = BackOff(_FIRST_CHECK_OF_TENANTS)
        """For a connection group that waits for its tenants to go, which may take forever: a few such groups
        would use up the account's rate."""
        self.deletions = Standstills(clock)
        """For a deletion that AWS refuses, or accepts without showing it."""
        self.switches = Standstills(clock)
        """For a tenant whose deletion is on hold, and that AWS does not disable or enable."""
        self.roll_outs = Standstills(clock)
        """For a change that AWS does not show, or does not finish rolling out."""
        self.issuances = Standstills(clock, _LONGEST_WAIT)
        """For a certificate that is not issued yet."""
        self.adoptions = Standstills(clock)
        """For an owner tag that AWS does not show, or a predecessor whose deletion does not end."""
        self.records = Standstills(clock)
        """For a write that waits for a record in Kubernetes; each look costs calls to AWS."""
        self.disablings = Disablings()
        self.tag_checks = TagChecks(clock)
        self.contentions = Contentions(clock)
        self._last_seen = _LastSeen(clock)
        self.sightings = sightings or Sightings()

    def note_seen(self, uid: str, id_: str, arn: str = "", *, listed: bool = False) -> None:
        """Note that the external resource exists, or that a list shows it. Forget the resources that were not
        observed for long."""
        if listed:
            self.vanished.is_listed(uid, id_)
        else:
            self.vanished.is_there(uid, id_)
            self.gone.forget(uid)
        self.sightings.note(uid, arn)
        self.unseen.forget(uid)
        self.quotas.left(uid)
        for idle in self._last_seen.note(uid, id_):
            self.vanished.let_go(idle)
            self.forget(idle)

    def known_id(self, uid: str) -> str:
        """Return the id of the external resource that this process last proved or saw to be the resource's;
        "" if there is none. After its deletion, the id stays known until AWS shows that it is gone."""
        proof = self.proofs.of(uid)
        return proof.id if proof else self._last_seen.id_of(uid)

    def deleted(self, uid: str, id_: str) -> None:
        """Note that AWS accepted the deletion of the external resource. AWS may show it for a while."""
        self.vanished.removed(id_)
        self._forget(uid, but=(self.deletions, self._last_seen))

    def let_go(self, uid: str) -> None:
        """Forget a resource whose external resource is no longer wanted."""
        self.vanished.forget(uid)
        self.unseen.forget(uid)
        self.records.forget(uid)

    def forget(self, uid: str) -> None:
        """Forget a resource whose external resource is gone."""
        self._forget(uid)

    def _forget(self, uid: str, but: tuple[_PerResource, ...] = ()) -> None:
        self.proofs.drop(uid)
        for part in self._per_resource:
            if part not in but:
                part.forget(uid)

    @property
    def _per_resource(self) -> tuple[_PerResource, ...]:
        """`vanished`, `unseen`, `gone` and `records` are not among them: they concern a resource whose
        external resource is gone, not visible or not created yet."""
        return (
            self.deep_checks,
            self.attempts,
            self.parts,
            self.refused_deletions,
            self.dns_turns,
            self.requests,
            self.unused,
            self.readings,
            self.handed_over,
            self.used,
            self.deletions,
            self.switches,
            self.roll_outs,
            self.issuances,
            self.adoptions,
            self.disablings,
            self.tag_checks,
            self.contentions,
            self._last_seen,
            self.sightings,
        )
