"""What messages may say about tenants and connection groups of others (pure).

The readers of a managed resource's messages belong to its namespace. Messages have the names and ids of
tenants that belong to the same namespace of this installation. About all others they only say that they
exist; the provider's log names them, for the platform team.
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
    """An external resource with this owner tag belongs to the managed resource's namespace."""
    if owner is None or not owner.startswith(f"{installation}/"):
        return False
    # Neither a kind nor a namespace may contain a slash.
    _, _, rest = owner.removeprefix(f"{installation}/").partition("/")
    return rest.partition("/")[0] == identity.namespace_of(mr)


def holder(mr: Managed, installation: str, tenant: ObservedTenant, owner: str | None) -> str:
    """The tenant that has a domain and its owner, as the rest of a sentence."""
    if may_know(mr, installation, owner):
        return f"tenant {tenant.name} ({tenant.id}) of this account, which belongs to {owner}"
    return f"another tenant of this account. {HIDDEN}"


def source(mr: Managed, installation: str, tenant: ObservedTenant, owner: str | None) -> str:
    """The tenant that gives a domain: its name, or else its id, which the managed resource contains."""
    return tenant.name if may_know(mr, installation, owner) else tenant.id


def named_tenants(mr: Managed, names: Iterable[str], everyone: Iterable[Managed]) -> str:
    """The names of the tenants of this namespace, and the number of others."""
    namespace = identity.namespace_of(mr)
    # Not the external name: users may write any name there.
    own = {each.at_provider.get("name") for each in everyone if identity.namespace_of(each) == namespace}
    known = sorted(name for name in names if name in own)
    hidden = len(set(names) - own)
    return ", ".join([*known, f"{hidden} more, named in the provider's log"] if hidden else known)
