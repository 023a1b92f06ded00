"""Connects a managed resource to the AWS account that its provider config names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apis.drift import DriftPolicy
from edgetenants_runtime.configuration import ConfigResolver
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws import Account, Accounts
from provider.cloudfront.connectiongroup import GroupClient
from provider.cloudfront.context import Context
from provider.cloudfront.guards import DRY_RUN_ANNOTATION, is_dry_run
from provider.cloudfront.tenant import TenantClient

__all__ = ["GroupConnector", "TenantConnector"]


class _Connector:
    """What both kinds have in common."""

    def __init__(
        self,
        configs: ConfigResolver,
        accounts: Accounts,
        *,
        installation: str,
        drift_policy: DriftPolicy = DriftPolicy.ENFORCE,
        read_only: bool = False,
        peers: Callable[[Managed], Iterable[Managed]] = lambda _: (),
    ) -> None:
        """`peers` finds the other managed resources with the same external name; the rest is the provider's
        flags."""
        self._configs = configs
        self._accounts = accounts
        self._installation = installation
        self._drift_policy = drift_policy
        self._read_only = read_only
        self._peers = peers

    def _context(self, mr: Managed) -> Context:
        config = self._configs.resolve(mr)
        account = self._accounts.of(config)
        return Context(
            cloudfront=account.cloudfront,
            memory=account.memory,
            installation=self._installation,
            account=account.id,
            config=str(config.key),
            frozen=self._frozen(mr, account, str(config.key)),
            drift_policy=self._drift_policy,
            peers=self._peers,
        )

    def _frozen(self, mr: Managed, account: Account, config: str) -> str:
        if self._read_only:
            return "the provider runs with --read-only"
        if account.frozen:
            return f"{config} has spec.writes Frozen"
        # What would be done is not listed yet; that nothing is done must hold from the start.
        return f"the annotation {DRY_RUN_ANNOTATION} is set" if is_dry_run(mr) else ""


class TenantConnector(_Connector):
    """Implements edgetenants_runtime.external.Connector for DistributionTenants of one scope."""

    def connect(self, mr: Managed) -> TenantClient:
        """The client for one reconcile. Clients, credentials and what is remembered are shared.

        Raises:
            ExternalError: the config is missing or cannot be used, or AWS refuses its credentials.
        """
        return TenantClient(self._context(mr))


class GroupConnector(_Connector):
    """The same for ConnectionGroups."""

    def connect(self, mr: Managed) -> GroupClient:
        """The client for one reconcile.

        Raises:
            ExternalError: the config is missing or cannot be used, or AWS refuses its credentials.
        """
        return GroupClient(self._context(mr))
