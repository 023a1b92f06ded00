"""An account with a quota, and resources that are to be created in it, on a virtual clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ObjectKey
from provider.cloudfront.quota.line import Line
from provider.cloudfront.quota.order import Waiting

WORDS = "Your request exceeds the limit of some distribution tenants."


def waiting(namespace: str, age: int) -> Waiting:
    """A resource; the lower its number, the older."""
    name = f"{namespace}-{age:04}"
    created = f"2026-11-27T10:{age // 60:02}:{age % 60:02}Z"
    return Waiting(
        name,
        "m.edgetenants.io/v1alpha1",
        "DistributionTenant",
        ObjectKey(namespace, name),
        namespace,
        created,
    )


@dataclass
class Account:
    """Plays the resources' reconciles: each asks when it is due, and when it is called."""

    limit: int
    clock: FakeClock = field(default_factory=FakeClock)
    existing: list[str] = field(default_factory=list)
    """Uids, in the order of creation."""
    calls: list[str] = field(default_factory=list)
    """The uids of all creations that were sent."""
    bad: set[str] = field(default_factory=set)
    """AWS refuses these whatever room there is."""
    deaf: set[str] = field(default_factory=set)
    """These do not come any more: they are paused, or gone."""
    invalid: set[str] = field(default_factory=set)
    """The provider's own checks refuse these."""
    holders: set[str] = field(default_factory=set)
    """The records of kept domains name their namespaces."""
    due: dict[str, float] = field(default_factory=dict)
    resources: dict[str, Waiting] = field(default_factory=dict)
    asks: int = 0
    turns: list[tuple[float, str]] = field(default_factory=list)
    """When a resource was to be created, whatever came of it."""

    def __post_init__(self) -> None:
        self.line = Line(self.clock)

    def restart(self) -> None:
        """A new process."""
        self.line = Line(self.clock)
        self.restarted = True
        self.due = {uid: self.clock.now() for uid in self.resources if uid not in self.existing}

    restarted = False

    def add(self, *which: Waiting) -> None:
        """They were applied, and are reconciled at once."""
        for each in which:
            self.resources[each.uid] = each
            self.due[each.uid] = self.clock.now()

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.clock.now() + seconds
        while self.due:
            uid = min(self.due, key=lambda each: (self.due[each], each))
            if self.due[uid] > end:
                break
            if self.due[uid] > self.clock.now():
                self.clock.advance(self.due[uid] - self.clock.now())
            del self.due[uid]
            if uid not in self.deaf:
                self.reconcile(self.resources[uid])
                self.clock.advance(0.01)
        self.clock.advance(max(0.0, end - self.clock.now()))

    def reconcile(self, who: Waiting) -> None:
        """Try to create it."""
        self.asks += 1
        answer, called = self.line.ask(who, holder=who.uid in self.holders, waited=self.restarted)
        self.wake(called)
        if answer.seconds:
            self.due[who.uid] = min(self.due.get(who.uid, float("inf")), self.clock.now() + answer.seconds)
            return
        self.turns.append((self.clock.now(), who.uid))
        if who.uid in self.invalid:
            self.wake(self.line.done(who.uid, at_once=True))
            self.due[who.uid] = self.clock.now() + 60.0
            return
        self.calls.append(who.uid)
        self.clock.advance(0.05)
        if who.uid in self.bad or len(self.existing) >= self.limit:
            seconds, called = self.line.refused(who, WORDS, holder=who.uid in self.holders)
            self.due[who.uid] = self.clock.now() + seconds
            assert seconds > 0
        else:
            self.existing.append(who.uid)
            called = self.line.made(who)
        self.wake(called)
        self.wake(self.line.done(who.uid, at_once=False))

    def wake(self, called: list[Waiting]) -> None:
        """Reconcile them now."""
        for each in called:
            if each.uid not in self.existing and each.uid in self.resources:
                self.due[each.uid] = self.clock.now()

    def leave(self, uid: str) -> None:
        """A user deletes a resource that waits."""
        self.resources.pop(uid, None)
        self.due.pop(uid, None)
        self.wake(self.line.left(uid))

    def delete(self, uid: str) -> None:
        """The provider deletes one."""
        self.existing.remove(uid)
        self.wake(self.line.released())

    def sweep(self) -> None:
        """A list of the account is complete."""
        self.wake(self.line.counted(len(self.existing), 600.0))
