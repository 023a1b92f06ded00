"""When a write outside may begin."""

from typing import Any

import pytest

from edgetenants_runtime import Change, ExternalError, Managed, Observation, deadline, leading
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.testing import FakeExternal, Journal, World, toy

WRITES = ("create", "update", "delete")
MR = Managed(toy(annotations={"crossplane.io/external-name": "acme"}))


class Seen:
    def __init__(self) -> None:
        self.told: list[str] = []

    def up_to_date(self, mr: Managed) -> None:
        self.told.append("up to date")

    def repaired(self, mr: Managed) -> None:
        self.told.append("repaired")


class Outside:
    """Guarded toys, and what was done to them."""

    def __init__(self, *, may_act: bool = True) -> None:
        self.journal, self.seen = Journal(), Seen()
        self.external = FakeExternal(self.journal)
        self.external.toys["acme"] = 1
        self.client = GuardedConnector(self.external, lambda: may_act, self.seen).connect(MR)

    def write(self, which: str) -> Change:
        result: Change = getattr(self.client, which)(MR, Observation(exists=True))
        return result


def test_while_all_is_well_everything_passes() -> None:
    outside = Outside()
    assert outside.client.observe(MR).up_to_date
    for which in WRITES:
        outside.write(which)
    assert outside.journal.entries == [f"external {m} acme" for m in ("observe", *WRITES)]
    assert outside.seen.told == ["up to date", "repaired"]


@pytest.mark.parametrize("which", WRITES)
def test_a_process_that_may_not_act_looks_and_begins_nothing(which: str) -> None:
    outside = Outside(may_act=False)
    outside.client.observe(MR)
    with pytest.raises(StandDown):
        outside.write(which)
    assert outside.journal.entries == ["external observe acme"]


@pytest.mark.parametrize("which", WRITES)
def test_a_client_learns_between_two_calls_that_it_may_no_longer_act(which: str) -> None:
    outside, sent = Outside(), []
    acting = {"may": True}

    def two_calls(*_: Any) -> Change:
        for call in ("first", "second"):
            leading.check(call)
            sent.append(call)
            acting["may"] = False
        return Change()

    setattr(outside.external, which, two_calls)
    outside.client = GuardedConnector(outside.external, lambda: acting["may"], outside.seen).connect(MR)
    with pytest.raises(StandDown, match="second"):
        outside.write(which)
    assert sent == ["first"]
    leading.check("anything, outside a reconcile")


@pytest.mark.parametrize("which", WRITES)
def test_after_the_deadline_nothing_is_begun_and_the_cause_is_told(which: str) -> None:
    outside, clock = Outside(), FakeClock()
    with deadline.within(60, clock):
        clock.advance(60)
        with pytest.raises(ExternalError, match=r"timeout of 60 s: the \w+ was not started"):
            outside.write(which)
    assert outside.journal.entries == []


def test_the_time_left_is_known_inside_and_infinite_outside() -> None:
    clock = FakeClock()
    assert deadline.remaining() == float("inf")
    with deadline.within(60, clock):
        clock.advance(20)
        assert deadline.remaining() == 40
        clock.advance(50)
        assert deadline.remaining() == 0
    assert deadline.remaining() == float("inf")
    deadline.check("anything")


def test_standing_down_leaves_no_trace_and_the_next_leader_goes_on() -> None:
    acting: dict[str, Any] = {"may": False}

    class Guarded:
        def connect(self, mr: Managed) -> Any:
            return GuardedConnector(world.external, lambda: acting["may"], Seen()).connect(mr)

    world = World(toy())
    world = World(toy(), connector=Guarded())
    with pytest.raises(StandDown):
        world.reconcile()
    assert not [entry for entry in world.journal if "event" in entry or entry.startswith("status")]
    acting["may"] = True
    world.restart()
    world.settle()
    assert world.external.created == 1
