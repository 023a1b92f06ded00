"""Runs the emulator and its rival in separate processes on loopback, and reads each over one connection."""

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def free_port() -> int:
    """A port that is currently free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(*command: str, port: int, python: str = sys.executable) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a server until the block ends. Raises RuntimeError if it does not listen within 20 s."""
    process = subprocess.Popen([python, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_listening(process, port)
        yield process
    finally:
        process.terminate()
        process.wait(timeout=10)


def wait_listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"the server on port {port} ended with exit code {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server does not listen on port {port}")


class Reader:
    """Repeats a GET of one path. Every response must be a 200."""

    def __init__(self, port: int, path: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._path, self._headers = path, headers

    def __call__(self) -> None:
        self._connection.request("GET", self._path, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"GET {self._path} returned {answer.status}")
