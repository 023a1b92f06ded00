"""What a connector is given of a provider config: no Kubernetes in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from edgetenants_runtime.managed import Managed, ProviderConfigKey

__all__ = ["PRIMARY", "ConfigResolver", "ConfigUse", "ResolvedConfig"]


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
    """What the source holds; None for the sources None and InjectedIdentity."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the config object, such as somebody's confirmation. A change of one wakes nobody."""


@dataclass(frozen=True)
class ConfigUse:
    """One of the ways in which managed resources use provider configs."""

    field: str
    """Path of the reference, for messages."""
    ref: Callable[[Managed], ProviderConfigKey | None]
    """Which config a resource uses so; None: it uses none. Pure."""
    suffix: str = ""
    """Tells the usages of this way apart: they are named `<uid>-<suffix>`. "" for the one that every
    resource has."""


PRIMARY: Final = ConfigUse("spec.providerConfigRef", lambda mr: mr.provider_config_ref)
"""The config that every managed resource has."""


class ConfigResolver(Protocol):
    """Finds the provider config that a managed resource names."""

    def resolve(self, mr: Managed, use: ConfigUse = PRIMARY) -> ResolvedConfig:
        """The config, its use by this resource recorded, its credentials loaded.

        Raises ExternalError that names the field at fault. A missing config heals by itself once it appears.
        """
        ...

    def report(self, config: ResolvedConfig, fields: Mapping[str, Any]) -> None:
        """Have fields of the config's status say what became known of it, for example of its account.

        They are written together with the count of users, and only where they are news; None removes one.
        Cheap and quick: may be called at every reconcile. The fields must be in the config's CRD.
        """
        ...
