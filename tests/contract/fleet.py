"""Many tenants of one account in one process, with the runtime's own reconciler: one thread plays their queue
and the sweeps, on the virtual clock of the emulator."""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ProviderConfigKey
from edgetenants_runtime.reconcile.steps import Next
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.sweep.sweeps import Sweeps
from tests.contract.emulated import DISTRIBUTION, Emulated
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import managed

INTERVAL = 60.0


class PassingClock(FakeClock):
    """For a single thread: while it waits, time passes."""

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Let the time pass."""
        del condition
        assert deadline is not None
        self.advance(max(0.0, deadline - self.now()))


class Member(Reconciled):
    """One of the resources. All have the accounts of the process in common."""

    def __init__(self, obj: dict[str, Any], fleet: Fleet) -> None:
        self.fleet = fleet
        self.uid = obj["metadata"]["uid"]
        super().__init__(obj, fleet.aws)

    @property
    def external_name(self) -> str:
        """That of its tenant in AWS."""
        return str(self.stored["metadata"]["annotations"]["crossplane.io/external-name"])

    def _connect(self) -> Any:
        return self.connect(
            self.configs,
            self.fleet.accounts,
            installation=self.installation,
            everyone=lambda: [each.mr for each in self.fleet.members.values() if each.mr],
        )


class Fleet:
    """The resources, their queue, and the sweeps."""

    RECONCILE_SECONDS = 0.01
    """What a reconcile takes on the virtual clock."""

    def __init__(
        self,
        aws: Emulated,
        tenants: int,
        *,
        sweeps: bool = True,
        check_seconds: float = DEEP_CHECK_SECONDS,
        instruments: Instruments | None = None,
    ) -> None:
        self.check_seconds, self.instruments = check_seconds, instruments or Instruments()
        self.aws, self.clock, self._with_sweeps = aws, aws.clock, sweeps
        self.members: dict[str, Member] = {}
        self.reconciles = 0
        self.start()
        for number in range(tenants):
            self.add(number)

    def add(self, number: int, **for_provider: Any) -> Member:
        """A user creates the resource with that number; `for_provider` replaces fields of it."""
        member = self.member(number, **for_provider)
        return self._added(member)

    def apply(self, obj: dict[str, Any]) -> Member:
        """A user applies another one."""
        return self._added(Member(obj, self))

    def _added(self, member: Member) -> Member:
        self.members[member.uid] = member
        self.wake(member)
        return member

    def member(self, number: int, **for_provider: Any) -> Member:
        """A new resource."""
        obj = tenant(f"t-{number:03}")
        obj["spec"]["forProvider"] |= for_provider
        return Member(obj, self)

    def users(self, config: ProviderConfigKey) -> int:
        """How many resources use a provider config."""
        del config
        return len(self.members)

    def start(self) -> None:
        """A new process: nothing is remembered."""
        self.woken: list[str] = []
        self._due: dict[str, float] = {}
        self._queue: list[tuple[float, int, str]] = []
        self._order = 0
        self.sweeps = Sweeps(
            self.clock,
            INTERVAL,
            users=self.users,
            wake=self._wake,
            tally=self.instruments.sweeps,
            threads=0,
        )
        self.accounts = Accounts(
            self.clock,
            self.instruments,
            sweeps=self.sweeps if self._with_sweeps else None,
            check_seconds=self.check_seconds,
            wake=self._wake,
        )
        self.next_check = self._held_until = self.clock.now()
        for each in self.members.values():
            each.restart()
            self.wake(each)

    def wake(self, member: Member, seconds: float = 0.0) -> None:
        """Reconcile it after that many seconds."""
        self._order += 1
        self._due[member.uid] = self.clock.now() + seconds
        heapq.heappush(self._queue, (self._due[member.uid], self._order, member.uid))

    def run(self, seconds: float) -> Counter[str]:
        """Let time pass; return the calls that were made."""
        self.aws.admin("DELETE", "calls")
        end = self.clock.now() + seconds
        while (moment := min(self._next_due(), self._next_sweep(), self.next_check)) <= end:
            self.pass_time(moment - self.clock.now())
            # The sweeps have their own threads, however many resources are due.
            now = max(moment, self.clock.now())
            if self.next_check <= now:
                self.sweeps.check()
                self.next_check = now + INTERVAL / 4
            elif self._next_sweep() <= now:
                self._sweep(now)
            else:
                self._reconcile(self.members[heapq.heappop(self._queue)[2]])
        self.pass_time(end - self.clock.now())
        return Counter(self.aws.journal)

    def until(
        self, done: Callable[[], bool], *, step: float = 1.0, longest: float = 600.0
    ) -> tuple[Counter[str], float]:
        """Let time pass until all is done; the calls that were made, and the seconds that it took."""
        calls, began = Counter[str](), self.clock.now()
        while not done():
            assert self.clock.now() < began + longest, f"not done after {calls}"
            calls += self.run(step)
        return calls, self.clock.now() - began

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the provider and in AWS."""
        if seconds > 0:
            self.clock.advance(seconds)
            self.aws.admin("POST", "clock", {"step": seconds})

    def hold_sweeps(self, seconds: float) -> None:
        """No list comes for that many seconds."""
        self._held_until = self.clock.now() + seconds

    def of(self, number: int) -> Member:
        """The resource with that number."""
        return self.members[f"uid-t-{number:03}"]

    def ready(self) -> Counter[tuple[str, str]]:
        """Status and reason of Ready, counted."""
        return Counter(each.told("Ready")[:2] for each in self.members.values())

    def _next_sweep(self) -> float:
        return max(self.sweeps.due(), self._held_until)

    def _next_due(self) -> float:
        while self._queue:
            due, _, uid = self._queue[0]
            if self._due.get(uid) == due:
                return due
            heapq.heappop(self._queue)
        return float("inf")

    def _wake(self, followers: Any, **_: Any) -> None:
        for follower in followers:
            self.woken.append(follower.key.name)
            if follower.uid in self.members:
                self.wake(self.members[follower.uid])

    def _sweep(self, now: float) -> None:
        for caller in [caller for caller, each in self.sweeps._callers.items() if each.due <= now]:
            self.sweeps.round(caller)

    def _reconcile(self, member: Member) -> None:
        self.reconciles += 1
        outcome = member.reconcile()
        # A call takes time.
        self.pass_time(self.RECONCILE_SECONDS)
        waits = outcome is not None and outcome.next is Next.AFTER
        self.wake(member, outcome.seconds if outcome and waits else 5.0)


def tenant(name: str, namespace: str = "shop", created: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    """A DistributionTenant."""
    obj = managed(
        {
            "distributionId": DISTRIBUTION,
            "domains": [f"{name}.example.com"],
            "parameters": {"tenantName": name},
        },
        uid=f"uid-{name}",
        created=created,
        annotations={"crossplane.io/external-name": f"{namespace}.{name}"},
    )
    obj["metadata"] |= {"name": name, "namespace": namespace}
    return obj


@dataclass(frozen=True)
class Life:
    """The life of some tenants."""

    calls: Counter[str]
    """By operation."""
    seconds: dict[str, float]
    """Virtual seconds of each stage."""


def life(fleet: Fleet, drifted: int = 5) -> Life:
    """The tenants are created, changed, disabled by someone in AWS (only some), and deleted."""
    members = list(fleet.members.values())
    calls, seconds = Counter[str](), {}

    def stage(name: str, done: Callable[[], bool]) -> None:
        took, seconds[name] = fleet.until(done)
        calls.update(took)

    stage("create", lambda: fleet.ready() == {("True", "Available"): len(members)})
    for member in members:
        member.edit(parameters={"tenantName": member.uid, "tier": "gold"})
        fleet.wake(member)
    stage("change", lambda: all(_serves(each, tier="gold") for each in fleet.aws.tenants))
    for member in members[:drifted]:
        fleet.aws.edit(member.external_name, Enabled=False)
    stage("repair", lambda: all(_serves(each) for each in fleet.aws.tenants))
    for member in members:
        member.delete()
        fleet.wake(member)
    stage("delete", lambda: not any(each.mr for each in members))
    return Life(calls, seconds)


def _serves(tenant: Any, **parameters: str) -> bool:
    """Whether AWS has rolled out a tenant, enabled and with these parameters."""
    has = {each["Name"]: each["Value"] for each in tenant["Parameters"]}
    return tenant["Enabled"] and tenant["Status"] == "Deployed" and parameters.items() <= has.items()
