"""BIND, Knot DNS and PowerDNS from Debian's packages, unpacked below the cache without root. No script of a
package runs.

    python -m tests.contract.dns.packages    writes the lock with the versions that Debian serves today

They run with the C library that is unpacked beside them, so the machine needs no library of theirs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from xpkg import debian

ROOT: Final = Path(__file__).resolve().parents[3]
LOCK: Final = ROOT / "requirements" / "dns-servers-debian.lock"
_HEADER: Final = (
    "# Debian packages of the DNS servers that tests start, for amd64; written by\n"
    "# `python -m tests.contract.dns.packages`. Debian serves only the newest version of a package.\n"
    "# If one is gone, run that command again.\n"
)
WANTED: Final = (
    *("bind9", "bind9-libs", "knot", "pdns-backend-sqlite3", "pdns-server"),
    *("libbpf1", "libbrotli1", "libc6", "libcap-ng0", "libcap2", "libcom-err2", "libcurl4", "libdnssec9"),
    *("libelf1", "libffi8", "libfstrm0", "libgcc-s1", "libgcrypt20", "libgmp10", "libgnutls30"),
    *("libgpg-error0", "libgssapi-krb5-2", "libhogweed6", "libicu72", "libidn2-0", "libjemalloc2"),
    *("libjson-c5", "libk5crypto3", "libkeyutils1", "libknot13", "libkrb5-3", "libkrb5support0"),
    *("libldap-2.5-0", "liblmdb0", "libluajit-5.1-2", "liblz4-1", "liblzma5", "libmaxminddb0", "libnettle8"),
    *("libnghttp2-14", "libp11-kit0", "libprotobuf-c1", "libpsl5", "librtmp1", "libsasl2-2", "libsodium23"),
    *("libsqlite3-0", "libssh2-1", "libssl3", "libstdc++6", "libsystemd0", "libtasn1-6", "libunistring2"),
    *("liburcu8", "libuv1", "libxdp1", "libxml2", "libzscanner4", "libzstd1", "zlib1g"),
)
"""The servers, and the packages of the libraries that ld.so loads for them."""
_LIBRARIES: Final = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
_LOADER: Final = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


class Installed:
    """The unpacked packages."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def command(self, program: str) -> list[str]:
        """The beginning of a command that runs one of their programs, named by its path."""
        libraries = ":".join(str(self.root / each) for each in _LIBRARIES)
        return [str(self.root / _LOADER), "--library-path", libraries, str(self.root / program)]


def installed() -> Installed:
    """The servers, unpacked once from the lock; one process unpacks, others wait.

    Raises:
        PackagingError: apt-get or dpkg-deb is missing, or a version is no longer served.
    """
    cache = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache")).resolve()
    home = cache / "dns-servers"
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
