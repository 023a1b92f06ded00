"""Connects a managed resource to the AWS account that its provider config names."""

from __future__ import annotations

from edgetenants_runtime.configuration import ConfigResolver
from edgetenants_runtime.managed import Managed

from apis.drift import DriftPolicy
from provider.cloudfront.aws import Accounts
from provider.cloudfront.tenant import Context, TenantClient

__all__ = ["TenantConnector"]


class TenantConnector:
    """Implements edgetenants_runtime.external.Connector for DistributionTenants of one scope."""

    def __init__(
        self,
        configs: ConfigResolver,
        accounts: Accounts,
        *,
        installation: str,
        drift_policy: DriftPolicy = DriftPolicy.ENFORCE,
    ) -> None:
        self._configs = configs
        self._accounts = accounts
        self._installation = installation
        self._drift_policy = drift_policy

    def connect(self, mr: Managed) -> TenantClient:
        """The client for one reconcile. Clients, credentials and what is remembered are shared.

        Raises:
            ExternalError: the config is missing or cannot be used, or AWS refuses its credentials.
        """
        config = self._configs.resolve(mr)
        account = self._accounts.of(config)
        context = Context(
            cloudfront=account.cloudfront,
            memory=account.memory,
            installation=self._installation,
            account=account.id,
            config=str(config.key),
            frozen=account.frozen,
            drift_policy=self._drift_policy,
        )
        return TenantClient(context)
