"""Reconciles a tenant that waits for a domain as soon as another tenant of its namespace releases the domain.

Without this it would wait for its next retry. Retries of a refusal come up to ten minutes apart, and no
tenant would serve a domain in that time when it moves from one claim of a team to another. CloudFront may
refuse the domain once more, until its release is rolled out, so the retries after it come soon, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.managed import Managed, key_of
from edgetenants_runtime.process.controller import Controller
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.observed import domains_in

__all__ = ["BY_WAITING", "Waiter", "follow", "freed", "waits_for"]

BY_WAITING: Final = "waiting"
"""The index of the tenants by the domains that they list and do not have."""


@dataclass(frozen=True)
class Waiter:
    """The tenants of one controller."""

    controller: Controller
    woken: Callable[[str], None]
    """Called with the uid of a tenant before it is reconciled because a domain became free."""


def follow(waiters: Sequence[Waiter]) -> None:
    """Reconcile these tenants when a domain that they wait for becomes free. Call this before the informers
    of their controllers start."""

    def on_change(change: ObjectChange) -> None:
        for value in freed(change):
            for waiter in waiters:
                for obj in waiter.controller.informer.cache.by_index(BY_WAITING, value):
                    # The tenant that lost the domain is being reconciled already.
                    if (key := key_of(obj)) != change.key:
                        waiter.woken(Managed(obj).uid)
                        waiter.controller.enqueue(key)

    for waiter in waiters:
        informer = waiter.controller.informer
        informer.cache.add_index(BY_WAITING, waits_for)
        informer.add_handler(on_change)
        # This process writes the status that shows the change, and the informer does not report own writes.
        informer.cache.on_own_write(on_change)


def waits_for(obj: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the domains that a tenant lists and does not have, each with its namespace."""
    mr = Managed(obj)
    listed = {**mr.init_provider, **mr.for_provider}.get("domains")
    # In lower case, as the provider sends them and AWS returns them.
    wanted = {each.lower() for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
    return tuple(_each(mr, wanted - domains_in(mr.at_provider)))


def freed(change: ObjectChange) -> tuple[str, ...]:
    """Return the domains that a tenant had before a change and does not have after it. Anyone who may write
    its status can fake this, which only triggers reconciles in the same namespace."""
    if change.old is None:
        return ()
    old = Managed(change.old)
    new = Managed(change.new) if change.new else None
    left = domains_in(new.at_provider) if new and new.uid == old.uid else frozenset()
    return tuple(_each(old, domains_in(old.at_provider) - left))


def _each(mr: Managed, domains: set[str] | frozenset[str]) -> Iterator[str]:
    namespace = namespace_of(mr)
    return (f"{namespace}/{domain.lower()}" for domain in sorted(domains))
