"""The keys of names in CloudFront among the records of kept domains (pure).

A name is unique for its kind in an AWS account. No domain begins with an underscore and a letter.
"""

from __future__ import annotations

from typing import Final

from edgetenants_runtime.managed import Managed

__all__ = ["in_any_account", "is_name", "key_of", "listed_by", "without_account"]

_PREFIXES: Final = {"DistributionTenant": "_tenant.", "ConnectionGroup": "_group."}


def key_of(kind: str, account: str, name: str) -> str:
    """Return the key of a name.

    >>> key_of("DistributionTenant", "123456789012", "shop.acme")
    '_tenant.123456789012.shop.acme'
    """
    return f"{_PREFIXES[kind]}{account}.{name}"


def is_name(key: str) -> bool:
    """Whether the key is that of a name, not of a domain."""
    return key.startswith(tuple(_PREFIXES.values()))


def without_account(key: str) -> str:
    """Return the key without its account: a managed resource does not name its account. A domain, unique over
    all accounts, stays as it is.

    >>> without_account("_tenant.123456789012.shop.acme")
    '_tenant.shop.acme'
    """
    if not is_name(key):
        return key
    kind, _, name = key.split(".", 2)
    return f"{kind}.{name}"


def in_any_account(kind: str, name: str) -> str:
    """Return the key of a name, without an account.

    >>> in_any_account("ConnectionGroup", "shop.own")
    '_group.shop.own'
    """
    return f"{_PREFIXES[kind]}{name}"


def listed_by(mr: Managed) -> str:
    """Return the key of the external name, without an account."""
    return in_any_account(mr.kind, mr.external_name or mr.name)
