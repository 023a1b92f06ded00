"""PostgreSQL: a table or a query, read as one snapshot, and its notifications as a wake-up.

No message has the driver's text: that may quote values, and parts of the connection's parameters.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.adapt import Loader
from psycopg.types import datetime
from psycopg.types.json import set_json_loads
from sqlalchemy.pool import NullPool

from edgetenants_runtime.clock import Clock
from sources.stores.addresses import check
from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_COLUMNS, MAX_ROWS, Unfit, parsed_cell, row_of
from sources.stores.watchdog import Sockets, Watchdog

__all__ = [
    "Address",
    "Limits",
    "Listener",
    "PostgresStore",
    "Query",
    "Table",
    "goes_back",
    "ignore_environment",
    "next_batch",
]

_BATCH: Final = 500
"""Rows of one fetch: what the driver holds in memory."""
_FIRST_BATCH: Final = 10
_GROWTH: Final = 5
_BATCH_BYTES: Final = 4 * 2**20
_CHECKS: Final = "client_connection_check_interval"
"""Since PostgreSQL 14: a statement ends if its client is gone."""
_IDLE: Final = "idle_in_transaction_session_timeout"
_WHOLE: Final = "transaction_timeout"
"""Since PostgreSQL 17."""
_CHECK: Final = 10.0
"""Seconds."""
_UNKNOWN_SETTING: Final = ("42704", "22023", "55P02")
"""SQLSTATE: an older version, or a system of the server that cannot."""
_CANCEL: Final = 5.0
"""Real seconds to ask for the end of a statement."""
_PREFIX: Final = "PG"
_VERSION: Final = "edgetenants row version"
_STATE: Final = (
    "select pg_is_in_recovery(), case when pg_is_in_recovery() then pg_last_wal_replay_lsn()"
    " else pg_current_wal_insert_lsn() end::text"
)


@dataclass(frozen=True)
class Address:
    """Where the database is, and as whom to read it.

    Attributes:
        ca: PEM of the authorities of the server's certificate; None for those of the system.
        plain: allow a connection without TLS. The password is then seen on the network.
    """

    host: str
    database: str
    user: str
    password: str = field(repr=False)
    port: int = 5432
    ca: str | None = None
    plain: bool = False


@dataclass(frozen=True)
class Limits:
    """Bounds of a read, in seconds.

    Attributes:
        connect: until the connection stands.
        statement: of one statement on the server; each fetch of a batch is one.
        read: of the whole read.
    """

    connect: int = 10
    statement: float = 60.0
    read: float = 900.0
    rows: int = MAX_ROWS


@dataclass(frozen=True)
class Table:
    """A table or view.

    Attributes:
        columns: those to read; empty for all.
        versions: read `xmin` as the version of each row. Views have none.
    """

    name: str
    schema: str = "public"
    columns: Sequence[str] = ()
    versions: bool = False


@dataclass(frozen=True)
class Query:
    """A SELECT, without parameters."""

    text: str


class PostgresStore:
    """Each read has a connection of its own: none is held between reads."""

    def __init__(
        self,
        address: Address,
        what: Table | Query,
        clock: Clock,
        *,
        order_by: str = "",
        limits: Limits | None = None,
    ) -> None:
        """`order_by`: a column; the database's collation orders text."""
        _check(address)
        self._address, self._clock = address, clock
        self._limits = limits or Limits()
        self._statement = _statement(what, order_by)
        self._engine = sa.create_engine(
            "postgresql+psycopg://", creator=lambda: _connected(address, self._limits), poolclass=NullPool
        )

    @contextmanager
    def read(self) -> Iterator[PostgresReading]:
        """Read in one snapshot of a read-only transaction.

        Raises:
            StoreError: see `StoreReason`.
        """
        with ExitStack() as open_until_end:
            with _explained(lambda: False):
                deadline = self._clock.now() + self._limits.read
                connection = self._engine.connect()
                open_until_end.callback(_close, connection)
                driver: Any = connection.connection.driver_connection
                sockets = open_until_end.enter_context(closing(Sockets()))
                sockets.hold(driver.fileno())
                end = partial(_end, driver, sockets)
                open_until_end.enter_context(Watchdog(self._clock, deadline, end))
                reading = self._begun(connection)
            # An error of the caller passes as it is.
            yield reading

    def _begun(self, connection: sa.Connection) -> PostgresReading:
        low = _state(connection)
        connection.rollback()
        connection.exec_driver_sql("set transaction isolation level repeatable read, read only")
        statement, read = self._limits.statement, self._limits.read
        for setting, seconds in (("statement_timeout", statement), ("lock_timeout", statement)):
            connection.exec_driver_sql(_set(setting, seconds))
        # The server ends what its client left: an open transaction keeps it from removing what is dead.
        for setting, seconds in ((_CHECKS, _CHECK), (_IDLE, statement + _CHECK), (_WHOLE, read + _CHECK)):
            _try(connection, _set(setting, seconds))
        # The first statement takes the snapshot, so a state read with it is not older.
        high = _state(connection)
        position = f"{low} {high}" if low and high else None
        return PostgresReading(connection, self._statement, self._limits.rows, position)

    def close(self) -> None:
        """Close what is idle."""
        self._engine.dispose()


class PostgresReading:
    """Rows of one snapshot. `position` holds the bounds of the log's position that it sees: see
    `goes_back`."""

    def __init__(self, connection: sa.Connection, statement: str, limit: int, position: str | None) -> None:
        self.position = position
        self.started = False
        self._connection, self._statement, self._limit = connection, statement, limit

    def __iter__(self) -> Iterator[Row]:
        """Yield each row once. Raises StoreError."""
        with _explained(lambda: self.started):
            options = {"stream_results": True, "no_parameters": True}
            result = self._connection.execution_options(**options).exec_driver_sql(self._statement)
            names = _names(result)
            for number, cells in enumerate(_fetched(result), 1):
                self.started = True
                if number > self._limit:
                    raise StoreError(StoreReason.INVALID_DATA, f"there are more than {self._limit} rows")
                yield _row(names, cells, number)


def _fetched(result: sa.CursorResult[Any]) -> Iterator[Sequence[object]]:
    """The rows, in batches that shrink if rows are large."""
    batch = _FIRST_BATCH
    while rows := result.fetchmany(batch):
        batch = next_batch(batch, len(rows), _bytes_of(result.cursor))
        yield from rows


def _bytes_of(cursor: Any) -> int:
    """The bytes of the last batch. None: there is no further one."""
    found = cursor and cursor.pgresult
    if not found:
        return 0
    cells = product(range(found.ntuples), range(found.nfields))
    return sum(len(found.get_value(row, column) or b"") for row, column in cells)


def next_batch(before: int, rows: int, size: int) -> int:
    """How many rows to fetch after a batch of `rows` with `size` bytes."""
    fitting = _BATCH_BYTES * rows // max(size, 1)
    return max(1, min(fitting, before * _GROWTH, _BATCH))


def goes_back(position: str, before: str) -> bool:
    """Whether a reading may see an older state than one before it, as on a replica that is behind.

    Both positions are from one cluster of PostgreSQL, on the same timeline; after a promotion or a restore,
    forget those from before. Each has a lower and an upper bound, as the snapshot lies between two looks
    at the log. True where they overlap the wrong way, so it may also say so of a busy primary that is read
    twice within milliseconds.
    """
    return int(position.split(maxsplit=1)[0], 16) < int(before.split()[1], 16)


def _set(setting: str, seconds: float) -> str:
    """For this transaction only: a pooler may give the connection to others."""
    return f"set local {setting} = {max(1, int(seconds * 1000))}"


def _try(connection: sa.Connection, statement: str) -> None:
    connection.exec_driver_sql("savepoint setting")
    try:
        connection.exec_driver_sql(statement)
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _UNKNOWN_SETTING:
            raise
        connection.exec_driver_sql("rollback to savepoint setting")


def _state(connection: sa.Connection) -> str | None:
    """16 hex digits. None where the server does not tell, as on some services."""
    _, found = connection.exec_driver_sql(_STATE).one()
    if found is None:
        return None
    high, low = str(found).split("/")
    return f"{int(high, 16):08x}{int(low, 16):08x}"


def _check(address: Address) -> None:
    check(address.host, database=address.database, user=address.user, password=address.password)


def _statement(what: Table | Query, order_by: str) -> str:
    if isinstance(what, Table):
        # Names are quoted.
        statement = f"select {_columns(what)} from {_quoted(what.schema)}.{_quoted(what.name)}"  # noqa: S608
    else:
        # In brackets, a second statement is a syntax error. The line ends a comment.
        statement = f"select * from (\n{what.text.strip().removesuffix(';')}\n) as rows"  # noqa: S608
    return f"{statement} order by {_quoted(order_by)}" if order_by else statement


def _columns(table: Table) -> str:
    names = ", ".join(_quoted(each) for each in table.columns) or "*"
    return f"{names}, xmin::text as {_quoted(_VERSION)}" if table.versions else names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(result: sa.CursorResult[Any]) -> list[str]:
    names = list(result.keys())
    if len(names) > MAX_COLUMNS:
        raise StoreError(StoreReason.INVALID_CONFIGURATION, f"there are more than {MAX_COLUMNS} columns")
    if len(set(names)) != len(names):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "two columns have one name; rename one with AS")
    return names


def _row(names: list[str], cells: Sequence[object], number: int) -> Row:
    version = str(cells[-1]) if names[-1] == _VERSION else None
    shown = zip(names, cells, strict=True) if version is None else zip(names[:-1], cells[:-1], strict=True)
    return row_of(shown, f"row {number}", version)


def ignore_environment() -> None:
    """Forget the process's own PGHOSTADDR, PGOPTIONS, PGSERVICE, PGTZ and the like: they are for people at a
    terminal, and libpq reads some of them whatever it is told."""
    for name in [each for each in os.environ if each.startswith(_PREFIX)]:
        os.environ.pop(name, None)


def _close(connection: sa.Connection) -> None:
    """It is read only: what became of it is known before."""
    with suppress(psycopg.Error, sa.exc.SQLAlchemyError, OSError):
        connection.close()


def _end(driver: Any, sockets: Sockets) -> None:
    """End the statement on the server, then the connection: without the first, the server would compute on,
    and not notice for as long as it sends nothing."""
    with suppress(psycopg.Error, OSError):
        driver.cancel_safe(timeout=_CANCEL)
    sockets.cut()


def _lenient(loader: type[Loader]) -> type[Loader]:
    class Lenient(loader):  # type: ignore[valid-type, misc]
        """Returns what stands for a value that Python does not have, so that one row fails, not all."""

        def load(self, data: Any) -> Any:
            try:
                return super().load(data)
            except (psycopg.DataError, ValueError):
                return _NO_TIME

    return Lenient


_NO_TIME: Final = Unfit("a time in the years 1 to 9999")
_TIMES: Final = {
    "date": _lenient(datetime.DateLoader),
    "time": _lenient(datetime.TimeLoader),
    "timetz": _lenient(datetime.TimetzLoader),
    "timestamp": _lenient(datetime.TimestampLoader),
    "timestamptz": _lenient(datetime.TimestamptzLoader),
    "interval": _lenient(datetime.IntervalLoader),
}


def _connected(address: Address, limits: Limits) -> psycopg.Connection[Any]:
    connection = _connection(address, limits)
    for name, loader in _TIMES.items():
        connection.adapters.register_loader(name, loader)
    set_json_loads(parsed_cell, connection)
    return connection


def _connection(address: Address, limits: Limits) -> psycopg.Connection[Any]:
    ignore_environment()
    with ExitStack() as open_until_end:
        authorities = open_until_end.enter_context(_authorities(address))
        connection = psycopg.connect(
            host=address.host, port=address.port, dbname=address.database, user=address.user,
            password=address.password, connect_timeout=limits.connect,
            sslmode="prefer" if address.plain else "verify-full", sslrootcert=authorities,
            # Nothing of this process or machine counts: no files of passwords and keys, no tickets.
            passfile=os.devnull, sslcertmode="disable", gssencmode="disable",
            application_name="edgetenants-sources", target_session_attrs="any", options="",
            # Half-open connections end; the server answers to these even if a query takes long.
            keepalives_idle=30, keepalives_interval=10, keepalives_count=3,
            tcp_user_timeout=60_000,
        )  # fmt: skip
        # What cancels a statement is another connection, which reads the file too.
        weakref.finalize(connection, open_until_end.pop_all().close)
        return connection


@contextmanager
def _authorities(address: Address) -> Iterator[str]:
    """libpq reads them from a file, while it connects or cancels."""
    if address.plain:
        yield os.devnull
    elif address.ca is None:
        yield "system"
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(address.ca)
            file.flush()
            yield file.name


_BY_STATE: Final = (
    ("28", StoreReason.ACCESS_DENIED, "the database refuses the user or password"),
    ("42501", StoreReason.ACCESS_DENIED, "the user may not read this"),
    ("25006", StoreReason.INVALID_CONFIGURATION, "the query writes; only reading is allowed"),
    ("0A000", StoreReason.INVALID_CONFIGURATION, "the query writes, or is no SELECT"),
    ("42", StoreReason.INVALID_CONFIGURATION, "the table, a column or the query does not fit the database"),
    ("3D", StoreReason.INVALID_CONFIGURATION, "the database does not exist"),
    ("22", StoreReason.INVALID_DATA, "the query cannot compute a value"),
    ("57014", StoreReason.INCOMPLETE, "a statement took longer than allowed"),
    ("55P03", StoreReason.INCOMPLETE, "another transaction holds a lock on the table"),
    ("40", StoreReason.INCOMPLETE, "the server cancelled the read, as a replica may"),
    ("57P", StoreReason.UNREACHABLE, "the server shuts down or starts"),
    ("53", StoreReason.UNREACHABLE, "the server has no connection or memory left"),
)
"""By the beginning of SQLSTATE (PostgreSQL, appendix A)."""
_BY_TEXT: Final = (
    ("password authentication failed|no pg_hba.conf entry|no password supplied|role .* does not exist",
     StoreReason.ACCESS_DENIED, "the database refuses the user, the password or the address of this client"),
    ("is not permitted to log in|permission denied",
     StoreReason.ACCESS_DENIED, "the database refuses the user"),
    ("database .* does not exist", StoreReason.INVALID_CONFIGURATION, "the database does not exist"),
    ("certificate verify failed|does not match host name|root certificate|SSL error: certificate",
     StoreReason.UNREACHABLE, "the server's certificate is for another host, or of another authority"),
    ("does not support SSL", StoreReason.UNREACHABLE, "the server offers no TLS"),
)  # fmt: skip
"""A connection that fails has no SQLSTATE. What no pattern fits is told as unreachable."""


@contextmanager
def _explained(started: Callable[[], bool]) -> Iterator[None]:
    """Turn the driver's errors into StoreError. Without the cause: it holds parameters and values."""
    try:
        yield
    except (psycopg.Error, sa.exc.SQLAlchemyError, OSError, UnicodeError) as error:
        found = _explanation(error, begun=started())
    else:
        return
    raise found


def _explanation(error: BaseException, *, begun: bool) -> StoreError:
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None) or ""
    for beginning, reason, message in _BY_STATE:
        if state.startswith(beginning):
            lost = begun and reason is StoreReason.UNREACHABLE
            return StoreError(StoreReason.INCOMPLETE if lost else reason, f"{message} (SQLSTATE {state})")
    if begun:
        return StoreError(StoreReason.INCOMPLETE, "the connection was lost before the last row")
    if isinstance(cause, psycopg.DataError | UnicodeError):
        return StoreError(StoreReason.INVALID_DATA, "a value has no form here, such as a date after 9999")
    for pattern, reason, message in _BY_TEXT:
        if re.search(pattern, str(cause)):
            return StoreError(reason, message)
    return StoreError(StoreReason.UNREACHABLE, "the database does not answer")


class Listener:
    """Calls back for each NOTIFY of a channel, and after each new connection: some may be lost before.

    A hint only. While the server is away there are none; it connects again, at the latest after a minute.
    """

    _FIRST: Final = 1.0
    _LONGEST: Final = 60.0
    _LOOK: Final = 0.5
    """Seconds in which `close` is noticed."""

    def __init__(self, address: Address, channel: str, wake: Callable[[], None], clock: Clock) -> None:
        _check(address)
        self._address, self._channel, self._wake, self._clock = address, channel, wake, clock
        self._changed, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="postgresql-listener", daemon=True)

    def start(self) -> None:
        """Listen, in a thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening, within some seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        pause = self._FIRST
        while not self._closed:
            try:
                with _connected(self._address, Limits(connect=3)) as connection:
                    pause = self._FIRST
                    self._follow(connection)
            except (psycopg.Error, OSError):
                # Whatever it is, the next read says it.
                self._sleep(pause)
                pause = min(pause * 2, self._LONGEST)

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        connection.autocommit = True
        connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
        self._wake()
        while not self._closed:
            # Many at once are one wake-up.
            if list(connection.notifies(timeout=self._LOOK, stop_after=1)):
                self._wake()

    def _sleep(self, seconds: float) -> None:
        deadline = self._clock.now() + seconds
        with self._changed:
            while not self._closed and self._clock.now() < deadline:
                self._clock.wait(self._changed, deadline)
