"""Installs edgetenants' packages in a sandbox, as docs/install.md says it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox import manifests
from sandbox.errors import WorldError
from sandbox.kubectl import Kubectl
from sandbox.processes import Processes, obituary
from sandbox.state import ROOT, Crossplane
from xpkg.contents import PACKAGES

__all__ = ["PREFIX", "Installation", "Selection", "selection"]

PREFIX: Final = "xpkg.edgetenants.io/edgetenants"
"""The registry and organisation of the released packages."""
_FOR_ALL: Final = (
    "examples/install/runtime-config.yaml",
    "examples/install/plans.yaml",
    "package/claims-reader.yaml",
)
_PACKAGES: Final = "examples/install/packages.yaml"
_PROTECTION: Final = "examples/install/protect-packages.yaml"
_LEGACY_PACKAGES: Final = "examples/install/packages-legacy.yaml"
_LEGACY_ACTIVATION: Final = "examples/install/activation-legacy.yaml"
_WITH_PROCESS: Final = tuple(name for name, source in PACKAGES.items() if source.module)
_WITHIN: Final = 180.0


@dataclass(frozen=True)
class Selection:
    """Which of the packages a sandbox installs."""

    kinds: Mapping[str, str]
    """The packages, with the names of their kinds for kubectl."""
    files: tuple[Path, ...]
    """The files that docs/install.md has users apply."""


def selection(crossplane: Crossplane, *, legacy: bool) -> Selection:
    """The packages of v1's claims for Crossplane v1 and with `legacy`, else those of namespaced claims."""
    v1 = crossplane is Crossplane.V1
    old = v1 or legacy
    names = ("configuration-edgetenants-legacy" if old else "configuration-edgetenants",)
    kinds = {name: f"{name.partition('-')[0]}.pkg" for name in (*names, *_WITH_PROCESS)}
    # v1 has no activation policies: it activates every kind.
    activation = (_LEGACY_ACTIVATION,) if old and not v1 else ()
    own = (_LEGACY_PACKAGES, *activation) if old else (_PACKAGES, _PROTECTION)
    files = (*own, *_FOR_ALL)
    return Selection(kinds, tuple(ROOT / file for file in files))


@dataclass(frozen=True)
class Installation:
    """The packages of one sandbox."""

    kubectl: Kubectl
    registry: str
    """HOST:PORT of the sandbox's registry."""
    cli: Path
    """Crossplane's CLI, which pushes packages."""
    cache: Path
    selection: Selection

    @property
    def prefix(self) -> str:
        """The replacement of `PREFIX` in the names of images."""
        return f"{self.registry}/edgetenants"

    def push(self) -> None:
        """Build all packages, and push them to the sandbox's registry.

        Raises:
            WorldError: a package cannot be built or pushed.
        """
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        folder = self.cache / "xpkg" / "packages"
        _run("build the packages", sys.executable, "-m", "xpkg", "build", "--output", str(folder))
        for name in PACKAGES:
            file = folder / f"{name}-v{version}.xpkg"
            tag = f"{self.prefix}/{name}:v{version}"
            _run(f"push {name}", str(self.cli), "xpkg", "push", "-f", str(file), tag)

    def rewrite(self) -> None:
        """Tell core to pull the packages' images from the sandbox's registry."""
        self.kubectl.apply([_rewritten(self.prefix)])

    def apply(self) -> None:
        """Apply the objects of docs/install.md."""
        self.kubectl.apply([d for file in self.selection.files for d in manifests.documents(file)])

    def wait(self, abandon: threading.Event, processes: Processes) -> None:
        """Wait until Crossplane reports every package as installed and healthy.

        Raises:
            WorldError: a process died, or it takes too long; the message has the packages' conditions.
        """
        deadline = time.monotonic() + _WITHIN
        while missing := self._unhealthy():
            if dead := processes.died():
                raise WorldError(f"packages are not healthy: {obituary(dead[0])}")
            if abandon.is_set():
                raise WorldError("stopped waiting because another step failed")
            if time.monotonic() > deadline:
                raise WorldError(f"packages are not healthy after {_WITHIN:.0f} s: {self._told(missing)}")
            time.sleep(0.2)

    def _unhealthy(self) -> list[str]:
        return [
            name
            for name, kind in self.selection.kinds.items()
            if f"edgetenants-{name}" not in self.kubectl.with_condition(kind, "Healthy")
        ]

    def _told(self, names: list[str]) -> str:
        template = "{{range .status.conditions}}{{.type}}={{.status}} {{.reason}} {{.message}}; {{end}}"
        kinds, output = self.selection.kinds, f"go-template={template}"
        said = [
            self.kubectl.run("get", kinds[name], f"edgetenants-{name}", "-o", output, check=False)
            for name in names
        ]
        return ", ".join(f"{name}: {text}" for name, text in zip(names, said, strict=True))


def _rewritten(prefix: str) -> Mapping[str, Any]:
    """Leads core from the released names to the sandbox's registry. Names of packages stay as they are."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": "sandbox-registry"},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": PREFIX}],
            "rewriteImage": {"prefix": prefix},
        },
    }


def _run(what: str, *command: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "NO_PROXY": "*"}
    )
    if done.returncode != 0:
        raise WorldError(f"cannot {what}: {(done.stderr or done.stdout).strip()[-2000:]}")
