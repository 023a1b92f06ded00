"""Servers that tests start, from Debian's packages: locked, and unpacked below the cache without root. No
script of a package runs."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from xpkg import debian

__all__ = ["LIBRARIES", "lock_of", "unpacked", "write_lock"]

_ROOT: Final = Path(__file__).resolve().parents[2]
LIBRARIES: Final = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
"""Where the packages have their libraries."""
_HEADER: Final = (
    "# Debian packages of the {what} that tests start, for amd64; written by\n"
    "# `python -m {module}`. Debian serves only the newest version of a package.\n"
    "# If one is gone, run that command again.\n"
)


def lock_of(name: str) -> Path:
    """The file that has the versions and hashes of these packages."""
    return _ROOT / "requirements" / f"{name}-debian.lock"


def unpacked(name: str) -> Path:
    """The root of the packages, unpacked once from their lock; one process unpacks, others wait.

    Raises:
        PackagingError: apt-get or dpkg-deb is missing, or a version is no longer served.
    """
    cache = Path(os.environ.get("EDGETENANTS_CACHE", _ROOT / ".cache")).resolve()
    lock, home = lock_of(name), cache / name
    home.mkdir(parents=True, exist_ok=True)
    root, stamp = home / "root", home / "built-from"
    with (home / "building").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
            stamp.unlink(missing_ok=True)
            shutil.rmtree(root, ignore_errors=True)
            for package in debian.Repository(cache / "debian").fetch(debian.locked(lock)):
                debian.run(["dpkg-deb", "-x", str(package), str(root)])
            shutil.rmtree(root / "usr/share/doc")
            stamp.write_bytes(lock.read_bytes())
    return root


def write_lock(name: str, wanted: Iterable[str], what: str, module: str) -> None:
    """Write the lock with the versions that Debian serves today."""
    repository = debian.Repository(_ROOT / ".cache" / "debian")
    header = _HEADER.format(what=what, module=module)
    lock_of(name).write_text(debian.written(repository.newest(tuple(wanted)), header))
