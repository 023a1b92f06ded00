"""PostgreSQL: a table or a query, read as one snapshot, and its notifications as a wake-up.

No message has the driver's text: that may quote values, and parts of the connection's parameters.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.pool import NullPool

from edgetenants_runtime.clock import Clock
from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_COLUMNS, MAX_ROWS, as_json

__all__ = ["Address", "Limits", "Listener", "PostgresStore", "Query", "Table", "goes_back"]

_BATCH: Final = 500
"""Rows of one fetch: what the driver holds in memory."""
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
                connection = open_until_end.enter_context(self._engine.connect())
                open_until_end.enter_context(_Watchdog(connection, self._clock, self._limits.read))
                reading = self._begun(connection)
            # An error of the caller passes as it is.
            yield reading

    def _begun(self, connection: sa.Connection) -> PostgresReading:
        low = _state(connection)
        connection.rollback()
        connection.exec_driver_sql("set transaction isolation level repeatable read, read only")
        milliseconds = max(1, int(self._limits.statement * 1000))
        for setting in ("statement_timeout", "lock_timeout"):
            connection.exec_driver_sql(f"set local {setting} = {milliseconds}")
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
            options = {
                "stream_results": True,
                "max_row_buffer": _BATCH,
                "yield_per": _BATCH,
                "no_parameters": True,
            }
            result = self._connection.execution_options(**options).exec_driver_sql(self._statement)
            names = _names(result)
            for number, cells in enumerate(result, 1):
                self.started = True
                if number > self._limit:
                    raise StoreError(StoreReason.INVALID_DATA, f"there are more than {self._limit} rows")
                yield _row(names, cells, number)


def goes_back(position: str, before: str) -> bool:
    """Whether a reading may see an older state than one before it, as on a replica that is behind.

    Both positions are from one cluster of PostgreSQL, on the same timeline; after a promotion or a restore,
    forget those from before. Each has a lower and an upper bound, as the snapshot lies between two looks
    at the log. True where they overlap the wrong way, so it may also say so of a busy primary that is read
    twice within milliseconds.
    """
    return int(position.split(maxsplit=1)[0], 16) < int(before.split()[1], 16)


def _state(connection: sa.Connection) -> str | None:
    """16 hex digits. None where the server does not tell, as on some services."""
    _, found = connection.exec_driver_sql(_STATE).one()
    if found is None:
        return None
    high, low = str(found).split("/")
    return f"{int(high, 16):08x}{int(low, 16):08x}"


def _check(address: Address) -> None:
    # A path is a socket of this machine, where the process's own user may be let in; a list or a parameter
    # would lead elsewhere.
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,253}", address.host):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the host must be one DNS name or IP address")
    # libpq reads its parameters up to the first NUL, and would forget the checks of TLS after it.
    for what, given in (
        ("database", address.database),
        ("user", address.user),
        ("password", address.password),
    ):
        if not given.isprintable():
            words = f"the {what} must have printable characters only"
            raise StoreError(StoreReason.INVALID_CONFIGURATION, words)


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
    columns = {
        name: as_json(cell, f"row {number}, column {name}") for name, cell in zip(names, cells, strict=True)
    }
    version = columns.pop(_VERSION, None)
    return Row(columns, None if version is None else str(version))


def _connected(address: Address, limits: Limits) -> psycopg.Connection[Any]:
    with _authorities(address) as authorities:
        return psycopg.connect(
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


@contextmanager
def _authorities(address: Address) -> Iterator[str]:
    """libpq reads them from a file, while it connects."""
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


class _Watchdog:
    """Cuts the connection when the read's time is over: a server that hangs keeps the driver waiting."""

    def __init__(self, connection: sa.Connection, clock: Clock, seconds: float) -> None:
        driver: Any = connection.connection.driver_connection
        self._socket = socket.socket(fileno=os.dup(driver.fileno()))
        self._clock, self._deadline = clock, clock.now() + seconds
        self._changed, self._over = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="postgresql-watchdog", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        with self._changed:
            while not self._over and self._clock.now() < self._deadline:
                self._clock.wait(self._changed, self._deadline)
            if self._over:
                return
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


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
