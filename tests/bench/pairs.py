"""Measures two operations in alternation, A B A B, so that a slowdown of the machine affects both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. Rates are operations per second; with a ratio above 1, ours is faster."""

    name: str
    rival: str
    operation: str
    ours_per_second: float
    rival_per_second: float
    ratio_median: float
    ratio_min: float
    ratio_max: float
    pairs: int
    operations_per_run: int


@dataclass(frozen=True)
class Contest:
    """The two callables to compare. Each does one operation."""

    name: str
    rival: str
    operation: str
    ours: Callable[[], object]
    theirs: Callable[[], object]


def rate(action: Callable[[], object], count: int) -> float:
    """The operations per second over `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        action()
    return count / (time.perf_counter() - start)


def compare(contest: Contest, *, pairs: int = 5, count: int = 200) -> Comparison:
    """Measure `pairs` pairs, after one warm-up of each callable."""
    rate(contest.ours, count // 10)
    rate(contest.theirs, count // 10)
    runs = [(rate(contest.ours, count), rate(contest.theirs, count)) for _ in range(pairs)]
    ratios = [ours / theirs for ours, theirs in runs]
    return Comparison(
        name=contest.name,
        rival=contest.rival,
        operation=contest.operation,
        ours_per_second=round(statistics.median(ours for ours, _ in runs), 1),
        rival_per_second=round(statistics.median(theirs for _, theirs in runs), 1),
        ratio_median=round(statistics.median(ratios), 2),
        ratio_min=round(min(ratios), 2),
        ratio_max=round(max(ratios), 2),
        pairs=pairs,
        operations_per_run=count,
    )
