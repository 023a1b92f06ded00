"""A supervisor with dummy children, in a folder of the test's own."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import launch
from sandbox.processes import Processes
from sandbox.specs import ProcessSpec
from sandbox.state import Layout

MakeSpec = Callable[..., ProcessSpec]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path, "test")
    made.make()
    return made


@pytest.fixture
def processes(layout: Layout) -> Iterator[Processes]:
    launch.start_supervisor(layout, grace=0.5)
    running = Processes(layout.directory)
    try:
        yield running
    finally:
        with contextlib.suppress(Exception):
            running.shutdown()


@pytest.fixture
def spec(layout: Layout) -> MakeSpec:
    """A child that runs Python code."""

    def make(name: str, code: str = "import time; time.sleep(60)", **more: object) -> ProcessSpec:
        argv = (sys.executable, "-S", "-c", code)
        return ProcessSpec(name=name, argv=argv, log=str(layout.log(name)), **more)

    return make
