"""The calls to CloudFront that the provider makes, each as a method on plain values. Only this module knows
botocore's shapes and exceptions.

Only an action that requests a certificate sends ManagedCertificateRequest: each one may open another request,
and only one may be pending (CloudFront Developer Guide, "Request certificates for your CloudFront
distribution tenant").

    CloudFrontCalls ── certificate_calls, domain_calls, group_calls, list_calls
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from provider.cloudfront.aws.certificate_calls import CertificateCalls
from provider.cloudfront.aws.domain_calls import Conflict, DnsVerdict, DomainCalls, Writing
from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.group_calls import GroupCalls
from provider.cloudfront.aws.list_calls import ListCalls, Page
from provider.cloudfront.state import distribution as distributions
from provider.cloudfront.state import observed
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.customizations import Customizations
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.distribution import Distribution
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_acm import ACMClient
    from mypy_boto3_cloudfront import CloudFrontClient
    from mypy_boto3_sts import STSClient

__all__ = [
    "Caller",
    "CloudFront",
    "CloudFrontCalls",
    "Page",
    "creation",
    "deletion",
    "settings",
    "tagging",
    "untagging",
    "update",
]


@dataclass(frozen=True)
class Caller:
    """The identity of the credentials."""

    account: str
    arn: str | None
    """None if the credentials may not read it."""


class CloudFront(Protocol):
    """The CloudFront API. For any error response of AWS, every method raises AwsError and nothing else."""

    def get_tenant(self, identifier: str) -> ObservedTenant:
        """Return a tenant by name, id or ARN."""
        ...

    def create_tenant(self, tenant: Tenant) -> ObservedTenant:
        """Create a tenant with its tags and its certificate request. The response has no tags."""
        ...

    def update_tenant(
        self,
        id_: str,
        etag: str,
        tenant: Tenant,
        emptied: frozenset[str] = frozenset(),
        request: Request | None = None,
    ) -> ObservedTenant:
        """Update the whole tenant except its name and tags, and request a certificate if `request` is set.
        `emptied` is as in `settings`."""
        ...

    def delete_tenant(self, id_: str, etag: str) -> None:
        """Delete a disabled tenant."""
        ...

    def tags(self, arn: str) -> dict[str, str]:
        """Return all tags."""
        ...

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Set these tags and keep all others."""
        ...

    def untag(self, arn: str, keys: tuple[str, ...]) -> None:
        """Remove these tags."""
        ...

    def distribution(self, id_: str) -> Distribution | None:
        """Return the distribution, or None if it does not exist."""
        ...

    def managed_certificate(self, tenant: str) -> Certificate | None:
        """Return a tenant's last managed certificate, or None if none was requested."""
        ...

    def certificate(self, arn: str) -> Certificate | None:
        """Return a certificate as ACM describes it, or None if it does not exist."""
        ...

    def tenant_of_domain(self, domain: str) -> ObservedTenant | None:
        """Return the account's tenant that has a domain."""
        ...

    def conflicts(self, domain: str, resource: str) -> tuple[Conflict, ...]:
        """Return what conflicts with a domain that a certificate of this tenant or distribution covers."""
        ...

    def move_domain(self, domain: str, tenant: str, etag: str) -> str:
        """Move a domain to a tenant from its present owner in the account; return the tenant's new ETag."""
        ...

    def verify_dns(self, tenant: str) -> Mapping[str, DnsVerdict]:
        """Return where the domains of a tenant point."""
        ...

    def get_group(self, identifier: str) -> ObservedGroup:
        """Return a connection group by name, id or ARN."""
        ...

    def default_group(self) -> ObservedGroup | None:
        """Return the account's default group, or None if it does not have one yet."""
        ...

    def create_group(self, group: Group) -> ObservedGroup:
        """Create a group with its tags. The response has no tags."""
        ...

    def update_group(self, id_: str, etag: str, group: Group, *, emptied: bool = False) -> ObservedGroup:
        """Update the whole group except its name and tags; `emptied` removes its Anycast list."""
        ...

    def delete_group(self, id_: str, etag: str) -> None:
        """Delete a disabled group without tenants."""
        ...

    def tenants_of_group(self, id_: str) -> Iterable[ObservedTenant]:
        """Return a group's tenants, without parameters and tags. Pages are read as they are needed, so the
        iteration may raise AwsError."""
        ...

    def caller(self) -> Caller:
        """Return the identity of the credentials."""
        ...

    def tenants_of(self, distribution: str, marker: str = "", size: int | None = None) -> Page:
        """Return a page of a distribution's tenants, starting at a marker, without parameters and tags.

        `size` is the maximum number of tenants; None leaves it to AWS.
        """
        ...


class CloudFrontCalls(CertificateCalls, DomainCalls, GroupCalls, ListCalls):
    """`CloudFront` on boto3. Thread-safe, as boto3's clients are."""

    def __init__(self, cloudfront: CloudFrontClient, acm: ACMClient, sts: STSClient) -> None:
        self._cloudfront = cloudfront
        self._acm = acm
        self._sts = sts
        self.writing: Writing = lambda _id: nullcontext()
        """Entered with the id of a tenant around each call that changes it."""

    def get_tenant(self, identifier: str) -> ObservedTenant:
        """GetDistributionTenant."""
        with as_aws_errors("GetDistributionTenant"):
            answer = self._cloudfront.get_distribution_tenant(Identifier=identifier)
        with reading("GetDistributionTenant"):
            return observed.tenant(answer["DistributionTenant"], answer["ETag"])

    def create_tenant(self, tenant: Tenant) -> ObservedTenant:
        """CreateDistributionTenant."""
        with as_aws_errors("CreateDistributionTenant"):
            answer = self._cloudfront.create_distribution_tenant(**creation(tenant))
        with reading("CreateDistributionTenant"):
            made = observed.tenant(answer["DistributionTenant"], answer["ETag"])
        with self.writing(made.id):
            # A list from before does not show it.
            return made

    def update_tenant(
        self,
        id_: str,
        etag: str,
        tenant: Tenant,
        emptied: frozenset[str] = frozenset(),
        request: Request | None = None,
    ) -> ObservedTenant:
        """UpdateDistributionTenant."""
        with self.writing(id_), as_aws_errors("UpdateDistributionTenant"):
            answer = self._cloudfront.update_distribution_tenant(
                **update(id_, etag, tenant, emptied, request)
            )
        with reading("UpdateDistributionTenant"):
            return observed.tenant(answer["DistributionTenant"], answer["ETag"])

    def delete_tenant(self, id_: str, etag: str) -> None:
        """DeleteDistributionTenant."""
        with self.writing(id_), as_aws_errors("DeleteDistributionTenant"):
            self._cloudfront.delete_distribution_tenant(**deletion(id_, etag))

    def tags(self, arn: str) -> dict[str, str]:
        """ListTagsForResource."""
        with as_aws_errors("ListTagsForResource"):
            answer = self._cloudfront.list_tags_for_resource(Resource=arn)
        with reading("ListTagsForResource"):
            return {tag["Key"]: tag.get("Value", "") for tag in answer["Tags"].get("Items", ())}

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """TagResource."""
        with as_aws_errors("TagResource"):
            self._cloudfront.tag_resource(**tagging(arn, tags))

    def untag(self, arn: str, keys: tuple[str, ...]) -> None:
        """UntagResource."""
        with as_aws_errors("UntagResource"):
            self._cloudfront.untag_resource(**untagging(arn, keys))

    def distribution(self, id_: str) -> Distribution | None:
        """GetDistribution."""
        try:
            with as_aws_errors("GetDistribution"):
                answer: Any = self._cloudfront.get_distribution(Id=id_)
        except AwsError as error:
            if error.absent:
                return None
            raise
        with reading("GetDistribution"):
            return distributions.read(id_, answer["Distribution"].get("DistributionConfig") or {})

    def caller(self) -> Caller:
        """GetCallerIdentity."""
        with as_aws_errors("GetCallerIdentity"):
            answer = self._sts.get_caller_identity()
        with reading("GetCallerIdentity"):
            return Caller(answer["Account"], answer["Arn"])

    def tenants_of(self, distribution: str, marker: str = "", size: int | None = None) -> Page:
        """ListDistributionTenants."""
        request: Any = {"AssociationFilter": {"DistributionId": distribution}}
        request |= {"Marker": marker} if marker else {}
        request |= {"MaxItems": size} if size else {}
        with as_aws_errors("ListDistributionTenants"):
            answer = self._cloudfront.list_distribution_tenants(**request)
        found = answer.get("DistributionTenantList") or ()
        with reading("ListDistributionTenants"):
            return Page(
                tuple(observed.tenant(each, each["ETag"]) for each in found), answer.get("NextMarker", "")
            )


# The parameters of the calls that write: what the provider sends, and what a rehearsal shows.


def creation(tenant: Tenant) -> dict[str, Any]:
    """CreateDistributionTenant."""
    tags = {"Tags": {"Items": _tags(tenant.tags)}} if tenant.tags else {}
    return {"Name": tenant.name, **settings(tenant), **_asking(tenant.certificate_request), **tags}


def update(
    id_: str,
    etag: str,
    tenant: Tenant,
    emptied: frozenset[str] = frozenset(),
    request: Request | None = None,
) -> dict[str, Any]:
    """UpdateDistributionTenant."""
    return {"Id": id_, "IfMatch": etag, **settings(tenant, emptied), **_asking(request)}


def deletion(id_: str, etag: str) -> dict[str, Any]:
    """DeleteDistributionTenant."""
    return {"Id": id_, "IfMatch": etag}


def tagging(arn: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """TagResource."""
    return {"Resource": arn, "Tags": {"Items": _tags(tags)}}


def untagging(arn: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """UntagResource."""
    return {"Resource": arn, "TagKeys": {"Items": list(keys)}}


def settings(tenant: Tenant, emptied: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the members that create and update share.

    Args:
        tenant: the values. Lists are sorted, so that equal tenants make equal requests.
        emptied: which of Parameters and Customizations to send although they are empty. An update keeps what
            it leaves out, so this removes the last of them.
    """
    sent: dict[str, Any] = {
        "DistributionId": tenant.distribution_id,
        "ConnectionGroupId": tenant.connection_group_id,
        "Domains": [{"Domain": domain} for domain in sorted(tenant.domains or ())],
        "Enabled": tenant.enabled,
        "Parameters": [{"Name": key, "Value": value} for key, value in sorted(tenant.parameters.items())],
        "Customizations": _customizations(tenant.customizations),
    }
    return {
        key: value
        for key, value in sent.items()
        if key in emptied or (value is not None and value not in ({}, []))
    }


def _customizations(own: Customizations) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    if own.web_acl:
        sent["WebAcl"] = {"Action": own.web_acl.action}
        if own.web_acl.arn:
            sent["WebAcl"]["Arn"] = own.web_acl.arn
    if own.certificate_arn:
        sent["Certificate"] = {"Arn": own.certificate_arn}
    if own.geo_restrictions:
        sent["GeoRestrictions"] = {"RestrictionType": own.geo_restrictions.restriction_type}
        if own.geo_restrictions.locations:
            sent["GeoRestrictions"]["Locations"] = sorted(own.geo_restrictions.locations)
    return sent


def _asking(request: Request | None) -> dict[str, Any]:
    if request is None:
        return {}
    asked = {
        "ValidationTokenHost": request.token_host,
        "PrimaryDomainName": request.primary_domain,
        "CertificateTransparencyLoggingPreference": request.logging,
    }
    return {"ManagedCertificateRequest": {key: value for key, value in asked.items() if value}}


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
