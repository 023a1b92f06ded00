"""A TCP proxy that loses answers: the request reaches the server, and the client sees the connection end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"
_SECONDS = 5.0


@contextmanager
def losing(port: int, is_lost: Callable[[bytes], bool]) -> Iterator[int]:
    """The port of a proxy for a server's port; the answer to a request of which `is_lost` is lost."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(0.05)
        ends = threading.Event()
        thread = threading.Thread(target=_accept, args=(listener, port, is_lost, ends), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ends.set()
            thread.join(_SECONDS)


def _accept(
    listener: socket.socket, port: int, is_lost: Callable[[bytes], bool], ends: threading.Event
) -> None:
    while not ends.is_set():
        with suppress(TimeoutError):
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, port, is_lost), daemon=True).start()


def _serve(client: socket.socket, port: int, is_lost: Callable[[bytes], bool]) -> None:
    lost = threading.Event()
    with client, socket.create_connection((HOST, port), timeout=_SECONDS) as server, suppress(OSError):
        client.settimeout(_SECONDS)
        threading.Thread(target=_requests, args=(client, server, is_lost, lost), daemon=True).start()
        while answer := server.recv(65536):
            if lost.is_set():
                # A close alone ends nothing while the other thread reads.
                client.shutdown(socket.SHUT_RDWR)
                return
            client.sendall(answer)


def _requests(
    client: socket.socket, server: socket.socket, is_lost: Callable[[bytes], bool], lost: threading.Event
) -> None:
    with suppress(OSError):
        while data := client.recv(65536):
            if is_lost(data):
                lost.set()
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)
