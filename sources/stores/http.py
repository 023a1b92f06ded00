"""JSON over HTTPS, page by page. Only allowed hosts are called, and only at addresses that were checked: the
connection goes to the checked address itself, so a name that changes its address leads nowhere else."""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import urllib3

from apis.tenantsource import Paging
from edgetenants_runtime.clock import Clock, pause
from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_ROWS, parsed, row_of
from sources.stores.watchdog import Sockets, Watchdog

__all__ = ["Confinement", "HttpStore", "Limits", "Pages", "check_url"]

Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a name. Raises OSError."""
_CHUNK: Final = 65_536
_MOST_PARTS: Final = 1_000_000
"""Values of a page, as counted by commas and brackets: an empty list takes three bytes of a page, and sixty
of memory."""


@dataclass(frozen=True)
class Confinement:
    """Where requests may go.

    Attributes:
        hosts: exact names, or suffixes that begin with a dot; each with `:port` if that is not 443.
        networks: networks that are allowed though they are not public, for tests and for private APIs that an
            administrator names.
        plain: allow http.
    """

    hosts: Sequence[str]
    networks: Sequence[Network] = ()
    plain: bool = False


@dataclass(frozen=True)
class Limits:
    """Bounds. Times are in seconds.

    Attributes:
        body: bytes of one page, after decompression.
        wait: the longest `Retry-After` that is waited for.
    """

    connect: float = 10.0
    silence: float = 30.0
    read: float = 900.0
    body: int = 16 * 2**20
    pages: int = 10_000
    rows: int = MAX_ROWS
    tries: int = 4
    wait: float = 60.0


@dataclass(frozen=True)
class Pages:
    """What to read, and how a page names the next one.

    Attributes:
        paging: how a page names the next one.
        items: JSON pointer (RFC 6901) of the list; empty for the whole body.
        headers: such as Authorization. They come from Secrets, and are in no message.
        next_url: JSON pointer of the next page's URL.
        cursor: JSON pointer of a cursor, which goes into the query's `cursor_parameter`.
        total: JSON pointer of the number of all rows.
        total_header: header with that number.
        ca: PEM of the authorities; None for those of the system.

    All pages have one origin.
    """

    url: str
    paging: Paging
    items: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    next_url: str = ""
    cursor: str = ""
    cursor_parameter: str = "cursor"
    total: str = ""
    total_header: str = ""
    ca: str | None = None


def _resolved(host: str, port: int) -> Sequence[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(frozen=True)
class _Asked:
    pages: Pages
    allowed: Confinement
    clock: Clock
    limits: Limits
    resolve: Resolve


class HttpStore:
    """Keeps no rows: see `read_since`."""

    def __init__(
        self, pages: Pages, allowed: Confinement, clock: Clock, *, limits: Limits | None = None,
        resolve: Resolve = _resolved,
    ) -> None:  # fmt: skip
        self._asked = _Asked(pages, allowed, clock, limits or Limits(), resolve)
        check_url(pages.url, allowed)

    @contextmanager
    def read(self) -> Iterator[HttpReading]:
        """Read all pages. Raises StoreError."""
        with self._reading(None) as reading:
            yield reading

    @contextmanager
    def read_since(self, position: str) -> Iterator[HttpReading | None]:
        """Read all pages, or yield None if the server says that the only page has the ETag of this position.

        Raises StoreError.
        """
        with self._reading(position) as reading:
            reading.first()
            yield None if reading.unchanged else reading

    @contextmanager
    def _reading(self, position: str | None) -> Iterator[HttpReading]:
        asked = self._asked
        deadline = asked.clock.now() + asked.limits.read
        with closing(Sockets()) as sockets, Watchdog(asked.clock, deadline, sockets.cut) as time:
            caller = _Caller(asked, sockets, time, deadline)
            yield HttpReading(asked.pages, caller, asked.limits, position)

    def close(self) -> None:
        """Nothing is open between reads."""


class HttpReading:
    """Rows of all pages. `position` is known at the end, and only if there was one page: an ETag says nothing
    of the pages after it."""

    def __init__(self, pages: Pages, caller: _Caller, limits: Limits, position: str | None) -> None:
        self.position: str | None = None
        self.unchanged = False
        self._pages, self._caller, self._limits, self._before = pages, caller, limits, position
        self._first: _Page | None = None

    def first(self) -> None:
        """Ask for the first page, if it changed. Raises StoreError."""
        self._first = self._caller.get(self._pages.url, self._before)
        self.unchanged = self._first is None

    def __iter__(self) -> Iterator[Row]:
        """Yield each row once. Raises StoreError."""
        page: _Page | None = self._first or self._caller.get(self._pages.url, None)
        self._first = None
        seen: set[str] = set()
        count = 0
        while page is not None:
            seen.add(hashlib.sha256(page.url.encode()).hexdigest())
            for item in _items(page, self._pages.items, len(seen)):
                count += 1
                if count > self._limits.rows:
                    raise _invalid(f"there are more than {self._limits.rows} rows")
                yield row_of(item.items() if isinstance(item, dict) else (), f"page {len(seen)}, row {count}")
            url = _next(page, self._pages, len(seen))
            if url is None:
                _check_total(page, self._pages, count)
            only = page.tag if len(seen) == 1 and url is None else None
            page = None if url is None else self._following(url, seen)
        self.position = only

    def _following(self, url: str, seen: set[str]) -> _Page | None:
        if hashlib.sha256(url.encode()).hexdigest() in seen:
            raise _invalid(f"page {len(seen)} names a page before it as the next one")
        if len(seen) >= self._limits.pages:
            raise _invalid(f"there are more than {self._limits.pages} pages")
        if _origin(url) != _origin(self._pages.url):
            # The headers with the secret would go there.
            raise StoreError(
                StoreReason.INVALID_DATA, f"page {len(seen)} names a next page of another origin"
            )
        return self._caller.get(url, None)


@dataclass(frozen=True)
class _Page:
    url: str
    body: Any
    tag: str | None
    link: str
    total: str = ""


class _Caller:
    """Sends the requests of one reading."""

    def __init__(self, asked: _Asked, sockets: Sockets, time: Watchdog, deadline: float) -> None:
        self._pages, self._allowed = asked.pages, asked.allowed
        self._clock, self._limits, self._resolve = asked.clock, asked.limits, asked.resolve
        self._sockets, self._time, self._deadline = sockets, time, deadline
        self._got = False

    def get(self, url: str, tag: str | None) -> _Page | None:
        """The page; None if it has that tag. Raises StoreError."""
        for left in reversed(range(self._limits.tries)):
            with self._sent(url, tag) as response:
                if response.status not in (429, 503) or not left:
                    return self._page(url, response, tag)
                wait = _retry_after(response.headers.get("Retry-After"))
            if wait > self._limits.wait or self._clock.now() + wait > self._deadline:
                break
            pause(self._clock, wait)
        raise StoreError(self._lost(), "the server asks to come back later")

    @contextmanager
    def _sent(self, url: str, tag: str | None) -> Iterator[urllib3.BaseHTTPResponse]:
        failed = "the server does not answer, or breaks off"
        try:
            with self._pool(url) as pool:
                headers = {"Accept": "application/json", "Accept-Encoding": "gzip", **self._pages.headers}
                if tag is not None:
                    headers["If-None-Match"] = tag
                target = urlunsplit(("", "", *urlsplit(url)[2:4], "")) or "/"
                response = pool.request(
                    "GET", target, headers={**headers, "Host": urlsplit(url).netloc}, redirect=False,
                    retries=False,
                    preload_content=False,
                )  # fmt: skip
                try:
                    yield response
                finally:
                    response.close()
                return
        except urllib3.exceptions.SSLError:
            failed = "the server's certificate is not for this host, or not from a known authority"
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            # Their text has the URL, and may have headers.
            pass
        self._in_time()
        raise StoreError(self._lost(), failed)

    def _in_time(self) -> None:
        if self._time.fired or self._clock.now() > self._deadline:
            raise StoreError(StoreReason.INCOMPLETE, "the read took longer than allowed")

    def _pool(self, url: str) -> urllib3.HTTPConnectionPool:
        check_url(url, self._allowed)
        parts = urlsplit(url)
        host, port = str(parts.hostname), parts.port or _default_port(parts.scheme)
        address = self._address(host, port)
        timeout = urllib3.Timeout(connect=self._limits.connect, read=self._limits.silence)
        if parts.scheme == "http":
            pool = urllib3.HTTPConnectionPool(address, port, timeout=timeout)
        else:
            context = ssl.create_default_context(cadata=self._pages.ca)
            pool = urllib3.HTTPSConnectionPool(
                address,
                port,
                timeout=timeout,
                ssl_context=context,
                server_hostname=host,
                assert_hostname=host,
            )
        pool.ConnectionCls = _held(pool.ConnectionCls, self._sockets)
        return pool

    def _address(self, host: str, port: int) -> str:
        try:
            found = self._resolve(host, port)
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise StoreError(self._lost(), "the host's name has no address")
        refused = [each for each in found if not _allowed(each, self._allowed.networks)]
        if refused:
            # One is enough: an honest name has no such address.
            raise StoreError(StoreReason.ACCESS_DENIED, _NOT_PUBLIC)
        return found[0]

    def _page(self, url: str, response: urllib3.BaseHTTPResponse, tag: str | None) -> _Page | None:
        if response.status == 304 and tag is not None:
            return None
        if response.status != 200:
            raise self._refused(response.status)
        body = bytearray()
        for chunk in response.stream(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > self._limits.body:
                raise _invalid(f"a page has more than {self._limits.body} bytes")
            self._in_time()
        # A connection that is cut is an end of the body, if it has no length.
        self._in_time()
        self._got = True
        headers, name = response.headers, self._pages.total_header
        total = headers.get(name, "") if name else ""
        return _Page(url, _json(bytes(body)), headers.get("ETag"), headers.get("Link", ""), total)

    def _refused(self, status: int) -> StoreError:
        if status in (401, 403):
            return StoreError(
                StoreReason.ACCESS_DENIED, f"the server refuses the credentials (HTTP {status})"
            )
        if 300 <= status < 400:
            message = f"the server redirects (HTTP {status}), which is refused: set the URL that it leads to"
            return StoreError(StoreReason.INVALID_CONFIGURATION, message)
        if status < 500 and status != 429:
            return StoreError(StoreReason.INVALID_CONFIGURATION, f"the server answers HTTP {status}")
        return StoreError(self._lost(), f"the server answers HTTP {status}")

    def _lost(self) -> StoreReason:
        return StoreReason.INCOMPLETE if self._got else StoreReason.UNREACHABLE


def _held(connection: Any, sockets: Sockets) -> Any:
    class Held(connection):  # type: ignore[misc]
        """A connection that can be cut from its first byte, also in the handshake."""

        def _new_conn(self) -> socket.socket:
            found: socket.socket = super()._new_conn()
            sockets.hold(found.fileno())
            return found

    return Held


_NOT_LISTED: Final = (
    "the URL's host is not in --allowed-http-hosts of edgetenants-sources, with its port if that is not 443; "
    "an administrator sets it"
)
_NOT_PUBLIC: Final = (
    "the host's name leads to an address that is neither public nor in --allowed-http-networks of "
    "edgetenants-sources, which an administrator sets"
)


def check_url(url: str, allowed: Confinement) -> None:
    """Refuse a URL that may not be called, whatever it leads to. Raises StoreError."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the URL cannot be parsed") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and allowed.plain):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the URL must begin with https://")
    if parts.username is not None or parts.fragment or not re.fullmatch(r"[\x21-\x7e]+", url):
        message = "the URL must have no user, no fragment, and only ASCII characters without spaces"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
    if not any(_listed(host, port or _default_port(parts.scheme), each) for each in allowed.hosts):
        raise StoreError(StoreReason.ACCESS_DENIED, _NOT_LISTED)


def _default_port(scheme: str) -> int:
    return _PORT if scheme == "https" else 80


def _listed(host: str, port: int, entry: str) -> bool:
    name, _, listed = entry.partition(":")
    if port != int(listed or _PORT):
        return False
    return host == name or (name.startswith(".") and host.endswith(name))


def _allowed(address: str, networks: Sequence[Network]) -> bool:
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        # With a zone, such as fe80::1%eth0.
        return False
    if any(found in network for network in networks):
        return True
    if isinstance(found, IPv6Address) and found in _NAT64:
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    if isinstance(found, IPv6Address) and (found not in _UNICAST or _is_tunnel(found)):
        return False
    public = found.is_global and not found.is_multicast and not found.is_reserved
    return public and not any(found in each for each in _SPECIAL)


def _is_tunnel(found: IPv6Address) -> bool:
    """Its last 32 bits are an IPv4 address, which may be private, and the routes of the rest may lead there
    (ISATAP, RFC 5214 6.1)."""
    return int(found) >> 32 & 0xFDFFFFFF == 0x5EFE


_PORT: Final = 443
_UNICAST: Final = ip_network("2000::/3")
_NAT64: Final = ip_network("64:ff9b::/96")
"""RFC 6052: the IPv4 address in it is what counts."""
_SPECIAL: Final = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",
            "192.88.99.0/24",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "2620:4f:8000::/48",
            "3fff::/20",
        ),
    )
)
"""The registries of special addresses of IANA, where Python's own list is older, or where an address leads to
another one within it (Teredo, 6to4)."""


def _json(body: bytes) -> object:
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_PARTS:
        raise _invalid(f"a page has more than {_MOST_PARTS} values")
    try:
        return parsed(body)
    except ValueError:
        raise _invalid("a page is not JSON") from None


_ABSENT: Final = object()


def _at(body: Any, pointer: str) -> Any:
    """What an RFC 6901 pointer names, or `_ABSENT`."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(body, dict):
            body = body.get(name, _ABSENT)
        elif isinstance(body, list) and re.fullmatch(r"0|[1-9][0-9]{0,6}", name) and int(name) < len(body):
            body = body[int(name)]
        else:
            return _ABSENT
    return body


def _items(page: _Page, pointer: str, number: int) -> list[Any]:
    found = _at(page.body, pointer)
    if not isinstance(found, list):
        # An error in the body must not look like an empty table.
        raise _invalid(f"page {number} has no list at {pointer or 'its top'}")
    return found


def _next(page: _Page, pages: Pages, number: int) -> str | None:
    if pages.paging is Paging.SINGLE:
        if _NEXT.search(page.link) or _names_more(page.body, pages.items):
            raise _invalid("the page seems to name a next one, so it is not the whole table: set paging")
        return None
    if pages.paging is Paging.LINK:
        return _next_link(page, pages, number)
    found = _at(page.body, pages.next_url or pages.cursor)
    if found is _ABSENT:
        # The last page says null or "": where the member is missing, the answer may be cut.
        raise _invalid(
            f"a page has no {pages.next_url or pages.cursor}; on the last page it must be null or empty"
        )
    if found is None or found == "":
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        # Not the last page: it would be rows that are gone.
        raise _invalid(f"{pages.next_url or pages.cursor} is neither text, a whole number, null nor empty")
    if pages.next_url:
        return urljoin(page.url, str(found))
    parts = urlsplit(pages.url)
    others = [
        pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != pages.cursor_parameter
    ]
    return urlunsplit(parts._replace(query=urlencode([*others, (pages.cursor_parameter, str(found))])))


_NEXT: Final = re.compile(r"\bnext\b", re.IGNORECASE)
_MORE: Final = re.compile(
    "(odata)?next(url|uri|link|page|token|pagetoken|cursor)?|has(more|next|nextpage)|lastevaluatedkey"
)
"""Names with which APIs say that there are more pages, in lower case and letters only."""


def _next_link(page: _Page, pages: Pages, number: int) -> str | None:
    match = re.search(r'<([^<>]*)>[^,<]*;\s*rel="?next"?(?=[\s;,]|$)', page.link)
    if match is not None:
        return str(urljoin(page.url, match[1]))
    if _NEXT.search(page.link):
        # RFC 8288 has more ways to write it. A page that is overlooked would be rows that are gone.
        raise _invalid("the Link header names a next page in a way that is not supported; use nextUrl")
    if not page.link and not (pages.total or pages.total_header):
        message = f"page {number} has no Link header, so it may not be the last one; set total or totalHeader"
        raise _invalid(message)
    return None


def _names_more(body: Any, pointer: str) -> bool:
    """Whether an object around the list has a member that usually names a next page."""
    around, parts = [body], pointer.split("/")[1:-1]
    for part in parts:
        around.append(_at(around[-1], f"/{part}"))
    around = [each for each in around if isinstance(each, dict)]
    inner = [each for found in around for each in found.values() if isinstance(each, dict)]
    return any(
        bool(value) and _MORE.fullmatch(re.sub("[^a-z]", "", name.lower())) is not None
        for each in (*around, *inner)
        for name, value in each.items()
    )


def _check_total(page: _Page, pages: Pages, count: int) -> None:
    """Fail if the last page says that there are other rows than those."""
    if pages.total:
        total = _at(page.body, pages.total)
    elif pages.total_header:
        total = int(page.total) if re.fullmatch("[0-9]{1,12}", page.total) else None
    else:
        return
    if isinstance(total, bool) or not isinstance(total, int):
        raise _invalid(f"the last page has no number at {pages.total or pages.total_header}")
    if total != count:
        message = f"the server says that there are {total} rows, and sent {count}"
        raise StoreError(StoreReason.INCOMPLETE, message)


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", "", None


def _retry_after(value: str | None) -> float:
    """Seconds. A date counts as one second: its clock is the server's."""
    return float(value) if value and re.fullmatch(r"[0-9]{1,6}", value) else 1.0


def _invalid(message: str) -> StoreError:
    return StoreError(StoreReason.INVALID_DATA, message)
