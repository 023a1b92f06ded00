"""Which resource takes over the records of a domain that another one gives up (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state.identity import namespace_of

__all__ = ["takes_over", "with_tenant"]


def takes_over(mr: Managed, everyone: Callable[[], Iterable[Managed]], domain: str) -> bool:
    """Whether another resource of the namespace lists the domain and manages its records, too. The records
    then stay: they are of the namespace, and without them the domain would not be found for a while.

    Args:
        mr: the managed resource that gives the domain up.
        everyone: the managed resources of all kinds.
        domain: the domain.
    """
    return any(_lists(mr, other, domain) for other in everyone())


def with_tenant(mr: Managed, everyone: Callable[[], Iterable[Managed]], id_: str) -> Managed | None:
    """Return the resource of the namespace that has a tenant by its status; None if there is none. Only for
    messages, as users may write a status.

    Args:
        mr: the managed resource whose users read them.
        everyone: the managed resources of all kinds.
        id_: the id of the tenant.
    """
    there = (
        each
        for each in everyone()
        if each.at_provider.get("id") == id_ and namespace_of(each) == namespace_of(mr)
    )
    return next(there, None)


def _lists(mr: Managed, other: Managed, domain: str) -> bool:
    asked = other.for_provider
    return (
        domain in (asked.get("domains") or ())
        and other.uid != mr.uid
        and not other.deleted
        and asked.get("dns") == mr.for_provider.get("dns")
        and namespace_of(other) == namespace_of(mr)
        and judgement.updates(other)
    )
