"""The provider of docs/how-to/write-a-provider.md runs as a process against a real API server."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.world import World

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-provider.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shelf(world: World, tmp_path: Path) -> Iterator[Path]:
    crd, _ = blocks("yaml")
    world.kubectl("apply", "-f", "-", input=crd)
    world.wait_for_condition("crd", "toys.toys.example.org", "Established")
    program, shelf = tmp_path / "toys.py", tmp_path / "shelf"
    program.write_text("".join(blocks("python")))
    shelf.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "log").open("w") as log:
        command = [sys.executable, str(program), str(world.kubeconfig), str(shelf)]
        process = subprocess.Popen(command, stderr=log, env=environment)
    try:
        yield shelf
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(20)
        print((tmp_path / "log").read_text())
        world.kubectl("delete", "crd", "toys.toys.example.org", "--timeout=20s", check=False)
    assert code == 0, "a SIGTERM ends it with success"


def test_the_pages_toy_is_put_up_put_right_and_taken_down(world: World, shelf: Path) -> None:
    _, train = blocks("yaml")
    world.kubectl("apply", "-f", "-", input=train)
    world.kubectl("wait", "toy/train", "--for=condition=Ready", "--timeout=20s")
    place = shelf / "train.json"
    assert json.loads(place.read_text()) == {"size": 3, "colour": "red"}
    place.write_text('{"size": 1, "colour": "red"}')
    world.kubectl("annotate", "toy/train", "crossplane.io/reconcile-requested-at=now")
    wanted = "--for=jsonpath={.status.lastHandledReconcileAt}=now"
    world.kubectl("wait", "toy/train", wanted, "--timeout=20s")
    assert json.loads(place.read_text())["size"] == 3
    world.kubectl("delete", "toy/train", "--timeout=20s")
    assert list(shelf.iterdir()) == []
