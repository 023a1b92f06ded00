"""A server that speaks the protocol of MySQL, and wants the reader to fail."""

from __future__ import annotations

import struct
import threading
import tracemalloc
from contextlib import closing, suppress

import pytest

from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores.mysql import Address, Limits, MysqlStore, Table
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import servers
from tests.contract.sources.hostile import Listening, serving

PLAIN, TLS = 0x00FFF7FF, 0x00FFFFFF
EOF_PACKET, MORE = b"\xfe\x00\x00\x02\x00", b"\xfe\x00\x00\x0a\x00"
OK = b"\x00\x00\x00\x02\x00\x00\x00"
VAR_STRING = 253


def text(value):
    return bytes([len(value)]) + value


def column(name, kind=VAR_STRING):
    names = b"".join(text(each) for each in (b"def", b"", b"", b"", name.encode(), b""))
    return names + struct.pack("<xHIBHBxx", 45, 100, kind, 0, 0)


class Wire:
    """One connection, from the server's side."""

    def __init__(self, plain):
        self.socket, self.number = plain, 0

    def send(self, payload):
        self.raw(len(payload).to_bytes(3, "little") + bytes([self.number % 256]) + payload)
        self.number += 1

    def raw(self, data):
        self.socket.sendall(data)

    def receive(self):
        header = self.exactly(4)
        self.number = header[3] + 1
        return self.exactly(int.from_bytes(header[:3], "little"))

    def exactly(self, count):
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def table(self, *rows, columns=("id",), end=EOF_PACKET):
        self.send(bytes([len(columns)]))
        for each in columns:
            self.send(column(each))
        self.send(EOF_PACKET)
        for each in rows:
            self.send(each)
        if end:
            self.send(end)


def greeting(capabilities):
    low, high = capabilities & 0xFFFF, capabilities >> 16
    return (
        b"\x0a10.11.0-MariaDB\x00" + struct.pack("<I", 7) + b"saltsalt\x00" + struct.pack("<H", low)
        + struct.pack("<BHHB", 45, 2, high, 21) + bytes(10) + b"saltsaltsalt\x00mysql_native_password\x00"
    )  # fmt: skip


class Hostile(Listening):
    """Answers the questions before the read as MariaDB does, and the read with what the test says."""

    def __init__(self, answer, capabilities=TLS):
        self.answer, self.capabilities = answer, capabilities
        super().__init__()
        self.seen, self.asked = [], []

    @property
    def address(self):
        return Address(servers.HOST, "shop", "reader", servers.PASSWORD, self.port, ca=self.ca)

    def serve(self, plain):
        with suppress(OSError, EOFError), closing(plain):
            wire = Wire(plain)
            wire.send(greeting(self.capabilities))
            self.seen.append(wire.receive())
            wire.socket = self.context.wrap_socket(plain, server_side=True)
            wire.receive()
            wire.send(OK)
            while True:
                self.reply(wire, wire.receive()[1:].decode())

    def reply(self, wire, statement):
        self.asked.append(statement)
        if statement == "select connection_id()":
            wire.table(text(b"7"))
        elif statement == "select version()":
            wire.table(text(b"10.11.0-MariaDB"))
        elif "system_versioning" in statement and statement.startswith("select"):
            wire.table(text(b"DEFAULT"))
        elif "gtid" in statement:
            wire.table(text(b"0-1-1"))
        elif statement.startswith("select"):
            self.answer(wire)
        else:
            wire.send(OK)


def hostile(answer, **how):
    return serving(Hostile(answer, **how))


def failure(server, limits=None, clock=None):
    opened = MysqlStore(server.address, Table("customers"), clock or SystemClock(), limits=limits)
    with pytest.raises(StoreError) as caught, opened.read() as reading:
        list(reading)
    assert servers.PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def read(server):
    opened = MysqlStore(server.address, Table("customers"), SystemClock())
    with opened.read() as reading:
        return list(reading)


def test_an_honest_one_is_read():
    with hostile(lambda wire: wire.table(text(b"a"), text(b"b"))) as server:
        assert [row.columns for row in read(server)] == [{"id": "a"}, {"id": "b"}]


def test_no_password_goes_to_a_server_without_tls():
    with hostile(lambda wire: None, capabilities=PLAIN) as server:
        error = failure(server)
    assert error.reason == StoreReason.UNREACHABLE
    assert "no TLS" in error.message
    assert server.seen == []


def endless(make):
    def answer(wire):
        while True:
            make(wire)

    return answer


def endless_rows(wire):
    wire.table(end=None)
    endless(lambda wire: wire.send(text(b"x")))(wire)


def endless_columns(wire):
    wire.send(b"\xfe" + b"\xff" * 8)
    endless(lambda wire: wire.send(column("id")))(wire)


def long_descriptions(wire):
    wire.send(bytes([200]))
    for _ in range(200):
        names = b"".join(text(each) for each in (b"def", b"", b"", b""))
        long = b"\xfd" + (2**20).to_bytes(3, "little") + bytes(2**20)
        wire.send(names + long + text(b"") + struct.pack("<xHIBHBxx", 45, 100, VAR_STRING, 0, 0))
    wire.send(EOF_PACKET)
    wire.send(EOF_PACKET)


def a_file(wire):
    wire.send(b"\xfb/etc/passwd")
    wire.receive()
    raise AssertionError


def another_answer(wire):
    wire.table(text(b"a"), end=MORE)
    wire.table(text(b"b"))


def short_rows(wire):
    wire.table(text(b"a"), columns=("id", "domain"))


def an_ok_after_rows(wire):
    wire.table(text(b"a"), end=None)
    wire.send(OK)
    raise EOFError


def a_length_without_bytes(wire):
    wire.table(b"\xfe" + b"\xff" * 8 + b"a", end=None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (endless_rows, StoreReason.INVALID_DATA),
        (endless_columns, StoreReason.INVALID_CONFIGURATION),
        (long_descriptions, StoreReason.UNREACHABLE),
        (a_file, StoreReason.UNREACHABLE),
        (another_answer, StoreReason.INCOMPLETE),
        (short_rows, StoreReason.INCOMPLETE),
        (an_ok_after_rows, StoreReason.INCOMPLETE),
        (a_length_without_bytes, StoreReason.UNREACHABLE),
        (lambda wire: wire.send(OK), StoreReason.INVALID_CONFIGURATION),
        (lambda wire: wire.send(b""), StoreReason.UNREACHABLE),
        (lambda wire: wire.send(b"\x01"), StoreReason.INCOMPLETE),
        (lambda wire: wire.raw(b"HTTP/1.1 200 OK\r\n\r\n"), StoreReason.UNREACHABLE),
    ],
)
def test_nothing_that_is_wrong_is_a_table(answer, reason):
    with hostile(answer) as server:
        error = failure(server, Limits(rows=1000, silence=1))
    assert error.reason == reason


def test_a_packet_without_an_end_takes_little_memory_and_the_time_of_the_read():
    sent = threading.Event()

    def answer(wire):
        wire.table(end=None)
        part = bytes(2**20)
        for number in range(6):
            wire.raw(b"\xff\xff\xff" + bytes([(wire.number + number) % 256]))
            for _ in range(15):
                wire.raw(part)
            wire.raw(bytes(2**24 - 1 - 15 * 2**20))
        sent.set()
        endless(lambda wire: wire.raw(b"\xff\xff\xff"[:0]) or wire.receive())(wire)

    clock = FakeClock()

    def later():
        sent.wait(30)
        clock.advance(31)

    with hostile(answer) as server:
        tracemalloc.start()
        thread = threading.Thread(target=later)
        thread.start()
        try:
            error = failure(server, Limits(read=30), clock)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            thread.join()
    assert error.reason == StoreReason.INCOMPLETE
    # Of 96 MiB: one part, and its copy as a packet.
    assert peak < 48 * 2**20


def test_questions_before_the_read_are_bounded_too():
    class Chatty(Hostile):
        def reply(self, wire, statement):
            if statement == "select version()":
                wire.table(text(b"x"), end=MORE)
                endless_rows(wire)
            super().reply(wire, statement)

    with serving(Chatty(None)) as server:
        assert failure(server).reason == StoreReason.INCOMPLETE


def refusal(number):
    return b"\xff" + struct.pack("<H", number) + b"#HY000canary"


class Older(Hostile):
    """MySQL, without some settings."""

    unknown = ()

    def reply(self, wire, statement):
        if statement == "select version()":
            wire.table(text(b"8.4.0"))
        elif any(each in statement for each in self.unknown):
            self.asked.append(statement)
            wire.send(refusal(1193))
        else:
            super().reply(wire, statement)


def older(*unknown):
    server = Older(lambda wire: wire.table(text(b"a")))
    server.unknown = unknown
    return serving(server)


def test_a_setting_that_only_bounds_the_server_may_be_missing():
    with older("gtid_executed", "max_execution_time", "lock_wait_timeout") as server:
        assert [row.columns for row in read(server)] == [{"id": "a"}]
    assert "set session max_execution_time = 910000" in server.asked


@pytest.mark.parametrize("setting", ["time_zone", "group_concat_max_len"])
def test_a_setting_that_changes_values_must_be_there(setting):
    with older(setting) as server:
        assert failure(server).reason == StoreReason.INVALID_CONFIGURATION


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (3118, StoreReason.ACCESS_DENIED),
        (3024, StoreReason.INCOMPLETE),
        (1040, StoreReason.UNREACHABLE),
        (9999, StoreReason.INVALID_CONFIGURATION),
        (500, StoreReason.UNREACHABLE),
    ],
)
def test_errors_have_a_reason_and_no_text(number, reason):
    with hostile(lambda wire: wire.send(refusal(number))) as server:
        error = failure(server)
    assert error.reason == reason
    assert "canary" not in error.message


def test_only_a_number_is_killed():
    class Injecting(Hostile):
        def reply(self, wire, statement):
            if statement == "select connection_id()":
                self.asked.append(statement)
                wire.table(text(b"1; drop table customers"))
            else:
                super().reply(wire, statement)

    with serving(Injecting(endless_rows)) as server:
        assert failure(server, Limits(rows=10)).reason == StoreReason.INVALID_DATA
    assert not [each for each in server.asked if "kill" in each]


def test_a_large_row_that_is_cut_in_the_length_of_a_value_stops_no_other():
    def answer(wire):
        wire.table(columns=("id", "plan"), end=None)
        size = 2**24 - 1 - 5
        wire.send(b"\xfd" + size.to_bytes(3, "little") + bytes(size) + b"\xfd")
        wire.send((9).to_bytes(3, "little") + b"x" * 9)
        wire.send(text(b"b") + text(b"gold"))
        wire.send(EOF_PACKET)

    with hostile(answer) as server:
        large, small = read(server)
    assert set(large.unfit) == {"id", "plan"}
    assert small.columns == {"id": "b", "plan": "gold"}


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (1047, StoreReason.UNREACHABLE),
        *((number, StoreReason.INCOMPLETE) for number in (1021, 1030, 1037, 1038, 1041, 1114, 1412)),
    ],
)
def test_a_server_that_is_in_trouble_is_not_told_as_a_wrong_configuration(number, reason):
    said = b"\xff" + number.to_bytes(2, "little") + b"#HY000canary"
    with hostile(lambda wire: wire.send(said)) as server:
        assert failure(server).reason == reason
