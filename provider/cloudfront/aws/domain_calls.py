"""The calls for domains: who has a domain, what conflicts with it, and where it points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state import observed
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["Conflict", "DnsVerdict", "DomainCalls", "Writing", "move"]

_TENANT: Final = "dt_"
"""The prefix of tenant ids; distribution ids do not have it."""


@dataclass(frozen=True)
class Conflict:
    """A tenant or distribution that has a domain, or a wildcard that covers it."""

    domain: str
    kind: str
    """distribution or distribution-tenant."""
    id: str
    """Partly masked if it belongs to another account."""
    account: str
    """Masked likewise."""


@dataclass(frozen=True)
class DnsVerdict:
    """What CloudFront finds in public DNS for a domain."""

    status: str
    """valid-configuration, invalid-configuration or unknown-configuration."""
    reason: str = ""


def move(domain: str, tenant: str, etag: str) -> dict[str, Any]:
    """Return the parameters of UpdateDomainAssociation. `etag` is that of the receiving tenant."""
    return {"Domain": domain, "TargetResource": {"DistributionTenantId": tenant}, "IfMatch": etag}


Writing = Callable[[str], AbstractContextManager[None]]


class DomainCalls:
    """Part of CloudFrontCalls."""

    _cloudfront: CloudFrontClient
    writing: Writing

    def tenant_of_domain(self, domain: str) -> ObservedTenant | None:
        """GetDistributionTenantByDomain: searches the account's own tenants."""
        try:
            with as_aws_errors("GetDistributionTenantByDomain"):
                answer = self._cloudfront.get_distribution_tenant_by_domain(Domain=domain)
        except AwsError as error:
            if error.absent:
                return None
            raise
        with reading("GetDistributionTenantByDomain"):
            return observed.tenant(answer["DistributionTenant"], answer["ETag"])

    def conflicts(self, domain: str, resource: str) -> tuple[Conflict, ...]:
        """ListDomainConflicts, every page: what conflicts with a domain, in any account. `resource` is a
        tenant or distribution of this account whose certificate covers the domain."""
        kind = "DistributionTenantId" if resource.startswith(_TENANT) else "DistributionId"
        by: Any = {"Domain": domain, "DomainControlValidationResource": {kind: resource}}
        found: list[Conflict] = []
        passed = set[str]()
        while True:
            with as_aws_errors("ListDomainConflicts"):
                answer = self._cloudfront.list_domain_conflicts(**by)
            with reading("ListDomainConflicts"):
                found += map(_conflict, answer.get("DomainConflicts") or ())
            marker = answer.get("NextMarker")
            # Pages may lead back in an endless loop; what was found until then counts.
            if not marker or marker in passed:
                return tuple(found)
            passed.add(marker)
            by["Marker"] = marker

    def move_domain(self, domain: str, tenant: str, etag: str) -> str:
        """UpdateDomainAssociation: move the domain from its owner in the account to `tenant`, in one step.
        Return the tenant's new ETag."""
        with self.writing(tenant), as_aws_errors("UpdateDomainAssociation"):
            answer = self._cloudfront.update_domain_association(**move(domain, tenant, etag))
        with reading("UpdateDomainAssociation"):
            return answer["ETag"]

    def verify_dns(self, tenant: str) -> Mapping[str, DnsVerdict]:
        """VerifyDnsConfiguration of all of a tenant's domains."""
        with as_aws_errors("VerifyDnsConfiguration"):
            answer: Any = self._cloudfront.verify_dns_configuration(Identifier=tenant)
        with reading("VerifyDnsConfiguration"):
            return {
                row["Domain"].lower(): DnsVerdict(row["Status"], row.get("Reason") or "")
                for row in answer.get("DnsConfigurationList") or ()
            }


def _conflict(row: Mapping[str, Any]) -> Conflict:
    return Conflict(row["Domain"].lower(), row["ResourceType"], row["ResourceId"], row["AccountId"])
