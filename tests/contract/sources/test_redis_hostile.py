"""A server that speaks the protocol of Redis, and wants the reader to fail."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from contextlib import closing, suppress

import pytest

from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores.redis import Address, Hashes, Limits, RedisStore
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import servers
from tests.contract.sources.hostile import Listening, serving

FACTS = {"run_id": "a", "master_replid": "b", "role": "master", "loading": "0", "cluster_enabled": "0"}
FACTS["maxmemory_policy"] = "noeviction"


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


def many(*parts):
    return b"*%d\r\n%s" % (len(parts), b"".join(parts))


def page(*names, cursor=b"0"):
    return many(bulk(cursor), many(*map(bulk, names)))


def info(**changes):
    return bulk("".join(f"{name}:{value}\r\n" for name, value in {**FACTS, **changes}.items()).encode())


HONEST = {
    b"AUTH": b"+OK\r\n",
    b"INFO": info(),
    b"SCAN": page(b"customer:a"),
    b"HGETALL": many(bulk(b"plan"), bulk(b"x")),
}


class Hostile(Listening):
    """Answers as Redis does, but for what the test says: bytes, or what writes to the socket."""

    def __init__(self, **answers):
        self.answers = {**HONEST, **{name.encode(): answer for name, answer in answers.items()}}
        super().__init__()
        self.asked = []

    @property
    def address(self):
        return Address(servers.HOST, "reader", servers.PASSWORD, self.port, ca=self.ca)

    def serve(self, plain):
        with suppress(OSError), closing(self.context.wrap_socket(plain, server_side=True)) as wire:
            file = wire.makefile("rb")
            while line := file.readline():
                words = []
                for _ in range(int(line[1:])):
                    words.append(file.read(int(file.readline()[1:])))
                    file.readline()
                self.asked.append(words[0])
                answer = self.answers[words[0]]
                if isinstance(answer, list):
                    answer = answer.pop(0)
                if callable(answer):
                    answer(wire)
                else:
                    wire.sendall(answer)


def hostile(**answers):
    return serving(Hostile(**answers))


def store(server, limits=None, clock=None):
    return RedisStore(server.address, Hashes("customer:"), clock or SystemClock(), limits=limits)


def read(server):
    with store(server).read() as reading:
        return list(reading)


def failure(server, limits=None, clock=None):
    with pytest.raises(StoreError) as caught, store(server, limits, clock).read() as reading:
        list(reading)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value.reason


def test_an_honest_one_is_read():
    with hostile() as server:
        assert [row.columns for row in read(server)] == [{"key": "a", "plan": "x"}]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"AUTH": b"-WRONGPASS canary\r\n"}, StoreReason.ACCESS_DENIED),
        ({"AUTH": b"-" + b"x" * 2**17}, StoreReason.UNREACHABLE),
        ({"AUTH": b"HTTP/1.1 400 canary\r\n\r\n"}, StoreReason.UNREACHABLE),
        ({"AUTH": b"-ERR canary\r\n"}, StoreReason.ACCESS_DENIED),
        ({"AUTH": b"$-1\r\n"}, StoreReason.UNREACHABLE),
        ({"AUTH": b"+QUEUED\r\n"}, StoreReason.UNREACHABLE),
        ({"INFO": info(maxmemory_policy="allkeys-lru")}, StoreReason.INVALID_CONFIGURATION),
        ({"INFO": info().replace(b"policy", b"police")}, StoreReason.INVALID_CONFIGURATION),
        ({"AUTH": b"-LOADING canary\r\n"}, StoreReason.UNREACHABLE),
        ({"INFO": info(loading="1")}, StoreReason.UNREACHABLE),
        ({"INFO": info(role="slave")}, StoreReason.INVALID_CONFIGURATION),
        ({"INFO": info(cluster_enabled="1")}, StoreReason.INVALID_CONFIGURATION),
        ({"INFO": bulk(b"run_id:a\r\nrole:master\r\n")}, StoreReason.INVALID_CONFIGURATION),
        ({"INFO": b"$-1\r\n"}, StoreReason.UNREACHABLE),
        ({"INFO": b":1\r\n"}, StoreReason.UNREACHABLE),
        ({"INFO": b"$99999999999999999999999\r\n"}, StoreReason.UNREACHABLE),
        ({"SCAN": b"-MOVED 1 10.0.0.1:6379\r\n"}, StoreReason.INVALID_CONFIGURATION),
        ({"SCAN": b"-NOPERM canary\r\n"}, StoreReason.ACCESS_DENIED),
        ({"SCAN": b"*-1\r\n"}, StoreReason.UNREACHABLE),
        ({"SCAN": many(bulk(b"0"))}, StoreReason.UNREACHABLE),
        ({"SCAN": many(bulk(b"x"), many())}, StoreReason.UNREACHABLE),
        ({"SCAN": many(bulk(b"0"), many(b"$-1\r\n"))}, StoreReason.UNREACHABLE),
        ({"SCAN": many(bulk(b"0"), many(many()))}, StoreReason.UNREACHABLE),
        ({"SCAN": page(b"other:a")}, StoreReason.INVALID_DATA),
        ({"SCAN": b"*1000000000\r\n"}, StoreReason.UNREACHABLE),
        ({"HGETALL": b"-ERR canary\r\n"}, StoreReason.INVALID_CONFIGURATION),
        ({"HGETALL": b"-ASK canary\r\n"}, StoreReason.INVALID_CONFIGURATION),
        ({"HGETALL": many(bulk(b"plan"))}, StoreReason.UNREACHABLE),
        ({"HGETALL": many(bulk(b"plan"), b":1\r\n")}, StoreReason.UNREACHABLE),
        ({"HGETALL": b"+OK\r\n"}, StoreReason.UNREACHABLE),
        ({"HGETALL": b"$-1\r\n"}, StoreReason.UNREACHABLE),
        ({"HGETALL": bulk(b"x")[:-2] + b"xx"}, StoreReason.UNREACHABLE),
        ({"INFO": [info(), info(run_id="c")]}, StoreReason.INCOMPLETE),
        ({"INFO": [info(), info(master_replid="c")]}, StoreReason.INCOMPLETE),
    ],
)
def test_nothing_that_is_wrong_is_a_complete_read(answers, reason):
    with hostile(**answers) as server:
        assert failure(server, Limits(silence=1)) == reason


def test_a_hash_that_is_too_large_is_dropped():
    def large(wire):
        wire.sendall(b"*2\r\n" + bulk(b"plan") + b"$%d\r\n" % 2**26)
        for _ in range(2**6):
            wire.sendall(bytes(2**20))
        wire.sendall(b"\r\n")

    with hostile(HGETALL=[large, HONEST[b"HGETALL"]], SCAN=page(b"customer:a", b"customer:b")) as server:
        # The lists of the server's own thread count, too.
        tracemalloc.start()
        try:
            first, second = read(server)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert first.columns == {}
    assert second.columns == {"key": "b", "plan": "x"}
    assert peak < 8 * 2**20


def endless(start, part):
    def answer(wire):
        wire.sendall(start)
        while True:
            wire.sendall(part)

    return answer


@pytest.mark.parametrize(
    ("command", "start", "part"),
    [
        ("HGETALL", b"$9999999999999999\r\n", bytes(2**16)),
        ("HGETALL", b"*9999999999999999\r\n", b"$1\r\nx\r\n" * 1000),
        ("SCAN", b"*2\r\n$1\r\n1\r\n*9999999999999999\r\n", b"$1\r\nx\r\n" * 1000),
        ("INFO", b"*9999999999999999\r\n", b"+x\r\n" * 1000),
    ],
)
def test_a_reply_without_an_end_takes_no_memory_and_the_time_of_the_read(command, start, part):
    clock = FakeClock()
    with hostile(**{command: endless(start, part)}) as server:
        timer = threading.Timer(1, clock.advance, [31])
        timer.start()
        tracemalloc.start()
        try:
            assert failure(server, Limits(read=30), clock) == StoreReason.INCOMPLETE
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            timer.join()
    assert peak < 4 * 2**20


def test_a_scan_without_an_end_has_the_time_of_the_read():
    clock = FakeClock()
    with hostile(SCAN=page(cursor=b"7")) as server:
        timer = threading.Timer(1, clock.advance, [31])
        timer.start()
        assert failure(server, Limits(read=30), clock) == StoreReason.INCOMPLETE
        timer.join()


def test_a_scan_has_a_bound_of_names():
    number = itertools.count()

    def names(wire):
        found = (b"customer:%d" % next(number) + bytes(2**20) for _ in range(8))
        wire.sendall(page(*found, cursor=b"7"))

    with hostile(SCAN=names) as server:
        assert failure(server) == StoreReason.INVALID_DATA


def message(opened):
    with pytest.raises(StoreError) as caught, opened.read():
        pass
    return caught.value.message


def test_a_server_that_is_away_is_told_from_one_that_speaks_another_protocol():
    with hostile(AUTH=b"HTTP/1.1 400\r\n\r\n") as server:
        away = store(server)
        assert "does not answer as Redis" in message(away)
    assert "no connection" in message(away)
    with hostile(AUTH=lambda wire: threading.Event().wait(3)) as server:
        assert "sent nothing" in message(store(server, Limits(silence=0.5)))


def test_the_place_of_a_row_has_the_begin_of_its_key_only():
    with hostile(SCAN=page(b"customer:" + b"k" * 40), HGETALL=b"-WRONGTYPE no\r\n") as server:
        [row] = read(server)
    assert row.place == f"the hash {'k' * 16!r}"


def test_a_long_json_text_concerns_its_own_row_only():
    long = b"[" + b"0," * 2**19 + b"0]"
    both = [many(bulk(b"j"), bulk(each)) for each in (long, b"[1]")]
    what = Hashes("customer:", json=("j",))
    with (
        hostile(HGETALL=both, SCAN=page(b"customer:a", b"customer:b")) as server,
        RedisStore(server.address, what, SystemClock()).read() as reading,
    ):
        first, second = reading
    assert first.unfit == {"j": "JSON of at most 1 MiB"}
    assert second.columns["j"] == [1]
