"""Manifests for existing tenants: DistributionTenants that observe or adopt them (pure)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from apis import kinds
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.state import identity, observed
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["DEFAULT_CONFIG", "Holder", "Shape", "holder", "manifest", "object_name"]

DEFAULT_CONFIG: Final = ProviderConfigKey("ClusterProviderConfig", "default", "")
_CLOUDFORMATION: Final = "aws:cloudformation:stack-name"


class Holder(StrEnum):
    """Who manages a tenant, according to its tags."""

    NO_ONE = "no one"
    """No tag names an owner."""
    EDGETENANTS = "edgetenants"
    """An edgetenants provider manages it, of this or another installation."""
    CROSSPLANE = "Crossplane"
    """Another Crossplane provider manages it."""
    CLOUDFORMATION = "CloudFormation"
    """A CloudFormation stack manages it."""
    UNKNOWN = "unknown"
    """The tags cannot be read."""


@dataclass(frozen=True)
class Shape:
    """The form of the manifests."""

    namespace: str = "default"
    """"" for cluster-scoped ones."""
    config: ProviderConfigKey = DEFAULT_CONFIG
    full: bool = False
    """Write the whole spec and adopt the tenants without an owner."""


def holder(tags: Mapping[str, str] | None) -> tuple[Holder, str]:
    """Who manages a tenant, and the value of the tag that says so."""
    if tags is None:
        return Holder.UNKNOWN, ""
    if owner := tags.get(identity.OWNER_TAG):
        return Holder.EDGETENANTS, owner
    if stack := tags.get(_CLOUDFORMATION):
        return Holder.CLOUDFORMATION, stack
    if name := tags.get("crossplane-name"):
        return Holder.CROSSPLANE, name
    return Holder.NO_ONE, ""


def object_name(tenant: ObservedTenant) -> str:
    """The object name for a tenant: its own name if that is valid in Kubernetes, else a unique one derived
    from it.

    >>> object_name(ObservedTenant("dt_1", "", "shop.acme", "", ""))
    'shop.acme'
    >>> object_name(ObservedTenant("dt_1", "", "Shop..Acme", "", ""))
    'shop.acme-50d4ef3a'
    """
    wanted = re.sub(r"[.-]*\.[.-]*", ".", tenant.name.lower()).strip(".-")
    if wanted == tenant.name:
        return wanted
    digest = hashlib.sha256(tenant.name.encode()).hexdigest()[:8]
    return f"{wanted}-{digest}"


def manifest(tenant: ObservedTenant, shape: Shape) -> dict[str, Any]:
    """The DistributionTenant for a tenant. `shape.full` requires a tenant with parameters and tags."""
    kind = kinds.DISTRIBUTION_TENANT if shape.namespace else kinds.LEGACY_DISTRIBUTION_TENANT
    takes_over = shape.full and holder(tenant.tags)[0] is Holder.NO_ONE
    annotations = {EXTERNAL_NAME: tenant.name}
    if takes_over:
        annotations[ADOPT_ANNOTATION] = tenant.id
    metadata: dict[str, Any] = {"name": object_name(tenant), "annotations": annotations}
    if shape.namespace:
        metadata["namespace"] = shape.namespace
    spec: dict[str, Any] = {} if takes_over else {"managementPolicies": ["Observe"]}
    spec["providerConfigRef"] = _reference(shape.config, namespaced=bool(shape.namespace))
    spec["forProvider"] = _asked(tenant) if takes_over else {}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


def _reference(config: ProviderConfigKey, *, namespaced: bool) -> dict[str, str]:
    return {"kind": config.kind, "name": config.name} if namespaced else {"name": config.name}


def _asked(tenant: ObservedTenant) -> dict[str, Any]:
    tags = {key: value for key, value in sorted((tenant.tags or {}).items()) if not _is_reserved(key)}
    asked: dict[str, Any] = {
        "distributionId": tenant.distribution_id,
        "connectionGroupId": tenant.connection_group_id,
        "domains": sorted(tenant.domains),
        "enabled": tenant.enabled,
        "parameters": dict(sorted(tenant.parameters.items())),
        "customizations": _customizations(tenant),
        "tags": tags,
    }
    return {key: value for key, value in asked.items() if value not in (None, {}, [])}


def _customizations(tenant: ObservedTenant) -> dict[str, Any]:
    shown = dict(observed.at_provider(tenant, None).get("customizations") or {})
    arn = shown.pop("certificateArn", None)
    return {**shown, "certificate": {"arn": arn}} if arn else shown


def _is_reserved(key: str) -> bool:
    return identity.is_own_tag(key) or key.lower().startswith("aws:")
