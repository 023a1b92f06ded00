"""What may be told of the tenants and connection groups of others (pure).

Who reads the messages of a managed resource is of its namespace. They are told the names and ids of what
belongs to that namespace of this installation. Of all else they are told that it is there; the provider's log
names it, for those who run the provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgetenants_runtime.managed import Managed
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["HIDDEN", "holder", "may_know", "named_tenants", "source"]

HIDDEN: Final = "The provider's log names it"


def may_know(mr: Managed, installation: str, owner: str | None) -> bool:
    """What has this owner in its tags belongs to the managed resource's own namespace."""
    if owner is None or not owner.startswith(f"{installation}/"):
        return False
    # Neither a kind nor a namespace may have a slash.
    _, _, rest = owner.removeprefix(f"{installation}/").partition("/")
    return rest.partition("/")[0] == identity.namespace_of(mr)


def holder(mr: Managed, installation: str, tenant: ObservedTenant, owner: str | None) -> str:
    """The tenant that has a domain, with whose it is, as a sentence goes on."""
    if may_know(mr, installation, owner):
        return f"tenant {tenant.name} ({tenant.id}) of this account, which belongs to {owner}"
    return f"another tenant of this account. {HIDDEN}"


def source(mr: Managed, installation: str, tenant: ObservedTenant, owner: str | None) -> str:
    """The tenant that gives a domain: its name, or its id, which the managed resource names itself."""
    return tenant.name if may_know(mr, installation, owner) else tenant.id


def named_tenants(mr: Managed, names: Iterable[str], everyone: Iterable[Managed]) -> str:
    """Tenants by their names, and how many there are of others."""
    namespace = identity.namespace_of(mr)
    # The external name would not do: anybody may write any there.
    own = {each.at_provider.get("name") for each in everyone if identity.namespace_of(each) == namespace}
    known = sorted(name for name in names if name in own)
    hidden = len(set(names) - own)
    return ", ".join([*known, f"{hidden} more, which the provider's log names"] if hidden else known)
