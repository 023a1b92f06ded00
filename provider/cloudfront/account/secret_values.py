"""The contents of Secrets for DNS services, checked before their first use (pure).

No message quotes a content: a person may have put the secret into another key of the Secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from edgetenants_runtime.errors import ExternalError, Retry
from provider.dns.rdata import name_of
from provider.dns.rfc2136 import Key
from provider.dns.rfc2136.exchange import ALGORITHMS

__all__ = ["api_key", "tsig_key"]

_PRINTABLE: Final = re.compile("[!-~]+")
_LONGEST: Final = 4096
"""Characters of a content."""
_LONGEST_NAME: Final = 253


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


def api_key(field: str, secret: Mapping[str, bytes]) -> str:
    """Return the API key of a Secret that has it alone.

    Raises:
        ExternalError: it cannot be used.
    """
    for name in secret:
        return _printable(field, secret, name, _LONGEST)
    raise ExternalError(f"{field}: expected a Secret with the API key, got none", retry=Retry.poll())


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
