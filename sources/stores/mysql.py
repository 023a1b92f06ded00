"""MySQL and MariaDB: a table or a query, read as one snapshot.

PyMySQL alone, without SQLAlchemy: its dialect asks questions when it connects, and holds whatever the server
answers in memory. The rows come one by one, as the server sends them. No message has the driver's text: that
may quote values.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from ssl import SSLError
from typing import Final

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import SSCursor
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from edgetenants_runtime.clock import Clock
from sources.stores.addresses import check, verified_tls
from sources.stores.limits import Limits
from sources.stores.mysql_values import JSON, Field, cell
from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_COLUMNS, Unfit, row_of
from sources.stores.watchdog import Sockets, Watchdog

__all__ = ["Address", "Limits", "MysqlStore", "Query", "Table", "goes_back"]

_MARGIN: Final = 10.0
"""Seconds that the server waits beyond the client's time."""
_KILL: Final = 5.0
"""Seconds to ask for the end of a statement."""
_UNKNOWN_SETTING: Final = 1193
_LOST: Final = 2013
_LARGEST: Final = 2**24 - 1
"""Bytes that are kept of a packet, which holds one row: those of one part on the wire."""
_DESCRIPTION: Final = 2**16
"""Bytes of the description of a column: all of them are held at once."""
_GROUP: Final = 2**22
"""Bytes of one GROUP_CONCAT or JSON_ARRAYAGG: MySQL cuts what is longer, by default after 1024."""
_LONGEST_POSITION: Final = 2**16
_TOO_LARGE: Final = Unfit("a row of less than 16 MiB")


@dataclass(frozen=True)
class Address:
    """Where the database is, and as whom to read it.

    Attributes:
        ca: PEM of the authorities of the server's certificate; None for those of the system.
    """

    host: str
    database: str
    user: str
    password: str = field(repr=False)
    port: int = 3306
    ca: str | None = None


@dataclass(frozen=True)
class Table:
    """A table or view of the address's database.

    Attributes:
        columns: those to read; empty for all.
    """

    name: str
    columns: Sequence[str] = ()


@dataclass(frozen=True)
class Query:
    """A SELECT, without parameters."""

    text: str


@dataclass(frozen=True)
class _Asked:
    statement: str
    json: frozenset[str]


class MysqlStore:
    """Each read has a connection of its own: none is held between reads."""

    def __init__(
        self,
        address: Address,
        what: Table | Query,
        clock: Clock,
        *,
        json: Sequence[str] = (),
        order_by: str = "",
        limits: Limits | None = None,
    ) -> None:
        """`json`: columns of text that hold JSON, as MariaDB has no type for it. `order_by`: a column."""
        check(address.host, database=address.database, user=address.user, password=address.password)
        self._address, self._clock = address, clock
        self._limits = limits or Limits()
        self._asked = _Asked(_statement(what, order_by), frozenset(json))

    @contextmanager
    def read(self) -> Iterator[MysqlReading]:
        """Read in one snapshot of a read-only transaction.

        Raises:
            StoreError: see `StoreReason`.
        """
        with ExitStack() as open_until_end:
            deadline = self._clock.now() + self._limits.read
            sockets = open_until_end.enter_context(closing(Sockets()))
            watchdog = open_until_end.enter_context(Watchdog(self._clock, deadline, sockets.cut))
            with _explained(lambda: False, watchdog):
                connection = _Connection(sockets, self._address, self._limits.silence)
                open_until_end.callback(connection.leave)
                connection.open_to(None, self._limits.connect)
                number = _one(connection, "select connection_id()")
                reading = MysqlReading(connection, self._asked, self._limits.rows, watchdog)
                open_until_end.callback(self._finish, reading, partial(self._kill, number, connection.peer))
                reading.begin(self._limits)
            # An error of the caller passes as it is.
            yield reading

    def _finish(self, reading: MysqlReading, kill: Callable[[], None]) -> None:
        reading.close()
        if not reading.ended:
            kill()

    def _kill(self, number: object, peer: tuple[str, int]) -> None:
        """End what computes on in the server: it does not notice that its client is gone while it sends
        nothing. A user may end only own connections. The number is the server's own: a proxy has others."""
        if not re.fullmatch(r"[0-9]{1,20}", str(number)):
            return
        limits = Limits(connect=_KILL, silence=_KILL)
        with closing(Sockets()) as sockets, Watchdog(self._clock, self._clock.now() + _KILL, sockets.cut):
            # The read has raised what is wrong with the server.
            connection = _Connection(sockets, self._address, limits.silence)
            with suppress(Exception):
                connection.open_to(peer, limits.connect)
                _one(connection, f"kill {number}")
            connection.leave()

    def close(self) -> None:
        """Nothing is held between reads."""


class MysqlReading:
    """Rows of one snapshot. `position` holds the bounds of the server's GTIDs that it sees, where it has
    them: see `goes_back`."""

    def __init__(self, connection: _Connection, asked: _Asked, limit: int, watchdog: Watchdog) -> None:
        self.position: str | None = None
        self.started = self.ended = False
        self._connection, self._asked, self._limit, self._watchdog = connection, asked, limit, watchdog

    def begin(self, limits: Limits) -> None:
        """Take the snapshot."""
        is_mariadb = "mariadb" in str(_one(self._connection, "select version()")).lower()
        for setting in _EXACT:
            _one(self._connection, f"set session {setting}")
        for setting in _settings(limits, is_mariadb=is_mariadb):
            _try(self._connection, f"set session {setting}")
        _check_present(self._connection)
        gtids = f"select @@global.{'gtid_current_pos' if is_mariadb else 'gtid_executed'}"
        low = _try(self._connection, gtids)
        _one(self._connection, "set session transaction isolation level repeatable read")
        _one(self._connection, "start transaction with consistent snapshot, read only")
        high = _try(self._connection, gtids)
        if low and high and len(low) + len(high) < _LONGEST_POSITION:
            self.position = f"{''.join(low.split())} {''.join(high.split())}"

    def __iter__(self) -> Iterator[Row]:
        """Yield each row once. Raises StoreError."""
        with _explained(lambda: self.started, self._watchdog):
            cursor = self._connection.asked(self._asked.statement)
            fields = [Field.of(each) for each in self._connection.columns]
            names = _names(fields, self._asked.json)
            for number, cells in enumerate(self._connection.rows(cursor), 1):
                self.started = True
                if number > self._limit:
                    raise StoreError(StoreReason.INVALID_DATA, f"there are more than {self._limit} rows")
                yield _row(names, fields, cells, number, self._asked.json)
            self.ended = True

    def close(self) -> None:
        """Without a word to the server: what is not read yet is not worth its time."""
        self._connection.leave()


class _Cursor(SSCursor):
    """Reads nothing more when it is dropped: a server may send for ever."""

    def close(self) -> None:
        self.connection = None

    __del__ = close


class _Connection(Connection):
    """Bounds what a server can make the driver hold, and remembers the columns."""

    def __init__(self, sockets: Sockets, address: Address, silence: float) -> None:
        super().__init__(
            host=address.host, port=address.port, user=address.user, database=address.database,
            # The driver's own encoding of a text is latin1.
            password=address.password.encode(),
            # A context, not options: the driver then refuses a server without TLS.
            ssl=verified_tls(address.ca),
            # utf8mb4 also has what is beyond U+FFFF. The cells stay bytes: each is read by its own rule.
            charset="utf8mb4", use_unicode=False, conv={},
            read_timeout=silence, write_timeout=silence, autocommit=None, local_infile=False,
            program_name="edgetenants-sources", defer_connect=True, cursorclass=_Cursor,
        )  # fmt: skip
        self.columns: list[FieldDescriptorPacket] = []
        self.peer = (address.host, address.port)
        self._sockets, self._left, self.was_cut = sockets, _LARGEST, False

    def open_to(self, peer: tuple[str, int] | None, seconds: float) -> None:
        """Connect, to the address of an earlier connection or to the host."""
        plain = socket.create_connection(peer or self.peer, seconds)
        self._sockets.hold(plain.fileno())
        self.peer = plain.getpeername()[:2]
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.connect(plain)

    def asked(self, statement: str) -> _Cursor:
        """Send a statement."""
        self.columns = []
        cursor: _Cursor = self.cursor()
        cursor.execute(statement)
        return cursor

    def rows(self, cursor: _Cursor) -> Iterator[Sequence[bytes | None] | None]:
        """The rows; None in place of one that is too large. Ends only where the server says so."""
        while True:
            self.was_cut = False
            try:
                cells = cursor.fetchone()
            except (AssertionError, LookupError, struct.error):
                if not self.was_cut:
                    raise
                cells = ()
            if cells is None:
                self.check_end()
                return
            yield None if self.was_cut else cells

    def check_end(self) -> None:
        """Refuse a further answer to one statement: the driver would hold all of it."""
        if self._result is None or self._result.has_next:
            raise StoreError(StoreReason.INCOMPLETE, "the server sends more than one answer")

    def leave(self) -> None:
        """Close the socket; the driver would read what is left to its end first."""
        result = self._result
        if result is not None:
            result.unbuffered_active = False
            result.has_next = False
        self._force_close()

    def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        self._left = _DESCRIPTION if packet_type is FieldDescriptorPacket else _LARGEST
        found: MysqlPacket = super()._read_packet(packet_type)
        if isinstance(found, FieldDescriptorPacket):
            self.columns.append(found)
            if len(self.columns) > MAX_COLUMNS:
                message = f"there are more than {MAX_COLUMNS} columns"
                raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
        return found

    def _read_bytes(self, num_bytes: int) -> bytes:
        """The bytes of the packet, of which no more than `_LARGEST` are kept: what follows is read and
        dropped, so that one large row stops no other."""
        if num_bytes <= 4 or num_bytes <= self._left:
            # Four are the header of one part.
            self._left -= num_bytes if num_bytes > 4 else 0
            found: bytes = super()._read_bytes(num_bytes)
            return found
        self.was_cut = True
        while num_bytes:
            num_bytes -= len(super()._read_bytes(min(num_bytes, 2**16)))
        return b""


def goes_back(position: str, before: str) -> bool:
    """Whether a reading may see an older state than one before it, as on a replica that is behind.

    Both positions are from servers that replicate each other by GTID. Each has a lower and an upper bound, as
    the snapshot lies between two looks at the log, so it may also say so of a busy primary that is read twice
    within milliseconds.
    """
    low, high = _gtids(position.split(maxsplit=1)[0]), _gtids(before.split()[1])
    return any(low.get(server, 0) < number for server, number in high.items())


def _gtids(text: str) -> dict[str, int]:
    """The last transaction of each source: `domain-server-number` of MariaDB by its domain, and
    `server:1-number` of MySQL by its server."""
    found: dict[str, int] = {}
    for each in text.split(","):
        source = each.partition(":" if ":" in each else "-")[0]
        found[source] = int(re.split("[-:]", each)[-1])
    return found


_EXACT: Final = (
    "time_zone = '+00:00'",
    f"group_concat_max_len = {_GROUP}",
    # Not DEFAULT: that is the value of the server, which cuts each SELECT as a limit does.
    f"sql_select_limit = {2**64 - 1}",
)
"""Without these, values would be others, or rows would look gone. A TIMESTAMP is told in the session's
zone."""


def _check_present(connection: _Connection) -> None:
    """Refuse a session of MariaDB that sees versioned tables as they were at another time: rows of today
    would look gone. What the session has after it asked for DEFAULT is read, as versions may understand
    DEFAULT in another way where the server has such a time for all sessions."""
    _try(connection, "set session system_versioning_asof = default")
    time = _try(connection, "select @@session.system_versioning_asof")
    if time is not None and time.upper() != "DEFAULT":
        message = "the server shows former rows: system_versioning_asof must be DEFAULT"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)


def _settings(limits: Limits, *, is_mariadb: bool) -> Iterator[str]:
    """Those of this session, where the server has them."""
    whole, silence = limits.read + _MARGIN, max(1, round(limits.silence))
    yield f"max_statement_time = {whole}" if is_mariadb else f"max_execution_time = {round(whole * 1000)}"
    yield f"lock_wait_timeout = {silence}"
    yield f"innodb_lock_wait_timeout = {silence}"
    yield f"net_write_timeout = {silence + round(_MARGIN)}"
    yield f"wait_timeout = {silence + round(_MARGIN)}"


def _one(connection: _Connection, statement: str) -> str | None:
    """The first cell of the first row, if there is one."""
    cursor, first = connection.asked(statement), None
    if not connection.columns:
        connection.check_end()
        return None
    for number, row in enumerate(connection.rows(cursor)):
        first = row if number == 0 else first
    return first[0].decode(errors="replace") if first and first[0] is not None else None


def _try(connection: _Connection, statement: str) -> str | None:
    """The same; None if the server does not know the setting."""
    try:
        return _one(connection, statement)
    except pymysql.Error as error:
        if error.args[0] != _UNKNOWN_SETTING:
            raise
        return None


def _statement(what: Table | Query, order_by: str) -> str:
    if isinstance(what, Table):
        columns = ", ".join(_quoted(each) for each in what.columns) or "*"
        # Names are quoted.
        statement = f"select {columns} from {_quoted(what.name)}"  # noqa: S608
    else:
        # In brackets, a second statement is a syntax error. The line ends a comment.
        query = what.text.strip().removesuffix(";")
        statement = f"select * from (\n{query}\n) as edgetenants_rows"  # noqa: S608
    return f"{statement} order by {_quoted(order_by)}" if order_by else statement


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _names(fields: Sequence[Field], json: frozenset[str]) -> list[str]:
    names = [each.name for each in fields]
    if not names:
        # An answer without columns, as to a statement that writes, must not look like an empty table.
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the server's answer is no table")
    if len(set(names)) != len(names):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "two columns have one name; rename one with AS")
    if not json <= set(names):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "a column of jsonColumns is not there")
    return names


def _row(
    names: Sequence[str],
    fields: Sequence[Field],
    cells: Sequence[bytes | None] | None,
    number: int,
    json: frozenset[str],
) -> Row:
    place = f"row {number}"
    if cells is None:
        # Its key, too, may be in what was dropped.
        return row_of(((name, _TOO_LARGE) for name in names), place)
    values = (
        (each.name, cell(each if each.name not in json else each.as_(JSON), value))
        for each, value in zip(fields, cells, strict=True)
    )
    return row_of(values, place)


_DENIED: Final = (StoreReason.ACCESS_DENIED, "the database refuses the user, the password or this client")
_NO_RIGHT: Final = (StoreReason.ACCESS_DENIED, "the user may not read this")
_MISSING: Final = (
    StoreReason.INVALID_CONFIGURATION, "the table, a column or the query does not fit the database"
)  # fmt: skip
_SLOW: Final = (StoreReason.INCOMPLETE, "a statement took longer than allowed")
_LOCKED: Final = (StoreReason.INCOMPLETE, "another transaction holds a lock")
_BUSY: Final = (StoreReason.UNREACHABLE, "the server shuts down, is not ready, or has no connection left")
_SHORT: Final = (StoreReason.INCOMPLETE, "the server is short of memory or disk, or its storage fails")
_BY_NUMBER: Final[Mapping[int, tuple[StoreReason, str]]] = {
    **dict.fromkeys((1045, 1129, 1130, 1251, 1524, 1698, 1820, 1862, 2059, 3118, 4151), _DENIED),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), _NO_RIGHT),
    **dict.fromkeys((1056, 1060, 1305, 1356, 1630), _MISSING),
    1049: (StoreReason.INVALID_CONFIGURATION, "the database does not exist"),
    1792: (StoreReason.INVALID_CONFIGURATION, "the query writes; only reading is allowed"),
    **dict.fromkeys((1317, 1969, 3024), _SLOW),
    **dict.fromkeys((1205, 1213), _LOCKED),
    **dict.fromkeys((1040, 1047, 1053, 1203, 1226, 1927), _BUSY),
    **dict.fromkeys((1021, 1030, 1037, 1038, 1041, 1114), _SHORT),
    1412: (StoreReason.INCOMPLETE, "someone changed the definition of the table during the read"),
    2026: (StoreReason.UNREACHABLE, "the server offers no TLS"),
}
"""By the number of the error (MySQL Server Error Message Reference; MariaDB Error Codes)."""
_OF_CLIENT: Final = range(2000, 3000)
"""Numbers of the driver's own errors, as for a connection that is lost."""
_REFUSED: Final = (StoreReason.INVALID_CONFIGURATION, "the database refuses the query")
_BY_STATE: Final[Mapping[str, tuple[StoreReason, str]]] = {
    "42": _MISSING,
    "22": (StoreReason.INVALID_DATA, "the query cannot compute a value"),
}
"""By the beginning of SQLSTATE."""


@contextmanager
def _explained(started: Callable[[], bool], watchdog: Watchdog) -> Iterator[None]:
    """Turn errors into StoreError. Without the cause: it holds values."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - a server that speaks another protocol ends in any of them
        found = _explanation(error, begun=started())
        if watchdog.fired:
            found = StoreError(StoreReason.INCOMPLETE, "the read took longer than allowed")
    else:
        return
    raise found


def _explanation(error: Exception, *, begun: bool) -> StoreError:
    if known := _known(error):
        reason, message = known
        if begun and reason is StoreReason.UNREACHABLE:
            reason = StoreReason.INCOMPLETE
        return StoreError(reason, f"{message} (error {error.args[0]})")
    if isinstance(error.__context__, TimeoutError) and error.args[0] == _LOST:
        return StoreError(StoreReason.INCOMPLETE, "the server sent nothing for longer than allowed")
    if begun:
        return StoreError(StoreReason.INCOMPLETE, "the connection was lost before the last row")
    original = getattr(error, "original_exception", error)
    if isinstance(original, SSLError):
        message = "the server's certificate is for another host, or of another authority"
        return StoreError(StoreReason.UNREACHABLE, message)
    if isinstance(error, pymysql.Error | OSError):
        return StoreError(StoreReason.UNREACHABLE, "the database does not answer")
    return StoreError(StoreReason.UNREACHABLE, "the server does not speak the protocol of MySQL")


def _known(error: Exception) -> tuple[StoreReason, str] | None:
    """What the server says, by its number; None if it said nothing."""
    number = error.args[0] if isinstance(error, pymysql.Error) and error.args else None
    if not isinstance(number, int):
        return None
    by_state = _BY_STATE.get(str(getattr(error, "sqlstate", None) or "")[:2])
    return _BY_NUMBER.get(number) or by_state or (None if number in _OF_CLIENT or number < 1000 else _REFUSED)
