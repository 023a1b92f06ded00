"""Runs steps in parallel, each as soon as its dependencies are done, and prints their durations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

__all__ = ["Progress", "Step", "run", "timed"]

Progress = Callable[[str], None]
"""Prints one progress line for the user."""


@dataclass(frozen=True)
class Step:
    """One step, with its name for the user."""

    name: str
    act: Callable[[], None]
    needs: tuple[str, ...] = ()
    """The names of the steps that must be done first."""


def timed(name: str, seconds: float) -> str:
    """The progress line of a step that is done."""
    return f"{name:<46} {seconds:5.1f} s"


def run(steps: Iterable[Step], progress: Progress, abandon: threading.Event) -> None:
    """Run all steps. Lines are printed as steps finish.

    The first failure sets `abandon`, which makes waiting steps give up, and is raised after they have ended.
    """
    todo = list(steps)
    unknown = {need for step in todo for need in step.needs} - {step.name for step in todo}
    if unknown:
        raise ValueError(f"unknown steps in `needs`: {', '.join(sorted(unknown))}")
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
