"""TenantClaim: the object by which a user requests that CloudFront serves domains. An XRD defines it, and the
function composes it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from edgetenants_runtime.api.conditions import Conditions
from edgetenants_runtime.api.model import ApiModel, Bool, Kube, Rule, Scope
from edgetenants_runtime.api.references import ObjectName

from . import errors
from .dns import DnsInstructions
from .domains import AskedDomains
from .tags import ParameterMap, Tags
from .tenant_choices import CertificateChoice, DnsChoice, Isolation, OnDelete, SecurityChoice

PlanName = Annotated[
    str, Field(min_length=1, max_length=63, pattern="^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
]
"""Name of a plan."""

CORE_FIELDS: Final = frozenset(
    {
        "crossplane",
        "claimRef",
        "compositeDeletePolicy",
        "compositionRef",
        "compositionRevisionRef",
        "compositionRevisionSelector",
        "compositionSelector",
        "compositionUpdatePolicy",
        "environmentConfigRefs",
        "publishConnectionDetailsTo",
        "resourceRef",
        "resourceRefs",
        "writeConnectionSecretToRef",
    }
)
"""Fields that Crossplane itself adds to the spec of composites and claims, modern and legacy."""


class Connection(ApiModel):
    """The connection group and routing endpoint of the claim."""

    dedicated: Bool
    """true: the claim has its own connection group, and so its own routing endpoint. false: it shares the
    plan's."""


class Adoption(ApiModel):
    """An existing tenant in CloudFront to adopt."""

    tenant_id: Annotated[str, Field(min_length=4, max_length=64, pattern="^dt_[A-Za-z0-9_-]+$")]
    """Id of the tenant in CloudFront (dt_…)."""


class TenantClaimSpec(ApiModel):
    """The desired state."""

    plan: PlanName | None = None
    """Name of the plan. Unset: the default plan, if there is one."""
    domains: AskedDomains
    """Domain names to serve: 1 to 500, and at most as many as the plan allows. Upper case and international
    characters are allowed; no scheme, port or path. The first label may be `*` if the plan allows it and the
    certificate covers it."""
    isolation: Isolation = Isolation.SHARED
    """Shared: one tenant in CloudFront serves all domains. PerDomain: each domain has its own tenant, so that
    an invalid one does not block the others; the plan limits their number (10 by default)."""
    parameters: ParameterMap | None = None
    """Values for the parameters that the plan's distribution defines, in addition to the plan's: at most 50,
    each of 1 to 256 characters. Only if the plan allows it."""
    certificate: CertificateChoice | None = None
    """The source of the certificate. Unset: the plan's. Only if the plan allows it."""
    dns: DnsChoice | None = None
    """Who creates the DNS records. Unset: the plan's setting. Only if the plan allows it."""
    security: SecurityChoice | None = None
    """Web ACL and countries. Unset: the plan's. Only if the plan allows it."""
    connection: Connection | None = None
    """The connection group. Unset: the plan's setting. Only if the plan allows it."""
    suspended: Bool = False
    """true: the tenants are disabled and kept; nothing is served. false: they serve."""
    on_delete: OnDelete | None = None
    """What happens to the tenants when this claim is deleted. Delete: the provider disables and deletes them.
    Orphan: they stay in CloudFront unchanged. Unset: the first value that the plan allows, which is Delete by
    default."""
    adopt: Adoption | None = None
    """An existing tenant in CloudFront to adopt. Only if the plan allows it."""
    tags: Tags | None = None
    """Tags for the tenants in AWS, in addition to the plan's: at most 50, keys of 1 to 128 characters, values
    of up to 256. Only if the plan allows it."""
    connection_secret_name: Annotated[ObjectName | None, Kube(only=Scope.NAMESPACED)] = None
    """Name of a Secret in this namespace to which the provider writes endpoint, URL and ids. With isolation
    PerDomain there is one for each domain, named <name>-<hash of the domain>. Unset: none."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.adopt) || self.isolation == 'Shared'",
            "expected isolation Shared with adopt, as the claim adopts one tenant",
            lambda spec: spec.adopt is None or spec.isolation is Isolation.SHARED,
            field=".isolation",
        ),
    )


class Phase(StrEnum):
    """The state of a claim in one word, derived from the observed tenants."""

    PENDING = "Pending"
    """No tenant has been observed yet."""
    WAITING_FOR_DNS = "WaitingForDNS"
    """DNS records are missing, whether or not the domains are served; dnsInstructions lists them."""
    ISSUING = "Issuing"
    """The certificate is being validated or attached."""
    DEPLOYING = "Deploying"
    """CloudFront is rolling out the tenants."""
    LIVE = "Live"
    """Every domain is served, and no problem is known that keeps visitors away."""
    SUSPENDED = "Suspended"
    """The tenants are disabled, as requested."""
    FAILED = "Failed"
    """Action is needed; the condition Live says which."""


class DomainState(ApiModel):
    """One domain of the claim."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name, in lower-case A-labels."""
    state: Annotated[str | None, Field(max_length=64)] = None
    """active: CloudFront serves it. inactive: CloudFront does not. Unset: unknown."""
    certificate: Annotated[str | None, Field(max_length=64)] = None
    """State of its certificate: the reason of the condition CertificateReady. Unset: unknown."""
    dns: Annotated[str | None, Field(max_length=64)] = None
    """State of its routing record: Unknown, Missing, Wrong or Present. Unset: unknown."""


class TenantClaimStatus(ApiModel):
    """The observed state of the claim's domains."""

    phase: Phase | None = None
    """The state in one word: Pending, WaitingForDNS, Issuing, Deploying, Live, Suspended or Failed."""
    url: Annotated[str | None, Field(max_length=512)] = None
    """The URL of the first domain. Unset: CloudFront does not serve it yet, or DNS does not lead visitors
    there."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the endpoint in CloudFront to which the domains must lead."""
    domains_ready: Annotated[str | None, Field(max_length=16)] = None
    """How many of the domains CloudFront serves, such as `2/3`."""
    domains: Annotated[tuple[DomainState, ...] | None, Field(max_length=500), Kube(list_type="atomic")] = None
    """The domains, each with its state."""
    dns_instructions: DnsInstructions | None = None
    """The DNS records that the domains need, ready to paste, each with its state."""
    conditions: Conditions = ()
    """Crossplane sets Ready and Synced; the function sets Live, Reconciling, Degraded, Suspended and
    Blocked."""


def parse(spec: Mapping[str, Any]) -> TenantClaimSpec:
    """Read the spec of a claim or composite, without the fields that Crossplane adds to it.

    Raises:
        errors.InvalidInput: with all problems, each with its path below `spec`.
    """
    own = spec
    if isinstance(spec, Mapping):
        own = {key: value for key, value in spec.items() if key not in CORE_FIELDS}
    return errors.parse(TenantClaimSpec, own, root="spec")
