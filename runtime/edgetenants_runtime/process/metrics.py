"""The metrics of a provider, under the names that crossplane-runtime, controller-runtime and client-go use.

Dashboards and alerts for Crossplane's own providers work: crossplane-runtime
pkg/reconciler/managed/metrics.go and pkg/statemetrics, controller-runtime
pkg/internal/controller/metrics and pkg/metrics, client-go tools/leaderelection. A provider adds its own
collectors to `Metrics.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.kube.cache import JsonObject
from edgetenants_runtime.managed import ManagedKind
from edgetenants_runtime.process.instruments import (
    ControllerFamilies,
    ControllerMetrics,
    ManagedFamilies,
    ManagedMetrics,
    QueueFamilies,
    QueueMetrics,
    is_true,
)
from edgetenants_runtime.queueing.queue import Priority

__all__ = ["Metrics", "Observed"]


class Observed(Protocol):
    """What the metrics read from a controller at each scrape."""

    @property
    def objects(self) -> Iterable[JsonObject]:
        """All managed resources of its kind."""
        ...

    @property
    def depths(self) -> Mapping[Priority, int]:
        """The number of keys that are ready, by priority."""
        ...

    @property
    def processing(self) -> list[float]:
        """For each key in processing, the seconds since it started."""
        ...


class Metrics:
    """All metrics of one manager, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.queues = QueueFamilies(self.registry)
        self.controllers = ControllerFamilies(self.registry)
        self.lives = ManagedFamilies(self.registry)
        self._requests = Counter(
            "rest_client_requests",
            "Number of HTTP requests to the API server, by status code (<error>: no response) and method.",
            ("code", "method"),
            registry=self.registry,
        )
        self._reviews = Counter(
            "controller_runtime_webhook_requests",
            "Total number of admission requests by HTTP status code.",
            ("webhook", "code"),
            registry=self.registry,
        )
        self._review_seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "The latency of processing admission requests.",
            ("webhook",),
            registry=self.registry,
        )
        self._scraped = _AtScrape()
        self.registry.register(self._scraped)

    def queue(self, name: str) -> QueueMetrics:
        """The metrics of one work queue."""
        return QueueMetrics(self.queues, name)

    def controller(self, name: str, workers: int) -> ControllerMetrics:
        """The metrics of one controller."""
        return ControllerMetrics(self.controllers, name, workers)

    def managed(self, kind: ManagedKind) -> ManagedMetrics:
        """The metrics of the managed resources of one kind."""
        return ManagedMetrics(self.lives, gvk(kind))

    def observe(self, kind: ManagedKind, name: str, observed: Observed) -> None:
        """Read gauges from a controller at each scrape."""
        self._scraped.controllers.append((gvk(kind), name, observed))

    def observe_plain(self, name: str, observed: Observed) -> None:
        """The same for a plain controller, whose objects are no managed resources: only its queue."""
        self._scraped.controllers.append(("", name, observed))

    def election(self, name: str, leading: Callable[[], bool]) -> None:
        """Read at each scrape whether this process leads."""
        self._scraped.elections.append((name, leading))

    def requested(self, method: str, code: int) -> None:
        """Count a request to the API server; code 0: no response."""
        self._requests.labels(str(code) if code else "<error>", method).inc()

    def reviewed(self, path: str, code: int, seconds: float) -> None:
        """Count an admission request."""
        self._reviews.labels(path, str(code)).inc()
        self._review_seconds.labels(path).observe(seconds)

    def expose(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and body for a scrape, in a format that the request accepts."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(_WithoutCreated(self.registry))


def gvk(kind: ManagedKind) -> str:
    """A kind as Go prints a GroupVersionKind, which is the label that dashboards use.

    >>> gvk(ManagedKind("toys.example.org", "v1", "Toy", "toys", namespaced=True))
    'toys.example.org/v1, Kind=Toy'
    """
    return f"{kind.api_version}, Kind={kind.kind}"


class _AtScrape(Collector):
    """Gauges that are read at each scrape only."""

    def __init__(self) -> None:
        self.controllers: list[tuple[str, str, Observed]] = []
        self.elections: list[tuple[str, Callable[[], bool]]] = []

    def collect(self) -> Iterator[Metric]:
        yield from self._states()
        yield from self._queues()
        leading = GaugeMetricFamily(
            "leader_election_master_status", "1 if this process is the leader, 0 if not.", labels=["name"]
        )
        for name, leads in self.elections:
            leading.add_metric([name], float(leads()))
        yield leading

    def _states(self) -> Iterator[Metric]:
        says = {"exists": "that exist", "ready": "in Ready=True state", "synced": "in Synced=True state"}
        families = {
            name: GaugeMetricFamily(
                f"crossplane_managed_resource_{name}",
                f"The number of managed resources {what}.",
                labels=["gvk"],
            )
            for name, what in says.items()
        }
        for label, _, observed in self.controllers:
            if not label:
                continue
            counts = _count(observed.objects)
            for name, family in families.items():
                family.add_metric([label], counts[name])
        yield from families.values()

    def _queues(self) -> Iterator[Metric]:
        labels = ["name", "controller"]
        depth = GaugeMetricFamily(
            "workqueue_depth",
            "Current depth of the work queue, by priority.",
            labels=[*labels, "priority"],
        )
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Seconds of work in progress, summed over all workers.",
            labels=labels,
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running reconcile has been running.",
            labels=labels,
        )
        for _, name, observed in self.controllers:
            processing = observed.processing
            for priority, waiting in observed.depths.items():
                depth.add_metric([name, name, priority.name.lower()], waiting)
            unfinished.add_metric([name, name], sum(processing))
            longest.add_metric([name, name], max(processing, default=0.0))
        yield from (depth, unfinished, longest)


def _count(objects: Iterable[JsonObject]) -> dict[str, int]:
    exists = ready = synced = 0
    for obj in objects:
        exists += 1
        ready += is_true(obj, ConditionType.READY)
        synced += is_true(obj, ConditionType.SYNCED)
    return {"exists": exists, "ready": ready, "synced": synced}


class _WithoutCreated(Collector):
    """A registry without the creation times of counters, which crossplane-runtime does not have."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric
