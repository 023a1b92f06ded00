"""What can be said about a creation before it is tried, and which parent is missing after it failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.desired import Tenant
from provider.cloudfront.errors import AwsError, not_ready

__all__ = ["missing_parent", "problems"]

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]{1,126}[a-zA-Z0-9]")
"""CreateDistributionTenant's pattern for Name (API model)."""


def problems(mr: Managed, asked: Tenant) -> tuple[str, ...]:
    """Everything that is wrong with a creation, each with the field's path."""
    return tuple(_problems(mr, asked))


def _problems(mr: Managed, asked: Tenant) -> Iterator[str]:
    if not _NAME.fullmatch(asked.name):
        yield (
            f"metadata.annotations[{EXTERNAL_NAME}]: expected 3 to 128 letters, digits, dots and hyphens, "
            f"with a letter or digit at both ends, got {asked.name!r}"
        )
    if asked.distribution_id is None:
        yield f"spec.forProvider.distributionId: expected an id, got {_instead(mr)}"
    if not asked.domains:
        yield "spec.forProvider.domains: expected at least one domain, got none"
    if asked.managed_certificate:
        yield (
            "spec.forProvider.managedCertificateRequest: expected none, as this version of the provider does "
            "not request managed certificates; remove it, or name a certificate in "
            "spec.forProvider.customizations.certificate"
        )


def _instead(mr: Managed) -> str:
    fields = {**mr.init_provider, **mr.for_provider}
    if fields.get("distributionIdRef") or fields.get("distributionIdSelector"):
        return "a reference of policy Optional that leads to none; without a distribution there is no tenant"
    return "nothing"


def missing_parent(
    cloudfront: CloudFront, asked: Tenant, error: AwsError, *, serving: bool = False
) -> ExternalError:
    """Say which parent a refused creation or update missed: CloudFront's EntityNotFound does not."""
    unclear = (
        f"spec.forProvider.distributionId {asked.distribution_id} or connectionGroupId "
        f"{asked.connection_group_id}: {error.code}: {error.words}"
    )
    reason, message = _find_missing(cloudfront, asked) or (Reason.PARENT_NOT_FOUND, unclear)
    conditions = () if serving else (not_ready(reason, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def _find_missing(cloudfront: CloudFront, asked: Tenant) -> tuple[Reason, str] | None:
    """None when it cannot be told, for want of permission for example."""
    distribution, group = asked.distribution_id, asked.connection_group_id
    try:
        if distribution and not cloudfront.has_distribution(distribution):
            return (
                Reason.PARENT_NOT_FOUND,
                f"spec.forProvider.distributionId: distribution {distribution} does not exist",
            )
        if group and not _has_group(cloudfront, group):
            return (
                Reason.CONNECTION_GROUP_NOT_FOUND,
                f"spec.forProvider.connectionGroupId: connection group {group} does not exist",
            )
    except AwsError:
        return None
    return None


def _has_group(cloudfront: CloudFront, group: str) -> bool:
    try:
        cloudfront.routing_endpoint(group)
    except AwsError as error:
        if error.absent:
            return False
        raise
    return True
