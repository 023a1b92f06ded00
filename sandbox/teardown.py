"""Taking a sandbox down: no process, no port, and in a given cluster no object that `up` made.

A given cluster is left as it was found, in this order, because each needs what comes after it:

    claims and managed resources    core and provider remove them, and their finalizers
    definitions and configs         core removes what it made for them
    processes
    kinds, accounts, rules          nobody acts on them any more
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
"""Seconds that objects get without core: the API server and its collector need a moment."""
_SERVED = "CompositeResourceDefinition"
_CLAIMS = ("tenantclaims.", "xtenantclaims.")
_MANAGED = ("distributiontenants.", "connectiongroups.")
_WITH_CORE = frozenset(
    {_SERVED, "Composition", "FunctionRevision", "ClusterProviderConfig", "ProviderConfig"}
)


def take_down(layout: Layout, progress: Progress, *, forget_cluster: bool = False) -> None:
    """End a sandbox and forget it; one that is down already is no error.

    With `forget_cluster` a given cluster is not asked: for one that is gone for good.

    Raises:
        WorldError: something is left; the sandbox stays recorded, so that `down` can be tried again.
    """
    state = layout.load()
    if state is None:
        layout.remove()
        progress(f"sandbox {layout.name}: there is none")
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
    """Whether those run who remove what they made: core, and provider with emulator."""
    alive = {run.name for run in recorded(layout.directory).runs if run.identity.alive}
    return {"crossplane", "provider", "emulator"} <= alive


def _end_processes(layout: Layout, state: State) -> str:
    """End all processes, look whether any process or port is left, and say so."""
    known = recorded(layout.directory)
    Processes(layout.directory).shutdown()
    mine = {port for run in known.runs for port in run.ports}
    busy = [port for port in sorted(mine | set(state.ports.values())) if ports.is_listening(port)]
    if busy:
        held = ", ".join(f"{port} by {ports.holder(port)}" for port in busy)
        raise WorldError(f"ports of sandbox {layout.name} are still in use: {held}")
    return (
        f"sandbox {layout.name}: none of its {len(known.runs)} processes is left, "
        f"its {len(state.ports)} ports are free"
    )


@dataclass(frozen=True)
class Removal:
    """Removes from a given cluster the objects that `up` made there, and no others."""

    kubectl: Kubectl
    state: State
    progress: Progress
    attended: bool
    """Whether core and provider run; else nobody takes their finalizers off, and waiting is in vain."""

    def before_processes(self) -> None:
        """While core and provider still run: instances of our kinds, then definitions and configs."""
        if "emulator" in self.state.ports:
            with suppress(WorldError):  # it may be dead
                EmulatorAdmin(f"http://127.0.0.1:{self.state.ports['emulator']}").set_rate(600)
        self._remove_instances()
        self._remove([o for o in self.state.created if o.kind in _WITH_CORE])

    def after_processes(self) -> None:
        """Kinds, accounts and rules; then see that nothing is left."""
        self._remove([o for o in self.state.created if o.kind not in _WITH_CORE])
        kept = f"; left as found: {', '.join(self.state.kept)}" if self.state.kept else ""
        self.progress(
            f"cluster {self.state.cluster}: {len(self.state.created)} objects that up made are gone{kept}"
        )

    def _remove_instances(self) -> None:
        """Objects of kinds that exist only because `up` made the definition: claims first, then the rest."""
        kinds = self._own_kinds()
        if not kinds:
            return
        claims = [k for k in kinds if k.startswith(_CLAIMS)]
        for group in (claims, [k for k in kinds if k not in claims]):
            if group:
                self.kubectl.run("delete", ",".join(group), "--all", "-A", "--wait=false", check=False)
        if not _until(lambda: not self._instances(kinds), _INSTANCES_WITHIN if self.attended else 0):
            left = self._instances(kinds)
            self.progress(f"taking the finalizers off {', '.join(left)}: nobody answers for them any more")
            self._release(kinds)

    def _own_kinds(self) -> list[str]:
        """plural.group of claims and managed resources whose definitions `up` made.

        A legacy definition is named after its composites, whose claims are of another kind.
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
        """Take the finalizers off an object of `up`'s, and off the instances of a kind of its."""
        self.progress(f"taking the finalizers off {obj}")
        if obj.kind == "CustomResourceDefinition":
            self._release([obj.name])  # its own finalizer is the API server's, which waits for these
            return
        group = obj.api_version.rpartition("/")[0]
        resource = f"{PLURALS[obj.kind]}.{group}".rstrip(".")
        where = ("-n", obj.namespace) if obj.namespace else ()
        # With the uid in it the patch is refused for a namesake.
        patch = json.dumps({"metadata": {"uid": obj.uid, "finalizers": None}})
        self.kubectl.run("patch", resource, obj.name, *where, "--type=merge", "-p", patch, check=False)

    def _remove(self, objects: list[KubernetesObject]) -> None:
        """Delete these very objects, newest first, and wait until they are gone."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self.kubectl.delete, reversed(objects)))
        if _until(lambda: not self._left(objects), _OBJECTS_WITHIN if self.attended else _UNATTENDED_WITHIN):
            return
        for obj in self._left(objects):
            self._release_object(obj)
        if not _until(lambda: not self._left(objects), _OBJECTS_WITHIN):
            left = ", ".join(str(o) for o in self._left(objects))
            raise WorldError(f"still there after deletion: {left}; see what holds them, then `down` again")

    def _left(self, objects: list[KubernetesObject]) -> list[KubernetesObject]:
        """Those of the objects that still exist, by uid: a namesake is somebody else's."""
        manifests = [_reference(o) for o in objects]
        uids = {o.uid for o in self._existing(manifests)}
        return [o for o in objects if o.uid in uids]

    def _existing(self, manifests: list[dict[str, object]]) -> tuple[KubernetesObject, ...]:
        if not manifests:
            return ()
        try:
            return self.kubectl.existing(manifests)
        except WorldError as e:
            # A kind that has gone took its objects along, and kubectl then looks for nothing else.
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
