"""Install each distribution alone in a clean environment and run its own tests there.

    python tests/alone.py CACHE_DIR runtime emulator

The environment contains the packages of requirements/NAME.lock and none of our other packages. It is rebuilt
when the lock file changes.
"""

import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_AT_ONCE = 4
"""Two more than cores: the runtime's tests wait for real clocks two thirds of their time."""
_PROCESSES = {"runtime": 2, "emulator": 3}
"""Into how many pytest processes the tests of each are divided. The emulator's take longest by far."""


def environment(cache: Path, name: str) -> Path:
    """The environment's Python. The environment is rebuilt unless it was built from the same lock file."""
    lock = ROOT / "requirements" / f"{name}.lock"
    home = cache / name
    python = home / "bin" / "python"
    stamp = home / ".lock"
    if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return python
    print(f"setting up: a clean environment for {name}/", flush=True)
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True)
    # The lock names every package, and Python compiles what the tests import.
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-compile",
        "--require-hashes",
        "-r",
        lock,
    ]
    subprocess.run(install, check=True)
    stamp.write_bytes(lock.read_bytes())
    return python


def install(cache: Path, name: str) -> Path:
    """Install NAME as a wheel, so that missing files cause failures. Returns the environment's Python."""
    python = environment(cache, name)
    options = ["-q", "--no-deps", "--no-build-isolation", "--force-reinstall"]
    subprocess.run([python, "-m", "pip", "install", *options, ROOT / name], check=True)
    return python


def shares(name: str) -> list[list[Path]]:
    """The test files of NAME, divided among as many processes as it is given, largest files first."""
    files = sorted((ROOT / name / "tests").rglob("test_*.py"), key=lambda file: -file.stat().st_size)
    return [files[first :: _PROCESSES.get(name, 1)] for first in range(_PROCESSES.get(name, 1))]


def test_alone(cache: Path, python: Path, name: str, files: list[Path]) -> int:
    """Run these tests outside the checkout. Others run in parallel, so the output is printed at the end."""
    tests = [python, "-P", "-m", "pytest", "-c", ROOT / name / "pyproject.toml", *files]
    done = subprocess.run(tests, cwd=cache, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{name}/ alone, {len(files)} files:\n{done.stdout.decode(errors='replace')}", flush=True)
    return done.returncode


def main() -> int:
    """Return the number of pytest processes whose tests failed."""
    cache, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    cache.mkdir(parents=True, exist_ok=True)
    # One after the other: a process that starts while another thread writes its copy of Python keeps that
    # file open for a moment, and Linux does not run a file that is open for writing (ETXTBSY).
    for name in names:
        environment(cache, name)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        pythons = dict(zip(names, pool.map(lambda name: install(cache, name), names), strict=True))
        # The distribution with the most processes first, so that none of them ends long after the others.
        ordered = sorted(names, key=lambda name: -_PROCESSES.get(name, 1))
        runs = [
            pool.submit(test_alone, cache, pythons[name], name, files)
            for name in ordered
            for files in shares(name)
        ]
        return sum(run.result() != 0 for run in runs)


if __name__ == "__main__":
    sys.exit(main())
