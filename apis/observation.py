"""The status of a DistributionTenant: the tenant as CloudFront has it, and what follows from it."""

from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.managed import ManagedStatus
from edgetenants_runtime.api.model import ApiModel, Bool, Kube

from .dns import DnsInstructions
from .drift import AppliedRecord, Drift, PlannedActions


class DomainObservation(ApiModel):
    """One domain of the tenant, as CloudFront has it."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """active: CloudFront answers for it. inactive: it does not, for want of a certificate or of control."""


class ValidationToken(ApiModel):
    """What a web server must answer for the certificate of one domain to be validated."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name."""
    redirect_from: Annotated[str | None, Field(max_length=2048)] = None
    """The URL, without scheme, at which the certificate authority asks."""
    redirect_to: Annotated[str | None, Field(max_length=2048)] = None
    """The URL, without scheme, to which the web server redirects it."""


class ReplacedCertificate(ApiModel):
    """A certificate that is no good any more, and attached until another one is."""

    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """State of the certificate, in AWS's word, such as expired or revoked."""
    failure_reason: Annotated[str | None, Field(max_length=1024)] = None
    """ACM's word for why; where the provider may read it."""


class CertificateObservation(ApiModel):
    """The managed or custom certificate of the tenant, as AWS has it."""

    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """State of the certificate, in AWS's word, such as pending-validation, issued or validation-timed-out."""
    validation_token_host: Annotated[str | None, Field(max_length=64)] = None
    """Who answers the validation request: cloudfront or self-hosted."""
    validation: Annotated[
        tuple[ValidationToken, ...] | None, Field(max_length=500), Kube(list_type="map", keys=("domain",))
    ] = None
    """For each domain that waits for validation: what the web server must redirect where."""
    failure_reason: Annotated[str | None, Field(max_length=1024)] = None
    """Why the certificate could not be issued, in ACM's word, such as CAA_ERROR; where the provider may read
    it."""
    domains: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...] | None, Field(max_length=500), Kube(list_type="set")
    ] = None
    """The names that the certificate covers."""
    requests: Annotated[int | None, Field(ge=0)] = None
    """How many managed certificates were asked for since the last one was issued. The next is asked for ten
    minutes after the first came to nothing, then twice as late each time, up to a day; a change of spec has
    it asked for at once."""
    not_after: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the certificate expires (RFC 3339)."""
    replaces: ReplacedCertificate | None = None
    """The one that this one replaces, as long as that is attached; unset where that is good."""


class WebAclObservation(ApiModel):
    """The web ACL of the tenant's own, as CloudFront has it."""

    action: Annotated[str | None, Field(max_length=64)] = None
    """override or disable."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the web ACL."""


class GeoObservation(ApiModel):
    """The geographic restriction of the tenant's own, as CloudFront has it."""

    restriction_type: Annotated[str | None, Field(max_length=64)] = None
    """none, whitelist or blacklist."""
    locations: Annotated[
        tuple[Annotated[str, Field(max_length=8)], ...] | None, Field(max_length=300), Kube(list_type="set")
    ] = None
    """Countries, sorted."""


class CustomizationsObservation(ApiModel):
    """What the tenant has of its own instead of its distribution's, as CloudFront has it."""

    web_acl: WebAclObservation | None = None
    """The web ACL."""
    certificate_arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the certificate that is attached to the tenant."""
    geo_restrictions: GeoObservation | None = None
    """The geographic restriction."""


class DistributionTenantObservation(ApiModel):
    """The tenant as CloudFront has it."""

    id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the tenant (dt_…)."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the tenant."""
    name: Annotated[str | None, Field(max_length=128)] = None
    """Name of the tenant in CloudFront; unique in the account and never changed."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """Version of the tenant; moves with each write."""
    distribution_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the multi-tenant distribution."""
    connection_group_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the connection group; the account's default group where none was asked for."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the connection group's endpoint, to which the domains must lead."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """InProgress: a change is being rolled out. Deployed: the last one is."""
    enabled: Bool | None = None
    """Whether the tenant serves its domains."""
    domains: Annotated[
        tuple[DomainObservation, ...] | None, Field(max_length=500), Kube(list_type="map", keys=("domain",))
    ] = None
    """The domains of the tenant and whether CloudFront answers for them."""
    parameters: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=50)] = (
        None
    )
    """Parameters of the tenant."""
    tags: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=64)] = None
    """Tags of the tenant, the provider's own and foreign ones included."""
    customizations: CustomizationsObservation | None = None
    """What the tenant has of its own instead of its distribution's."""
    certificate: CertificateObservation | None = None
    """The managed or custom certificate."""
    created_time: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the tenant was created (RFC 3339)."""
    last_modified_time: Annotated[str | None, Field(json_schema_extra={"format": "date-time"})] = None
    """When the tenant was last changed (RFC 3339)."""


class DistributionTenantStatus(ManagedStatus):
    """What is known of the tenant."""

    domains_ready: Annotated[str | None, Field(max_length=16)] = None
    """How many of the domains are served, as served/asked."""
    at_provider: DistributionTenantObservation | None = None
    """The tenant as CloudFront has it."""
    applied: AppliedRecord | None = None
    """What the provider last wrote."""
    dns_instructions: DnsInstructions | None = None
    """The DNS records that somebody must still make, ready to paste."""
    drift: Drift | None = None
    """Fields that differ in AWS from what was asked."""
    planned_actions: PlannedActions | None = None
    """What the provider would do, under the annotation edgetenants.io/dry-run: "true"."""
