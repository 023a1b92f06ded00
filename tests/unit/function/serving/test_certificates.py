"""Certificates that are renewed while the server runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import trustme
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1
from structlog.testing import capture_logs

from function.serving.certificates import CA, CERTIFICATE, KEY, load_credentials
from function.serving.server import Server
from tests.unit.function import building
from tests.unit.function.serving.test_server import PLAIN, SECONDS

Serves = Callable[[grpc.ChannelCredentials], bool]


class Secret:
    """A certificate of a CA of its own, and a client of that CA."""

    def __init__(self) -> None:
        ca = trustme.CA()
        server, client = ca.issue_cert("localhost"), ca.issue_cert("crossplane")
        self.files = {
            CERTIFICATE: server.cert_chain_pems[0].bytes(),
            KEY: server.private_key_pem.bytes(),
            CA: ca.cert_pem.bytes(),
        }
        chain = client.cert_chain_pems[0].bytes()
        self.client = grpc.ssl_channel_credentials(self.files[CA], client.private_key_pem.bytes(), chain)

    def mount(self, directory: Path, *names: str) -> None:
        """Write the files, or some of them."""
        for name in names or self.files:
            (directory / name).write_bytes(self.files[name])


FIRST, SECOND = Secret(), Secret()


@pytest.fixture
def serves(tmp_path: Path) -> Iterator[Serves]:
    """Whether the server serves a client on a new connection."""
    FIRST.mount(tmp_path)
    running = Server(replace(PLAIN, credentials=load_credentials(tmp_path)))
    port = running.start()

    def serves(client: grpc.ChannelCredentials) -> bool:
        alone = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(f"localhost:{port}", client, alone) as channel:
            stub = grpcv1.FunctionRunnerServiceStub(channel)
            try:
                stub.RunFunction(building.request(), timeout=SECONDS)
            except grpc.RpcError as error:
                return bool(error.code() is not grpc.StatusCode.UNAVAILABLE)
            return True

    yield serves
    running.stop(grace=0)


def test_a_renewed_certificate_serves_and_the_former_one_does_not(tmp_path: Path, serves: Serves) -> None:
    assert serves(FIRST.client)
    assert not serves(SECOND.client)
    SECOND.mount(tmp_path)
    with capture_logs() as logs:
        assert serves(SECOND.client)
        assert not serves(FIRST.client)
    assert [line["event"] for line in logs if "certificate" in line["event"]] == [
        "the certificate was renewed"
    ]


def test_files_that_do_not_belong_together_yet_are_not_used(tmp_path: Path, serves: Serves) -> None:
    SECOND.mount(tmp_path, KEY)
    with capture_logs() as logs:
        assert serves(FIRST.client)
        assert serves(FIRST.client)
    told = [line["error"] for line in logs if "renewed" in line["event"]]
    assert len(told) == 1, "each handshake asks"
    assert f"{CERTIFICATE} and {KEY} in {tmp_path} are not a certificate and its key" in told[0]
    SECOND.mount(tmp_path)
    assert serves(SECOND.client)


def test_files_that_are_gone_for_a_moment_are_not_used(tmp_path: Path, serves: Serves) -> None:
    (tmp_path / CA).unlink()
    assert serves(FIRST.client)
    SECOND.mount(tmp_path)
    assert serves(SECOND.client)
