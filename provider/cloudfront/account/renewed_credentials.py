"""Notices that credentials which renew themselves were renewed: they may be of another account now.

boto3 loads the provider's own identity (credentials.source InjectedIdentity) again before it expires. On EKS,
a pod identity association may meanwhile name a role of another account. The provider would then conclude that
a tenant is gone, because the other account does not have it.

The credentials of an assumed role stay those of the account in the role's ARN.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, Final

from provider.cloudfront.aws.errors import RENEWED, AwsError

__all__ = ["RenewedCredentials"]

_SIGNED: Final = re.compile(r"Credential=([^/,\s]+)/")
_AGAIN_SECONDS: Final = 1.0


class RenewedCredentials:
    """The access key of all requests of one opened account. Thread-safe."""

    def __init__(self, on_renewal: Callable[[], None]) -> None:
        """`on_renewal` is called when a request would be signed with another key: the account must be opened
        again."""
        self._on_renewal = on_renewal
        self._lock = threading.Lock()
        self._key = ""

    def watch(self, client: Any) -> None:
        """Check each request of a boto3 client. The request that asks for the account must be the first."""
        client.meta.events.register("before-send", self._check)

    def _check(self, request: Any, event_name: str, **_: Any) -> None:
        key = _key_of(request)
        with self._lock:
            self._key = self._key or key
            renewed = key != self._key
        if renewed:
            self._on_renewal()
            words = "the provider's own credentials were renewed; it checks which account they belong to"
            raise AwsError(event_name.rpartition(".")[2], RENEWED, words, after=_AGAIN_SECONDS)


def _key_of(request: Any) -> str:
    header = request.headers.get("Authorization") or ""
    found = _SIGNED.search(header.decode() if isinstance(header, bytes) else header)
    return found[1] if found else ""
