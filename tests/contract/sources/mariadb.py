"""MariaDB as processes of this user on loopback, each with a copy of one new database, and stopped by its own
process id."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pymysql

from sources.stores.mysql import Address
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

OWNER: Final = "owner"
_SECONDS: Final = 60.0
_SCRIPTS: Final = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")
_BEGIN: Final = (
    "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\nset @skip_auth_anonymous=1;\n"
    "set @current_hostname='localhost';\n"
)
_USERS: Final = (
    "flush privileges;\n"
    f"create user '{OWNER}'@'127.0.0.1';\n"
    f"grant all on *.* to '{OWNER}'@'127.0.0.1' with grant option;\n"
    f"create user 'reader'@'127.0.0.1' identified by '{PASSWORD}';\n"
    "create database shop;\n"
)


@dataclass
class Server:
    """A running server."""

    home: Path
    packages: Installed
    ca: str
    port: int
    number: int = 1
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        return Address(HOST, "shop", "reader", PASSWORD, self.port, ca=self.ca)

    def connection(self) -> Any:
        return pymysql.connect(
            host="127.0.0.1", port=self.port, database="shop", user=OWNER, ssl_disabled=True, autocommit=True
        )

    def run(self, *statements: str) -> Any:
        with closing(self.connection()) as connection, connection.cursor() as cursor:
            for each in statements:
                cursor.execute(each)
            return cursor.fetchall()

    def start(self) -> None:
        log = (self.home / "log").open("ab")
        self.process = subprocess.Popen(
            [*_program(self.packages, self.home / "data"), f"--port={self.port}",
             "--bind-address=127.0.0.1", f"--socket={self.home / 's'}", f"--pid-file={self.home / 'pid'}",
             f"--ssl-ca={self.home / 'ca.pem'}", f"--ssl-cert={self.home / 'server.pem'}",
             f"--ssl-key={self.home / 'server.key'}", "--skip-name-resolve",
             "--default-time-zone=+05:00", f"--server-id={self.number}",
             "--log-bin=log", "--binlog-format=ROW", "--max-allowed-packet=64M"],
            stdout=log, stderr=log, env=self.packages.environment, **user(),
        )  # fmt: skip
        until_it_answers(self.process, partial(self.run, "select 1"), pymysql.Error)

    def kill(self) -> None:
        """At once."""
        assert self.process
        self.process.kill()
        self.process.wait(_SECONDS)


def prepared(packages: Installed, home: Path) -> Path:
    """A new database, to copy."""
    data = home / "database"
    data.mkdir(parents=True, exist_ok=True)
    give(home)
    scripts = "".join((packages.root / "usr/share/mysql" / each).read_text() for each in _SCRIPTS)
    subprocess.run(
        [*_program(packages, data), "--bootstrap"], input=f"{_BEGIN}{scripts}{_USERS}".encode(),
        check=True, capture_output=True, env=packages.environment, **user(),
    )  # fmt: skip
    return data


@contextmanager
def mariadb(packages: Installed, new: Path, home: Path) -> Iterator[Server]:
    home.mkdir(exist_ok=True)
    shutil.copytree(new, home / "data")
    running = Server(home, packages, certified(home), free_port())
    give(home)
    running.start()
    try:
        yield running
    finally:
        running.kill()


@contextmanager
def replica(primary: Server, new: Path, home: Path) -> Iterator[Server]:
    """A server that follows the primary, and had all that the primary has."""
    running = replace(primary, home=home, port=free_port(), number=2, process=None)
    shutil.copytree(primary.home, home, ignore=lambda _, names: {"data", "s", "pid"} & set(names))
    shutil.copytree(new, home / "data")
    give(home)
    running.start()
    try:
        running.run(
            f"change master to master_host='127.0.0.1', master_port={primary.port}, master_user='{OWNER}',"
            " master_ssl=0, master_use_gtid=slave_pos",
            "start slave",
        )
        yield running
    finally:
        running.kill()


def _program(packages: Installed, data: Path) -> list[str]:
    return [
        str(packages.root / "usr/sbin/mariadbd"), "--no-defaults", f"--basedir={packages.root / 'usr'}",
        f"--datadir={data}", f"--lc-messages-dir={packages.root / 'usr/share/mysql'}",
        "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=32M",
        "--innodb-flush-log-at-trx-commit=2", "--innodb-use-native-aio=0", "--sync-binlog=0",
    ]  # fmt: skip
