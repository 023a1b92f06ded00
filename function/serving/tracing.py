"""OpenTelemetry spans of calls, and the trace id of each call for the log.

Crossplane sends no trace context today; a proxy in between may (W3C Trace Context, header `traceparent`). The
log has the trace id even if no spans are sent.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, Protocol

from function.errors import StartupFailed

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""Environment variable with the gRPC endpoint for spans. OpenTelemetry's other variables work too."""
HEADER: Final = "traceparent"

_TRACEPARENT: Final = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class Tracer(Protocol):
    """Creates a span for each call."""

    def span(self, headers: Mapping[str, str]) -> AbstractContextManager[str]:
        """Run the block in a span, a child of the span in the headers. Yields the trace id, or "" if there is
        none."""
        ...

    def stop(self) -> None:
        """Send the remaining spans."""
        ...


class NoSpans:
    """Sends no spans."""

    def span(self, headers: Mapping[str, str]) -> AbstractContextManager[str]:
        """As `Tracer.span`."""
        found = _TRACEPARENT.fullmatch(headers.get(HEADER, ""))
        return nullcontext(found[1] if found else "")

    def stop(self) -> None:
        """As `Tracer.stop`."""


class Spans:
    """Spans, sent in batches to a collector."""

    def __init__(self, provider: Any, name: str = "RunFunction") -> None:
        """`provider` is OpenTelemetry's TracerProvider."""
        from opentelemetry import trace  # noqa: PLC0415 - an optional dependency
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._provider, self._name = provider, name
        self._tracer = provider.get_tracer("function-edgetenants")
        self._server = trace.SpanKind.SERVER
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, headers: Mapping[str, str]) -> Iterator[str]:
        """As `Tracer.span`; an exception is recorded in the span."""
        parent = self._propagator.extract(dict(headers))
        with self._tracer.start_as_current_span(self._name, parent, self._server) as span:
            yield f"{span.get_span_context().trace_id:032x}"

    def stop(self) -> None:
        """As `Tracer.stop`; takes a few seconds at most."""
        self._provider.force_flush(2000)
        self._provider.shutdown()


def tracer(environment: Mapping[str, str]) -> Tracer:
    """The tracer for the environment.

    Raises:
        StartupFailed: the environment requests spans, but OpenTelemetry is not installed.
    """
    if not environment.get(ENDPOINT):
        return NoSpans()
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        why = "OpenTelemetry is not installed: pip install 'edgetenants[otel]'"
        raise StartupFailed(f"{ENDPOINT} is set, and {why}") from error
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "function-edgetenants"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(provider)
