"""DistributionTenant: a CloudFront distribution tenant, as a managed resource in both scopes.

Field names and bounds are those of CloudFront's API (CreateDistributionTenant, UpdateDistributionTenant) in
camelCase. No field under forProvider or initProvider has a default in the CRD: a default would override
initProvider and late initialization, and would enable a disabled tenant on import. The description has the
default.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from edgetenants_runtime.api.managed import (
    ClusterManagedSpec,
    ManagedSpec,
    ManagementPolicy,
    NamespacedManagedSpec,
)
from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule
from edgetenants_runtime.api.references import ProviderConfigReference, Reference, Selector

from .customizations import Customizations, ManagedCertificateRequest
from .domainproof import DomainProof
from .domains import DomainNames
from .drift import GuardedSpec
from .tags import ParameterMap, Tags

AwsId = Annotated[str, Field(min_length=1, max_length=64, pattern="^[A-Za-z0-9_-]+$")]
"""An identifier assigned by AWS."""


class RecordsRequest(ApiModel):
    """How the provider manages the DNS records of the tenant's domains."""

    config_ref: ProviderConfigReference
    """The ProviderConfig whose `dns` block has the zones and how to write them."""
    ttl_seconds: Annotated[int | None, Field(ge=1, le=604800), NOT_TEXT] = None
    """Time to live of the records in seconds, at most a week. Unset: 300."""


class DistributionTenantParameters(ApiModel):
    """The desired state of the tenant."""

    distribution_id: AwsId | None = None
    """Id of the multi-tenant distribution that serves the tenant. A change moves the tenant."""
    distribution_id_ref: Reference | None = None
    """The distribution by the name of its managed resource (kind Distribution of provider-upjet-aws)."""
    distribution_id_selector: Selector | None = None
    """The distribution by labels of its managed resource (kind Distribution of provider-upjet-aws)."""
    connection_group_id: AwsId | None = None
    """Id of the connection group whose routing endpoint the domains use. Unset: the account's default
    group."""
    connection_group_id_ref: Reference | None = None
    """The connection group by the name of its ConnectionGroup."""
    connection_group_id_selector: Selector | None = None
    """The connection group by labels of its ConnectionGroup."""
    domains: DomainNames | None = None
    """Domain names that the tenant serves, in lower-case A-labels (xn--…); the first label may be `*`. At
    most 500 here; CloudFront's quota is 100 and adjustable. Only one tenant in all AWS accounts can have a
    domain."""
    enabled: Bool | None = None
    """true: the tenant serves its domains. false: it is kept and serves nothing. Unset: a new tenant gets
    true; for an existing tenant, late initialization sets the present value here."""
    parameters: ParameterMap | None = None
    """Values for the parameters that the distribution defines: at most 50, each of 1 to 256 characters.
    CloudFront's quota is 5 and adjustable."""
    customizations: Customizations | None = None
    """Settings of the tenant that override its distribution's: web ACL, certificate, countries."""
    managed_certificate_request: ManagedCertificateRequest | None = None
    """Requests a managed certificate for all domains, which is attached once it is issued. Unset: none is
    requested; an attached certificate stays."""
    tags: Tags | None = None
    """Tags of the tenant in AWS: at most 50, keys of 1 to 128 characters, values of up to 256. The provider
    removes a tag that the spec no longer lists, and leaves other tags alone."""
    dns: RecordsRequest | None = None
    """Makes the provider manage the DNS records of the domains. Unset: status.dnsInstructions lists the
    records to create."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.managedCertificateRequest) || !has(self.customizations)"
            " || !has(self.customizations.certificate)",
            "expected none with customizations.certificate",
            lambda p: (
                not (p.managed_certificate_request and p.customizations and p.customizations.certificate)
            ),
        ),
        Rule(
            "!has(self.managedCertificateRequest) || !has(self.managedCertificateRequest.primaryDomainName)"
            " || !has(self.domains) || self.managedCertificateRequest.primaryDomainName in self.domains",
            "expected one of domains",
            lambda p: _primary(p) is None or p.domains is None or _primary(p) in p.domains,
            field=".managedCertificateRequest.primaryDomainName",
        ),
        Rule(
            "!has(self.managedCertificateRequest) || !has(self.domains)"
            " || !self.domains.exists(domain, domain.startsWith('*.'))",
            "expected no wildcard with managedCertificateRequest, as managed certificates have none",
            lambda p: (
                not p.managed_certificate_request or not any(d.startswith("*.") for d in p.domains or ())
            ),
            field=".domains",
        ),
    )


def _primary(parameters: DistributionTenantParameters) -> str | None:
    request = parameters.managed_certificate_request
    return request.primary_domain_name if request else None


_WRITING = (ManagementPolicy.ALL, ManagementPolicy.CREATE, ManagementPolicy.UPDATE)
_WRITES = " || ".join(f"'{policy}' in self.managementPolicies" for policy in _WRITING)


def _needed(message: str, *fields: str) -> Rule:
    given = " || ".join(f"has(self.forProvider.{field})" for field in fields)
    initial = " || ".join(f"has(self.initProvider.{field})" for field in fields)

    def holds(spec: "DistributionTenantSpec") -> bool:
        if not any(policy in spec.management_policies for policy in _WRITING):
            return True
        asked = spec.for_provider.to_json()
        return any(field in asked or field in (spec.init_provider or {}) for field in fields)

    rule = f"!({_WRITES}) || {given} || (has(self.initProvider) && ({initial}))"
    return Rule(rule, message, holds, field=f".forProvider.{fields[0]}")


IgnoredField = Annotated[
    str,
    Field(
        max_length=256,
        pattern="^(distributionId|connectionGroupId|domains|enabled|customizations"
        "|customizations[.](webAcl|certificate|geoRestrictions)|(parameters|tags)([.].+)?)$",
    ),
]
"""Path of a field that may differ in AWS."""


class DistributionTenantSpec(ManagedSpec, GuardedSpec):
    """The fields that both scopes share."""

    for_provider: DistributionTenantParameters = DistributionTenantParameters()
    """The desired state of the tenant. The provider enforces it."""
    init_provider: Annotated[dict[str, Any] | None, Kube(partial_of=DistributionTenantParameters)] = None
    """Initial values: the provider applies them when it creates the tenant and ignores them afterwards.
    Fields in forProvider take precedence; maps are merged key by key."""
    ignore_drift: Annotated[tuple[IgnoredField, ...] | None, Field(max_length=64), Kube(list_type="set")] = (
        None
    )
    """Fields below forProvider that may differ in AWS, such as customizations.webAcl or tags.team. The
    provider neither reports nor repairs their drift, but still sets them when it creates the tenant."""
    domain_proof: DomainProof | None = None
    """Whether a TXT record must prove that the owner of a domain agrees to be served for this resource's
    namespace, before the tenant gets the domain. Unset: not, unless the provider runs with
    --require-domain-proof, which needs a proof whatever this says."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        _needed(
            "expected distributionId, distributionIdRef or distributionIdSelector here or in initProvider, "
            "unless managementPolicies lack *, Create and Update",
            "distributionId",
            "distributionIdRef",
            "distributionIdSelector",
        ),
        _needed(
            "expected domains here or in initProvider, unless managementPolicies lack *, Create and Update",
            "domains",
        ),
    )


class NamespacedDistributionTenantSpec(DistributionTenantSpec, NamespacedManagedSpec):
    """The spec of a namespaced DistributionTenant."""


class ClusterDistributionTenantSpec(DistributionTenantSpec, ClusterManagedSpec):
    """The spec of a cluster-scoped DistributionTenant."""
