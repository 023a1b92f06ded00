"""The order in which waiting creations get a place (pure).

Namespaces take turns, so a thousand resources of one namespace delay another namespace's only one by a single
creation. Within a namespace, the oldest comes first. The order follows from the resources themselves, so it
is the same after a restart, except for whose turn it is.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edgetenants_runtime.managed import ObjectKey

__all__ = ["Waiting", "in_order"]


@dataclass(frozen=True)
class Waiting:
    """A managed resource whose external resource is to be created."""

    uid: str
    api_version: str
    kind: str
    key: ObjectKey
    namespace: str
    """The namespace that it counts for."""
    created: str
    """metadata.creationTimestamp, which users cannot set."""


def in_order(waiting: Iterable[Waiting], served: Mapping[str, int], most: int) -> list[Waiting]:
    """Return the first ones in order, at most that many. `served` has a number for each namespace that had a
    turn: the lowest had it longest ago, and namespaces that had none go before it."""
    homes: defaultdict[str, list[Waiting]] = defaultdict(list)
    for each in waiting:
        homes[each.namespace].append(each)
    ranked: list[tuple[tuple[int, int, str, str], Waiting]] = []
    for namespace, those in homes.items():
        last = served.get(namespace, -1)
        oldest = heapq.nsmallest(most, those, key=_age)
        ranked += [((rank, last, *_age(each)), each) for rank, each in enumerate(oldest)]
    return [each for _, each in heapq.nsmallest(most, ranked, key=lambda pair: pair[0])]


def _age(each: Waiting) -> tuple[str, str]:
    return (each.created, each.uid)
