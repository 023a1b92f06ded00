"""Whether the tenant or connection group that an external name leads to is the managed resource's own (pure).

A tenant's name proves nothing: anybody in the account may have made it. Nor do domains, nor status, which
others may write: it is a memory, good enough to look by and never to write by. Proof is the owner tag; where
a tenant has none, what this process has proven before, the other tags of the provider's own, or the word of a
person who names the tenant's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from apis.conditions import TenantReadyReason
from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership.proofs import Proof, Resource
from provider.cloudfront.state import applied, identity
from provider.cloudfront.state.observed import account_of

__all__ = [
    "ADOPT_ANNOTATION",
    "Ownership",
    "Resource",
    "alike",
    "believed",
    "foreign_account",
    "is_older",
    "judge",
    "made",
    "names",
    "names_by_id",
    "recorded",
    "renamed",
    "rival",
    "writes",
]

ADOPT_ANNOTATION: Final = "edgetenants.io/adopt"
_BY_ID: Final = {
    "DistributionTenant": re.compile(r"dt_\w+|arn:\S+", re.ASCII),
    # A group's name may look much the same; an id is longer than what people write.
    "ConnectionGroup": re.compile(r"cg_[0-9A-Za-z]{20,}|arn:\S+", re.ASCII),
}
_NAMING: Final = ("crossplane-kind", "crossplane-name", "crossplane-namespace")
"""Of the provider's other tags those that say which managed resource it is."""
_READING: Final = frozenset({"Observe", "LateInitialize"})


class Ownership(Enum):
    """Whose a tenant is."""

    OURS = "its owner tag is this resource's"
    LOST = "it lost its owner tag, and is known as this resource's all the same"
    GIVEN = "it has no owner any more, and a person gave it to this resource"
    NOBODYS = "it has no owner"
    HELD = "it has lost its owner tag, and another resource of this cluster manages it"
    OTHERS = "its owner is another"


def writes(mr: Managed) -> bool:
    """The management policies permit more than to look, so that the tenant must be its own."""
    return bool(set(mr.management_policies) - _READING)


def recorded(mr: Managed, seen: Resource) -> bool:
    """The status says that this managed resource made this tenant or took it over."""
    return mr.at_provider.get("id") == seen.id and applied.read(mr.status).known


def believed(mr: Managed, seen: Resource) -> bool:
    """The status is good enough to look by: it says that this tenant is ours, and the last look did too."""
    ready = mr.condition(ConditionType.READY)
    refused = ready is not None and ready.reason == TenantReadyReason.ADOPTION_REFUSED
    return recorded(mr, seen) and not refused


def made(mr: Managed) -> bool:
    """The status says that this managed resource made an external resource or took one over."""
    return bool(mr.at_provider.get("id")) and applied.read(mr.status).known


def names_by_id(mr: Managed) -> bool:
    """The external name is an id or an ARN, which AWS gives and nobody can create; no name can look so."""
    return _BY_ID[mr.kind].fullmatch(str(mr.external_name)) is not None


def rival(mr: Managed, seen: Resource, peers: Iterable[Managed]) -> Managed | None:
    """The one of `peers`, whose external names lead to the same tenant, that has a better claim to it: it
    holds it, or is older and may come to hold it."""
    return next((other for other in peers if _rivals(mr, other, seen)), None)


def alike(mr: Managed, other: Managed) -> bool:
    """The other may write, too, and its external resource would have the same owner tag."""
    return writes(other) and identity.namespace_of(other) == identity.namespace_of(mr)


def is_older(mr: Managed, other: Managed) -> bool:
    """It was made before the other; of two of the same second, the same one each time."""
    return _age(mr) < _age(other)


def _rivals(mr: Managed, other: Managed, seen: Resource) -> bool:
    if not alike(mr, other):
        return False
    if other.at_provider.get("id"):
        return bool(other.at_provider["id"] == seen.id)
    return is_older(other, mr)


def _age(mr: Managed) -> tuple[str, str]:
    return (mr.metadata.get("creationTimestamp") or "", mr.uid)


def renamed(mr: Managed, proof: Proof | None = None) -> str | None:
    """What the external name was when the tenant was last seen; None while it still names that tenant. What
    was proven counts more than status."""
    known = [mr.at_provider.get(field) for field in ("name", "id", "arn")]
    if proof is not None:
        known = [proof.name, proof.id, proof.arn]
    if not known[1] or mr.external_name in known:
        return None
    return str(known[0] or known[1])


def foreign_account(mr: Managed, caller: str | None, proof: Proof | None = None) -> str | None:
    """The account that the tenant is in, where that is not the caller's."""
    home = account_of(proof.arn if proof else mr.at_provider.get("arn") or "")
    return home if home and caller and home != caller else None


def names(seen: Resource) -> frozenset[str]:
    """The external names that lead to it."""
    return frozenset({seen.name, seen.id, seen.arn})


def judge(
    mr: Managed,
    seen: Resource,
    tags: Mapping[str, str],
    installation: str,
    *,
    held: bool = False,
) -> Ownership:
    """Whose the tenant is, by its tags and the annotation that gives it away.

    A tenant with another owner tag is never adopted, also where that owner has no resource in this cluster:
    an administrator may have handed the tenant over just now, before that resource exists.

    Args:
        mr: the managed resource.
        seen: the tenant.
        tags: its tags, just read.
        installation: of the provider.
        held: this process has proven before that it is the managed resource's.
    """
    tagged = tags.get(identity.OWNER_TAG)
    if tagged == identity.owner_of(mr, installation, seen.name):
        return Ownership.OURS
    if not tagged and (held or (recorded(mr, seen) and _named(mr, tags, installation, seen.name))):
        return Ownership.LOST
    if tagged:
        return Ownership.OTHERS
    if mr.annotations.get(ADOPT_ANNOTATION) == seen.id:
        return Ownership.GIVEN
    return Ownership.NOBODYS


def _named(mr: Managed, tags: Mapping[str, str], installation: str, name: str) -> bool:
    """The provider's other tags name this managed resource; only who may write in AWS can set them."""
    own = identity.own_tags(mr, installation, name)
    return all(tags.get(key) == own[key] for key in _NAMING if key in own)
