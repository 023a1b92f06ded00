"""Names in CloudFront are kept for the namespace that has them, as domains are (kept_domains.py).

A name is one in an account, and the names that claims get can be computed. Whoever first makes a tenant of
such a name has it, and the claim stays dark. So a name may be created

    that is recorded                            by the namespace that it is recorded for
    that is not, and begins with a namespace    by that one, where it has managed resources of ours; upper
                                                and lower case are the same here
    else                                        by anybody
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
from provider.cloudfront.safety.context import Context
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.state import identity

__all__ = ["check_creation", "check_taking"]

_log = structlog.get_logger("provider.cloudfront.keptnames")

_AGAIN_SECONDS: Final = 5.0


def check_creation(mr: Managed, having: Context) -> None:
    """A tenant or connection group is about to be created by its name.

    Raises:
        NotYet: the records cannot be read at present; a name of which nothing is known is not free.
        ExternalError: the name is kept for another namespace.
    """
    key = having.account and name_keys.key_of(mr.kind, having.account, str(mr.external_name))
    holder = _holder(mr, key, having) if key else None
    if holder == identity.namespace_of(mr):
        return
    if key and holder is not None:
        if having.memory.is_news(mr.uid, f"kept {key}", holder):
            # For those who run the provider.
            _log.warning("a name is kept for another namespace", name=mr.external_name, kept_for=holder)
        raise _refused(mr, f"; or have an administrator release it: {having.kept.place(key)}")
    if _is_anothers_prefix(mr, str(mr.external_name), having):
        raise _refused(mr, ", which does not begin with another namespace")


def check_taking(mr: Managed, seen: Resource, having: Context) -> None:
    """A tenant or connection group that is nobody's is about to be taken over, and its name with it.

    Raises:
        ExternalError: it begins with another namespace.
    """
    if not _is_anothers_prefix(mr, seen.name, having):
        return
    noun = identity.noun(mr)
    # The name that AWS has begins with that namespace: who named it by its id may not know it.
    name = str(mr.external_name)
    it = f"{noun} {name}" if name == seen.id else f"{noun} {name} ({seen.id})"
    owner = identity.owner_of(mr, having.installation, "NAME" if judgement.names_by_id(mr) else name)
    tag = f"tag {identity.OWNER_TAG} to {owner}"
    raise guards.invalid(
        f"{it} is not taken over: its name begins with another namespace, for "
        f"which such names are kept. Have an administrator set its {tag} in AWS",
        Reason.ADOPTION_REFUSED,
    )


def _holder(mr: Managed, key: str, having: Context) -> str | None:
    """What would refuse it is read anew, as an administrator may have released it."""
    try:
        holder = having.kept.holder(key)
        if holder not in (None, identity.namespace_of(mr)):
            having.kept.reread((key,))
            holder = having.kept.holder(key)
    except RecordsFailed as error:
        what = f"{identity.noun(mr)} {mr.external_name}"
        raise NotYet(
            f"{what} waits until it is known who has its name: {error}", after=_AGAIN_SECONDS
        ) from error
    return holder


def _is_anothers_prefix(mr: Managed, name: str, having: Context) -> bool:
    """Looked through at each such creation and not remembered: a squatter would have the time between."""
    # Namespaces are in lower case. Whether CloudFront tells names apart by their case, AWS does not say.
    prefix, dot, _ = name.lower().partition(".")
    if not dot or prefix == identity.namespace_of(mr):
        return False
    return any(identity.namespace_of(other) == prefix for other in having.everyone())


def _refused(mr: Managed, way_out: str) -> ExternalError:
    # Never whose it is, as for domains.
    other_name = advice.sentence(advice.another_name(mr))
    words = f"the name {mr.external_name} is kept for another namespace. {other_name}{way_out}"
    return guards.invalid(f"{advice.name_field(mr)}: {words}", Reason.ADOPTION_REFUSED)
