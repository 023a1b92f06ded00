"""The list of commands, which imports none of them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from apis.drift import DriftPolicy
from cli.commands.plan import plan
from cli.commands.render import render
from cli.main import cli
from function import offline

COMMANDS = ["demo", "dns", "import", "plan", "render", "sandbox", "source", "validate"]
HEAVY = ("boto3", "botocore", "pydantic", "kubernetes", "grpc", "structlog")


@pytest.mark.parametrize(
    "asked",
    [
        ["--version"],
        ["-h"],
        ["--help"],
        *([name, "-h"] for name in COMMANDS),
        ["sandbox", "up", "-h"],
        ["source", "check", "-h"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_that_a_command_runs(asked: list[str]) -> None:
    code = (
        "import sys\nfrom cli.main import cli\n"
        f"try:\n    cli({asked!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print([each for each in {HEAVY!r} if each in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.rstrip().endswith("\n[]")


def test_the_list_names_each_command_with_what_it_says_first() -> None:
    shown = CliRunner().invoke(cli, ["-h"]).output
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        (line,) = [each for each in shown.splitlines() if each.startswith(f"  {name} ")]
        begins = (command.help or "").split("\n\n")[0].replace("\n", " ")
        assert begins.split(" ")[:4] == line.split()[1:5], "the list says something else than the command"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_help(name: str) -> None:
    for option in ("-h", "--help"):
        ran = CliRunner().invoke(cli, [name, option])
        assert ran.exit_code == 0
        assert ran.output.startswith(f"Usage: cli {name}")


def test_commands_and_options_are_completed() -> None:
    completing = ShellComplete(cli, {}, "edgetenants", "_COMPLETE")
    assert [each.value for each in completing.get_completions([], "pl")] == ["plan"]
    assert [each.value for each in completing.get_completions([], "--v")] == ["--version"]
    assert "--output" in [each.value for each in completing.get_completions(["plan"], "--")]


@pytest.mark.parametrize(
    "words", [[], *([name] for name in COMMANDS), ["sandbox", "up"], ["source", "preview"]], ids=" ".join
)
def test_completing_a_command_imports_nothing_that_it_runs(words: list[str]) -> None:
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom cli.main import cli\n"
        f"ShellComplete(cli, {{}}, 'edgetenants', '_COMPLETE').get_completions({words!r}, '-')\n"
        f"print([each for each in {HEAVY!r} if each in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_an_unknown_command_is_told() -> None:
    ran = CliRunner().invoke(cli, ["plam"])
    assert ran.exit_code == 2
    assert "No such command 'plam'" in ran.output


def test_what_the_options_repeat_is_what_the_code_has() -> None:
    (policy,) = [each for each in plan.params if each.name == "drift_policy"]
    assert list(policy.type.choices) == [each.value for each in DriftPolicy]
    assert policy.default == DriftPolicy.ENFORCE.value
    (observed,) = [each for each in render.params if each.name == "observed_files"]
    assert offline.COMPOSED_NAME in observed.help
