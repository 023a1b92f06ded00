"""The server over real gRPC."""

from __future__ import annotations

import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import grpc
import pytest
import structlog
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1
from crossplane.function.proto.v1beta1 import run_function_pb2 as fnv1beta1
from crossplane.function.proto.v1beta1 import run_function_pb2_grpc as grpcv1beta1
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from function import fn
from function.errors import StartupFailed
from function.serving import server
from function.serving.certificates import load_credentials
from function.serving.large_requests import HUGE, LARGE
from function.serving.server import MEBIBYTE, Server, Settings
from tests.unit.function import building
from tests.unit.function.conftest import Pki

SECONDS = 10.0
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
PLAIN = Settings("127.0.0.1:0", None, 4 * MEBIBYTE, 4 * MEBIBYTE)


@pytest.fixture(scope="module")
def mtls(pki: Pki) -> Iterator[int]:
    """The port of a server with mTLS."""
    running = Server(replace(PLAIN, credentials=load_credentials(pki.directory)))
    yield running.start()
    running.stop(grace=0)


@pytest.fixture
def channel(mtls: int, pki: Pki) -> Iterator[grpc.Channel]:
    with grpc.secure_channel(f"127.0.0.1:{mtls}", pki.crossplane) as channel:
        yield channel


def test_v1(channel: grpc.Channel) -> None:
    rsp = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(building.request(), timeout=SECONDS)

    assert rsp == building.run(building.request())


def test_v1beta1(channel: grpc.Channel) -> None:
    req = fnv1beta1.RunFunctionRequest.FromString(building.request().SerializeToString())

    rsp = grpcv1beta1.FunctionRunnerServiceStub(channel).RunFunction(req, timeout=SECONDS)

    assert rsp.desired.resources["tenant"].ready == fnv1beta1.READY_FALSE
    assert [each.type for each in rsp.conditions] == [
        "Live",
        "Reconciling",
        "Degraded",
        "Suspended",
        "Blocked",
    ]


@pytest.mark.parametrize("service", ["", *server.SERVICES])
def test_health(channel: grpc.Channel, service: str) -> None:
    answer = health_pb2_grpc.HealthStub(channel).Check(
        health_pb2.HealthCheckRequest(service=service), timeout=SECONDS
    )

    assert answer.status == SERVING


def test_reflection(channel: grpc.Channel) -> None:
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)

    (answer,) = stub.ServerReflectionInfo(iter([ask]), timeout=SECONDS)

    names = {each.name for each in answer.list_services_response.service}
    assert {*server.SERVICES, "grpc.health.v1.Health"} <= names


@pytest.mark.parametrize("caller", ["stranger", "nobody", "plaintext"])
def test_callers_without_a_certificate_of_the_ca_are_not_served(mtls: int, pki: Pki, caller: str) -> None:
    address = f"127.0.0.1:{mtls}"
    credentials = getattr(pki, caller, None)
    channel = grpc.secure_channel(address, credentials) if credentials else grpc.insecure_channel(address)
    with channel, pytest.raises(grpc.RpcError) as error:
        grpcv1.FunctionRunnerServiceStub(channel).RunFunction(building.request(), timeout=SECONDS)

    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_equal_answers_are_equal_on_the_wire(channel: grpc.Channel) -> None:
    call = channel.unary_unary(f"/{server.SERVICES[0]}/RunFunction")
    req = building.request(xr={"metadata": {"labels": {"a": "1", "b": "2"}}})
    for name in "zyxwvu":
        req.desired.resources[name].resource.update({"kind": name, "spec": {"b": 1, "a": 2}})

    answers = {call(req.SerializeToString(), timeout=SECONDS) for _ in range(5)}

    assert len(answers) == 1
    assert answers == {fn.run(req).response.SerializeToString(deterministic=True)}


class Gate:
    """A function whose calls can be held."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def run(self, req: fnv1.RunFunctionRequest) -> fn.Answer:
        if req.meta.tag == "held":
            self.entered.set()
            assert self.opened.wait(SECONDS)
        return fn.run(req)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


def _tagged(tag: str) -> fnv1.RunFunctionRequest:
    req = building.request()
    req.meta.tag = tag
    return req


def test_a_slow_call_holds_up_no_other(gate: Gate) -> None:
    running = Server(PLAIN, gate.run)
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel:
        stub = grpcv1.FunctionRunnerServiceStub(channel)
        held = stub.RunFunction.future(_tagged("held"), timeout=SECONDS)
        assert gate.entered.wait(SECONDS)

        assert stub.RunFunction(_tagged("other"), timeout=SECONDS).meta.tag == "other"

        gate.opened.set()
        assert held.result().meta.tag == "held"
    running.stop(grace=0)


def test_large_requests_wait_for_each_other_and_small_ones_do_not(gate: Gate) -> None:
    """Each takes several times its size, and users of many namespaces can have some at once."""
    large = _tagged("held")
    large.observed.resources["bucket"].resource.update({"spec": {"text": "x" * (2 * HUGE + 1)}})
    settings = replace(PLAIN, max_receive_bytes=32 * MEBIBYTE)
    running = Server(settings, gate.run)
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}", options=options) as channel:
        stub = grpcv1.FunctionRunnerServiceStub(channel)
        calls = [stub.RunFunction.future(large, timeout=SECONDS) for _ in range(5)]
        ended: queue.Queue[grpc.Future] = queue.Queue()
        for call in calls:
            call.add_done_callback(ended.put)
        assert gate.entered.wait(SECONDS)
        refused = ended.get(timeout=SECONDS)
        assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "other large requests are in progress" in str(refused.details())
        assert stub.RunFunction(_tagged("small"), timeout=SECONDS).meta.tag == "small"

        gate.opened.set()
        others = [call for call in calls if call is not refused]
        assert [call.result().meta.tag for call in others] == ["held"] * 4
    running.stop(grace=0)


def test_managed_fields_of_a_large_request_are_not_read() -> None:
    """Of Python's objects, they can take thirty times their size."""
    req = building.request()
    fields = {"managedFields": [{"fieldsV1": {f"f:{n}": {".": {}} for n in range(20)}}], "name": "b"}
    read = req.observed.resources["bucket"].resource
    read.update({"metadata": fields})
    assert server._read(req.SerializeToString()) == req
    read.update({"spec": {"text": "x" * LARGE}})
    large = server._read(req.SerializeToString())
    del read["metadata"].fields["managedFields"]
    assert large == req


def test_a_stop_lets_calls_finish_and_says_so_in_health(gate: Gate) -> None:
    running = Server(PLAIN, gate.run)
    with (
        ThreadPoolExecutor() as pool,
        grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel,
    ):
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=SECONDS)
        assert next(watch).status == SERVING
        held = grpcv1.FunctionRunnerServiceStub(channel).RunFunction.future(_tagged("held"), timeout=SECONDS)
        assert gate.entered.wait(SECONDS)

        stopped = pool.submit(running.stop, SECONDS)

        assert next(watch).status == NOT_SERVING
        assert not stopped.done()
        gate.opened.set()
        assert held.result().meta.tag == "held"
        watch.cancel()
        stopped.result(SECONDS)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> structlog.testing.LogCapture:
    """What the server logs, of every level, however the process has set up its logs."""
    capture = structlog.testing.LogCapture()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(),
        processors=[capture],
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
    )
    monkeypatch.setattr(server, "_log", logger)
    return capture


def _broken_once() -> Callable[[fnv1.RunFunctionRequest], fn.Answer]:
    unbroken = threading.Event()

    def run(req: fnv1.RunFunctionRequest) -> fn.Answer:
        if unbroken.is_set():
            return fn.run(req)
        unbroken.set()
        raise ZeroDivisionError

    return run


def test_a_bug_is_told_and_the_next_call_goes_on(log: structlog.testing.LogCapture) -> None:
    running = Server(PLAIN, _broken_once())
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel:
        stub = grpcv1.FunctionRunnerServiceStub(channel)
        with pytest.raises(grpc.RpcError) as error:
            stub.RunFunction(building.request(), timeout=SECONDS)

        assert error.value.code() == grpc.StatusCode.INTERNAL
        assert "ZeroDivisionError" in error.value.details()
        assert [(each["log_level"], each["tag"]) for each in log.entries] == [("error", "t")]
        assert stub.RunFunction(building.request(), timeout=SECONDS).meta.tag == "t"
    running.stop(grace=0)


@pytest.mark.parametrize(
    ("xr", "level", "event", "live"),
    [
        ({}, "info", "composed", "Creating"),
        ({"spec": {"plan": "gold"}}, "warning", "refused", "PlanNotFound"),
        (
            {"status": {"conditions": [building.condition("Live", "False", "Creating")]}},
            "debug",
            "composed",
            "Creating",
        ),
    ],
)
def test_what_changed_is_logged_with_the_composite(
    channel: grpc.Channel,
    log: structlog.testing.LogCapture,
    xr: dict[str, object],
    level: str,
    event: str,
    live: str,
) -> None:
    grpcv1.FunctionRunnerServiceStub(channel).RunFunction(building.request(xr=xr), timeout=SECONDS)

    (line,) = log.entries
    assert (line["log_level"], line["event"], line["live"]) == (level, event, live)
    assert (line["xr_kind"], line["xr_namespace"], line["xr_name"], line["xr_uid"]) == (
        "TenantClaim",
        "shop",
        "acme",
        "u-1",
    )


def test_a_claim_that_goes_on_being_refused_is_logged_once_and_briefly(
    channel: grpc.Channel, log: structlog.testing.LogCapture
) -> None:
    """Anyone who may write claims would fill the log."""
    spec = {"plan": "standard", "domains": [f"{number}_{'x' * 200}.example.com" for number in range(400)]}
    told = {"status": {"conditions": [building.condition("Live", "False", "InvalidClaim")]}}
    stub = grpcv1.FunctionRunnerServiceStub(channel)
    for xr in ({"spec": spec}, {"spec": spec, **told}):
        stub.RunFunction(building.request(xr=xr), timeout=SECONDS)
    assert [line["log_level"] for line in log.entries] == ["warning", "debug"]
    assert {len(line["message"]) for line in log.entries} == {4096}


def test_requests_larger_than_grpcs_own_limit_are_taken() -> None:
    running = Server(replace(PLAIN, max_receive_bytes=8 * MEBIBYTE, max_send_bytes=8 * MEBIBYTE))
    limits = [("grpc.max_receive_message_length", 8 * MEBIBYTE)]
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}", options=limits) as channel:
        req = building.request()
        req.observed.resources["big"].resource.update({"spec": "x" * 5 * MEBIBYTE})
        rsp = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(req, timeout=SECONDS)

    assert list(rsp.desired.resources) == ["tenant"]
    running.stop(grace=0)


def test_an_answer_that_core_would_not_take_is_a_clear_refusal() -> None:
    running = Server(replace(PLAIN, max_receive_bytes=8 * MEBIBYTE, max_send_bytes=8 * MEBIBYTE))
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel:  # whose limit is core's
        req = building.request()
        req.desired.resources["big"].resource.update({"spec": "x" * 4 * MEBIBYTE})
        rsp = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(req, timeout=SECONDS)
        req.desired.resources["big"].resource.update({"spec": "x" * (4 * MEBIBYTE - 5000)})
        fitting = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(req, timeout=SECONDS)
    running.stop(grace=0)

    assert (building.results(rsp), rsp.meta.tag, list(rsp.desired.resources)) == (
        [["FATAL", "Failed"]],
        "t",
        [],
    )
    assert "at most 4194304" in rsp.results[0].message
    assert sorted(fitting.desired.resources) == ["big", "tenant"]


def test_a_port_in_use_is_a_failure() -> None:
    one = Server(PLAIN)
    port = one.start()

    with pytest.raises(StartupFailed, match=rf"--address: cannot listen on 127\.0\.0\.1:{port}"):
        Server(replace(PLAIN, address=f"127.0.0.1:{port}")).start()
    one.stop(grace=0)


def _ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection; without its own end, this takes long."""
    connection.settimeout(SECONDS)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01"], ids=["nothing", "half a handshake"])
def test_who_does_not_finish_the_handshake_does_not_stay(
    pki: Pki, monkeypatch: pytest.MonkeyPatch, said: bytes, secure: bool
) -> None:
    monkeypatch.setattr(server, "_HANDSHAKE_SECONDS", 0.5)
    credentials = load_credentials(pki.directory) if secure else None
    running = Server(replace(PLAIN, credentials=credentials))
    with socket.create_connection(("127.0.0.1", running.start())) as silent:
        silent.sendall(said)
        assert _ended(silent)
    running.stop(grace=0)


def test_connections_are_bounded_and_those_of_crossplane_stay(
    pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 3)
    monkeypatch.setattr(server, "_HANDSHAKE_SECONDS", 60)
    running = Server(replace(PLAIN, credentials=load_credentials(pki.directory)))
    port = running.start()
    with grpc.secure_channel(f"127.0.0.1:{port}", pki.crossplane) as channel:
        stub = grpcv1.FunctionRunnerServiceStub(channel)
        stub.RunFunction(building.request(), timeout=SECONDS)
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(6)]
        assert all(_ended(each) for each in silent[2:])
        assert stub.RunFunction(building.request(), timeout=SECONDS).meta.tag == "t"
    for each in silent:
        each.close()
    running.stop(grace=0)


def test_a_connection_has_bounds() -> None:
    options = dict(PLAIN.options())
    assert options["grpc.max_concurrent_streams"] == server.THREADS, "the bytes of others would be in memory"
    assert options["grpc.max_connection_idle_ms"] > 600_000, "Crossplane would connect again and again"
    assert options["grpc.keepalive_time_ms"] > options["grpc.keepalive_timeout_ms"] > 0
