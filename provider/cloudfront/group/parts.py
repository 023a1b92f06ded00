"""What can be made of a change of a group while another part of it is refused (pure).

As for tenants (tenant/parts.py). What AWS may refuse of a group is an Anycast list that is not there, and to
disable one that has tenants; neither holds up the other.
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
    """Smaller changes: all but the Anycast list; to disable it, and nothing else; all but that.

    Args:
        whole: the change that was refused, or of which a part was.
        seen: the group as it is now.
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
