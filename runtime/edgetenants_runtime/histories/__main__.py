"""Plays many histories in several processes, and prints the shortest that breaks a law.

python -m edgetenants_runtime.histories --count 10000 [--workers 2] [--seed N]
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys

from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.histories.drawing import Share, broken_by


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 if a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="number of histories")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    parser.add_argument("--seed", type=int, default=None, help="the same seed generates the same histories")
    asked = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    print(f"{asked.count} histories, seed {seed}, {asked.workers} processes", flush=True)
    took = Stopwatch()
    shares = _shares(asked.count, asked.workers, seed)
    # Spawned, not forked: hypothesis needs a fresh process for repeatable runs.
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        broken = [found for found in pool.imap_unordered(broken_by, shares) if found]
    print("".join(f"\n{found}\n" for found in broken), end="")
    verdict = f"a law was broken, see above; repeat with --seed {seed}" if broken else "all laws held"
    print(f"{asked.count} histories in {took.elapsed():.0f} s: {verdict}")
    return 1 if broken else 0


def _shares(count: int, workers: int, seed: int) -> list[Share]:
    # Many small shares: hypothesis's memory of a run makes long runs slow.
    size = min(500, -(-count // workers))
    return [
        Share(min(size, count - first), seed + number) for number, first in enumerate(range(0, count, size))
    ]


if __name__ == "__main__":
    sys.exit(main())
