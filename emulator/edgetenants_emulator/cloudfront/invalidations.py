"""Invalidations of distributions and of tenants: InProgress for a while, then Completed.

Limits are those of CloudFront's quotas page, which states them for distributions. Tenants have the same
limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.cloudfront import distributions, paging
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import identifiers, tenant_lookup
from edgetenants_emulator.state.records import Distribution, Invalidation, Tenant
from edgetenants_emulator.state.world import World

__all__ = ["create", "create_for_tenant", "get", "get_for_tenant", "list_for_tenant", "list_page"]

Params = Mapping[str, Any]
Holder = Distribution | Tenant


def create(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateInvalidation. A repeated reference with the same paths returns the existing invalidation."""
    holder = distributions.find(world, account, params["DistributionId"])
    return _created(world, holder, params["InvalidationBatch"])


def create_for_tenant(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateInvalidationForDistributionTenant, like `create`."""
    holder = tenant_lookup.by_id(world, account, params["Id"])
    return _created(world, holder, params["InvalidationBatch"])


def get(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetInvalidation."""
    return _found(world, distributions.find(world, account, params["DistributionId"]), params["Id"])


def get_for_tenant(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetInvalidationForDistributionTenant."""
    return _found(world, tenant_lookup.by_id(world, account, params["DistributionTenantId"]), params["Id"])


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListInvalidations, the newest first."""
    return _listed(world, distributions.find(world, account, params["DistributionId"]), params)


def list_for_tenant(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListInvalidationsForDistributionTenant, the newest first."""
    return _listed(world, tenant_lookup.by_id(world, account, params["Id"]), params)


def _created(world: World, holder: Holder, batch: Params) -> dict[str, Any]:
    paths = _paths(world, batch["Paths"])
    reference = batch["CallerReference"]
    found = next((each for each in holder.invalidations if each.reference == reference), None)
    if found and found.paths != paths:
        message = "The caller reference was used before, with other paths."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if found is None:
        _check_quota(world, holder, paths)
        now = world.clock.now()
        found = Invalidation(
            id=identifiers.invalidation_id(),
            reference=reference,
            paths=paths,
            created=now,
            completed_at=now + world.settings.invalidation_seconds,
        )
        holder.invalidations.append(found)
    base = f"https://cloudfront.amazonaws.com/2020-05-31/{holder.KIND}"
    location = f"{base}/{holder.id}/invalidation/{found.id}"
    return {"Invalidation": _shown(world, found), "Location": location}


def _found(world: World, holder: Holder, invalidation_id: str) -> dict[str, Any]:
    for each in holder.invalidations:
        if each.id == invalidation_id:
            return {"Invalidation": _shown(world, each)}
    raise AwsError(ErrorCode.NO_SUCH_INVALIDATION, "The specified invalidation does not exist.")


def _listed(world: World, holder: Holder, params: Params) -> dict[str, Any]:
    limit = paging.size(params.get("MaxItems"), world.settings)
    newest_first = list(reversed(holder.invalidations))
    found, marker = paging.page_by_key(newest_first, lambda each: each.id, params.get("Marker"), limit)
    rows = [_shown(world, each) for each in found]
    for row in rows:
        del row["InvalidationBatch"]
    listed = {
        "Marker": params.get("Marker") or "",
        "NextMarker": marker,
        "MaxItems": limit,
        "IsTruncated": marker is not None,
        "Quantity": len(rows),
        "Items": rows or None,
    }
    return {"InvalidationList": listed}


def _paths(world: World, given: Params) -> tuple[str, ...]:
    paths = tuple(given.get("Items") or ())
    if given["Quantity"] != len(paths):
        message = "The value of Quantity and the size of Items don't match."
        raise AwsError(ErrorCode.INCONSISTENT_QUANTITIES, message)
    wrong = [path for path in paths if not path.startswith("/")]
    if wrong or not paths:
        message = f"Specify paths that begin with a slash, not: {', '.join(wrong) or 'none'}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if len(paths) > world.settings.invalidation_paths:
        message = f"An invalidation can have at most {world.settings.invalidation_paths} paths."
        raise AwsError(ErrorCode.BATCH_TOO_LARGE, message)
    return paths


def _check_quota(world: World, holder: Holder, paths: tuple[str, ...]) -> None:
    now = world.clock.now()
    running = [path for each in holder.invalidations if now < each.completed_at for path in each.paths]
    all_paths = [*running, *paths]
    wildcards = sum(path.endswith("*") for path in all_paths)
    settings = world.settings
    if len(all_paths) > settings.invalidation_paths or wildcards > settings.invalidation_wildcards:
        message = "You have exceeded the maximum number of invalidation paths in progress."
        raise AwsError(ErrorCode.TOO_MANY_INVALIDATIONS_IN_PROGRESS, message)


def _shown(world: World, invalidation: Invalidation) -> dict[str, Any]:
    done = world.clock.now() >= invalidation.completed_at
    paths = {"Quantity": len(invalidation.paths), "Items": list(invalidation.paths)}
    return {
        "Id": invalidation.id,
        "Status": "Completed" if done else "InProgress",
        "CreateTime": world.clock.stamp(invalidation.created),
        "InvalidationBatch": {"Paths": paths, "CallerReference": invalidation.reference},
    }
