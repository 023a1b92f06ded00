"""Debian packages by version and hash, for a root file system without a container engine.

apt-get downloads them with the sources of this machine, but with lists and caches of its own, so that it
needs no root and changes nothing on the machine. No script of a package runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xpkg.errors import PackagingError
from xpkg.image import Entry

__all__ = ["Locked", "Repository", "entries", "locked", "written"]

_LINE: Final = re.compile(r"(?P<name>[a-z0-9.+-]+)=(?P<version>\S+) sha256:(?P<sha256>[0-9a-f]{64})")
_HEADER: Final = (
    "# Debian packages of the runtime images, for amd64; written by `python -m xpkg lock`.\n"
    "# Debian serves only the newest version of a package. If one is gone, run that command again.\n"
)
_MERGED: Final = ("bin", "lib", "lib64", "sbin")
"""Folders that are links into usr since Debian 12; its packages still name some files by the old path."""
_UNWANTED: Final = re.compile(
    r"usr/share/(doc(?!/[^/]+(/copyright)?$)|man|info|locale|lintian|bug|gdb|debianutils|binfmts|applications|pixmaps|menu)(/|$)"
    r"|etc/(cron|dpkg|init\.d|default|logrotate|update-motd\.d)|usr/share/python3?/|usr/sbin/|var/"
)


@dataclass(frozen=True)
class Locked:
    """One package of the lock."""

    name: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.name}={self.version} sha256:{self.sha256}"


def locked(lock: Path) -> tuple[Locked, ...]:
    """The packages of a lock file.

    Raises:
        PackagingError: a line is not `name=version sha256:…`.
    """
    lines = [line for line in lock.read_text().splitlines() if line.strip() and not line.startswith("#")]
    found = [(line, _LINE.fullmatch(line)) for line in lines]
    for line, match in found:
        if match is None:
            raise PackagingError(f"{lock}: expected `name=version sha256:…`, got {line!r}")
    return tuple(Locked(**match.groupdict()) for _, match in found if match)


def written(packages: Iterable[Locked], header: str = _HEADER) -> str:
    """The text of a lock file."""
    return header + "".join(f"{one}\n" for one in sorted(packages, key=lambda one: one.name))


class Repository:
    """Debian's packages, as apt-get on this machine finds them."""

    def __init__(self, cache: Path) -> None:
        """`cache`: a folder for apt's lists and for downloads, kept between runs."""
        self._cache = cache.resolve()
        self._apt = self._cache / "apt"

    def fetch(self, packages: Sequence[Locked]) -> list[Path]:
        """The files of these packages, downloaded where the cache lacks them.

        Raises:
            PackagingError: apt-get is missing, a version is no longer served, or a hash differs.
        """
        with self._locked():
            missing = [one for one in packages if not self._file(one).is_file()]
            if missing:
                self._download(missing)
        return [self._file(one) for one in packages]

    def newest(self, names: Iterable[str]) -> tuple[Locked, ...]:
        """The versions that are served today, with their hashes.

        Raises:
            PackagingError: apt-get is missing or fails, or a package does not exist.
        """
        with self._locked():
            self._update()
            return tuple(self._newest(name) for name in names)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for other processes with this cache: apt-get fails where another one has its lists."""
        self._cache.mkdir(parents=True, exist_ok=True)
        with (self._cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _newest(self, name: str) -> Locked:
        shown = self._run("apt-cache", "show", "--no-all-versions", f"{name}:amd64")
        fields = dict(line.split(": ", 1) for line in shown.splitlines() if re.match(r"\w+: ", line))
        try:
            return Locked(name, fields["Version"], fields["SHA256"])
        except KeyError as error:
            raise PackagingError(f"apt-cache does not tell {error} of {name}") from error

    def _download(self, missing: Sequence[Locked]) -> None:
        self._update()
        folder = self._cache / "new"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        wanted = [f"{one.name}:amd64={one.version}" for one in missing]
        try:
            self._run("apt-get", "download", *wanted, cwd=folder)
        except PackagingError as error:
            gone = "If Debian no longer serves one of these versions, run `python -m xpkg lock`"
            raise PackagingError(f"cannot download {', '.join(wanted)}: {error}. {gone}") from error
        by_hash = {_sha256(path): path for path in folder.iterdir()}
        for one in missing:
            if one.sha256 not in by_hash:
                raise PackagingError(f"{one.name} {one.version}: its hash differs from that of the lock")
            by_hash[one.sha256].rename(self._file(one))
        shutil.rmtree(folder)

    def _file(self, one: Locked) -> Path:
        return self._cache / f"{one.name}-{one.sha256[:16]}.deb"

    def _update(self) -> None:
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (self._apt / folder).mkdir(parents=True, exist_ok=True)
        (self._apt / "status").touch()
        self._run("apt-get", "-qq", "update")

    def _run(self, tool: str, *arguments: str, cwd: Path | None = None) -> str:
        settings = {
            "Dir::State": self._apt / "state",
            "Dir::State::status": self._apt / "status",
            "Dir::Cache": self._apt / "cache",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "",
        }
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        return run([tool, *options, *arguments], cwd=cwd).decode()


def run(command: Sequence[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> bytes:
    """Run a tool and return its output.

    Raises:
        PackagingError: it is missing or fails; the message has the end of what it printed.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the tools and arguments of this package
            command, cwd=cwd, env=env, capture_output=True, check=True
        )
    except FileNotFoundError as error:
        needs = "runtime images are assembled from Debian packages; or give --runtime-image (see --help)"
        raise PackagingError(f"{command[0]} not found: {needs}") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip()[-2000:]
        raise PackagingError(f"{command[0]} failed (exit code {error.returncode}): {last}") from error
    return done.stdout


def entries(package: Path) -> Iterator[Entry]:
    """The files and links that a package installs, without documentation and services.

    Raises:
        PackagingError: dpkg-deb is missing or fails, or the package has a file of another type.
    """
    content = run(["dpkg-deb", "--fsys-tarfile", str(package)])
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            path = _merged(member.name.removeprefix("./").rstrip("/"))
            if member.isdir() or _UNWANTED.match(path):
                continue
            if member.issym():
                yield Entry(path, link=member.linkname)
                continue
            found = tar.extractfile(member)
            if found is None:
                raise PackagingError(f"{package.name}: {member.name} is no file, folder or link")
            yield Entry(path, found.read(), member.mode & 0o755)


def merged_links() -> Iterator[Entry]:
    """The links from the old folders into usr."""
    return (Entry(name, link=f"usr/{name}") for name in _MERGED)


def _merged(path: str) -> str:
    return f"usr/{path}" if path.partition("/")[0] in _MERGED else path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
