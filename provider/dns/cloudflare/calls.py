"""Requests to Cloudflare, by Cloudflare's SDK, and what their errors mean.

https://developers.cloudflare.com/api/resources/dns/subresources/records/

The SDK's own retries are off: a failed request raises an error, and the reconcile decides when the next one
comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure
from provider.dns.throttle import Rate, Throttle

__all__ = ["Client", "CloudflareCalls", "CloudflareSettings", "Connect", "Row", "connected"]

_API: Final = "https://api.cloudflare.com/client/v4"
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
_RECORDS_A_PAGE: Final = 5000
_MOST_PAGES: Final = 40
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

_OTHER_FORM: Final = (ValueError, KeyError, TypeError, AttributeError)

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


def connected(settings: CloudflareSettings, url: str = _API) -> Client:
    """Return the SDK's client for Cloudflare's API at its URL.

    Raises:
        DnsError: the SDK is not installed.
    """
    try:
        from cloudflare import Cloudflare, DefaultHttpxClient  # noqa: PLC0415
    except ImportError as error:
        words = f"Cloudflare: the SDK is not installed; install edgetenants[cloudflare]: {error}"
        raise DnsError(Failure.REFUSED, words) from error
    client = Cloudflare(
        api_token=settings.token,
        base_url=url,
        max_retries=0,
        timeout=_SECONDS,
        http_client=DefaultHttpxClient(follow_redirects=False),
    )
    # The SDK prefers these, which it takes from environment variables, to the token.
    client.api_email = client.api_key = client.user_service_key = None
    return client


class CloudflareCalls:
    """The requests with one token. Thread-safe."""

    def __init__(self, settings: CloudflareSettings, clock: Clock, connect: Connect = connected) -> None:
        """Connects to nothing yet."""
        self._settings, self._connect = settings, connect
        self._throttle = Throttle(clock, str(self), _RATE)
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

    def records(self, zone: str, name: str | None = None) -> list[Row]:
        """Return the records of a zone: those of one name, or all.

        Raises:
            DnsError: they cannot be listed.
        """
        doing = f"read of {name or 'all records'} in zone {zone}"
        only = {"name": {"exact": name}} if name else {}

        def page(client: Client, number: int, **options: Any) -> Any:
            return client.dns.records.with_raw_response.list(
                zone_id=zone, page=number, per_page=_RECORDS_A_PAGE, **only, **options
            )

        return self._pages(doing, page)

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

    def _pages(self, doing: str, page: Callable[..., Any]) -> list[Row]:
        found: list[Row] = []
        for number in range(1, _MOST_PAGES + 1):
            rows, pages = self._asked(doing, lambda client, n=number, **options: page(client, n, **options))
            if not isinstance(rows, list):
                raise DnsError(Failure.LATER, f"{self}: {doing}: unexpected answer: no list")
            found += rows
            if number >= pages:
                return found
        words = f"{self}: {doing}: expected at most {_MOST_PAGES} pages, got more"
        raise DnsError(Failure.REFUSED, words)

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
            failure, what = (Failure.LATER, "no connection") if never else (unclear, "no answer")
            words = f"{self}: {doing}: {what}: {self._words(error.__cause__ or error)}"
            raise DnsError(failure, words) from error
        except (cloudflare.CloudflareError, httpx.HTTPError, *_OTHER_FORM) as error:
            words = f"{self}: {doing}: unexpected answer: {self._words(repr(error))}"
            raise DnsError(unclear, words) from error

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = self._connect(self._settings)
            return self._client

    def _refused(self, doing: str, error: Any, unclear: Failure) -> DnsError:
        """What an answer with an error means."""
        status = int(error.status_code)
        errors = _errors(error.body)
        codes = [each for each, _ in errors if each in _OF_CODES]
        other = _FAILURES.get(status, Failure.REFUSED if 300 <= status < 500 else unclear)
        failure = _OF_CODES[codes[0]] if codes and status < 500 else other
        after = _after(error.response.headers.get("Retry-After"))
        if status == 429:
            after = self._throttle.pause(_PAUSE if after is None else after)
        said = "; ".join(f"{message} ({code})" for code, message in errors) or error.body or error.message
        rights = f"; {_RIGHTS}" if failure is Failure.NOT_PERMITTED else ""
        return DnsError(failure, f"{self}: {doing}: {status}: {self._words(said)}{rights}", after=after)

    def _words(self, text: object) -> str:
        said, token = str(text), self._settings.token
        return " ".join((said.replace(token, "***") if token else said).split())[:_WORDS]


def _errors(body: object) -> list[tuple[int, str]]:
    listed = body.get("errors") if isinstance(body, dict) else None
    each = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [
        (int(one["code"]), str(one.get("message", ""))) for one in each if isinstance(one.get("code"), int)
    ]


def _after(header: str | None) -> float | None:
    return float(header) if header and header.isdecimal() else None
