"""PostgreSQL, read from a real server."""

from __future__ import annotations

import itertools
import threading
import time
import tracemalloc
from dataclasses import replace

import pytest
import trustme

from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores.postgresql import Limits, Listener, PostgresStore, Query, Table, goes_back
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import servers
from tests.contract.sources.outcomes import CANARY, failure, rows


@pytest.fixture
def table(database):
    database.run(
        "drop table if exists customers cascade",
        "create table customers (key text primary key, domain text, plan text)",
        "grant select, delete on customers to reader",
        f"insert into customers values ('b', 'b.example', '{CANARY}'), ('a', 'ä.example', null)",
    )
    return Table("customers")


def store(running, what, limits=None, clock=None, **changes):
    return PostgresStore(
        replace(running.address, **changes), what, clock or SystemClock(), order_by="key", limits=limits
    )


def fill(database, count=50_000):
    database.run(
        "truncate customers",
        f"insert into customers select to_char(n, 'FM000000'), n || '.example', '{CANARY}'"
        f" from generate_series(1, {count}) n",
    )


def test_all_rows_come_in_the_order_of_the_key(database, table):
    assert rows(store(database, table)) == [
        {"key": "a", "domain": "ä.example", "plan": None},
        {"key": "b", "domain": "b.example", "plan": CANARY},
    ]


def test_chosen_columns_come_with_versions(database, table):
    with store(database, replace(table, columns=("key",), versions=True)).read() as reading:
        found = list(reading)
    assert [list(row.columns) for row in found] == [["key"], ["key"]]
    assert all(row.version and row.version.isdigit() for row in found)


def test_an_empty_table_is_a_complete_reading(database, table):
    database.run("truncate customers")
    assert rows(store(database, table)) == []


def test_a_query_may_hold_percent_signs_casts_and_a_comment(database, table):
    query = Query("select key, 5::text as n from customers where key like '%' -- all;\n;")
    assert rows(store(database, query)) == [{"key": "a", "n": "5"}, {"key": "b", "n": "5"}]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("1.50::numeric", 1.5),
        ("12345678901234567890::numeric", 12345678901234567890),
        ("9007199254740993::bigint", 9007199254740993),
        ("true", True),
        ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("'2026-01-02 03:04:05+02'::timestamptz", "2026-01-02T01:04:05Z"),
        ("'2026-01-02 03:04:05'::timestamp", "2026-01-02T03:04:05"),
        ("'2026-01-02'::date", "2026-01-02"),
        ("array['a', null]", ["a", None]),
        ("array[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("""'{"a": [1, {"b": null}]}'::jsonb""", {"a": [1, {"b": None}]}),
        ("'\\xdeadbeef'::bytea", "3q2+7w=="),
        ("'10.0.0.1'::inet", "10.0.0.1"),
        ("'Ünïcode \U0001f600'", "Ünïcode \U0001f600"),
        ("null", None),
    ],
)
def test_types_become_those_of_json(database, table, query, expected):
    (found,) = rows(store(database, Query(f"select 'k' as key, {query} as value")))
    assert found["value"] == expected
    assert type(found["value"]) is type(expected)


def test_an_enum_becomes_text(database, table):
    database.run("drop type if exists mood", "create type mood as enum ('ok')")
    assert rows(store(database, Query("select 'k' as key, 'ok'::mood as value")))[0]["value"] == "ok"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("'NaN'::numeric", "a finite number"),
        ("'infinity'::float8", "a finite number"),
        ("0.1234567890123456789012345::numeric", "a number with fewer digits"),
        ("('1' || repeat('0', 5000))::numeric", "a number with fewer digits"),
        ("interval '1 day'", "a value that JSON has, not one of type timedelta"),
        ("'infinity'::timestamptz", "a time in the years 1 to 9999"),
        ("'infinity'::timestamp", "a time in the years 1 to 9999"),
        ("'0044-03-15 BC'::date", "a time in the years 1 to 9999"),
        ("array['2026-01-01'::date, '10000-01-01'::date]", "a time in the years 1 to 9999"),
        ("time '24:00'", "a time in the years 1 to 9999"),
        ("int4range(1, 5)", "a value that JSON has, not one of type Range"),
        ("('[' || repeat('[', 20) || repeat(']', 20) || ']')::jsonb", "lists and objects"),
        ("('[' || repeat('[', 3000) || repeat(']', 3000) || ']')::jsonb", "lists and objects"),
        ("('[' || repeat('0,', 524288) || '0]')::jsonb", "JSON of at most 1 MiB"),
        ("('[1' || repeat('0', 5000) || ']')::jsonb", "a number with fewer digits"),
        ("""'{"a": 1, "a": 2}'::json""", "names that are not repeated"),
    ],
)
def test_a_value_without_an_exact_form_concerns_its_own_row_only(database, table, value, expected):
    query = Query(
        f"select n::text as key, case when n = 1 then {value} end as value from generate_series(1, 2) n"
    )
    with store(database, query).read() as reading:
        bad, good = reading
    assert bad.columns == {"key": "1"}
    assert bad.unfit["value"].startswith(expected)
    assert good.columns == {"key": "2", "value": None}


def test_a_time_after_the_batch_of_a_bad_one_is_read(database, table):
    day = "case when n = 700 then 'infinity' else date '2026-01-01' + n end as day"
    query = Query(f"select n::text as key, {day} from generate_series(1, 1500) n")
    with PostgresStore(database.address, query, SystemClock()).read() as reading:
        found = list(reading)
    assert [row.columns["key"] for row in found if row.unfit] == ["700"]
    assert found[1].columns["day"] == "2026-01-03"


def test_what_the_database_says_of_a_value_is_not_shown(database, table):
    query = Query("select key, plan::int as number from customers where plan is not null")
    assert failure(store(database, query)) == StoreReason.INVALID_DATA


def test_an_address_does_not_show_its_password(database):
    assert servers.PASSWORD not in repr(database.address)


def test_two_columns_of_one_name_are_refused(database, table):
    query = Query("select key, domain, domain as domain from customers")
    assert failure(store(database, query)) == StoreReason.INVALID_CONFIGURATION


@pytest.mark.parametrize(
    "query",
    [
        "with gone as (delete from customers returning *) select * from gone",
        "delete from customers returning key",
        "select key from customers; delete from customers",
        (
            "select key from customers) as a; commit; begin read write; delete from customers;"
            " select * from (select 1 as key"
        ),
    ],
)
def test_a_query_that_writes_is_refused(database, table, query):
    assert failure(store(database, Query(query))) == StoreReason.INVALID_CONFIGURATION
    assert len(rows(store(database, table))) == 2


def test_a_function_that_writes_is_refused(database, table):
    database.run(
        "create or replace function wipe() returns text language sql security definer as"
        " 'delete from customers returning key'"
    )
    assert failure(store(database, Query("select wipe() as key"))) == StoreReason.INVALID_CONFIGURATION
    assert len(rows(store(database, table))) == 2


def test_wrong_credentials_are_access_denied(database, table):
    assert failure(store(database, table, password="canary-wrong")) == StoreReason.ACCESS_DENIED
    database.run("revoke select on customers from reader")
    assert failure(store(database, table)) == StoreReason.ACCESS_DENIED


def test_a_rotated_password(database, table):
    opened = store(database, table)
    assert len(rows(opened)) == 2
    database.run("alter role reader password 'another'")
    try:
        assert failure(opened) == StoreReason.ACCESS_DENIED
        assert len(rows(store(database, table, password="another"))) == 2
    finally:
        database.run(f"alter role reader password '{servers.PASSWORD}'")


def test_tls_is_verified(database, table):
    other = trustme.CA().cert_pem.bytes().decode()
    assert failure(store(database, table, ca=other)) == StoreReason.UNREACHABLE
    assert failure(store(database, table, ca=None)) == StoreReason.UNREACHABLE
    assert failure(store(database, table, host="127.0.0.1")) == StoreReason.UNREACHABLE


@pytest.mark.parametrize("host", ["/tmp", "a,b", "", "a b", "@abstract"])
def test_only_one_host_is_a_host(database, host):
    with pytest.raises(StoreError) as caught:
        store(database, Table("customers"), host=host)
    assert caught.value.reason == StoreReason.INVALID_CONFIGURATION


@pytest.mark.parametrize("what", ["database", "user", "password"])
def test_a_nul_does_not_cut_the_checks_of_tls_off(database, what):
    with pytest.raises(StoreError) as caught:
        store(database, Table("customers"), **{what: "shop\0"})
    assert caught.value.reason == StoreReason.INVALID_CONFIGURATION
    assert what in caught.value.message
    assert "shop" not in caught.value.message


def test_missing_things_are_configuration(database, table):
    for what in (Table("absent"), replace(table, columns=("key", "absent")), Query("select nonsense")):
        assert failure(store(database, what)) == StoreReason.INVALID_CONFIGURATION
    assert failure(store(database, table, database="absent")) == StoreReason.INVALID_CONFIGURATION


def test_a_column_that_goes_fails_the_next_reading(database, table):
    opened = store(database, replace(table, columns=("key", "plan")))
    rows(opened)
    database.run("alter table customers drop column plan")
    assert failure(opened) == StoreReason.INVALID_CONFIGURATION


def test_a_statement_has_its_time(database, table):
    opened = store(database, Query("select 'k' as key, pg_sleep(20)::text"), Limits(statement=0.2))
    assert failure(opened) == StoreReason.INCOMPLETE


def test_a_lock_on_rows_does_not_block_and_one_on_the_table_has_its_time(database, table):
    database.run("drop table if exists other")
    with servers.psycopg.connect(
        host="127.0.0.1", port=database.port, dbname="shop", user=servers.OWNER, sslmode="disable"
    ) as connection:
        connection.execute("update customers set plan = 'other'")
        assert rows(store(database, table))[1]["plan"] == CANARY
        connection.execute("lock table customers in access exclusive mode")
        assert failure(store(database, table, Limits(statement=0.2))) == StoreReason.INCOMPLETE
        connection.rollback()


def test_a_reading_is_one_snapshot(database, table):
    fill(database, 2000)
    with store(database, table).read() as reading:
        found = iter(reading)
        next(found)
        database.run("delete from customers where key > '000001'")
        assert sum(1 for _ in found) == 1999


@pytest.mark.parametrize("read", [0, 1, 499, 500, 501, 1500])
def test_a_connection_cut_at_any_row_never_ends_normally(database, table, read):
    fill(database, 2000)
    with store(database, table).read() as reading:
        found = iter(reading)
        assert len(list(itertools.islice(found, read))) == read
        database.run("select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'reader'")
        with pytest.raises(StoreError) as caught:
            list(found)
    assert caught.value.reason == (StoreReason.INCOMPLETE if read else StoreReason.UNREACHABLE)


def test_a_server_that_stops_amid_a_reading(database, table):
    fill(database, 2000)
    try:
        with store(database, table).read() as reading:
            found = iter(reading)
            next(found)
            database.kill()
            with pytest.raises(StoreError) as caught:
                list(found)
        assert caught.value.reason == StoreReason.INCOMPLETE
        assert failure(store(database, table)) == StoreReason.UNREACHABLE
    finally:
        database.start()
    assert len(rows(store(database, table))) == 2000


def test_a_reading_has_its_time(database, table):
    clock = FakeClock()
    with store(database, table, Limits(read=30), clock).read() as reading:
        timer = threading.Timer(0.3, clock.advance, [31])
        reading._statement = "select 'k' as key, pg_sleep(20)::text"
        timer.start()
        with pytest.raises(StoreError):
            list(reading)


def backends(database):
    return len(database.run("select pid from pg_stat_activity where usename = 'reader' and state = 'active'"))


def test_a_query_that_is_cut_ends_on_the_server(database, table):
    clock = FakeClock()
    with store(database, table, Limits(read=30), clock).read() as reading:
        reading._statement = "select 'k' as key, pg_sleep(20)::text"
        timer = threading.Timer(0.5, clock.advance, [31])
        timer.start()
        with pytest.raises(StoreError):
            list(reading)
        end = time.monotonic() + 5
        while backends(database) and time.monotonic() < end:
            time.sleep(0.05)
        assert not backends(database)


def test_the_server_ends_what_its_client_left(database, table):
    settings = Query(
        "select name as key, setting from pg_settings where name in ('client_connection_check_interval',"
        " 'idle_in_transaction_session_timeout', 'transaction_timeout')"
    )
    found = {row["key"]: row["setting"] for row in rows(store(database, settings, Limits(read=100)))}
    assert found["client_connection_check_interval"] == "10000"
    assert found["idle_in_transaction_session_timeout"] == "70000"
    assert found.get("transaction_timeout", "110000") == "110000"


def test_nothing_is_set_for_other_clients_of_the_connection_after_the_read(database, table):
    opened = store(database, table, Limits(read=100, statement=50))
    connection = opened._engine.connect()
    with connection:
        opened._begun(connection)
        shown = [
            connection.exec_driver_sql(f"show {name}").scalar_one()
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        ]
        connection.rollback()
        after = [
            connection.exec_driver_sql(f"show {name}").scalar_one()
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        ]
    assert shown == ["50s", "1min"]
    assert after == ["0", "0"]


def test_the_environment_of_the_process_is_ignored(database, table, monkeypatch):
    hostile = {
        "PGHOSTADDR": "203.0.113.1", "PGSERVICE": "absent", "PGSERVICEFILE": "/dev/null",
        "PGTZ": "Asia/Tokyo",
        "PGOPTIONS": "-c statement_timeout=1", "PGSSLMODE": "disable", "PGDATESTYLE": "German",
        "PGREQUIREAUTH": "none", "PGCHANNELBINDING": "require", "PGTARGETSESSIONATTRS": "standby",
        "PGSSLNEGOTIATION": "direct", "PGMAXPROTOCOLVERSION": "9", "PGCONNECT_TIMEOUT": "x",
    }  # fmt: skip
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    settings = "current_setting('timezone') as zone, current_setting('datestyle') as style"
    query = Query(f"select 'k' as key, {settings}")
    (found,) = rows(store(database, query))
    assert found["zone"] != "Asia/Tokyo"
    assert "German" not in found["style"]


def test_batches_shrink_if_rows_are_large(database, table, monkeypatch):
    fetched = []
    original = servers.psycopg.ServerCursor.fetchmany

    def fetchmany(cursor, size):
        fetched.append(size)
        return original(cursor, size)

    monkeypatch.setattr(servers.psycopg.ServerCursor, "fetchmany", fetchmany)
    large = Query("select n::text as key, repeat('x', 2000000) from generate_series(1, 20) n")
    assert len(rows(store(database, large))) == 20
    # The dialect itself fetches the first row.
    assert fetched[:4] == [1, 9, 2, 2]
    fetched.clear()
    fill(database, 2000)
    assert len(rows(store(database, table))) == 2000
    assert fetched[:6] == [1, 9, 50, 250, 500, 500]


def test_too_many_rows_are_refused(database, table):
    assert failure(store(database, table, Limits(rows=1))) == StoreReason.INVALID_DATA


def test_fifty_thousand_rows_in_bounded_memory(database, table):
    fill(database)
    opened = store(database, table)
    rows(store(database, Query("select 'k' as key")))
    tracemalloc.start()
    try:
        with opened.read() as reading:
            count = sum(1 for _ in reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert peak < 8 * 2**20


def test_an_error_of_the_caller_passes(database, table):
    with pytest.raises(ConnectionResetError), store(database, table).read():
        raise ConnectionResetError


def position(opened):
    with opened.read() as reading:
        list(reading)
        return reading.position


def test_a_replica_that_is_behind_is_seen(database, table, scratch):
    with servers.replica(database, scratch / "replica") as behind:
        behind.run("select pg_wal_replay_pause()")
        fill(database, 10)
        newer = position(store(database, table))
        older = position(store(behind, table))
        assert goes_back(older, newer)
        assert not goes_back(newer, older)
        behind.run("select pg_wal_replay_resume()")
        end = time.monotonic() + 20
        while goes_back(position(store(behind, table)), newer) and time.monotonic() < end:
            time.sleep(0.1)
        assert len(rows(store(behind, table))) == 10


def test_a_notification_wakes_also_after_the_server_was_away(database, table):
    woken = threading.Semaphore(0)
    listener = Listener(database.address, "Customers", woken.release, SystemClock())
    listener.start()
    try:
        assert woken.acquire(timeout=10)
        database.run("""notify "Customers", 'x'""")
        assert woken.acquire(timeout=10)
        database.kill()
        database.start()
        assert woken.acquire(timeout=20)
    finally:
        started = time.monotonic()
        listener.close()
    assert time.monotonic() - started < 3
    assert not listener._thread.is_alive()
