"""What is written down about a sandbox, and where: `<cache>/sandbox/<name>/`."""

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
"""The repository, where package/ stands."""

# A name becomes a folder and stands in messages.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class ControlPlane(StrEnum):
    """Where the API server comes from."""

    GIVEN = "given"
    """A cluster that the user named with --kubeconfig and --context."""
    ENVTEST = "envtest"
    """etcd and kube-apiserver from the folder that KUBEBUILDER_ASSETS names."""
    BUILT = "built"
    """Built from the published Kubernetes libraries."""


class Crossplane(StrEnum):
    """Which Crossplane core runs."""

    V1 = "v1"
    """The last of v1: claims with cluster-scoped composites and managed resources, nothing namespaced."""
    V2 = "v2"
    """v2: claims are namespaced composites."""


class Phase(StrEnum):
    """How far `up` or `down` got."""

    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"


@dataclass(frozen=True)
class State:
    """All about a sandbox that its processes do not tell."""

    name: str
    control_plane: ControlPlane
    ports: Mapping[str, int]
    kubectl: str
    """Path of the kubectl that is used."""
    phase: Phase = Phase.STARTING
    cluster: str = ""
    """Of a given cluster: its context."""
    crossplane: Crossplane = Crossplane.V2
    legacy: bool = False
    control_plane_only: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    created: tuple[KubernetesObject, ...] = ()
    """Objects that `up` made. Those that it found are not here, and are never deleted."""
    kept: tuple[str, ...] = ()
    """Objects that `up` wanted and found: left as they were."""

    @classmethod
    def parse(cls, text: str) -> State:
        """From JSON."""
        data = json.loads(text)
        data["created"] = tuple(KubernetesObject(**o) for o in data["created"])
        data["kept"] = tuple(data["kept"])
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
                f"--name: {self.name!r} is not a name for a sandbox; "
                "expected lower-case letters, digits and dashes, at most 63"
            )

    @property
    def directory(self) -> Path:
        """Everything of the sandbox; gone after `down`."""
        return self.cache / "sandbox" / self.name

    @property
    def pki(self) -> Path:
        """Certificates."""
        return self.directory / "pki"

    @property
    def logs(self) -> Path:
        """One file for each process, NAME.log, and audit.log."""
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        """What the API server was asked, one JSON object a line (audit.k8s.io/v1 Event)."""
        return self.logs / "audit.log"

    @property
    def admin_kubeconfig(self) -> Path:
        """For people and for Crossplane core: may do everything."""
        return self.directory / "kubeconfig"

    @property
    def provider_kubeconfig(self) -> Path:
        """For the provider: its ServiceAccount."""
        return self.directory / "provider.kubeconfig"

    @property
    def kubectl_cache(self) -> Path:
        """What kubectl remembers of the API; in here, so that no later sandbox on the same port reads it."""
        return self.directory / "kubectl-cache"

    def log(self, process: str) -> Path:
        """The log of a process."""
        return self.logs / f"{process}.log"

    def make(self) -> None:
        """Make the directories, readable for this user only."""
        for directory in (self.directory, self.logs, self.pki):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def save(self, state: State) -> State:
        """Write the state so that it is never half written; returns it."""
        fresh = self.directory / "state.json.new"
        fresh.touch(mode=0o600)
        fresh.write_text(state.to_json())
        fresh.replace(self.directory / "state.json")
        return state

    def load(self) -> State | None:
        """The state; None when there is no such sandbox."""
        try:
            return State.parse((self.directory / "state.json").read_text())
        except FileNotFoundError:
            return None

    def remove(self) -> None:
        """Forget the sandbox."""
        shutil.rmtree(self.directory, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep another `up` or `down` of the same sandbox out.

        Raises:
            WorldError: one is under way.
        """
        with _lock_file(self.cache / "sandbox" / f".{self.name}.lock") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise WorldError(f"another up or down of sandbox {self.name} is under way") from e
            yield


def default_cache() -> Path:
    """Where binaries and sandboxes are kept: EDGETENANTS_CACHE, else .cache of the repository or here."""
    named = os.environ.get("EDGETENANTS_CACHE")
    if named:
        return Path(named).absolute()
    base = ROOT if (ROOT / "pyproject.toml").is_file() else Path.cwd()
    return base / ".cache"


def sandboxes(cache: Path) -> tuple[Layout, ...]:
    """All sandboxes in the cache, by name."""
    return tuple(Layout(cache, path.parent.name) for path in sorted((cache / "sandbox").glob("*/state.json")))


@contextmanager
def ports_locked(cache: Path) -> Iterator[frozenset[int]]:
    """Ports that other sandboxes have recorded; no other `up` chooses until the block ends."""
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
