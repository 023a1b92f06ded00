"""The gRPC server: the function in both versions of its protocol, with health and reflection, over mTLS.

The SDK's server has no health service and runs functions on the event loop, where one call blocks all others.
This server runs each call on a thread of a pool.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import grpc
import structlog
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1beta1 import run_function_pb2 as fnv1beta1
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from edgetenants_runtime.bounds import cut
from function import fn
from function.errors import StartupFailed
from function.protocol import unreadable
from function.protocol.remembered import Answers
from function.serving import questions
from function.serving.large_requests import LARGE, LargeRequests, NobodyWaits, TooMany
from function.serving.metrics import Metrics
from function.serving.tracing import NoSpans, Tracer

SERVICES: Final = tuple(
    proto.DESCRIPTOR.services_by_name["FunctionRunnerService"].full_name for proto in (fnv1, fnv1beta1)
)
"""Crossplane calls the first one; versions before v1.17 call the second."""

THREADS: Final = 16
"""Concurrent calls. Crossplane sends at most as many as the composites that it reconciles concurrently."""
DRAIN_SECONDS: Final = 10.0
"""How long calls in progress may take when the server stops; real calls take milliseconds."""
MEBIBYTE: Final = 1024 * 1024
_HANDSHAKE_SECONDS: Final = 5.0
"""How long a client may take for TLS and the first frame of HTTP/2. Any pod may connect, and only the
handshake shows who has a certificate. gRPC's default is 120 s."""
_MOST_CONNECTIONS: Final = 1024
"""With a client that stops within the handshake in each, the process needs some 50 MiB more. Crossplane has
one connection."""
_MOST_STREAMS: Final = THREADS
"""Calls of one connection at a time; others wait in the client, and take no memory here. Crossplane has one
connection for all."""
_IDLE_SECONDS: Final = 3600
"""How long a connection may have no call. Crossplane opens another."""
_PING_SECONDS: Final = 300
_PONG_SECONDS: Final = 20
"""How often a connection without traffic is tried, and how long for: a node that went closes none."""
_LONGEST_LOGGED: Final = 4096
"""Characters of a message in one log line."""
MOST_THAT_CORE_TAKES: Final = 4 * MEBIBYTE
"""Bytes of a response. Crossplane uses gRPC's default limit for clients, whatever the server may send."""

_log = structlog.get_logger("function")

Run = Callable[[fnv1.RunFunctionRequest], fn.Answer]


@dataclass(frozen=True)
class Settings:
    """How the server listens."""

    address: str
    """host:port; port 0 means any free port."""
    credentials: grpc.ServerCredentials | None
    """None: without TLS."""
    max_receive_bytes: int
    max_send_bytes: int

    def options(self) -> Sequence[tuple[str, int]]:
        """The settings as gRPC options."""
        return (
            ("grpc.max_receive_message_length", self.max_receive_bytes),
            ("grpc.max_send_message_length", self.max_send_bytes),
            # Otherwise a second server could start on the same port without an error and get half of the
            # calls.
            ("grpc.so_reuseport", 0),
            ("grpc.server_handshake_timeout_ms", int(_HANDSHAKE_SECONDS * 1000)),
            ("grpc.max_allowed_incoming_connections", _MOST_CONNECTIONS),
            ("grpc.max_concurrent_streams", _MOST_STREAMS),
            ("grpc.max_connection_idle_ms", _IDLE_SECONDS * 1000),
            ("grpc.keepalive_time_ms", _PING_SECONDS * 1000),
            ("grpc.keepalive_timeout_ms", _PONG_SECONDS * 1000),
        )


class Server:
    """A server for one function. Call `start`, then `stop`."""

    def __init__(
        self,
        settings: Settings,
        run: Run = fn.run,
        *,
        metrics: Metrics | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._settings = settings
        self._calls = _Calls(run, metrics or Metrics(), tracer or NoSpans())
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, thread_name_prefix="call"), options=settings.options()
        )
        self._health = health.HealthServicer()
        self._add_services()

    def _add_services(self) -> None:
        # Both versions use the same messages on the wire, so one handler serves both.
        method = grpc.unary_unary_rpc_method_handler(self._calls.handle, bytes, bytes)
        for service in SERVICES:
            handlers = grpc.method_handlers_generic_handler(service, {"RunFunction": method})
            self._server.add_generic_rpc_handlers((handlers,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(  # type: ignore[no-untyped-call]
            (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)

    def start(self) -> int:
        """Listen, and set the health status to SERVING.

        Returns:
            The port.

        Raises:
            StartupFailed: the server cannot listen on the address.
        """
        port = self._listen()
        self._server.start()
        self._tell_health(health_pb2.HealthCheckResponse.SERVING)
        return port

    def _listen(self) -> int:
        address, credentials = self._settings.address, self._settings.credentials
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            why = "it is not a host:port of this machine, or another process listens there"
            raise StartupFailed(f"--address: cannot listen on {address}: {why}") from error

    def stop(self, grace: float = DRAIN_SECONDS) -> None:
        """Accept no more calls, finish those in progress within `grace` seconds, and stop."""
        self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        self._server.stop(grace).wait()

    def _tell_health(self, status: int) -> None:
        for service in ("", *SERVICES):
            self._health.set(service, status)


class _Calls:
    """Answers calls, counts them, and logs what changed."""

    def __init__(self, run: Run, metrics: Metrics, tracer: Tracer) -> None:
        self._run, self._metrics, self._tracer = run, metrics, tracer
        self._answers = Answers()
        self._large = LargeRequests()

    def handle(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """The serialized response; a bug becomes gRPC's INTERNAL."""
        headers = {key: text for key, text in context.invocation_metadata() if isinstance(text, str)}
        with self._tracer.span(headers) as trace_id:
            try:
                with self._metrics.timed(), self._large.turn(len(request), context):
                    answer, tag, serialized = self._answer(request)
            except TooMany as error:
                _log.warning("a large request waits for others", bytes=len(request), trace_id=trace_id)
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
                raise
            except NobodyWaits:
                context.abort(grpc.StatusCode.CANCELLED, "the client has gone")
                raise
            except Exception as error:  # any error: report it to Crossplane and keep serving
                _log.exception(
                    "a bug: the function cannot answer the request", tag=_tag(request), trace_id=trace_id
                )
                context.abort(grpc.StatusCode.INTERNAL, f"a bug in function-edgetenants: {error!r}")
                raise
            if answer is None:
                self._metrics.answered((), refused=False)
                _log.debug("sent the cached response", tag=tag, trace_id=trace_id)
            else:
                self._metrics.answered(answer.response.results, refused=answer.refused)
                _tell(answer, tag, trace_id)
            return serialized

    def _answer(self, request: bytes) -> tuple[fn.Answer | None, str, bytes]:
        """The answer (None if the response is cached), the tag, and the serialized response."""
        try:
            req = _read(request)
        except DecodeError:
            answer = fn.refuse_unreadable(unreadable.salvage(request))
            return answer, answer.response.meta.tag, _serialize(answer.response)
        question, tag = questions.question(req), req.meta.tag
        known = self._answers.find(question, tag)
        if known is not None:
            return None, tag, known
        answer = self._run(req)
        serialized = _serialize(answer.response)
        if len(serialized) > MOST_THAT_CORE_TAKES:
            answer = fn.refuse_too_large(req, answer, len(serialized), MOST_THAT_CORE_TAKES)
            serialized = _serialize(answer.response)
        if answer.settled:
            self._answers.keep(question, answer.response, serialized)
        return answer, tag, serialized


def _read(request: bytes) -> fnv1.RunFunctionRequest:
    if len(request) >= LARGE and b"managedFields" in request:
        # Users can write managed fields that take thirty times their size as objects of Python.
        request = unreadable.without_managed_fields(request)
    try:
        return fnv1.RunFunctionRequest.FromString(request)
    except DecodeError:
        return fnv1.RunFunctionRequest.FromString(unreadable.without_managed_fields(request))


def _tag(request: bytes) -> str:
    try:
        return unreadable.salvage(request).tag
    except DecodeError:
        return ""


def _serialize(rsp: fnv1.RunFunctionResponse) -> bytes:
    """Serialize deterministically, so that equal responses are equal bytes; otherwise protobuf does not
    define the order of maps."""
    return rsp.SerializeToString(deterministic=True)


def _tell(answer: fn.Answer, tag: str, trace_id: str) -> None:
    """Log changes at info or warning, and everything else at debug."""
    tell = _log.debug
    if answer.changed:
        # Crossplane repeats its calls for a refused claim, so only the first one is logged.
        tell = _log.warning if answer.refused else _log.info
    event = "refused" if answer.refused else "composed"
    fields = answer.composite.log_fields() | ({"trace_id": trace_id} if trace_id else {})
    tell(event, **fields, tag=tag, live=answer.reason, message=cut(answer.message, _LONGEST_LOGGED))
