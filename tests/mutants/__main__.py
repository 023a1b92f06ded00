"""Tries every mutation: its tests must catch it, and the unchanged package must pass them.

    python -m tests.mutants [--only WORDS] [TARGET ...]

A mutation is applied to a copy of the package in a temporary folder, never in place.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from tests.mutants.mutation import Mutation
from tests.mutants.run import passes, preload
from tests.mutants.table import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2


def main() -> int:
    """Return 1 if a mutation survives, a snippet is stale, or the unchanged package fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="run the mutations whose name contains these words")
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    asked = parser.parse_args()
    if len(asked.targets) == 1:
        return tried(TARGETS[asked.targets[0]], asked.only)
    # Each package has its own process, because the modules that may be preloaded differ.
    each = [sys.executable, "-m", "tests.mutants", "--only", asked.only]
    ended = [subprocess.run([*each, name], check=False) for name in asked.targets or TARGETS]
    return max(run.returncode for run in ended)


def tried(target: Target, only: str) -> int:
    """Try the mutations of one package whose name contains the words."""
    began, mutations = monotonic(), [m for m in target.mutations if only in m.name]
    preload(target.beside)
    faults = stale(target) or (survivors(target, mutations) if mutations else [])
    print()
    for fault in faults:
        print(f"  {fault}")
    verdict = f"{len(faults)} faults" if faults else "all caught"
    seconds = f"{monotonic() - began:.0f} s"
    print(f"{target.package}: {len(mutations)} mutations in {seconds}: {verdict}", flush=True)
    return 1 if faults else 0


def stale(target: Target) -> list[str]:
    """Mutations whose snippet does not occur exactly once in its file."""
    found = []
    for mutation in target.mutations:
        path = ROOT / target.root / target.package / mutation.file
        times = path.read_text().count(mutation.old) if path.exists() else 0
        if times != 1:
            found.append(f"stale: {mutation.name}: its snippet occurs {times} times in {mutation.file}")
    return found


def survivors(target: Target, mutations: Iterable[Mutation]) -> list[str]:
    """The failures of the unchanged package, or else the mutations that no test catches."""
    mutations = list(mutations)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(WORKERS) as pool:
        whole = Path(folder) / "unchanged"
        shutil.copytree(ROOT / target.root / target.package, whole / target.package)
        every = sorted({test for mutation in mutations for test in mutation.tests})
        if failure := passes(whole, *_where(target, every), keep_bytecode=True):
            return [f"the unchanged package fails:\n{failure}"]
        tried = [
            pool.submit(noticed, whole, Path(folder) / str(n), target, m) for n, m in enumerate(mutations)
        ]
        return [fault for fault in (future.result() for future in tried) if fault]


def noticed(whole: Path, folder: Path, target: Target, mutation: Mutation) -> str:
    """ "" if a test fails, as it should."""
    # Unchanged files keep their bytecode, which Python identifies by time and size.
    shutil.copytree(whole / target.package, folder / target.package)
    path = folder / target.package / mutation.file
    path.write_text(path.read_text().replace(mutation.old, mutation.new))
    compile(path.read_text(), mutation.file, "exec")
    failure = passes(folder, *_where(target, mutation.tests))
    shutil.rmtree(folder)
    print("." if failure else "S", end="", flush=True)
    return "" if failure else f"survives: {mutation.name} ({mutation.file}; {mutation.why})"


def _where(target: Target, tests: Iterable[str]) -> tuple[Path, list[Path]]:
    return ROOT / target.root / "pyproject.toml", [ROOT / target.tests / test for test in tests]


if __name__ == "__main__":
    sys.exit(main())
