"""Every example through Crossplane's own engine and CLI, and through ours: the commands of the READMEs, and
what they are compared with there.

`make golden` writes the compared files again.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli as edgetenants
from function.serving.server import MEBIBYTE, Server, Settings
from sandbox.build import build, build_cli
from tests.integration import stand_ins
from tests.integration.conftest import CACHE, ROOT

EXAMPLES = ROOT / "examples"
WRITE = os.environ.get("EDGETENANTS_GOLDEN") == "write"
PREFIX = "render.crossplane.io/runtime"

COMMAND = re.compile(
    r"^\$ (crossplane (?:composition|operation) render|edgetenants \w+) ([^|#]*?)"
    r"(?: \| grep -v (\w+))?(?: \| diff (\S+) -)?(?: +#.*)?$"
)
"""A command of a README, a word whose lines are left out, and the file that its output is compared with."""


@dataclass(frozen=True)
class Shown:
    """A command that a README shows."""

    folder: Path
    program: str
    arguments: tuple[str, ...]
    without: str
    """Lines with this word are left out of the output; "" where all count."""
    golden: str
    """Name of the file with its output; "" where there is none."""

    @property
    def id(self) -> str:
        return f"{self.folder.name}: {self.golden or ' '.join(self.arguments)}"

    def after(self, flag: str) -> list[str]:
        """The values of a flag."""
        pairs = zip(self.arguments, self.arguments[1:], strict=False)
        return [value for each, value in pairs if each == flag]


def shown() -> Iterator[Shown]:
    for readme in sorted(EXAMPLES.glob("*/README.md")):
        for line in readme.read_text().replace("\\\n", " ").splitlines():
            if found := COMMAND.match(line):
                program, arguments, without, golden = found.groups(default="")
                yield Shown(readme.parent, program, tuple(shlex.split(arguments)), without, golden)


SHOWN = tuple(shown())
OURS = [each for each in SHOWN if each.program.startswith("edgetenants")]
RENDERED = [each for each in SHOWN if each not in OURS]
COMPOSED = [each for each in RENDERED if "composition" in each.program]


@dataclass(frozen=True)
class Programs:
    core: Path
    cli: Path
    crds: Path
    """Core's own."""
    functions: Mapping[str, str]
    """Addresses by name."""
    home: Path
    """The CLI's settings and cache, instead of the user's."""

    def crossplane(self, *arguments: str | Path, cwd: Path) -> str:
        """Output of Crossplane's CLI; fails with what it said."""
        home = {"HOME": str(self.home), "CROSSPLANE_CONFIG": str(self.home / "config.yaml")}
        done = subprocess.run(
            [self.cli, *arguments],
            cwd=cwd,
            env={**os.environ, **home},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def render(self, example: Shown, tmp: Path, *more: str) -> str:
        """What the command prints, with the functions where they run here."""
        here = tmp / "functions.yaml"
        arguments = list[str | Path](example.arguments)
        at = next(index for index, each in enumerate(example.arguments) if each.endswith("functions.yaml"))
        arguments[at] = here
        functions = _objects(example.folder / example.arguments[at])
        here.write_text(yaml.safe_dump_all(map(self._running, functions)))
        _, *command = example.program.split()
        core = f"--crossplane-binary={self.core}"
        said = self.crossplane(*command, *arguments, *more, core, cwd=example.folder)
        lines = said.splitlines(keepends=True)
        return "".join(line for line in lines if not example.without or example.without not in line)

    def validate(self, resources: Path, *extensions: Path) -> list[str]:
        """The complaints of `crossplane resource validate`; fails where it does."""
        ours = (ROOT / "package" / "crds", ROOT / "package" / "input", self.crds)
        sources = ",".join(str(each) for each in (*ours, *extensions))
        said = self.crossplane(
            "resource",
            "validate",
            sources,
            resources,
            "--crossplane-image=",
            "--skip-success-results",
            cwd=ROOT,
        )
        return [line for line in said.splitlines() if not line.startswith("Total")]

    def _running(self, function: dict[str, Any]) -> dict[str, Any]:
        metadata = function["metadata"]
        target = {f"{PREFIX}-development-target": self.functions[metadata["name"]]}
        return {**function, "metadata": {**metadata, "annotations": {PREFIX: "Development", **target}}}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    home = tmp_path_factory.mktemp("home")
    (home / "config.yaml").write_text("version: 1\nfeatures: {enableAlpha: true}\n")
    built = build(CACHE, print)
    cli = build_cli(CACHE, print)
    running = Server(Settings("127.0.0.1:0", None, 4 * MEBIBYTE, 4 * MEBIBYTE))
    ours = {"function-edgetenants": f"127.0.0.1:{running.start()}"}
    try:
        with stand_ins.serving() as others:
            yield Programs(built.crossplane, cli, built.crossplane_crds, {**others, **ours}, home)
    finally:
        running.stop(grace=0)


def _objects(path: Path) -> list[dict[str, Any]]:
    return [value for value in yaml.safe_load_all(path.read_text()) if value]


def _compare(golden: Path, found: str) -> None:
    if WRITE:
        golden.write_text(found)
        return
    expected = golden.read_text() if golden.exists() else ""
    difference = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), str(golden.relative_to(ROOT)), "rendered", lineterm="", n=1
    )
    assert expected == found, "\n".join([*difference, "`make golden` writes it anew"])


@pytest.mark.parametrize("example", RENDERED, ids=lambda each: each.id)
def test_renders_as_reviewed(programs: Programs, example: Shown, tmp_path: Path) -> None:
    _compare(example.folder / example.golden, programs.render(example, tmp_path))


@pytest.mark.parametrize("example", COMPOSED, ids=lambda each: each.id)
def test_what_is_rendered_is_valid(programs: Programs, example: Shown, tmp_path: Path) -> None:
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(programs.render(example, tmp_path, "--include-full-xr"))
    assert programs.validate(rendered, *_definitions(example.folder)) == []


LEGACY_CONFIGS = "edgetenants.io/v1alpha1"


def _definitions(folder: Path) -> list[Path]:
    """What defines the kinds of a folder: its own XRD, the legacy ones, or the usual."""
    if (folder / "xrd.yaml").exists():
        return [folder / "xrd.yaml"]
    legacy = ROOT / "package" / "crds-legacy"
    values = [value for path in folder.glob("*.yaml") for value in _objects(path)]
    if any(value["kind"] == "XTenantClaim" for value in values):
        return [ROOT / "package" / "xrds" / "legacy", legacy]
    ours = [ROOT / "package" / "xrds" / "tenantclaim.yaml"]
    return [*ours, legacy] if any(value["apiVersion"] == LEGACY_CONFIGS for value in values) else ours


INPUT_OF_OTHERS = re.compile(r"could not find CRD/XRD for: (pt|gotemplating|python)\.fn\.crossplane\.io/")
"""Who has the functions of other people has the schemas of their inputs."""


FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_crossplanes_validate_finds_nothing(programs: Programs, folder: Path, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests.yaml"
    written = [path for path in sorted(folder.glob("*.yaml")) if not path.name.startswith("expected")]
    manifests.write_text("\n---\n".join(path.read_text() for path in written))
    found = programs.validate(manifests, *_definitions(folder))
    assert [each for each in found if not INPUT_OF_OTHERS.search(each)] == []


@pytest.mark.parametrize("example", OURS, ids=lambda each: each.id)
def test_our_commands_say_what_the_readme_says(example: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example.folder)
    done = CliRunner().invoke(edgetenants, [example.program.split()[1], *example.arguments])
    if example.golden:
        assert done.exit_code == 1, done.output
        _compare(example.folder / example.golden, done.stdout)
    else:
        assert done.exit_code == 0, done.output


def _plans(example: Shown) -> list[str]:
    """The files of a rendered example that hold plans: the Composition, and what is required beside it."""
    required = [
        file for flag, file in zip(example.arguments, example.arguments[1:], strict=False) if flag == "-e"
    ]
    return [part for file in (example.arguments[1], *required) for part in ("--plans", file)]


TENANT_CLAIMS = [each for each in COMPOSED if each.folder.name != "own-composition"]


@pytest.mark.parametrize("example", TENANT_CLAIMS, ids=lambda each: each.id)
def test_our_validate_finds_nothing(example: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example.folder)
    files = [file for file in example.arguments if re.fullmatch(r"[\w-]+\.yaml", file)]
    done = CliRunner().invoke(edgetenants, ["validate", *files, *_plans(example)])
    assert (done.exit_code, done.stdout) == (0, ""), done.output


@pytest.mark.parametrize("example", TENANT_CLAIMS, ids=lambda each: each.id)
def test_our_render_composes_the_same(example: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example.folder)
    observed = [
        file for flag, file in zip(example.arguments, example.arguments[1:], strict=False) if flag == "-o"
    ]
    more = [part for file in observed for part in ("--observed", file)]
    done = CliRunner().invoke(edgetenants, ["render", "-f", example.arguments[0], *_plans(example), *more])
    assert done.exit_code == 0, done.output
    assert _specs(yaml.safe_load_all(done.stdout)) == _specs(_objects(example.folder / example.golden))


def _specs(values: Any) -> list[Any]:
    """The specs of our managed resources, in an order of their own."""
    managed = [value for value in values if value["apiVersion"].startswith("cloudfront.")]
    return sorted((value["spec"] for value in managed), key=lambda spec: json.dumps(spec, sort_keys=True))


def test_each_style_composes_the_same() -> None:
    folder = EXAMPLES / "own-composition"
    patches, templates, python = (
        _specs(_objects(folder / f"expected{style}.yaml")) for style in ("", "-go-templating", "-python")
    )
    assert len(patches) == 2
    assert patches == templates == python


def test_each_golden_file_is_shown_by_a_readme() -> None:
    goldens = {
        path for pattern in ("expected*.yaml", "refused*.txt") for path in EXAMPLES.glob(f"*/{pattern}")
    }
    assert goldens == {each.folder / each.golden for each in SHOWN if each.golden}


def test_each_composition_is_rendered() -> None:
    rendered = {(each.folder / each.arguments[1]).resolve() for each in COMPOSED}
    assert set(EXAMPLES.glob("*/composition*.yaml")) == rendered
