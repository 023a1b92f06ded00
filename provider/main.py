"""The provider's process: its flags, and the only place that wires its parts.

Exit codes: 0 stopped on request; 1 could not start, was interrupted while stopping, or lost leadership;
2 invalid flags.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import click
import structlog

from apis import kinds
from apis.kinds import Kind
from edgetenants_runtime import logs, open_files
from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed, ManagedKind, ProviderConfigKey, ResourceKind
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.process.controller import BY_PROVIDER_CONFIG, Controller
from edgetenants_runtime.process.health import Starting
from edgetenants_runtime.process.start import StartFailed, connect, start_clock
from edgetenants_runtime.providerconfigs import ConfigKinds, ProviderConfigs
from edgetenants_runtime.queueing.queue import Priority
from provider import installation, options, waiting
from provider.admission import rules
from provider.admission.facts import KnownFacts, does_not_exist
from provider.admission.rules import Facts
from provider.cloudfront.account import dns_servers
from provider.cloudfront.account.dns_servers import Allowed, DnsServers
from provider.cloudfront.account.hosted_dns import Clients
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.account.team_configs import RESTRICTIONS
from provider.cloudfront.aws.metrics import Gauges, Instruments
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces
from provider.cloudfront.clients.connector import DNS_CONFIG, GroupConnector, TenantConnector
from provider.cloudfront.domain import moves
from provider.cloudfront.domain.public_look import PublicDns
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.domain.text_lookup import Resolvers
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.quota.quotas import Wake
from provider.cloudfront.quota.waiting import Waiting
from provider.cloudfront.rehearsal import sight
from provider.cloudfront.safety.dependencies import Peers
from provider.cloudfront.safety.guards import CONFIRM_ANNOTATION, DRY_RUN_ANNOTATION
from provider.cloudfront.safety.holds import ConfigOf
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains
from provider.cloudfront.state.creating import CREATING_IN
from provider.cloudfront.state.identity import DEDICATED_ANNOTATION
from provider.cloudfront.sweep.sweeps import Sweeps, Tally
from provider.cloudfront.sweep.watching import Follower
from provider.dns.public import Authoritative, Lookup, Recursive, Server, SystemResolvers
from provider.options import DnsCheck, Policy, Webhooks
from provider.records.config_maps import DomainRecords
from provider.records.rounds import Claims, Rounds
from provider.records.use import Looks

__all__ = ["main"]

_log = structlog.get_logger("provider.main")

_SECRETS = ("credentials.secretRef", *(each.path for each in dns_servers.SECRETS))
"""Fields in which ProviderConfigs refer to Secrets."""

_LOOKUP_SECONDS = 3.0
"""The longest lookup of a record in public DNS; a worker waits for it."""

_ANNOTATIONS = {
    **dict.fromkeys(
        (ADOPT_ANNOTATION, CONFIRM_ANNOTATION, CREATING_IN, DEDICATED_ANNOTATION, DRY_RUN_ANNOTATION),
        LONGEST_ANNOTATION,
    ),
    **moves.LONGEST,
}
"""What the provider reads of the annotations of managed resources, in characters. It does not keep others."""


@dataclass(frozen=True)
class Tree:
    """One API tree: that of Crossplane v2, or the cluster-scoped one."""

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
"""The provider always wires both trees, and waits for kinds whose CRD does not exist."""


def wire(
    client: KubeClient, clock: Clock, settings: Settings, policy: Policy, webhooks: Webhooks | None = None
) -> Manager:
    """Wire the parts. Raises StartFailed if the port of the webhooks is in use."""
    manager = Manager(client, clock, settings)
    tenants: list[Controller] = []
    groups: list[Controller] = []
    instruments = Instruments(manager.metrics.registry)
    sweeps = sweeping(clock, settings, tenants, instruments.sweeps) if policy.sweep else None
    places = WaitingPlaces(settings.workers)
    sharded = settings.election is not None and settings.election.shards > 1
    accounts = Accounts(
        clock,
        instruments,
        settings.workers,
        sweeps,
        places,
        check_seconds=policy.check_seconds,
        wake=waking(tenants, groups),
        mine=manager.mine if sharded else None,
    )
    servers = DnsServers(
        clock,
        Allowed(policy.namespaced_dns_servers, all=policy.allow_namespaced_identity),
        Clients.at(policy.cloudflare_url, policy.azure_url),
    )
    waiters: list[waiting.Waiter] = []
    configs_of: dict[str, ProviderConfigs] = {}
    everyone = lambda: chain(resources(tenants), resources(groups))  # noqa: E731 - of both trees
    mine = (lambda mr: configs_of[mr.api_version].mine(mr)) if sharded else None
    kept = keep_domains(manager, client, clock, settings, policy, everyone, mine=mine)
    proofs = DomainProofs(clock, Resolvers(policy.resolvers), policy.proof, policy.check_seconds)
    public = PublicDns(public_lookup(policy), clock)
    ages = sweeps.ages if sweeps else dict
    gauges = Gauges(
        lambda: resources(tenants),
        instruments.tenants,
        lambda: accounts.pauses,
        sweeps=ages,
        quotas=lambda: accounts.quotas,
    )
    manager.metrics.registry.register(gauges)
    shared_configs = lambda: _of_all(configs_of.values())  # noqa: E731 - of both trees
    config_of: ConfigOf = lambda mr: configs_of[mr.api_version].stored(mr)  # noqa: E731 - as above
    if webhooks is not None:
        facts = KnownFacts(
            kept if isinstance(kept, DomainRecords) else None,
            accounts,
            config_of,
            lookup=does_not_exist if webhooks.dns else None,
        )
        admit(manager, webhooks, facts, settings.namespace)
    for tree in TREES:
        configs = manager.configs(
            ConfigKinds(
                configs=tuple(resource_kind(kind) for kind in tree.configs),
                usage=resource_kind(tree.usage),
                restricted_fields=RESTRICTIONS.fields,
                credentialed_fields=RESTRICTIONS.begun_by_credentials,
                secret_paths=_SECRETS,
                annotations={CONFIRM_ANNOTATION: LONGEST_ANNOTATION},
                owner_field="accountId",
            ),
            allow_namespaced_identity=policy.allow_namespaced_identity,
        )
        configs.on_removal(accounts.gone)
        configs.on_removal(servers.gone)
        configs.on_appearance(accounts.back)
        configs_of[tree.tenant.api_version] = configs
        kinds_of_tree = (
            (tree.tenant, TenantConnector, tenants),
            (tree.group, GroupConnector, groups),
        )
        for kind, connector_of, controllers in kinds_of_tree:
            connector = connector_of(
                configs,
                accounts,
                installation=policy.installation,
                drift_policy=policy.drift,
                read_only=policy.read_only,
                peers=namesakes(controllers),
                everyone=everyone,
                config_of=config_of,
                poll_seconds=settings.poll_interval,
                kept=kept,
                shared_configs=shared_configs,
                proofs=proofs,
                public=public,
                servers=servers,
            )
            controllers.append(manager.manage(managed_kind(kind), connector, configs))
            if controllers is tenants:
                controllers[-1].follow_too(configs, DNS_CONFIG)
                waiters.append(waiting.Waiter(controllers[-1], connector.woken))
    waiting.follow(waiters)
    return manager


def sweeping(clock: Clock, settings: Settings, tenants: Sequence[Controller], tally: Tally) -> Sweeps:
    """Return the sweeps, which wake the tenants of these controllers. A restart or a change of leader starts
    them with the first reconcile."""

    def users(config: ProviderConfigKey) -> int:
        found = (each.informer.cache.keys_by_index(BY_PROVIDER_CONFIG, str(config)) for each in tenants)
        return sum(map(len, found))

    def wake(followers: Iterable[Follower], *, changed: bool) -> None:
        controllers = {each.kind.api_version: each for each in tenants}
        for follower in followers:
            priority = Priority.DRIFT if changed else Priority.POLL
            controllers[follower.api_version].enqueue(follower.key, priority)

    return Sweeps(clock, settings.poll_interval, users=users, wake=wake, tally=tally)


def waking(tenants: Sequence[Controller], groups: Sequence[Controller]) -> Wake:
    """Return what reconciles the resources that wait for room in an account, once it may be their turn."""

    def wake(waiting: Iterable[Waiting]) -> None:
        controllers = {(each.kind.api_version, each.kind.kind): each for each in (*tenants, *groups)}
        for each in waiting:
            controllers[each.api_version, each.kind].enqueue(each.key)

    return wake


def _of_all(trees: Iterable[ProviderConfigs]) -> list[Mapping[str, Any]] | None:
    """The provider configs that all namespaces can use; None if not all were read."""
    found = [configs.cluster_scoped() for configs in trees]
    return None if None in found else [each for configs in found for each in configs or ()]


def admit(manager: Manager, webhooks: Webhooks, facts: Facts, namespace: str) -> None:
    """Serve the webhooks. Without a usable certificate, the provider works without them: they give early
    feedback only.

    Raises:
        StartFailed: their port is in use.
    """
    if problem := webhooks.certificate.problem:
        _log.error(
            "cannot use the certificate of the webhooks, so writes are not checked; correct the files of "
            "--webhook-certificates and restart",
            error=problem,
        )
        return
    checks = rules.checks(facts, namespace)
    try:
        manager.admit(webhooks.address, webhooks.port, webhooks.certificate, checks)
    except OSError as error:
        raise StartFailed(f"--webhook-port {webhooks.port}: {error}") from error


def keep_domains(  # noqa: PLR0913 - the parts that it wires
    manager: Manager,
    client: KubeClient,
    clock: Clock,
    settings: Settings,
    policy: Policy,
    everyone: Callable[[], Iterable[Managed]],
    *,
    mine: Callable[[Managed], bool] | None = None,
) -> KeptDomains:
    """Return the records of which namespace has which domain and name; `everyone` yields the managed
    resources of both trees, and `mine` returns whether this process reconciles one (None: it does)."""
    if not policy.keep_domains:
        return NOTHING
    looks = Looks(clock, settings.poll_interval)
    records = DomainRecords(client, settings.namespace, looks, shared=mine is not None)
    if mine is not None:
        manager.before_shard(records.begin_again)
    rounds = Rounds(
        records,
        looks,
        Claims(client),
        keep=policy.keep_domains,
        everyone=everyone,
        everything_read=manager.everything_read,
        mine=mine,
    )
    manager.repeat("kept domains", rounds.round)
    return records


def public_lookup(policy: Policy) -> Lookup | None:
    """Return where the provider looks for the records of tenants; None if it does not."""
    if policy.dns_check is DnsCheck.OFF:
        return None
    servers = tuple(Server(*each) for each in policy.resolvers)
    resolvers: Lookup = SystemResolvers(total=_LOOKUP_SECONDS)
    if servers:
        resolvers = Recursive(servers, total=_LOOKUP_SECONDS)
    return Authoritative(resolvers) if policy.dns_check is DnsCheck.AUTHORITATIVE else resolvers


def namesakes(controllers: Sequence[Controller]) -> Peers:
    """Return a search for other managed resources, of both trees, with the same external resource."""

    return lambda mr, names: sight.namesakes(mr, names, resources(controllers))


def resources(controllers: Sequence[Controller]) -> Iterable[Managed]:
    """Yield the cached managed resources of these controllers."""
    for controller in controllers:
        cache = controller.informer.cache
        for obj in filter(None, map(cache.get, cache.keys())):
            yield Managed(obj)


def resource_kind(kind: Kind) -> ResourceKind:
    """Return the runtime's description of one of our kinds."""
    return ResourceKind(
        kind.group, kinds.VERSION, kind.kind, kind.plural, namespaced=kind.scope is Scope.NAMESPACED
    )


def managed_kind(kind: Kind) -> ManagedKind:
    """Return the runtime's description of a managed kind. Its name in CloudFront is the external name, known
    before the creation."""
    return ManagedKind(
        kind.group,
        kinds.VERSION,
        kind.kind,
        kind.plural,
        namespaced=kind.scope is Scope.NAMESPACED,
        deterministic_name=True,
        references=kind.references,
        annotations=_ANNOTATIONS,
        late_initialized=kind.late_initialized,
    )


_EPILOG = (
    "You can also set each flag by an environment variable: --poll-interval is EDGETENANTS_POLL_INTERVAL; a "
    "switch such as --read-only takes true or false. Exit codes: 0 stopped on request; 1 could not start, "
    "was interrupted while stopping, or lost leadership; 2 invalid flags."
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


def run(given: Mapping[str, Any], settings: Settings) -> int:
    """Start, run until stopped, and return the exit code."""
    open_files.raise_limit()
    try:
        client = connect(options.text(given["kubeconfig"]), "provider-edgetenants")
        policy = options.policy(given, installation_id(given, client, settings))
        clock = start_clock(options.text(given["clock_url"]))
        return started(wire(client, clock, settings, policy, options.webhooks(given)))
    except StartFailed as error:
        _log.error("cannot start", error=str(error))
        return 1


def started(manager: Manager) -> int:
    """Run until stopped, and return the exit code.

    Raises:
        StartFailed: a port is in use.
    """
    try:
        return manager.run()
    except OSError as error:
        raise _port_taken(error) from error


def installation_id(given: Mapping[str, Any], client: KubeClient, settings: Settings) -> str:
    """Return the installation id. The provider answers probes while it waits for the id.

    Raises:
        StartFailed: the id is invalid or cannot be stored, or the health port is in use.
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


if __name__ == "__main__":
    main()
