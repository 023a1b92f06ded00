"""The parts of a change that the provider can write while AWS refuses another part (pure).

AWS accepts or rejects an update as a whole. Without parts, a domain that another tenant has would block
everything else in the same edit: a suspension, or the release of a domain that the other tenant waits for.
And a parameter that does not exist, which a user may set, would keep the platform team's restrictions away.
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
    """Smaller changes, the largest first. Each brings the tenant closer to the desired state. The last ones
    only set the web ACL and geographic restrictions, remove domains or disable the tenant.

    Args:
        whole: the change that AWS or a check refused, in whole or in part.
        seen: the observed tenant.
        adding: sets of new domains to try; without any, no part adds a domain.
    """
    wanted, has = whole.target.domains or frozenset(), frozenset(seen.domains)
    plain = replace(whole.target, certificate_request=None)
    # A tenant must have a domain: if none of the present ones is desired, keep all of them.
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
    protected = (_protected(plain, less, seen),) if plain.distribution_id == seen.distribution_id else ()
    more = (replace(whole.target, domains=wanted & has | new) for new in adding if new)
    parts = (*more, replace(plain, domains=fewer), *protected, less, replace(less, domains=has))
    return smaller(whole, (compare(part, seen) for part in parts))


def _protected(plain: Tenant, less: Tenant, seen: ObservedTenant) -> Tenant:
    """Only the web ACL and the geographic restrictions. They are those of the distribution: a tenant that
    stays at another one, as a change of its plan is refused, keeps what protects it there."""
    asked = plain.customizations
    both = replace(seen.customizations, web_acl=asked.web_acl, geo_restrictions=asked.geo_restrictions)
    return replace(less, customizations=both)
