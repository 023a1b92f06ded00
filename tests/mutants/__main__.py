"""Tries every mutation: each must be noticed by its tests, the unchanged package must pass them.

    python -m tests.mutants [--only WORDS] [TARGET ...]

A mutation is made in a copy of the package in a temporary folder, never in place.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from tests.mutants.mutation import Mutation
from tests.mutants.table import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2


def main() -> int:
    """Return 1 where a mutation survives, a snippet is stale, or the unchanged package fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="mutations whose name has these words")
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    asked = parser.parse_args()
    began, faults, tried = monotonic(), [], 0
    for name in asked.targets or TARGETS:
        target = TARGETS[name]
        mutations = [m for m in target.mutations if asked.only in m.name]
        tried += len(mutations)
        faults += stale(target) or survivors(target, mutations)
    for fault in faults:
        print(f"  {fault}")
    verdict = f"{len(faults)} faults" if faults else "all noticed"
    print(f"{tried} mutations in {monotonic() - began:.0f} s: {verdict}")
    return 1 if faults else 0


def stale(target: Target) -> list[str]:
    """Mutations whose snippet does not stand in its file exactly once."""
    found = []
    for mutation in target.mutations:
        path = ROOT / target.root / target.package / mutation.file
        times = path.read_text().count(mutation.old) if path.exists() else 0
        if times != 1:
            found.append(f"stale: {mutation.name}: its snippet stands {times} times in {mutation.file}")
    return found


def survivors(target: Target, mutations: Iterable[Mutation]) -> list[str]:
    """What is wrong with the unchanged package, else the mutations that no test notices."""
    mutations = list(mutations)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(WORKERS) as pool:
        whole = tuple(sorted({test for mutation in mutations for test in mutation.tests}))
        unchanged = passes(copied(target, Path(folder) / "unchanged"), target, whole)
        if unchanged:
            return [f"the unchanged package fails:\n{unchanged}"]
        tried = [pool.submit(noticed, Path(folder) / str(n), target, m) for n, m in enumerate(mutations)]
        return [fault for fault in (future.result() for future in tried) if fault]


def noticed(folder: Path, target: Target, mutation: Mutation) -> str:
    """ "" when a test fails, as it should."""
    path = copied(target, folder) / target.package / mutation.file
    path.write_text(path.read_text().replace(mutation.old, mutation.new))
    compile(path.read_text(), mutation.file, "exec")
    failure = passes(folder, target, mutation.tests)
    shutil.rmtree(folder)
    print("." if failure else "S", end="", flush=True)
    return "" if failure else f"survives: {mutation.name} ({mutation.file}; {mutation.why})"


def copied(target: Target, folder: Path) -> Path:
    """A copy of the package below the folder, which it returns."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / target.root / target.package, folder / target.package, ignore=ignored)
    return folder


def passes(folder: Path, target: Target, tests: tuple[str, ...]) -> str:
    """Run the tests over the copy: "" when all pass, else what pytest says."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    # Plugins cost more than the tests.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--tb=line",
        "-p",
        "no:cacheprovider",
        "-p",
        "pytest_timeout",
    ]
    command += ["-c", str(ROOT / target.root / "pyproject.toml"), "--timeout=30"]
    command += [str(ROOT / target.tests / test) for test in tests]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest could not run:\n{done.stdout}{done.stderr}")
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
