"""Where the credentials of a provider config come from, for messages to those who renew them (pure)."""

from __future__ import annotations

from typing import Final

from apis.providerconfig import ProviderConfigSpec
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.config.resolved import ResolvedConfig
from provider.cloudfront.aws.errors import AwsError

__all__ = ["place", "renewal"]

_ROLES: Final = frozenset({"AssumeRole", "AssumeRoleWithWebIdentity"})
_OWN: Final = "Check the AWS identity of the provider's process"


def renewal(config: ResolvedConfig, spec: ProviderConfigSpec, error: AwsError) -> str:
    """Return what to do if AWS refuses the credentials of a config; never reveals their content."""
    if error.operation in _ROLES:
        return (
            f"Check the roles of spec.assumeRoleChain or spec.webIdentity of {config.key}, and whether each "
            "trusts the identity before it"
        )
    where = place(config, spec)
    at_once = "; the provider reads it again immediately" if spec.credentials.secret_ref else ""
    return f"Renew them in {where}{at_once}" if where else _OWN


def place(config: ResolvedConfig, spec: ProviderConfigSpec) -> str:
    """Return where the credentials are stored; "" for the identity of the provider's process."""
    given = spec.credentials
    if given.secret_ref:
        namespace = config.key.namespace or given.secret_ref.namespace
        return f"Secret {namespace}/{given.secret_ref.name}, key {given.secret_ref.key}"
    if given.source is CredentialsSource.ENVIRONMENT and given.env:
        return f"the environment variable {given.env.name} of the provider"
    if given.source is CredentialsSource.FILESYSTEM and given.fs:
        return f"the file {given.fs.path} of the provider"
    return ""
