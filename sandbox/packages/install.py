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
from sandbox.state import ROOT

__all__ = ["INSTALL", "KINDS", "PREFIX", "Installation"]

PREFIX: Final = "xpkg.edgetenants.io/edgetenants"
"""The registry and organisation of the released packages."""
KINDS: Final = {
    "configuration-edgetenants": "configuration.pkg",
    "provider-edgetenants": "provider.pkg",
    "function-edgetenants": "function.pkg",
}
"""The packages to install, with the names of their kinds for kubectl."""
INSTALL: Final = tuple(
    ROOT / path
    for path in (
        "examples/install/runtime-config.yaml",
        "examples/install/packages.yaml",
        "examples/install/plans.yaml",
        "package/claims-reader.yaml",
    )
)
"""The files that docs/install.md has users apply."""
_WITHIN: Final = 180.0


@dataclass(frozen=True)
class Installation:
    """The packages of one sandbox."""

    kubectl: Kubectl
    registry: str
    """HOST:PORT of the sandbox's registry."""
    cli: Path
    """Crossplane's CLI, which pushes packages."""
    cache: Path

    def push(self) -> None:
        """Build the packages, and push them to the sandbox's registry.

        Raises:
            WorldError: a package cannot be built or pushed.
        """
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        folder = self.cache / "xpkg" / "packages"
        _run("build the packages", sys.executable, "-m", "xpkg", "build", *KINDS, "--output", str(folder))
        for name in KINDS:
            file = folder / f"{name}-v{version}.xpkg"
            tag = f"{self.registry}/edgetenants/{name}:v{version}"
            _run(f"push {name}", str(self.cli), "xpkg", "push", "-f", str(file), tag)

    def rewrite(self) -> None:
        """Tell core to pull the packages' images from the sandbox's registry."""
        self.kubectl.apply([_rewritten(self.registry)])

    def apply(self) -> None:
        """Apply the objects of docs/install.md."""
        self.kubectl.apply([d for file in INSTALL for d in manifests.documents(file)])

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
            for name, kind in KINDS.items()
            if f"edgetenants-{name}" not in self.kubectl.with_condition(kind, "Healthy")
        ]

    def _told(self, names: list[str]) -> str:
        template = "{{range .status.conditions}}{{.type}}={{.status}} {{.reason}} {{.message}}; {{end}}"
        said = [
            self.kubectl.run(
                "get", KINDS[name], f"edgetenants-{name}", "-o", f"go-template={template}", check=False
            )
            for name in names
        ]
        return ", ".join(f"{name}: {text}" for name, text in zip(names, said, strict=True))


def _rewritten(registry: str) -> Mapping[str, Any]:
    """Leads core from the released names to the sandbox's registry. Names of packages stay as they are."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": "sandbox-registry"},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": PREFIX}],
            "rewriteImage": {"prefix": f"{registry}/edgetenants"},
        },
    }


def _run(what: str, *command: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "NO_PROXY": "*"}
    )
    if done.returncode != 0:
        raise WorldError(f"cannot {what}: {(done.stderr or done.stdout).strip()[-2000:]}")
