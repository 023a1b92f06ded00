"""The status of a DistributionTenant: its observed state in CloudFront, and what the provider derives from
it."""

from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.managed import ManagedStatus
from edgetenants_runtime.api.model import ApiModel, Bool, Kube

from .dns import DnsInstructions
from .drift import AppliedRecord, Drift, GuardedStatus, PlannedActions


class DomainObservation(ApiModel):
    """The observed state of one domain of the tenant."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """active: CloudFront serves it. inactive: CloudFront does not, because a certificate or proof of control
    is missing."""


class ValidationToken(ApiModel):
    """The redirect by which a web server validates the certificate for one domain."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name."""
    redirect_from: Annotated[str | None, Field(max_length=2048)] = None
    """The URL, without scheme, that the certificate authority requests."""
    redirect_to: Annotated[str | None, Field(max_length=2048)] = None
    """The URL, without scheme, to which the web server must redirect."""


class RenewalObservation(ApiModel):
    """Why AWS has not renewed a certificate that ends soon."""

    status: Annotated[str | None, Field(max_length=64)] = None
    """ACM's RenewalStatus, such as PENDING_VALIDATION or FAILED; NOT_STARTED if ACM shows no renewal."""
    reason: Annotated[str | None, Field(max_length=1024)] = None
    """ACM's RenewalStatusReason, such as CAA_ERROR."""
    waiting_for: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...] | None, Field(max_length=500), Kube(list_type="set")
    ] = None
    """The names that ACM has not validated."""


class ReplacedCertificate(ApiModel):
    """A certificate that is no longer valid or that AWS cannot renew. It stays attached until its replacement
    is."""

    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """Status of the certificate in AWS, such as expired or revoked."""
    failure_reason: Annotated[str | None, Field(max_length=1024)] = None
    """ACM's reason; set only if the provider may read it."""
    domains: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...] | None, Field(max_length=500), Kube(list_type="set")
    ] = None
    """The names that the certificate covers, while it is valid."""
    not_after: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the certificate expires (RFC 3339), while it is valid."""
    renewal: RenewalObservation | None = None
    """Why AWS has not renewed it; set only while it is valid and ends within 60 days."""


class CertificateObservation(ApiModel):
    """The observed state of the tenant's managed or custom certificate."""

    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """Status of the certificate in AWS, such as pending-validation, issued or validation-timed-out."""
    validation_token_host: Annotated[str | None, Field(max_length=64)] = None
    """Who answers the validation request: cloudfront or self-hosted."""
    validation: Annotated[
        tuple[ValidationToken, ...] | None, Field(max_length=500), Kube(list_type="atomic")
    ] = None
    """For each domain that waits for validation: the redirect that the web server must have."""
    failure_reason: Annotated[str | None, Field(max_length=1024)] = None
    """ACM's reason why the certificate could not be issued, such as CAA_ERROR; set only if the provider may
    read it."""
    domains: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...] | None, Field(max_length=500), Kube(list_type="set")
    ] = None
    """The names that the certificate covers."""
    requests: Annotated[int | None, Field(ge=0)] = None
    """Number of managed certificates requested since the last one was issued. After the first failure the
    provider waits ten minutes before it requests another; the wait doubles each time, up to a day. After a
    change of the spec it requests one at once."""
    waiting_since: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """Since when the provider waits before it requests another certificate (RFC 3339): since it saw that the
    last request failed, or that CloudFront shows no certificate."""
    not_after: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the certificate expires (RFC 3339)."""
    replaces: ReplacedCertificate | None = None
    """The certificate that this one replaces, as long as it is attached; unset if AWS can still renew it."""
    renewal: RenewalObservation | None = None
    """Why AWS has not renewed the managed certificate; set only if it ends within 60 days and the provider
    may read it."""


class WebAclObservation(ApiModel):
    """The observed state of the tenant's own web ACL."""

    action: Annotated[str | None, Field(max_length=64)] = None
    """override or disable."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the web ACL."""


class GeoObservation(ApiModel):
    """The observed state of the tenant's own geographic restriction."""

    restriction_type: Annotated[str | None, Field(max_length=64)] = None
    """none, whitelist or blacklist."""
    locations: Annotated[
        tuple[Annotated[str, Field(max_length=8)], ...] | None, Field(max_length=300), Kube(list_type="set")
    ] = None
    """Countries, sorted."""


class CustomizationsObservation(ApiModel):
    """The observed settings of the tenant that override its distribution's."""

    web_acl: WebAclObservation | None = None
    """The web ACL."""
    certificate_arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate that is attached to the tenant."""
    geo_restrictions: GeoObservation | None = None
    """The geographic restriction."""


class DistributionTenantObservation(ApiModel):
    """The observed state of the tenant in CloudFront."""

    id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the tenant (dt_…)."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the tenant."""
    name: Annotated[str | None, Field(max_length=128)] = None
    """Name of the tenant in CloudFront; unique in the account and immutable."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """Version of the tenant; changes with each write."""
    distribution_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the multi-tenant distribution."""
    connection_group_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the connection group; the account's default group if the spec names none."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the connection group's endpoint, to which the domains must lead."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """InProgress: CloudFront is rolling out a change. Deployed: the last change is rolled out."""
    enabled: Bool | None = None
    """Whether the tenant serves its domains."""
    domains: Annotated[
        tuple[DomainObservation, ...] | None, Field(max_length=500), Kube(list_type="atomic")
    ] = None
    """The domains of the tenant, each with whether CloudFront serves it."""
    parameters: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=50)] = (
        None
    )
    """Parameters of the tenant."""
    tags: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=64)] = None
    """Tags of the tenant, including the provider's own and those that others set."""
    customizations: CustomizationsObservation | None = None
    """Settings of the tenant that override its distribution's."""
    certificate: CertificateObservation | None = None
    """The managed or custom certificate."""
    created_time: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the tenant was created (RFC 3339)."""
    last_modified_time: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the tenant was last changed (RFC 3339)."""


class DistributionTenantStatus(ManagedStatus, GuardedStatus):
    """The observed state of the tenant."""

    domains_ready: Annotated[str | None, Field(max_length=16)] = None
    """Number of served and of desired domains, such as `2/3`."""
    at_provider: DistributionTenantObservation | None = None
    """The observed state of the tenant in CloudFront."""
    applied: AppliedRecord | None = None
    """The provider's last write."""
    dns_instructions: DnsInstructions | None = None
    """The DNS records that the domains need, ready to paste, each with its state."""
    drift: Drift | None = None
    """Fields whose value in AWS differs from the desired one."""
    planned_actions: PlannedActions | None = None
    """The actions that the provider would take; set with the annotation edgetenants.io/dry-run: "true"."""
