"""BIND, Knot DNS and PowerDNS from Debian's packages, unpacked below the cache without root. No script of a
package runs.

    python -m tests.contract.dns.packages    writes the lock with the versions that Debian serves today

They run with the C library that is unpacked beside them, so the machine needs no library of theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.contract.unpacked import LIBRARIES, unpacked, write_lock

NAME: Final = "dns-servers"
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
_LOADER: Final = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


class Installed:
    """The unpacked packages."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def command(self, program: str) -> list[str]:
        """The beginning of a command that runs one of their programs, named by its path."""
        libraries = ":".join(str(self.root / each) for each in LIBRARIES)
        return [str(self.root / _LOADER), "--library-path", libraries, str(self.root / program)]


def installed() -> Installed:
    """The servers. Raises PackagingError, as `unpacked`."""
    return Installed(unpacked(NAME))


if __name__ == "__main__":
    write_lock(NAME, WANTED, "DNS servers", "tests.contract.dns.packages")
