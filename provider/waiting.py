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
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.process.controller import Controller
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.observed import domains_in

__all__ = ["BY_WAITING", "Waiter", "follow", "freed", "waits_for"]

BY_WAITING: Final = "waiting"
"""The index of the tenants by the domains that they list and do not have."""
_MOST_FOUND: Final = 2000
"""How many entries of the index one change may find. A tenant counts for each domain, and anyone may list all
domains in many tenants; the others wait for their next retry."""
_COLLECT_SECONDS: Final = 1.0
"""Real seconds before a woken tenant is reconciled: many changes wake it once."""


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
        # In the informer's thread: it must cost little, whatever a change frees and however many wait.
        for waiter, mr in _Search(waiters, change).found():
            waiter.woken(mr.uid)
            waiter.controller.enqueue_after(mr.key, _COLLECT_SECONDS)

    for waiter in waiters:
        informer = waiter.controller.informer
        informer.cache.add_index(BY_WAITING, waits_for)
        informer.add_handler(on_change)
        # This process writes the status that shows the change, and the informer does not report own writes.
        informer.cache.on_own_write(on_change)


_Waiting = tuple[Waiter, Managed]


class _Search:
    """The search for the tenants that wait for what one change frees. Each of them is read once."""

    def __init__(self, waiters: Sequence[Waiter], change: ObjectChange) -> None:
        self._waiters, self._change = waiters, change
        self._claim = Managed(change.old or {}).labels.get(LABEL_COMPOSITE)
        self._read: dict[tuple[int, ObjectKey], _Waiting | None] = {}
        self._left = _MOST_FOUND

    def found(self) -> list[_Waiting]:
        """Return the tenants, each once."""
        found: dict[tuple[int, ObjectKey], _Waiting] = {}
        for value in freed(self._change):
            found |= self._first(value)
            if self._left <= 0:
                break
        return list(found.values())

    def _first(self, value: str) -> dict[tuple[int, ObjectKey], _Waiting]:
        """Those who come first: the tenants of the same claim, or else all. A claim that changes its
        isolation must not lose its domains to another claim that lists them, too."""
        waiting = dict(self._of(value))
        claim = self._claim
        same = {at: each for at, each in waiting.items() if each[1].labels.get(LABEL_COMPOSITE) == claim}
        return same if claim and same else waiting

    def _of(self, value: str) -> Iterator[tuple[tuple[int, ObjectKey], _Waiting]]:
        for number, waiter in enumerate(self._waiters):
            keys = waiter.controller.informer.cache.keys_by_index(BY_WAITING, value, self._left)
            self._left -= len(keys)
            for key in keys:
                # The tenant that lost the domain is being reconciled already.
                if key != self._change.key and (each := self._get(number, key)) is not None:
                    yield (number, key), each

    def _get(self, number: int, key: ObjectKey) -> _Waiting | None:
        at = (number, key)
        if at not in self._read:
            waiter = self._waiters[number]
            obj = waiter.controller.informer.cache.get(key)
            self._read[at] = (waiter, Managed(obj)) if obj else None
        return self._read[at]


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
    status can fake this, which only triggers reconciles in the same namespace, each resource at most once in
    `_COLLECT_SECONDS`."""
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
