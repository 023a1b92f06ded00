"""The command lines of a sandbox's processes.

tier 0   etcd (envtest only)
tier 1   apiserver · collector (envtest only)
tier 2   crossplane · emulator · function · provider
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.manifests import NAMESPACE
from sandbox.pki import Pair, Pki
from sandbox.specs import Probe, ProcessSpec
from sandbox.state import ControlPlane, Layout

__all__ = ["Programs", "installation_in", "port_names", "provider_ports"]

_HOST = "127.0.0.1"
# The sandbox must never use the user's credentials for a real AWS account.
_NO_ACCOUNT = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
# The rest of the caller's environment is left out: its KUBECONFIG and AWS_* do not belong to the sandbox, and
# its proxies cannot reach our loopback ports.
_INHERITED = (
    "GOGC",
    "HOME",
    "LANG",
    "LC_ALL",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
)
# There is only one replica, and after a kill the next one must not wait until the Lease expires.
_ALONE = ("--no-leader-election",)


def port_names(kind: ControlPlane, *, control_plane_only: bool, packages: bool = False) -> tuple[str, ...]:
    """The names of the ports that a sandbox of that kind needs."""
    control_plane = () if kind is ControlPlane.GIVEN else ("apiserver", "etcd", "etcd-peer")
    core = ("crossplane-metrics", "crossplane-health")
    if packages:  # the external runtime chooses those of functions and providers
        return (*control_plane, *core, "crossplane-webhooks", "emulator", "registry")
    rest = (*core, "emulator", "function", *provider_ports("provider"))
    return control_plane if control_plane_only else control_plane + rest


def installation_in(cluster: ControlPlane, sandbox: str) -> str:
    """The provider's installation id, or "" if the provider generates one and keeps it in the cluster."""
    return f"sandbox-{sandbox[:30]}" if cluster is ControlPlane.GIVEN else ""


def provider_ports(name: str) -> tuple[str, str]:
    """The names of a provider process's ports."""
    return f"{name}-health", f"{name}-metrics"


@dataclass(frozen=True)
class Programs:
    """Creates the specs of the processes of one sandbox."""

    layout: Layout
    ports: Mapping[str, int]
    pki: Pki

    @property
    def server(self) -> str:
        """The URL of our own API server."""
        return f"https://{_HOST}:{self.ports['apiserver']}"

    @property
    def endpoint(self) -> str:
        """The URL of the emulator, used as the AWS endpoint."""
        return f"http://{_HOST}:{self.ports['emulator']}"

    def built_apiserver(self, binary: Path) -> ProcessSpec:
        """API server, etcd and collector in one process, built from the published libraries."""
        return self._spec(
            "apiserver",
            binary,
            f"--dir={self.layout.directory}",
            f"--port={self.ports['apiserver']}",
            f"--etcd-port={self.ports['etcd']}",
            f"--etcd-peer-port={self.ports['etcd-peer']}",
            f"--audit-log={self.layout.audit_log}",
            ports=("apiserver", "etcd", "etcd-peer"),
            probe=self._apiserver_probe(),
            tier=1,
        )

    def etcd(self, binary: Path) -> ProcessSpec:
        """etcd as envtest starts it (controller-runtime, pkg/internal/testing/controlplane/etcd.go)."""
        clients, peers = (f"http://{_HOST}:{self.ports[name]}" for name in ("etcd", "etcd-peer"))
        return self._spec(
            "etcd",
            binary,
            f"--data-dir={self.layout.directory / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            "--unsafe-no-fsync=true",
            ports=("etcd", "etcd-peer"),
            probe=Probe(f"{clients}/health"),
            tier=0,
        )

    def kube_apiserver(self, binary: Path, audit_policy: Path) -> ProcessSpec:
        """kube-apiserver as envtest starts it (apiserver.go in the same package), with an audit log."""
        accounts = self.pki.service_accounts
        return self._spec(
            "apiserver",
            binary,
            f"--etcd-servers=http://{_HOST}:{self.ports['etcd']}",
            f"--bind-address={_HOST}",
            f"--secure-port={self.ports['apiserver']}",
            f"--cert-dir={self.layout.pki}",
            f"--tls-cert-file={self.pki.apiserver.certificate}",
            f"--tls-private-key-file={self.pki.apiserver.key}",
            f"--client-ca-file={self.pki.ca}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--disable-admission-plugins=ServiceAccount",
            f"--service-account-issuer={self.server}/",
            f"--service-account-key-file={accounts.certificate}",
            f"--service-account-signing-key-file={accounts.key}",
            f"--audit-policy-file={audit_policy}",
            f"--audit-log-path={self.layout.audit_log}",
            ports=("apiserver",),
            probe=self._apiserver_probe(),
            tier=1,
        )

    def collector(self, binary: Path) -> ProcessSpec:
        """The collector of garbage and namespaces, for an API server without one."""
        return self._spec("collector", binary, f"--kubeconfig={self.layout.admin_kubeconfig}", tier=1)

    def crossplane(
        self,
        binary: Path,
        *,
        caller: Mapping[str, str],
        flags: tuple[str, ...] = (),
        webhooks: bool = False,
    ) -> ProcessSpec:
        """Crossplane core as admin. It may need the caller's environment to log in to a given cluster.

        Only with its webhooks, core also reconciles Usages.
        """
        names = ("crossplane-metrics", "crossplane-health", *(("crossplane-webhooks",) if webhooks else ()))
        packages = self.layout.directory / "xpkg"
        packages.mkdir(exist_ok=True)
        return self._spec(
            "crossplane",
            binary,
            "core",
            "start",
            *flags,
            env={
                **caller,
                "KUBECONFIG": str(self.layout.admin_kubeconfig),
                "TLS_CLIENT_CERTS_DIR": str(self.pki.crossplane.certificate.parent),
                "PACKAGE_RUNTIME": "External",
                **(self._webhooks() if webhooks else {"ENABLE_WEBHOOKS": "false"}),
                "XPKG_CACHE_DIR": str(packages),
                "METRICS_PORT": str(self.ports["crossplane-metrics"]),
                "HEALTH_PROBE_PORT": str(self.ports["crossplane-health"]),
                "POD_NAMESPACE": NAMESPACE,
                "POD_SERVICE_ACCOUNT": "crossplane",
            },
            ports=names,
            probe=Probe(f"http://{_HOST}:{self.ports['crossplane-health']}/readyz"),
            tier=2,
        )

    def _webhooks(self) -> Mapping[str, str]:
        return {
            "ENABLE_WEBHOOKS": "true",
            "WEBHOOK_PORT": str(self.ports["crossplane-webhooks"]),
            "TLS_SERVER_CERTS_DIR": str(self.pki.webhooks.certificate.parent),
        }

    def rbac_manager(self, binary: Path) -> ProcessSpec:
        """Crossplane's RBAC manager, which grants providers their rules."""
        environment = {"KUBECONFIG": str(self.layout.admin_kubeconfig)}
        return self._spec("rbac-manager", binary, "rbac", "start", env=environment, tier=2)

    def registry(self, binary: Path) -> ProcessSpec:
        """A registry for the packages, with its blobs in the sandbox's folder."""
        port = self.ports["registry"]
        blobs = self.layout.directory / "registry"
        probe = Probe(f"http://{_HOST}:{port}/v2/")
        return self._spec(
            "registry", binary, f"--port={port}", f"--blobs={blobs}", ports=("registry",), probe=probe, tier=1
        )

    def package_runtime(self) -> ProcessSpec:
        """The external runtime of packages."""
        arguments = (str(self.layout.cache), self.layout.name)
        return self._python("package-runtime", "sandbox.packages.external", *arguments, ports=(), probe=None)

    def emulator(self) -> ProcessSpec:
        """The emulator: CloudFront, ACM and the admin API."""
        arguments = (f"--host={_HOST}", f"--port={self.ports['emulator']}")
        probe = Probe(f"{self.endpoint}/_edgetenants/health")
        return self._python(
            "emulator", "edgetenants_emulator.main", *arguments, ports=("emulator",), probe=probe
        )

    def function(self) -> ProcessSpec:
        """The composition function over mutual TLS."""
        address = f"{_HOST}:{self.ports['function']}"
        certificates = self.pki.function.certificate.parent
        probe = _with_pair(f"tls://{address}", self.pki.crossplane)
        arguments = (f"--address={address}", f"--tls-certs-dir={certificates}")
        return self._python("function", "function.main", *arguments, ports=("function",), probe=probe)

    def provider(
        self, installation: str = "", *, name: str = "provider", flags: tuple[str, ...] = _ALONE
    ) -> ProcessSpec:
        """A provider with its ServiceAccount and the emulator's clock.

        With an installation id, the provider stores neither an id nor domain records in the cluster, so it
        leaves nothing there.
        """
        ports = provider_ports(name)
        health, metrics = (self.ports[port] for port in ports)
        return self._python(
            name,
            "provider.main",
            f"--kubeconfig={self.layout.provider_kubeconfig}",
            f"--clock={self.endpoint}/_edgetenants/clock",
            f"--health-address={_HOST}",
            f"--health-port={health}",
            f"--metrics-address={_HOST}",
            f"--metrics-port={metrics}",
            "--log-format=console",
            *([f"--installation-id={installation}", "--keep-domains=0"] if installation else []),
            *flags,
            # In the emulator's log, the app of a call is the process that made it.
            # The sandbox's domains are not in public DNS.
            env={
                "POD_NAMESPACE": NAMESPACE,
                "AWS_SDK_UA_APP_ID": name,
                "EDGETENANTS_DNS_CHECK": "off",
            },
            ports=ports,
            probe=Probe(f"http://{_HOST}:{health}/readyz"),
        )

    def sources(
        self, kubeconfig: Path, *, name: str = "sources", flags: tuple[str, ...] = _ALONE
    ) -> ProcessSpec:
        """A process that makes tenants from tables, with its ServiceAccount and the emulator's clock."""
        ports = provider_ports(name)
        health, metrics = (self.ports[port] for port in ports)
        return self._python(
            name,
            "sources.main",
            f"--kubeconfig={kubeconfig}",
            f"--clock={self.endpoint}/_edgetenants/clock",
            f"--health-address={_HOST}",
            f"--health-port={health}",
            f"--metrics-address={_HOST}",
            f"--metrics-port={metrics}",
            "--log-format=console",
            *flags,
            env={"POD_NAMESPACE": NAMESPACE},
            ports=ports,
            probe=Probe(f"http://{_HOST}:{health}/readyz"),
        )

    def _python(
        self,
        name: str,
        module: str,
        *args: str,
        ports: tuple[str, ...],
        probe: Probe | None,
        env: Mapping[str, str] | None = None,
    ) -> ProcessSpec:
        # For provider configs without an endpoint. Those in a namespace must not set one.
        emulated = {"AWS_ENDPOINT_URL": self.endpoint}
        environment = {"PYTHONUNBUFFERED": "1", **_NO_ACCOUNT, **emulated, **(env or {})}
        return self._spec(
            name, Path(sys.executable), "-m", module, *args, env=environment, ports=ports, probe=probe, tier=2
        )

    def _spec(
        self,
        name: str,
        binary: Path,
        *args: str,
        env: Mapping[str, str] | None = None,
        ports: tuple[str, ...] = (),
        probe: Probe | None = None,
        tier: int,
    ) -> ProcessSpec:
        inherited = {k: os.environ[k] for k in _INHERITED if k in os.environ}
        return ProcessSpec(
            name=name,
            argv=(str(binary), *args),
            log=str(self.layout.log(name)),
            env={**inherited, **(env or {})},
            ports=tuple(self.ports[p] for p in ports),
            probe=probe,
            tier=tier,
        )

    def _apiserver_probe(self) -> Probe:
        return _with_pair(f"{self.server}/readyz", self.pki.admin)


def _with_pair(url: str, pair: Pair) -> Probe:
    return Probe(url, ca=str(pair.ca), certificate=str(pair.certificate), key=str(pair.key))
