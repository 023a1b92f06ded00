"""Tries every mutation: a test must catch it that the unchanged package passes.

    python -m tests.mutants [--only WORDS] [--record] [TARGET ...]

A mutation is made in a copy of the package in a temporary folder, never in place. The test that noticed it
last (noticed_by.json) is tried first, and all of its tests where that one passes or is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from tests.mutants.mutation import Mutation
from tests.mutants.run import NotFound, failed, passes, preload
from tests.mutants.table import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
NOTICED_BY = Path(__file__).with_name("noticed_by.json")
WORKERS = 5
"""On two cores: many of these tests wait, and some for seconds."""
_LAST = 3000
"""Characters of what pytest says that are shown."""
_SLOWEST = 5
"""Mutations whose time is shown, so that the next person knows where to begin."""
_UNCHANGED_SECONDS, _MUTATED_SECONDS, _RECORDED_SECONDS = 120.0, 20.0, 10.0
"""Of one test. Some mutations wait for ever, which is a failure like any other. The test that noticed one
last takes some seconds at most."""


def main() -> int:
    """Return 1 if a mutation survives, a snippet is stale, or the unchanged package fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="mutations whose name has these words")
    parser.add_argument("--record", action="store_true", help="write which test notices each")
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    asked = parser.parse_args()
    if len(asked.targets) == 1:
        return tried(asked.targets[0], asked.only, record=asked.record)
    # Each in a process of its own, as what may be imported beforehand differs.
    each = [sys.executable, "-m", "tests.mutants", "--only", asked.only, *(["--record"] * asked.record)]
    ended = [subprocess.run([*each, name], check=False) for name in asked.targets or TARGETS]
    return max(run.returncode for run in ended)


def tried(name: str, only: str, *, record: bool) -> int:
    """Try the mutations of one package whose name has the words."""
    target, began, trial = TARGETS[name], monotonic(), Trial.of(name)
    mutations = [m for m in target.mutations if only in m.name]
    preload(target.beside)
    faults = stale(target) or (trial.survivors(mutations) if mutations else [])
    if record:
        trial.record()
    print()
    for fault in faults:
        print(f"  {fault}")
    slowest = sorted(trial.seconds.items(), key=lambda each: each[1], reverse=True)[:_SLOWEST]
    for slow, took in slowest:
        print(f"  {took:.0f} s: {slow}")
    verdict = f"{len(faults)} faults" if faults else "all caught"
    seconds = f"{monotonic() - began:.0f} s"
    print(f"{target.package}: {len(mutations)} mutations in {seconds}: {verdict}", flush=True)
    return 1 if faults else 0


def stale(target: Target) -> list[str]:
    """Mutations whose snippet does not occur exactly once in its file, or that leave no Python there."""
    found = []
    for mutation in target.mutations:
        path = ROOT / target.root / target.package / mutation.file
        text = path.read_text() if path.exists() else ""
        times = text.count(mutation.old)
        if times != 1:
            found.append(f"stale: {mutation.name}: its snippet occurs {times} times in {mutation.file}")
        elif error := _syntax_error(text.replace(mutation.old, mutation.new)):
            found.append(f"stale: {mutation.name}: {mutation.file} is no Python with it: {error}")
    return found


def _syntax_error(source: str) -> str:
    try:
        compile(source, "", "exec")
    except SyntaxError as error:
        return f"{error.msg} in line {error.lineno}"
    return ""


@dataclass
class Trial:
    """The mutations of one package, tried."""

    name: str
    target: Target
    noticed_by: dict[str, str]
    """The test that noticed each, by its name below the target's root."""
    noticing: set[str] = field(default_factory=set)
    """The tests that noticed one in this run, by their paths."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each took to be noticed."""

    @classmethod
    def of(cls, name: str) -> Trial:
        """With what was recorded."""
        return cls(name, TARGETS[name], json.loads(NOTICED_BY.read_text()).get(name, {}))

    def record(self) -> None:
        """Write what noticed them, for the next time."""
        every = json.loads(NOTICED_BY.read_text())
        known = {mutation.name for mutation in self.target.mutations}
        every[self.name] = {name: by for name, by in sorted(self.noticed_by.items()) if name in known}
        NOTICED_BY.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")

    def survivors(self, mutations: Iterable[Mutation]) -> list[str]:
        """The mutations that no test notices, or a test that notices one but fails without it, too."""
        mutations, package = list(mutations), self.target.package
        before = sorted({test for mutation in mutations for test in self._likely(mutation)})
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(WORKERS) as pool:
            whole = Path(folder) / "unchanged"
            shutil.copytree(ROOT / self.target.root / package, whole / package)
            if failure := self._unchanged(pool, whole, before):
                return [failure]
            each = [
                pool.submit(self._noticed, whole, Path(folder) / str(n), m) for n, m in enumerate(mutations)
            ]
            faults = [fault for fault in (future.result() for future in each) if fault]
            # A mutation is caught by a test that passes without it.
            others = sorted(test for test in self.noticing if not test.startswith(tuple(before)))
            failure = self._unchanged(pool, whole, others)
            return [*faults, failure] if failure else faults

    def _unchanged(self, pool: ThreadPoolExecutor, whole: Path, tests: Sequence[str]) -> str:
        """What pytest says of these tests where the unchanged package fails them, else ""."""
        files = sorted({test.partition("::")[0] for test in tests})
        shares = [tuple(files[first::WORKERS]) for first in range(WORKERS)]
        each = [[test for test in tests if test.partition("::")[0] in share] for share in shares]
        for failure in pool.map(lambda share: self._unchanged_share(whole, share), filter(None, each)):
            if failure:
                return f"the unchanged package fails:\n{failure[-_LAST:]}"
        return ""

    def _unchanged_share(self, whole: Path, tests: Sequence[str]) -> str:
        try:
            return self._passes(whole, tests, _UNCHANGED_SECONDS, keep_bytecode=True)
        except NotFound:  # one of them has another name by now
            files = sorted({test.partition("::")[0] for test in tests})
            return self._passes(whole, files, _UNCHANGED_SECONDS, keep_bytecode=True)

    def _noticed(self, whole: Path, folder: Path, mutation: Mutation) -> str:
        """ "" when a test fails, as it should."""
        package = self.target.package
        # With the bytecode of what is not changed, which Python knows by a file's time and size.
        shutil.copytree(whole / package, folder / package, copy_function=os.link)
        path = folder / package / mutation.file
        mutated = path.read_text().replace(mutation.old, mutation.new)
        path.unlink()  # the link: the file itself is the unchanged package's, too
        path.write_text(mutated)
        began = monotonic()
        failure = self._by_the_last(folder, mutation)
        failure = failure or self._passes(folder, self._paths(mutation.tests), _MUTATED_SECONDS)
        if failure:
            self._remember(folder, mutation, failed(failure))
        self.seconds[mutation.name] = monotonic() - began
        shutil.rmtree(folder)
        print("." if failure else "S", end="", flush=True)
        return "" if failure else f"survives: {mutation.name} ({mutation.file}; {mutation.why})"

    def _remember(self, folder: Path, mutation: Mutation, by: str) -> None:
        """Which test noticed it; any of its own where pytest names none."""
        file, _, test = by.partition("::")
        if not test:
            self.noticing.update(self._paths(mutation.tests))
            return
        root = (ROOT / self.target.root).resolve()
        self.noticed_by[mutation.name] = f"{(folder / file).resolve().relative_to(root)}::{test}"
        self.noticing.add(f"{ROOT / self.target.root}/{self.noticed_by[mutation.name]}")

    def _likely(self, mutation: Mutation) -> list[str]:
        """The test that noticed it last, or all of its tests where that is none of them."""
        every = self._paths(mutation.tests)
        path = f"{ROOT / self.target.root}/{self.noticed_by.get(mutation.name, '')}"
        return [path] if path.startswith(tuple(every)) else every

    def _by_the_last(self, folder: Path, mutation: Mutation) -> str:
        """What pytest says of the test that noticed it last; "" where there is none, or it passes."""
        likely = self._likely(mutation)
        if likely == self._paths(mutation.tests):
            return ""
        try:
            return self._passes(folder, likely, _RECORDED_SECONDS)
        except NotFound:
            return ""

    def _passes(
        self, folder: Path, tests: Sequence[str], seconds: float, *, keep_bytecode: bool = False
    ) -> str:
        settings = ROOT / self.target.root / "pyproject.toml"
        return passes(folder, settings, tests, seconds=seconds, keep_bytecode=keep_bytecode)

    def _paths(self, tests: Iterable[str]) -> list[str]:
        return [f"{ROOT / self.target.tests / test}" for test in tests]


if __name__ == "__main__":
    sys.exit(main())
