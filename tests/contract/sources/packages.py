"""PostgreSQL, MariaDB and Redis from Debian's packages, unpacked below the cache without root. No
script of a package runs.

    python -m tests.contract.sources.packages    writes the lock with the versions that Debian serves today

The programs of PostgreSQL find each other and their files by their own path, so they are started directly,
with the path of the unpacked libraries.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.contract.unpacked import LIBRARIES, unpacked, write_lock

NAME: Final = "databases"
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
    *("mariadb-server-core", "libaio1", "libcrypt1", "libnuma1", "libpcre2-8-0", "liburing2"),
    *("redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1"),
)
"""The servers, and the packages of the libraries that they load beside the C library."""


class Installed:
    """The unpacked packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.programs = root / "usr/lib/postgresql/15/bin"
        self.environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "TZ": "UTC",
            "LD_LIBRARY_PATH": ":".join(str(root / each) for each in LIBRARIES),
        }


def installed() -> Installed:
    """The servers. Raises PackagingError, as `unpacked`."""
    return Installed(unpacked(NAME))


if __name__ == "__main__":
    write_lock(NAME, WANTED, "databases", "tests.contract.sources.packages")
