"""PostgreSQL as processes of this user on loopback, each with a copy of one new cluster, and stopped by its
own process id."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import psycopg
import trustme

from sources.stores.postgresql import Address
from tests.contract.sources.packages import Installed

HOST: Final = "localhost"
PASSWORD: Final = "canary-of-the-password"
OWNER: Final = "owner"
NOBODY: Final = 65534
_SECONDS: Final = 60.0
_RULES: Final = (
    "local all all trust\nhost all owner 127.0.0.1/32 trust\nhost replication owner 127.0.0.1/32 trust\n"
    "host all all 127.0.0.1/32 scram-sha-256\n"
)


@dataclass
class Cluster:
    """A running server."""

    home: Path
    packages: Installed
    ca: str
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        return Address(HOST, "shop", "reader", PASSWORD, self.port, ca=self.ca)

    def run(self, *statements: str, database: str = "shop") -> list:
        with psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=database, user=OWNER, sslmode="disable", autocommit=True
        ) as connection:
            found = [connection.execute(each) for each in statements]
            return found[-1].fetchall() if found[-1].description else []

    def start(self) -> None:
        program = self.packages.programs / "postgres"
        log = (self.home / "log").open("ab")
        self.process = subprocess.Popen(
            [program, "-D", str(self.home / "data")],
            stdout=log,
            stderr=log,
            env=self.packages.environment,
            **user(),
        )
        ask = partial(self.run, "select 1", database="postgres")
        until_it_answers(self.process, ask, psycopg.OperationalError)

    def kill(self) -> None:
        """At once: each process of the server sees that its parent is gone, or is asked to end here."""
        assert self.process
        # SIGQUIT is the immediate shutdown: the postmaster ends its children.
        self.process.send_signal(3)
        self.process.wait(_SECONDS)


def prepared(packages: Installed, home: Path) -> Path:
    """A new cluster, to copy."""
    data = home / "cluster"
    home.mkdir(exist_ok=True)
    give(home)
    subprocess.run(
        [packages.programs / "initdb", "-D", data, "-A", "trust", "-U", OWNER, "--no-sync",
         "--locale=C", "-E", "UTF8"],
        check=True, capture_output=True, env=packages.environment, **user(),
    )  # fmt: skip
    return data


@contextmanager
def postgresql(packages: Installed, cluster: Path, home: Path) -> Iterator[Cluster]:
    data = home / "data"
    shutil.copytree(cluster, data)
    running = Cluster(home, packages, certified(data), free_port())
    (data / "pg_hba.conf").write_text(_RULES)
    _configure(running)
    (data / "server.key").chmod(0o600)
    data.chmod(0o700)
    give(home)
    running.start()
    try:
        running.run("create database shop", database="postgres")
        running.run(f"create role reader login password '{PASSWORD}'")
        yield running
    finally:
        running.kill()


@contextmanager
def replica(primary: Cluster, home: Path) -> Iterator[Cluster]:
    """A server that follows the primary."""
    running = replace(primary, home=home, port=free_port(), process=None)
    home.mkdir(exist_ok=True)
    give(home)
    subprocess.run(
        [primary.packages.programs / "pg_basebackup", "-D", home / "data", "-R", "-c", "fast", "--no-sync",
         "-h", "127.0.0.1", "-p", str(primary.port), "-U", OWNER],
        check=True, capture_output=True, env=primary.packages.environment, **user(),
    )  # fmt: skip
    _configure(running)
    running.start()
    try:
        yield running
    finally:
        running.kill()


def _configure(running: Cluster) -> None:
    (running.home / "data" / "postgresql.conf").write_text(
        f"port = {running.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\n"
        "ssl = on\nssl_cert_file = 'server.pem'\n"
        "shared_buffers = 16MB\nmax_connections = 20\nautovacuum = off\nlc_messages = 'C'\n"
    )


def until_it_answers(
    process: subprocess.Popen[bytes], ask: Callable[[], object], refused: type[Exception]
) -> None:
    """Ask a server that starts until it answers. Raises what it raised last if it ends, or after a while."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            ask()
        except refused:
            if time.monotonic() > end or process.poll() is not None:
                raise
            time.sleep(0.05)
        else:
            return


def certified(folder: Path) -> str:
    """Write ca.pem, and server.pem and server.key for HOST. Returns the authority's certificate in PEM."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate = authority.issue_cert(HOST)
    certificate.private_key_pem.write_to_path(folder / "server.key")
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(folder / "server.pem", append=True)
    return authority.cert_pem.bytes().decode()


def user() -> dict:
    """PostgreSQL refuses to run as root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}


def give(home: Path) -> None:
    if os.geteuid() == 0:
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
