"""Rivals in Python, each in an environment of its own, installed once from its hashed lock."""

import os
import subprocess
import venv
from pathlib import Path

LOCKS = Path(__file__).resolve().parents[2] / "requirements"


def cache() -> Path:
    """Where things are kept between two runs."""
    return Path(os.environ.get("EDGETENANTS_CACHE", ".cache")).resolve()


def python_of(rival: str) -> Path:
    """The interpreter that has the rival, from `requirements/bench-<rival>.lock`."""
    home = cache() / "bench" / rival
    lock = LOCKS / f"bench-{rival}.lock"
    python, stamp = home / "bin" / "python", home / "installed.lock"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        print(f"setting up: {rival}, in an environment of its own", flush=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
        stamp.write_bytes(lock.read_bytes())
    return python
