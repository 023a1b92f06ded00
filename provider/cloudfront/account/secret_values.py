"""The contents of Secrets for DNS services, checked before their first use (pure).

No message quotes a content: a person may have put the secret into another key of the Secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.errors import ExternalError, Retry
from provider.dns.rdata import name_of
from provider.dns.rfc2136 import Key
from provider.dns.rfc2136.exchange import ALGORITHMS

__all__ = ["Application", "api_key", "application", "tsig_key"]

_PRINTABLE: Final = re.compile("[!-~]+")
_LONGEST: Final = 4096
"""Characters of a content."""
_LONGEST_NAME: Final = 253
_UUID: Final = re.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


@dataclass(frozen=True)
class Application:
    """An application of Microsoft Entra ID, with its secret, which is in no text."""

    tenant_id: str
    client_id: str
    client_secret: str = field(repr=False)


def tsig_key(field: str, secret: Mapping[str, bytes]) -> Key:
    """Return the key of TSIG of a Secret with `name`, `secret` in base64 and, optionally, `algorithm`.

    Raises:
        ExternalError: one of them cannot be used.
    """
    name = _printable(field, secret, "name", _LONGEST_NAME).removesuffix(".").lower()
    try:
        name_of(name)
    except ValueError:
        raise _unusable(field, "name", "the name of a key, as a DNS name") from None
    algorithm = Key.algorithm
    if "algorithm" in secret:
        algorithm = _printable(field, secret, "algorithm", _LONGEST_NAME).removesuffix(".").lower()
    if algorithm not in ALGORITHMS:
        raise _unusable(field, "algorithm", f"one of {', '.join(ALGORITHMS)}")
    text = _printable(field, secret, "secret", _LONGEST)
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        content = b""
    if not content:
        raise _unusable(field, "secret", "base64")
    return Key(name, content, algorithm)


def application(field: str, secret: Mapping[str, bytes]) -> Application:
    """Return the application of a Secret with `tenantId`, `clientId` and `clientSecret`.

    Raises:
        ExternalError: one of them cannot be used.
    """
    tenant, client = _uuid(field, secret, "tenantId"), _uuid(field, secret, "clientId")
    return Application(tenant, client, _printable(field, secret, "clientSecret", _LONGEST))


def api_key(field: str, secret: Mapping[str, bytes], what: str = "API key") -> str:
    """Return the API key, or what it is called, of a Secret that has it alone.

    Raises:
        ExternalError: it cannot be used.
    """
    for name in secret:
        return _printable(field, secret, name, _LONGEST)
    raise ExternalError(f"{field}: expected a Secret with the {what}, got none", retry=Retry.poll())


def _uuid(field: str, secret: Mapping[str, bytes], name: str) -> str:
    text = secret.get(name, b"").decode(errors="replace").strip()
    if not _UUID.fullmatch(text):
        raise _unusable(field, name, "a UUID")
    return text


def _printable(field: str, secret: Mapping[str, bytes], name: str, longest: int) -> str:
    """A content without blanks and line ends around it."""
    text = secret.get(name, b"").decode(errors="replace").strip()
    if len(text) > longest or not _PRINTABLE.fullmatch(text):
        words = f"1 to {longest} printable ASCII characters without spaces"
        raise _unusable(field, name, words)
    return text


def _unusable(field: str, name: str, expected: str) -> ExternalError:
    words = f"{field}: key {name!r} of the Secret: expected {expected}, got something else"
    return ExternalError(words, retry=Retry.poll())
