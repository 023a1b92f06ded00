"""BIND, Knot DNS and PowerDNS as processes of this user on loopback, with new zones for each start. Each is
stopped by its own process id."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dns.exception
import dns.message
import dns.query

from provider.dns.rfc2136 import Key, Server
from tests.contract.dns.packages import Installed

ZONE: Final = "example.test"
SMALL: Final = "small.example.test"
"""A zone of its own below the other."""
HOST: Final = "127.0.0.1"
API_KEY: Final = "an-api-key-of-a-test"
KEY: Final = Key("provider", b"0123456789abcdef0123456789abcdef")
WEAK: Final = Key("reader", b"fedcba9876543210fedcba9876543210")
"""It may read, and update nothing."""
RECORDS: Final = """\
@ 300 SOA ns.example.test. admin.example.test. 1 3600 600 86400 60
@ 300 NS ns.example.test.
ns 300 A 127.0.0.1
*.wild 300 CNAME elsewhere.example.net.
mail.many 300 MX 10 mail.example.net.
mail.many 300 A 192.0.2.7
key.many 300 SSHFP 4 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789
away 300 NS ns.example.net.
small 300 NS ns.example.test.
renamed 300 DNAME other.example.net.
"""
_SMALL_RECORDS: Final = (
    "@ 300 SOA ns.example.test. a.example.test. 1 3600 600 86400 60\n@ 300 NS ns.example.test.\n"
)
ELSEWHERE: Final = "cloudfront.test"
"""A zone that the resolver has, and no name server of the other zones."""
_ELSEWHERE_RECORDS: Final = """\
@ 300 SOA ns.example.test. a.example.test. 1 3600 600 86400 60
@ 300 NS ns.example.test.
* 300 A 192.0.2.1
"""
_SECONDS: Final = 10.0


@dataclass
class Running:
    """A server that answers."""

    port: int
    api_port: int = 0
    process: subprocess.Popen[bytes] = field(repr=False, default=None)  # type: ignore[assignment]

    @property
    def server(self) -> Server:
        return Server(HOST, self.port)


@contextmanager
def bind(packages: Installed, home: Path) -> Iterator[Running]:
    running = Running(_free_port())
    for name, records in ((ZONE, RECORDS), (SMALL, _SMALL_RECORDS)):
        (home / f"{name}.zone").write_text(f"$ORIGIN {name}.\n{records}")
    keys = "".join(
        f'key "{one.name}" {{ algorithm {one.algorithm}; secret "{b64encode(one.secret).decode()}"; }};\n'
        for one in (KEY, WEAK)
    )
    zones = "".join(
        f'zone "{name}" {{ type primary; file "{home}/{name}.zone"; '
        f"update-policy {{ grant provider subdomain {name}; }}; }};\n"
        for name in (ZONE, SMALL)
    )
    (home / "named.conf").write_text(
        f"""{keys}
controls {{}};
options {{
  directory "{home}"; managed-keys-directory "{home}";
  pid-file "{home}/pid"; session-keyfile "{home}/session";
  listen-on port {running.port} {{ {HOST}; }}; listen-on-v6 {{ none; }};
  recursion no; notify no; dnssec-validation no; allow-transfer {{ key "provider"; }}; minimal-any yes;
}};
{zones}"""
    )
    command = [*packages.command("usr/sbin/named"), "-g", "-n", "1", "-c", str(home / "named.conf")]
    with _process(command, home, running):
        yield running


@contextmanager
def resolver(packages: Installed, home: Path, authority: Running) -> Iterator[Running]:
    """BIND as a resolver of the test zones. It trusts another key of SMALL, which is not signed at all."""
    running = Running(_free_port())
    (home / "elsewhere.zone").write_text(f"$ORIGIN {ELSEWHERE}.\n{_ELSEWHERE_RECORDS}")
    (home / "named.conf").write_text(
        f"""controls {{}};
trust-anchors {{ {SMALL}. static-ds 12345 13 2 "{"0" * 64}"; }};
options {{
  directory "{home}"; managed-keys-directory "{home}";
  pid-file "{home}/pid"; session-keyfile "{home}/session";
  listen-on port {running.port} {{ {HOST}; }}; listen-on-v6 {{ none; }};
  recursion yes; dnssec-validation yes; empty-zones-enable no;
  forward only; forwarders {{ {HOST} port {authority.port}; }};
}};
zone "{ELSEWHERE}" {{ type primary; file "{home}/elsewhere.zone"; }};
"""
    )
    command = [*packages.command("usr/sbin/named"), "-g", "-n", "1", "-c", str(home / "named.conf")]
    with _process(command, home, running):
        yield running


@contextmanager
def knot(packages: Installed, home: Path) -> Iterator[Running]:
    running = Running(_free_port())
    for name, records in ((ZONE, RECORDS), (SMALL, _SMALL_RECORDS)):
        (home / f"{name}.zone").write_text(f"$ORIGIN {name}.\n{records}")
    keys = "".join(
        f"  - id: {one.name}\n    algorithm: {one.algorithm}\n    secret: {b64encode(one.secret).decode()}\n"
        for one in (KEY, WEAK)
    )
    (home / "knot.conf").write_text(
        f"""
server:
    rundir: {home}
    listen: {HOST}@{running.port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stdout
    any: info
database:
    storage: {home}
    journal-db-mode: asynchronous
key:
{keys}
acl:
  - id: updates
    key: provider
    action: [update, transfer]
template:
  - id: default
    storage: {home}
    acl: updates
    zonefile-sync: -1
    journal-content: all
    zonefile-load: difference-no-serial
zone:
  - domain: {ZONE}
    file: {ZONE}.zone
  - domain: {SMALL}
    file: {SMALL}.zone
"""
    )
    command = [*packages.command("usr/sbin/knotd"), "-c", str(home / "knot.conf")]
    with _process(command, home, running):
        yield running


@contextmanager
def powerdns(packages: Installed, home: Path) -> Iterator[Running]:
    running = Running(_free_port(), _free_port())
    schema = packages.root / "usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
    database = sqlite3.connect(home / "pdns.sqlite3")
    database.executescript(schema.read_text())
    database.close()
    settings = {
        "config-dir": home,
        "socket-dir": home,
        "module-dir": packages.root / "usr/lib/x86_64-linux-gnu/pdns",
        "launch": "gsqlite3",
        "gsqlite3-database": home / "pdns.sqlite3",
        "gsqlite3-pragma-synchronous": 0,
        "local-address": HOST,
        "local-port": running.port,
        "webserver": "yes",
        "webserver-address": HOST,
        "webserver-port": running.api_port,
        "api": "yes",
        "api-key": API_KEY,
        "receiver-threads": 1,
        "distributor-threads": 1,
    }
    options = [f"--{name}={value}" for name, value in settings.items()]
    with _process([*packages.command("usr/sbin/pdns_server"), *options], home, running, answers=_api_answers):
        _fill(running)
        yield running


def api(running: Running, method: str, path: str, body: object = None, key: str = API_KEY) -> object:
    """The answer of PowerDNS's API, as JSON."""
    request = urllib.request.Request(
        f"http://{HOST}:{running.api_port}/api/v1/servers/localhost{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": key, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        data = answer.read()
        return json.loads(data) if data else None


def _fill(running: Running) -> None:
    for name, kind in ((ZONE, "Native"), (SMALL, "Native"), (f"copied.{ZONE}", "Slave")):
        nameservers = [] if kind == "Slave" else ["ns.example.test."]
        masters = ["192.0.2.1"] if kind == "Slave" else []
        zone = {"name": f"{name}.", "kind": kind, "nameservers": nameservers, "masters": masters}
        api(running, "POST", "/zones", zone)
    changes = {}
    for line in RECORDS.splitlines():
        label, _, kind, content = line.split(" ", 3)
        if kind in ("SOA", "NS"):
            continue
        name = f"{label}.{ZONE}."
        changes.setdefault((name, kind), []).append({"content": content, "disabled": False})
    rrsets = [
        {"name": name, "type": kind, "ttl": 300, "changetype": "REPLACE", "records": records}
        for (name, kind), records in changes.items()
    ]
    api(running, "PATCH", f"/zones/{ZONE}.", {"rrsets": rrsets})


def _free_port() -> int:
    """A port that is free for UDP and TCP."""
    while True:
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind((HOST, 0))
            port = int(tcp.getsockname()[1])
            try:
                udp.bind((HOST, port))
            except OSError:
                continue
            return port


def _answers(running: Running) -> bool:
    try:
        answer = dns.query.udp(
            dns.message.make_query(f"{ZONE}.", "SOA"), HOST, timeout=0.2, port=running.port
        )
    except (OSError, dns.exception.DNSException):
        return False
    return bool(answer.answer)


def _api_answers(running: Running) -> bool:
    try:
        api(running, "GET", "/zones")
    except (OSError, urllib.error.URLError):
        return False
    return True


@contextmanager
def _process(command: Sequence[str], home: Path, running: Running, answers=_answers) -> Iterator[None]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TZ": "UTC"}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
        running.process = process
        try:
            _wait(process, running, home, answers)
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=_SECONDS)


def _wait(process: subprocess.Popen[bytes], running: Running, home: Path, answers) -> None:
    end = time.monotonic() + _SECONDS
    while not answers(running):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server does not answer: {(home / 'log').read_text()[-2000:]}")
        time.sleep(0.05)
