"""The certificates of the authorities that vouch for AWS's endpoints, loaded once for all clients.

urllib3 loads them into the TLS context of each client, again for each connection. They take 0.7 MiB in each
context, and 13 ms of processor time each time. A context holds nothing of the credentials or of a connection.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Final

from botocore.httpsession import create_urllib3_context
from urllib3.util.ssl_ import ALPN_PROTOCOLS

__all__ = ["share_context"]

_contexts: Final[dict[Any, ssl.SSLContext]] = {}
"""By botocore's setting `verify`, which is the same for all clients of a process."""


def share_context(client: Any) -> None:
    """Have a botocore client use the process's TLS context. Call it before the first request.

    botocore has no setting for that. A version of botocore that is built in another way works as it does
    without this.
    """
    http: Any = getattr(getattr(client, "_endpoint", None), "http_session", None)
    manager = getattr(http, "_manager", None)
    if manager is None or "ssl_context" not in manager.connection_pool_kw:
        return
    verify = getattr(http, "_verify", True)
    context = _contexts.get(verify) or _contexts.setdefault(verify, _new_context())
    manager.connection_pool_kw["ssl_context"] = context
    # For a proxy, botocore asks for a context with the first request.
    http._get_ssl_context = lambda: context  # noqa: SLF001 - see above


def _new_context() -> ssl.SSLContext:
    context: Any = create_urllib3_context()
    context.load_verify_locations = _Authorities(context.load_verify_locations)
    context.set_alpn_protocols = _Protocols(context.set_alpn_protocols)
    # Before any thread uses the context.
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    return context  # type: ignore[no-any-return]


class _Protocols:
    """Sets the protocols of ALPN when they are others. urllib3 sets the same ones for each connection, and
    OpenSSL frees its copy, which another thread may read at that moment."""

    def __init__(self, set_: Any) -> None:
        self._set = set_
        self._last: list[str] = []

    def __call__(self, protocols: list[str]) -> None:
        """See SSLContext.set_alpn_protocols."""
        if protocols != self._last:
            self._set(protocols)
            self._last = list(protocols)


class _Authorities:
    """Loads a file of certificates when it is new or has changed. Two threads may load it twice."""

    def __init__(self, load: Any) -> None:
        self._load = load
        self._loaded: object = None

    def __call__(self, cafile: str | None = None, capath: str | None = None, cadata: Any = None) -> None:
        """See SSLContext.load_verify_locations, which raises OSError and SSLError."""
        stamp = (cafile, capath, cadata, _version(cafile), _version(capath))
        if stamp != self._loaded:
            self._load(cafile, capath, cadata)
            self._loaded = stamp


def _version(path: str | None) -> object:
    if path is None:
        return None
    found = Path(path).stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
