"""Spans of calls, for OpenTelemetry; and the trace id of each, for the log.

Crossplane core sends no trace context today; a proxy in between may (W3C Trace Context, the header
`traceparent`). Where nobody collects spans, the id of such a trace is still in the log.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, Protocol

from function.errors import StartupFailed

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""Environment variable that says where spans are sent, by gRPC; OpenTelemetry's others are honoured too."""
HEADER: Final = "traceparent"

_TRACEPARENT: Final = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class Tracer(Protocol):
    """Makes a span of each call."""

    def span(self, headers: Mapping[str, str]) -> AbstractContextManager[str]:
        """The block is the call's span, a child of the one that the headers name; its trace's id, "" for
        none."""
        ...

    def stop(self) -> None:
        """Send what was not sent yet."""
        ...


class NoSpans:
    """Nobody collects spans."""

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
        """As `Tracer.stop`, for at most some seconds."""
        self._provider.force_flush(2000)
        self._provider.shutdown()


def tracer(environment: Mapping[str, str]) -> Tracer:
    """The tracer that the environment asks for.

    Raises:
        StartupFailed: it asks for spans, and OpenTelemetry's packages are not installed.
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
