"""Settings of a tenant that AWS has and its spec does not set (pure).

The provider leaves them as they are: someone else may have made them, or an earlier managed resource of the
same tenant. Both change what visitors get, so the resource reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from edgetenants_runtime.managed import Managed
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["names"]


def names(mr: Managed, seen: ObservedTenant) -> tuple[str, ...]:
    """Return the names of the settings. Certificates and tags are left out, because other tools often set
    these. So is what the resource's author excludes from drift. Values are left out, because a claim's author
    reads the names and may not read the managed resource."""
    ignored = frozenset(mr.spec.get("ignoreDrift") or ())
    there = seen.customizations
    settings = {"webAcl": there.web_acl, "geoRestrictions": there.geo_restrictions}
    return (
        *_beyond("customizations", settings, mr, ignored),
        *_beyond("parameters", dict(sorted(seen.parameters.items())), mr, ignored),
    )


def _beyond(field: str, there: Mapping[str, Any], mr: Managed, ignored: frozenset[str]) -> Iterable[str]:
    if field in ignored:
        return ()
    said = {**(mr.init_provider.get(field) or {}), **(mr.for_provider.get(field) or {})}
    return (
        f"{field}.{key}"
        for key, value in there.items()
        if value is not None and said.get(key) is None and f"{field}.{key}" not in ignored
    )
