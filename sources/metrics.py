"""The metrics of TenantSources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from edgetenants_runtime.managed import Managed
from sources.plan import Plan
from sources.rows import Table
from sources.status import Counts

__all__ = ["SourceMetrics"]

_LABELS = ("namespace", "source")


@dataclass(frozen=True)
class _Counted:
    """The numbers of one TenantSource after its last complete read."""

    namespace: str
    name: str
    at: float
    """When the read ended, in seconds of the clock."""
    numbers: dict[str, int]


class SourceMetrics(Collector):
    """What TenantSources read and wrote; at each scrape, the numbers of each."""

    GAUGES: ClassVar = {
        "rows": "Rows of the last complete read.",
        "objects": "Objects of the TenantSource.",
        "live": "Objects that are live.",
        "invalid": "Rows that have a problem.",
        "gone": "Objects whose row is gone.",
        "waiting": "Rows whose object waits to be created.",
        "held": "Objects whose removal waits for a confirmation.",
    }

    def __init__(self, registry: CollectorRegistry, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._counted: dict[str, _Counted] = {}
        self._named: dict[str, tuple[str, str]] = {}
        """By uid: the namespace and name of each TenantSource that has numbers."""
        self._reads = Counter(
            "edgetenants_source_reads",
            "Total number of reads of a table, by result (complete, failed).",
            (*_LABELS, "result"),
            registry=registry,
        )
        self._writes = Counter(
            "edgetenants_source_writes",
            "Total number of writes to objects, by action and result (written, refused).",
            (*_LABELS, "action", "result"),
            registry=registry,
        )
        registry.register(self)

    def read(self, source: Managed, result: str) -> None:
        """A read ended."""
        self._note(source)
        self._reads.labels(source.namespace, source.name, result).inc()

    def wrote(self, source: Managed, action: str, *, refused: bool) -> None:
        """An object was written, or the write was refused."""
        result = "refused" if refused else "written"
        self._note(source)
        self._writes.labels(source.namespace, source.name, action, result).inc()

    def counted(self, source: Managed, table: Table, plan: Plan, counts: Counts) -> None:
        """A complete read was followed."""
        numbers = {
            "rows": table.rows,
            "objects": counts.objects,
            "live": counts.live,
            "invalid": len(plan.problems) + table.keyless,
            "gone": len(plan.gone),
            "waiting": plan.waiting,
            "held": len(plan.removal.names) if plan.removal else 0,
        }
        with self._lock:
            self._counted[source.uid] = _Counted(source.namespace, source.name, self._now(), numbers)

    def unchanged(self, source: Managed, counts: Counts) -> None:
        """A complete read had what the one before had."""
        with self._lock:
            before = self._counted.get(source.uid)
            if before is not None:
                numbers = before.numbers | {"objects": counts.objects, "live": counts.live}
                self._counted[source.uid] = replace(before, at=self._now(), numbers=numbers)

    def forget(self, uid: str) -> None:
        """The TenantSource is gone: its numbers go, too, unless another one has its name already."""
        with self._lock:
            self._counted.pop(uid, None)
            named = self._named.pop(uid, None)
            if named is None or named in self._named.values():
                return
        for counter in (self._reads, self._writes):
            for labels in _labels_of(counter):
                if labels[:2] == named:
                    counter.remove(*labels)

    def _note(self, source: Managed) -> None:
        with self._lock:
            self._named[source.uid] = source.namespace, source.name

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client's `Collector`."""
        with self._lock:
            counted = list(self._counted.values())
        for name, says in self.GAUGES.items():
            family = GaugeMetricFamily(f"edgetenants_source_{name}", says, labels=_LABELS)
            for each in counted:
                family.add_metric([each.namespace, each.name], each.numbers[name])
            yield family
        age = GaugeMetricFamily(
            "edgetenants_source_read_age_seconds", "Seconds since the last complete read.", labels=_LABELS
        )
        for each in counted:
            age.add_metric([each.namespace, each.name], self._now() - each.at)
        yield age


def _labels_of(counter: Counter) -> set[tuple[str, ...]]:
    """The values of the labels of all its series."""
    return {tuple(each.labels.values()) for family in counter.collect() for each in family.samples}
