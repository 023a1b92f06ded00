"""The objects that `up` applies: Crossplane's CRDs, our package, and what both need to run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sandbox import manifests
from sandbox.errors import WorldError
from sandbox.kubectl import Kubectl, KubernetesObject
from sandbox.manifests import Manifest, Package
from sandbox.state import Crossplane

__all__ = ["Bootstrap"]

Remember = Callable[[tuple[KubernetesObject, ...], tuple[str, ...]], None]

_ESTABLISHED_WITHIN = 60


class Bootstrap:
    """Applies the objects that a sandbox needs, and records which of them it created."""

    def __init__(self, kubectl: Kubectl, package: Package, *, foreign: bool, remember: Remember) -> None:
        """`foreign`: the cluster is not the sandbox's own, so existing objects are left unchanged.

        `remember` is called after each change, with all objects that were created or kept so far.
        """
        self._kubectl = kubectl
        self._package = package
        self._foreign = foreign
        self._remember = remember
        self._lock = threading.Lock()
        self._created: list[KubernetesObject] = []
        self._kept: list[str] = []

    def accounts(self) -> None:
        """Apply the namespace, the ServiceAccounts and the provider's RBAC rules."""
        all_kinds = (*self._package.crds, *self._package.inactive)
        role = manifests.provider_role(all_kinds, reads_crds=self._package.crossplane is Crossplane.V2)
        self._apply((*manifests.accounts(), *role, *self._package.claims_reader))

    def namespace(self) -> None:
        """Apply Crossplane's namespace and ServiceAccount."""
        self._apply(manifests.accounts()[:2])

    def crossplane_kinds(self, crds: Path, abandon: threading.Event) -> None:
        """Apply Crossplane's CRDs, and wait until they are established."""
        self._record(self._kubectl.apply(files=(crds,)))
        self._wait_established("crd", _names(crds), abandon)

    def kinds(self, crossplane_crds: Path, abandon: threading.Event) -> None:
        """Apply the CRDs of Crossplane and of our package, and wait until they are established."""
        if not any(crossplane_crds.glob("*.yaml")):
            raise WorldError(f"{crossplane_crds} does not contain Crossplane's CRDs")
        if self._foreign:
            self._apply([*_crossplane(crossplane_crds), *self._package.crds])
        else:  # kubectl reads the folder much faster than Python does
            self._record(self._kubectl.apply(self._package.crds, files=(crossplane_crds,)))
        ours = {crd["metadata"]["name"] for crd in self._package.crds}
        self._wait_established("crd", _names(crossplane_crds) | ours, abandon)

    def webhooks(self, folder: Path, port: int, ca: Path) -> None:
        """Apply the configurations of core's webhooks, which core serves on that port."""
        self._apply(manifests.core_webhooks(folder, port, ca.read_bytes()))

    def composition(self) -> None:
        """Apply the claim's XRD and Composition."""
        self._apply((self._package.xrd, self._package.composition))

    def function(self, port: int) -> None:
        """Apply a revision of the function, with its endpoint."""
        revision = manifests.function_revision()
        self._apply((revision,))
        status = json.dumps(manifests.function_status(port, self._package.crossplane))
        name = revision["metadata"]["name"]
        self._kubectl.run(
            "patch", "functionrevision", name, "--subresource=status", "--type=merge", "-p", status
        )

    def credentials(self, endpoint: str) -> None:
        """Apply the provider configs for the emulator."""
        self._apply(manifests.credentials(endpoint, legacy=self._package.legacy))

    def configs_served(self, abandon: threading.Event) -> None:
        """Wait until the API server serves the provider configs. v1's core says that a package is healthy as
        soon as it has created their CRDs."""
        named = {crd["metadata"]["name"] for crd in self._package.crds}
        configs = {name for name in named if name.partition(".")[0].endswith("providerconfigs")}
        self._wait_established("crd", configs, abandon)

    def claims_served(self, abandon: threading.Event) -> None:
        """Wait until the API server serves the claim's kind."""
        xrd = self._package.xrd
        served = "Offered" if "claimNames" in xrd["spec"] else "Established"
        self._wait_established("xrd", {xrd["metadata"]["name"]}, abandon, condition=served)

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

    def _wait_established(
        self, resource: str, names: set[str], abandon: threading.Event, *, condition: str = "Established"
    ) -> None:
        deadline = time.monotonic() + _ESTABLISHED_WITHIN
        while missing := names - self._kubectl.with_condition(resource, condition):
            if abandon.is_set():
                raise WorldError("stopped waiting because another step failed")
            if time.monotonic() > deadline:
                listed = ", ".join(sorted(missing))
                raise WorldError(f"not {condition.lower()} after {_ESTABLISHED_WITHIN} s: {listed}")
            time.sleep(0.1)


def _key(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def _names(crds: Path) -> set[str]:
    files = {file.stem for file in crds.glob("*.yaml")}
    return {f"{plural}.{group}" for group, _, plural in (name.rpartition("_") for name in files)}


def _crossplane(folder: Path) -> list[Manifest]:
    return [manifest for file in sorted(folder.glob("*.yaml")) for manifest in manifests.documents(file)]
