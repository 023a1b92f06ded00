"""Redis and Valkey, read from a real Redis."""

from __future__ import annotations

import threading
import time
import tracemalloc
from dataclasses import replace

import pytest
import trustme

from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores.redis import Hashes, Limits, RedisStore
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import redis_server, servers
from tests.contract.sources.outcomes import CANARY, failure, rows

HASHES = Hashes("customer:", "id", ("domains",))


@pytest.fixture
def database(redis):
    redis.run("FLUSHALL")
    redis.run("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis.run("HSET", "customer:b", "plan", CANARY, "domains", '["b.example", "www.b.example"]')
    redis.run("HSET", "customer:a", "plan", "ä", "domains", "[]")
    redis.run("HSET", "others:c", "plan", "c")
    return redis


def store(running, what=HASHES, limits=None, clock=None, **changes):
    return RedisStore(replace(running.address, **changes), what, clock or SystemClock(), limits=limits)


def keys(opened):
    return [row["id"] for row in rows(opened)]


def fill(database, count):
    script = "for n = 1, ARGV[1] do redis.call('hset', string.format('customer:%06d', n), 'plan', 'x') end"
    database.run("EVAL", script, 0, count)


def test_hashes_come_in_the_order_of_their_keys(database):
    assert rows(store(database)) == [
        {"id": "a", "plan": "ä", "domains": []},
        {"id": "b", "plan": CANARY, "domains": ["b.example", "www.b.example"]},
    ]


def test_rows_are_in_changed_and_gone(database):
    opened = store(database)
    database.run("HSET", "customer:c", "plan", "c")
    database.run("HSET", "customer:a", "plan", "other")
    database.run("DEL", "customer:b")
    assert [(row["id"], row["plan"]) for row in rows(opened)] == [("a", "other"), ("c", "c")]


def test_no_hash_is_a_complete_reading(database):
    database.run("FLUSHALL")
    assert rows(store(database)) == []


def test_another_database(database):
    assert rows(store(database, database=3)) == []
    database.run("COPY", "customer:a", "customer:a", "DB", "3")
    assert keys(store(database, database=3)) == ["a"]
    assert failure(store(database, database=99)) == StoreReason.INVALID_CONFIGURATION


@pytest.mark.parametrize("prefix", ["other:*", "other:[ab]", "other:?", "other:\\", "other:a-", "other:^"])
def test_a_prefix_is_no_pattern(database, prefix):
    database.run("HSET", f"{prefix}x", "plan", "1")
    database.run("HSET", "other:aax", "plan", "2")
    assert rows(store(database, Hashes(prefix))) == [{"key": "x", "plan": "1"}]


def test_a_field_does_not_replace_the_key(database):
    database.run("HSET", "customer:a", "id", "b")
    database.run("HSET", "customer:b", "id", "{")
    assert keys(store(database, replace(HASHES, json=("id",)))) == ["a", "b"]


def problem(database, what=HASHES):
    with store(database, what).read() as reading:
        bad = [row for row in reading if row.unfit or not row.columns]
    assert len(bad) == 1
    return bad[0]


def test_a_key_of_another_type_is_a_row_without_a_key(database):
    database.run("SET", "customer:c:session", CANARY)
    row = problem(database)
    assert row.columns == {}
    assert row.unfit["id"].startswith("a hash below the prefix")
    assert row.place == "the hash 'c:session'"


def test_values_without_an_exact_form_concern_their_own_row_only(database):
    database.run("HSET", "customer:c", "plan", b"\xff", "domains", "[")
    row = problem(database)
    assert row.columns == {"id": "c"}
    assert set(row.unfit) == {"plan", "domains"}
    database.run("DEL", "customer:c")
    database.run("HSET", b"customer:\xff", "plan", "x")
    assert list(problem(database).unfit) == ["id"]


def test_odd_names_of_fields_concern_their_own_row_only(database):
    database.run("HSET", "customer:c", b"\xff", "x", "", "y")
    row = problem(database)
    assert row.columns == {"id": "c", "": "y"}


def test_large_hashes_concern_their_own_row_only(database):
    database.run("HSET", "customer:c", *(f"f{n // 2}" for n in range(402)))
    assert problem(database).columns == {}
    database.run("HDEL", "customer:c", "f0")
    assert len(rows(store(database))[2]) == 201
    database.run("EVAL", "redis.call('hset', 'customer:c', 'plan', string.rep('x', 2^25))", 0)
    assert problem(database).columns == {}
    database.run("DEL", "customer:c")
    database.run("EVAL", "for n = 1, 140000 do redis.call('hset', 'customer:c', n, n) end", 0)
    assert problem(database).columns == {}
    database.run("DEL", "customer:c")
    database.run("HSET", "customer:" + "x" * 1100, "plan", "x")
    assert problem(database).columns == {}


def test_an_address_does_not_show_its_password(database):
    assert servers.PASSWORD not in repr(database.address)


def test_wrong_credentials_are_access_denied(database):
    assert failure(store(database, password="canary-wrong")) == StoreReason.ACCESS_DENIED
    assert failure(store(database, user="absent")) == StoreReason.ACCESS_DENIED
    assert failure(store(database, Hashes("others:"))) == StoreReason.ACCESS_DENIED


@pytest.mark.parametrize("command", ["info", "scan", "hgetall"])
def test_a_missing_right_is_access_denied(database, command):
    database.run("ACL", "SETUSER", "reader", f"-{command}")
    try:
        assert failure(store(database)) == StoreReason.ACCESS_DENIED
    finally:
        database.run("ACL", "SETUSER", "reader", f"+{command}")


def test_a_rotated_password(database):
    opened = store(database)
    assert len(rows(opened)) == 2
    database.run("ACL", "SETUSER", "reader", "resetpass", ">ändërung€")
    try:
        assert failure(opened) == StoreReason.ACCESS_DENIED
        assert len(rows(store(database, password="ändërung€"))) == 2
    finally:
        database.run("ACL", "SETUSER", "reader", "resetpass", f">{servers.PASSWORD}")


def test_tls_is_verified(database):
    other = trustme.CA().cert_pem.bytes().decode()
    assert failure(store(database, ca=other)) == StoreReason.UNREACHABLE
    assert failure(store(database, ca=None)) == StoreReason.UNREACHABLE
    assert failure(store(database, host="127.0.0.1")) == StoreReason.UNREACHABLE
    # It waits for the end of a line.
    assert (
        failure(store(database, port=database.plain, limits=Limits(connect=0.5))) == StoreReason.UNREACHABLE
    )


@pytest.mark.parametrize(
    "change", [{"host": "/tmp"}, {"host": "a,b"}, {"user": "a\0"}, {"password": "a\r\n"}]
)
def test_only_one_host_and_printable_names(database, change):
    with pytest.raises(StoreError) as caught:
        store(database, **change)
    assert caught.value.reason == StoreReason.INVALID_CONFIGURATION


def test_a_server_that_drops_keys_is_refused(database):
    database.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert failure(store(database)) == StoreReason.INVALID_CONFIGURATION
    database.run("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    assert len(rows(store(database))) == 2


def test_a_replica_is_refused_also_if_it_becomes_one_amid_a_read(database):
    fill(database, 500)
    try:
        with store(database).read() as reading:
            found = iter(reading)
            next(found)
            database.run("REPLICAOF", "127.0.0.1", "1")
            with pytest.raises(StoreError):
                list(found)
        assert failure(store(database)) == StoreReason.INVALID_CONFIGURATION
    finally:
        database.run("REPLICAOF", "NO", "ONE")
    assert len(rows(store(database))) == 502


def test_a_fail_over_and_back_amid_a_read_is_seen(database):
    fill(database, 500)
    with store(database).read() as reading:
        found = iter(reading)
        next(found)
        database.run("REPLICAOF", "127.0.0.1", "1")
        database.run("REPLICAOF", "NO", "ONE")
        with pytest.raises(StoreError) as caught:
            list(found)
    assert caught.value.reason == StoreReason.INCOMPLETE


def test_a_node_of_a_cluster_is_refused(packages, scratch):
    # The other nodes' port would else be 10000 higher, which may not be a port.
    cluster = ("--cluster-enabled", "yes", "--cluster-port", str(servers.free_port()))
    with redis_server.redis(packages, scratch / "redis-cluster", *cluster) as node:
        assert failure(store(node)) == StoreReason.INVALID_CONFIGURATION


def test_a_server_that_stops_amid_a_reading(database):
    fill(database, 50_000)
    try:
        with store(database).read() as reading:
            found = iter(reading)
            next(found)
            database.kill()
            with pytest.raises(StoreError) as caught:
                list(found)
        assert caught.value.reason == StoreReason.INCOMPLETE
        assert failure(store(database)) == StoreReason.UNREACHABLE
    finally:
        database.start()
    assert rows(store(database)) == []


@pytest.mark.parametrize("read", [0, 1, 100, 150, 499])
def test_a_connection_cut_at_any_row_never_ends_normally(database, read):
    fill(database, 500)
    with store(database).read() as reading:
        found = iter(reading)
        for _ in range(read):
            next(found)
        database.run("CLIENT", "KILL", "USER", "reader")
        with pytest.raises(StoreError) as caught:
            list(found)
    assert caught.value.reason == (StoreReason.INCOMPLETE if read else StoreReason.UNREACHABLE)


def test_keys_that_are_there_all_the_time_are_found_while_others_come_and_go(database):
    fill(database, 2000)
    done = threading.Event()

    def churn():
        n = 0
        while not done.is_set():
            n += 1
            script = (
                "for n = 1, 2000 do redis.call('hset', 'customer:t' .. ARGV[1] .. n, 'a', 1) end"
                " for n = 1, 2000 do redis.call('del', 'customer:t' .. (ARGV[1] - 1) .. n) end"
            )
            database.run("EVAL", script, 0, n)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(5):
            assert len([key for key in keys(store(database)) if key[0] == "0"]) == 2000
    finally:
        done.set()
        thread.join()


def test_a_hash_that_is_written_anew_is_not_gone(database, monkeypatch):
    with store(database).read() as reading:
        original, asked = reading._wire.send, []

        def send(commands):
            # The writer has deleted it, and writes it before the reader asks again.
            asked.append(commands)
            if commands[0][0] == b"HGETALL":
                removed = len(asked) and b"customer:a" in {each[1] for each in commands} and len(commands) > 1
                database.run(*(("DEL", "customer:a") if removed else ("HSET", "customer:a", "plan", "new")))
            original(commands)

        monkeypatch.setattr(reading._wire, "send", send)
        found = {row.columns["id"]: row.columns["plan"] for row in reading}
    assert found == {"b": CANARY, "a": "new"}


def test_a_key_that_only_one_scan_finds_is_a_row(database, monkeypatch):
    with store(database).read() as reading:
        original, scans = reading._wire.ask, []

        def ask(*words):
            if words[0] == b"SCAN":
                scans.append(words)
                database.run(
                    *(("DEL", "customer:a") if len(scans) == 1 else ("HSET", "customer:a", "plan", "new"))
                )
            return original(*words)

        monkeypatch.setattr(reading._wire, "ask", ask)
        assert [row.columns["id"] for row in reading] == ["a", "b"]


def test_a_slow_server_has_its_time(database):
    database.run("ACL", "SETUSER", "reader", "+debug")
    clock = FakeClock()
    with store(database, limits=Limits(read=30), clock=clock).read() as reading:
        stopped = threading.Thread(target=database.run, args=("DEBUG", "SLEEP", "3"))
        stopped.start()
        time.sleep(0.2)
        timer = threading.Timer(0.2, clock.advance, [31])
        timer.start()
        began = time.monotonic()
        with pytest.raises(StoreError):
            list(reading)
        assert time.monotonic() - began < 2.5
    stopped.join()


def test_a_server_that_says_nothing_has_its_time(database):
    stopped = threading.Thread(target=database.run, args=("DEBUG", "SLEEP", "3"))
    stopped.start()
    time.sleep(0.2)
    began = time.monotonic()
    assert failure(store(database, limits=Limits(connect=0.3, silence=0.3))) == StoreReason.UNREACHABLE
    assert time.monotonic() - began < 2.5
    stopped.join()


def test_too_many_rows_are_refused(database):
    assert failure(store(database, limits=Limits(rows=1))) == StoreReason.INVALID_DATA


def test_fifty_thousand_rows_in_bounded_memory(database):
    fill(database, 50_000)
    tracemalloc.start()
    try:
        with store(database).read() as reading:
            count = sum(1 for _ in reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_002
    # The names.
    assert peak < 12 * 2**20


def test_an_error_of_the_caller_passes(database):
    with pytest.raises(ConnectionResetError), store(database).read():
        raise ConnectionResetError
