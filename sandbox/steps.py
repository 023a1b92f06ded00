"""Doing things side by side as soon as what they need is done, and saying what each took."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

__all__ = ["Progress", "Step", "run", "timed"]

Progress = Callable[[str], None]
"""Takes one line for people."""


@dataclass(frozen=True)
class Step:
    """One thing to do, by what a person would call it."""

    name: str
    act: Callable[[], None]
    needs: tuple[str, ...] = ()
    """Names of steps that have to be done first."""


def timed(name: str, seconds: float) -> str:
    """The line that says that a step is done."""
    return f"{name:<46} {seconds:5.1f} s"


def run(steps: Iterable[Step], progress: Progress, abandon: threading.Event) -> None:
    """Do all steps; each line is printed when its step is done, in that order.

    The first failure sets `abandon`, on which steps that wait give up, and is raised when they have.
    """
    todo = list(steps)
    unknown = {need for step in todo for need in step.needs} - {step.name for step in todo}
    if unknown:
        raise ValueError(f"steps that are needed and not there: {', '.join(sorted(unknown))}")
    done: set[str] = set()
    failures: list[BaseException] = []
    under_way: dict[Future[float], Step] = {}
    with ThreadPoolExecutor(max_workers=max(1, len(todo))) as pool:
        try:
            while (todo and not failures) or under_way:
                for step in [s for s in todo if not failures and done.issuperset(s.needs)]:
                    todo.remove(step)
                    under_way[pool.submit(_clocked, step.act)] = step
                finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in finished:
                    step = under_way.pop(future)
                    failure = future.exception()
                    if failure is None:
                        done.add(step.name)
                        progress(timed(step.name, future.result()))
                    else:
                        failures.append(failure)
                        abandon.set()
        except BaseException:
            abandon.set()
            raise
    if failures:
        raise failures[0]


def _clocked(act: Callable[[], None]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start
