"""The parts of a group's change that the provider can write while AWS refuses another part (pure).

It works as for tenants (tenant/parts.py). AWS may refuse an Anycast list that does not exist, or to disable
a group that has tenants; neither blocks the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from provider.cloudfront.group.plan import compare
from provider.cloudfront.lifecycle.assessment import smaller
from provider.cloudfront.state.diff import Diff
from provider.cloudfront.state.group import Group, ObservedGroup

__all__ = ["of"]


def of(whole: Diff[Group], seen: ObservedGroup) -> Iterator[Diff[Group]]:
    """Smaller changes: all except the Anycast list; only the disabling; all except the disabling.

    Args:
        whole: the change that AWS or a check refused, in whole or in part.
        seen: the observed group.
    """
    target = whole.target
    disabling = Group(
        name=seen.name,
        ipv6_enabled=seen.ipv6_enabled,
        anycast_ip_list_id=seen.anycast_ip_list_id,
        enabled=seen.enabled and target.enabled,
        tags=seen.tags,
    )
    parts = (
        replace(target, anycast_ip_list_id=seen.anycast_ip_list_id),
        disabling,
        replace(target, enabled=seen.enabled),
    )
    return smaller(whole, (compare(part, seen) for part in parts))
