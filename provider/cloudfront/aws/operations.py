"""The AWS operations that the code may call: whether each writes, and which IAM actions it needs.

Tests compare this list with the code, botocore's model and the emulator's record; docs/iam.md is generated
from it. The IAM actions are those of the Service Authorization Reference for CloudFront
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudfront.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["OPERATIONS", "Feature", "Grant", "Operation", "Resource", "creates", "has_pages", "writes"]


class Feature(StrEnum):
    """Features that a user can do without, and then does not have to permit."""

    TENANTS = "Tenants"
    """Create, update and delete distribution tenants and their tags."""
    ENDPOINTS = "Routing endpoints and missing parents"
    """Find out where DNS must point and whether it does, and whether the distribution or the connection group
    is missing or disabled. Without this policy, status.dnsInstructions stays empty."""
    DOMAINS = "Domain conflicts"
    """Find out who has a domain that is taken. Without this policy, the message has only CloudFront's
    words."""
    MOVES = "Moves of domains"
    """Move a domain between your own tenants."""
    CERTIFICATES = "Managed certificates"
    """Use certificates that CloudFront requests. Without the ACM permissions, CloudFront may create the
    tenant without a certificate."""
    CERTIFICATE_CHECKS = "Certificate checks"
    """Check whether a certificate covers each domain, when it expires, and why ACM could not issue it."""
    GROUPS = "Connection groups"
    """Create, update and delete connection groups and their tags. The provider deletes a group only if it can
    list the group's tenants, or if a user confirms that the group has none."""
    WEB_ACLS = "Web ACLs"
    """Use tenants with their own web ACL."""
    VPC_ORIGINS = "VPC origins"
    """Use tenants of distributions whose origins are in a VPC."""
    SWEEPS = "Lists of all tenants"
    """Find out with one request per page of tenants whether any of them changed. Without this policy, the
    provider makes a request per tenant and poll interval."""
    PENDING = "Lists of pending certificates, and the number of all for the quota"
    """Find out with one request for all pending certificates whether any of them was issued. Without this
    policy, the provider makes a request for each of them, less and less often."""
    RECORDS = "DNS records in Route 53"
    """Create, correct and delete the DNS records of tenants with `dns.configRef`. The credentials are those
    of that ProviderConfig, which may be of another account."""
    IMPORT = "edgetenants import"
    """Write manifests for existing tenants with `edgetenants import`."""
    IDENTITY = "Roles and accounts"
    """Identify the account of the credentials, which AWS always permits, and assume the roles of
    assumeRoleChain."""


class Resource(StrEnum):
    """The resources on which an action is permitted."""

    TENANT = "arn:aws:cloudfront::ACCOUNT:distribution-tenant/*"
    """All tenants."""
    GROUP = "arn:aws:cloudfront::ACCOUNT:connection-group/*"
    """All connection groups."""
    DISTRIBUTION = "arn:aws:cloudfront::ACCOUNT:distribution/*"
    """All distributions; name yours instead."""
    CERTIFICATE = "arn:aws:acm:us-east-1:ACCOUNT:certificate/*"
    """All certificates that CloudFront can use."""
    WEB_ACL = "arn:aws:wafv2:us-east-1:ACCOUNT:global/webacl/*"
    """All web ACLs that CloudFront can use."""
    VPC_ORIGIN = "arn:aws:cloudfront::ACCOUNT:vpcorigin/*"
    """All VPC origins."""
    HOSTED_ZONE = "arn:aws:route53:::hostedzone/*"
    """All hosted zones; name yours instead."""
    CHANGE = "arn:aws:route53:::change/*"
    """All changes of hosted zones."""
    ROLE = "arn:aws:iam::ACCOUNT:role/ROLE"
    """The role to assume; in a chain, the role of the next hop."""
    ALL = "*"
    """The action does not support resources."""


@dataclass(frozen=True)
class Grant:
    """One IAM action on one kind of resource, for one feature."""

    feature: Feature
    action: str
    """Such as cloudfront:GetDistributionTenant."""
    resource: Resource


@dataclass(frozen=True)
class Operation:
    """One operation of an AWS API."""

    service: str
    """The service's name in boto3."""
    name: str
    grants: tuple[Grant, ...] = ()
    writes: bool = False
    """It changes something in AWS."""

    def __str__(self) -> str:
        return f"{self.service}:{self.name}"


_F, _R = Feature, Resource


def _cloudfront(
    name: str, feature: Feature, resource: Resource, *more: Grant, writes: bool = False
) -> Operation:
    return Operation(
        "cloudfront", name, (Grant(feature, f"cloudfront:{name}", resource), *more), writes=writes
    )


def _route53(name: str, resource: Resource, *, writes: bool = False) -> Operation:
    return Operation("route53", name, (Grant(Feature.RECORDS, f"route53:{name}", resource),), writes=writes)


_TAGGED_TENANT: Final = Grant(_F.TENANTS, "cloudfront:TagResource", _R.TENANT)
_TAGGED_GROUP: Final = Grant(_F.GROUPS, "cloudfront:TagResource", _R.GROUP)
_USED_BY_TENANTS: Final = (
    Grant(_F.VPC_ORIGINS, "cloudfront:GetVpcOrigin", _R.VPC_ORIGIN),
    Grant(_F.WEB_ACLS, "wafv2:GetWebACL", _R.WEB_ACL),
    Grant(_F.CERTIFICATES, "acm:RequestCertificate", _R.ALL),
    Grant(_F.CERTIFICATES, "acm:DescribeCertificate", _R.CERTIFICATE),
)
"""The permissions that CloudFront requires of the caller for a tenant that uses these features."""

_ALL: Final = (
    # Distribution tenants.
    _cloudfront(
        "GetDistributionTenant",
        _F.TENANTS,
        _R.TENANT,
        Grant(_F.GROUPS, "cloudfront:GetDistributionTenant", _R.TENANT),
    ),
    _cloudfront(
        "CreateDistributionTenant", _F.TENANTS, _R.ALL, _TAGGED_TENANT, *_USED_BY_TENANTS, writes=True
    ),
    _cloudfront("UpdateDistributionTenant", _F.TENANTS, _R.TENANT, *_USED_BY_TENANTS, writes=True),
    _cloudfront("DeleteDistributionTenant", _F.TENANTS, _R.TENANT, writes=True),
    _cloudfront(
        "ListTagsForResource",
        _F.TENANTS,
        _R.TENANT,
        Grant(_F.TENANTS, "cloudfront:ListTagsForResource", _R.GROUP),
        Grant(_F.GROUPS, "cloudfront:ListTagsForResource", _R.GROUP),
    ),
    _cloudfront("TagResource", _F.TENANTS, _R.TENANT, _TAGGED_GROUP, writes=True),
    _cloudfront(
        "UntagResource",
        _F.TENANTS,
        _R.TENANT,
        Grant(_F.GROUPS, "cloudfront:UntagResource", _R.GROUP),
        writes=True,
    ),
    _cloudfront(
        "ListDistributionTenants",
        _F.SWEEPS,
        _R.ALL,
        Grant(_F.GROUPS, "cloudfront:ListDistributionTenants", _R.ALL),
        Grant(_F.IMPORT, "cloudfront:ListDistributionTenants", _R.ALL),
    ),
    # What tenants depend on.
    _cloudfront(
        "GetConnectionGroup",
        _F.ENDPOINTS,
        _R.GROUP,
        Grant(_F.GROUPS, "cloudfront:GetConnectionGroup", _R.GROUP),
    ),
    _cloudfront(
        "ListConnectionGroups",
        _F.ENDPOINTS,
        _R.ALL,
        Grant(_F.SWEEPS, "cloudfront:ListConnectionGroups", _R.ALL),
    ),
    _cloudfront("GetDistribution", _F.ENDPOINTS, _R.DISTRIBUTION),
    _cloudfront("GetDistributionTenantByDomain", _F.DOMAINS, _R.TENANT),
    _cloudfront("ListDomainConflicts", _F.DOMAINS, _R.ALL),
    _cloudfront("UpdateDomainAssociation", _F.MOVES, _R.TENANT, writes=True),
    _cloudfront("VerifyDnsConfiguration", _F.ENDPOINTS, _R.TENANT),
    _cloudfront("GetManagedCertificateDetails", _F.CERTIFICATES, _R.TENANT),
    Operation(
        "acm",
        "DescribeCertificate",
        (Grant(_F.CERTIFICATE_CHECKS, "acm:DescribeCertificate", _R.CERTIFICATE),),
    ),
    Operation("acm", "ListCertificates", (Grant(_F.PENDING, "acm:ListCertificates", _R.ALL),)),
    # Connection groups.
    _cloudfront("CreateConnectionGroup", _F.GROUPS, _R.ALL, _TAGGED_GROUP, writes=True),
    _cloudfront("UpdateConnectionGroup", _F.GROUPS, _R.GROUP, writes=True),
    _cloudfront("DeleteConnectionGroup", _F.GROUPS, _R.GROUP, writes=True),
    # DNS records.
    _route53("ListHostedZones", _R.ALL),
    _route53("GetHostedZone", _R.HOSTED_ZONE),
    _route53("ListResourceRecordSets", _R.HOSTED_ZONE),
    _route53("ChangeResourceRecordSets", _R.HOSTED_ZONE, writes=True),
    _route53("GetChange", _R.CHANGE),
    # The caller. AssumeRole starts a session and changes nothing.
    Operation("sts", "GetCallerIdentity", (Grant(_F.IDENTITY, "sts:GetCallerIdentity", _R.ALL),)),
    Operation(
        "sts",
        "AssumeRole",
        (
            Grant(_F.IDENTITY, "sts:AssumeRole", _R.ROLE),
            Grant(_F.IDENTITY, "sts:TagSession", _R.ROLE),
        ),
    ),
    Operation("sts", "AssumeRoleWithWebIdentity"),
)

OPERATIONS: Final[Mapping[str, Operation]] = {operation.name: operation for operation in _ALL}
"""Operations by name. No two services here share a name."""


def writes(name: str) -> bool:
    """Whether the operation changes something in AWS; assumed for an operation that is not declared."""
    operation = OPERATIONS.get(name)
    return operation is None or operation.writes


def creates(name: str) -> bool:
    """Whether the operation creates an object: a second call would create another one or fail."""
    return writes(name) and name.startswith("Create")


def has_pages(name: str) -> bool:
    """Whether the operation lists in pages, each of which is a call."""
    return name.startswith("List") and name != "ListTagsForResource"
