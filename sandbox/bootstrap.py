"""What `up` puts into the API server: Crossplane's kinds, our package, and what core and provider need to run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sandbox import manifests
from sandbox.errors import WorldError
from sandbox.kubectl import Kubectl, KubernetesObject
from sandbox.manifests import Manifest, Package

__all__ = ["Bootstrap"]

Remember = Callable[[tuple[KubernetesObject, ...], tuple[str, ...]], None]

_ESTABLISHED_WITHIN = 60
_XRD = "compositeresourcedefinition/tenantclaims.platform.edgetenants.io"


class Bootstrap:
    """Applies what a sandbox needs, and remembers which objects it made."""

    def __init__(self, kubectl: Kubectl, package: Package, *, foreign: bool, remember: Remember) -> None:
        """`foreign`: the cluster is not the sandbox's own, so what exists there is left as it is.

        `remember` is called after each change, with all objects made and kept so far.
        """
        self._kubectl = kubectl
        self._package = package
        self._foreign = foreign
        self._remember = remember
        self._lock = threading.Lock()
        self._created: list[KubernetesObject] = []
        self._kept: list[str] = []

    def accounts(self) -> None:
        """Namespace, ServiceAccounts, and the provider's rules."""
        self._apply((*manifests.accounts(), *manifests.provider_role(self._package.crds)))

    def kinds(self, crossplane_crds: Path, abandon: threading.Event) -> None:
        """The CRDs of Crossplane and of our package, established."""
        if not any(crossplane_crds.glob("*.yaml")):
            raise WorldError(f"no CRDs of Crossplane in {crossplane_crds}")
        if not self._foreign:
            # kubectl reads the folder much faster than we would.
            self._record(self._kubectl.apply(self._package.crds, files=(crossplane_crds,)))
            self._wait("--for=condition=Established", "crd", "--all", abandon=abandon)
            return
        crds = [*_crossplane(crossplane_crds), *self._package.crds]
        self._apply(crds)
        self._wait(
            "--for=condition=Established", *(f"crd/{c['metadata']['name']}" for c in crds), abandon=abandon
        )

    def composition(self) -> None:
        """The claim's definition and composition."""
        self._apply((self._package.xrd, self._package.composition))

    def function(self, port: int) -> None:
        """A revision of the function, and where it is served."""
        revision = manifests.function_revision()
        self._apply((revision,))
        status = json.dumps(manifests.function_status(port))
        name = revision["metadata"]["name"]
        self._kubectl.run(
            "patch", "functionrevision", name, "--subresource=status", "--type=merge", "-p", status
        )

    def credentials(self, endpoint: str, *, legacy: bool) -> None:
        """How the provider reaches the emulator."""
        self._apply(manifests.credentials(endpoint, legacy=legacy))

    def claims_served(self, abandon: threading.Event) -> None:
        """Wait until core has established the claim's kind."""
        self._wait("--for=condition=Established", _XRD, abandon=abandon)

    def _apply(self, objects: Iterable[Manifest]) -> None:
        wanted = list(objects)
        if self._foreign:
            wanted = self._not_there(wanted)
        if not wanted:
            return
        self._record(self._kubectl.apply(wanted))

    def _record(self, made: tuple[KubernetesObject, ...], kept: tuple[str, ...] = ()) -> None:
        with self._lock:
            self._created.extend(made)
            self._kept.extend(kept)
            self._remember(tuple(self._created), tuple(self._kept))

    def _not_there(self, wanted: list[Manifest]) -> list[Manifest]:
        there = self._kubectl.existing(wanted)
        names = {(o.kind, o.namespace, o.name) for o in there}
        self._record((), tuple(str(o) for o in there))
        return [m for m in wanted if _key(m) not in names]

    def _wait(self, *args: str, abandon: threading.Event) -> None:
        def still() -> None:
            if abandon.is_set():
                raise WorldError("no longer waiting")

        self._kubectl.wait(*args, seconds=_ESTABLISHED_WITHIN, still=still)


def _key(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def _crossplane(folder: Path) -> list[Manifest]:
    return [manifest for file in sorted(folder.glob("*.yaml")) for manifest in manifests.documents(file)]
