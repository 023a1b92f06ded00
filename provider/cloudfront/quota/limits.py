"""The quotas of an account that creations use up, and which refusals are about them (pure).

CloudFront answers EntityLimitExceeded for each of its quotas: tenants of the account, domains and parameters
of one tenant, connection groups of one Anycast IP list, and ACM's certificates. Only its message may tell
them apart, and AWS does not document the messages. So a message that names something else is about the one
resource, and any other one may be about the account: the line (line.py) finds out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from provider.cloudfront.aws.errors import PAUSED, RENEWED, AwsError

__all__ = ["NAMED", "PUBLISHED", "Quota", "is_about_one", "is_undecided"]


class Quota(StrEnum):
    """A quota of the account. The value is the label in metrics."""

    TENANTS = "tenants"
    GROUPS = "connection_groups"
    CERTIFICATES = "certificates"
    """Those of ACM in us-east-1. AWS does not say whether the ones that CloudFront requests count."""


PUBLISHED: Final[Mapping[Quota, int]] = {Quota.TENANTS: 10_000, Quota.GROUPS: 100, Quota.CERTIFICATES: 2_500}
"""AWS's defaults, which it raises on request (CloudFront Developer Guide, Quotas; ACM User Guide, Quotas).
Nothing is refused because of them."""

NAMED: Final[Mapping[Quota, str]] = {
    Quota.TENANTS: "distribution tenants",
    Quota.GROUPS: "connection groups",
    Quota.CERTIFICATES: "ACM certificates in us-east-1",
}

_OF_ONE: Final = re.compile(
    r"\b(domains?|domain names?|alias(es)?|cnames?|parameters?|certificates?|tags?|customizations?"
    r"|anycast|ip lists?|web ?acls?)\b",
    re.IGNORECASE,
)

_DECIDED: Final = frozenset({"EntityLimitExceeded", "EntityAlreadyExists"})
"""What AWS says clearly, whatever the status of the response."""


def is_about_one(error: AwsError) -> bool:
    """Whether the refusal of a creation says nothing about room for others of its kind, as far as its code
    and its message tell."""
    return error.code != "EntityLimitExceeded" or _OF_ONE.search(error.words) is not None


def is_undecided(error: AwsError) -> bool:
    """Whether AWS neither accepted nor refused the creation, as far as the provider knows: it was throttled,
    held back, or its answer was lost."""
    held_back = error.throttled or error.code in (PAUSED, RENEWED)
    return held_back or not (error.made_nothing or error.code in _DECIDED)
