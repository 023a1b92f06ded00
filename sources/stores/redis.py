"""Redis and Valkey: the hashes below a prefix.

SCAN is no snapshot. It finds each key that is there from its begin to its end, in one process that does not
load other data meanwhile. So a read scans twice, takes what either scan found, and counts only if the server
is the same before and after: the same process and history, and no replica, which may be behind. No message
has the server's text.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from ssl import SSLError
from typing import Final

from edgetenants_runtime.clock import Clock
from sources.stores.addresses import check, verified_tls
from sources.stores.limits import Limits
from sources.stores.resp import LARGE, Large, Refusal, Reply, ReplyError, Wire
from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_COLUMNS, NAMES, UNICODE, Unfit, parsed_cell, row_of
from sources.stores.watchdog import Sockets, Watchdog

__all__ = ["Address", "Hashes", "Limits", "RedisStore"]

_SCANS: Final = 2
_COUNT: Final = b"1000"
"""Keys that one step of SCAN looks at: a server does nothing else meanwhile."""
_BATCH: Final = 50
"""Hashes that are asked for at once: the server holds the replies until they are read."""
_REPLY: Final = 2**24
"""Bytes that are kept of one reply."""
_NAMES: Final = 2**26
"""Bytes of the names of all keys."""
_LONGEST_NAME: Final = 1024
_SHOWN: Final = 16


@dataclass(frozen=True)
class Address:
    """Where the server is, and as whom to read it.

    Attributes:
        database: the number of the database.
        ca: PEM of the authorities of the server's certificate; None for those of the system.
    """

    host: str
    user: str
    password: str = field(repr=False)
    port: int = 6379
    database: int = 0
    ca: str | None = None


@dataclass(frozen=True)
class Hashes:
    """Which keys are rows.

    Attributes:
        prefix: all keys that begin with it are rows.
        key_column: the column with the rest of the key. A field of a hash with that name is left out.
        json: fields that hold JSON.
    """

    prefix: str
    key_column: str = "key"
    json: Sequence[str] = ()


class RedisStore:
    """Each read has a connection of its own: none is held between reads."""

    def __init__(self, address: Address, what: Hashes, clock: Clock, *, limits: Limits | None = None) -> None:
        check(address.host, user=address.user, password=address.password)
        self._address, self._what, self._clock = address, what, clock
        self._limits = limits or Limits()

    @contextmanager
    def read(self) -> Iterator[RedisReading]:
        """Read the hashes.

        Raises:
            StoreError: see `StoreReason`.
        """
        with ExitStack() as open_until_end:
            deadline = self._clock.now() + self._limits.read
            sockets = open_until_end.enter_context(closing(Sockets()))
            watchdog = open_until_end.enter_context(Watchdog(self._clock, deadline, sockets.cut))
            with _explained(lambda: False, watchdog):
                wire = open_until_end.enter_context(closing(_connected(self._address, self._limits, sockets)))
                reading = RedisReading(wire, self._what, self._limits.rows, watchdog)
                reading.begin(self._address)
            # An error of the caller passes as it is.
            yield reading

    def close(self) -> None:
        """Nothing is held between reads."""


class RedisReading:
    """The rows of one read, in the order of their keys."""

    def __init__(self, wire: Wire, what: Hashes, limit: int, watchdog: Watchdog) -> None:
        self.started = False
        self._watchdog = watchdog
        self._wire, self._what, self._limit = wire, what, limit
        self._server: _Server | None = None

    def begin(self, address: Address) -> None:
        """Log in, and see that the server can be read completely."""
        found = self._wire.ask(b"AUTH", address.user.encode(), address.password.encode())
        if isinstance(found, Refusal) and found.code == "ERR":
            raise StoreError(StoreReason.ACCESS_DENIED, _NO_USERS)
        _accepted(found)
        if address.database:
            _accepted(self._wire.ask(b"SELECT", b"%d" % address.database))
        self._server = _server(self._wire)

    def __iter__(self) -> Iterator[Row]:
        """Yield each row once. Raises StoreError."""
        with _explained(lambda: self.started, self._watchdog):
            names: set[bytes] = set()
            for _ in range(_SCANS):
                self._scan(names)
            empty: list[bytes] = []
            yield from self._rows(sorted(names), empty)
            # A hash that is written as a new one is away for a moment.
            yield from self._rows(empty, [])
            if _server(self._wire) != self._server:
                message = "the server is another one than at the begin of the read, or has loaded other data"
                raise StoreError(StoreReason.INCOMPLETE, message)

    def _scan(self, names: set[bytes]) -> None:
        """Add the names that are found."""
        prefix = self._what.prefix.encode()
        pattern, cursor = _literally(prefix) + b"*", b"0"
        size = sum(map(len, names))
        while True:
            cursor, page = _page(self._wire.ask(b"SCAN", cursor, b"MATCH", pattern, b"COUNT", _COUNT))
            for name in page:
                if not name.startswith(prefix):
                    raise StoreError(StoreReason.INVALID_DATA, "the server names keys without the prefix")
                size += 0 if name in names else len(name)
                names.add(name)
            if len(names) > self._limit:
                raise StoreError(StoreReason.INVALID_DATA, f"there are more than {self._limit} rows")
            if size > _NAMES:
                message = f"the names of the keys have more than {_NAMES} bytes"
                raise StoreError(StoreReason.INVALID_DATA, message)
            if cursor == b"0":
                return

    def _rows(self, names: Sequence[bytes], empty: list[bytes]) -> Iterator[Row]:
        """The rows of these keys; those without a hash are added to `empty`."""
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            # The name of no row is so long.
            asked = [each for each in batch if len(each) <= _LONGEST_NAME]
            self._wire.send([(b"HGETALL", each) for each in asked])
            for each in batch:
                found = self._wire.reply() if len(each) <= _LONGEST_NAME else LARGE
                if found == []:
                    empty.append(each)
                    continue
                row = self._row(each.removeprefix(self._what.prefix.encode()), found)
                self.started = True
                yield row

    def _row(self, name: bytes, found: Reply) -> Row:
        key = _text(name[:_LONGEST_NAME])
        place = f"the hash {key[:_SHOWN]!r}" if isinstance(key, str) else "a hash"
        if isinstance(found, Refusal) and found.code == "WRONGTYPE":
            return self._unreadable(_A_HASH, place)
        if isinstance(found, Refusal):
            raise _refused(found)
        if isinstance(found, Large) or (isinstance(found, list) and LARGE in found):
            return self._unreadable(_SMALL, place)
        if not isinstance(found, list) or len(found) % 2:
            raise ReplyError
        if len(found) > 2 * MAX_COLUMNS:
            return self._unreadable(_SMALL, place)
        return row_of(self._cells(key, found), place, most=MAX_COLUMNS + 1)

    def _unreadable(self, expected: Unfit, place: str) -> Row:
        """Without its key: a template would else take defaults for all that it does not have."""
        return row_of([(self._what.key_column, expected)], place)

    def _cells(self, key: object, found: Sequence[Reply]) -> Iterator[tuple[str, object]]:
        yield self._what.key_column, key
        for name, value in zip(found[::2], found[1::2], strict=True):
            if not isinstance(name, bytes) or not isinstance(value, bytes):
                raise ReplyError
            column, text = _text(name), _text(value)
            if not isinstance(column, str):
                yield name.decode(errors="replace"), NAMES
            elif column != self._what.key_column:
                yield column, _json(text) if column in self._what.json else text


_A_HASH: Final = Unfit("a hash below the prefix, not another type,")
_SMALL: Final = Unfit(
    f"a hash with at most {MAX_COLUMNS} fields and 16 MiB, and a key of at most {_LONGEST_NAME} bytes,"
)
_JSON: Final = Unfit("JSON")


@dataclass(frozen=True)
class _Server:
    """What must be the same before and after a read."""

    run_id: str
    """Of the process."""
    replid: str
    """Of its history: another one after it loaded the data of another server."""


def _server(wire: Wire) -> _Server:
    """Which server it is. Raises StoreError if it cannot be read completely."""
    found = _info(_done(wire.ask(b"INFO")))
    missing = [each for each in _FACTS if each not in found]
    if missing:
        message = f"INFO of the server does not have {', '.join(missing)}, so no read is known to be complete"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
    if found["loading"] != "0":
        raise StoreError(StoreReason.UNREACHABLE, "the server still loads its data")
    if found["role"] != "master":
        message = "the server is a replica, which may be behind: name the primary"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
    if found["cluster_enabled"] != "0":
        raise StoreError(StoreReason.INVALID_CONFIGURATION, _CLUSTER)
    if found["maxmemory_policy"].startswith("allkeys"):
        message = "the server drops any key if memory is short (maxmemory-policy), so rows would seem gone"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
    return _Server(found["run_id"], found["master_replid"])


_FACTS: Final = ("run_id", "master_replid", "role", "loading", "cluster_enabled", "maxmemory_policy")
_NO_USERS: Final = "the server does not know users with a password, as Redis does from version 6 on"
_CLUSTER: Final = "the server is a node of a cluster, which has only some of the keys"


def _info(text: Reply) -> Mapping[str, str]:
    if not isinstance(text, bytes):
        raise ReplyError
    pairs = (line.split(":", 1) for line in text.decode(errors="replace").splitlines() if ":" in line)
    return {name: value.strip() for name, value in pairs}


def _connected(address: Address, limits: Limits, sockets: Sockets) -> Wire:
    plain = socket.create_connection((address.host, address.port), limits.connect)
    try:
        sockets.hold(plain.fileno())
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        secured = verified_tls(address.ca).wrap_socket(plain, server_hostname=address.host)
        # Until here, the time to connect.
        secured.settimeout(limits.silence)
    except BaseException:
        plain.close()
        raise
    return Wire(secured, size=_REPLY)


def _done(found: Reply) -> Reply:
    if isinstance(found, Refusal):
        raise _refused(found)
    return found


def _accepted(found: Reply) -> None:
    """Any other reply means that what is read may be something else than what was asked for."""
    if _done(found) != b"OK":
        raise ReplyError


def _page(found: Reply) -> tuple[bytes, Iterable[bytes]]:
    """The next cursor, and names."""
    found = _done(found)
    if not isinstance(found, list) or len(found) != 2:
        raise ReplyError
    cursor, names = found
    if not isinstance(cursor, bytes) or not re.fullmatch(rb"[0-9]{1,20}", cursor):
        raise ReplyError
    if not isinstance(names, list):
        raise ReplyError
    page = [each for each in names if isinstance(each, bytes)]
    if len(page) != len(names):
        # A name that is left out would be a row that is gone.
        raise ReplyError
    return cursor, page


def _literally(text: bytes) -> bytes:
    """A pattern that means these bytes."""
    return re.sub(rb"([*?\[\]^\\-])", rb"\\\1", text)


def _text(data: bytes) -> str | Unfit:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return UNICODE


def _json(text: str | Unfit) -> object:
    if isinstance(text, Unfit):
        return text
    try:
        return parsed_cell(text)
    except ValueError:
        return _JSON


_BY_CODE: Final[Mapping[str, tuple[StoreReason, str]]] = {
    **dict.fromkeys(
        ("NOAUTH", "WRONGPASS", "DENIED"),
        (StoreReason.ACCESS_DENIED, "the server refuses the user, the password or this client"),
    ),
    "NOPERM": (StoreReason.ACCESS_DENIED, "the user needs +info +scan +hgetall +select and the keys"),
    **dict.fromkeys(("MOVED", "ASK", "CLUSTERDOWN"), (StoreReason.INVALID_CONFIGURATION, _CLUSTER)),
    **dict.fromkeys(
        ("LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"),
        (StoreReason.UNREACHABLE, "the server is busy, or still loads its data"),
    ),
}
"""By the first word of an error."""
_OTHER: Final = (StoreReason.INVALID_CONFIGURATION, "the server refuses a command or the database's number")


def _refused(found: Refusal) -> StoreError:
    reason, message = _BY_CODE.get(found.code, _OTHER)
    return StoreError(reason, message)


@contextmanager
def _explained(started: Callable[[], bool], watchdog: Watchdog) -> Iterator[None]:
    """Turn errors into StoreError. Without the cause: it may hold values."""
    try:
        yield
    except (ReplyError, OSError, ValueError) as error:
        found = _explanation(error, begun=started())
        if watchdog.fired:
            found = StoreError(StoreReason.INCOMPLETE, "the read took longer than allowed")
    else:
        return
    raise found


def _explanation(error: Exception, *, begun: bool) -> StoreError:
    if begun:
        return StoreError(StoreReason.INCOMPLETE, "the connection was lost before the last row")
    if isinstance(error, SSLError):
        message = "the server offers no TLS, or its certificate is for another host or of another authority"
        return StoreError(StoreReason.UNREACHABLE, message)
    if isinstance(error, TimeoutError):
        return StoreError(StoreReason.UNREACHABLE, "the server sent nothing for longer than allowed")
    if isinstance(error, OSError):
        return StoreError(StoreReason.UNREACHABLE, "no connection to the server, or it was closed")
    return StoreError(StoreReason.UNREACHABLE, "the server does not answer as Redis and Valkey do")
