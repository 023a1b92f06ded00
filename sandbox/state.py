"""The files of a sandbox in `<cache>/sandbox/<name>/`, and its recorded state."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from sandbox.errors import WorldError
from sandbox.kubectl import KubernetesObject

__all__ = ["ROOT", "ControlPlane", "Crossplane", "Layout", "Phase", "State", "default_cache", "sandboxes"]

ROOT = Path(__file__).resolve().parent.parent
"""The root of the repository, which contains package/."""

# The name is used as a folder and in messages.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class ControlPlane(StrEnum):
    """Where the API server comes from."""

    GIVEN = "given"
    """The cluster of --kubeconfig and --context."""
    ENVTEST = "envtest"
    """etcd and kube-apiserver from the folder KUBEBUILDER_ASSETS."""
    BUILT = "built"
    """Built from the published Kubernetes libraries."""


class Crossplane(StrEnum):
    """The version of Crossplane core."""

    V1 = "v1"
    """The last release of v1: claims, cluster-scoped composites and cluster-scoped managed resources."""
    V2 = "v2"
    """v2: claims are namespaced composites."""


class Phase(StrEnum):
    """The progress of `up` or `down`."""

    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"


@dataclass(frozen=True)
class State:
    """The recorded state of a sandbox."""

    name: str
    control_plane: ControlPlane
    ports: Mapping[str, int]
    kubectl: str
    """The path of kubectl."""
    phase: Phase = Phase.STARTING
    cluster: str = ""
    """The context of a given cluster."""
    crossplane: Crossplane = Crossplane.V2
    core_flags: tuple[str, ...] = ()
    """Flags of core that the caller added."""
    legacy: bool = False
    control_plane_only: bool = False
    packages: bool = False
    """Function, provider and claims come from packages."""
    versions: Mapping[str, str] = field(default_factory=dict)
    created: tuple[KubernetesObject, ...] = ()
    """Objects that `up` created. Objects that already existed are not included and never deleted."""
    kept: tuple[str, ...] = ()
    """Objects that `up` needs and that already existed. They are left unchanged."""

    @classmethod
    def parse(cls, text: str) -> State:
        """Parse it from JSON."""
        data = json.loads(text)
        data["created"] = tuple(KubernetesObject(**o) for o in data["created"])
        data["kept"] = tuple(data["kept"])
        data["core_flags"] = tuple(data.get("core_flags", ()))
        data["control_plane"], data["phase"] = ControlPlane(data["control_plane"]), Phase(data["phase"])
        data["crossplane"] = Crossplane(data.get("crossplane", Crossplane.V2))
        return cls(**data)

    def to_json(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=2)


@dataclass(frozen=True)
class Layout:
    """The files of one sandbox."""

    cache: Path
    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WorldError(
                f"--name: expected at most 63 lower-case letters, digits and dashes, got {self.name!r}"
            )

    @property
    def directory(self) -> Path:
        """The directory of the sandbox. `down` deletes it."""
        return self.cache / "sandbox" / self.name

    @property
    def pki(self) -> Path:
        """The directory of the certificates."""
        return self.directory / "pki"

    @property
    def logs(self) -> Path:
        """The directory of the logs: one file per process, NAME.log, and audit.log."""
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object per line (audit.k8s.io/v1 Event)."""
        return self.logs / "audit.log"

    @property
    def admin_kubeconfig(self) -> Path:
        """The admin kubeconfig, for users and for Crossplane core."""
        return self.directory / "kubeconfig"

    @property
    def provider_kubeconfig(self) -> Path:
        """The kubeconfig of the provider's ServiceAccount."""
        return self.directory / "provider.kubeconfig"

    @property
    def kubectl_cache(self) -> Path:
        """kubectl's discovery cache. It is here so that a later sandbox on the same port does not use it."""
        return self.directory / "kubectl-cache"

    def log(self, process: str) -> Path:
        """The log file of a process."""
        return self.logs / f"{process}.log"

    def make(self) -> None:
        """Create the directories. Only this user can read them."""
        for directory in (self.directory, self.logs, self.pki):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def save(self, state: State) -> State:
        """Write the state atomically, and return it."""
        fresh = self.directory / "state.json.new"
        fresh.touch(mode=0o600)
        fresh.write_text(state.to_json())
        fresh.replace(self.directory / "state.json")
        return state

    def load(self) -> State | None:
        """The state; None if the sandbox does not exist."""
        try:
            return State.parse((self.directory / "state.json").read_text())
        except FileNotFoundError:
            return None

    def remove(self) -> None:
        """Delete all files of the sandbox."""
        shutil.rmtree(self.directory, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the sandbox against another `up` or `down`.

        Raises:
            WorldError: another one is running.
        """
        with _lock_file(self.cache / "sandbox" / f".{self.name}.lock") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise WorldError(f"another up or down of sandbox {self.name} is running") from e
            yield


def default_cache() -> Path:
    """The directory of binaries and sandboxes: EDGETENANTS_CACHE, or .cache in the repository or here."""
    named = os.environ.get("EDGETENANTS_CACHE")
    if named:
        return Path(named).absolute()
    base = ROOT if (ROOT / "pyproject.toml").is_file() else Path.cwd()
    return base / ".cache"


def sandboxes(cache: Path) -> tuple[Layout, ...]:
    """All sandboxes in the cache, sorted by name."""
    return tuple(Layout(cache, path.parent.name) for path in sorted((cache / "sandbox").glob("*/state.json")))


@contextmanager
def ports_locked(cache: Path) -> Iterator[frozenset[int]]:
    """The recorded ports of other sandboxes. Until the block ends, no other `up` can choose ports."""
    with _lock_file(cache / "sandbox" / ".ports.lock") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        states = [layout.load() for layout in sandboxes(cache)]
        yield frozenset(port for state in states if state for port in state.ports.values())


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
