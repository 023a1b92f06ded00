"""What a connector is given of a provider config: no Kubernetes in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from edgetenants_runtime.managed import Managed, ProviderConfigKey

__all__ = ["ConfigResolver", "ResolvedConfig"]


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


class ConfigResolver(Protocol):
    """Finds the provider config that a managed resource names."""

    def resolve(self, mr: Managed) -> ResolvedConfig:
        """The config, its use by this resource recorded, its credentials loaded.

        Raises ExternalError that names the field at fault. A missing config heals by itself once it appears.
        """
        ...
