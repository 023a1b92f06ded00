"""The provider config as a connector gets it, independent of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from edgetenants_runtime.managed import Managed, ProviderConfigKey

__all__ = ["PRIMARY", "ConfigResolver", "ConfigUse", "ResolvedConfig", "SecretField"]


@dataclass(frozen=True)
class ResolvedConfig:
    """A provider config with its credentials loaded."""

    key: ProviderConfigKey
    spec: Mapping[str, Any]
    """The whole spec, as stored."""
    uid: str
    generation: int
    source: str
    """spec.credentials.source: None, Secret, Environment, Filesystem or InjectedIdentity."""
    credentials: bytes | None = field(default=None, repr=False)
    """The content of the source; None for the sources None and InjectedIdentity."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of the config object, such as a confirmation. Changing one requeues no resource."""
    secrets: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict, repr=False)
    """Other Secrets of the config, as the use needs them: by the path of the reference below spec, then by
    key."""


@dataclass(frozen=True)
class SecretField:
    """A reference of a config to a Secret, beside its credentials."""

    path: str
    """Below spec, such as `dns.rfc2136.tsigSecretRef`. Nothing is read if the spec does not have it."""
    keys: tuple[str, ...] = ()
    """Keys that the Secret must have. Empty: the one that the reference names in `key`."""
    optional: tuple[str, ...] = ()
    """Keys that it may have."""


@dataclass(frozen=True)
class ConfigUse:
    """One way in which managed resources use provider configs."""

    field: str
    """Path of the reference, for messages."""
    ref: Callable[[Managed], ProviderConfigKey | None]
    """The config that a resource uses this way; None: it uses none. Pure."""
    suffix: str = ""
    """Distinguishes the usages of this way: they are named `<uid>-<suffix>`. "" for the usage that every
    resource has."""
    secrets: tuple[SecretField, ...] = ()
    """What this use reads beside the credentials. `ConfigKinds.secret_paths` must have the paths, too: a
    change of such a Secret then requeues the users of the config."""


PRIMARY: Final = ConfigUse("spec.providerConfigRef", lambda mr: mr.provider_config_ref)
"""The config that every managed resource has."""


class ConfigResolver(Protocol):
    """Finds the provider config that a managed resource names."""

    def resolve(self, mr: Managed, use: ConfigUse = PRIMARY) -> ResolvedConfig:
        """The config, with its credentials and the Secrets of this use loaded, and its usage by this resource
        recorded.

        Raises ExternalError that names the field at fault. The resource is requeued when a missing config is
        created.
        """
        ...

    def report(self, config: ResolvedConfig, fields: Mapping[str, Any]) -> None:
        """Set fields of the config's status, for example what is known about its account.

        The fields are written together with the count of users, and only if they changed; None removes one.
        The call is cheap and may be made on every reconcile. The config's CRD must have the fields.
        """
        ...

    def warn(self, config: ResolvedConfig, message: str) -> None:
        """Record a Warning event of the config: a quota of its account is nearly used up. The caller sees to
        it that it does so rarely."""
        ...
