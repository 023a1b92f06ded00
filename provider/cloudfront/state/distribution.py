"""The settings of a distribution that its tenants depend on (API model: DistributionConfig)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Distribution", "read"]


@dataclass(frozen=True)
class Distribution:
    """One distribution."""

    id: str
    multi_tenant: bool = True
    parameters: Mapping[str, bool] = field(default_factory=dict)
    """Each parameter that it defines, and whether a tenant must set it: it is required and has no default."""
    certificate_arn: str | None = None
    """The ACM certificate; None for CloudFront's own certificate, which covers no tenant's domains."""


def read(id_: str, config: Mapping[str, Any]) -> Distribution:
    """Read the `DistributionConfig` of an answer."""
    definitions = (config.get("TenantConfig") or {}).get("ParameterDefinitions") or ()
    return Distribution(
        id=id_,
        multi_tenant=config.get("ConnectionMode") == "tenant-only",
        parameters={definition["Name"]: _must_be_given(definition) for definition in definitions},
        certificate_arn=(config.get("ViewerCertificate") or {}).get("ACMCertificateArn") or None,
    )


def _must_be_given(definition: Mapping[str, Any]) -> bool:
    schema = (definition.get("Definition") or {}).get("StringSchema") or {}
    return bool(schema.get("Required")) and not schema.get("DefaultValue")
