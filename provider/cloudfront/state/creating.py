"""To which AWS account the creation of an external resource was sent (pure).

Until status has the ARN of the external resource, only this record shows where it may exist: a process may
die during the call, and the credentials may change before the next one starts. The runtime writes it together
with external-create-pending, so before the call. It counts from then on, until

    status has an ARN                            the ARN says where it is
    external-create-failed is newer              AWS or a check clearly refused the creation
    external-create-pending is removed           a user says that nothing was created

The record has the uid of its resource: a copy of the annotations, as in a backup, says nothing about another
resource. Anyone who may edit the resource may forge or remove the record. It only stops the provider, and
only for that resource.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.meta import MalformedAnnotation, creation
from provider.cloudfront.state.observed import account_of

__all__ = ["CREATING_IN", "account_of_creation", "record"]

CREATING_IN: Final = "edgetenants.io/creating-in"
"""The account, a slash, and the first characters of the uid."""
_ACCOUNT: Final = re.compile(r"\d{12}", re.ASCII)


def record(mr: Managed, account: str | None) -> Mapping[str, str]:
    """The annotations to record before a creation in that account; None if it is unknown."""
    if account and _ACCOUNT.fullmatch(account):
        return {CREATING_IN: f"{account}/{_mark(mr)}"}
    # An earlier record must not count for a creation that may go elsewhere.
    return {CREATING_IN: ""} if CREATING_IN in mr.annotations else {}


def account_of_creation(mr: Managed) -> str | None:
    """The account in which a creation may have made the external resource, as long as the record counts."""
    account, _, mark = mr.annotations.get(CREATING_IN, "").partition("/")
    if mark != _mark(mr) or not _ACCOUNT.fullmatch(account) or account_of(mr.at_provider.get("arn") or ""):
        return None
    return account if _may_be_made(mr) else None


def _may_be_made(mr: Managed) -> bool:
    try:
        marks = creation(mr.annotations)
    except MalformedAnnotation:
        return True
    if marks.pending is None:
        return False
    if marks.succeeded is not None and marks.succeeded >= marks.pending:
        # Also after a success: the process may have died before it wrote the ARN to status.
        return True
    return marks.incomplete


def _mark(mr: Managed) -> str:
    return mr.uid[:8]
