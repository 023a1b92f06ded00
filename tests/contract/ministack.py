"""ministack, an emulator of AWS written by strangers, as a process of its own on loopback.

It is installed once from its hashed lock into an environment of its own: it pins another botocore.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.servers import free_port, wait_listening

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "ministack.lock"


def installed() -> Path:
    """Its python; the environment is built again when the lock has moved. One process builds, others wait."""
    home = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache")).resolve() / "ministack"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "building").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        environment, stamp = home / "environment", home / "built-from"
        if not stamp.exists() or stamp.read_bytes() != LOCK.read_bytes():
            shutil.rmtree(environment, ignore_errors=True)
            venv.create(environment, with_pip=True)
            install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r"]
            subprocess.run([environment / "bin" / "python", *install, LOCK], check=True)
            stamp.write_bytes(LOCK.read_bytes())
        return environment / "bin" / "python"


@contextmanager
def running(home: Path) -> Iterator[str]:
    """Its URL, until the block ends; what it writes goes to `home`."""
    python, port = installed(), free_port()
    own = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "cloudfront,acm",
        "HOME": str(home),
        "PATH": os.environ["PATH"],
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-P", "-m", "ministack"], env=own, cwd=home, stdout=log, stderr=log
        )
        try:
            wait_listening(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=10)
