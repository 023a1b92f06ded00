"""Removes a sandbox: its processes, its ports, and the objects that `up` created in a given cluster.

In a given cluster, objects are removed in this order, because each needs the ones after it:

    claims and managed resources    core and the provider remove them and their finalizers
    definitions and configs         core removes what it created for them
    processes
    kinds, accounts, rules          no controller uses them any more
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox import ports
from sandbox.control import recorded
from sandbox.emulator_admin import EmulatorAdmin
from sandbox.errors import WorldError
from sandbox.kubectl import PLURALS, Kubectl, KubernetesObject
from sandbox.processes import Processes
from sandbox.state import ControlPlane, Layout, Phase, State
from sandbox.steps import Progress

__all__ = ["Removal", "take_down"]

_INSTANCES_WITHIN = 60.0
_OBJECTS_WITHIN = 30.0
_UNATTENDED_WITHIN = 3.0
"""Seconds to wait for deletions without core: the API server and its collector need a moment."""
_SERVED = "CompositeResourceDefinition"
_CLAIMS = ("tenantclaims.", "xtenantclaims.")
_MANAGED = ("distributiontenants.", "connectiongroups.")
_WITH_CORE = frozenset(
    {_SERVED, "Composition", "FunctionRevision", "ClusterProviderConfig", "ProviderConfig"}
)


def take_down(layout: Layout, progress: Progress, *, forget_cluster: bool = False) -> None:
    """Remove a sandbox and its record. It is no error if the sandbox does not exist.

    With `forget_cluster`, a given cluster is not cleaned up, because it no longer exists.


    Raises:
        WorldError: something remains. The sandbox stays recorded, so that `down` can be tried again.
    """
    state = layout.load()
    if state is None:
        layout.remove()
        progress(f"sandbox {layout.name} does not exist")
        return
    state = layout.save(replace(state, phase=Phase.STOPPING))
    removal = None
    if state.control_plane is ControlPlane.GIVEN and state.created and not forget_cluster:
        kubectl = Kubectl(Path(state.kubectl), layout.admin_kubeconfig, layout.kubectl_cache)
        removal = Removal(kubectl, state, progress, attended=_attended(layout))
        removal.before_processes()
    progress(_end_processes(layout, state))
    if removal is not None:
        removal.after_processes()
    layout.remove()


def _attended(layout: Layout) -> bool:
    """Whether core, the provider and the emulator are running, so that they can remove their objects."""
    alive = {run.name for run in recorded(layout.directory).runs if run.identity.alive}
    return {"crossplane", "provider", "emulator"} <= alive


def _end_processes(layout: Layout, state: State) -> str:
    """End all processes, check that no process or port remains, and return a message."""
    known = recorded(layout.directory)
    Processes(layout.directory).shutdown()
    mine = {port for run in known.runs for port in run.ports}
    busy = [port for port in sorted(mine | set(state.ports.values())) if ports.is_listening(port)]
    if busy:
        held = ", ".join(f"{port} by {ports.holder(port)}" for port in busy)
        raise WorldError(f"ports of sandbox {layout.name} are still in use: {held}")
    return (
        f"sandbox {layout.name} is down: its {len(known.runs)} processes have ended, "
        f"its {len(state.ports)} ports are free"
    )


@dataclass(frozen=True)
class Removal:
    """Removes from a given cluster only the objects that `up` created there."""

    kubectl: Kubectl
    state: State
    progress: Progress
    attended: bool
    """Whether core and the provider are running. Otherwise nothing removes their finalizers."""

    def before_processes(self) -> None:
        """Remove instances of our kinds, then definitions and configs, while core and the provider run."""
        if "emulator" in self.state.ports:
            with suppress(WorldError):  # it may have died
                EmulatorAdmin(f"http://127.0.0.1:{self.state.ports['emulator']}").set_rate(600)
        self._remove_instances()
        self._remove([o for o in self.state.created if o.kind in _WITH_CORE])

    def after_processes(self) -> None:
        """Remove kinds, accounts and rules, and check that nothing remains."""
        self._remove([o for o in self.state.created if o.kind not in _WITH_CORE])
        kept = f"; kept: {', '.join(self.state.kept)}" if self.state.kept else ""
        self.progress(
            f"cluster {self.state.cluster}: deleted the {len(self.state.created)} objects of up{kept}"
        )

    def _remove_instances(self) -> None:
        """Remove objects of the kinds that `up` defined: claims first, then the rest."""
        kinds = self._own_kinds()
        if not kinds:
            return
        claims = [k for k in kinds if k.startswith(_CLAIMS)]
        for group in (claims, [k for k in kinds if k not in claims]):
            if group:
                self.kubectl.run("delete", ",".join(group), "--all", "-A", "--wait=false", check=False)
        if not _until(lambda: not self._instances(kinds), _INSTANCES_WITHIN if self.attended else 0):
            left = self._instances(kinds)
            self.progress(f"removing the finalizers of {', '.join(left)}: no running controller removes them")
            self._release(kinds)

    def _own_kinds(self) -> list[str]:
        """plural.group of the claims and managed resources that `up` defined.

        A legacy definition has the name of its composite kind, and its claims are of another kind.
        """
        ours = {o.name for o in self.state.created if o.kind in {_SERVED, "CustomResourceDefinition"}}
        ours |= {name.removeprefix("x") for name in ours if name.startswith("xtenantclaims.")}
        wanted = sorted(name for name in ours if name.startswith((*_CLAIMS, *_MANAGED)))
        return [name for name in wanted if self.kubectl.exists("crd", name)]

    def _instances(self, kinds: Iterable[str]) -> list[str]:
        return self.kubectl.run(
            "get", ",".join(kinds), "-A", "-o", "name", "--ignore-not-found", check=False
        ).split()

    def _release(self, kinds: Iterable[str]) -> None:
        out = self.kubectl.run("get", ",".join(kinds), "-A", "-o", "json", "--ignore-not-found", check=False)
        for obj in json.loads(out)["items"] if out.strip() else ():
            metadata, group = obj["metadata"], obj["apiVersion"].partition("/")[0]
            where = ("-n", metadata["namespace"]) if "namespace" in metadata else ()
            name = f"{obj['kind'].lower()}.{group}/{metadata['name']}"
            patch = '{"metadata":{"finalizers":null}}'
            self.kubectl.run("patch", name, *where, "--type=merge", "-p", patch, check=False)

    def _release_object(self, obj: KubernetesObject) -> None:
        """Remove the finalizers of an object that `up` created, and of the instances of a CRD."""
        self.progress(f"removing the finalizers of {obj}")
        if obj.kind == "CustomResourceDefinition":
            self._release([obj.name])  # the API server removes the CRD's own finalizer after these
            return
        group = obj.api_version.rpartition("/")[0]
        resource = f"{PLURALS[obj.kind]}.{group}".rstrip(".")
        where = ("-n", obj.namespace) if obj.namespace else ()
        # With the uid, the API server refuses the patch for another object of this name.
        patch = json.dumps({"metadata": {"uid": obj.uid, "finalizers": None}})
        self.kubectl.run("patch", resource, obj.name, *where, "--type=merge", "-p", patch, check=False)

    def _remove(self, objects: list[KubernetesObject]) -> None:
        """Delete the objects by uid, newest first, and wait until they no longer exist."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self.kubectl.delete, reversed(objects)))
        if _until(lambda: not self._left(objects), _OBJECTS_WITHIN if self.attended else _UNATTENDED_WITHIN):
            return
        for obj in self._left(objects):
            self._release_object(obj)
        if not _until(lambda: not self._left(objects), _OBJECTS_WITHIN):
            left = ", ".join(str(o) for o in self._left(objects))
            raise WorldError(f"not deleted yet: {left}; check their finalizers, then run `down` again")

    def _left(self, objects: list[KubernetesObject]) -> list[KubernetesObject]:
        """The objects that still exist, by uid. An object with the same name and another uid is not ours."""
        manifests = [_reference(o) for o in objects]
        uids = {o.uid for o in self._existing(manifests)}
        return [o for o in objects if o.uid in uids]

    def _existing(self, manifests: list[dict[str, object]]) -> tuple[KubernetesObject, ...]:
        if not manifests:
            return ()
        try:
            return self.kubectl.existing(manifests)
        except WorldError as e:
            # A deleted CRD has deleted its objects, and then kubectl fails for the other objects, too.
            if "no matches for kind" not in str(e):
                raise
        if len(manifests) == 1:
            return ()
        return tuple(found for manifest in manifests for found in self._existing([manifest]))


def _reference(obj: KubernetesObject) -> dict[str, object]:
    metadata = {"name": obj.name} | ({"namespace": obj.namespace} if obj.namespace else {})
    return {"apiVersion": obj.api_version, "kind": obj.kind, "metadata": metadata}


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True
