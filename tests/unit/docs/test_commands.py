"""The commands on the pages: those that need no server run as they stand there; the others have options and
resources that exist. tests/integration/test_commands_of_pages.py runs those of kubectl."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli
from edgetenants_emulator.main import main as emulator
from function.main import main as function
from provider.main import main as provider
from sources.main import main as sources
from tests.unit.docs.pages import COMMANDS, ROOT, Command

EXAMPLES = ROOT / "examples"
PROGRAMS = {
    "edgetenants": cli,
    "edgetenants-emulator": emulator,
    "edgetenants-function": function,
    "edgetenants-provider": provider,
    "edgetenants-sources": sources,
}
CHECKS = [
    each for each in COMMANDS if each.program == "edgetenants" and each.words[0] in ("validate", "render")
]
OF_PAGES = [each for each in CHECKS if "examples" not in each.page.parts]
OURS = [each for each in COMMANDS if each.program in PROGRAMS]
ANNOTATE = [each for each in COMMANDS if each.program == "kubectl" and "annotate" in each.words]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
READ = {*(each.page for each in COMMANDS), ROOT / "CONTRIBUTING.md"}
MADE = sorted({each for page in READ for each in re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text())})


def ids(each: Command) -> str:
    return f"{each.page.relative_to(ROOT)}: {each.text[:60]}"


def resources() -> set[str]:
    folders = ("crds", "crds-sources", "xrds")
    files = [file for folder in folders for file in (ROOT / "package" / folder).glob("**/*.yaml")]
    return {each["metadata"]["name"] for file in files for each in yaml.safe_load_all(file.read_text())}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A platform team's checkout: its plans, its claims, and what it read from the cluster."""
    environment = EXAMPLES / "plans-from-environment-configs"
    for folder in ("package", "platform", "claims"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "package" / "composition.yaml", tmp_path / "package")
    shutil.copy(ROOT / "package" / "composition.yaml", tmp_path)
    shutil.copy(ROOT / "package" / "composition.yaml", tmp_path / "platform")
    shutil.copy(environment / "environmentconfigs.yaml", tmp_path / "platform")
    claim = EXAMPLES / "quickstart" / "claim.yaml"
    shutil.copy(claim, tmp_path / "claims")
    shutil.copy(claim, tmp_path / "claims.yaml")
    rendered = CliRunner().invoke(cli, ["render", str(claim)])
    objects = list(yaml.safe_load_all(rendered.stdout))
    tenants = [each for each in objects if each["kind"] == "DistributionTenant"]
    (tmp_path / "tenant.yaml").write_text(yaml.safe_dump_all(tenants))
    (tmp_path / "observed.yaml").write_text(yaml.safe_dump_all(tenants))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("command", OF_PAGES, ids=ids)
def test_what_needs_no_server_runs_as_it_stands(command: Command) -> None:
    done = CliRunner().invoke(cli, command.words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", OURS, ids=ids)
def test_a_command_has_its_options(command: Command) -> None:
    program, words = PROGRAMS[command.program], command.words
    # A command keeps the names of its help option from its first context, which inherits them.
    parent: click.Context | None = None
    while isinstance(program, click.Group) and words and not words[0].startswith("-"):
        parent = click.Context(program, parent, **program.context_settings)
        found = program.get_command(parent, words[0])
        assert found is not None, words[0]
        program, words = found, words[1:]
    program.make_context(command.program, list(words), parent, resilient_parsing=True)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("option", ["-h", "--help", "--version"])
def test_every_program_has_its_help_and_version(program: str, option: str) -> None:
    done = CliRunner().invoke(PROGRAMS[program], [option], prog_name=program)
    assert done.exit_code == 0
    assert done.output.startswith(f"{program}, version " if option == "--version" else f"Usage: {program} ")


@pytest.mark.parametrize("command", ANNOTATE, ids=ids)
def test_an_annotation_is_set_again_and_on_one_kind(command: Command) -> None:
    """A token is set more than once, and other providers have kinds of the same short name."""
    assert "--overwrite" in command.words
    assert next(each for each in command.words[1:] if not each.startswith("-")) in resources()


def test_annotations_are_among_the_commands() -> None:
    assert len(ANNOTATE) > 5


@pytest.mark.parametrize("target", MADE)
def test_a_target_of_make_exists(target: str) -> None:
    assert target in TARGETS


def test_a_command_ends_before_a_pipe_and_a_comment() -> None:
    (command,) = Command.all_in(
        ROOT / "x.md", "$ git stash && kubectl get 'a|b' -A > x; git pop   # why\n", "kubectl"
    )
    assert command.words == ("get", "a|b", "-A")
