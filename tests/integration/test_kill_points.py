"""The provider is killed at every call that an undisturbed run makes, before and after the call's effect.

A life has four phases, told apart by the virtual clock so that the calls in each are always the same:

    asked for ──▶ deployed ──▶ asked to go ──▶ disabled everywhere
    (claim)       (step)       (delete)        (step)

An undisturbed life is recorded first; its call log says where to kill. Then come lives in each of whose
phases one of those calls is held by the emulator, the provider gets a real SIGKILL, and a new provider has to
finish what was asked: as many lives as the phase with the most calls needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.watching import condition, is_true


@dataclass(frozen=True)
class KillPoint:
    phase: int
    operation: str
    nth: int
    when: str

    def __str__(self) -> str:
        return f"{PHASES[self.phase].name}: {self.when} {self.operation} #{self.nth}"


@dataclass(frozen=True)
class Phase:
    name: str
    begin: Callable[[Claims, str], None]
    ended: Callable[[Claims, str], bool]


def enabled(claims: Claims, name: str) -> bool | None:
    """Whether the tenant is enabled; None when there is none, and a failure when there are two."""
    tenants = claims.tenants(name)
    assert len(tenants) <= 1, f"{len(tenants)} tenants for one claim"
    return bool(tenants[0]["Enabled"]) if tenants else None


def known(claims: Claims, name: str) -> bool:
    """Whether the tenant exists and the managed resource says so."""
    managed = claims.managed(name)
    return bool(enabled(claims, name) and managed.get("status", {}).get("atProvider", {}).get("id"))


def deleting(claims: Claims, name: str) -> bool:
    """Whether the tenant is disabled and the managed resource says that it waits for CloudFront: then the
    reconcile has made all of its calls."""
    ready = condition(claims.managed(name), "Ready") if enabled(claims, name) is False else {}
    return ready.get("reason") == "Disabling"


def gone(claims: Claims, name: str) -> bool:
    return not claims.tenants(name) and not claims.managed(name) and not claims.get(name)


def step(claims: Claims, _: str) -> None:
    claims.world.emulator.step(60)


SWEEP = frozenset({"ListConnectionGroups", "ListDistributionTenants"})
"""These calls come once a minute, whatever happens in a life."""

PHASES = (
    Phase("asked for", lambda claims, name: claims.apply(claims.claim(name)), known),
    Phase("deployed", step, lambda claims, name: is_true(claims.managed(name), "Ready")),
    Phase("asked to go", lambda claims, name: claims.delete(name), deleting),
    Phase("disabled everywhere", step, gone),
)


def record(claims: Claims, name: str) -> list[KillPoint]:
    """Live an undisturbed life; a kill point before and after each call that the provider made in it."""
    points: list[KillPoint] = []
    emulator = claims.world.emulator
    for number, phase in enumerate(PHASES):
        start = emulator.calls()["total"]
        phase.begin(claims, name)
        claims.wait(phase.name, lambda phase=phase: phase.ended(claims, name))
        counts: dict[str, int] = {}
        for operation in (call["operation"] for call in emulator.calls(since=start)["calls"]):
            if operation in SWEEP:
                continue
            counts[operation] = counts.get(operation, 0) + 1
            points += [KillPoint(number, operation, counts[operation], when) for when in ("before", "after")]
    return points


def lives(points: Sequence[KillPoint]) -> list[list[KillPoint]]:
    """Each point in one life, at most one in each phase of it."""
    of_phases = [list(each) for _, each in groupby(points, lambda point: point.phase)]
    return [[point for point in life if point] for life in zip_longest(*of_phases)]


def live_through(claims: Claims, name: str, points: Sequence[KillPoint]) -> None:
    """Live a life in which the provider is killed at these points; fails when more than one tenant is ever
    there."""
    world, by_phase = claims.world, {point.phase: point for point in points}
    for number, phase in enumerate(PHASES):
        if number not in by_phase:
            phase.begin(claims, name)
            claims.wait(phase.name, lambda phase=phase: phase.ended(claims, name))
            continue
        point = by_phase[number]
        fault = world.emulator.hold(point.operation, nth=point.nth, when=point.when)
        phase.begin(claims, name)
        if not world.emulator.wait_held(fault, seconds=20):
            raise AssertionError(f"{point}: the call was never made\n{claims.describe()}")
        world.processes.kill("provider")
        # What was held before its effect died with its sender; after its effect nothing is taken back.
        world.emulator.release(fault, drop=point.when == "before")
        world.processes.start("provider")
        claims.wait(f"{phase.name} after the kill", lambda phase=phase: phase.ended(claims, name))


@pytest.fixture
def steady(claims: Claims) -> Claims:
    """The clock at rate 1: only steps bring CloudFront's deployments about."""
    claims.world.emulator.set_rate(1)
    return claims


def restart(world: World) -> None:
    """A provider that remembers nothing, so that its first calls are those of the recorded run."""
    world.processes.kill("provider")
    world.processes.start("provider")


def test_killed_at_each_call_the_provider_finishes_with_exactly_what_was_asked(
    steady: Claims, subtests: pytest.Subtests
) -> None:
    restart(steady.world)
    points = record(steady, "undisturbed")
    operations = {p.operation for p in points}
    assert {"CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant"} <= operations
    for number, life in enumerate(lives(points)):
        with subtests.test("; ".join(map(str, life))):
            if life[0].phase == 0:
                restart(steady.world)
            live_through(steady, f"life-{number}", life)


def test_a_create_that_lands_after_its_sender_died_is_adopted_and_not_repeated(steady: Claims) -> None:
    world = steady.world
    fault = world.emulator.hold("CreateDistributionTenant", nth=1, when="before")
    steady.apply(steady.claim("late"))
    assert world.emulator.wait_held(fault, seconds=20)
    world.processes.kill("provider")
    world.processes.start("provider")
    world.emulator.release(fault, drop=False)

    steady.wait("the tenant to be known", lambda: known(steady, "late"))
    steady.world.emulator.step(60)
    steady.wait_ready("late")
    assert len(steady.tenants("late")) == 1
