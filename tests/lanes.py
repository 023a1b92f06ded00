"""How `make test` shares the test files out among its processes (a plugin of pytest-xdist).

Tests on a real control plane wait most of their time. All others need a core. So one process runs those
others, at a low priority, while the rest of the processes run the tests on a control plane: none of them has
to wait for a core, and no core is idle. When no test on a control plane is left, all processes run the
others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

FILLER = "gw0"
"""The process with the low priority. pytest-xdist numbers them from 0."""
_NICE = 10
ON_A_CONTROL_PLANE = "tests/integration/"
FIRST = (
    "test_packages",
    "test_kill_points",
    "test_fifty_claims",
    "test_isolation_switches",
    "test_crossplane_v1",
)
"""The slowest files. What is long and starts late runs alone in the end."""


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", {})
    if given.get("workerid") == FILLER and given["workercount"] > 1:
        os.nice(_NICE)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Lanes:
    return Lanes(config, log)


class Lanes(LoadFileScheduling):
    """Test files, each to one process: the filler gets none on a control plane while it has others."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(following(self.workqueue, filler=_fills(node)), last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if _fills(node) and self.workqueue and all(map(_waits, self.workqueue)):
            node.shutdown()
        else:
            super()._reschedule(node)


def following(files: Iterable[str], *, filler: bool) -> str:
    """Return which file a process runs next."""
    return min(files, key=lambda file: (_waits(file) == filler, _place(file)))


def _place(file: str) -> int:
    name = file.rpartition("/")[2].removesuffix(".py")
    return FIRST.index(name) if _waits(file) and name in FIRST else len(FIRST)


def _waits(file: str) -> bool:
    return file.startswith(ON_A_CONTROL_PLANE)


def _fills(node: WorkerController) -> bool:
    return node.gateway.id == FILLER
