"""Redis as processes of this user on loopback, stopped by their own process id."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from sources.stores.redis import Address
from sources.stores.resp import Refusal, Wire
from tests.contract.sources.packages import Installed
from tests.contract.sources.servers import (
    HOST,
    PASSWORD,
    certified,
    free_port,
    give,
    until_it_answers,
    user,
)

_SECONDS: Final = 30.0


@dataclass
class Server:
    """A running server: TLS for its readers, and another port without for the tests."""

    home: Path
    packages: Installed
    ca: str
    port: int
    plain: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        return Address(HOST, "reader", PASSWORD, self.port, ca=self.ca)

    def run(self, *command: Any) -> Any:
        """One command of the owner."""
        words = [each if isinstance(each, bytes) else str(each).encode() for each in command]
        connection = socket.create_connection(("127.0.0.1", self.plain), _SECONDS)
        with closing(Wire(connection, size=2**26)) as wire:
            wire.ask(b"AUTH", b"owner", b"any")
            found = wire.ask(*words)
        if isinstance(found, Refusal):
            raise OSError(found.code)
        return found

    def start(self, *more: str) -> None:
        log = (self.home / "log").open("ab")
        self.process = subprocess.Popen(
            [self.packages.root / "usr/bin/redis-server", "--bind", "127.0.0.1", "--port", str(self.plain),
             "--tls-port", str(self.port), "--tls-cert-file", "server.pem", "--tls-key-file", "server.key",
             "--tls-ca-cert-file", "ca.pem", "--tls-auth-clients", "no", "--save", "", "--appendonly", "no",
             "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0", "--aclfile", "acl", *more],
            stdout=log, stderr=log, cwd=self.home, env=self.packages.environment, **user(),
        )  # fmt: skip
        until_it_answers(self.process, partial(self.run, "PING"), OSError)

    def kill(self) -> None:
        """At once."""
        assert self.process
        self.process.kill()
        self.process.wait(_SECONDS)


@contextmanager
def redis(packages: Installed, home: Path, *more: str) -> Iterator[Server]:
    home.mkdir()
    running = Server(home, packages, certified(home), free_port(), free_port())
    (home / "acl").write_text(
        "user default off\nuser owner on nopass ~* &* +@all\n"
        f"user reader on >{PASSWORD} ~customer:* ~other:* +info +scan +hgetall +select\n"
    )
    give(home)
    running.start(*more)
    try:
        yield running
    finally:
        running.kill()
