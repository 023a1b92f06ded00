"""Free ports, wanted ports, and who has one."""

import os
import socket

import pytest

from sandbox import ports
from sandbox.errors import WorldError


@pytest.fixture
def busy():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_each_name_has_a_port_of_its_own_below_those_of_outgoing_connections():
    chosen = ports.choose(("a", "b", "c"), pinned={}, taken=())
    assert list(chosen) == ["a", "b", "c"]
    assert len(set(chosen.values())) == 3
    assert all(20000 <= p < ports._first_outgoing() and ports.is_free(p) for p in chosen.values())


def test_what_others_recorded_is_not_chosen(monkeypatch):
    monkeypatch.setattr(ports, "_first_outgoing", lambda: 20003)
    monkeypatch.setattr(ports, "is_free", lambda port: port != 20001)
    assert ports.choose(("a",), pinned={}, taken=(20000,)) == {"a": 20002}
    with pytest.raises(WorldError, match="no free port"):
        ports.choose(("a",), pinned={}, taken=(20000, 20002))


def test_a_wanted_port_is_used():
    [free] = ports.choose(("a",), pinned={}, taken=()).values()
    assert ports.choose(("a", "b"), pinned={"b": free}, taken=())["b"] == free


def test_a_wanted_port_that_is_in_use_is_refused_and_its_holder_named(busy):
    with pytest.raises(WorldError, match=rf"port {busy} for emulator is in use by pid {os.getpid()} \("):
        ports.choose(("emulator",), pinned={"emulator": busy}, taken=())


def test_a_wanted_port_for_nobody_is_refused():
    with pytest.raises(WorldError, match=r"unknown port name emulatr; port names: emulator"):
        ports.choose(("emulator",), pinned={"emulatr": 5000}, taken=())


def test_listening(busy):
    assert ports.is_listening(busy)
    [free] = ports.choose(("a",), pinned={}, taken=()).values()
    assert not ports.is_listening(free)
    assert ports.holder(free) == "another process"
