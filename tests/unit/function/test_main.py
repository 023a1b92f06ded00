"""The command: flags, signals, exit codes. A process each, so few of them."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import grpc
import pytest
import trustme
from click.testing import CliRunner, Result
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from edgetenants_runtime import logs
from function.main import main
from tests.unit.function import building
from tests.unit.function.conftest import Pki

SECONDS = 20.0


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command in this process, whose logs stay as they are."""
    monkeypatch.setattr(logs, "configure", lambda *args, **kwargs: None)
    return partial(CliRunner().invoke, main)


def _as_in_a_container() -> None:
    """No file can be written to, and few may be open."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, most))


@contextmanager
def _started(*flags: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running function and its port; as under a read-only file system, no file can be written to. gRPC's C
    core may write lines before ours."""
    command = [sys.executable, "-m", "function", "--address", "127.0.0.1:0", *flags]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": "/nonexistent", "TMPDIR": "/nonexistent", **env},
        preexec_fn=_as_in_a_container,  # noqa: PLW1509 - it takes no lock
    )
    try:
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        line = next(json.loads(each) for each in lines if each.startswith("{"))
        assert line["event"] == "serving"
        yield process, line["port"]
    finally:
        process.kill()
        process.wait()


def _events(log: str) -> list[dict[str, object]]:
    """Return our own lines. gRPC's C core may write lines of its own to the same stream."""
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


def _threads_that_would_take(number: signal.Signals, pid: int) -> list[str]:
    """Threads beside the main one, which waits for the signal, that do not block it."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
            status = (thread / "status").read_text()
            blocked = re.search(r"^SigBlk:\s*(\w+)", status, re.MULTILINE)
            if thread.name != str(pid) and not (blocked and int(blocked[1], 16) & 1 << (number - 1)):
                found.append((thread / "comm").read_text().strip())
    return found


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_serves_until_a_signal_and_exits_with_0(pki: Pki, stop: signal.Signals) -> None:
    with _started(TLS_SERVER_CERTS_DIR=str(pki.directory)) as (process, port):
        with grpc.secure_channel(f"127.0.0.1:{port}", pki.crossplane) as channel:
            rsp = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(building.request(), timeout=SECONDS)
        assert not _threads_that_would_take(stop, process.pid)
        process.send_signal(stop)
        _, log = process.communicate(timeout=SECONDS)

    assert rsp.meta.tag == "t"
    assert process.returncode == 0, log
    events = _events(log)
    assert [each["event"] for each in events] == [
        "composed",
        "stopping; a second signal exits immediately",
        "stopped",
    ]
    assert events[0]["xr_name"] == "acme"


def test_the_process_takes_as_many_open_files_as_it_may_have() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with _started("--insecure") as (process, _):
        soft, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    assert soft == min(most, 65_536) if most != resource.RLIM_INFINITY else 65_536


def test_a_port_in_use_ends_the_process_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "function", "--address", address, "--insecure"]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)

    assert ended.returncode == 1
    assert f"--address: cannot listen on {address}" in ended.stderr


def test_without_certificates_or_insecure_the_flags_are_wrong(invoke: Callable[..., Result]) -> None:
    ended = invoke([], env={"TLS_SERVER_CERTS_DIR": None})

    assert ended.exit_code == 2
    assert "--tls-server-certs-dir" in ended.output
    assert "--insecure" in ended.output


def _unlink(name: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).unlink()


def _spoil(name: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        (directory / name).write_text("-----BEGIN NONSENSE-----")

    return spoil


def _other_key(directory: Path) -> None:
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(directory / "tls.key")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_unlink("tls.crt"), "tls.crt"),
        (_unlink("tls.key"), "tls.key"),
        (_unlink("ca.crt"), "ca.crt"),
        (_spoil("tls.crt"), "tls.crt"),
        (_spoil("tls.key"), "tls.key"),
        (_spoil("ca.crt"), "ca.crt"),
        (_other_key, "tls.key"),
        (shutil.rmtree, "tls.crt"),
    ],
)
def test_bad_certificates_end_the_start_with_1_and_the_file(
    invoke: Callable[..., Result], pki: Pki, tmp_path: Path, damage: Callable[[Path], None], named: str
) -> None:
    directory = tmp_path / "certs"
    shutil.copytree(pki.directory, directory)
    damage(directory)

    ended = invoke(["--tls-certs-dir", str(directory), "--address", "127.0.0.1:0"])

    assert ended.exit_code == 1
    assert "--tls-server-certs-dir" in ended.output
    assert named in ended.output
    assert str(directory) in ended.output


def test_the_flags_are_the_sdks(invoke: Callable[..., Result]) -> None:
    text = invoke(["--help"]).output

    for flag in ("--debug", "-d", "--address", "--tls-server-certs-dir", "--tls-certs-dir", "--insecure"):
        assert flag in text
    assert "0.0.0.0:9443" in text
    assert "--max-recv-message-size" in text
    assert "[env var" not in text
    assert "default: 16" in text
