"""Ports of 127.0.0.1: finds free ones, and which process listens on one."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.errors import WorldError

__all__ = ["choose", "holder", "is_free", "is_listening"]

_LOWEST = 20000
_TRIES = 2000


def choose(names: Iterable[str], *, pinned: Mapping[str, int], taken: Iterable[int]) -> dict[str, int]:
    """Choose a free port for each name: the pinned one, or else an unused one that is not in `taken`.

    The ports are below the range that the kernel uses for outgoing connections. Otherwise, a connection could
    take a port between our choice and the start of the process that listens on it.

    Raises:
        WorldError: a pinned port is in use, or its name is unknown.
    """
    wanted = tuple(names)
    unknown = sorted(set(pinned) - set(wanted))
    if unknown:
        raise WorldError(f"--port: unknown port name {', '.join(unknown)}; port names: {', '.join(wanted)}")
    used = set(taken) | set(pinned.values())
    ports = {}
    for name in wanted:
        ports[name] = _pinned(name, pinned[name]) if name in pinned else _free(used)
        used.add(ports[name])
    return ports


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def is_listening(port: int) -> bool:
    """Whether a process accepts connections on the port now."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def holder(port: int) -> str:
    """The process that listens on the port, as `pid 42 (python)`, or "another process" if unknown."""
    inodes = _listening_inodes(port)
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            process = descriptor.parent.parent
            return f"pid {process.name} ({(process / 'comm').read_text().strip()})"
    return "another process"


def _pinned(name: str, port: int) -> int:
    if not is_free(port):
        raise WorldError(
            f"--port: port {port} for {name} is in use by {holder(port)}; choose another one or omit --port"
        )
    return port


def _free(used: set[int]) -> int:
    highest = _first_outgoing() - 1
    draw = random.SystemRandom()
    for _ in range(_TRIES):
        port = draw.randint(_LOWEST, highest)
        if port not in used and is_free(port):
            return port
    raise WorldError(f"no free port found between {_LOWEST} and {highest}")


def _first_outgoing() -> int:
    """The first port that the kernel uses for outgoing connections."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32768


def _listening_inodes(port: int) -> set[str]:
    """The inodes of the sockets that listen on the port, from proc(5)'s tables of TCP sockets."""
    listening = "0A"
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == listening and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found
