"""Which resource takes over the records of a domain that another one gives up (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state import observed
from provider.cloudfront.state.identity import namespace_of

__all__ = ["lists", "takes_over"]


def takes_over(mr: Managed, everyone: Callable[[], Iterable[Managed]], domain: str) -> bool:
    """Whether another resource of the namespace lists the domain and manages its records, too. The records
    then stay: they are of the namespace, and without them the domain would not be found for a while.

    Args:
        mr: the managed resource that gives the domain up.
        everyone: the managed resources of all kinds.
        domain: the domain.
    """
    return any(_lists(mr, other, domain) for other in everyone())


def lists(mr: Managed, everyone: Callable[[], Iterable[Managed]], domain: str) -> bool:
    """Whether any other resource lists a domain, or has it by its status.

    Args:
        mr: the managed resource that does not have the domain.
        everyone: the managed resources of all kinds.
        domain: the domain.
    """
    return any(
        other.uid != mr.uid
        and (
            domain in (other.for_provider.get("domains") or ())
            or domain in observed.domains_in(other.at_provider)
        )
        for other in everyone()
    )


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
