"""The parent of all processes of a sandbox: `python -m sandbox.supervisor DIR`, started detached by `up`.

It starts, stops and reaps processes. It does not restart them, so that the user notices a process that dies.
Each request is one line of JSON over the Unix socket DIR/control.sock:

    {"do": "start", "spec": {…}}     start a process; its spec is kept
    {"do": "start", "name": "x"}     start it again with the same spec
                                     ("flags": ["--a=b"] adds flags for this run only)
    {"do": "stop", "name": "x"}      SIGTERM, then SIGKILL after the grace period; responds immediately
    {"do": "kill", "name": "x"}      SIGKILL
    {"do": "status"}
    {"do": "shutdown"}               stop all, higher tiers first; responds when all have ended, then exits

Each response is {"processes": [...]} or {"error": "..."}. DIR/processes.json contains the same list, so that
`down` finds the remaining processes if the supervisor itself was killed. Its children do not outlive it: the
kernel kills them (PR_SET_PDEATHSIG, prctl(2)). The kernel sends that signal when the *thread* that started a
child ends, so the supervisor must have only one thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandbox import copies
from sandbox.copies import Copied, Copy
from sandbox.errors import WorldError
from sandbox.pids import ProcessId
from sandbox.specs import ProcessSpec
from sandbox.states import ProcessState

__all__ = ["CONTROL_SOCKET", "PROCESSES_FILE", "Supervisor", "bind_at", "main"]

CONTROL_SOCKET = "control.sock"
PROCESSES_FILE = "processes.json"
GRACE = 8.0
"""The default number of seconds from SIGTERM to SIGKILL."""

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127


@dataclass
class Child:
    """A process that was started, and its state."""

    spec: ProcessSpec
    process: subprocess.Popen[bytes] | Copy
    identity: ProcessId | None
    started: float
    log_offset: int
    """The offset in the log file at which this run begins, in bytes."""
    asked_to_end: bool = False
    kill_at: float | None = None
    """The time of the SIGKILL, on the monotonic clock."""
    ended: float | None = None

    @property
    def state(self) -> ProcessState:
        """Running, stopped as requested, or died."""
        if self.process.returncode is None:
            return ProcessState.RUNNING
        return ProcessState.STOPPED if self.asked_to_end else ProcessState.DIED

    def to_json(self) -> dict[str, Any]:
        """Its entry in the response to `status`."""
        return {
            "name": self.spec.name,
            "pid": self.process.pid,
            "start": self.identity.start if self.identity else 0,
            "boot": self.identity.boot if self.identity else "",
            "ports": list(self.spec.ports),
            "state": self.state.value,
            "exit_code": self.process.returncode,
            "started": self.started,
            "ended": self.ended,
            "log": self.spec.log,
            "log_offset": self.log_offset,
            "probe": self.spec.to_json()["probe"],
        }


class Supervisor:
    """Starts and reaps children, and serves requests, in one thread."""

    def __init__(self, directory: Path, grace: float = GRACE) -> None:
        """`grace`: seconds from SIGTERM to SIGKILL."""
        self._directory = directory
        self._grace = grace
        self._children: dict[str, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._leaving = False
        self._signalled = False
        self._actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "start": self._start,
            "stop": self._stop,
            "kill": self._kill,
            "status": lambda _: None,
            "shutdown": lambda _: self.shutdown(),
        }

    def serve(self) -> None:
        """Serve requests until a shutdown is requested, also by SIGTERM or SIGINT."""
        woken = self._listen_for_signals()
        server = bind_at(self._directory)
        self._sockets.append(server)
        self._selector.register(server, selectors.EVENT_READ)
        self._save()
        while not self._leaving:
            for key, _ in self._selector.select(self._until_next_kill()):
                if key.fileobj is server:
                    self._answer(server)
                else:
                    woken.recv(4096)
            self._reap()
            self._kill_overdue()
            if self._signalled:
                self.shutdown()
        (self._directory / CONTROL_SOCKET).unlink(missing_ok=True)

    def shutdown(self) -> None:
        """Stop all children, higher tiers first, and end."""
        self._leaving = True
        for tier in sorted({c.spec.tier for c in self._children.values()}, reverse=True):
            group = [c for c in self._children.values() if c.spec.tier == tier]
            for child in group:
                self._ask_to_end(child, signal.SIGTERM)
            while any(c.process.poll() is None for c in group):
                self._kill_overdue()
                time.sleep(0.02)
            self._reap()

    def close(self) -> None:
        """Close all sockets: a copy has them too."""
        self._selector.close()
        for used in self._sockets:
            used.close()

    def _listen_for_signals(self) -> socket.socket:
        """A socket that becomes readable with each signal, for `select`."""
        woken, wake = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        self._sockets += [woken, wake]
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note_signal)
        self._selector.register(woken, selectors.EVENT_READ)
        return woken

    def _note_signal(self, *_: object) -> None:
        self._signalled = True

    def _answer(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.settimeout(2)
            try:
                request = json.loads(connection.makefile("rb").readline())
                reply = self._act(request)
                connection.settimeout(10)
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except (OSError, ValueError) as e:
                print(f"supervisor: request failed: {e}", flush=True)

    def _act(self, request: dict[str, Any]) -> dict[str, Any]:
        act = self._actions.get(str(request.get("do")))
        if act is None:
            return {"error": f"unknown request {request.get('do')!r}; requests: {', '.join(self._actions)}"}
        try:
            act(request)
        except WorldError as e:
            return {"error": str(e)}
        self._reap()
        return {"processes": [c.to_json() for c in self._children.values()]}

    def _start(self, request: dict[str, Any]) -> None:
        spec = ProcessSpec.parse(request["spec"]) if "spec" in request else self._named(request).spec
        old = self._children.get(spec.name)
        if old is not None and old.process.poll() is None:
            raise WorldError(f"{spec.name} is already running with pid {old.process.pid}")
        again = old is not None
        self._children[spec.name] = spawn(spec, flags=tuple(request.get("flags", ())), again=again)
        self._save()

    def _stop(self, request: dict[str, Any]) -> None:
        self._ask_to_end(self._named(request), signal.SIGTERM)

    def _kill(self, request: dict[str, Any]) -> None:
        self._ask_to_end(self._named(request), signal.SIGKILL)

    def _named(self, request: dict[str, Any]) -> Child:
        child = self._children.get(str(request.get("name")))
        if child is None:
            known = ", ".join(self._children) or "none"
            raise WorldError(f"process {request.get('name')!r} not found; processes: {known}")
        return child

    def _ask_to_end(self, child: Child, number: signal.Signals) -> None:
        if child.process.poll() is not None:
            return
        child.asked_to_end = True
        child.kill_at = time.monotonic() + self._grace
        child.process.send_signal(number)

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if child.kill_at is not None and now >= child.kill_at and child.process.poll() is None:
                print(
                    f"supervisor: {child.spec.name} did not stop within {self._grace} s; killing it",
                    flush=True,
                )
                child.kill_at = None
                child.process.kill()

    def _until_next_kill(self) -> float | None:
        pending = [c.kill_at for c in self._children.values() if c.kill_at and c.process.returncode is None]
        return max(0.0, min(pending) - time.monotonic()) if pending else None

    def _reap(self) -> None:
        for child in self._children.values():
            if child.ended is None and child.process.poll() is not None:
                child.ended = time.time()
                how = "ended as requested" if child.asked_to_end else "died"
                print(f"supervisor: {child.spec.name} {how}, {child.process.returncode}", flush=True)
                self._save()

    def _save(self) -> None:
        myself = ProcessId.of(os.getpid())
        body = {
            "supervisor": {"pid": os.getpid(), "start": myself.start, "boot": myself.boot} if myself else {},
            "processes": [c.to_json() for c in self._children.values()],
        }
        fresh = self._directory / f"{PROCESSES_FILE}.new"
        fresh.write_text(json.dumps(body))
        fresh.replace(self._directory / PROCESSES_FILE)


def bind_at(directory: Path) -> socket.socket:
    """A listening control socket in `directory`, whose path may exceed the limit of 108 bytes."""
    (directory / CONTROL_SOCKET).unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        server.bind(f"/proc/self/fd/{handle}/{CONTROL_SOCKET}")
    finally:
        os.close(handle)
    (directory / CONTROL_SOCKET).chmod(0o600)
    server.listen(16)
    return server


def spawn(spec: ProcessSpec, flags: tuple[str, ...] = (), *, again: bool = False) -> Child:
    """Start a process that the kernel kills when this one ends.

    Args:
        spec: kept, for when the process is started again.
        flags: for this run only, after those of the spec.
        again: it was started before, so that a copy saves time, if the environment asks for copies.

    Raises:
        WorldError: the program cannot be started.
        Copied: in a copy of this process.
    """
    with Path(spec.log).open("ab") as log:
        offset = log.tell()
        process = _copy(spec, flags, log.fileno(), again=again) or _execute(spec, flags, log)
    return Child(spec, process, ProcessId.of(process.pid), time.time(), offset)


def _copy(spec: ProcessSpec, flags: tuple[str, ...], log: int, *, again: bool) -> Copy | None:
    if spec.argv[:2] != (sys.executable, "-m") or spec.argv[2] not in copies.modules():
        return None
    module = spec.argv[2]
    if not again and module not in sys.modules:
        return None
    program = Copied(module, (*spec.argv[3:], *flags), spec.env, log)
    return copies.copy(program, _die_with_parent(os.getpid()))


def _execute(spec: ProcessSpec, flags: tuple[str, ...], log: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            (*spec.argv, *flags),
            env=dict(spec.env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent(os.getpid()),  # noqa: PLW1509 - there is one thread
        )
    except OSError as e:
        raise WorldError(f"cannot start {spec.name}: {e}") from e


def _die_with_parent(parent: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def before_exec() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended between fork and prctl, so the kernel sends no signal
            os._exit(_CANNOT_START)

    return before_exec


def main(arguments: list[str]) -> int:
    """Supervise the sandbox in the directory given as the first argument."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python -m sandbox.supervisor DIR [SECONDS FROM SIGTERM TO SIGKILL]", file=sys.stderr)
        return 2
    supervisor = Supervisor(Path(arguments[0]), *map(float, arguments[1:]))
    try:
        supervisor.serve()
    except Copied as program:
        copied = program.with_traceback(None)
    else:
        return 0
    supervisor.close()
    return copies.run(copied)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
