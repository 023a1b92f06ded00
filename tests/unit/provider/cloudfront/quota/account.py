"""An account with a quota, and resources that are to be created in it, on a virtual clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ObjectKey
from provider.cloudfront.quota.allowances import Allowed
from provider.cloudfront.quota.line import Line
from provider.cloudfront.quota.waiting import Waiting

WORDS = "Your request exceeds the limit of some distribution tenants."
CALL_SECONDS = 0.05


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
    """Plays the resources' reconciles: each asks when it is due, and when it is woken."""

    limit: int
    clock: FakeClock = field(default_factory=FakeClock)
    existing: list[str] = field(default_factory=list)
    """Uids, in the order of creation."""
    calls: list[tuple[float, str]] = field(default_factory=list)
    """When a creation was sent, and of whom."""
    made: dict[str, float] = field(default_factory=dict)
    """When AWS accepted it."""
    bad: set[str] = field(default_factory=set)
    """AWS refuses these whatever room there is."""
    deaf: set[str] = field(default_factory=set)
    """These do not come any more: they are paused, or gone."""
    invalid: set[str] = field(default_factory=set)
    """The provider's own checks refuse these."""
    retry: float = 60.0
    """When they try again."""
    due: dict[str, float] = field(default_factory=dict)
    resources: dict[str, Waiting] = field(default_factory=dict)
    noted: int | None = None
    """What spec.quotas says; None: AWS's default counts."""

    def __post_init__(self) -> None:
        self.line = Line(self.clock)

    @property
    def allowed(self) -> Allowed:
        """What the account may have, as far as the provider knows."""
        return (
            Allowed(10_000, is_default=True) if self.noted is None else Allowed(self.noted, is_default=False)
        )

    def tries(self, uid: str) -> list[float]:
        """When it was sent to AWS."""
        return [at for at, each in self.calls if each == uid]

    def restart(self) -> None:
        """A new process."""
        self.line = Line(self.clock)
        self.due = {uid: self.clock.now() for uid in self.resources if uid not in self.existing}

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

    def run_with_sweeps(self, seconds: float) -> None:
        """Let time pass, with a list a minute."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.sweep()
            self.run(min(60.0, end - self.clock.now()))

    def reconcile(self, who: Waiting) -> None:
        """Try to create it."""
        answer, woken = self.line.ask(who, self.allowed)
        self.wake(woken)
        if answer.seconds:
            self._again(who, answer.seconds)
            return
        if who.uid in self.invalid:
            self._again(who, self.retry)
        else:
            self._create(who)
        self.wake(self.line.done(who.uid, self.allowed))

    def _create(self, who: Waiting) -> None:
        self.calls.append((self.clock.now(), who.uid))
        self.clock.advance(CALL_SECONDS)
        if who.uid in self.bad or len(self.existing) >= self.limit:
            answer, woken = self.line.refused(who, WORDS, self.allowed)
            self._again(who, answer.seconds)
            assert 0 < answer.seconds <= 600
        else:
            self.existing.append(who.uid)
            self.made[who.uid] = self.clock.now()
            woken = self.line.made(who, self.allowed)
        self.wake(woken)

    def _again(self, who: Waiting, seconds: float) -> None:
        self.due[who.uid] = min(self.due.get(who.uid, float("inf")), self.clock.now() + seconds)

    def wake(self, woken: list[Waiting]) -> None:
        """Reconcile them now."""
        for each in woken:
            if each.uid not in self.existing and each.uid in self.resources:
                self.due[each.uid] = self.clock.now()

    def edit(self, uid: str) -> None:
        """A user edits one."""
        self.due[uid] = self.clock.now()

    def leave(self, uid: str) -> None:
        """A user deletes a resource that waits."""
        self.resources.pop(uid, None)
        self.due.pop(uid, None)
        self.wake(self.line.left(uid))

    def delete(self, uid: str) -> None:
        """The provider deletes one."""
        self.existing.remove(uid)
        self.wake(self.line.may_have_room(deleted=1))

    def sweep(self) -> None:
        """A list of the account is complete."""
        self.wake(self.line.counted(len(self.existing), 600.0))
