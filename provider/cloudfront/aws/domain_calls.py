"""The calls about domains: who has one, who would be in its way, and where it leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.failing import failing, reading
from provider.cloudfront.state import observed
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["Conflict", "DnsVerdict", "DomainCalls", "move"]

_TENANT: Final = "dt_"
"""Begins the id of a tenant, and of no distribution."""


@dataclass(frozen=True)
class Conflict:
    """Somebody who has a domain, or a wildcard over it."""

    domain: str
    kind: str
    """distribution or distribution-tenant."""
    id: str
    """Partly masked where it is another account's."""
    account: str
    """The same."""


@dataclass(frozen=True)
class DnsVerdict:
    """What CloudFront reads of a domain in public DNS."""

    status: str
    """valid-configuration, invalid-configuration or unknown-configuration."""
    reason: str = ""


def move(domain: str, tenant: str, etag: str) -> dict[str, Any]:
    """The parameters of UpdateDomainAssociation. `etag` is that of the tenant that receives."""
    return {"Domain": domain, "TargetResource": {"DistributionTenantId": tenant}, "IfMatch": etag}


class DomainCalls:
    """Part of CloudFrontCalls."""

    _cloudfront: CloudFrontClient

    def tenant_of_domain(self, domain: str) -> ObservedTenant | None:
        """GetDistributionTenantByDomain: among the account's own."""
        try:
            with failing("GetDistributionTenantByDomain"):
                answer = self._cloudfront.get_distribution_tenant_by_domain(Domain=domain)
        except AwsError as error:
            if error.absent:
                return None
            raise
        with reading("GetDistributionTenantByDomain"):
            return observed.tenant(answer["DistributionTenant"], answer["ETag"])

    def conflicts(self, domain: str, resource: str) -> tuple[Conflict, ...]:
        """ListDomainConflicts, every page: what is in the way of a domain, in whatever account. `resource`
        is a tenant or a distribution of the account's own with a certificate that covers the domain."""
        kind = "DistributionTenantId" if resource.startswith(_TENANT) else "DistributionId"
        by: Any = {"Domain": domain, "DomainControlValidationResource": {kind: resource}}
        found: list[Conflict] = []
        passed = set[str]()
        while True:
            with failing("ListDomainConflicts"):
                answer = self._cloudfront.list_domain_conflicts(**by)
            with reading("ListDomainConflicts"):
                found += map(_conflict, answer.get("DomainConflicts") or ())
            marker = answer.get("NextMarker")
            # Pages that lead back would go round for ever; what is found counts.
            if not marker or marker in passed:
                return tuple(found)
            passed.add(marker)
            by["Marker"] = marker

    def move_domain(self, domain: str, tenant: str, etag: str) -> str:
        """UpdateDomainAssociation: from whoever of the account has it to `tenant`, in one step. The tenant's
        new ETag."""
        with failing("UpdateDomainAssociation"):
            answer = self._cloudfront.update_domain_association(**move(domain, tenant, etag))
        with reading("UpdateDomainAssociation"):
            return answer["ETag"]

    def verify_dns(self, tenant: str) -> Mapping[str, DnsVerdict]:
        """VerifyDnsConfiguration of all of a tenant's domains."""
        with failing("VerifyDnsConfiguration"):
            answer: Any = self._cloudfront.verify_dns_configuration(Identifier=tenant)
        with reading("VerifyDnsConfiguration"):
            return {
                row["Domain"].lower(): DnsVerdict(row["Status"], row.get("Reason") or "")
                for row in answer.get("DnsConfigurationList") or ()
            }


def _conflict(row: Mapping[str, Any]) -> Conflict:
    return Conflict(row["Domain"].lower(), row["ResourceType"], row["ResourceId"], row["AccountId"])
