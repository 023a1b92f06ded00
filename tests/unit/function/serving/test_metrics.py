"""What is counted, and where it is served."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.request

import grpc
import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from function import fn
from function.errors import StartupFailed
from function.serving.metrics import Metrics
from function.serving.server import MEBIBYTE, Server, Settings
from tests.unit.function import building

CALLS, RESULTS = "edgetenants_function_calls_total", "edgetenants_function_results_total"


def failing(req: fnv1.RunFunctionRequest) -> fn.Answer:
    if req.meta.tag == "bug":
        raise ZeroDivisionError
    return fn.run(req)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def call(metrics: Metrics, *requests: fnv1.RunFunctionRequest) -> None:
    running = Server(Settings("127.0.0.1:0", None, MEBIBYTE, MEBIBYTE), failing, metrics=metrics)
    with grpc.insecure_channel(f"127.0.0.1:{running.start()}") as channel:
        for req in requests:
            try:
                grpcv1.FunctionRunnerServiceStub(channel).RunFunction(req, timeout=10)
            except grpc.RpcError:
                assert req.meta.tag == "bug"
    running.stop(grace=0)


def test_calls_and_results(metrics: Metrics) -> None:
    bug = building.request()
    bug.meta.tag = "bug"
    refused = building.request(spec={"domains": []})

    call(metrics, building.request(), building.request(), refused, bug)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    outcomes = {outcome: value(CALLS, outcome=outcome) for outcome in ("composed", "refused", "failed")}
    assert outcomes == {"composed": 2, "refused": 1, "failed": 1}
    told = {severity: value(RESULTS, severity=severity) for severity in ("normal", "warning", "fatal")}
    assert told == {"normal": 2, "warning": 0, "fatal": 1}
    assert value("edgetenants_function_call_seconds_count") == 4
    assert value("edgetenants_function_calls_in_progress") == 0


def test_served_where_the_flag_says(metrics: Metrics) -> None:
    port = metrics.serve("127.0.0.1:0")

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()

    assert f'{CALLS}{{outcome="failed"}} 0.0' in text
    assert "process_resident_memory_bytes" in text


def status(port: int, source: str, path: str = "/healthz") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
    connection.request("GET", path)
    return connection.getresponse().status


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_clients_that_say_nothing_keep_no_probe_out(metrics: Metrics, path: str, source: str) -> None:
    port = metrics.serve("127.0.0.1:0")
    before = threading.active_count()
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    try:
        assert status(port, source, path) == 200
        assert threading.active_count() - before <= 100
    finally:
        for each in silent:
            each.close()


def test_only_its_pages_are_served(metrics: Metrics) -> None:
    assert status(metrics.serve("127.0.0.1:0"), "127.0.0.1", "/") == 404


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999", "nowhere.invalid:0"])
def test_an_address_that_is_none(metrics: Metrics, address: str) -> None:
    with pytest.raises(StartupFailed, match=f"--metrics-address: cannot listen on {address}"):
        metrics.serve(address)


def test_a_port_in_use(metrics: Metrics) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartupFailed, match="--metrics-address"):
            metrics.serve(address)
