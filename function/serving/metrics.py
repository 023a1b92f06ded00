"""The function's metrics for Prometheus.

edgetenants_function_calls_total{outcome}        composed, refused, failed
edgetenants_function_call_seconds                histogram: from the parsed request to the serialized answer
edgetenants_function_results_total{severity}     normal, warning, fatal
edgetenants_function_calls_in_progress           calls in progress
process_*, python_gc_*                           metrics of the process
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from edgetenants_runtime.serving.answers import Answer
from edgetenants_runtime.serving.pages import Asked, Page, PageServer
from edgetenants_runtime.serving.scrapes import Scrapes
from function.errors import StartupFailed

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
"""Seconds. A call takes about one millisecond."""


class Outcome(StrEnum):
    """How a call ended."""

    COMPOSED = "composed"
    """With managed resources."""
    REFUSED = "refused"
    """With a FATAL result: the claim or its plan is invalid."""
    FAILED = "failed"
    """With a gRPC error: a bug."""


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._calls = Counter(
            "edgetenants_function_calls", "Calls of RunFunction.", ["outcome"], registry=self.registry
        )
        self._seconds = Histogram(
            "edgetenants_function_call_seconds",
            "Seconds from the parsed request to the serialized answer.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._results = Counter(
            "edgetenants_function_results", "Results returned.", ["severity"], registry=self.registry
        )
        self._running = Gauge(
            "edgetenants_function_calls_in_progress", "Calls in progress.", registry=self.registry
        )
        # Present from the start: an alert on a rate needs a zero before the first count.
        self._outcomes = {outcome: self._calls.labels(outcome) for outcome in Outcome}
        for severity in ("normal", "warning", "fatal"):
            self._results.labels(severity)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time the call in the block, and count it as failed if the block raises."""
        with self._running.track_inprogress(), self._seconds.time():
            try:
                yield
            except Exception:
                self._outcomes[Outcome.FAILED].inc()
                raise

    def answered(self, results: Iterable[fnv1.Result], *, refused: bool) -> None:
        """Count a response and its results."""
        self._outcomes[Outcome.REFUSED if refused else Outcome.COMPOSED].inc()
        for result in results:
            name = fnv1.Severity.Name(result.severity)
            self._results.labels(name.removeprefix("SEVERITY_").lower()).inc()

    def expose(self, accept: str) -> tuple[str, bytes]:
        """The content type and body for a scrape, in a format that the request accepts."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self.registry)

    def serve(self, address: str) -> int:
        """Serve /metrics and /healthz at host:port until the process ends, and return the port.

        Raises:
            StartupFailed: the address is invalid, or another process listens there.
        """
        host, _, port = address.rpartition(":")
        pages: dict[str, Page] = {"/metrics": Scrapes(self.expose), "/healthz": _alive}
        try:
            server = PageServer(host or "0.0.0.0", int(port), pages)  # noqa: S104
        except (OSError, ValueError, OverflowError) as error:
            raise StartupFailed(f"--metrics-address: cannot listen on {address}: {error}") from error
        server.start()
        return server.port


def _alive(_: Asked) -> Answer:
    return Answer(200, b"ok\n")
