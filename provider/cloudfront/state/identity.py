"""Who owns a tenant: the identity that is written on it as a tag, and the other tags of the provider's own.

The identity has the kind without its group, and for a cluster-scoped resource the namespace of its claim: a
claim's namespaced and cluster-scoped resources are the same owner, so that a move from one to the other, a
re-applied claim and a restored cluster find their tenants again. The five `crossplane-` keys are those of
crossplane-runtime (pkg/resource, GetExternalTags).
"""

from __future__ import annotations

from typing import Final

from edgetenants_runtime.api.annotations import LABEL_CLAIM_NAMESPACE
from edgetenants_runtime.managed import Managed

__all__ = ["NAMING_TAGS", "OWNER_TAG", "is_own_tag", "namespace_of", "noun", "own_tags", "owner_of"]

OWNER_TAG: Final = "edgetenants.io/owner"
NAMING_TAGS: Final = frozenset({OWNER_TAG, "crossplane-name", "crossplane-namespace"})
"""The tags that name a resource and its namespace."""
_OWN_PREFIXES: Final = ("crossplane-", "edgetenants")


def noun(mr: Managed) -> str:
    """What the managed resource stands for, in messages."""
    return "connection group" if mr.kind == "ConnectionGroup" else "tenant"


def namespace_of(mr: Managed) -> str:
    """The namespace of the resource, or of the claim that a cluster-scoped one was composed for, else "".

    Crossplane v1 takes the labels of the claim off a resource that it no longer composes, and deletes it a
    moment later (internal/controller/apiextensions/composite, the garbage collectors). What was written to
    AWS says whose it was; the status of a cluster-scoped resource is no namespace's to write.
    """
    return mr.namespace or mr.labels.get(LABEL_CLAIM_NAMESPACE) or _written(mr)


def _written(mr: Managed) -> str:
    owner = (mr.status.get("applied") or {}).get("owner")
    written = owner if isinstance(owner, str) else ""
    _installation, _kind, namespace, name = (*written.split("/", 3), "", "", "", "")[:4]
    return namespace if name else ""


def owner_of(mr: Managed, installation: str, name: str) -> str:
    """The owner's identity: installation, kind, namespace and the tenant's name in CloudFront.

    Readable, so that whoever finds the tenant in AWS knows where it comes from. At most 256 characters, as a
    tag value must be, with an installation id of at most 40.
    """
    return f"{installation}/{mr.kind}/{namespace_of(mr)}/{name}"


def own_tags(mr: Managed, installation: str, name: str) -> dict[str, str]:
    """The tags that the provider writes beside the user's; those without a value are left out."""
    group = mr.api_version.partition("/")[0]
    config = mr.provider_config_ref
    tags = {
        OWNER_TAG: owner_of(mr, installation, name),
        "crossplane-kind": f"{mr.kind}.{group}".lower(),
        "crossplane-name": mr.name,
        "crossplane-namespace": namespace_of(mr),
        "crossplane-providerconfig": config.name,
        "crossplane-providerconfig-kind": config.kind,
    }
    return {key: value for key, value in tags.items() if value}


def is_own_tag(key: str) -> bool:
    """The key is one that users may not write: the provider's or Crossplane's."""
    return key.lower().startswith(_OWN_PREFIXES)
