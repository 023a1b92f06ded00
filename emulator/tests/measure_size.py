"""Start-up, memory with 10,000 tenants, and gets in a second, of the emulator as a process of its own.

    python emulator/tests/measure_size.py [TENANTS]

It measures and asserts nothing: what a machine gives is not a property of the code. Linux only (/proc). The
targets: up in under 2 s, under 200 MB, 500 gets in a second on 2 cores.
"""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMESPACE = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
SCOPE = "any/20260101/us-east-1/cloudfront/aws4_request"
SIGNED = {"Authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=0"}
PARENT = {"id": "E1SIZE", "certificateDomains": ["*.example.com"], "parameters": [{"name": "tenantName"}]}
GETS = 3000


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: str | None = None) -> bytes:
    """One request over the kept-alive connection; RuntimeError unless it was done."""
    connection.request(method, path, body, SIGNED)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path} answered {answer.status}: {text.decode()[:300]}")
    return text


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


@contextmanager
def emulator() -> Iterator[tuple[int, http.client.HTTPConnection, float]]:
    """Pid, a connection, and the seconds that it took to answer; ended with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "edgetenants_emulator.main", "--port", str(port)]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        connection = answering(process, port)
        yield process.pid, connection, time.monotonic() - began
        connection.close()
    finally:
        process.terminate()
        process.wait(timeout=10)


def answering(process: "subprocess.Popen[bytes]", port: int) -> http.client.HTTPConnection:
    while process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            ask(connection, "GET", "/_edgetenants/health")
        except OSError:
            time.sleep(0.02)
        else:
            return connection
    raise RuntimeError(f"the emulator ended with exit code {process.returncode}")


def create(number: int) -> str:
    """The body of a create, as SDKs write it, with a domain, a parameter and a customization."""
    name = f"tenant-{number}"
    return (
        f'<CreateDistributionTenantRequest xmlns="{NAMESPACE}">'
        f"<DistributionId>{PARENT['id']}</DistributionId>"
        f"<Name>{name}</Name><Domains><member><Domain>{name}.example.com</Domain></member></Domains>"
        "<Customizations><GeoRestrictions><RestrictionType>whitelist</RestrictionType>"
        "<Locations><Location>DE</Location></Locations></GeoRestrictions></Customizations>"
        f"<Parameters><member><Name>tenantName</Name><Value>{name}</Value></member></Parameters>"
        "</CreateDistributionTenantRequest>"
    )


def main() -> None:
    tenants = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with emulator() as (pid, connection, seconds):
        print(f"up after {seconds:.2f} s")
        ask(connection, "POST", "/_edgetenants/seed", json.dumps({"distributions": [PARENT]}))
        print(f"empty: {megabytes(pid):.0f} MB")
        began = time.monotonic()
        for number in range(tenants):
            ask(connection, "POST", "/2020-05-31/distribution-tenant", create(number))
        pace = tenants / (time.monotonic() - began)
        print(f"{tenants} tenants: {megabytes(pid):.0f} MB, {pace:.0f} creates/s")
        ask(connection, "DELETE", "/_edgetenants/calls")
        print(f"without the log of calls: {megabytes(pid):.0f} MB")
        began = time.monotonic()
        for number in range(GETS):
            ask(connection, "GET", f"/2020-05-31/distribution-tenant/tenant-{number % tenants}")
        print(f"gets by name over one connection: {GETS / (time.monotonic() - began):.0f}/s")


if __name__ == "__main__":
    main()
