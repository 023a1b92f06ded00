"""Reconciles a tenant that waits for a domain as soon as another tenant of its namespace releases the domain.

Without this it would wait for its next retry. Retries of a refusal come up to ten minutes apart, and no
tenant would serve a domain in that time when it moves from one claim of a team to another. CloudFront may
refuse the domain once more, until its release is rolled out, so the retries after it come soon, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgetenants_runtime.api.annotations import LABEL_COMPOSITE
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.managed import Managed
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
            for waiter, mr in _first(change, list(_waiting(waiters, value))):
                waiter.woken(mr.uid)
                waiter.controller.enqueue(mr.key)

    for waiter in waiters:
        informer = waiter.controller.informer
        informer.cache.add_index(BY_WAITING, waits_for)
        informer.add_handler(on_change)
        # This process writes the status that shows the change, and the informer does not report own writes.
        informer.cache.on_own_write(on_change)


def _waiting(waiters: Sequence[Waiter], value: str) -> Iterator[tuple[Waiter, Managed]]:
    for waiter in waiters:
        for obj in waiter.controller.informer.cache.by_index(BY_WAITING, value):
            yield waiter, Managed(obj)


def _first(
    change: ObjectChange, waiting: Sequence[tuple[Waiter, Managed]]
) -> Sequence[tuple[Waiter, Managed]]:
    """Those who come first: the tenants of the same claim, or else all. A claim that changes its isolation
    must not lose its domains to another claim that lists them, too."""
    claim = Managed(change.old or {}).labels.get(LABEL_COMPOSITE)
    # The tenant that lost the domain is being reconciled already.
    others = [each for each in waiting if each[1].key != change.key]
    return [each for each in others if claim and each[1].labels.get(LABEL_COMPOSITE) == claim] or others


def waits_for(obj: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the domains that a tenant lists and does not have, each with its namespace."""
    mr = Managed(obj)
    return tuple(_each(mr, _listed(mr) - domains_in(mr.at_provider)))


def _listed(mr: Managed) -> set[str]:
    """The domains in the spec, in lower case, as the provider sends them and AWS returns them."""
    listed = {**mr.init_provider, **mr.for_provider}.get("domains")
    return {each.lower() for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()


def freed(change: ObjectChange) -> tuple[str, ...]:
    """Return the domains that a tenant had before a change, and neither has nor lists after it. A tenant that
    was deleted in AWS still lists them, and the provider gives them back to it. Anyone who may write its
    status can fake this, which only triggers reconciles in the same namespace."""
    if change.old is None:
        return ()
    old = Managed(change.old)
    new = Managed(change.new) if change.new else None
    left = set[str]()
    if new and new.uid == old.uid:
        left = set(domains_in(new.at_provider)) | (set() if new.deleted else _listed(new))
    return tuple(_each(old, domains_in(old.at_provider) - left))


def _each(mr: Managed, domains: set[str] | frozenset[str]) -> Iterator[str]:
    namespace = namespace_of(mr)
    return (f"{namespace}/{domain.lower()}" for domain in sorted(domains))
