"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.run import MUTANT

# Any failure notices a mutation. To find the simplest one takes longer than the test.
PHASES = [each for each in Phase if MUTANT not in os.environ or each not in (Phase.shrink, Phase.explain)]
# A slow machine must not fail tests; `make bench` measures performance.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=PHASES
)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail if a test skips itself")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end. Python looks through all of it again and again while
    it grows, and then with each look for garbage of the tests: two fifths of the time of a collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, collector.config)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if report.skipped and config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, although every test has to run here: {report.longrepr}"
