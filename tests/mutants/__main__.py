"""Tries every mutation: a test must catch it that the unchanged package passes.

    python -m tests.mutants [--only WORDS] [--changed] [--record] [TARGET ...]

A mutation is made in a copy of the package in a temporary folder, never in place. The test that noticed it
last (noticed_by.json) is tried first, and all of its tests where that one passes or is gone.

With --changed, a mutation is left out if neither the mutated file nor the file of that test has changed since
it was recorded. Something else may have changed what the test does, so a tenth of those is tried, too: other
ones for each commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
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
_TIMED_OUT = "from pytest-timeout"
_SLOWEST = 5
"""Mutations whose time is shown, so that the next person knows where to begin."""
_UNCHANGED_SECONDS, _MUTATED_SECONDS, _RECORDED_SECONDS = 120.0, 20.0, 10.0
"""Of one test. Some mutations wait for ever, which is a failure like any other. The test that noticed one
last takes some seconds at most. Where a test is recorded, a time-out counts only if it lasts for the first of
these: a busy machine must not record a test that notices nothing."""


def main() -> int:
    """Return 1 if a mutation survives, a snippet is stale, or the unchanged package fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="mutations whose name has these words")
    parser.add_argument("--changed", action="store_true", help="leave out those that have not changed")
    parser.add_argument("--record", action="store_true", help="write which test notices each")
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    asked = parser.parse_args()
    if len(asked.targets) == 1:
        return tried(asked.targets[0], asked.only, changed=asked.changed, record=asked.record)
    # Each in a process of its own, as what may be imported beforehand differs.
    flags = ["--record"] * asked.record + ["--changed"] * asked.changed
    each = [sys.executable, "-m", "tests.mutants", "--only", asked.only, *flags]
    ended = [subprocess.run([*each, name], check=False) for name in asked.targets or TARGETS]
    return max(run.returncode for run in ended)


def tried(name: str, only: str, *, changed: bool, record: bool) -> int:
    """Try the mutations of one package whose name has the words."""
    target, began, trial = TARGETS[name], monotonic(), Trial.of(name, strict=record)
    mutations = [m for m in target.mutations if only in m.name]
    if changed:
        mutations = [m for m in mutations if trial.is_due(m)]
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
    digests: dict[str, str]
    """The digest of what each was when it was noticed."""
    strict: bool = False
    """A test that takes too long is tried again, with more time, before it counts as one that noticed."""
    noticing: set[str] = field(default_factory=set)
    """The tests that noticed one in this run, by their paths."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each took to be noticed."""

    @classmethod
    def of(cls, name: str, *, strict: bool = False) -> Trial:
        """With what was recorded."""
        known: dict[str, list[str]] = json.loads(NOTICED_BY.read_text()).get(name, {})
        noticed_by = {mutation: by for mutation, (by, _) in known.items()}
        digests = {mutation: of for mutation, (_, of) in known.items()}
        return cls(name, TARGETS[name], noticed_by, digests, strict)

    def record(self) -> None:
        """Write what noticed them, for the next time."""
        every = json.loads(NOTICED_BY.read_text())
        known = {mutation.name for mutation in self.target.mutations}
        every[self.name] = {
            name: (by, self.digests.get(name, "")) for name, by in self.noticed_by.items() if name in known
        }
        NOTICED_BY.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")

    def is_due(self, mutation: Mutation) -> bool:
        """Whether it has changed since it was recorded, or this commit tries it nevertheless."""
        by = self.noticed_by.get(mutation.name, "")
        recorded = bool(by) and self.digests.get(mutation.name) == self._digest(mutation, by)
        return not recorded or _share(mutation.name) == _share(_commit())

    def _digest(self, mutation: Mutation, by: str) -> str:
        """Digest of the mutated file, the mutation, and the file of the test that noticed it."""
        root = ROOT / self.target.root
        files = (root / self.target.package / mutation.file, root / by.partition("::")[0])
        texts = (mutation.old, mutation.new, *(file.read_text() if file.exists() else "" for file in files))
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]

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
        failure = self._lasting(folder, mutation, self._by_the_last(folder, mutation))
        every = self._paths(mutation.tests)
        if not failure and (failure := self._passes(folder, every, _MUTATED_SECONDS)):
            failure = self._lasting(folder, mutation, failure)
            failure = failure or self._passes(folder, every, _UNCHANGED_SECONDS)
        if failure:
            self._remember(folder, mutation, failed(failure))
        self.seconds[mutation.name] = monotonic() - began
        shutil.rmtree(folder)
        print("." if failure else "S", end="", flush=True)
        return "" if failure else f"survives: {mutation.name} ({mutation.file}; {mutation.why})"

    def _lasting(self, folder: Path, mutation: Mutation, failure: str) -> str:
        """The failure, or "" where it was a time-out and the test passes with more time."""
        if not (self.strict and _TIMED_OUT in failure):
            return failure
        named = failed(failure)
        tests = [f"{folder / named}"] if named else self._paths(mutation.tests)
        try:
            return self._passes(folder, tests, _UNCHANGED_SECONDS)
        except NotFound:
            raise
        except RuntimeError:  # pytest itself did not end
            return failure

    def _remember(self, folder: Path, mutation: Mutation, by: str) -> None:
        """Which test noticed it; any of its own where pytest names none."""
        file, _, test = by.partition("::")
        if not test:
            self.noticing.update(self._paths(mutation.tests))
            return
        root = (ROOT / self.target.root).resolve()
        by = f"{(folder / file).resolve().relative_to(root)}::{test}"
        self.noticed_by[mutation.name] = by
        self.digests[mutation.name] = self._digest(mutation, by)
        self.noticing.add(f"{ROOT / self.target.root}/{by}")

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


def _share(word: str) -> int:
    """One of ten, the same in each process."""
    return hashlib.sha256(word.encode()).digest()[0] % 10


@cache
def _commit() -> str:
    """The commit of this checkout; "" if it has none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
