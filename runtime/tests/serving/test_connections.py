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


def test_but_only_a_few_of_them(sockets: list[socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_FREE", 1)
    first, second, third, fourth, *_ = sockets
    table = Connections(3)
    for each, client in ((first, "b"), (second, "a"), (third, "a")):
        table.add(each, client)
        table.answered(each)
    assert table.add(fourth, "c")
    assert [table.has(each) for each in (first, second, third)] == [True, False, True]


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
