"""Connects a managed resource to the AWS account that its provider config names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog

from apis import kinds
from apis.drift import DriftPolicy
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.config.resolved import ConfigResolver, ConfigUse, ResolvedConfig
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import ExternalClient
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from provider.cloudfront.account import dns_servers
from provider.cloudfront.account.dns_servers import DnsServers
from provider.cloudfront.account.record_stores import Records
from provider.cloudfront.account.sessions import Account, Accounts
from provider.cloudfront.aws.hooks import UNKNOWN_ACCOUNT
from provider.cloudfront.clients.connection_group import GroupClient
from provider.cloudfront.clients.metrics import MetricsClient
from provider.cloudfront.clients.progress import ProgressClient, held_up, unresolved, waiting
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.dns.access import DEFAULT_TTL, NOT_ASKED, RecordsAccess
from provider.cloudfront.domain import moves
from provider.cloudfront.domain.public_look import OFF, PublicDns
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.domain.text_lookup import Resolvers
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.rehearsal.dry_run import DryRunClient
from provider.cloudfront.rehearsal.recorder import Recorder
from provider.cloudfront.safety.dependencies import (
    AccountAccess,
    ClusterView,
    Dependencies,
    Everyone,
    Peers,
    Policy,
)
from provider.cloudfront.safety.guards import (
    CONFIRM_ANNOTATION,
    DELETION_PROTECTED,
    DRY_RUN_ANNOTATION,
    is_dry_run,
    is_protected,
)
from provider.cloudfront.safety.holds import ConfigOf, Hold, hold_of
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains, OnlyLooks, OnlyRead
from provider.cloudfront.safety.retry_delays import DelayedRetryClient, RetryDelays
from provider.cloudfront.state.identity import namespace_of
from provider.dns.ownership import Owner

__all__ = ["DNS_CONFIG", "GroupConnector", "SharedConfigs", "TenantConnector"]


def _dns_config(mr: Managed) -> ProviderConfigKey | None:
    ref = (mr.for_provider.get("dns") or {}).get("configRef")
    if not ref:
        return None
    return Managed({**mr.raw, "spec": {"providerConfigRef": ref}}).provider_config_ref


_log = structlog.get_logger("provider.cloudfront.connector")

DNS_CONFIG: Final = ConfigUse("spec.forProvider.dns.configRef", _dns_config, "dns", dns_servers.SECRETS)
"""The provider config whose `dns` has the zones of a tenant's records."""

SharedConfigs = Callable[[], Iterable[Mapping[str, Any]] | None]
"""Returns the provider configs that resources in every namespace can use; None if not all were read."""


class _Connector:
    """The parts that the connectors of all kinds share."""

    def __init__(  # noqa: PLR0913 - the provider's flags, by name
        self,
        configs: ConfigResolver,
        accounts: Accounts,
        *,
        installation: str,
        drift_policy: DriftPolicy = DriftPolicy.ENFORCE,
        read_only: bool = False,
        peers: Peers = lambda *_: (),
        everyone: Everyone = lambda: (),
        config_of: ConfigOf | None = None,
        poll_seconds: float = 60.0,
        kept: KeptDomains = NOTHING,
        shared_configs: SharedConfigs = lambda: (),
        proofs: DomainProofs | None = None,
        servers: DnsServers | None = None,
        public: PublicDns = OFF,
    ) -> None:
        """`peers` finds the other managed resources with the same external resource, `everyone` those of all
        kinds, `config_of` the provider config of one (None: nothing holds it back). `kept` records which
        namespace has which domain and name. `shared_configs` are the provider configs that all namespaces can
        use. `proofs` proves domains (None: with the resolvers of the system). `servers` are the DNS
        servers of all connectors, and `public` is public DNS. The rest are the provider's flags."""
        self._configs = configs
        self._accounts = accounts
        self._installation = installation
        self._drift_policy = drift_policy
        self._read_only = read_only
        self._peers = peers
        self._everyone = everyone
        self._hold: Hold = (lambda _: "") if config_of is None else lambda mr: hold_of(mr, config_of(mr))
        self._poll_seconds = poll_seconds
        self._kept = kept
        self._shared_configs = shared_configs
        self._proofs = proofs or DomainProofs(accounts.clock, Resolvers())
        self._servers = servers or DnsServers(accounts.clock)
        self._public = public
        self._delays = RetryDelays(poll_seconds)
        self._told: set[ProviderConfigKey] = set()
        """The cluster-scoped configs whose domains are not kept, as the log says."""

    def woken(self, uid: str) -> None:
        """What the resource waited for has happened: its next retries come soon."""
        self._delays.woken(uid)

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        """See edgetenants_runtime.external.TellsOfWaiting."""
        return waiting(mr, cause)

    def unresolved(self, mr: Managed, cause: str, told: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """See edgetenants_runtime.external.TellsOfReferences."""
        return unresolved(mr, cause, told)

    def deletion_record(self, mr: Managed) -> Mapping[str, Any]:
        """See edgetenants_runtime.external.RecordsDeletions."""
        return {DELETION_PROTECTED: True} if is_protected(mr) else {}

    def _connected(self, mr: Managed, made: Callable[[Dependencies], ExternalClient]) -> ExternalClient:
        """The client that `made` creates, with its wrappers."""
        with held_up(mr):
            config = self._configs.resolve(mr)
            account = self._account(mr, config)
            self._configs.report(config, _found(account))
            # After the report: the status leads the other processes to the config.
            self._accounts.check_mine(config, account)
        for words in account.memory.quotas.warnings(config.uid):
            self._configs.warn(config, words)
        deps = replace(
            self._deps(mr, config, account),
            records=self._records(mr),
            proofs=self._proofs,
            public=self._public,
        )
        client = self._client(deps, mr, account, made)
        client = ProgressClient(self._with_metrics(client, account))
        return DelayedRetryClient(client, self._delays, f"{config.uid} {config.generation}")

    def _account(self, mr: Managed, config: ResolvedConfig) -> Account:
        try:
            return self._accounts.of(config)
        except ExternalError as error:
            # Expired credentials do not mean that a tenant stopped serving.
            raise error.but(conditions=() if was_ready(mr) else None) from error

    def _deps(self, mr: Managed, config: ResolvedConfig, account: Account) -> Dependencies:
        key = str(config.key)
        kept = self._kept if self._answers_are_proof(config) else OnlyRead(self._kept)
        access = AccountAccess(
            account.cloudfront, account.memory, self._installation, account.id, key, account.swept
        )
        return Dependencies(
            access,
            ClusterView(self._peers, self._everyone, self._hold, kept),
            Policy(
                drift_policy=self._drift_policy,
                poll_seconds=self._poll_seconds,
                confirmed=config.annotations.get(CONFIRM_ANNOTATION, ""),
                frozen=self._frozen(mr, key, is_frozen=account.frozen),
            ),
        )

    def _records(self, mr: Managed) -> RecordsAccess:
        """The DNS service of a resource. If it cannot be used, DNSReady says why, and the rest goes on."""
        asked = mr.for_provider.get("dns")
        if mr.kind != kinds.DISTRIBUTION_TENANT.kind or not asked:
            return NOT_ASKED
        try:
            config = self._configs.resolve(mr, DNS_CONFIG)
            found = self._service(config)
        except (ExternalError, NotYet) as error:
            return RecordsAccess(problem=error.message)
        key = str(config.key)
        if found is None:
            words = f"{key}: spec.dns: expected a DNS service, got none"
            return RecordsAccess(problem=words, is_nowhere=True)
        return RecordsAccess(
            store=found.store,
            config=key,
            frozen=self._frozen(mr, key, is_frozen=found.frozen),
            owner=self._owner(mr),
            gave=partial(self._gave, mr),
            ttl=int(asked.get("ttlSeconds") or DEFAULT_TTL),
            may_replace=found.may_replace,
            tickets=found.tickets,
        )

    def _owner(self, mr: Managed) -> Owner:
        """Whom the marks of a resource's records name."""
        return Owner.of(self._installation, namespace_of(mr), f"{mr.kind}/{mr.external_name}")

    def _gave(self, mr: Managed, owner: Owner) -> bool:
        """Whether the resource that made records, as their mark says, agrees to give its domains."""
        return any(
            moves.gives_records(each, mr) and self._owner(each) == owner and not self._hold(each)
            for each in self._everyone()
        )

    def _service(self, config: ResolvedConfig) -> Records | None:
        if dns_servers.is_named_by(config):
            return self._servers.of(config)
        account = self._accounts.of(config)
        self._configs.report(config, _found(account))
        return account.records

    def _answers_are_proof(self, config: ResolvedConfig) -> bool:
        """Whether what answers at the config's endpoint says who has a domain. A domain is unique in AWS, and
        again at each endpoint that is not AWS: in a test environment, users may make up anything."""
        own = _endpoint(config.spec)
        if not own:
            return True
        if config.key.namespace:
            return False
        shared = self._shared_configs()
        if shared is None:
            return False
        specs = [each.get("spec") or {} for each in shared]
        is_only = all(_endpoint(spec) == own for spec in specs if _opens_an_account(spec))
        if not is_only and config.key not in self._told:
            self._told.add(config.key)
            # For the administrator, once: a second config may be meant for something else.
            _log.warning(
                "domains and names of this config are not kept for the namespaces that have them, because "
                "other cluster-scoped provider configs have another endpoint, or none",
                config=str(config.key),
            )
        elif is_only:
            self._told.discard(config.key)
        return is_only

    def _client(
        self,
        deps: Dependencies,
        mr: Managed,
        account: Account,
        made: Callable[[Dependencies], ExternalClient],
    ) -> ExternalClient:
        if not is_dry_run(mr):
            return made(deps)
        recorder, kept = Recorder(account.cloudfront), deps.cluster.kept
        recorded = replace(deps.account, cloudfront=recorder.as_cloudfront, swept=None)
        watching = replace(deps, account=recorded, cluster=replace(deps.cluster, kept=OnlyLooks(kept)))
        acting = Dependencies(
            account=replace(recorded, memory=account.rehearsals),
            cluster=replace(deps.cluster, kept=OnlyRead(kept)),
            policy=replace(deps.policy, frozen="", rehearsing=True),
            # A rehearsal shows the calls to CloudFront only.
            records=NOT_ASKED,
            proofs=deps.proofs,
        )
        return DryRunClient(made(watching), made(acting), recorder)

    def _with_metrics(self, client: ExternalClient, account: Account) -> ExternalClient:
        metrics, clock = self._accounts.instruments.tenants, self._accounts.clock
        return MetricsClient(client, metrics, account.id or UNKNOWN_ACCOUNT, clock)

    def _frozen(self, mr: Managed, config: str, *, is_frozen: bool) -> str:
        if self._read_only:
            return "the provider runs with --read-only"
        if is_frozen:
            return f"spec.writes of {config} is Frozen"
        return f"the annotation {DRY_RUN_ANNOTATION} is set" if is_dry_run(mr) else ""


def _endpoint(spec: Mapping[str, Any]) -> str:
    """The URL of the endpoint; empty for AWS's public endpoints."""
    return str((spec.get("endpoint") or {}).get("url") or "").rstrip("/").lower()


def _opens_an_account(spec: Mapping[str, Any]) -> bool:
    """Whether a config can say in CloudFront who has a domain. AWS refuses requests that are not signed, so a
    config without credentials and endpoint only has DNS servers."""
    source = (spec.get("credentials") or {}).get("source")
    return bool(source != CredentialsSource.NONE or spec.get("webIdentity") or _endpoint(spec))


class TenantConnector(_Connector):
    """Implements edgetenants_runtime.external.Connector for DistributionTenants of one scope."""

    def connect(self, mr: Managed) -> ExternalClient:
        """The client for one reconcile. Boto clients, credentials and the memory are shared.

        Raises:
            ExternalError: the ProviderConfig is missing or unusable, or AWS refuses its credentials.
        """
        return self._connected(mr, TenantClient)


class GroupConnector(_Connector):
    """Implements edgetenants_runtime.external.Connector for ConnectionGroups of one scope."""

    def connect(self, mr: Managed) -> ExternalClient:
        """The client for one reconcile.

        Raises:
            ExternalError: the ProviderConfig is missing or unusable, or AWS refuses its credentials.
        """
        return self._connected(mr, GroupClient)


def _found(account: Account) -> dict[str, Any]:
    """What is known of an account, for the status of its config. Nothing is removed after a restart."""
    found: dict[str, Any] = {"accountId": account.id, "callerArn": account.caller_arn}
    lists = account.swept.inventory.lists if account.swept else None
    if account.swept is None:
        found["tenantLists"] = None
    elif lists is not None:
        found["tenantLists"] = lists.value
    return found
