"""PostgreSQL from Debian's packages, unpacked below the cache without root. No script of a package runs.

    python -m tests.contract.sources.packages    writes the lock with the versions that Debian serves today

The programs of PostgreSQL find each other and their files by their own path, so they are started directly,
with the path of the unpacked libraries.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from xpkg import debian

ROOT: Final = Path(__file__).resolve().parents[3]
LOCK: Final = ROOT / "requirements" / "databases-debian.lock"
_HEADER: Final = (
    "# Debian packages of the databases that tests start, for amd64; written by\n"
    "# `python -m tests.contract.sources.packages`. Debian serves only the newest version of a package.\n"
    "# If one is gone, run that command again.\n"
)
WANTED: Final = (
    *(
        "postgresql-15",
        "postgresql-client-15",
        "libpq5",
        "libicu72",
        "libldap-2.5-0",
        "libsasl2-2",
        "libxml2",
        "liblz4-1",
        "libzstd1",
    ),
    *("libgssapi-krb5-2", "libk5crypto3", "libkrb5-3", "libkrb5support0", "libcom-err2", "libkeyutils1"),
    *("libssl3", "libstdc++6", "libgcc-s1", "libsystemd0", "libcap2", "libgcrypt20", "libgpg-error0"),
    *("libgnutls30", "libhogweed6", "libnettle8", "libgmp10", "libp11-kit0", "libffi8", "libidn2-0"),
    *("libtasn1-6", "libunistring2", "liblzma5", "zlib1g"),
)
"""The server, and the packages of the libraries that it loads beside the C library."""
_LIBRARIES: Final = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")


class Installed:
    """The unpacked packages."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "usr/lib/postgresql/15/bin"
        self.environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "TZ": "UTC",
            "LD_LIBRARY_PATH": ":".join(str(root / each) for each in _LIBRARIES),
        }


def installed() -> Installed:
    """The servers, unpacked once from the lock; one process unpacks, others wait.

    Raises:
        PackagingError: apt-get or dpkg-deb is missing, or a version is no longer served.
    """
    cache = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache")).resolve()
    home = cache / "databases"
    home.mkdir(parents=True, exist_ok=True)
    root, stamp = home / "root", home / "built-from"
    with (home / "building").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != LOCK.read_bytes():
            stamp.unlink(missing_ok=True)
            shutil.rmtree(root, ignore_errors=True)
            for package in debian.Repository(cache / "debian").fetch(debian.locked(LOCK)):
                debian.run(["dpkg-deb", "-x", str(package), str(root)])
            shutil.rmtree(root / "usr/share/doc")
            stamp.write_bytes(LOCK.read_bytes())
    return Installed(root)


def main() -> None:
    repository = debian.Repository(ROOT / ".cache" / "debian")
    LOCK.write_text(debian.written(repository.newest(WANTED), _HEADER))


if __name__ == "__main__":
    main()
