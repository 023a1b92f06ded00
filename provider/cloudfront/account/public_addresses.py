"""Which addresses are on the public internet (pure).

The sources are IANA's registries of special-purpose addresses (RFC 6890). Some IPv6 addresses lead to the
IPv4 address inside of them, so that one is judged, too.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

__all__ = ["is_public"]

_GLOBAL: Final = IPv6Network("2000::/3")
"""All that IANA has assigned for use on the internet (RFC 4291, section 2.4)."""
_EXAMPLES: Final = IPv6Network("3fff::/20")
"""For documentation (RFC 9637); Python does not know it yet."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""An IPv4 address is in the last 32 bits (RFC 6052). 64:ff9b:1::/48 is for private use (RFC 8215)."""
_TEREDO: Final = IPv6Network("2001::/32")
"""Two IPv4 addresses, of which one is of a private network (RFC 4380)."""


def is_public(address: str) -> bool:
    """Whether an address is of a host on the internet; False for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return _is_public_6(found) if isinstance(found, IPv6Address) else _is_public_4(found)


def _is_public_4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _is_public_6(address: IPv6Address) -> bool:
    if address.scope_id is not None or address in _TEREDO or address in _EXAMPLES:
        return False
    inner = address.ipv4_mapped or (_last(address) if address in _NAT64 else None)
    if inner is not None:
        return _is_public_4(inner)
    if address.sixtofour is not None and not _is_public_4(address.sixtofour):
        return False
    return address in _GLOBAL and address.is_global


def _last(address: IPv6Address) -> IPv4Address:
    return IPv4Address(address.packed[-4:])
