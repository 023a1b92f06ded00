"""Connections: whose place a new one takes."""

import socket
from collections.abc import Iterator

import pytest

from edgetenants_runtime.serving import connections
from edgetenants_runtime.serving.connections import Connections


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    made = [socket.socket() for _ in range(6)]
    yield made
    for each in made:
        each.close()


def test_a_place_is_taken_from_the_client_with_the_most(sockets: list[socket.socket]) -> None:
    first, second, third, fourth, *_ = sockets
    table = Connections(3)
    assert table.add(first, "a")
    assert table.add(second, "b")
    assert table.add(third, "b")
    assert table.add(fourth, "a")
    assert [table.has(each) for each in (first, second, third, fourth)] == [True, False, True, True]


def test_the_one_longest_without_a_request_goes_first(sockets: list[socket.socket]) -> None:
    first, second, third, *_ = sockets
    table = Connections(2)
    table.add(first, "a")
    table.add(second, "a")
    table.answered(first)
    table.add(third, "a")
    assert (table.has(first), table.has(second)) == (True, False)


def test_clients_that_bring_requests_keep_their_places(sockets: list[socket.socket]) -> None:
    """A hundred pods may have one silent connection each; an API server has a few."""
    first, second, third, fourth, *_ = sockets
    table = Connections(3)
    table.add(first, "api")
    table.add(second, "api")
    table.answered(first)
    table.add(third, "a")
    assert table.add(fourth, "b")
    assert [table.has(each) for each in (first, second, third, fourth)] == [True, True, False, True]


class Room:
    """A server's connections. One that loses its place is closed."""

    def __init__(self, most: int) -> None:
        self.table = Connections(most)
        self.open: list[socket.socket] = []

    def connect(self, client: str, *, answered: bool = False) -> socket.socket:
        made = socket.socket()
        assert self.table.add(made, client)
        if answered:
            self.table.answered(made)
        self.open.append(made)
        self.end([each for each in self.open if not self.table.has(each)])
        return made

    def end(self, gone: list[socket.socket]) -> None:
        for each in gone:
            self.table.remove(each)
            self.open.remove(each)
            each.close()


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room(128)
    yield made
    made.end(list(made.open))


def pods(number: int) -> list[str]:
    return [f"pod {each}" for each in range(number)]


@pytest.mark.parametrize(("number", "connections_each"), [(9, 15), (16, 8), (32, 4)])
@pytest.mark.parametrize("reviews", ["none", "one", "all"])
def test_a_new_connection_loses_no_place_to_clients_with_more(
    room: Room, number: int, connections_each: int, reviews: str
) -> None:
    """Any pod may send reviews, and an API server that starts has sent none."""
    for round_ in range(connections_each):
        for client in pods(number):
            room.connect(client, answered=reviews == "all" or (reviews == "one" and not round_))
    api = room.connect("api")
    for client in pods(number) * (200 // number + 1):
        room.connect(client, answered=reviews == "all")
    assert room.table.has(api)


def test_nor_to_many_clients_that_bring_requests(room: Room) -> None:
    for client in pods(130):
        room.connect(client, answered=True)
    api = room.connect("api")
    for client in pods(200):
        room.connect(client, answered=True)
    assert room.table.has(api)


def test_silent_clients_do_not_help_them(room: Room) -> None:
    for client in pods(63):
        room.connect(client)
    for client in ["a", "b", "c", "d", "e"] * 13:
        room.connect(client, answered=True)
    api = room.connect("api")
    for client in ["a", "b", "c", "d", "e"] * 40:
        room.connect(client)
    assert room.table.has(api)


def test_a_new_connection_has_its_place_for_half_of_them(room: Room) -> None:
    """The longest silent one goes first, and a handshake is shorter than that."""
    for client in pods(130):
        room.connect(client)
    api = room.connect("api")
    for client in pods(64):
        room.connect(client)
    assert room.table.has(api)


def test_silent_connections_of_many_take_none_of_a_client_that_brings_requests(room: Room) -> None:
    apis = [room.connect("api", answered=True), *(room.connect("api") for _ in range(9))]
    for client in pods(130) * 3:
        room.connect(client)
    apis += [room.connect("api") for _ in range(10)]
    for client in pods(130):
        room.connect(client)
    assert all(room.table.has(each) for each in apis)


def test_of_clients_that_bring_requests_the_one_with_the_most_loses(sockets: list[socket.socket]) -> None:
    first, second, third, fourth, *_ = sockets
    table = Connections(3)
    for each, client in ((first, "b"), (second, "a"), (third, "a")):
        table.add(each, client)
        table.answered(each)
    assert table.add(fourth, "c")
    assert [table.has(each) for each in (first, second, third)] == [True, False, True]


def test_silent_clients_have_no_more_than_half(sockets: list[socket.socket]) -> None:
    first, second, third, fourth, fifth, sixth = sockets
    table = Connections(4)
    for each, client in ((first, "a"), (second, "b")):
        table.add(each, client)
        table.answered(each)
    for each, client in ((third, "c"), (fourth, "d")):
        table.add(each, client)
    assert table.add(fifth, "e")
    assert [table.has(each) for each in (first, second, third, fourth)] == [True, True, False, True]
    assert table.add(sixth, "a")
    assert [table.has(each) for each in (first, second, fourth, fifth)] == [False, True, True, True]


def test_one_place_goes_from_hand_to_hand(sockets: list[socket.socket]) -> None:
    first, second, *_ = sockets
    table = Connections(1)
    table.add(first, "a")
    table.answered(first)
    assert table.add(second, "b")
    assert not table.has(first)


def test_those_that_have_not_ended_yet_are_bounded(
    sockets: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MOST_LEAVING", 1)
    table = Connections(2)
    assert [table.add(each, "a") for each in sockets[:4]] == [True, True, True, False]
    assert table.add(sockets[4], "b"), "another client does not wait for the threads of this one"
    assert not table.add(sockets[5], "c")
    table.remove(sockets[0])
    assert table.add(sockets[5], "c")


def test_a_place_comes_back(sockets: list[socket.socket]) -> None:
    table = Connections(1)
    for each in sockets:
        assert table.add(each, "a")
        table.remove(each)
        assert not table.has(each)
