"""The HTTP transport of Azure's SDK on bounded connections. Imported with the SDK only."""

from __future__ import annotations

from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urlsplit

import requests
import urllib3
from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError, ProxyError

from provider.dns import bounded_http

__all__ = ["Transport"]

_NEVER_SENT: Final = (NewConnectionError, ConnectTimeoutError, ProxyError)
_CONNECTIONS: Final = 4
"""Kept open; more are opened when more threads ask."""


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *how: Any, **more: Any) -> None:
        super().init_poolmanager(*how, **more)
        bounded_http.bound(self.poolmanager)

    def proxy_manager_for(self, *how: Any, **more: Any) -> urllib3.ProxyManager:
        made: urllib3.ProxyManager = super().proxy_manager_for(*how, **more)
        bounded_http.bound(made)
        return made


class Transport(RequestsTransport):  # type: ignore[misc] # the SDK is not typed
    """Sends requests to the hosts of some URLs, and to no other: answers name URLs, and each request has a
    token or a secret. Thread-safe, as the session changes with no request."""

    def __init__(self, *urls: str) -> None:
        """Connects to nothing yet."""
        session = requests.Session()
        # No passwords from a file .netrc, which would replace the token; and proxies as below.
        session.trust_env = False
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        for scheme in ("https://", "http://"):
            session.mount(scheme, _Adapter(pool_maxsize=_CONNECTIONS, max_retries=0))
        super().__init__(session=session)
        self._places = frozenset(map(_place, urls))

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request, and read the whole answer.

        Raises:
            ServiceRequestError: no connection was made.
            AzureError: it is for another host, or there is no whole answer.
        """
        if _place(request.url) not in self._places:
            raise AzureError("an answer names another host, which is not asked")
        proxy = bounded_http.proxy_of(request.url)
        request.headers["Accept-Encoding"] = "identity"
        try:
            return super().send(request, **{**options, "proxies": {"all": proxy} if proxy else {}})
        except ServiceRequestError as error:
            reason = _reason(error.inner_exception)
            never = isinstance(reason, (*_NEVER_SENT, requests.ConnectTimeout))
            # The first is the SDK's word for a connection that broke, too.
            kind = ServiceRequestError if never else ServiceResponseError
            raise kind(bounded_http.words(reason), error=error.inner_exception) from error


def _place(url: str) -> tuple[str, str | None, int]:
    """Scheme, host and port. Azure's links to next pages may have the port that others leave out."""
    split = urlsplit(url)
    return split.scheme, split.hostname, split.port or (443 if split.scheme == "https" else 80)


def _reason(cause: BaseException | None) -> BaseException:
    """What urllib3 said, of what requests and the SDK made of it."""
    first = cause.args[0] if cause is not None and cause.args else cause
    found = first.reason if isinstance(first, MaxRetryError) else first
    return found if isinstance(found, BaseException) else cause or Exception()
