"""The provider's process: flags, and the one place where its parts are wired.

Exit codes: 0 stopped as asked, 1 could not start or was cut off while stopping, 2 wrong flags.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import structlog

from apis import kinds
from apis.drift import DriftPolicy
from apis.kinds import Kind
from edgetenants_runtime import logs
from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.clock import Clock, RemoteClock, SystemClock
from edgetenants_runtime.controller import Controller
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed, ManagedKind, ResourceKind
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.providerconfigs import ConfigKinds
from provider import installation
from provider.cloudfront.aws import Accounts
from provider.cloudfront.connector import TenantConnector

__all__ = ["main"]

_log = structlog.get_logger("provider.main")

_RESTRICTED = ("endpoint", "webIdentity")
"""What a ProviderConfig in a namespace may not set: it would send requests elsewhere, or borrow the
provider's identity."""
_CREDENTIALED = ("assumeRoleChain",)
"""What it may set with credentials of its own only: it would begin with the provider's identity."""
_SECRETS = ("credentials.secretRef", "dns.rfc2136.tsigSecretRef")
"""Where ProviderConfigs refer to Secrets."""
_SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True)
class Tree:
    """One API tree: Crossplane v2's, or the cluster-scoped one."""

    tenant: Kind
    configs: tuple[Kind, ...]
    usage: Kind


TREES = (
    Tree(
        kinds.DISTRIBUTION_TENANT,
        (kinds.PROVIDER_CONFIG, kinds.CLUSTER_PROVIDER_CONFIG),
        kinds.PROVIDER_CONFIG_USAGE,
    ),
    Tree(
        kinds.LEGACY_DISTRIBUTION_TENANT,
        (kinds.LEGACY_PROVIDER_CONFIG,),
        kinds.LEGACY_PROVIDER_CONFIG_USAGE,
    ),
)
"""Both are wired always; a kind whose CRD is not there is waited for."""


@dataclass(frozen=True)
class Policy:
    """What the flags say about all tenants."""

    installation: str
    drift: DriftPolicy
    read_only: bool
    allow_namespaced_identity: bool


def wire(client: KubeClient, clock: Clock, settings: Settings, policy: Policy) -> Manager:
    """Put the parts together."""
    manager = Manager(client, clock, settings)
    accounts = Accounts(clock)
    controllers: list[Controller] = []
    for tree in TREES:
        configs = manager.configs(
            ConfigKinds(
                configs=tuple(resource_kind(kind) for kind in tree.configs),
                usage=resource_kind(tree.usage),
                restricted_fields=_RESTRICTED,
                credentialed_fields=_CREDENTIALED,
                secret_paths=_SECRETS,
            ),
            allow_namespaced_identity=policy.allow_namespaced_identity,
        )
        connector = TenantConnector(
            configs,
            accounts,
            installation=policy.installation,
            drift_policy=policy.drift,
            read_only=policy.read_only,
            peers=namesakes(controllers),
        )
        controllers.append(manager.manage(managed_kind(tree.tenant), connector, configs))
    return manager


def namesakes(controllers: Sequence[Controller]) -> Callable[[Managed], Iterable[Managed]]:
    """Finds the other managed resources, of either tree, with the same external name."""

    def find(mr: Managed) -> Iterable[Managed]:
        for controller in controllers:
            cache = controller.informer.cache
            for obj in filter(None, map(cache.get, cache.keys())):
                other = Managed(obj)
                if other.uid != mr.uid and (other.external_name or other.name) == mr.external_name:
                    yield other

    return find


def resource_kind(kind: Kind) -> ResourceKind:
    """The runtime's words for a kind of ours."""
    return ResourceKind(
        kind.group, kinds.VERSION, kind.kind, kind.plural, namespaced=kind.scope is Scope.NAMESPACED
    )


def managed_kind(kind: Kind) -> ManagedKind:
    """The same for a managed resource. Its name in CloudFront is the external name, known beforehand."""
    return ManagedKind(
        kind.group,
        kinds.VERSION,
        kind.kind,
        kind.plural,
        namespaced=kind.scope is Scope.NAMESPACED,
        deterministic_name=True,
    )


@click.command(context_settings={"auto_envvar_prefix": "EDGETENANTS", "show_default": True})
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Kubeconfig file; else the pod's own.")
@click.option("--clock", "clock_url", metavar="URL", help="Follow another clock instead of the system's.")
@click.option(
    "--poll-interval",
    type=click.FloatRange(min=1),
    default=60.0,
    help="Seconds between two looks at a tenant while nothing changes.",
)
@click.option(
    "--workers",
    "--max-reconcile-rate",
    "workers",
    type=click.IntRange(1, 256),
    default=8,
    help="Reconciles at once, for each kind.",
)
@click.option(
    "--drift-policy",
    type=click.Choice([policy.value for policy in DriftPolicy]),
    default=DriftPolicy.ENFORCE.value,
    help="What is done about changes made in AWS, where a resource does not say.",
)
@click.option("--read-only", is_flag=True, help="Look at AWS, write nothing there.")
@click.option(
    "--allow-namespaced-identity",
    is_flag=True,
    help="Let ProviderConfigs in namespaces use the provider's own identity and other endpoints.",
)
@click.option("--installation-id", metavar="ID", help="Else from a ConfigMap, which is made where absent.")
@click.option(
    "--namespace",
    envvar=["EDGETENANTS_NAMESPACE", "POD_NAMESPACE"],
    help="Namespace of that ConfigMap; else the pod's own, or crossplane-system.",
)
@click.option("--health-address", default="0.0.0.0", help="Where /healthz and /readyz are served.")  # noqa: S104 - kubelet's probes come from outside the pod
@click.option("--health-port", type=click.IntRange(0, 65535), default=8081, help="0: a free one.")
@click.option(
    "--log-format",
    type=click.Choice([format_.value for format_ in logs.LogFormat]),
    default=logs.LogFormat.JSON.value,
)
@click.option("--debug", is_flag=True, help="Log for developers.")
@click.pass_context
def main(context: click.Context, /, **_options: object) -> None:
    """Reconcile DistributionTenants against Amazon CloudFront."""
    options = context.params
    logs.configure(logs.LogFormat(options["log_format"]), debug=options["debug"])
    sys.exit(run(options))


def run(options: dict[str, object]) -> int:
    """Start, and run until told to stop; the process's exit code."""
    try:
        client = connect(_text(options["kubeconfig"]))
        policy = read_policy(options, client)
        clock = start_clock(_text(options["clock_url"]))
        return wire(client, clock, read_settings(options), policy).run()
    except StartFailed as error:
        _log.error("cannot start", error=str(error))
        return 1


class StartFailed(Exception):  # noqa: N818 - says what happened
    """The provider cannot start; the message names the flag and what to do."""


def connect(kubeconfig: str | None) -> KubeClient:
    """The API server's client.

    Raises:
        StartFailed: the kubeconfig cannot be used, or there is none and this is no pod.
    """
    try:
        if kubeconfig:
            return KubeClient.from_kubeconfig(kubeconfig, field_manager="provider-edgetenants")
        return KubeClient.in_cluster(field_manager="provider-edgetenants")
    except Exception as error:
        where = f"--kubeconfig {kubeconfig}" if kubeconfig else "no --kubeconfig given, and not in a pod"
        raise StartFailed(f"{where}: {error}") from error


def read_policy(options: dict[str, object], client: KubeClient) -> Policy:
    """What the flags say about all tenants.

    Raises:
        StartFailed: the installation id cannot be one, or cannot be kept.
    """
    try:
        id_ = _text(options["installation_id"])
        if id_:
            installation.validate(id_, "--installation-id")
        else:
            id_ = installation.get_or_create(client, _text(options["namespace"]) or own_namespace())
    except (installation.InvalidInstallation, KubeError) as error:
        raise StartFailed(str(error)) from error
    return Policy(
        installation=id_,
        drift=DriftPolicy(str(options["drift_policy"])),
        read_only=bool(options["read_only"]),
        allow_namespaced_identity=bool(options["allow_namespaced_identity"]),
    )


def read_settings(options: dict[str, object]) -> Settings:
    """The manager's settings."""
    return Settings(
        poll_interval=float(str(options["poll_interval"])),
        workers=int(str(options["workers"])),
        namespace=_text(options["namespace"]) or own_namespace(),
        health_address=str(options["health_address"]),
        health_port=int(str(options["health_port"])),
    )


def start_clock(url: str | None) -> Clock:
    """The injected clock."""
    if not url:
        return SystemClock()
    clock = RemoteClock(url)
    clock.start()
    return clock


def own_namespace() -> str:
    """The pod's namespace, or Crossplane's usual one outside a pod."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text().strip() or "crossplane-system"
    except OSError:
        return "crossplane-system"


def _text(value: object) -> str | None:
    return str(value) if value else None


if __name__ == "__main__":
    main()
