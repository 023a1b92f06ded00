"""Starts a Python program as a copy of this process, which has imported it already.

The import of the provider takes most of a second of a core, and the tests start it several hundred times. A
copy has its modules from the start. Otherwise it is like a process that was executed: it has its own session,
environment, arguments, output and signal handlers, and ends as `python -m` does.

A copy runs the code that was imported first. So only tests ask for copies, with the environment variable
EDGETENANTS_SANDBOX_COPIES: after `edgetenants sandbox restart provider`, a contributor expects changed code.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import TextIOWrapper

__all__ = ["VARIABLE", "Copied", "Copy", "copy", "modules", "run"]

VARIABLE = "EDGETENANTS_SANDBOX_COPIES"
"""The environment variable with the modules that are copied, separated by blanks."""

_HANDLED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)
"""The signals that the parent handles."""


@dataclass(eq=False)
class Copied(BaseException):
    """Raised in a copy. It leaves all calls that the copy inherited, and ends in `run`."""

    module: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]
    log: int
    """The descriptor of the file to which stdout and stderr go."""


class Copy:
    """A copy, as its parent sees it: what the supervisor uses of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or the negative number of the signal that ended it; None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)


def modules(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The modules that the environment asks to copy."""
    return frozenset(environ.get(VARIABLE, "").split())


def copy(program: Copied, before: Callable[[], None]) -> Copy | None:
    """Start a program as a copy of this process; None if it has to be executed, as its import fails or has
    started a thread, or as the system has no room for the copy.

    Args:
        program: what to start.
        before: called first in the copy.

    Raises:
        Copied: in the copy. Only `run` may catch it.
    """
    try:
        importlib.import_module(program.module)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, the executed program shows it
        return None
    if threading.active_count() > 1:
        return None
    gc.freeze()  # so that the copies' collections do not touch, and thereby duplicate, what they share
    sys.stdout.flush()
    sys.stderr.flush()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return None
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return Copy(pid)
    before()
    _default_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (program.log, 1), (program.log, 2)):
        os.dup2(source, target)
    os.close(null)
    raise program


def run(program: Copied) -> int:
    """Become the program that a copy was made for, and return its exit code.

    The caller has closed what the parent has open.
    """
    os.environ.clear()
    os.environ.update(program.env)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(write_through=True)  # as PYTHONUNBUFFERED does
    sys.argv[1:] = program.arguments
    del sys.modules[program.module]  # as `python -m` has it only as __main__
    runpy.run_module(program.module, run_name="__main__", alter_sys=True)
    return 0


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
