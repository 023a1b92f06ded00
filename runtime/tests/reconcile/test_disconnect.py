"""Clients that hold something for the time of one reconcile."""

from typing import Any

import pytest

from edgetenants_runtime import Change, Disconnects, ExternalError, Managed, NotYet, Observation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import SETTLED_MR, conditions_of


class Sessions:
    """A connector whose clients are open until they are let go."""

    def __init__(self) -> None:
        self.open = 0
        self.raises: dict[str, BaseException] = {}

    def connect(self, mr: Managed) -> "Sessions":
        self._meet("connect")
        self.open += 1
        return self

    def observe(self, mr: Managed) -> Observation:
        self._meet("observe")
        return Observation(exists=True, up_to_date="update" not in self.raises)

    def create(self, mr: Managed, seen: Observation) -> Change:
        raise AssertionError

    def update(self, mr: Managed, seen: Observation) -> Change:
        self._meet("update")
        return Change()

    delete = create

    def disconnect(self) -> None:
        self.open -= 1
        self._meet("disconnect")

    def up_to_date(self, mr: Managed) -> None: ...

    def repaired(self, mr: Managed) -> None: ...

    def _meet(self, call: str) -> None:
        if call in self.raises:
            raise self.raises[call]


def world_of(sessions: Any) -> World:
    return World(toy(**SETTLED_MR), connector=sessions)


ENDS: dict[str, dict[str, BaseException]] = {
    "well": {},
    "with an error": {"observe": ExternalError("denied")},
    "with a bug": {"update": KeyError("x")},
    "not yet": {"observe": NotYet("later", after=5)},
}


@pytest.mark.parametrize("raises", ENDS.values(), ids=ENDS)
def test_a_client_is_let_go_however_the_reconcile_ends(raises: dict[str, BaseException]) -> None:
    """Rule: disconnect"""
    sessions = Sessions()
    sessions.raises = raises
    world_of(sessions).reconcile()
    assert sessions.open == 0


@pytest.mark.parametrize("end", [StandDown("the update"), SystemExit(1)], ids=["stands down", "exits"])
def test_a_client_is_let_go_when_the_process_ends(end: BaseException) -> None:
    """Rule: disconnect"""
    sessions = Sessions()
    sessions.raises = {"observe": end}
    with pytest.raises(type(end)):
        world_of(sessions).reconcile()
    assert sessions.open == 0


def test_a_client_that_was_never_made_is_not_let_go() -> None:
    """Rule: disconnect"""
    sessions = Sessions()
    sessions.raises = {"connect": ExternalError("denied")}
    world_of(sessions).reconcile()
    assert sessions.open == 0


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ExternalError("the session is stuck"), "disconnect failed: the session is stuck"),
        (
            KeyError("AKIASECRET"),
            "disconnect failed: unexpected KeyError; see the provider's log for details",
        ),
    ],
)
def test_a_client_that_cannot_be_let_go_is_told_and_changes_nothing(error: Exception, says: str) -> None:
    """Rule: disconnect"""
    world, undisturbed = world_of(sessions := Sessions()), world_of(Sessions())
    sessions.raises = {"disconnect": error}
    assert world.reconcile() == undisturbed.reconcile()
    assert conditions_of(world.mr) == conditions_of(undisturbed.mr)
    assert world.journal == [*undisturbed.journal, "event Warning CannotDisconnectFromProvider"]
    assert world.recorder.messages == [says]


def test_the_guard_lets_go_what_it_guards() -> None:
    """Rule: disconnect"""
    sessions = Sessions()
    guarded = GuardedConnector(sessions, lambda: True, sessions)
    world_of(guarded).reconcile()
    assert sessions.open == 0


def test_a_client_without_the_method_is_a_client() -> None:
    world = World(toy(**SETTLED_MR))
    assert not isinstance(world.external, Disconnects)
    guarded = GuardedConnector(world.external, lambda: True, Sessions())
    client: Any = guarded.connect(Managed(toy()))
    client.disconnect()
    assert world.journal == []
