"""The provider keeps names in CloudFront for the namespace that has them, like domains (kept_domains.py).

A name is unique in an account, and the names of claims are predictable. Anyone who creates a tenant with such
a name first would keep the claim from being served. So a name may be created

    if it is recorded                       by the namespace for which it is recorded
    if it begins with a namespace's name    by that namespace, if that has managed resources of ours; upper
                                            and lower case are the same here
    otherwise                               by any namespace
"""

from __future__ import annotations

from typing import Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.ownership.judgement import Resource
from provider.cloudfront.safety import advice, guards, name_keys
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView, Everyone
from provider.cloudfront.safety.kept_domains import KeptDomains, RecordsFailed
from provider.cloudfront.state import identity

__all__ = ["check_creation", "check_taking"]

_log = structlog.get_logger("provider.cloudfront.keptnames")

_AGAIN_SECONDS: Final = 5.0


def check_creation(mr: Managed, account: AccountAccess, cluster: ClusterView) -> None:
    """Check that a tenant or connection group may be created with its name.

    Raises:
        NotYet: the records cannot be read at present; a name without a known record is not free.
        ExternalError: the name is kept for another namespace.
    """
    key = account.id and name_keys.key_of(mr.kind, account.id, str(mr.external_name))
    holder = _holder(mr, key, account, cluster.kept) if key else None
    if holder == identity.namespace_of(mr):
        return
    if key and holder is not None:
        if account.memory.log_changes.is_new(mr.uid, f"kept {key}", holder):
            # For the platform team.
            _log.warning("a name is kept for another namespace", name=mr.external_name, kept_for=holder)
        raise _refused(mr, f", or have an administrator release it: {cluster.kept.place(key)}")
    if _is_anothers_prefix(mr, str(mr.external_name), cluster.everyone):
        raise _refused(mr, " that does not begin with another namespace")


def check_taking(mr: Managed, seen: Resource, account: AccountAccess, cluster: ClusterView) -> None:
    """Check that a tenant or connection group without an owner may be adopted, with its name.

    Raises:
        ExternalError: its name begins with another namespace.
    """
    if not _is_anothers_prefix(mr, seen.name, cluster.everyone):
        return
    noun = identity.noun(mr)
    # The name in AWS begins with that namespace: a resource that refers to it by id may not know the name.
    name = str(mr.external_name)
    it = f"{noun} {name}" if name == seen.id else f"{noun} {name} ({seen.id})"
    owner = identity.owner_of(mr, account.installation, "NAME" if judgement.names_by_id(mr) else name)
    tag = f"tag {identity.OWNER_TAG} to {owner}"
    raise guards.invalid(
        f"{it} is not adopted: its name begins with another namespace, and such names are kept for that "
        f"namespace. Have an administrator set its {tag} in AWS",
        Reason.ADOPTION_REFUSED,
    )


def _holder(mr: Managed, key: str, account: AccountAccess, kept: KeptDomains) -> str | None:
    """Return the namespace for which the name is kept. Before a refusal, read the record again: an
    administrator may have released the name."""
    try:
        holder = kept.holder(key)
        if holder not in (None, identity.namespace_of(mr)):
            kept.reread((key,))
            holder = kept.holder(key)
    except RecordsFailed as error:
        what = f"{identity.noun(mr)} {mr.external_name}"
        after = account.memory.records.pause(mr.uid, "", _AGAIN_SECONDS)
        raise NotYet(f"{what} waits until the record of its name is read: {error}", after=after) from error
    return holder


def _is_anothers_prefix(mr: Managed, name: str, everyone: Everyone) -> bool:
    """Whether the name begins with another namespace. Checked at each such creation and not cached: a
    squatter could use the time in between."""
    # Namespaces are lower case. AWS does not document whether names in CloudFront are case-sensitive.
    prefix, dot, _ = name.lower().partition(".")
    if not dot or prefix == identity.namespace_of(mr):
        return False
    return any(identity.namespace_of(other) == prefix for other in everyone())


def _refused(mr: Managed, next_step: str) -> ExternalError:
    # Never name the owner, as for domains.
    other_name = advice.sentence(advice.another_name(mr))
    words = f"the name {mr.external_name} is kept for another namespace. {other_name}{next_step}"
    return guards.invalid(f"{advice.name_field(mr)}: {words}", Reason.ADOPTION_REFUSED)
