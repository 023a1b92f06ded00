"""Building the last core of Crossplane v1: alone, once, with its own CRDs, and beside that of v2."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from sandbox import build, golang
from tests.unit.sandbox.machine import Machine, flag


def test_the_core_is_built_alone_and_takes_the_place_of_the_other(machine: Machine) -> None:
    binaries = machine.build_v1()
    (call,) = machine.calls(of="build")
    assert call[-1] == binaries.crossplane.read_text() == "github.com/crossplane/crossplane/cmd/crossplane"
    assert "crossplane/internal/version.version=v1.20.11" in flag(call, "-ldflags")
    assert "-overlay" not in " ".join(call)
    assert [file.name for file in binaries.crossplane_crds.iterdir()] == ["xrds.yaml"]
    assert binaries.kubectl == machine.root / "nowhere"
    assert "Crossplane v1: building Crossplane core v1.20.11" in machine.said[0]


def test_the_cores_stay_apart_and_fresh_beside_each_other(machine: Machine) -> None:
    v2, v1 = machine.build(), machine.build_v1()
    assert v2.crossplane != v1.crossplane
    assert v2.crossplane_crds != v1.crossplane_crds
    machine.forget()
    assert (machine.build(), machine.build_v1()) == (v2, v1)
    assert machine.calls() == []
    assert machine.said == []


def change_modules(m: Machine) -> None:
    (m.v1_module / "go.sum").write_text("x v1 h1:=\n")


def lose_the_core(m: Machine) -> None:
    (m.cache / "bin" / "crossplane-v1").unlink()


def lose_its_crds(m: Machine) -> None:
    shutil.rmtree(m.cache / "crossplane-v1-crds")


def change_go(m: Machine) -> None:
    m.go("go1.27.0")


@pytest.mark.parametrize("change", [change_modules, change_go, lose_the_core, lose_its_crds])
def test_a_stale_core_is_built_anew(machine: Machine, change: Callable[[Machine], None]) -> None:
    machine.build_v1()
    machine.forget()
    change(machine)
    built = machine.build_v1()
    assert len(machine.calls(of="build")) == 1
    assert built.crossplane.exists()
    assert built.crossplane_crds.is_dir()


def test_a_core_without_crds_is_refused_and_not_taken_for_built(machine: Machine) -> None:
    shutil.rmtree(machine.root / "crossplane" / "cluster" / "crds")
    for _ in range(2):
        with pytest.raises(
            build.BuildError, match=r"github\.com/crossplane/crossplane does not contain manifests"
        ):
            machine.build_v1()


def test_the_command_builds_it_where_it_is_asked_to(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(["--cache", str(machine.cache)]) == 0
    assert "crossplane_v1" not in capsys.readouterr().out
    assert build.main(["--cache", str(machine.cache), "--crossplane-v1"]) == 0
    said = capsys.readouterr().out
    assert f"crossplane_v1: {machine.cache / 'bin' / 'crossplane-v1'}" in said
    assert f"crossplane_v1_crds: {machine.cache / 'crossplane-v1-crds'}" in said
    assert f"crossplane: {machine.cache / 'bin' / 'crossplane'}" in said


def test_it_is_the_last_of_v1_as_it_was_released() -> None:
    modules = (build.V1_MODULE / "go.mod").read_text()
    assert golang.required_version(build.V1_MODULE, "github.com/crossplane/crossplane").startswith("v1.20.")
    assert "tool github.com/crossplane/crossplane/cmd/crossplane" in modules
    assert "replace" not in modules
