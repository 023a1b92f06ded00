"""Names in CloudFront are kept for the namespace that has them, as domains are (keptdomains.py).

A name is one in an account, and the names that claims get can be computed. Whoever makes a tenant of that name
first has it, so that the claim stays dark. A name may be created by

    the namespace for which it is recorded                       ─▶ and by no other
    where it is recorded for none: the namespace that it begins with, where that has managed resources of ours
"""

from __future__ import annotations

from typing import Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.managed import Managed
from provider.cloudfront import guards, identity
from provider.cloudfront.context import Context

__all__ = ["check_creation"]

_FIELD: Final = f"metadata.annotations[{EXTERNAL_NAME}]"
_ANOTHER: Final = f"Choose another name with the annotation {EXTERNAL_NAME}"


def check_creation(mr: Managed, having: Context) -> None:
    """A tenant or connection group is about to be created by its name.

    Raises:
        ExternalError: the name is kept for another namespace.
    """
    if _is_anothers_prefix(mr, having):
        raise _refused(mr, f"{_ANOTHER}, which does not begin with another namespace")


def _is_anothers_prefix(mr: Managed, having: Context) -> bool:
    """Looked through at each such creation and not remembered: a squatter would have the time between."""
    prefix, dot, _ = str(mr.external_name).partition(".")
    if not dot or prefix == identity.namespace_of(mr):
        return False
    return any(identity.namespace_of(other) == prefix for other in having.everyone())


def _refused(mr: Managed, way_out: str) -> ExternalError:
    # Never whose it is, as for domains.
    words = f"{_FIELD}: the name {mr.external_name} is kept for another namespace. {way_out}"
    return guards.invalid(words, Reason.ADOPTION_REFUSED)
