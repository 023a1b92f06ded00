"""Requests to Azure DNS, by Azure's SDK, and what their errors mean.

https://learn.microsoft.com/rest/api/dns/ (version 2018-05-01)

The SDK's own retries are off: a failed request raises an error, and the reconcile decides when the next one
comes.
"""

from __future__ import annotations

import io
import json
import logging
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.dns.errors import TIMED_OUT, DnsError, Failure, NoConnection, Unreachable
from provider.dns.throttle import LONGEST_PAUSE, Throttle

__all__ = [
    "CHINA",
    "PUBLIC",
    "US_GOVERNMENT",
    "AzureCalls",
    "AzureSettings",
    "Client",
    "Cloud",
    "Connect",
    "connected",
]

_SECONDS: Final = 10.0
"""Of one request. Azure's API answers in some hundred milliseconds."""
_LEAST_SECONDS: Final = 0.05
_PAUSE: Final = 30.0
"""Seconds after a 429 that names none."""
_WORDS: Final = 300
"""Characters of Azure's words in a message."""
_MOST_ZONES: Final = 2000
_MOST_PAGES: Final = 100
"""Of zones. Azure has 100 on a page."""
_NO_RECORD: Final = "NotFound"
"""The code for a record set that does not exist. A zone or resource group that is gone has another one."""
_FAILURES: Final = {
    401: Failure.NOT_PERMITTED,
    403: Failure.NOT_PERMITTED,
    404: Failure.NO_ZONE,
    409: Failure.CHANGED,
    412: Failure.CHANGED,
    429: Failure.LATER,
}
_ENTRA: Final = "AADSTS"
"""How the error codes of Microsoft Entra ID begin."""
_CHANGING: Final = re.compile(r" at 0x[0-9a-f]+| ?Trace ID:.*", re.DOTALL)
"""The address of an object of Python, and how the words of Entra ID end: others at each attempt."""
_OTHER_FORM: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What an answer of another form raises."""
_RIGHTS: Final = (
    "the client needs the role DNS Zone Contributor, or the actions read, write and delete of "
    "Microsoft.Network/dnsZones, in the resource group"
)

Client = Any
"""The SDK's DnsManagementClient."""


@dataclass(frozen=True)
class Cloud:
    """One of Azure's clouds. Each has its own accounts."""

    url: str
    """Of Azure Resource Manager."""
    authority: str
    """The URL of Microsoft Entra ID."""
    alias: str = ""
    """Another URL of it, which it may name in its answers."""


PUBLIC: Final = Cloud("https://management.azure.com", "https://login.microsoftonline.com")
US_GOVERNMENT: Final = Cloud("https://management.usgovcloudapi.net", "https://login.microsoftonline.us")
CHINA: Final = Cloud(
    "https://management.chinacloudapi.cn",
    "https://login.chinacloudapi.cn",
    "https://login.partner.microsoftonline.cn",
)


@dataclass(frozen=True)
class AzureSettings:
    """One resource group with zones, and the credentials of an application. The secret is in no text."""

    subscription: str
    resource_group: str
    tenant_id: str
    client_id: str
    client_secret: str = field(repr=False)
    zones: tuple[str, ...] = ()
    """Names of the zones that the provider may write to; empty for all public ones of the group."""
    cloud: Cloud = PUBLIC


Connect = Callable[[AzureSettings], Client]


def connected(settings: AzureSettings, url: str = "") -> Client:
    """Return the SDK's client. `url`: of a server in place of Azure, which asks for no token.

    Raises:
        DnsError: the SDK is not installed.
    """
    try:
        from azure.core.pipeline import policies  # noqa: PLC0415
        from azure.identity import ClientSecretCredential  # noqa: PLC0415
        from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy  # noqa: PLC0415
        from azure.mgmt.dns import DnsManagementClient  # noqa: PLC0415

        from provider.dns.azure.transport import Transport  # noqa: PLC0415
    except ImportError as error:
        words = f"Azure DNS: the provider's image is without its SDK, edgetenants[azure]: {error}"
        raise DnsError(Failure.REFUSED, words) from error
    for each in ("azure", "msal"):
        # Their warnings have what the error has, at each attempt, and may quote what was sent.
        logging.getLogger(each).setLevel(logging.CRITICAL)
    credential = ClientSecretCredential(
        settings.tenant_id,
        settings.client_id,
        settings.client_secret,
        authority=settings.cloud.authority,
        disable_instance_discovery=True,
        transport=Transport(settings.cloud.authority, settings.cloud.alias),
        retry_total=0,
        connection_timeout=_SECONDS,
        read_timeout=_SECONDS,
    )
    asking = ARMChallengeAuthenticationPolicy(credential, f"{settings.cloud.url}/.default")
    sandbox = policies.HeadersPolicy({"Authorization": "Bearer sandbox"})
    return DnsManagementClient(
        credential,
        settings.subscription,
        base_url=url or settings.cloud.url,
        transport=Transport(url or settings.cloud.url),
        # In place of the SDK's, which have one that registers the subscription, and sleeps for minutes.
        policies=[
            policies.RequestIdPolicy(),
            policies.UserAgentPolicy("edgetenants"),
            policies.ContentDecodePolicy(),
            sandbox if url else asking,
        ],
    )


class _NoRecordError(DnsError):
    """The zone exists, and the record set does not."""


class AzureCalls:
    """The requests of one resource group. Thread-safe."""

    def __init__(self, settings: AzureSettings, clock: Clock, connect: Connect = connected) -> None:
        """Connects to nothing yet."""
        self._settings, self._connect = settings, connect
        self._throttle = Throttle(clock, str(self))
        self._lock = threading.Lock()
        self._client: Client | None = None

    def zones(self) -> tuple[str, ...]:
        """Return the names of the public zones of the group.

        Raises:
            DnsError: they cannot be listed.
        """
        return tuple(self._asked("list of zones", self._zones))

    def record(self, zone: str, name: str, kind: str) -> Mapping[str, Any] | None:
        """Return a record set as the JSON of the API; None if there is none.

        Raises:
            DnsError: it cannot be read.
        """
        doing = f"read of {kind} {name} in zone {zone}"
        try:
            return self._json(
                doing,
                lambda client, **options: client.record_sets.get(*self._at(zone, name, kind), **options),
            )
        except _NoRecordError:
            return None

    def put(self, zone: str, name: str, kind: str, content: Mapping[str, Any], etag: str | None) -> str:
        """Write a record set if it is that of the etag, or if there is none (None). Return its etag.

        Raises:
            DnsError: with CHANGED if it is another one.
        """
        data = json.dumps(content).encode()
        condition = {"if_none_match": "*"} if etag is None else {"if_match": etag}
        answer = self._json(
            f"write of {kind} {name} in zone {zone}",
            lambda client, **options: client.record_sets.create_or_update(
                *self._at(zone, name, kind), io.BytesIO(data), **condition, **options
            ),
            write=True,
        )
        if not answer.get("etag"):
            raise DnsError(Failure.UNCERTAIN, f"{self}: write of {kind} {name}: the answer has no etag")
        return str(answer["etag"])

    def delete(self, zone: str, name: str, kind: str, etag: str) -> None:
        """Delete a record set if it is that of the etag. None is one that was deleted.

        Raises:
            DnsError: with CHANGED if it is another one.
        """
        doing = f"deletion of {kind} {name} in zone {zone}"
        self._asked(
            doing,
            lambda client, **options: client.record_sets.delete(
                *self._at(zone, name, kind), if_match=etag, **options
            ),
            write=True,
        )

    def __str__(self) -> str:
        return f"Azure DNS, resource group {self._settings.resource_group}"

    def _zones(self, client: Client, **options: float) -> tuple[str, ...]:
        found: list[str] = []
        pages = client.zones.list_by_resource_group(self._settings.resource_group, **options).by_page()
        for number, page in enumerate(islice(pages, _MOST_PAGES + 1)):
            public = [each for each in page if _is_public(each)]
            found += [str(each.name) for each in public]
            if number >= _MOST_PAGES or len(found) > _MOST_ZONES:
                words = f"{self}: expected at most {_MOST_ZONES} zones in the resource group, got more"
                raise DnsError(Failure.REFUSED, words)
        return tuple(found)

    def _at(self, zone: str, name: str, kind: str) -> tuple[str, str, str, str]:
        return self._settings.resource_group, zone, name, kind

    def _json(self, doing: str, ask: Callable[..., Any], *, write: bool = False) -> Mapping[str, Any]:
        """The JSON of an answer: the SDK's models leave out what they do not know."""
        found = self._asked(doing, partial(ask, cls=_as_json), write=write)
        if not isinstance(found, Mapping):
            raise DnsError(_unclear(write), f"{self}: {doing}: unexpected answer: {self._words(found)}")
        return found

    def _asked(self, doing: str, ask: Callable[..., Any], *, write: bool = False) -> Any:
        self._throttle.check(doing)
        client = self._connected()
        from azure.core import exceptions  # noqa: PLC0415

        seconds = max(_LEAST_SECONDS, min(_SECONDS, deadline.remaining()))
        try:
            return ask(client, connection_timeout=seconds, read_timeout=seconds)
        except exceptions.ServiceRequestError as error:
            words = f"{self}: {doing}: no connection: {self._words(error)}"
            raise NoConnection(Failure.LATER, words) from error
        except exceptions.ServiceResponseError as error:
            raise Unreachable(_unclear(write), f"{self}: {doing}: no answer: {self._words(error)}") from error
        except exceptions.ClientAuthenticationError as error:
            raise self._unauthorized(doing, error) from error
        except exceptions.DecodeError as error:
            words = f"{self}: {doing}: the answer is no JSON"
            raise DnsError(_unclear(write), words) from error
        except exceptions.HttpResponseError as error:
            raise self._refused(doing, error, write=write) from error
        except _OTHER_FORM as error:
            raise DnsError(
                _unclear(write), f"{self}: {doing}: unexpected answer: {self._words(error)}"
            ) from error
        except (exceptions.AzureError, OSError) as error:
            raise DnsError(_unclear(write), f"{self}: {doing}: no answer: {self._words(error)}") from error

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = client = self._connect(self._settings)
                # The client does not know these calls. A request that runs keeps both.
                weakref.finalize(self, client.close)
            return self._client

    def _refused(self, doing: str, error: Any, *, write: bool) -> DnsError:
        """What an answer with an error means."""
        status, after = int(error.status_code or 0), _after(error)
        code, message = _said(error)
        other = Failure.REFUSED if 400 <= status < 500 and status != TIMED_OUT else _unclear(write)
        failure = _FAILURES.get(status, other)
        if status == 429:
            after = self._throttle.pause(_PAUSE if after is None else after)
        said = self._words(f"{code}: {message}" if code else message)
        rights = f"; {_RIGHTS}" if failure is Failure.NOT_PERMITTED else ""
        kind = _NoRecordError if status == 404 and code == _NO_RECORD else DnsError
        return kind(failure, f"{self}: {doing}: {status}: {said}{rights}", after=after)

    def _unauthorized(self, doing: str, error: Any) -> DnsError:
        """Microsoft Entra ID, or Azure, does not take the credentials; or no token could be asked for."""
        said = self._words(error.message)
        if error.response is None and _ENTRA not in said:
            return self._no_token(doing, error.__cause__, said)
        words = f"{self}: {doing}: {said}; check the tenant id, client id and client secret; {_RIGHTS}"
        return DnsError(Failure.NOT_PERMITTED, words)

    def _no_token(self, doing: str, cause: BaseException | None, said: str) -> DnsError:
        """The request was not sent, as its token was not."""
        from azure.core import exceptions  # noqa: PLC0415

        words = f"{self}: {doing}: no token: {said}"
        if isinstance(cause, exceptions.ServiceRequestError):
            return NoConnection(Failure.LATER, f"{self}: {doing}: no connection: {said}")
        kind = Unreachable if isinstance(cause, exceptions.ServiceResponseError) else DnsError
        return kind(Failure.LATER, words)

    def _words(self, text: object) -> str:
        # Blanks first: a pattern takes long for many of them.
        said, secret = " ".join(str(text).split()), self._settings.client_secret
        return _CHANGING.sub("", said.replace(secret, "***") if secret else said)[:_WORDS]


def _is_public(zone: Any) -> bool:
    return str(zone.zone_type or "Public").rpartition(".")[2].lower() == "public"


def _as_json(answer: Any, _: Any, __: Any) -> Any:
    return answer.http_response.json()


def _said(error: Any) -> tuple[str, str]:
    """The code and the message of an answer. Azure has them in the field `error`, or at the top."""
    with suppress(*_OTHER_FORM):
        found = json.loads(error.response.text())
        found = found.get("error") or found
        return str(found["code"]), str(found["message"])
    return "", "without words of Azure"


def _unclear(write: bool) -> Failure:
    return Failure.UNCERTAIN if write else Failure.LATER


def _after(error: Any) -> float | None:
    headers = getattr(error.response, "headers", None) or {}
    given = str(headers.get("Retry-After") or "")
    return min(float(given), LONGEST_PAUSE) if given.isdecimal() else None
