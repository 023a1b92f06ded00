"""An external package runtime: it does for package revisions what Crossplane's Deployment runtime does, and
starts their processes on this machine.

Crossplane core runs with `PACKAGE_RUNTIME=External`, and so leaves this to others
(internal/controller/pkg/runtime, runtime_provider.go and runtime_function.go). For each active revision of a
provider or function:

- before core establishes its objects: Service, TLS Secret for the Service's name,
  `status.tlsServerSecretName` (v1's core has it in `spec`), and the endpoint of a function;
- then: ServiceAccount, a Deployment owned by the revision (through which the RBAC manager finds the account),
  and the process, from the image's own root; at last RuntimeHealthy, which v1's core ignores.

An inactive or deleted revision has its process stopped.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError, NotFound
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sandbox import kubeconfig, pki, ports, state
from sandbox.errors import WorldError
from sandbox.kubectl import Kubectl
from sandbox.manifests import NAMESPACE
from sandbox.packages import pull
from sandbox.processes import Processes
from sandbox.programs import Programs
from sandbox.specs import Probe, ProcessSpec
from sandbox.state import Layout
from sandbox.states import ProcessState

JsonObject = dict[str, Any]

_GROUP: Final = "pkg.crossplane.io"
PROVIDER_REVISION: Final = ResourceKind(
    _GROUP, "v1", "ProviderRevision", "providerrevisions", namespaced=False
)
FUNCTION_REVISION: Final = ResourceKind(
    _GROUP, "v1", "FunctionRevision", "functionrevisions", namespaced=False
)
PROVIDER: Final = ResourceKind(_GROUP, "v1", "Provider", "providers", namespaced=False)
FUNCTION: Final = ResourceKind(_GROUP, "v1", "Function", "functions", namespaced=False)
RUNTIME_CONFIG: Final = ResourceKind(
    _GROUP, "v1beta1", "DeploymentRuntimeConfig", "deploymentruntimeconfigs", namespaced=False
)
_PARENT: Final = "pkg.crossplane.io/package"
_CONTAINER: Final = "package-runtime"
_PREFIXES: Final = ("function-", "provider-")
"""How the names of its processes begin."""
_EVERY: Final = 0.3
_LOOPBACK: Final = "sandbox.edgetenants.io/loopback-port"
"""The annotation that the sandbox's API server reads; see sandbox/controlplane/internal/webhooks."""
_CERTIFICATES: Final = "tls/server"
_KUBERNETES: Final = "etc/kubernetes"


@dataclass(frozen=True)
class Revision:
    """A revision of a provider or function."""

    kind: ResourceKind
    object: JsonObject

    @property
    def name(self) -> str:
        """The name of the revision, which is that of its Deployment."""
        return str(self.object["metadata"]["name"])

    @property
    def uid(self) -> str:
        """The uid of the revision."""
        return str(self.object["metadata"]["uid"])

    @property
    def package(self) -> str:
        """The name of the package, which is that of its Service."""
        return str(self.object["metadata"]["labels"][_PARENT])

    @property
    def is_function(self) -> bool:
        """Whether it is a function's."""
        return self.kind is FUNCTION_REVISION

    @property
    def process(self) -> str:
        """The name of its process in the sandbox: what it is, and the end of its name."""
        return f"{'function' if self.is_function else 'provider'}-{self.name.rpartition('-')[2]}"

    @property
    def active(self) -> bool:
        """Whether its process is to run."""
        leaving = "deletionTimestamp" in self.object["metadata"]
        return self.object["spec"]["desiredState"] == "Active" and not leaving

    @property
    def status(self) -> Mapping[str, Any]:
        """Its status."""
        return self.object.get("status") or {}

    @property
    def image(self) -> str:
        """The image, after core has resolved it, else ""."""
        return str(self.status.get("resolvedImage") or "")

    @property
    def secret(self) -> str:
        """The name of its TLS Secret, where it is known, else "". v1's core chooses it."""
        return str(
            self.status.get("tlsServerSecretName") or self.object["spec"].get("tlsServerSecretName") or ""
        )

    @property
    def established(self) -> bool:
        """Whether core has established its objects. A function has none."""
        return self.is_function or bool(self.status.get("objectRefs"))

    def condition(self, type_: str) -> JsonObject:
        """The condition of that type, or {}."""
        return next((c for c in self.status.get("conditions") or () if c["type"] == type_), {})

    def owned(self, api_version: str, kind: str, name: str, **body: Any) -> JsonObject:
        """An object in Crossplane's namespace that this revision controls."""
        owner = {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


class ExternalRuntime:
    """Runs the processes of package revisions in a sandbox."""

    def __init__(self, layout: Layout, say: Callable[[str], None]) -> None:
        recorded = layout.load()
        if recorded is None:
            raise WorldError(f"sandbox {layout.name} not found")
        self._layout = layout
        self._say = say
        self._said: dict[str, str] = {}
        self._pki = pki.at(layout.pki)
        self._processes = Processes(layout.directory)
        self._programs = Programs(layout, recorded.ports, self._pki)
        self._kubectl = Kubectl(Path(recorded.kubectl), layout.admin_kubeconfig, layout.kubectl_cache)
        self._client = KubeClient.from_kubeconfig(
            str(layout.admin_kubeconfig), field_manager="package-runtime"
        )
        self._ports: dict[str, int] = {}
        self._started_for: dict[str, str] = {}
        """The uid of the revision for which a process was started."""
        self._prepared: set[str] = set()
        """The uids of the revisions whose Service and certificate this process has made."""

    def run(self) -> None:
        """Reconcile all revisions again and again, until the process is ended."""
        while True:
            try:
                self._reconcile_all(list(self._revisions()))
            except (KubeError, WorldError) as error:
                self._tell("revisions", str(error))
            time.sleep(_EVERY)

    def _revisions(self) -> Iterator[Revision]:
        for kind in (PROVIDER_REVISION, FUNCTION_REVISION):
            yield from (Revision(kind, dict(item)) for item in self._client.list_page(kind).items)

    def _reconcile_all(self, revisions: Sequence[Revision]) -> None:
        for revision in revisions:
            self._reconcile_safely(revision)
        wanted = {revision.process for revision in revisions}
        for run in self._processes.runs():
            gone = run.name.startswith(_PREFIXES) and run.name not in wanted
            if gone and run.state is ProcessState.RUNNING:
                self._processes.stop(run.name)
                self._tell(run.name, "stopped: its revision is gone")

    def _reconcile_safely(self, revision: Revision) -> None:
        try:
            self._reconcile(revision)
        except (KubeError, WorldError) as error:
            self._tell(revision.name, str(error))

    def _reconcile(self, revision: Revision) -> None:
        if not revision.active:
            self._stop(revision)
            return
        if not self._is_prepared(revision):
            self._before(revision)
        elif revision.established and revision.image:
            self._after(revision)

    # Before core establishes the revision's objects

    def _is_prepared(self, revision: Revision) -> bool:
        """v1's API drops the name in `status`, so that only this process knows."""
        if revision.status.get("tlsServerSecretName"):
            return True
        return bool(revision.secret) and revision.uid in self._prepared

    def _before(self, revision: Revision) -> None:
        secret = revision.secret or f"{revision.package}-tls-server"
        self._kubectl.apply([self._service(revision), self._certificate(revision, secret)])
        status: JsonObject = {"tlsServerSecretName": secret}
        if revision.is_function:
            status["endpoint"] = f"dns:///127.0.0.1:{self._port(revision, 'grpc')}"
        self._patch(revision, status)
        self._prepared.add(revision.uid)
        self._tell(revision.name, "Service and certificate are ready")

    def _service(self, revision: Revision) -> JsonObject:
        name = "grpc" if revision.is_function else "webhook"
        spec = {"ports": [{"name": name, "port": 9443}], "selector": {_PARENT: revision.package}}
        service = revision.owned("v1", "Service", revision.package, spec=spec)
        # The API server sends reviews there.
        service["metadata"]["annotations"] = {_LOOPBACK: str(self._port(revision, name))}
        return service

    def _certificate(self, revision: Revision, name: str) -> JsonObject:
        service = revision.package
        names = (service, f"{service}.{NAMESPACE}", f"{service}.{NAMESPACE}.svc", "localhost", "127.0.0.1")
        files = pki.issued(self._layout.pki, *names, common_name=service)
        data = {key: base64.b64encode(value).decode() for key, value in files.items()}
        return revision.owned("v1", "Secret", name, type="Opaque", data=data)

    # After that

    def _after(self, revision: Revision) -> None:
        runs = {run.name: run for run in self._processes.runs()}
        run = runs.get(revision.process)
        if self._started_for.get(revision.process, revision.uid) != revision.uid:
            # Crossplane recreated a revision of the same name, with roles and an account of its own.
            self._stop(revision)
            del self._started_for[revision.process]
            return
        if run is None or run.state is ProcessState.STOPPED:
            self._start(revision)
        elif run.state is ProcessState.DIED:
            self._unhealthy(revision, f"process {run.name} died ({run.ending()})")
        elif revision.condition("RuntimeHealthy").get("status") != "True" and self._ready(run.probe):
            self._healthy(revision)

    def _start(self, revision: Revision) -> None:
        config = self._runtime_config(revision)
        account = _account_name(config) or revision.name
        pulled = pull.pull(revision.image, self._layout.cache / "xpkg" / "roots")
        root = pulled.copied(self._layout.directory / "roots" / revision.process)
        self._mount(revision, root, account)
        self._kubectl.apply(
            [
                revision.owned("v1", "ServiceAccount", account),
                _deployment(revision, account, config, pulled.settings),
            ]
        )
        self._processes.launch(self._spec(revision, pulled, root, _container(config)))
        self._started_for[revision.process] = revision.uid
        self._tell(revision.name, f"started {revision.process} as ServiceAccount {account}")

    def _mount(self, revision: Revision, root: Path, account: str) -> None:
        """What a pod gets by volumes: the server's certificate, and access to the API server."""
        secret = json.loads(
            self._kubectl.run("get", "secret", revision.secret, "-n", NAMESPACE, "-o", "json")
        )
        for name, value in secret["data"].items():
            _private(root / _CERTIFICATES / name, base64.b64decode(value))
        (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        if revision.is_function:
            return
        user = f"system:serviceaccount:{NAMESPACE}:{account}"
        pair = pki.client(self._layout.pki, user)
        # By path: the client would unpack certificates into a temporary file, and the root is read-only.
        folder = root / _KUBERNETES
        for name, file in (("ca.crt", pair.ca), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
            _private(folder / name, file.read_bytes())
        config = kubeconfig.with_files(self._programs.server, f"/{_KUBERNETES}", user)
        _private(folder / "kubeconfig", json.dumps(config).encode())

    def _spec(
        self, revision: Revision, pulled: pull.Pulled, root: Path, container: Mapping[str, Any]
    ) -> ProcessSpec:
        settings = dict(entry.split("=", 1) for entry in pulled.settings.get("Env") or ())
        wanted = {entry["name"]: entry["value"] for entry in container.get("env") or () if "value" in entry}
        arguments = container.get("args") or ()
        environment = {
            **settings,
            "TLS_SERVER_CERTS_DIR": f"/{_CERTIFICATES}",
            "POD_NAMESPACE": NAMESPACE,
            "REVISION_NAME": revision.name,
            "REVISION_UID": revision.uid,
            **wanted,
            **self._here(revision),
        }
        confined = (sys.executable, "-m", "sandbox.packages.confined", str(root))
        return ProcessSpec(
            name=revision.process,
            argv=(*confined, *pulled.settings["Entrypoint"], *arguments, *self._flags(revision)),
            log=str(self._layout.log(revision.process)),
            env=environment,
            ports=tuple(self._ports_of(revision).values()),
            probe=self._probe(revision),
            tier=2,
        )

    def _here(self, revision: Revision) -> Mapping[str, str]:
        """What the sandbox's network and clock need, which a pod does not."""
        if revision.is_function:
            return {"EDGETENANTS_FUNCTION_METRICS_ADDRESS": ""}
        return {
            "AWS_ENDPOINT_URL": self._programs.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "EDGETENANTS_DNS_CHECK": "off",
            "EDGETENANTS_KUBECONFIG": f"/{_KUBERNETES}/kubeconfig",
        }

    def _flags(self, revision: Revision) -> tuple[str, ...]:
        chosen = self._ports_of(revision)
        if revision.is_function:
            return (f"--address=127.0.0.1:{chosen['grpc']}",)
        return (
            f"--clock={self._programs.endpoint}/_edgetenants/clock",
            "--health-address=127.0.0.1",
            f"--health-port={chosen['health']}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={chosen['metrics']}",
            "--webhook-address=127.0.0.1",
            f"--webhook-port={chosen['webhook']}",
            # A sandbox's domains are not in the DNS of this machine.
            "--no-webhook-dns",
        )

    def _probe(self, revision: Revision) -> Probe:
        chosen = self._ports_of(revision)
        if revision.is_function:
            pair = self._pki.crossplane
            return Probe(
                f"tls://127.0.0.1:{chosen['grpc']}", str(pair.ca), str(pair.certificate), str(pair.key)
            )
        return Probe(f"http://127.0.0.1:{chosen['health']}/healthz")

    def _ports_of(self, revision: Revision) -> dict[str, int]:
        names = ("grpc",) if revision.is_function else ("health", "metrics", "webhook")
        return {name: self._port(revision, name) for name in names}

    def _port(self, revision: Revision, name: str) -> int:
        """A port that stays the revision's as long as this process runs; a function's is in its status."""
        key = f"{revision.process}-{name}"
        if name == "grpc" and (endpoint := str(revision.status.get("endpoint") or "")):
            self._ports.setdefault(key, int(endpoint.rpartition(":")[2]))
        if key not in self._ports:
            with state.ports_locked(self._layout.cache) as taken:
                used = {*taken, *self._ports.values()}
                self._ports |= ports.choose((key,), pinned={}, taken=used)
        return self._ports[key]

    def _runtime_config(self, revision: Revision) -> JsonObject:
        """The runtime config of the revision's package. Core names it only in revisions that it runs."""
        package = self._client.get(
            FUNCTION if revision.is_function else PROVIDER, ObjectKey("", revision.package)
        )
        name = (package["spec"].get("runtimeConfigRef") or {}).get("name") or "default"
        try:
            return dict(self._client.get(RUNTIME_CONFIG, ObjectKey("", name)))
        except NotFound:
            if name == "default":
                return {}
            raise

    # The end

    def _stop(self, revision: Revision) -> None:
        running = {run.name for run in self._processes.runs() if run.state is ProcessState.RUNNING}
        if revision.process in running:
            self._processes.stop(revision.process)
            self._tell(revision.name, f"stopped {revision.process}")

    # Status

    def _healthy(self, revision: Revision) -> None:
        self._patch(revision, {"conditions": _with(revision, "True", "HealthyPackageRevision", "")})
        self._tell(revision.name, f"{revision.process} is healthy")

    def _unhealthy(self, revision: Revision, message: str) -> None:
        if revision.condition("RuntimeHealthy").get("message") != message:
            conditions = _with(revision, "False", "UnhealthyPackageRevision", message)
            self._patch(revision, {"conditions": conditions})
            self._tell(revision.name, message)

    def _patch(self, revision: Revision, status: JsonObject) -> None:
        version = revision.object["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "status": status}
        self._client.patch(revision.kind, ObjectKey("", revision.name), body, subresource="status")

    def _ready(self, probe: Probe | None) -> bool:
        return probe is None or probe.ready()

    def _tell(self, about: str, line: str) -> None:
        """Log a line, but not the same one again and again."""
        if self._said.get(about) != line:
            self._said[about] = line
            self._say(f"{about}: {line}")


def _with(revision: Revision, status: str, reason: str, message: str) -> list[JsonObject]:
    """The revision's conditions with RuntimeHealthy changed."""
    changed = {
        "type": "RuntimeHealthy",
        "status": status,
        "reason": reason,
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **({"message": message} if message else {}),
    }
    others = [c for c in revision.status.get("conditions") or () if c["type"] != "RuntimeHealthy"]
    return [*others, changed]


def _deployment(
    revision: Revision, account: str, config: JsonObject, settings: Mapping[str, Any]
) -> JsonObject:
    labels = {"pkg.crossplane.io/revision": revision.name}
    container = {**_container(config), "name": _CONTAINER, "image": revision.image}
    container.setdefault("command", settings.get("Entrypoint"))
    pod = {"serviceAccountName": account, "containers": [container]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return revision.owned("apps/v1", "Deployment", revision.name, spec=spec)


def _account_name(config: JsonObject) -> str:
    template = config.get("spec", {}).get("serviceAccountTemplate") or {}
    return str((template.get("metadata") or {}).get("name") or "")


def _container(config: JsonObject) -> JsonObject:
    pod = (config.get("spec", {}).get("deploymentTemplate") or {}).get("spec", {}).get("template", {})
    containers = (pod.get("spec") or {}).get("containers") or ()
    return dict(next((c for c in containers if c["name"] == _CONTAINER), {}))


def _private(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o444)  # the folder of the sandbox is closed to other users
    path.write_bytes(content)


def main(arguments: list[str]) -> int:
    """Run for the sandbox NAME in the folder CACHE, the two arguments."""
    cache, name = arguments
    ExternalRuntime(Layout(Path(cache), name), lambda line: print(line, flush=True)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
