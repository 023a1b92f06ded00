"""TenantClaim: what a user writes to have domains served. Served by an XRD; composed by the function."""

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
from .tenantchoices import CertificateChoice, DnsChoice, Isolation, OnDelete, SecurityChoice

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
    """The way from the visitors' browsers to CloudFront."""

    dedicated: Bool
    """true: the claim has a connection group, and so a routing endpoint, of its own. false: it shares the
    plan's."""


class Adoption(ApiModel):
    """A tenant that exists in CloudFront already and is taken over."""

    tenant_id: Annotated[str, Field(min_length=4, max_length=64, pattern="^dt_[A-Za-z0-9_-]+$")]
    """Id of the tenant in CloudFront (dt_…)."""


class TenantClaimSpec(ApiModel):
    """What is asked for."""

    plan: PlanName | None = None
    """Name of the plan that says how the domains are served. Unset: the default plan, where there is one."""
    domains: AskedDomains
    """Domain names to serve, 1 to 500 here and as many as the plan allows. Upper case and international
    characters are fine; no scheme, port or path. The first label may be `*` where the plan allows it and
    the certificate covers it."""
    isolation: Isolation = Isolation.SHARED
    """Shared: one tenant of CloudFront serves all domains. PerDomain: each domain has a tenant of its own, so
    that a bad one holds up no other; the plan limits how many (10 if it does not say)."""
    parameters: ParameterMap | None = None
    """Values for the parameters that the plan's distribution defines, on top of the plan's: at most 50, each
    of 1 to 256 characters. Only where the plan allows it."""
    certificate: CertificateChoice | None = None
    """Where the certificate comes from. Unset: as the plan says."""
    dns: DnsChoice | None = None
    """Who makes the DNS records. Unset: as the plan says."""
    security: SecurityChoice | None = None
    """Web ACL and countries. Unset: as the plan says."""
    connection: Connection | None = None
    """The way to CloudFront. Unset: as the plan says."""
    suspended: Bool = False
    """true: the tenants are disabled and kept; nothing is served. false: they serve."""
    on_delete: OnDelete | None = None
    """What becomes of the tenants when this claim is deleted: Delete disables and deletes them, Orphan leaves
    them in CloudFront as they are. Unset: the first that the plan allows, which is Delete if it does not
    say."""
    adopt: Adoption | None = None
    """A tenant that exists in CloudFront already and is taken over. Only where the plan allows it."""
    tags: Tags | None = None
    """Tags for the tenants in AWS, on top of the plan's: at most 50, keys of 1 to 128 characters, values of
    up to 256. Only where the plan allows it."""
    connection_secret_name: Annotated[ObjectName | None, Kube(only=Scope.NAMESPACED)] = None
    """Name of a Secret in this namespace to which endpoint, URL and ids are written. With isolation PerDomain
    there is one for each domain, named <name>-<hash of the domain>. Unset: none is written."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.adopt) || self.isolation == 'Shared'",
            "expected isolation Shared with adopt, as one tenant is taken over",
            lambda spec: spec.adopt is None or spec.isolation is Isolation.SHARED,
            field=".isolation",
        ),
    )


class Phase(StrEnum):
    """The state of a claim in one word, for people; derived from what was observed."""

    PENDING = "Pending"
    """Nothing was observed of its tenants yet."""
    WAITING_FOR_DNS = "WaitingForDNS"
    """DNS records are missing, be the domains served or not; dnsInstructions lists them."""
    ISSUING = "Issuing"
    """The certificate is being validated or attached."""
    DEPLOYING = "Deploying"
    """CloudFront is rolling the tenants out."""
    LIVE = "Live"
    """Every domain is served, and nothing is known to keep visitors from it."""
    SUSPENDED = "Suspended"
    """The tenants are disabled, as asked."""
    FAILED = "Failed"
    """Somebody must act; the condition Live says how."""


class DomainState(ApiModel):
    """One domain of the claim."""

    domain: Annotated[str, Field(max_length=253)]
    """The domain name, in lower-case A-labels."""
    state: Annotated[str | None, Field(max_length=64)] = None
    """active: CloudFront answers for it. inactive: it does not. Unset: not known yet."""
    certificate: Annotated[str | None, Field(max_length=64)] = None
    """State of its certificate, as the reason of the condition CertificateReady. Unset: not known yet."""
    dns: Annotated[str | None, Field(max_length=64)] = None
    """State of its routing record: Unknown, Missing, Wrong or Present. Unset: not known yet."""


class TenantClaimStatus(ApiModel):
    """What is known of the claim's domains."""

    phase: Phase | None = None
    """The state in one word: Pending, WaitingForDNS, Issuing, Deploying, Live, Suspended or Failed."""
    url: Annotated[str | None, Field(max_length=512)] = None
    """Where the first domain is served. Unset: nowhere yet, or DNS does not lead visitors there."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the endpoint in CloudFront to which the domains must lead."""
    domains_ready: Annotated[str | None, Field(max_length=16)] = None
    """How many of the domains CloudFront serves, such as `2/3`."""
    domains: Annotated[
        tuple[DomainState, ...] | None, Field(max_length=500), Kube(list_type="map", keys=("domain",))
    ] = None
    """The domains, each with its state."""
    dns_instructions: DnsInstructions | None = None
    """The DNS records that somebody must still make, ready to paste."""
    conditions: Conditions = ()
    """Ready and Synced are Crossplane's; Live, Reconciling, Degraded, Suspended and Blocked are the
    function's."""


def parse(spec: Mapping[str, Any]) -> TenantClaimSpec:
    """Read the spec of a claim or composite; fields that Crossplane adds to it are passed over.

    Raises:
        errors.InvalidInput: with all problems, each with its path below `spec`.
    """
    own = spec
    if isinstance(spec, Mapping):
        own = {key: value for key, value in spec.items() if key not in CORE_FIELDS}
    return errors.parse(TenantClaimSpec, own, root="spec")
