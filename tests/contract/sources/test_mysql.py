"""MySQL and MariaDB, read from a real MariaDB."""

from __future__ import annotations

import itertools
import threading
import time
import tracemalloc
from contextlib import closing
from dataclasses import replace

import pytest
import trustme

from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores import mysql
from sources.stores.mysql import Limits, MysqlStore, Query, Table, goes_back
from sources.stores.store import StoreError, StoreReason
from tests.contract.sources import mariadb, servers
from tests.contract.sources.outcomes import CANARY, failure, rows


@pytest.fixture
def database(mysql):
    return mysql


@pytest.fixture
def table(database):
    database.run(
        "drop table if exists customers",
        "create table customers (id varchar(64) primary key, domain text, plan text)",
        "grant select, delete on shop.* to 'reader'@'127.0.0.1'",
        f"insert into customers values ('b', 'b.example', '{CANARY}'), ('a', 'ä.example', null)",
    )
    return Table("customers")


def store(running, what, limits=None, clock=None, json=(), order="id", **changes):
    address = replace(running.address, **changes)
    return MysqlStore(address, what, clock or SystemClock(), json=json, order_by=order, limits=limits)


def fill(database, count=50_000):
    database.run(
        "truncate customers",
        f"insert into customers select lpad(seq, 6, '0'), concat(seq, '.example'), '{CANARY}'"
        f" from seq_1_to_{count}",
    )


def test_all_rows_come_in_the_order_of_the_key(database, table):
    assert rows(store(database, table)) == [
        {"id": "a", "domain": "ä.example", "plan": None},
        {"id": "b", "domain": "b.example", "plan": CANARY},
    ]


def test_chosen_columns(database, table):
    assert rows(store(database, replace(table, columns=("id",)))) == [{"id": "a"}, {"id": "b"}]


def test_an_empty_table_is_a_complete_reading(database, table):
    database.run("truncate customers")
    assert rows(store(database, table)) == []


def test_a_query_may_hold_percent_signs_and_comments(database, table):
    query = Query("select id, '5' as n from customers where id like '%' # all\n -- ;\n;")
    assert rows(store(database, query)) == [{"id": "a", "n": "5"}, {"id": "b", "n": "5"}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.50", 1.5),
        ("12345678901234567890", 12345678901234567890),
        ("cast(18446744073709551615 as unsigned)", 18446744073709551615),
        ("12345678901234567890123.0", 12345678901234567890123),
        ("1e0 / 4", 0.25),
        ("timestamp '2026-01-02 03:04:05'", "2026-01-02T03:04:05"),
        ("date '2026-01-02'", "2026-01-02"),
        ("time '23:59:58'", "23:59:58"),
        ("unhex('deadbeef')", "3q2+7w=="),
        ("'Ünïcode \U0001f600'", "Ünïcode \U0001f600"),
        ("''", ""),
        ("null", None),
    ],
)
def test_types_become_those_of_json(database, table, value, expected):
    (found,) = rows(store(database, Query(f"select 'k' as id, {value} as value")))
    assert found["value"] == expected
    assert type(found["value"]) is type(expected)


COLUMNS = [
    ("boolean", "1", True),
    ("boolean", "0", False),
    ("tinyint", "1", 1),
    ("bit(1)", "1", True),
    ("bit(12)", "b'100000000001'", 2049),
    ("year", "2026", 2026),
    ("enum('ok', 'no')", "'ok'", "ok"),
    ("set('a', 'b')", "'a,b'", "a,b"),
    ("timestamp", "'2026-01-02 03:04:05'", "2026-01-02T03:04:05Z"),
    ("datetime(6)", "'2026-01-02 03:04:05.25'", "2026-01-02T03:04:05.250000"),
    ("double", "0.1", 0.1),
    ("bigint", "-9007199254740993", -9007199254740993),
    ("uuid", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("inet6", "'2001:db8::1'", "2001:db8::1"),
    ("longtext", f"repeat('x', {2**21})", "x" * 2**21),
]


@pytest.mark.parametrize(("kind", "value", "expected"), COLUMNS, ids=[each[0] for each in COLUMNS])
def test_columns_become_those_of_json(database, table, kind, value, expected):
    database.run(
        "drop table if exists typed",
        f"create table typed (id int, value {kind})",
        "set time_zone = '+00:00'",
        f"insert into typed values (1, {value})",
    )
    (found,) = rows(store(database, Table("typed")))
    assert found["value"] == expected
    assert type(found["value"]) is type(expected)


def test_text_that_holds_json_becomes_lists_and_objects(database, table):
    values = """'["a", {"b": null}]' as value, json_arrayagg(id) as names, null as none, 5 as number"""
    query = Query(f"select 'k' as id, {values} from customers")
    names = ("value", "names", "none", "number")
    (found,) = rows(store(database, query, json=names))
    assert found == {"id": "k", "value": ["a", {"b": None}], "names": ["a", "b"], "none": None, "number": 5}
    assert failure(store(database, query, json=("absent",))) == StoreReason.INVALID_CONFIGURATION


def test_a_limit_of_the_server_cuts_no_read(database, table):
    fill(database, 10)
    database.run("set global sql_select_limit = 2")
    try:
        assert len(rows(store(database, table))) == 10
        assert len(rows(store(database, Query("select id from customers")))) == 10
    finally:
        database.run("set global sql_select_limit = default")


def test_a_time_that_the_server_has_for_versioned_tables_hides_no_row(database, table):
    database.run("alter table customers add system versioning")
    database.run("set global system_versioning_asof = '2020-01-01 00:00:00'")
    try:
        assert len(database.run("select * from customers")) == 0
        assert len(rows(store(database, table))) == 2
    finally:
        database.run("set global system_versioning_asof = default")


def test_a_server_that_goes_on_to_show_former_rows_is_refused(database, table, monkeypatch):
    real = mysql._try

    def tried(connection, statement):
        return real(connection, statement) if "= default" not in statement else None

    monkeypatch.setattr(mysql, "_try", tried)
    database.run("set global system_versioning_asof = '2020-01-01 00:00:00'")
    try:
        assert failure(store(database, table)) == StoreReason.INVALID_CONFIGURATION
    finally:
        database.run("set global system_versioning_asof = default")


@pytest.mark.parametrize("setting", ["sql_select_limit = 1", "system_versioning_asof = '2020-01-01'"])
def test_a_setting_of_the_session_hides_no_row(database, table, setting):
    database.run(f'set global init_connect = "set session {setting}"')
    try:
        assert len(rows(store(database, table))) == 2
    finally:
        database.run("set global init_connect = ''")


def test_a_long_list_is_not_cut(database, table):
    fill(database, 1000)
    query = Query("select 'k' as id, json_arrayagg(concat(id, repeat('x', 900))) as value from customers")
    database.run("set global group_concat_max_len = 1024")
    try:
        (found,) = rows(store(database, query, json=("value",)))
    finally:
        database.run("set global group_concat_max_len = default")
    assert len(found["value"]) == 1000


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("date", "'0000-00-00'", "a time in the years 1 to 9999"),
        ("datetime", "'2026-00-01'", "a time in the years 1 to 9999"),
        ("time", "'100:00:00'", "a time of a day"),
        ("time", "'-01:00:00'", "a time of a day"),
        ("boolean", "2", "0 or 1"),
        ("float", "16777217", "a DOUBLE or DECIMAL"),
        ("decimal(60, 30)", "0.1234567890123456789012345", "a number with fewer digits"),
        ("json", "'[1]'", None),
        ("longtext", f"repeat('x', {2**24})", "a row of less than 16 MiB"),
    ],
)
def test_a_value_without_an_exact_form_concerns_its_own_row_only(database, table, kind, value, expected):
    database.run(
        "drop table if exists typed",
        f"create table typed (value {kind}, id int)",
        f"insert ignore into typed values ({value}, 1)",
        "insert into typed values (null, 2)",
    )
    with store(database, Table("typed")).read() as reading:
        bad, good = reading
    assert good.columns == {"id": 2, "value": None}
    if expected is None:
        assert bad.columns["value"] == "[1]"
    else:
        assert bad.unfit["value"].startswith(expected)
        assert bad.columns.get("id", 1) == 1


@pytest.mark.parametrize("text", ["[", "{'a': 1}", "[" * 3000 + "]" * 3000, "NaN", '{"a": 1, "a": 2}'])
def test_text_that_is_no_json_concerns_its_own_row_only(database, table, text):
    query = Query(f"""select 1 as id, '{text.replace("'", "''")}' as value union all select 2, '[]'""")
    with store(database, query, json=("value",)).read() as reading:
        bad, good = reading
    assert list(bad.unfit) == ["value"]
    assert good.columns["value"] == []


def test_what_the_database_says_of_a_value_is_not_shown(database, table):
    query = Query("select id, exp(length(plan) * 1000) as number from customers where plan is not null")
    assert failure(store(database, query)) == StoreReason.INVALID_DATA
    query = Query("select id, extractvalue('<a/>', concat('~', plan)) as value from customers")
    assert failure(store(database, query)) == StoreReason.INVALID_CONFIGURATION


def test_an_address_does_not_show_its_password(database):
    assert servers.PASSWORD not in repr(database.address)


def test_two_columns_of_one_name_are_refused(database, table):
    query = Query("select id, domain, domain as domain from customers")
    assert failure(store(database, query)) == StoreReason.INVALID_CONFIGURATION


def test_too_many_columns_are_refused(database, table):
    many = ", ".join(f"{n} as c{n}" for n in range(200))
    assert failure(store(database, Query(f"select 'k' as id, {many}"))) == StoreReason.INVALID_CONFIGURATION
    fewer = many.rpartition(", ")[0]
    assert len(rows(store(database, Query(f"select 'k' as id, {fewer}")))) == 1


@pytest.mark.parametrize(
    "query",
    [
        "delete from customers returning id",
        "select id from customers; delete from customers",
        "select 1) as a; delete from customers; select * from (select 1 as id",
        "select 1 as id into outfile '/tmp/x'",
        "select 1 as id) as a into outfile '/tmp/x' /*",
        "select 1 as id) as a into @x /*!99999 ",
        "load data local infile '/etc/passwd' into table customers",
    ],
)
def test_a_query_that_writes_is_refused(database, table, query):
    assert failure(store(database, Query(query))) == StoreReason.INVALID_CONFIGURATION
    assert len(rows(store(database, table))) == 2


def test_a_function_that_writes_is_refused(database, table):
    database.run(
        "drop function if exists wipe",
        "create function wipe() returns int deterministic modifies sql data"
        " begin delete from customers; return 1; end",
        "grant execute on shop.* to 'reader'@'127.0.0.1'",
    )
    assert failure(store(database, Query("select wipe() as id"))) == StoreReason.INVALID_CONFIGURATION
    assert len(rows(store(database, table))) == 2


@pytest.mark.parametrize(
    "name", ["cust`omers", "x`; delete from customers; #", "a.b", 'quo"te', "ünï \\ 'q'"]
)
def test_names_are_names(database, table, name):
    quoted = "`" + name.replace("`", "``") + "`"
    database.run(
        f"drop table if exists {quoted}",
        f"create table {quoted} (id int, {quoted} int)",
        f"insert into {quoted} values (1, 2)",
    )
    assert rows(store(database, Table(name, (name, "id")))) == [{name: 2, "id": 1}]
    database.run(f"drop table {quoted}")
    assert failure(store(database, Table(name))) == StoreReason.INVALID_CONFIGURATION
    assert len(rows(store(database, table))) == 2


def test_wrong_credentials_are_access_denied(database, table):
    assert failure(store(database, table, password="canary-wrong")) == StoreReason.ACCESS_DENIED
    assert failure(store(database, table, user="absent")) == StoreReason.ACCESS_DENIED
    assert failure(store(database, Query("select user as id from mysql.user"))) == StoreReason.ACCESS_DENIED
    database.run("revoke select on shop.* from 'reader'@'127.0.0.1'")
    assert failure(store(database, table)) == StoreReason.ACCESS_DENIED


def test_a_rotated_password(database, table):
    opened = store(database, table)
    assert len(rows(opened)) == 2
    database.run("set password for 'reader'@'127.0.0.1' = password('ändërung€')")
    try:
        assert failure(opened) == StoreReason.ACCESS_DENIED
        assert len(rows(store(database, table, password="ändërung€"))) == 2
    finally:
        database.run(f"set password for 'reader'@'127.0.0.1' = password('{servers.PASSWORD}')")


def test_tls_is_verified(database, table):
    other = trustme.CA().cert_pem.bytes().decode()
    assert failure(store(database, table, ca=other)) == StoreReason.UNREACHABLE
    assert failure(store(database, table, ca=None)) == StoreReason.UNREACHABLE
    assert failure(store(database, table, host="127.0.0.1")) == StoreReason.UNREACHABLE


@pytest.mark.parametrize(
    "change", [{"host": "/tmp"}, {"host": "a,b"}, {"user": "shop\0"}, {"database": "a\n"}]
)
def test_only_one_host_and_printable_names(database, change):
    with pytest.raises(StoreError) as caught:
        store(database, Table("customers"), **change)
    assert caught.value.reason == StoreReason.INVALID_CONFIGURATION
    assert "shop" not in caught.value.message


def test_missing_things_are_configuration(database, table):
    for what in (Table("absent"), replace(table, columns=("id", "absent")), Query("select nonsense")):
        assert failure(store(database, what)) == StoreReason.INVALID_CONFIGURATION
    database.run("grant select on `absent`.* to 'reader'@'127.0.0.1'")
    assert failure(store(database, table, database="absent")) == StoreReason.INVALID_CONFIGURATION


def test_a_column_that_goes_fails_the_next_reading(database, table):
    opened = store(database, replace(table, columns=("id", "plan")))
    rows(opened)
    database.run("alter table customers drop column plan")
    assert failure(opened) == StoreReason.INVALID_CONFIGURATION


def running(database):
    statement = "select count(*) from information_schema.processlist where user = 'reader'"
    ((count,),) = database.run(statement)
    return count


def wait_for_none(database):
    end = time.monotonic() + 5
    while running(database) and time.monotonic() < end:
        time.sleep(0.05)
    assert not running(database)


SLOW = "select 'k' as id, sleep(20) as slept"


def test_a_server_that_says_nothing_has_its_time_and_stops(database, table):
    opened = store(database, Query(SLOW), Limits(silence=0.3))
    assert failure(opened) == StoreReason.INCOMPLETE
    wait_for_none(database)


def test_a_query_that_takes_longer_than_the_read_ends_on_the_server(database, table):
    clock = FakeClock()
    opened = store(database, Query(SLOW), Limits(read=30), clock)
    timer = threading.Timer(0.5, clock.advance, [31])
    timer.start()
    assert failure(opened) == StoreReason.INCOMPLETE
    wait_for_none(database)


def test_a_reading_that_its_caller_leaves_ends_on_the_server(database, table):
    fill(database)
    started = time.monotonic()
    with store(database, table).read() as reading:
        next(iter(reading))
    wait_for_none(database)
    assert time.monotonic() - started < 10


def test_the_server_has_the_same_limits(database, table):
    names = ("max_statement_time", "lock_wait_timeout", "wait_timeout", "time_zone", "tx_isolation")
    query = Query(
        "select 'k' as id, " + ", ".join(f"cast(@@session.{name} as char) as {name}" for name in names)
    )
    (found,) = rows(store(database, query, Limits(read=100, silence=50)))
    del found["id"]
    assert list(found.values()) == ["110.000000", "50", "60", "+00:00", "REPEATABLE-READ"]


def test_a_lock_on_rows_does_not_block_and_one_on_the_table_has_its_time(database, table):
    with closing(database.connection()) as connection, connection.cursor() as cursor:
        connection.begin()
        cursor.execute("update customers set plan = 'other'")
        assert rows(store(database, table))[1]["plan"] == CANARY
        connection.rollback()
        cursor.execute("lock tables customers write")
        assert failure(store(database, table, Limits(silence=1))) in (
            StoreReason.INCOMPLETE, StoreReason.UNREACHABLE,
        )  # fmt: skip


def test_a_reading_is_one_snapshot(database, table):
    fill(database, 20_000)
    with store(database, table).read() as reading:
        database.run("delete from customers where id > '000001'")
        assert sum(1 for _ in reading) == 20_000


@pytest.mark.parametrize("read", [0, 1, 1000, 19_000])
def test_a_connection_cut_at_any_row_never_ends_normally(database, table, read):
    fill(database, 200_000 if read else 2000)
    with store(database, table).read() as reading:
        found = iter(reading)
        assert len(list(itertools.islice(found, read))) == read
        database.run("kill user 'reader'@'127.0.0.1'")
        with pytest.raises(StoreError) as caught:
            list(found)
    assert caught.value.reason == (StoreReason.INCOMPLETE if read else StoreReason.UNREACHABLE)


def test_a_server_that_stops_amid_a_reading(database, table):
    fill(database, 200_000)
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
    assert len(rows(store(database, table))) == 200_000


def test_too_many_rows_are_refused(database, table):
    assert failure(store(database, table, Limits(rows=1))) == StoreReason.INVALID_DATA


def test_fifty_thousand_rows_in_bounded_memory(database, table):
    fill(database)
    opened = store(database, table)
    rows(store(database, Query("select 'k' as id")))
    tracemalloc.start()
    try:
        with opened.read() as reading:
            count = sum(1 for _ in reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert peak < 4 * 2**20


def test_an_error_of_the_caller_passes(database, table):
    with pytest.raises(ConnectionResetError), store(database, table).read():
        raise ConnectionResetError


def position(opened):
    with opened.read() as reading:
        list(reading)
        return reading.position


def caught_up(replica, primary):
    end = time.monotonic() + 30
    wanted = primary.run("select @@gtid_current_pos")
    while replica.run("select @@gtid_current_pos") != wanted and time.monotonic() < end:
        time.sleep(0.1)


def test_a_replica_that_is_behind_is_seen(database, new_mariadb, scratch):
    # All that the primary did comes to the replica: nothing was there before its log.
    database.run(
        "drop table if exists followed", "create table followed (id int primary key)",
        "grant select on shop.* to 'reader'@'127.0.0.1'",
    )  # fmt: skip
    followed = Table("followed")
    with mariadb.replica(database, new_mariadb, scratch / "mariadb-replica") as behind:
        caught_up(behind, database)
        newer = position(store(database, followed))
        assert not goes_back(position(store(behind, followed)), newer)
        behind.run("stop slave sql_thread")
        database.run("insert into followed values (1)")
        newer = position(store(database, followed))
        older = position(store(behind, followed))
        assert goes_back(older, newer)
        assert not goes_back(newer, older)
        behind.run("start slave")
        caught_up(behind, database)
        assert not goes_back(position(store(behind, followed)), newer)
        assert rows(store(behind, followed)) == [{"id": 1}]


@pytest.mark.parametrize(
    ("position", "before", "expected"),
    [
        ("0-1-5 0-1-5", "0-1-5 0-1-5", False),
        ("0-1-4 0-1-5", "0-1-5 0-1-5", True),
        ("0-2-6,1-1-2 0-2-6,1-1-2", "0-1-5 0-1-5", False),
        ("1-1-9 1-1-9", "0-1-5 0-1-5", True),
        ("a-b:1-4 a-b:1-4", "a-b:1-5 a-b:1-5", True),
        ("a-b:1-3:5-7 a-b:1-7", "a-b:1-5 a-b:1-5", False),
    ],
)
def test_positions_compare_by_their_source(position, before, expected):
    assert goes_back(position, before) is expected
