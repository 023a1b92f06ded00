"""The HTTP transport of Cloudflare's SDK on bounded connections. Imported with the SDK only."""

from __future__ import annotations

import ssl
from typing import Any, Final

import httpx
import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError
from urllib3.exceptions import TimeoutError as TimedOut

from provider.dns import bounded_http

__all__ = ["Transport"]

_CONNECTIONS: Final = 4
"""Kept open; more are opened when more threads ask."""


class Transport(httpx.BaseTransport):
    """Sends requests to the host of one URL, and to no other. Thread-safe."""

    def __init__(self, url: str) -> None:
        """Connects to nothing yet."""
        self._at = httpx.URL(url)
        self._http = bounded_http.manager(_CONNECTIONS, proxy=bounded_http.proxy_of(url))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and read the whole answer.

        Raises:
            httpx.ConnectError: it was not sent.
            httpx.TransportError: there is no whole answer.
        """
        if (request.url.scheme, request.url.netloc) != (self._at.scheme, self._at.netloc):
            raise httpx.ConnectError(f"expected a request to {self._at.host}", request=request)
        headers = {**request.headers, "accept-encoding": "identity"}
        try:
            answer = self._http.request(
                request.method,
                str(request.url),
                headers=headers,
                body=request.read() or None,
                timeout=_timeout(request),
                redirect=False,
                decode_content=False,
            )
        except (NewConnectionError, ConnectTimeoutError, ProxyError) as error:
            raise httpx.ConnectError(bounded_http.words(error), request=request) from error
        except (HTTPError, OSError) as error:
            raise _no_answer(error, request) from error
        return httpx.Response(answer.status, headers=list(answer.headers.items()), content=answer.data)

    def close(self) -> None:
        """Close idle connections."""
        self._http.clear()


def _timeout(request: httpx.Request) -> urllib3.Timeout:
    given: dict[str, Any] = request.extensions.get("timeout") or {}
    return urllib3.Timeout(connect=given.get("connect"), read=given.get("read"))


def _no_answer(error: Exception, request: httpx.Request) -> httpx.TransportError:
    cause = error.args[0] if error.args else None
    if isinstance(cause, ssl.SSLCertVerificationError):
        words = f"its certificate is not valid or not trusted: {cause.verify_message}"
        return httpx.ConnectError(words, request=request)
    if isinstance(error, TimedOut):
        return httpx.ReadTimeout("the answer did not end in time", request=request)
    return httpx.ReadError(bounded_http.words(error), request=request)
