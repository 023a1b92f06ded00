"""Connects a managed resource to the AWS account that its provider config names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from apis.drift import DriftPolicy
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.config.resolved import ConfigResolver, ResolvedConfig
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.external import ExternalClient
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.sessions import Account, Accounts
from provider.cloudfront.aws.hooks import UNKNOWN_ACCOUNT
from provider.cloudfront.clients.connection_group import GroupClient
from provider.cloudfront.clients.measured import MeasuredClient
from provider.cloudfront.clients.progress import ProgressClient, held_up, waiting
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.rehearsal.dry_run import DryRunClient
from provider.cloudfront.rehearsal.recorder import Recorder
from provider.cloudfront.safety.context import Context, Peers
from provider.cloudfront.safety.guards import CONFIRM_ANNOTATION, DRY_RUN_ANNOTATION, is_dry_run
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains, OnlyLooks, OnlyRead
from provider.cloudfront.safety.patience import Patience, PatientClient

__all__ = ["GroupConnector", "TenantConnector"]


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
        everyone: Callable[[], Iterable[Managed]] = lambda: (),
        poll_seconds: float = 60.0,
        kept: KeptDomains = NOTHING,
    ) -> None:
        """`peers` finds the other managed resources with the same external resource, `everyone` those of all
        kinds, `kept` records which namespace has which domain and name; the rest are the provider's flags."""
        self._configs = configs
        self._accounts = accounts
        self._installation = installation
        self._drift_policy = drift_policy
        self._read_only = read_only
        self._peers = peers
        self._everyone = everyone
        self._poll_seconds = poll_seconds
        self._kept = kept
        self._patience = Patience(poll_seconds)

    def woken(self, uid: str) -> None:
        """What the resource waited for has happened: its next retries come soon."""
        self._patience.woken(uid)

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        """See edgetenants_runtime.external.TellsOfWaiting."""
        return waiting(mr, cause)

    def _connected(self, mr: Managed, made: Callable[[Context], ExternalClient]) -> ExternalClient:
        """The client that `made` creates, with its wrappers."""
        with held_up(mr):
            config = self._configs.resolve(mr)
            account = self._account(mr, config)
        self._configs.report(config, {"accountId": account.id, "callerArn": account.caller_arn})
        client = self._client(self._context(mr, config, account), mr, account, made)
        measured = ProgressClient(self._measured(client, account))
        return PatientClient(measured, self._patience, f"{config.uid} {config.generation}")

    def _account(self, mr: Managed, config: ResolvedConfig) -> Account:
        try:
            return self._accounts.of(config)
        except ExternalError as error:
            # Expired credentials do not mean that a tenant stopped serving.
            raise error.but(conditions=() if was_ready(mr) else None) from error

    def _context(self, mr: Managed, config: ResolvedConfig, account: Account) -> Context:
        return Context(
            cloudfront=account.cloudfront,
            memory=account.memory,
            installation=self._installation,
            account=account.id,
            config=str(config.key),
            frozen=self._frozen(mr, account, str(config.key)),
            drift_policy=self._drift_policy,
            peers=self._peers,
            everyone=self._everyone,
            confirmed=config.annotations.get(CONFIRM_ANNOTATION, ""),
            poll_seconds=self._poll_seconds,
            kept=OnlyRead(self._kept) if _elsewhere(config) else self._kept,
        )

    def _client(
        self, context: Context, mr: Managed, account: Account, made: Callable[[Context], ExternalClient]
    ) -> ExternalClient:
        if not is_dry_run(mr):
            return made(context)
        recorder = Recorder(account.cloudfront)
        watching = replace(context, cloudfront=recorder.as_cloudfront, kept=OnlyLooks(context.kept))
        acting = replace(
            watching, kept=OnlyRead(context.kept), memory=account.rehearsals, frozen="", rehearsing=True
        )
        return DryRunClient(made(watching), made(acting), recorder)

    def _measured(self, client: ExternalClient, account: Account) -> ExternalClient:
        metrics, clock = self._accounts.instruments.tenants, self._accounts.clock
        return MeasuredClient(client, metrics, account.id or UNKNOWN_ACCOUNT, clock)

    def _frozen(self, mr: Managed, account: Account, config: str) -> str:
        if self._read_only:
            return "the provider runs with --read-only"
        if account.frozen:
            return f"spec.writes of {config} is Frozen"
        return f"the annotation {DRY_RUN_ANNOTATION} is set" if is_dry_run(mr) else ""


def _elsewhere(config: ResolvedConfig) -> bool:
    """A namespaced ProviderConfig sets an endpoint of its own, if the provider allows that. Whatever answers
    there may claim to be AWS, so its answers prove nothing about who has a domain."""
    return bool(config.key.namespace and config.spec.get("endpoint"))


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
