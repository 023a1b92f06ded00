"""The runtime of a package: the root file system and the settings of its image.

Four layers, so that a new version of our code replaces the smallest: Debian's Python, the locked wheels, our
code, the SBOM. There is no shell, no package manager and no pip in it, and nothing that its user may write.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from xpkg import debian, sbom, wheels
from xpkg.errors import PackagingError
from xpkg.image import Entry, Image, Layer, file, layer

__all__ = ["LOCK", "WANTED", "Runtimes", "lock", "locks", "unpack", "without"]

LOCK: Final = Path("requirements/runtime-debian.lock")
WANTED: Final = (
    "base-files",
    "ca-certificates",
    "gcc-12-base",
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
)
"""Debian packages of the image. What only sqlite3, readline, curses, dbm and nis need is left out.
gcc-12-base has the copyright file of libgcc-s1 and libstdc++6."""

_PYTHON: Final = "usr/bin/python3.11"
_PACKAGES: Final = "usr/lib/python3/dist-packages"
"""Where Debian's Python looks for packages."""
_STANDARD: Final = "usr/lib/python3.11"
_ROOT: Final = "root"
_REPORT: Final = "pip-report.json"
_VERSION, _ABI = "3.11", "cp311"
_PLATFORMS: Final = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)),
    *("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"),
)
"""Wheels for this C library and older ones."""
_ONLY_BUILDS: Final = ("editables", "hatchling", "pathspec", "pluggy", "trove-classifiers")
"""Locked for the Dockerfile, which builds our wheels in the image; no process needs them."""
_BUNDLE: Final = "etc/ssl/certs/ca-certificates.crt"
_USER: Final = "2000:2000"
"""Crossplane runs packages as this user and group (internal/controller/pkg/runtime/runtime.go)."""
_OURS: Final = ("apis", "function", "provider", "runtime/edgetenants_runtime")
_DISTRIBUTIONS: Final = ("edgetenants", "edgetenants-runtime")
"""Their versions are in the user agent of requests to AWS."""
_METADATA: Final = (
    "Metadata-Version: 2.4\nName: {}\nVersion: {}\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\n"
)
_LEFT_OUT: Final = ("__pycache__", "tests", "histories", "testing")
"""Folders of our code that no process needs."""


@dataclass(frozen=True)
class Runtimes:
    """Makes the runtime images, and keeps what several of them share."""

    root: Path
    """The repository."""
    cache: Path
    version: str
    """Of our distributions, without a leading v."""

    def image(self, name: str, module: str) -> Image:
        """The runtime image of a package: `name` is that of its lock, `module` what it runs.

        Raises:
            PackagingError: a tool is missing or fails, or something locked is no longer served.
        """
        base = self._base()
        installed, found = self._wheels(base, _lock(self.root, name))
        package = f"{name}-edgetenants"
        parts = sbom.Parts(package, self.version, _DISTRIBUTIONS, debian.locked(self.root / LOCK), found)
        layers = (base.layer, installed, self._code(base), layer([sbom.entry(parts)]))
        return Image(layers, _settings(module))

    def _base(self) -> _Base:
        locked = self.root / LOCK
        with self._kept("base", locked) as (folder, missing):
            if missing:
                packages = debian.Repository(self.cache / "debian").fetch(debian.locked(locked))
                found = [entry for package in packages for entry in debian.entries(package)]
                found += [*debian.merged_links(), *_accounts(), _bundle(found)]
                unpack(missing / _ROOT, found)
                compiled = _compiled(missing / _ROOT, missing / _ROOT / _STANDARD, f"/{_STANDARD}")
                layer([*found, *compiled]).save(missing)
        return _Base(folder / _ROOT, Layer.load(folder))

    def _wheels(self, base: _Base, locked: Path) -> tuple[Layer, tuple[wheels.Wheel, ...]]:
        with self._kept("wheels", locked, self.root / LOCK) as (folder, missing):
            if missing:
                self._install(missing / _ROOT, locked, missing / _REPORT)
                layer(_installed(base, missing / _ROOT)).save(missing)
        return Layer.load(folder), wheels.installed(folder / _REPORT)

    def _install(self, folder: Path, locked: Path, report: Path) -> None:
        """Install the locked wheels for the image's Python, whatever Python runs this. pip reports what it
        installed."""
        needed = folder.with_suffix(".txt")
        needed.write_text(without(locked.read_text(), _ONLY_BUILDS))
        platforms = [part for platform in _PLATFORMS for part in ("--platform", platform)]
        version = ["--python-version", _VERSION, "--implementation", "cp"]
        abis = ["--abi", _ABI, "--abi", "abi3", "--abi", "none"]
        how = [
            "--only-binary=:all:",
            "--no-compile",
            "--no-deps",
            "--require-hashes",
            "--quiet",
            "--report",
            str(report),
        ]
        pip = [sys.executable, "-m", "pip", "install", *platforms, *version, *abis, *how]
        debian.run([*pip, "--target", str(folder), "-r", str(needed)])
        shutil.rmtree(folder / "bin", ignore_errors=True)

    def _code(self, base: _Base) -> Layer:
        with tempfile.TemporaryDirectory(prefix="xpkg-") as temporary:
            folder = Path(temporary)
            for name in _OURS:
                source = self.root / name
                shutil.copytree(
                    source, folder / source.name, ignore=shutil.ignore_patterns(*_LEFT_OUT, "*.pyc")
                )
            for distribution in _DISTRIBUTIONS:
                metadata = folder / f"{distribution.replace('-', '_')}-{self.version}.dist-info"
                (metadata / "licenses").mkdir(parents=True)
                (metadata / "METADATA").write_text(_METADATA.format(distribution, self.version))
                shutil.copy(self.root / "LICENSE", metadata / "licenses")
            return layer(_installed(base, folder))

    @contextmanager
    def _kept(self, name: str, *sources: Path) -> Iterator[tuple[Path, Path | None]]:
        """The folder in the cache for what is made from these files and this module; and, where it is not
        there, the folder to make it in, which takes its place at the end of the block."""
        digest = hashlib.sha256()
        for source in (*sources, *sorted(Path(__file__).parent.glob("*.py"))):
            digest.update(source.read_bytes())
        folder = self.cache / "xpkg" / f"{name}-{digest.hexdigest()[:16]}"
        if folder.is_dir():
            yield folder, None
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as temporary:
            made = Path(temporary) / "made"
            made.mkdir()
            yield folder, made
            with suppress(OSError):  # another process was faster
                made.rename(folder)


@dataclass(frozen=True)
class _Base:
    """Debian's part of the root file system, unpacked."""

    folder: Path
    layer: Layer


def _compiled(root: Path, folder: Path, shown: str) -> list[Entry]:
    """The bytecode of all modules in a folder, which is at `shown` in the image, made by Python in `root`.
    No source is compared at run time, as nothing in the image changes."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    loader = libraries / "ld-linux-x86-64.so.2"
    python = [str(loader), "--library-path", str(libraries), str(root / _PYTHON)]
    options = ["-q", "-s", str(folder), "-p", shown, "--invalidation-mode", "unchecked-hash"]
    environment = {"PYTHONHOME": str(root / "usr"), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    debian.run([*python, "-B", "-m", "compileall", *options, str(folder)], env=environment)
    return [
        file(f"{shown.lstrip('/')}/{path.relative_to(folder)}", path.read_bytes())
        for path in sorted(folder.rglob("*.pyc"))
    ]


def locks(root: Path) -> tuple[Path, ...]:
    """The locks of wheels of all runtime images."""
    return tuple(_lock(root, name) for name in ("function", "provider"))


def _lock(root: Path, name: str) -> Path:
    return root / "requirements" / f"{name}.lock"


def lock(root: Path, cache: Path) -> None:
    """Write the lock of the Debian packages that are served today.

    Raises:
        PackagingError: apt-get is missing or fails.
    """
    (root / LOCK).write_text(debian.written(debian.Repository(cache / "debian").newest(WANTED)))


def _settings(module: str) -> Mapping[str, Any]:
    return {
        "Entrypoint": [f"/{_PYTHON}", "-m", module],
        "Env": [
            "PATH=/usr/bin",
            "LANG=C.UTF-8",
            "PYTHONUNBUFFERED=1",
            "PYTHONDONTWRITEBYTECODE=1",
            f"SSL_CERT_FILE=/{_BUNDLE}",
        ],
        "User": _USER,
        "WorkingDir": "/",
    }


def _accounts() -> Iterator[Entry]:
    """Users and groups, without which no name service finds uid 2000."""
    yield file("etc/passwd", "root:x:0:0:root:/:/none\nedgetenants:x:2000:2000:edgetenants:/:/none\n")
    yield file("etc/group", "root:x:0:\nedgetenants:x:2000:\n")
    yield file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")


def _bundle(found: Iterable[Entry]) -> Entry:
    """The file with all certificates, which a script of ca-certificates would make."""
    certificates = {entry.path: entry.content for entry in found if entry.path.endswith(".crt")}
    if not certificates:
        raise PackagingError("the Debian packages contain no certificates")
    return file(_BUNDLE, b"".join(certificates[path] for path in sorted(certificates)))


def _installed(base: _Base, folder: Path) -> list[Entry]:
    """What is in a folder of Python packages, with its bytecode, as it is in the image."""
    compiled = _compiled(base.folder, folder, f"/{_PACKAGES}")
    sources = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return compiled + [
        file(f"{_PACKAGES}/{path.relative_to(folder)}", path.read_bytes(), 0o755 if _runs(path) else 0o644)
        for path in sources
    ]


def _runs(path: Path) -> bool:
    return os.access(path, os.X_OK)


def unpack(folder: Path, found: Iterable[Entry]) -> None:
    """Write entries below a folder; links to folders come first."""
    for entry in sorted(found, key=lambda one: (not one.link, one.path)):
        path = folder / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link:
            path.symlink_to(entry.link)
        else:
            path.write_bytes(entry.content)
            path.chmod(entry.mode)


def without(lock: str, names: Iterable[str]) -> str:
    """A lock without these packages: each is a line and the indented lines below it."""
    blocks = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)
    return "".join(block for block in blocks if block.partition("==")[0] not in names)
