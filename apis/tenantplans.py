"""TenantPlans: the input of the composition function, with the platform team's plans for claims.

Crossplane does not validate a function's input against its CRD, so `parse` must validate it.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule
from edgetenants_runtime.api.references import (
    LabelMap,
    ObjectName,
    ProviderConfigKind,
    ProviderConfigReference,
)

from . import errors
from .distributiontenant import AwsId
from .domainproof import DomainProofMode, PlanDomainProof
from .domains import AllowedDomain, ParkingDomain
from .drift import DriftPolicy
from .tags import ParameterMap, Tags
from .tenant_choices import CertificateChoice, CertificateMode, DnsMode, OnDelete, SecurityChoice
from .tenantclaim import PlanName

API_VERSION: Final = "edgetenants.fn.crossplane.io/v1alpha1"
KIND: Final = "TenantPlans"
PLACEHOLDERS: Final = ("namespace", "name")
"""Placeholders in a name template: namespace and name of the claim."""


def _check_template(template: str) -> str:
    unknown = [word for word in re.findall(r"\{([^}]*)\}", template) if word not in PLACEHOLDERS]
    plain = re.sub(r"\{(namespace|name)\}", "", template)
    if unknown or "{name}" not in template or not re.fullmatch("[a-zA-Z0-9.-]*", plain):
        expectation = "expected letters, digits, - and . around {name} and, optionally, {namespace}"
        raise PydanticCustomError("template", "{text}", {"text": expectation})
    return template


_UNITS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def seconds(duration: str) -> float:
    """The seconds of a Go duration such as 1h30m."""
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall("([0-9]+)(ms|s|m|h)", duration))


def _check_ttl(duration: str) -> str:
    if seconds(duration) > _LONGEST_TTL:
        expectation = "expected a duration of at most 8760h"
        raise PydanticCustomError("ttl", "{text}", {"text": expectation})
    return duration


_LONGEST_TTL: Final = 8760 * 3600
"""Seconds. A duration beyond the range of Go's would make Crossplane poll without pause."""

NameTemplate = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        json_schema_extra={"pattern": r"^([a-zA-Z0-9.-]|\{namespace\}|\{name\})+$"},
    ),
    AfterValidator(_check_template),
]
"""The template of the tenant's name in CloudFront."""


class OverridableField(StrEnum):
    """A field that a plan may allow its claims to set."""

    PARAMETERS = "parameters"
    """Values of parameters, in addition to the plan's."""
    CERTIFICATE = "certificate"
    """The source of the certificate."""
    DNS = "dns"
    """Who creates the DNS records."""
    WEB_ACL = "security.webAcl"
    """The web ACL."""
    GEO = "security.geo"
    """The countries that are served."""
    CONNECTION = "connection"
    """Whether the claim has its own connection group."""
    TAGS = "tags"
    """Tags in AWS, in addition to the plan's."""


class Allowance(ApiModel):
    """What the claims of a plan may do."""

    override: Annotated[tuple[OverridableField, ...], Field(max_length=16), Kube(list_type="set")] = ()
    """Fields that a claim may set; the function refuses a claim that sets another. Empty: none."""
    adopt: Bool = False
    """true: a claim may adopt an existing tenant in CloudFront."""
    on_delete: Annotated[
        tuple[OnDelete, ...], Field(min_length=1, max_length=2), Kube(list_type="atomic")
    ] = (OnDelete.DELETE,)
    """What may happen to the tenants of a deleted claim. The first value applies if the claim sets none."""
    max_domains: Annotated[int, Field(ge=1, le=500), NOT_TEXT] = 100
    """Maximum number of domains of a claim, 1 to 500. CloudFront's own quota for a tenant is 100 and
    adjustable."""
    max_per_domain: Annotated[int, Field(ge=0, le=100), NOT_TEXT] = 10
    """Maximum number of domains of a claim with isolation PerDomain, where each has its own tenant; 0 to 100.
    0 forbids this isolation."""
    domains: Annotated[
        tuple[AllowedDomain, ...] | None, Field(min_length=1, max_length=100), Kube(list_type="set")
    ] = None
    """The domains that a claim may use, 1 to 100 entries. `shop.example.com` matches that name,
    `*.example.com` the names one label below it, `**.example.com` all names below it. The label `{namespace}`
    matches the claim's namespace. Unset: every domain that is not a wildcard. A claim keeps the domains that
    it already has in CloudFront."""
    wildcards: Bool = False
    """true: a claim may use a wildcard domain (`*.acme.example.com`) if `domains` has a `**.` entry that
    covers every name below it, or is unset. false: it may not."""


class PlanDns(ApiModel):
    """Who creates the DNS records."""

    mode: DnsMode = DnsMode.MANUAL
    """Managed: the provider creates them, with the configuration of `configRef`. Manual: the domain's owner
    creates them, as status.dnsInstructions says."""
    config_ref: ProviderConfigReference | None = None
    """The ProviderConfig whose `dns` block has the zones; required with mode Managed."""
    ttl_seconds: Annotated[int | None, Field(ge=1, le=604800), NOT_TEXT] = None
    """Time to live of the records in seconds, at most a week. Unset: 300."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.mode != 'Managed' || has(self.configRef)",
            "expected configRef with mode Managed",
            lambda dns: dns.mode is not DnsMode.MANAGED or dns.config_ref is not None,
            field=".configRef",
        ),
    )


class PlanConnection(ApiModel):
    """The connection groups and routing endpoints of the claims."""

    dedicated: Bool = False
    """true: each claim has its own connection group, and so its own routing endpoint. false: claims share
    one."""
    connection_group_id: AwsId | None = None
    """Id of the connection group that claims share. Unset: the account's default group."""
    ipv6_enabled: Bool | None = None
    """Whether a claim's own connection group has IPv6 addresses. Unset: true."""
    anycast_ip_list_id: AwsId | None = None
    """Id of the Anycast static IP list of a claim's own connection group. Unset: none."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.dedicated || !has(self.connectionGroupId)",
            "expected no connectionGroupId with dedicated true",
            lambda connection: not (connection.dedicated and connection.connection_group_id),
            field=".connectionGroupId",
        ),
    )


class Plan(ApiModel):
    """How CloudFront serves the domains of a claim."""

    distribution_id: AwsId
    """Id of the multi-tenant distribution in CloudFront. A change moves the tenants of the plan's claims,
    once each claim confirms it."""
    provider_config_ref: ProviderConfigReference = ProviderConfigReference(
        kind=ProviderConfigKind.CLUSTER_PROVIDER_CONFIG, name="default"
    )
    """The ProviderConfig whose credentials and limits are used. Legacy composites use the ProviderConfig of
    that name, whatever the kind."""
    name: NameTemplate = "{namespace}.{name}"
    """Template of the tenant's name in CloudFront, with namespace and name of the claim. A namespace contains
    no dot, so names by the default are unique. A name longer than 128 characters is cut, and a hash is
    appended. With isolation PerDomain, a hash of the domain is appended."""
    certificate: CertificateChoice = CertificateChoice(mode=CertificateMode.INHERITED)
    """The source of the certificate."""
    dns: PlanDns = PlanDns()
    """Who creates the DNS records."""
    parameters: ParameterMap | None = None
    """Values for the parameters that the distribution defines: at most 50, each of 1 to 256 characters."""
    security: SecurityChoice | None = None
    """Web ACL and countries. Unset: the distribution's, or what someone set in AWS."""
    connection: PlanConnection = PlanConnection()
    """The connection groups and routing endpoints of the claims."""
    allow: Allowance = Allowance()
    """What claims may do."""
    domain_proof: PlanDomainProof = PlanDomainProof(mode=DomainProofMode.NOT_REQUIRED)
    """Whether a TXT record must prove that the owner of a domain agrees to be served for the claim's
    namespace, before a tenant gets the domain."""
    parking_domain: ParkingDomain | None = None
    """A wildcard domain of the platform team, such as `*.parking.example.com`, that the distribution's
    certificate covers. While a claim changes its isolation, each of its tenants has a name below it, so that
    the domains move between tenants without a gap. Unset: the domains are not served for some minutes, and
    the claim's author must confirm that."""
    tags: Tags | None = None
    """Tags for the tenants in AWS: at most 50, keys of 1 to 128 characters, values of up to 256."""
    tags_from_labels: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=317)], ...] | None,
        Field(max_length=20),
        Kube(list_type="set"),
    ] = None
    """Keys of the claim's labels that become tags of the tenants, with the same key. At most 20."""
    drift_policy: DriftPolicy | None = None
    """What the provider does if a tenant was changed in AWS: Enforce, Report or Suspend. Unset: the
    provider's flag --drift-policy decides."""
    deletion_protection: Bool = False
    """true: the provider deletes a tenant only after confirmation. Turning it off does not release a deletion
    that waits already."""


class EnvironmentConfigSource(ApiModel):
    """EnvironmentConfigs whose data contains `plans`, by name or by labels."""

    name: ObjectName | None = None
    """Name of the EnvironmentConfig."""
    match_labels: Annotated[LabelMap | None, Field(min_length=1)] = None
    """Labels: every EnvironmentConfig that has all of them is used, in the order of their names."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.name) != has(self.matchLabels)",
            "expected exactly one of name and matchLabels",
            lambda source: (source.name is None) != (source.match_labels is None),
        ),
    )


class PlanSource(ApiModel):
    """A source of further plans."""

    environment_config: EnvironmentConfigSource
    """EnvironmentConfigs whose data contains `plans`, in the same form as here."""


class TenantPlans(ApiModel):
    """The platform team's plans, by name."""

    api_version: Literal["edgetenants.fn.crossplane.io/v1alpha1"] = API_VERSION
    """Group and version."""
    kind: Literal["TenantPlans"] = KIND
    """Kind."""
    metadata: dict[str, Any] | None = None
    """Metadata; not read."""
    default_plan: PlanName | None = None
    """The plan of claims that name none. Unset: the function refuses them."""
    plans: Annotated[dict[PlanName, Plan], Field(max_length=100, default_factory=dict)]
    """The plans, by name; at most 100."""
    plans_from: Annotated[tuple[PlanSource, ...] | None, Field(max_length=16), Kube(list_type="atomic")] = (
        None
    )
    """Sources of further plans. Of several plans with the same name the last one is used; `plans` comes
    first."""
    ttl: Annotated[str, Field(max_length=16, pattern="^([0-9]+(ms|s|m|h))+$"), AfterValidator(_check_ttl)] = (
        "1h"
    )
    """How long Crossplane may reuse a response of the function, as a Go duration (30s, 10m, 1h) of at most
    8760h. Unset with plansFrom: 10m, because Crossplane before v2.4 reads its sources only after this time.
    Crossplane reconciles a claim that is not settled sooner: after a minute while a change is in progress,
    after 10 minutes while it waits."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.defaultPlan) || has(self.plansFrom)"
            " || (has(self.plans) && self.defaultPlan in self.plans)",
            "expected one of plans",
            lambda input_: input_.plans_from is not None or input_.default_plan in (None, *input_.plans),
            field=".defaultPlan",
        ),
    )


def parse(value: Mapping[str, Any]) -> TenantPlans:
    """Read the whole input of the function.

    Raises:
        errors.InvalidInput: with all problems, each with its path (`plans.standard.distributionId`).
    """
    return errors.parse(TenantPlans, value)


def salvage(value: Mapping[str, Any]) -> tuple[TenantPlans, dict[str, errors.InvalidInput]]:
    """Read the function's input and separate invalid plans, so that they affect only the claims that use
    them.

    Returns:
        The input with its valid plans and its default plan, which may be missing among them; and the errors
        of each invalid plan, by name.

    Raises:
        errors.InvalidInput: with the problems outside of single plans.
    """
    plans = value.get("plans")
    if not isinstance(plans, Mapping):
        return parse(value), {}
    broken: dict[str, errors.InvalidInput] = {}
    sound: dict[str, Plan] = {}
    for name, plan in plans.items():
        try:
            sound |= parse({"plans": {name: plan}}).plans
        except errors.InvalidInput as error:
            broken[name] = error
    rest = parse({key: value[key] for key in value if key not in ("plans", "defaultPlan")})
    default = _default_plan(value.get("defaultPlan"), plans)
    return rest.model_copy(update={"plans": sound, "default_plan": default}), broken


def _default_plan(name: Any, plans: Mapping[str, Any]) -> str | None:
    if name is None or isinstance(name, str):
        return name
    problem = errors.Problem("defaultPlan", f"one of {', '.join(sorted(plans))}", errors.shown(name))
    raise errors.InvalidInput((problem,))
