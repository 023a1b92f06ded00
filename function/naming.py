"""Names in CloudFront, from those in Kubernetes."""

import hashlib
import re
from typing import Final

LONGEST: Final = 128
"""Characters of a distribution tenant's or connection group's name (CloudFront API Reference,
CreateDistributionTenant and CreateConnectionGroup)."""
SHORTEST: Final = 3
VALID: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]{1,126}[a-zA-Z0-9]")
"""The rule of CreateDistributionTenant and CreateConnectionGroup for names."""

HASH_LENGTH: Final = 10
"""Characters that stand for a longer text."""


def external(template: str, namespace: str, name: str, domain: str | None = None) -> str:
    """The name in CloudFront that a plan's template gives for a claim, or for one domain of it.

        >>> external("{namespace}.{name}", "shop", "acme")
        'shop.acme'

    Two claims never share a name by accident: what is cut off, and a domain, goes into a hash at the end.

    Args:
        template: letters, digits, - and . around {name} and, if wanted, {namespace}.
        namespace: of the claim; empty for a composite without one.
        name: of the claim.
        domain: the one domain that the tenant serves, where each has a tenant of its own.
    """
    whole = template.replace("{namespace}", namespace).replace("{name}", name)
    # A name may begin and end with letters and digits only; an empty namespace leaves a dot in front.
    fitting = whole.strip("-.")
    if domain is not None:
        return _with_hash(fitting, domain)
    return fitting if SHORTEST <= len(fitting) <= LONGEST else _with_hash(fitting, whole)


def parked(wildcard: str, uid: str, resource_name: str, change: str) -> str:
    """The name below a plan's parking domain that a tenant has while it has none of the claim's.

        >>> parked("*.parking.example.com", "u-1", "tenant", "dt_1/7")
        'tenant-c1cd5f8b1f.parking.example.com'

    A domain belongs to one tenant in all of CloudFront, so claims of one name in other clusters have others.
    Nor does the name of one tenant, or of an earlier change, tell another: whoever had it first would stop
    the change.

    Args:
        wildcard: the plan's parkingDomain.
        uid: of the composite.
        resource_name: of the tenant among the composed resources.
        change: what no other change of the claim's isolation has.
    """
    ending = digest(f"{uid}/{resource_name}/{change}")
    return f"{resource_name}-{ending}{wildcard.removeprefix('*')}"


def is_parked(wildcard: str, resource_name: str, domain: str) -> bool:
    """The domain is a name that `parked` could give the tenant in one change or another."""
    first, _, rest = domain.partition(".")
    stem, _, ending = first.rpartition("-")
    return stem == resource_name and len(ending) == HASH_LENGTH and rest == wildcard.removeprefix("*.")


def _with_hash(name: str, hashed: str) -> str:
    if len(name) > LONGEST - 1 - HASH_LENGTH:
        name, hashed = name[: LONGEST - 1 - HASH_LENGTH], f"{name}/{hashed}"
    return f"{name}-{digest(hashed)}".lstrip("-")


def digest(text: str) -> str:
    """Ten characters that stand for `text` in a name."""
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]
