"""Where the credentials of a provider config come from, in words for whoever renews them (pure)."""

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
    """What to do where AWS does not take the credentials of a config; never their content."""
    if error.operation in _ROLES:
        return (
            f"Check the roles of spec.assumeRoleChain or spec.webIdentity of {config.key}, and whether they "
            "trust the credentials before them"
        )
    where = place(config, spec)
    at_once = "; it is read again at once" if spec.credentials.secret_ref else ""
    return f"Renew them in {where}{at_once}" if where else _OWN


def place(config: ResolvedConfig, spec: ProviderConfigSpec) -> str:
    """Where they stand; empty for the identity of the provider's process."""
    given = spec.credentials
    if given.secret_ref:
        namespace = config.key.namespace or given.secret_ref.namespace
        return f"Secret {namespace}/{given.secret_ref.name}, key {given.secret_ref.key}"
    if given.source is CredentialsSource.ENVIRONMENT and given.env:
        return f"the environment variable {given.env.name} of the provider"
    if given.source is CredentialsSource.FILESYSTEM and given.fs:
        return f"the file {given.fs.path} of the provider"
    return ""
