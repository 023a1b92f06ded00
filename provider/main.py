"""The provider's process: flags, and the one place where its parts are wired.

Exit codes: 0 stopped as asked, 1 could not start, was cut off while stopping or lost the leadership, 2 wrong
flags.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import click
import structlog

from apis import kinds
from apis.kinds import Kind
from edgetenants_runtime import logs
from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.clock import Clock, RemoteClock, SystemClock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed, ManagedKind, ResourceKind
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.process.controller import Controller
from edgetenants_runtime.process.health import Starting
from edgetenants_runtime.providerconfigs import ConfigKinds
from provider import installation, options, waiting
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.metrics import Gauges, Instruments
from provider.cloudfront.clients.connector import GroupConnector, TenantConnector
from provider.cloudfront.rehearsal import sight
from provider.cloudfront.safety.context import Peers
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains
from provider.options import Policy
from provider.records.config_maps import DomainRecords
from provider.records.rounds import Claims, Rounds
from provider.records.use import Looks

__all__ = ["main"]

_log = structlog.get_logger("provider.main")

_MOST_FILES = 65_536
_RESTRICTED = ("endpoint", "webIdentity")
"""What a ProviderConfig in a namespace may not set: it would send requests elsewhere, or borrow the
provider's identity."""
_CREDENTIALED = ("assumeRoleChain",)
"""What it may set with credentials of its own only: it would begin with the provider's identity."""
_SECRETS = ("credentials.secretRef", "dns.rfc2136.tsigSecretRef")
"""Where ProviderConfigs refer to Secrets."""


@dataclass(frozen=True)
class Tree:
    """One API tree: Crossplane v2's, or the cluster-scoped one."""

    tenant: Kind
    group: Kind
    configs: tuple[Kind, ...]
    usage: Kind


TREES = (
    Tree(
        kinds.DISTRIBUTION_TENANT,
        kinds.CONNECTION_GROUP,
        (kinds.PROVIDER_CONFIG, kinds.CLUSTER_PROVIDER_CONFIG),
        kinds.PROVIDER_CONFIG_USAGE,
    ),
    Tree(
        kinds.LEGACY_DISTRIBUTION_TENANT,
        kinds.LEGACY_CONNECTION_GROUP,
        (kinds.LEGACY_PROVIDER_CONFIG,),
        kinds.LEGACY_PROVIDER_CONFIG_USAGE,
    ),
)
"""Both are wired always; a kind whose CRD is not there is waited for."""


def wire(client: KubeClient, clock: Clock, settings: Settings, policy: Policy) -> Manager:
    """Put the parts together."""
    manager = Manager(client, clock, settings)
    accounts = Accounts(clock, Instruments(manager.metrics.registry))
    tenants: list[Controller] = []
    groups: list[Controller] = []
    everyone = lambda: chain(resources(tenants), resources(groups))  # noqa: E731 - of both trees
    kept = keep_domains(manager, client, clock, settings, policy, everyone)
    looked = accounts.instruments.tenants
    manager.metrics.registry.register(Gauges(lambda: resources(tenants), looked, lambda: accounts.pauses))
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
        configs.on_removal(accounts.gone)
        kinds_of_tree = (
            (tree.tenant, TenantConnector, tenants),
            (tree.group, GroupConnector, groups),
        )
        for kind, connect, controllers in kinds_of_tree:
            connector = connect(
                configs,
                accounts,
                installation=policy.installation,
                drift_policy=policy.drift,
                read_only=policy.read_only,
                peers=namesakes(controllers),
                everyone=everyone,
                poll_seconds=settings.poll_interval,
                kept=kept,
            )
            controllers.append(manager.manage(managed_kind(kind), connector, configs))
    waiting.follow(tenants)
    return manager


def keep_domains(
    manager: Manager,
    client: KubeClient,
    clock: Clock,
    settings: Settings,
    policy: Policy,
    everyone: Callable[[], Iterable[Managed]],
) -> KeptDomains:
    """The records of who has which domain and name; `everyone` are the managed resources of both trees."""
    if not policy.keep_domains:
        return NOTHING
    looks = Looks(clock, settings.poll_interval)
    records = DomainRecords(client, settings.namespace, looks)
    rounds = Rounds(
        records,
        looks,
        Claims(client),
        keep=policy.keep_domains,
        everyone=everyone,
        everything_read=manager.everything_read,
    )
    manager.repeat("kept domains", rounds.round)
    return records


def namesakes(controllers: Sequence[Controller]) -> Peers:
    """Finds the other managed resources, of either tree, that lead to the same external resource."""

    return lambda mr, names: sight.namesakes(mr, names, resources(controllers))


def resources(controllers: Sequence[Controller]) -> Iterable[Managed]:
    """The managed resources of these controllers, as they are cached."""
    for controller in controllers:
        cache = controller.informer.cache
        for obj in filter(None, map(cache.get, cache.keys())):
            yield Managed(obj)


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
        references=kind.references,
        late_initialized=kind.late_initialized,
    )


_EPILOG = (
    "Each flag is an environment variable too: --poll-interval is EDGETENANTS_POLL_INTERVAL, and a switch "
    "such as --read-only takes true or false. Exit codes: 0 stopped as asked; 1 could not start, was cut off "
    "while stopping, or lost the leadership; 2 wrong flags."
)


@click.command(
    cls=options.Command,
    add_help_option=False,
    epilog=_EPILOG,
    context_settings={
        "auto_envvar_prefix": "EDGETENANTS",
        "show_default": True,
        "max_content_width": 110,
    },
)
@options.options
@click.pass_context
def main(context: click.Context, /, **_options: object) -> None:
    """Reconcile DistributionTenants and ConnectionGroups against Amazon CloudFront, until SIGTERM."""
    given = context.params
    logs.configure(logs.LogFormat(given["log_format"]), debug=given["debug"])
    try:
        settings = options.settings(given)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    sys.exit(run(given, settings))


def raise_file_limit() -> None:
    """Take as many open files as the process may have: container runtimes start it with 1024, which some
    hundred ProviderConfigs use up, and then nobody can connect to its health port."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def run(given: Mapping[str, Any], settings: Settings) -> int:
    """Start, and run until told to stop; the process's exit code."""
    raise_file_limit()
    try:
        client = connect(options.text(given["kubeconfig"]))
        policy = options.policy(given, installation_id(given, client, settings))
        clock = start_clock(options.text(given["clock_url"]))
        return started(wire(client, clock, settings, policy))
    except StartFailed as error:
        _log.error("cannot start", error=str(error))
        return 1


def started(manager: Manager) -> int:
    """Run until told to stop; the process's exit code.

    Raises:
        StartFailed: a port is taken.
    """
    try:
        return manager.run()
    except OSError as error:
        raise _port_taken(error) from error


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


def installation_id(given: Mapping[str, Any], client: KubeClient, settings: Settings) -> str:
    """Who this installation is to AWS. Probes are answered while it is waited for.

    Raises:
        StartFailed: the id cannot be one, or cannot be kept; or the health port is taken.
    """
    try:
        id_ = options.text(given["installation_id"])
        if id_:
            return installation.validate(id_, "--installation-id")
        namespace = options.text(given["namespace"]) or options.own_namespace()
        with Starting(settings.health_address, settings.health_port) as starting:
            return installation.get_or_create(client, namespace, starting.tell)
    except (installation.InvalidInstallation, KubeError) as error:
        raise StartFailed(str(error)) from error
    except OSError as error:
        raise _port_taken(error) from error


def _port_taken(error: OSError) -> StartFailed:
    return StartFailed(f"--health-port or --metrics-port: {error}")


def start_clock(url: str | None) -> Clock:
    """The injected clock."""
    if not url:
        return SystemClock()
    clock = RemoteClock(url)
    clock.start()
    return clock


if __name__ == "__main__":
    main()
