"""Spans of calls, and their traces' ids."""

from __future__ import annotations

import sys

import grpc
import pytest
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from function.errors import StartupFailed
from function.serving import tracing
from function.serving.server import MEBIBYTE, Server, Settings
from function.serving.tracing import NoSpans, Spans, Tracer
from tests.unit.function import building

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = (("traceparent", f"00-{TRACE}-{PARENT}-01"),)


def call(tracer: Tracer, headers: tuple[tuple[str, str], ...] = HEADERS) -> dict[str, object]:
    """What is logged of one call."""
    running = Server(Settings("127.0.0.1:0", None, MEBIBYTE, MEBIBYTE), tracer=tracer)
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel, capture_logs() as logged:
        stub = grpcv1.FunctionRunnerServiceStub(channel)
        stub.RunFunction(building.request(), timeout=10, metadata=headers)
    running.stop(grace=0)
    (line,) = logged
    return dict(line)


def test_the_callers_trace_is_in_the_log_though_nobody_collects() -> None:
    assert call(NoSpans())["trace_id"] == TRACE


@pytest.mark.parametrize("headers", [(), (("traceparent", "nonsense"),)])
def test_no_trace_is_no_field(headers: tuple[tuple[str, str], ...]) -> None:
    assert "trace_id" not in call(NoSpans(), headers)


def test_a_span_under_the_callers() -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))

    line = call(Spans(provider))

    (span,) = kept.get_finished_spans()
    assert (span.name, span.kind.name) == ("RunFunction", "SERVER")
    assert span.parent is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert line["trace_id"] == TRACE


def test_collected_only_where_the_environment_asks() -> None:
    assert isinstance(tracing.tracer({}), NoSpans)
    asked = tracing.tracer({tracing.ENDPOINT: "http://127.0.0.1:1"})
    assert isinstance(asked, Spans)
    asked.stop()


def test_asked_for_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(StartupFailed, match="pip install 'edgetenants\\[otel\\]'"):
        tracing.tracer({tracing.ENDPOINT: "http://127.0.0.1:1"})
