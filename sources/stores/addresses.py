"""What all databases ask of an address: one host, names that no protocol cuts off, and verified TLS."""

from __future__ import annotations

import re
import ssl

from sources.stores.store import StoreError, StoreReason

__all__ = ["check", "verified_tls"]


def check(host: str, **texts: str) -> None:
    """Refuse what would lead elsewhere. `texts`: by what each is, for the message.

    Raises:
        StoreError: InvalidConfiguration, without the texts.
    """
    # A path is a socket of this machine, where the process's own user may be let in; a list or a parameter
    # would lead elsewhere.
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,253}", host):
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the host must be one DNS name or IP address")
    # Protocols and libpq read texts up to the first NUL, and take what follows for something else: libpq
    # would forget the checks of TLS.
    for what, given in texts.items():
        if not given.isprintable():
            words = f"the {what} must have printable characters only"
            raise StoreError(StoreReason.INVALID_CONFIGURATION, words)


def verified_tls(ca: str | None) -> ssl.SSLContext:
    """TLS 1.2 or later, with a certificate for the host, from the authorities in `ca` (PEM) or, if that is
    None, from those of the system."""
    context = ssl.create_default_context(cadata=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
