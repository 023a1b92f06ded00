"""What can be made of a change while another part of it is refused (pure).

AWS takes an update whole or not at all. A domain that another tenant has would hold up a suspension, the
domains that are given up (which may be just what the other one waits for) and everything else in the same
edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from provider.cloudfront.lifecycle.assessment import smaller
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import Diff, compare
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["of"]


def of(
    whole: Diff[Tenant], seen: ObservedTenant, adding: Iterable[frozenset[str]] = ()
) -> Iterator[Diff[Tenant]]:
    """Smaller changes, the largest first. Each leaves the tenant closer to what is asked; the last ones only
    take away: domains, and serving.

    Args:
        whole: the change that was refused, or of which a part was.
        seen: the tenant as it is now.
        adding: sets of the new domains to try; without them no part adds one.
    """
    wanted, has = whole.target.domains or frozenset(), frozenset(seen.domains)
    plain = replace(whole.target, certificate_request=None)
    # A tenant must have a domain: where none of its own stays, all do.
    fewer = wanted & has or has
    less = replace(
        plain,
        domains=fewer,
        enabled=seen.enabled and plain.enabled,
        distribution_id=seen.distribution_id,
        connection_group_id=seen.connection_group_id,
        parameters=seen.parameters,
        customizations=seen.customizations,
        tags=seen.tags,
        attached=None,
    )
    more = (replace(whole.target, domains=wanted & has | new) for new in adding if new)
    parts = (*more, replace(plain, domains=fewer), less, replace(less, domains=has))
    return smaller(whole, (compare(part, seen) for part in parts))
