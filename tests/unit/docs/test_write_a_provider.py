"""The provider of docs/how-to/write-a-provider.md, on fakes; on a real API server in tests/integration."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from edgetenants_runtime.testing import Killed, World, toy

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "write-a-provider.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def toys() -> Any:
    module = ModuleType("toys")
    for block in (*blocks("python"), *blocks("python test")):
        exec(compile(block, "write-a-provider.md", "exec"), vars(module))
    return module


def test_it_is_small() -> None:
    lines = [line for block in blocks("python") for line in block.splitlines() if line.strip()]
    assert len(lines) < 100


def test_the_pages_own_test_passes(toys: Any, tmp_path: Path) -> None:
    toys.test_a_toy_is_put_up_and_taken_down(tmp_path)


def test_drift_is_put_right_and_a_change_is_made(toys: Any, tmp_path: Path) -> None:
    world = World(toy(forProvider={"size": 3}), connector=toys.Shelf(tmp_path))
    world.settle()
    (tmp_path / "acme.json").write_text('{"size": 1}')
    world.settle()
    assert (tmp_path / "acme.json").read_text() == '{"size": 3, "colour": "red"}'
    assert world.status()["atProvider"] == {"size": 3, "colour": "red"}


def test_a_missing_shelf_is_told(toys: Any, tmp_path: Path) -> None:
    world = World(toy(), connector=toys.Shelf(tmp_path / "none"))
    world.reconcile()
    assert "is not there: put one up" in world.recorder.messages[0]


@pytest.mark.parametrize("index", range(5))
def test_it_may_die_anywhere(toys: Any, tmp_path: Path, index: int) -> None:
    world = World(toy(), connector=toys.Shelf(tmp_path))
    world.kill_at(index, "after")
    try:
        world.settle()
    except Killed:
        world.restart()
    world.settle()
    assert [path.name for path in tmp_path.iterdir()] == ["acme.json"]


def test_the_crd_and_the_model_say_the_same(toys: Any) -> None:
    crd, example = (yaml.safe_load(block) for block in blocks("yaml"))
    assert crd["metadata"]["name"] == toys.TOYS.resource
    version = crd["spec"]["versions"][0]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    model = toys.ToyParameters.model_json_schema()["properties"]
    assert {name: set(field) for name, field in spec["forProvider"]["properties"].items()} == {
        name: set(field) & {"type", "minimum", "maximum", "maxLength"} for name, field in model.items()
    }
    assert set(spec) == {field.alias for field in toys.ToySpec.model_fields.values()}
    toys.ToySpec.model_validate(example["spec"])
