"""Runs tests against a copy of a package, in a process that has already imported the other modules.

Starting Python and importing the libraries takes longer than most of these tests, so each run is forked from
a server that has imported them (multiprocessing's forkserver).
"""

import gc
import itertools
import multiprocessing
import os
import re
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait
from pathlib import Path

__all__ = ["MUTANT", "NotFound", "failed", "passes", "preload"]

_LIBRARIES = (
    "boto3",
    "botocore.session",
    "google.protobuf.json_format",
    "grpc",
    "hypothesis",
    "kubernetes.client",
    "kubernetes.config",
    "prometheus_client",
    "pydantic",
    "pytest",
    "pytest_timeout",
    "structlog",
    "trustme",
    "urllib3",
    "yaml",
)
MUTANT = "EDGETENANTS_MUTANT"
"""Set where the tests run against a copy (tests/conftest.py)."""
_SECONDS = 300.0
_FAILED = 1
"""pytest's exit code for tests that failed; other codes say that none could run."""
_INTERNAL_ERROR = 3
"""The exit code if the time of a test ends while pytest writes about it."""
_NOT_FOUND = (4, 5)
"""pytest's exit codes for a test that does not exist, and for no tests at all."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", re.MULTILINE)

_forked = multiprocessing.get_context("forkserver")
_RUNS = itertools.count(1)
_asked = threading.Lock()
"""A process that starts reads the exit codes of all others, too (multiprocessing.process._cleanup). Of two
threads that read one exit code at the same time, one would get 255."""


def preload(ours: Sequence[str]) -> None:
    """Let the server also import these modules of ours, from packages other than the copied one. Call it
    before the first run; the server imports only once."""
    _forked.set_forkserver_preload([*_LIBRARIES, *ours])


class NotFound(RuntimeError):  # noqa: N818 - names the thing found
    """A test does not exist by that name."""


def passes(
    folder: Path, settings: Path, tests: Sequence[str], *, seconds: float, keep_bytecode: bool = False
) -> str:
    """Run the tests with the packages in `folder` before all others: "" when all pass, else what pytest says.

    Args:
        folder: contains copies of packages.
        settings: the pyproject.toml with pytest's settings.
        tests: files, or tests in them.
        seconds: of one test, after which it has failed.
        keep_bytecode: the next runs may read what this one compiled.

    Raises:
        NotFound: one of the tests does not exist.
        RuntimeError: pytest could not run, or did not end.
    """
    told = folder / f"pytest-{next(_RUNS)}.out"
    arguments = ["-x", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-p", "pytest_timeout"]
    arguments += [f"--timeout={seconds}", "-c", str(settings), *tests]
    run = _forked.Process(target=_run, args=(folder, told, arguments, keep_bytecode))
    with _asked:
        run.start()
    if not wait([run.sentinel], _SECONDS):
        run.kill()
        wait([run.sentinel])
    with _asked:
        exitcode = run.exitcode
    said = told.read_text() if told.exists() else ""
    if exitcode == _INTERNAL_ERROR:
        return said
    if exitcode not in (0, _FAILED) or (exitcode and not said):
        failure = NotFound if exitcode in _NOT_FOUND else RuntimeError
        raise failure(f"pytest could not run (exit code {exitcode}):\n{said}")
    return said if exitcode else ""


def failed(said: str) -> str:
    """The test that failed, by what pytest says; "" where it names none, as after an interruption."""
    found = _FAILURE.search(said)
    return found[1] if found else ""


def _run(folder: Path, told: Path, arguments: list[str], keep_bytecode: bool) -> None:
    with told.open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.environ[MUTANT] = "1"
    # Plugins take longer than the tests.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # pytest collects garbage twice. Looking at all that the server imported takes longer than most tests.
    gc.freeze()
    os.chdir(folder)
    sys.dont_write_bytecode = not keep_bytecode
    sys.path.insert(0, str(folder))
    copied = [each.name for each in folder.iterdir() if each.is_dir()]
    if known := [name for name in copied if name in sys.modules]:
        raise RuntimeError(f"imported before the copy: {', '.join(known)}")
    import pytest  # noqa: PLC0415 - in the server already

    sys.exit(pytest.main(arguments))
