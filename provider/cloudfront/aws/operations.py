"""Every AWS operation that the code may call, once: does it write, and which IAM actions does it need.

Held against the code, botocore's model and the emulator's record by tests; the page docs/iam.md is made from
it. IAM actions are those of the Service Authorization Reference for CloudFront
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudfront.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["OPERATIONS", "Feature", "Grant", "Operation", "Resource", "creates", "has_pages", "writes"]


class Feature(StrEnum):
    """What people may do without, and then need not permit."""

    TENANTS = "Tenants"
    """Distribution tenants: made, changed, deleted, with their tags."""
    ENDPOINTS = "Routing endpoints and missing parents"
    """Where DNS must lead, whether it does, and which of distribution and connection group is missing or
    disabled. Without it status.dnsInstructions stays empty."""
    DOMAINS = "Domain conflicts"
    """Who has a domain that is taken. Without it the message has CloudFront's words alone."""
    MOVES = "Moves of domains"
    """A domain is moved between tenants of one's own."""
    CERTIFICATES = "Managed certificates"
    """Certificates that CloudFront requests. Without the permissions for ACM the tenant may be made without
    one."""
    CERTIFICATE_CHECKS = "Certificate checks"
    """Whether a certificate covers each domain, when it expires, and why ACM could not issue it."""
    GROUPS = "Connection groups"
    """Connection groups: made, changed, deleted, with their tags. One is deleted only when its tenants can be
    listed, or somebody confirms that it has none."""
    WEB_ACLS = "Web ACLs"
    """Tenants with a web ACL of their own."""
    VPC_ORIGINS = "VPC origins"
    """Tenants of distributions whose origins stand in a VPC."""
    IMPORT = "edgetenants import"
    """The command that writes manifests for the tenants that exist."""
    IDENTITY = "Roles and accounts"
    """Whose the credentials are, and the roles of assumeRoleChain. AWS permits the first to everybody."""


class Resource(StrEnum):
    """What an action is permitted on."""

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
    ROLE = "arn:aws:iam::ACCOUNT:role/ROLE"
    """The role that is assumed; the next hop's in a chain."""
    ALL = "*"
    """The action knows no resources."""


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
    """As boto3 has it."""
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


_TAGGED_TENANT: Final = Grant(_F.TENANTS, "cloudfront:TagResource", _R.TENANT)
_TAGGED_GROUP: Final = Grant(_F.GROUPS, "cloudfront:TagResource", _R.GROUP)
_USED_BY_TENANTS: Final = (
    Grant(_F.VPC_ORIGINS, "cloudfront:GetVpcOrigin", _R.VPC_ORIGIN),
    Grant(_F.WEB_ACLS, "wafv2:GetWebACL", _R.WEB_ACL),
    Grant(_F.CERTIFICATES, "acm:RequestCertificate", _R.ALL),
    Grant(_F.CERTIFICATES, "acm:DescribeCertificate", _R.CERTIFICATE),
)
"""What CloudFront asks of the caller when a tenant uses them."""

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
        _F.IMPORT,
        _R.ALL,
        Grant(_F.GROUPS, "cloudfront:ListDistributionTenants", _R.ALL),
    ),
    # What tenants lean on.
    _cloudfront(
        "GetConnectionGroup",
        _F.ENDPOINTS,
        _R.GROUP,
        Grant(_F.GROUPS, "cloudfront:GetConnectionGroup", _R.GROUP),
    ),
    _cloudfront("ListConnectionGroups", _F.ENDPOINTS, _R.ALL),
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
    # Connection groups.
    _cloudfront("CreateConnectionGroup", _F.GROUPS, _R.ALL, _TAGGED_GROUP, writes=True),
    _cloudfront("UpdateConnectionGroup", _F.GROUPS, _R.GROUP, writes=True),
    _cloudfront("DeleteConnectionGroup", _F.GROUPS, _R.GROUP, writes=True),
    # Who calls. AssumeRole starts a session and changes nothing.
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
"""By name; no two services have one of the same name here."""


def writes(name: str) -> bool:
    """The operation changes something in AWS; one that is not declared is taken to."""
    operation = OPERATIONS.get(name)
    return operation is None or operation.writes


def creates(name: str) -> bool:
    """The operation makes something new, which a second call would make again or refuse."""
    return writes(name) and name.startswith("Create")


def has_pages(name: str) -> bool:
    """The operation lists in pages, each of which is a call."""
    return name.startswith("List") and name != "ListTagsForResource"
