"""The README's provider is run."""

import re
from pathlib import Path
from typing import Any

from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.testing import World, toy

README = Path(__file__).parents[1] / "README.md"


def example() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        exec(compile(block, str(README), "exec"), scope)
    return scope


class NoConfigs:
    def resolve(self, mr: Any) -> None: ...


def test_the_examples_client_lives_through_a_resources_life() -> None:
    scope = example()
    shelf = scope["Shelf"]()
    world = World(toy(), connector=scope["ToyConnector"](shelf, NoConfigs()))
    world.settle()
    assert shelf.toys == {"acme": 1}
    assert world.status()["atProvider"] == {"size": 1}
    shelf.toys["acme"] = 5
    world.settle()
    assert shelf.toys == {"acme": 1}
    world.delete()
    world.settle()
    assert (shelf.toys, world.mr) == ({}, None)


def test_the_examples_error_names_the_field() -> None:
    scope = example()
    world = World(
        toy(forProvider={"size": 10}), connector=scope["ToyConnector"](scope["Shelf"](), NoConfigs())
    )
    world.settle()
    synced = world.status()["conditions"][-1]
    assert synced["message"] == "create failed: spec.forProvider.size: the shelf holds toys up to size 9"


def test_the_example_is_wired(client: Any) -> None:
    manager = example()["toy_provider"](client, Settings())
    assert isinstance(manager, Manager)
    well, lines = manager.ready()
    assert (well, len(lines)) == (False, 5)


def test_the_examples_main_configures_logs_first(monkeypatch: Any) -> None:
    scope, done = example(), []
    monkeypatch.setattr(scope["logs"], "configure", lambda: done.append("logs"))
    monkeypatch.setattr(scope["KubeClient"], "from_kubeconfig", lambda *_, **__: done.append("client"))
    monkeypatch.setattr(Manager, "run", lambda _: done.append("run") or 0)
    scope["toy_provider"] = lambda *_: Manager.__new__(Manager)
    assert scope["main"]() == 0
    assert done == ["logs", "client", "run"]
