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
_AT_ONCE = 2


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
    subprocess.run([python, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
    stamp.write_bytes(lock.read_bytes())
    return python


def test_alone(cache: Path, name: str) -> int:
    """Install NAME as a wheel, so that missing files cause failures, and test it outside the checkout. The
    output is printed when pytest has ended, because the distributions are tested in parallel."""
    python = environment(cache, name)
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--force-reinstall",
        ROOT / name,
    ]
    subprocess.run(install, check=True)
    tests = [python, "-P", "-m", "pytest", "-c", ROOT / name / "pyproject.toml", ROOT / name / "tests"]
    done = subprocess.run(tests, cwd=cache, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{name}/ alone:\n{done.stdout.decode(errors='replace')}", flush=True)
    return done.returncode


def main() -> int:
    """Return the number of distributions whose tests failed."""
    cache = Path(sys.argv[1]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(code != 0 for code in pool.map(lambda name: test_alone(cache, name), sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
