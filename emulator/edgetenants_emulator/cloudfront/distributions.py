"""Distributions of both connection modes: create, get, update, delete, list.

Standard distributions are also stored here, because domains are unique across both kinds and because moto
does not support versions or If-Match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from edgetenants_emulator.cloudfront import anycast_ip_lists, connection_groups, domains, paging, tags
from edgetenants_emulator.configuration import distribution_config, parameters
from edgetenants_emulator.configuration import rules as distribution_rules
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode
from edgetenants_emulator.configuration.submitted import Submitted
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, etag, identifiers
from edgetenants_emulator.state.records import Distribution
from edgetenants_emulator.state.world import World

__all__ = [
    "create",
    "create_with_tags",
    "delete",
    "find",
    "get",
    "get_config",
    "list_by_anycast_ip_list",
    "list_by_connection_mode",
    "list_page",
    "make",
    "shown",
    "update",
]

Params = Mapping[str, Any]

_NOBODY = {"Enabled": False, "Quantity": 0}
# Errors that the model declares only for CreateDistribution.
_NOT_WITH_TAGS = frozenset({ErrorCode.ENTITY_LIMIT_EXCEEDED})
_NOT_IN_UPDATE = _NOT_WITH_TAGS | {ConfigErrorCode.INVALID_ORIGIN, ConfigErrorCode.INVALID_PROTOCOL_SETTINGS}


def create(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateDistribution."""
    return _created(world, make(world, account, params["DistributionConfig"], {}))


def create_with_tags(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateDistributionWithTags."""
    both = params["DistributionConfigWithTags"]
    given = tags.settled(both.get("Tags"), world.settings.tags_per_resource)
    try:
        return _created(world, make(world, account, both["DistributionConfig"], given))
    except AwsError as error:
        raise _declared(error, _NOT_WITH_TAGS, ErrorCode.INVALID_ARGUMENT) from error


def make(
    world: World, account: str, given: Params, its_tags: dict[str, str], fixed_id: str | None = None
) -> Distribution:
    """Create a distribution, with a fixed id if one is given. The first tenant-only distribution also creates
    the account's default connection group.

    Raises AwsError as CreateDistribution does.
    """
    distribution_rules.check_quantities(given)
    config = distribution_config.completed(given)
    distribution_rules.check(Submitted(world, account, config))
    if world.distributions.named(account, config["CallerReference"]):
        message = "The caller reference that you are using to create a distribution is already in use."
        raise AwsError(ErrorCode.DISTRIBUTION_ALREADY_EXISTS, message)
    aliases = distribution_config.aliases(config)
    domains.check_free(world, aliases, None)
    distribution = _new(world, account, config, fixed_id)
    _check_quota(world, distribution)
    if distribution.tenant_only and world.settings.default_group_with_distribution:
        connection_groups.default(world, account)
    distribution.tags = its_tags
    domains.hold(world, distribution.arn, aliases)
    world.distributions.add(distribution)
    return distribution


def get(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetDistribution."""
    return _answer(world, find(world, account, params["Id"]))


def get_config(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetDistributionConfig."""
    distribution = find(world, account, params["Id"])
    return {"DistributionConfig": distribution.config, "ETag": distribution.etag}


def update(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateDistribution replaces the whole configuration. Members that CloudFront fills in must be sent
    again; other omitted members are removed."""
    distribution = find(world, account, params["Id"])
    etag.check(params.get("IfMatch"), distribution.version, world.settings)
    distribution_rules.check_quantities(params["DistributionConfig"])
    if world.settings.distribution_update_needs_all:
        distribution_rules.check_complete(params["DistributionConfig"])
    config = distribution_config.completed(params["DistributionConfig"])
    for fixed in ("CallerReference", "ConnectionMode"):
        if config[fixed] != distribution.config[fixed]:
            raise AwsError(ErrorCode.ILLEGAL_UPDATE, f"The {fixed} of a distribution cannot be changed.")
    try:
        distribution_rules.check(Submitted(world, account, config, distribution.id))
    except AwsError as error:
        raise _declared(error, _NOT_IN_UPDATE, ErrorCode.ILLEGAL_UPDATE) from error
    aliases = distribution_config.aliases(config)
    domains.check_free(world, aliases, distribution.arn)
    parameters.check_change(world, distribution, config)
    before = distribution_config.aliases(distribution.config)
    domains.hold(world, distribution.arn, aliases, instead_of=before)
    distribution.config = config
    distribution.enabled = config["Enabled"]
    distribution.touch(world.clock.now(), durations.of_distribution(world, distribution.deploy_seconds))
    return _answer(world, distribution)


def delete(world: World, account: str, params: Params) -> dict[str, Any]:
    """DeleteDistribution. The distribution must be disabled and without tenants."""
    distribution = find(world, account, params["Id"])
    etag.check(params.get("IfMatch"), distribution.version, world.settings)
    if any(tenant.distribution_id == distribution.id for tenant in world.tenants.of(account)):
        message = f"The distribution {distribution.id} can't be deleted: it has distribution tenants."
        raise AwsError(ErrorCode.RESOURCE_IN_USE, message)
    if not world.may_delete(distribution):
        message = "The distribution you are trying to delete has not been disabled."
        raise AwsError(world.delete_error(distribution, ErrorCode.DISTRIBUTION_NOT_DISABLED), message)
    domains.hold(world, distribution.arn, (), instead_of=distribution_config.aliases(distribution.config))
    world.distributions.remove(distribution)
    return {}


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributions, with both connection modes."""
    return _list(world, account, params, lambda _: True)


def list_by_connection_mode(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionsByConnectionMode: `direct` or `tenant-only`."""
    mode = params["ConnectionMode"]
    return _list(world, account, params, lambda distribution: distribution.config["ConnectionMode"] == mode)


def list_by_anycast_ip_list(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListDistributionsByAnycastIpListId. Only standard distributions, because tenants use the list of their
    connection group."""
    wanted = anycast_ip_lists.find(world, account, params["AnycastIpListId"]).id
    return _list(world, account, params, lambda each: each.config.get("AnycastIpListId") == wanted)


def find(world: World, account: str, distribution_id: str) -> Distribution:
    """A distribution by id. Raises AwsError NoSuchDistribution."""
    found = world.distributions.get(account, distribution_id)
    if found is None:
        raise AwsError(ErrorCode.NO_SUCH_DISTRIBUTION, "The specified distribution does not exist.")
    return found


def shown(world: World, distribution: Distribution, now: float) -> dict[str, Any]:
    """A distribution as Get returns it, by the model's names."""
    return {
        "Id": distribution.id,
        "ARN": distribution.arn,
        "Status": distribution.status(now),
        "LastModifiedTime": world.clock.stamp(distribution.modified),
        "InProgressInvalidationBatches": sum(now < each.completed_at for each in distribution.invalidations),
        "DomainName": distribution.domain_name,
        "ActiveTrustedSigners": _NOBODY,
        "ActiveTrustedKeyGroups": _NOBODY,
        "DistributionConfig": distribution.config,
    }


def _new(world: World, account: str, config: dict[str, Any], fixed_id: str | None) -> Distribution:
    now = world.clock.now()
    return Distribution(
        id=fixed_id or identifiers.distribution_id(),
        account=account,
        name=config["CallerReference"],
        enabled=config["Enabled"],
        created=now,
        modified=now,
        deployed_at=now + durations.of_distribution(world, None),
        domain_name=identifiers.edge_name(),
        config=config,
    )


def _check_quota(world: World, wanted: Distribution) -> None:
    before = world.distributions.of(wanted.account)
    of_tenants = sum(each.tenant_only for each in before)
    quotas = {"distributions": (len(before), world.settings.distributions_per_account)}
    if wanted.tenant_only:
        limit = world.settings.tenant_only_distributions_per_account
        quotas["multi-tenant distributions"] = (of_tenants, limit)
    for what, (count, limit) in quotas.items():
        if count >= limit:
            message = f"Your request exceeds the limit of {limit} {what}."
            raise AwsError(ErrorCode.TOO_MANY_DISTRIBUTIONS, message)


def _declared(error: AwsError, undeclared: Collection[str], instead: ErrorCode) -> AwsError:
    """The error with a code that the operation declares."""
    return AwsError(instead, error.message) if error.code in undeclared else error


def _created(world: World, distribution: Distribution) -> dict[str, Any]:
    location = f"https://cloudfront.amazonaws.com/2020-05-31/distribution/{distribution.id}"
    return {**_answer(world, distribution), "Location": location}


def _answer(world: World, distribution: Distribution) -> dict[str, Any]:
    return {"Distribution": shown(world, distribution, world.clock.now()), "ETag": distribution.etag}


def _list(
    world: World, account: str, params: Params, wanted: Callable[[Distribution], bool]
) -> dict[str, Any]:
    limit = paging.size(params.get("MaxItems"), world.settings)
    matching = filter(wanted, world.distributions.of(account))
    found, marker = paging.page(matching, params.get("Marker"), limit, world.settings)
    now = world.clock.now()
    items = [
        {**shown(world, each, now), **distribution_config.summary(each.config), "ETag": each.etag}
        for each in found
    ]
    listed = {
        "Marker": params.get("Marker") or "",
        "NextMarker": marker,
        "MaxItems": limit,
        "IsTruncated": marker is not None,
        "Quantity": len(items),
        "Items": items or None,
    }
    return {"DistributionList": listed}
