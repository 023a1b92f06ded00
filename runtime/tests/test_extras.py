"""What the distribution needs is what its extras declare: each module imports without the other extras."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_IMPORTS = """
import importlib, json, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(name)

absent = set(sys.argv[1:])
sys.meta_path.insert(0, Absent())
import edgetenants_runtime

failed = []
path, prefix = edgetenants_runtime.__path__, "edgetenants_runtime."
for each in pkgutil.walk_packages(path, prefix, onerror=lambda _: None):
    try:
        importlib.import_module(each.name)
    except ModuleNotFoundError as error:
        assert error.name is None or str(error) in absent or str(error).partition(".")[0] in absent, error
        failed.append(each.name.removeprefix("edgetenants_runtime."))
print(json.dumps(failed))
"""


def failing_without(*absent: str) -> set[str]:
    """The modules that cannot be imported where these distributions are not installed."""
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTS, *absent], capture_output=True, text=True, check=True
    )
    return set(json.loads(ran.stdout))


def test_hypothesis_is_needed_for_histories_alone() -> None:
    assert failing_without("hypothesis") == {"histories.drawing", "histories.__main__"}


def test_all_is_there_with_all_extras() -> None:
    assert failing_without() == set()


@pytest.mark.parametrize("absent", [("kubernetes", "prometheus_client", "hypothesis")])
def test_the_api_types_and_the_rules_need_no_extra(absent: tuple[str, ...]) -> None:
    failed = failing_without(*absent)
    rooms = {name.partition(".")[0] for name in failed}
    assert "kube" in rooms
    assert not rooms & {"api", "rules", "queueing", "external", "errors", "managed", "clock", "deadline"}
