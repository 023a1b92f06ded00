"""Whether a managed resource owns the tenant or connection group that its external name leads to (pure).

A tenant's name proves nothing: anyone with access to the account may have created it. Domains and status do
not prove it either, and others may write status. Status is good enough to observe a tenant, but not to write
to it. The proof is the owner tag. If a tenant has none, the proof is what this process has proven before, the
provider's other tags, or a user who names the tenant's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from apis.conditions import TenantReadyReason
from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.meta import MalformedAnnotation, creation
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions
from provider.cloudfront.ownership.proofs import Proof, Resource
from provider.cloudfront.state import applied, creating, identity, leaving
from provider.cloudfront.state.observed import account_of

__all__ = [
    "ADOPT_ANNOTATION",
    "Ownership",
    "Resource",
    "alike",
    "believed",
    "foreign_account",
    "is_older",
    "lets_go",
    "made",
    "may_exist",
    "named",
    "names",
    "names_by_id",
    "ownership_of",
    "recorded",
    "renamed",
    "rival",
    "updates",
    "writes",
]

ADOPT_ANNOTATION: Final = "edgetenants.io/adopt"
_BY_ID: Final = {
    "DistributionTenant": re.compile(r"dt_\w+|arn:\S+", re.ASCII),
    # A group's name may look similar, but an id is longer than a name that people choose.
    "ConnectionGroup": re.compile(r"cg_[0-9A-Za-z]{20,}|arn:\S+", re.ASCII),
}
_NAMING: Final = ("crossplane-kind", "crossplane-name", "crossplane-namespace")
"""Those of the provider's other tags that identify the managed resource."""
_READING: Final = frozenset({"Observe", "LateInitialize"})


class Ownership(Enum):
    """Who owns a tenant."""

    OURS = "its owner tag names this resource"
    LOST = "it has lost its owner tag, but is known to belong to this resource"
    GIVEN = "it has no owner, and a user gave it to this resource"
    NOBODYS = "it has no owner"
    HELD = "it has lost its owner tag, and another resource of this cluster manages it"
    OTHERS = "it has another owner"


def writes(mr: Managed) -> bool:
    """The management policies allow more than observing, so the resource must own the tenant."""
    return bool(set(mr.management_policies) - _READING)


def updates(mr: Managed) -> bool:
    """The management policies allow updates of the external resource."""
    try:
        return permissions(mr.management_policies, mr.deletion_policy).update
    except UnsupportedPolicies:
        return False


def recorded(mr: Managed, seen: Resource) -> bool:
    """The status says that this managed resource created or adopted this tenant."""
    return mr.at_provider.get("id") == seen.id and applied.read(mr.status).known


def believed(mr: Managed, seen: Resource) -> bool:
    """The status is good enough to observe the tenant: it says that the tenant is ours, and the last
    reconcile did not refuse it."""
    ready = mr.condition(ConditionType.READY)
    refused = ready is not None and ready.reason == TenantReadyReason.ADOPTION_REFUSED
    return recorded(mr, seen) and not refused


def made(mr: Managed) -> bool:
    """The status says that this managed resource created or adopted an external resource."""
    return bool(mr.at_provider.get("id")) and applied.read(mr.status).known


def may_exist(mr: Managed) -> bool:
    """Anything but status says that an external resource may exist: a creation that was not clearly refused,
    or an adoption. Status may be lost: refused by the API server, erased, or not part of a backup."""
    try:
        marks = creation(mr.annotations)
    except MalformedAnnotation:
        return True
    if marks.pending is None and marks.succeeded is None:
        # The finalizer without a creation: the external resource existed before. The runtime sets both at
        # once before a creation.
        return FINALIZER in mr.finalizers or names_by_id(mr) or ADOPT_ANNOTATION in mr.annotations
    # Without the record of the account, only the first of several creations is recorded.
    refused = not marks.incomplete and creating.CREATING_IN in mr.annotations
    return marks.succeeded is not None or not refused


def names_by_id(mr: Managed) -> bool:
    """The external name is an id or an ARN. AWS assigns those, and no name has their form."""
    return _BY_ID[mr.kind].fullmatch(str(mr.external_name)) is not None


def rival(mr: Managed, seen: Resource, peers: Iterable[Managed]) -> Managed | None:
    """The peer that takes precedence: it has the tenant, or is older and may get it. The external names of
    all `peers` lead to that tenant."""
    return next((other for other in peers if _rivals(mr, other, seen)), None)


def alike(mr: Managed, other: Managed) -> bool:
    """The other resource may write too, and its external resource would have the same owner tag."""
    return writes(other) and identity.namespace_of(other) == identity.namespace_of(mr)


def is_older(mr: Managed, other: Managed) -> bool:
    """It was created before the other; if both are from the same second, the uid decides."""
    return _age(mr) < _age(other)


def lets_go(mr: Managed) -> bool:
    """It is being deleted and leaves its external resource in AWS, so it writes nothing more to it."""
    return mr.deleted and not leaving.deletes(mr)


def _rivals(mr: Managed, other: Managed, seen: Resource) -> bool:
    if not alike(mr, other) or lets_go(other):
        return False
    if other.at_provider.get("id"):
        return bool(other.at_provider["id"] == seen.id)
    return is_older(other, mr)


def _age(mr: Managed) -> tuple[str, str]:
    return (mr.metadata.get("creationTimestamp") or "", mr.uid)


def renamed(mr: Managed, proof: Proof | None = None) -> str | None:
    """The external name at the last observation of the tenant; None if the present one still names that
    tenant. A proof takes precedence over status."""
    known = [mr.at_provider.get(field) for field in ("name", "id", "arn")]
    if proof is not None:
        known = [proof.name, proof.id, proof.arn]
    if not known[1] or mr.external_name in known:
        return None
    return str(known[0] or known[1])


def foreign_account(mr: Managed, caller: str | None, proof: Proof | None = None) -> str | None:
    """The account of the tenant, if it differs from the caller's; else None."""
    home = account_of(proof.arn if proof else mr.at_provider.get("arn") or "")
    return home if home and caller and home != caller else None


def names(seen: Resource) -> frozenset[str]:
    """The external names that lead to it."""
    return frozenset({seen.name, seen.id, seen.arn})


def ownership_of(
    mr: Managed,
    seen: Resource,
    tags: Mapping[str, str],
    installation: str,
    *,
    held: bool = False,
) -> Ownership:
    """Who owns the tenant, by its tags and the annotation to adopt it.

    The provider never adopts a tenant with another owner tag, even if that owner has no resource in this
    cluster: an administrator may have just handed the tenant over, before that resource exists.

    Args:
        mr: the managed resource.
        seen: the tenant.
        tags: its tags, just read.
        installation: the provider's installation id.
        held: this process has proven before that the managed resource owns it.
    """
    tagged = tags.get(identity.OWNER_TAG)
    if tagged == identity.owner_of(mr, installation, seen.name):
        return Ownership.OURS
    if not tagged and (held or (recorded(mr, seen) and named(mr, tags, installation, seen.name))):
        return Ownership.LOST
    if tagged:
        return Ownership.OTHERS
    if mr.annotations.get(ADOPT_ANNOTATION) == seen.id:
        return Ownership.GIVEN
    return Ownership.NOBODYS


def named(mr: Managed, tags: Mapping[str, str], installation: str, name: str) -> bool:
    """The provider's other tags name this managed resource. Setting them requires write access in AWS."""
    own = identity.own_tags(mr, installation, name)
    return all(tags.get(key) == own[key] for key in _NAMING if key in own)
