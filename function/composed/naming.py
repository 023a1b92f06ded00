"""Derive names in CloudFront from names in Kubernetes."""

import hashlib
import re
from typing import Final

LONGEST: Final = 128
"""Characters of a distribution tenant's or connection group's name (CloudFront API Reference,
CreateDistributionTenant and CreateConnectionGroup)."""
SHORTEST: Final = 3
VALID: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]{1,126}[a-zA-Z0-9]")
"""The rule of CreateDistributionTenant and CreateConnectionGroup for names."""

HASH_LENGTH: Final = 20
"""Characters of a hash in a tenant's name: 80 bits, so that no one finds two domains with the same hash."""
FORMER_HASH_LENGTH: Final = 10
"""Characters of the hash in the composed resource names of tenants that an earlier version created."""
_TOKEN_LENGTH: Final = 10
ENDING_LENGTH: Final = 12
"""Characters of the hash in the name of a composed resource."""
_LONGEST_PREFIX: Final = 51
"""Characters before it. Crossplane cuts off the end of what has more."""


def external(template: str, namespace: str, name: str, domain: str | None = None) -> str:
    """The name in CloudFront that a plan's template gives to a claim's tenant, or to one domain's.

        >>> external("{namespace}.{name}", "shop", "acme")
        'shop.acme'

    Two claims never share a name by accident: a hash at the end stands for the part that is cut off, and for
    the domain.

    Args:
        template: letters, digits, - and . around {name} and, optionally, {namespace}.
        namespace: of the claim; empty for a composite without one.
        name: of the claim.
        domain: the one domain that the tenant serves, if each has its own tenant.
    """
    whole = template.replace("{namespace}", namespace).replace("{name}", name)
    # A name must begin and end with a letter or digit; an empty namespace leaves a leading dot.
    fitting = whole.strip("-.")
    if domain is not None:
        return _with_hash(fitting, domain)
    return fitting if SHORTEST <= len(fitting) <= LONGEST else _with_hash(fitting, whole)


def prefix(composite: str, generation: int) -> str:
    """The metadata.generateName of a composed resource that Crossplane creates.

        >>> prefix("acme", 3)
        'acme-3-'

    Crossplane (v2.3.4, internal/names, ChildName) derives the object's name from it, and applies the resource
    even to an object that is being deleted. Under one name for all generations, the deletion of a tenant
    would go on with the onDelete, deletionProtection or account of another plan.

    Args:
        composite: the composite's name.
        generation: its metadata.generation. What Crossplane deleted, it creates again only after a change.
    """
    end = f"-{generation}-"
    return composite[: _LONGEST_PREFIX - len(end)].rstrip("-.") + end


def ending(uid: str, resource_name: str) -> str:
    """The end of the name that Crossplane v2 gives to a composed resource (internal/names, ChildName).

    Args:
        uid: of the composite.
        resource_name: the composed resource name.
    """
    return hashlib.sha256(f"{uid}{resource_name}".encode()).hexdigest()[:ENDING_LENGTH]


def parked(wildcard: str, uid: str, resource_name: str, change: str) -> str:
    """The name below a plan's parking domain that a tenant has while it has none of the claim's domains.

        >>> parked("*.parking.example.com", "u-1", "tenant", "dt_1/7")
        'tenant-c1cd5f8b1f.parking.example.com'

    A domain belongs to only one tenant in all of CloudFront, so a claim of the same name in another cluster
    gets another name. A name also does not reveal that of another tenant or a later change: a team that took
    it first could stop the change.

    Args:
        wildcard: the plan's parkingDomain.
        uid: of the composite.
        resource_name: the tenant's composed resource name.
        change: a text that is unique to this change of the claim's isolation.
    """
    ending = token(f"{uid}/{resource_name}/{change}")
    return f"{resource_name}-{ending}{wildcard.removeprefix('*')}"


def is_parked(wildcard: str | None, resource_name: str, domain: str) -> bool:
    """Whether `parked` could give this name to the tenant in some change; None: below any parking domain."""
    first, _, rest = domain.partition(".")
    stem, _, ending = first.rpartition("-")
    below = wildcard is None or rest == wildcard.removeprefix("*.")
    return stem == resource_name and len(ending) == _TOKEN_LENGTH and below


def _with_hash(name: str, hashed: str) -> str:
    if len(name) > LONGEST - 1 - HASH_LENGTH:
        name, hashed = name[: LONGEST - 1 - HASH_LENGTH], f"{name}/{hashed}"
    return f"{name}-{digest(hashed)}".lstrip("-")


def digest(text: str) -> str:
    """A hash of `text`, for use in a tenant's name."""
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def token(text: str) -> str:
    """A short hash of `text`, for a token that a user copies and for a parking name."""
    return hashlib.sha256(text.encode()).hexdigest()[:_TOKEN_LENGTH]
