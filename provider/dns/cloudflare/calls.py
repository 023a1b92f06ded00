"""Requests to Cloudflare, by Cloudflare's SDK, and what their errors mean.

https://developers.cloudflare.com/api/resources/dns/subresources/records/

The SDK's own retries are off: a failed request raises an error, and the reconcile decides when the next one
comes.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.dns.errors import TIMED_OUT, DnsError, Failure, NoConnection, Unreachable
from provider.dns.throttle import LONGEST_PAUSE, Rate, Throttle

__all__ = [
    "MOST_RECORDS",
    "URL",
    "Client",
    "CloudflareCalls",
    "CloudflareSettings",
    "Connect",
    "Row",
    "TooManyError",
    "connected",
    "throttle_of_token",
]

URL: Final = "https://api.cloudflare.com/client/v4"
_SECONDS: Final = 10.0
"""Of one request. Cloudflare's API answers in some hundred milliseconds."""
_LEAST_SECONDS: Final = 0.05
_PAUSE: Final = 300.0
"""Seconds after a 429 that names none: Cloudflare blocks for five minutes."""
_RATE: Final = Rate(3.0, 200)
"""In five minutes, at most 1,100 of the 1,200 requests that Cloudflare takes from one user. Above, it blocks
the user's dashboard, too."""
_WORDS: Final = 300
"""Characters of Cloudflare's words in a message."""
_ZONES_A_PAGE: Final = 50
_RECORDS_A_PAGE: Final = 1000
"""About a megabyte, of the eight that an answer may have."""
_KEYS: Final = ("id", "name", "type", "content", "ttl", "proxied", "priority", "status")
"""Of a zone or record: what is kept of it."""
_MOST_PAGES: Final = 100
MOST_RECORDS: Final = 50_000
"""Of a zone that are read at once; about 40 MiB while they are read."""
_FAILURES: Final = {
    401: Failure.NOT_PERMITTED,
    403: Failure.NOT_PERMITTED,
    404: Failure.NO_ZONE,
    429: Failure.LATER,
}
_OF_CODES: Final = {
    6003: Failure.NOT_PERMITTED,  # the token has not the form of one
    6111: Failure.NOT_PERMITTED,
    7003: Failure.NO_ZONE,
    81044: Failure.CHANGED,  # the record does not exist
    81053: Failure.CHANGED,  # an A, AAAA or CNAME record with that host exists
    81054: Failure.CHANGED,  # a CNAME record with that host exists
    81056: Failure.CHANGED,  # NS records with that host exist
    81057: Failure.CHANGED,  # the record exists
    81058: Failure.CHANGED,  # an identical record exists
}
"""By Cloudflare's code, which says more than the status."""
_RIGHTS: Final = "the API token needs the permissions Zone Read and DNS Write for the zone"

_ADDRESS: Final = re.compile(" at 0x[0-9a-f]+")
"""Of an object of Python, in the words of a library: another one at each attempt."""
_OTHER_FORM: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What an answer of another form raises."""

Client = Any
"""The SDK's Cloudflare."""
Row = Mapping[str, Any]
"""A zone or record as the JSON of the API."""


@dataclass(frozen=True)
class CloudflareSettings:
    """An API token, which is in no text, and the zones to use."""

    token: str = field(repr=False)
    zones: tuple[str, ...] = ()
    """Ids or names of the zones that the provider may write to; empty for all that the token may read."""


Connect = Callable[[CloudflareSettings], Client]


class TooManyError(DnsError):
    """There are more rows than may be read at once."""


def connected(settings: CloudflareSettings, url: str = URL) -> Client:
    """Return the SDK's client for Cloudflare's API at its URL.

    Raises:
        DnsError: the SDK is not installed.
    """
    try:
        from cloudflare import Cloudflare, DefaultHttpxClient  # noqa: PLC0415

        from provider.dns.cloudflare.transport import Transport  # noqa: PLC0415
    except ImportError as error:
        words = f"Cloudflare: the provider's image is without its SDK, edgetenants[cloudflare]: {error}"
        raise DnsError(Failure.REFUSED, words) from error
    http = DefaultHttpxClient(transport=Transport(url), follow_redirects=False)
    http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    client = Cloudflare(
        api_token=settings.token,
        base_url=url,
        max_retries=0,
        timeout=_SECONDS,
        http_client=http,
    )
    # The SDK prefers these, which it takes from environment variables, to the token.
    client.api_email = client.api_key = client.user_service_key = None
    return client


def throttle_of_token(clock: Clock) -> Throttle:
    """Return the pace that Cloudflare permits to one token."""
    return Throttle(clock, "Cloudflare", _RATE)


class CloudflareCalls:
    """The requests with one token. Thread-safe."""

    def __init__(
        self,
        settings: CloudflareSettings,
        clock: Clock,
        connect: Connect = connected,
        throttle: Throttle | None = None,
    ) -> None:
        """Connects to nothing yet. `throttle`: shared by all that use the token."""
        self._settings, self._connect = settings, connect
        self._throttle = throttle or throttle_of_token(clock)
        self._lock = threading.Lock()
        self._client: Client | None = None

    def zones(self) -> list[Row]:
        """Return all zones that the token may read.

        Raises:
            DnsError: they cannot be listed.
        """

        def page(client: Client, number: int, **options: Any) -> Any:
            return client.zones.with_raw_response.list(page=number, per_page=_ZONES_A_PAGE, **options)

        return self._pages("list of zones", page)

    def records(self, zone: str, name: str | None = None, *, most: int = MOST_RECORDS) -> list[Row]:
        """Return the records of a zone: those of one name, or all.

        Raises:
            TooManyError: there are more than `most`.
            DnsError: they cannot be listed.
        """
        doing = f"read of {name or 'all records'} in zone {zone}"
        only = {"name": {"exact": name}} if name else {}

        def page(client: Client, number: int, **options: Any) -> Any:
            return client.dns.records.with_raw_response.list(
                zone_id=zone, page=number, per_page=_RECORDS_A_PAGE, **only, **options
            )

        return self._pages(doing, page, most)

    def batch(self, zone: str, doing: str, changes: Mapping[str, Sequence[Row]]) -> Mapping[str, Any]:
        """Make changes as one transaction; return what became of them, in the same form.

        Raises:
            DnsError: with UNCERTAIN if they may have been made; otherwise none was.
        """
        asked = {key: value for key, value in changes.items() if value}
        found, _ = self._asked(
            doing,
            lambda client, **options: client.dns.records.with_raw_response.batch(
                zone_id=zone, **asked, **options
            ),
            write=True,
        )
        return found if isinstance(found, Mapping) else {}

    def room(self, doing: str, requests: int) -> None:
        """Check that so many requests can be made in a row.

        Raises:
            DnsError: with LATER, if they cannot.
        """
        self._throttle.check(doing, before=requests)

    def __str__(self) -> str:
        return "Cloudflare"

    def _pages(self, doing: str, page: Callable[..., Any], most: int = MOST_RECORDS) -> list[Row]:
        found: list[Row] = []
        for number in range(1, _MOST_PAGES + 1):
            rows, pages = self._asked(doing, lambda client, n=number, **options: page(client, n, **options))
            try:
                found += map(_kept, rows)
            except _OTHER_FORM as error:
                words = f"{self}: {doing}: unexpected answer: expected a list of objects"
                raise DnsError(Failure.LATER, words) from error
            # A page has at least one, so the number of pages says that there are too many.
            if max(len(found), len(rows) * (pages - number)) > most:
                break
            if number >= pages:
                return found
        raise TooManyError(Failure.REFUSED, f"{self}: {doing}: expected at most {most} of them, got more")

    def _asked(self, doing: str, ask: Callable[..., Any], *, write: bool = False) -> tuple[Any, int]:
        """The result of an answer, and the number of its pages."""
        self._throttle.check(doing)
        client = self._connected()
        import cloudflare  # noqa: PLC0415
        import httpx  # noqa: PLC0415

        unclear = Failure.UNCERTAIN if write else Failure.LATER
        seconds = max(_LEAST_SECONDS, min(_SECONDS, deadline.remaining()))
        try:
            answer = ask(client, timeout=seconds).http_response.json()
            return answer["result"], int((answer.get("result_info") or {}).get("total_pages") or 1)
        except cloudflare.APIStatusError as error:
            raise self._refused(doing, error, unclear) from error
        except cloudflare.APIConnectionError as error:
            never = isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
            words = self._words(error.__cause__ or error)
            if never:
                raise NoConnection(Failure.LATER, f"{self}: {doing}: no connection: {words}") from error
            raise Unreachable(unclear, f"{self}: {doing}: no answer: {words}") from error
        except (cloudflare.CloudflareError, httpx.HTTPError, *_OTHER_FORM) as error:
            words = f"{self}: {doing}: unexpected answer: {self._words(repr(error))}"
            raise DnsError(unclear, words) from error

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = client = self._connect(self._settings)
                # The client does not know these calls. A request that runs keeps both.
                weakref.finalize(self, client.close)
            return self._client

    def _refused(self, doing: str, error: Any, unclear: Failure) -> DnsError:
        """What an answer with an error means."""
        status = int(error.status_code)
        errors = _errors(error.body)
        codes = [each for each, _ in errors if each in _OF_CODES]
        is_refusal = 300 <= status < 500 and status != TIMED_OUT
        other = _FAILURES.get(status, Failure.REFUSED if is_refusal else unclear)
        failure = _OF_CODES[codes[0]] if codes and status < 500 else other
        after = _after(error.response.headers.get("Retry-After"))
        if status == 429:
            after = self._throttle.pause(_PAUSE if after is None else after)
        said = "; ".join(f"{message} ({code})" for code, message in errors) or "without words of Cloudflare"
        rights = f"; {_RIGHTS}" if failure is Failure.NOT_PERMITTED else ""
        return DnsError(failure, f"{self}: {doing}: {status}: {self._words(said)}{rights}", after=after)

    def _words(self, text: object) -> str:
        said, token = _ADDRESS.sub("", str(text)), self._settings.token
        return " ".join((said.replace(token, "***") if token else said).split())[:_WORDS]


def _errors(body: object) -> list[tuple[int, str]]:
    listed = body.get("errors") if isinstance(body, dict) else None
    each = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [
        (int(one["code"]), str(one.get("message", ""))) for one in each if isinstance(one.get("code"), int)
    ]


def _kept(row: Row) -> Row:
    """Some of a row: a zone may have many.

    Raises:
        TypeError, ValueError: it is none, or has halves of characters, which JSON may have.
    """
    if not isinstance(row, Mapping):
        raise TypeError("expected an object")
    kept = {key: row[key] for key in _KEYS if key in row}
    "".join(each for each in kept.values() if isinstance(each, str)).encode()
    return kept


def _after(header: str | None) -> float | None:
    return min(float(header), LONGEST_PAUSE) if header and header.isdecimal() else None
