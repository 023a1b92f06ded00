"""Room: memory that clients share, so that none uses up all of it."""

import pytest

from edgetenants_runtime.serving import room
from edgetenants_runtime.serving.room import NoRoom, Room


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_WAIT_SECONDS", 0.1)


def test_small_amounts_always_have_room() -> None:
    shared = Room(10, 100)
    with shared.of("a", 100), shared.of("a", 10), shared.of("b", 10):
        pass


def test_one_client_gets_at_most_half() -> None:
    shared = Room(10, 100)
    with shared.of("a", 30), shared.of("b", 30):
        with pytest.raises(NoRoom), shared.of("a", 30):
            pass
        with shared.of("b", 20):
            pass


def test_all_clients_together_get_no_more_than_there_is() -> None:
    shared = Room(10, 100)
    with shared.of("a", 50), shared.of("b", 50), pytest.raises(NoRoom), shared.of("c", 11):
        pass


def test_one_large_amount_may_take_more_than_half() -> None:
    with Room(10, 100).of("a", 90):
        pass


def test_room_comes_back() -> None:
    shared = Room(10, 100)
    for _ in range(5):
        with pytest.raises(ValueError, match="no"), shared.of("a", 90):
            raise ValueError("no")


def test_no_one_waits_for_a_client_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_WAIT_SECONDS", 300.0)
    shared = Room(10, 100)
    with shared.of("a", 90), pytest.raises(NoRoom), shared.of("b", 90, lambda: True):
        pass
