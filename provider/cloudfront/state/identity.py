"""Who owns a tenant: the identity in the owner tag, and the provider's other tags.

The identity contains the kind without its API group and, for a cluster-scoped resource, the namespace of its
claim. So a claim's namespaced and cluster-scoped resources have the same identity: after a move from one to
the other, a claim that is applied again, or a restored cluster, the provider finds the tenants again. The
five `crossplane-` keys are those of crossplane-runtime (pkg/resource, GetExternalTags).
"""

from __future__ import annotations

from typing import Final

from edgetenants_runtime.api.annotations import LABEL_CLAIM_NAMESPACE
from edgetenants_runtime.managed import Managed

__all__ = [
    "DEDICATED_ANNOTATION",
    "DEDICATED_TAG",
    "NAMING_TAGS",
    "OWNER_TAG",
    "is_own_tag",
    "namespace_of",
    "noun",
    "own_tags",
    "owner_of",
]

OWNER_TAG: Final = "edgetenants.io/owner"
DEDICATED_ANNOTATION: Final = "edgetenants.io/dedicated"
"""On a ConnectionGroup, with the value "true": only tenants of its own namespace may join it, if the group's
name begins with that namespace and a dot."""
DEDICATED_TAG: Final = "edgetenants.io/dedicated"
"""The copy of that annotation in AWS, which is still there when no resource is."""
NAMING_TAGS: Final = frozenset({OWNER_TAG, "crossplane-name", "crossplane-namespace"})
"""The tags that name a resource and its namespace."""
_OWN_PREFIXES: Final = ("crossplane-", "edgetenants")


def noun(mr: Managed) -> str:
    """What messages call the external resource."""
    return "connection group" if mr.kind == "ConnectionGroup" else "tenant"


def namespace_of(mr: Managed) -> str:
    """The namespace of the resource, or of the claim of a composed cluster-scoped resource, else "".

    Crossplane v1 removes the claim's labels from a resource that it no longer composes, and deletes it a
    moment later (internal/controller/apiextensions/composite, the garbage collectors). Then the record of
    the last write has the owner; no namespace's users may write the status of a cluster-scoped resource.
    """
    return mr.namespace or mr.labels.get(LABEL_CLAIM_NAMESPACE) or _written(mr)


def _written(mr: Managed) -> str:
    owner = (mr.status.get("applied") or {}).get("owner")
    written = owner if isinstance(owner, str) else ""
    _installation, _kind, namespace, name = (*written.split("/", 3), "", "", "", "")[:4]
    return namespace if name else ""


def owner_of(mr: Managed, installation: str, name: str) -> str:
    """The owner's identity: installation, kind, namespace and the tenant's name in CloudFront.

    It is readable, so that it shows in AWS where the tenant comes from. With an installation id of at most 40
    characters, it has at most the 256 characters of a tag value.
    """
    return f"{installation}/{mr.kind}/{namespace_of(mr)}/{name}"


def own_tags(mr: Managed, installation: str, name: str) -> dict[str, str]:
    """The tags that the provider adds to the user's, except those with an empty value."""
    group = mr.api_version.partition("/")[0]
    config = mr.provider_config_ref
    tags = {
        OWNER_TAG: owner_of(mr, installation, name),
        "crossplane-kind": f"{mr.kind}.{group}".lower(),
        "crossplane-name": mr.name,
        "crossplane-namespace": namespace_of(mr),
        "crossplane-providerconfig": config.name,
        "crossplane-providerconfig-kind": config.kind,
        DEDICATED_TAG: "true" if _dedicated(mr) else "",
    }
    return {key: value for key, value in tags.items() if value}


def _dedicated(mr: Managed) -> bool:
    return mr.kind == "ConnectionGroup" and mr.annotations.get(DEDICATED_ANNOTATION) == "true"


def is_own_tag(key: str) -> bool:
    """The key is reserved for the provider or Crossplane; users may not set it."""
    return key.lower().startswith(_OWN_PREFIXES)
