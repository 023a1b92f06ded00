"""The DNS services on the internet that provider configs name, by `dns.cloudflare` or `dns.azure`.

Their hosts are fixed, so teams name them in configs of their namespace without the flag that DNS servers
need: with a Secret of that namespace, they reach what they can reach from anywhere. Flags of the provider may
name another URL, for sandboxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from apis.providerconfig import AzureCloud, AzureDns, Cloudflare
from edgetenants_runtime.config.resolved import ResolvedConfig, SecretField
from provider.cloudfront.account import secret_values
from provider.dns.azure import AzureSettings
from provider.dns.azure import calls as azure
from provider.dns.cloudflare import CloudflareSettings
from provider.dns.cloudflare import calls as cloudflare

__all__ = [
    "ADVICE_FOR_AZURE",
    "ADVICE_FOR_CLOUDFLARE",
    "PUBLIC_SERVICES",
    "SECRETS",
    "Clients",
    "azure_settings",
    "cloudflare_settings",
]

_TOKEN: Final = "dns.cloudflare.apiTokenSecretRef"  # noqa: S105 - a field
_APPLICATION: Final = "dns.azure.credentialsSecretRef"
SECRETS: Final = (
    SecretField(_TOKEN),
    SecretField(_APPLICATION, ("tenantId", "clientId", "clientSecret")),
)
"""The Secrets of these services."""
ADVICE_FOR_CLOUDFLARE: Final = (
    "Check the fields apiTokenSecretRef and zones in spec.dns.cloudflare of the ProviderConfig, and whether "
    "the token is active"
)
ADVICE_FOR_AZURE: Final = (
    "Check the fields credentialsSecretRef, cloud, subscriptionId and resourceGroup in spec.dns.azure of the "
    "ProviderConfig"
)
_CLOUDS: Final = {
    AzureCloud.PUBLIC: azure.PUBLIC,
    AzureCloud.US_GOVERNMENT: azure.US_GOVERNMENT,
    AzureCloud.CHINA: azure.CHINA,
}


@dataclass(frozen=True)
class Clients:
    """What makes the clients of the services' SDKs."""

    cloudflare: cloudflare.Connect = cloudflare.connected
    azure: azure.Connect = azure.connected

    @staticmethod
    def at(cloudflare_url: str | None, azure_url: str | None) -> Clients:
        """Those for servers at other URLs; None for the service itself."""
        return Clients(
            partial(cloudflare.connected, url=cloudflare_url or cloudflare.URL),
            partial(azure.connected, url=azure_url or ""),
        )


PUBLIC_SERVICES: Final = Clients()


def cloudflare_settings(config: ResolvedConfig, said: Cloudflare) -> CloudflareSettings:
    """Return the token and the zones of a config.

    Raises:
        ExternalError: the Secret cannot be used. The message has nothing of it.
    """
    field = f"{config.key}: spec.{_TOKEN}"
    token = secret_values.api_key(field, config.secrets.get(_TOKEN) or {}, "API token")
    return CloudflareSettings(token, said.zones or ())


def azure_settings(config: ResolvedConfig, said: AzureDns) -> AzureSettings:
    """Return the application, the resource group and the zones of a config.

    Raises:
        ExternalError: the Secret cannot be used. The message has nothing of it.
    """
    field = f"{config.key}: spec.{_APPLICATION}"
    application = secret_values.application(field, config.secrets.get(_APPLICATION) or {})
    return AzureSettings(
        said.subscription_id,
        said.resource_group,
        application.tenant_id,
        application.client_id,
        application.client_secret,
        said.zones or (),
        _CLOUDS[said.cloud],
    )
