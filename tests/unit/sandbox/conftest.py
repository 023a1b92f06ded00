"""A supervisor with dummy children, in a folder of the test's own; a machine to build on."""

import contextlib
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import build, launch
from sandbox.processes import Processes
from sandbox.specs import ProcessSpec
from sandbox.state import Layout
from tests.unit.sandbox.machine import CLI_GO_MOD, GO_MOD, V1_GO_MOD, Machine

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


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    m = Machine(tmp_path)
    (m.module / "cmd").mkdir(parents=True)
    (m.module / "go.mod").write_text(GO_MOD)
    (m.module / "go.sum").write_text("")
    (m.module / "cmd" / "main.go").write_text("package main\n")
    for name, kind in (
        ("crds/xrds.yaml", "CustomResourceDefinition"),
        ("webhookconfigurations/usage.yaml", "ValidatingWebhookConfiguration"),
    ):
        manifest = tmp_path / "crossplane" / "cluster" / name
        manifest.parent.mkdir(parents=True)
        manifest.write_text(f"kind: {kind}\n")
        manifest.chmod(stat.S_IRUSR)  # as in the module cache
    helper = tmp_path / "apiserver" / build._TEST_HELPER
    helper.parent.mkdir(parents=True)
    for file in (helper, helper.with_name("policy.go"), tmp_path / "apiserver" / "go.mod"):
        file.write_text("package generic\n")
        file.chmod(stat.S_IRUSR)
    for module, text in ((m.cli_module, CLI_GO_MOD), (m.v1_module, V1_GO_MOD)):
        module.mkdir()
        (module / "go.mod").write_text(text)
        (module / "go.sum").write_text("")
    m.go()
    monkeypatch.setattr(build, "MODULE", m.module)
    monkeypatch.setattr(build, "CLI_MODULE", m.cli_module)
    monkeypatch.setattr(build, "V1_MODULE", m.v1_module)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return m
