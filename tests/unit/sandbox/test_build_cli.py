"""Building Crossplane's CLI: alone, once, and without a word of it where no one asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox import build
from tests.unit.sandbox.machine import Machine, flag


def test_the_cli_is_built_alone(machine: Machine) -> None:
    program = machine.build_cli()
    (call,) = machine.calls(of="build")
    assert call[-1] == program.read_text() == "github.com/crossplane/cli/v2/cmd/crossplane"
    assert "pkg/version.version=v2.5.0" in flag(call, "-ldflags")
    assert [path.name for path in program.parent.iterdir() if path.name[0] != "."] == ["crossplane-cli"]
    assert "Crossplane CLI: building Crossplane's CLI v2.5.0" in machine.said[0]


def test_the_cli_and_the_control_plane_stay_fresh_beside_each_other(machine: Machine) -> None:
    machine.build()
    machine.build_cli()
    machine.forget()
    machine.build()
    machine.build_cli()
    assert machine.calls() == []
    assert machine.said == []


def change_cli_modules(m: Machine) -> None:
    (m.cli_module / "go.sum").write_text("x v1 h1:=\n")


def lose_the_cli(m: Machine) -> None:
    (m.cache / "bin" / "crossplane-cli").unlink()


def change_go(m: Machine) -> None:
    m.go("go1.27.0")


@pytest.mark.parametrize("change", [change_cli_modules, change_go, lose_the_cli])
def test_a_stale_cli_is_built_anew(machine: Machine, change: Callable[[Machine], None]) -> None:
    machine.build_cli()
    machine.forget()
    change(machine)
    machine.build_cli()
    assert len(machine.calls(of="build")) == 1


def test_a_go_mod_without_the_cli_is_refused(machine: Machine) -> None:
    (machine.cli_module / "go.mod").write_text("module x\n")
    with pytest.raises(build.BuildError, match="does not require"):
        machine.build_cli()


def test_the_command_builds_the_cli_where_it_is_asked_to(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(["--cache", str(machine.cache)]) == 0
    assert "crossplane_cli" not in capsys.readouterr().out
    assert build.main(["--cache", str(machine.cache), "--cli"]) == 0
    assert f"crossplane_cli: {machine.cache / 'bin' / 'crossplane-cli'}" in capsys.readouterr().out
