"""What the other resources of a namespace have of one resource's domains (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state.identity import namespace_of

__all__ = ["Successors"]


@dataclass(frozen=True)
class Successors:
    """The other resources of a resource's namespace, for one reconcile. They are looked through once, and
    only if that is asked for: there may be thousands, and a resource may have left hundreds of domains."""

    mr: Managed
    everyone: Callable[[], Iterable[Managed]]
    """Returns the managed resources of all kinds."""

    def takes_over(self, domain: str) -> bool:
        """Whether another resource of the namespace lists a domain, which the resource gives up, and manages
        its records, too. The records then stay: they are of the namespace, and without them the domain would
        not be found for a while."""
        return domain in self._taken_over

    def with_tenant(self, id_: str) -> Managed | None:
        """Return the resource of the namespace that has a tenant by its status; None if there is none. Only
        for messages, as users may write a status."""
        return self._by_tenant.get(id_)

    @cached_property
    def _there(self) -> tuple[Managed, ...]:
        namespace = namespace_of(self.mr)
        return tuple(each for each in self.everyone() if namespace_of(each) == namespace)

    @cached_property
    def _taken_over(self) -> frozenset[str]:
        takers = (each for each in self._there if self._manages_alike(each))
        return frozenset(str(one) for each in takers for one in each.for_provider.get("domains") or ())

    @cached_property
    def _by_tenant(self) -> dict[str, Managed]:
        found: dict[str, Managed] = {}
        for each in self._there:
            found.setdefault(str(each.at_provider.get("id") or ""), each)
        return found

    def _manages_alike(self, other: Managed) -> bool:
        return (
            other.uid != self.mr.uid
            and not other.deleted
            and other.for_provider.get("dns") == self.mr.for_provider.get("dns")
            and judgement.updates(other)
        )
