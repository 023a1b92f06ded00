"""TenantPlans: the input of the composition function, by which a platform team says how claims are served.

Crossplane does not check a function's input against its CRD, so `parse` is the check that counts.
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
from .domains import AllowedDomain, ParkingDomain
from .drift import DriftPolicy
from .tags import ParameterMap, Tags
from .tenantchoices import CertificateChoice, CertificateMode, DnsMode, OnDelete, SecurityChoice
from .tenantclaim import PlanName

API_VERSION: Final = "edgetenants.fn.crossplane.io/v1alpha1"
KIND: Final = "TenantPlans"
PLACEHOLDERS: Final = ("namespace", "name")
"""What a name template may mention: namespace and name of the claim."""


def _check_template(template: str) -> str:
    unknown = [word for word in re.findall(r"\{([^}]*)\}", template) if word not in PLACEHOLDERS]
    plain = re.sub(r"\{(namespace|name)\}", "", template)
    if unknown or "{name}" not in template or not re.fullmatch("[a-zA-Z0-9.-]*", plain):
        expectation = "expected letters, digits, - and . around {name} and, if wanted, {namespace}"
        raise PydanticCustomError("template", "{text}", {"text": expectation})
    return template


_UNITS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def seconds(duration: str) -> float:
    """A Go duration such as 1h30m in seconds."""
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall("([0-9]+)(ms|s|m|h)", duration))


def _check_ttl(duration: str) -> str:
    if seconds(duration) > _LONGEST_TTL:
        expectation = "expected a duration of at most 8760h"
        raise PydanticCustomError("ttl", "{text}", {"text": expectation})
    return duration


_LONGEST_TTL: Final = 8760 * 3600
"""Seconds; more than Go's durations hold would be a poll without pause."""

NameTemplate = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        json_schema_extra={"pattern": r"^([a-zA-Z0-9.-]|\{namespace\}|\{name\})+$"},
    ),
    AfterValidator(_check_template),
]
"""How the tenant's name in CloudFront is made from the claim's."""


class OverridableField(StrEnum):
    """A field of a claim that a plan may leave to its claims."""

    PARAMETERS = "parameters"
    """Values of parameters, on top of the plan's."""
    CERTIFICATE = "certificate"
    """Where the certificate comes from."""
    DNS = "dns"
    """Who makes the DNS records."""
    WEB_ACL = "security.webAcl"
    """The web ACL."""
    GEO = "security.geo"
    """The countries that are served."""
    CONNECTION = "connection"
    """Whether there is a connection group of the claim's own."""
    TAGS = "tags"
    """Tags in AWS, on top of the plan's."""


class Allowance(ApiModel):
    """What the claims of a plan may do."""

    override: Annotated[tuple[OverridableField, ...], Field(max_length=16), Kube(list_type="set")] = ()
    """Fields that a claim may set; a claim that sets another is refused. Empty: none of them."""
    adopt: Bool = False
    """true: a claim may take over a tenant that exists in CloudFront already."""
    on_delete: Annotated[
        tuple[OnDelete, ...], Field(min_length=1, max_length=2), Kube(list_type="atomic")
    ] = (OnDelete.DELETE,)
    """What may become of the tenants of a deleted claim; the first is what happens where the claim does not
    say."""
    max_domains: Annotated[int, Field(ge=1, le=500), NOT_TEXT] = 100
    """Most domains of one claim, 1 to 500; CloudFront's own quota for one tenant is 100 and adjustable."""
    max_per_domain: Annotated[int, Field(ge=0, le=100), NOT_TEXT] = 10
    """Most domains of one claim with isolation PerDomain, where each has a tenant of its own; 0 to 100, 0
    forbids it."""
    domains: Annotated[
        tuple[AllowedDomain, ...] | None, Field(min_length=1, max_length=100), Kube(list_type="set")
    ] = None
    """The domains that a claim may ask for, 1 to 100 entries. `shop.example.com` means that name,
    `*.example.com` the names one label below it, `**.example.com` all names below it. The label `{namespace}`
    stands for the namespace of the claim. Unset: every domain that is no wildcard. What a claim has in
    CloudFront already it keeps."""
    wildcards: Bool = False
    """true: a claim may ask for a wildcard domain (`*.acme.example.com`), where `domains` has a `**.` entry
    that covers every name below it, or is unset. false: for none."""


class PlanDns(ApiModel):
    """Who makes the DNS records."""

    mode: DnsMode = DnsMode.MANUAL
    """Managed: the provider makes them, with the configuration of `configRef`. Manual: people make them, as
    status.dnsInstructions says."""
    config_ref: ProviderConfigReference | None = None
    """The ProviderConfig whose `dns` block says where the zones are; needed with mode Managed."""
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
    """The way from the visitors' browsers to CloudFront."""

    dedicated: Bool = False
    """true: each claim has a connection group, and so a routing endpoint, of its own. false: they share
    one."""
    connection_group_id: AwsId | None = None
    """Id of the connection group that claims share. Unset: the account's default group."""
    ipv6_enabled: Bool | None = None
    """Whether a claim's own connection group has IPv6 addresses. Unset: it has."""
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
    """How the domains of a claim are served."""

    distribution_id: AwsId
    """Id of the multi-tenant distribution in CloudFront. A change moves the tenants of the plan's claims."""
    provider_config_ref: ProviderConfigReference = ProviderConfigReference(
        kind=ProviderConfigKind.CLUSTER_PROVIDER_CONFIG, name="default"
    )
    """Whose credentials and limits are used. Legacy composites use the ProviderConfig of that name, whatever
    the kind."""
    name: NameTemplate = "{namespace}.{name}"
    """The tenant's name in CloudFront, made from namespace and name of the claim. A namespace has no dot, so
    the default is unique. Longer than 128 characters: cut, with a hash appended. With isolation PerDomain a
    hash of the domain is appended."""
    certificate: CertificateChoice = CertificateChoice(mode=CertificateMode.INHERITED)
    """Where the certificate comes from."""
    dns: PlanDns = PlanDns()
    """Who makes the DNS records."""
    parameters: ParameterMap | None = None
    """Values for the parameters that the distribution defines: at most 50, each of 1 to 256 characters."""
    security: SecurityChoice | None = None
    """Web ACL and countries. Unset: the distribution's."""
    connection: PlanConnection = PlanConnection()
    """The way from the visitors' browsers to CloudFront."""
    allow: Allowance = Allowance()
    """What claims may do."""
    parking_domain: ParkingDomain | None = None
    """A wildcard of the platform team's own, such as `*.parking.example.com`, that the certificate of the
    distribution covers. While a claim changes its isolation, each of its tenants has a name below it, so
    that the domains move from tenant to tenant without a gap. Unset: they are not served for some minutes,
    and a claim has to confirm that."""
    tags: Tags | None = None
    """Tags for the tenants in AWS: at most 50, keys of 1 to 128 characters, values of up to 256."""
    tags_from_labels: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=317)], ...] | None,
        Field(max_length=20),
        Kube(list_type="set"),
    ] = None
    """Keys of labels of the claim that become tags of the tenants, under the same key. At most 20."""
    drift_policy: DriftPolicy | None = None
    """What is done when a tenant was changed behind the provider's back: Enforce, Report or Suspend. Unset:
    what the provider's flag --drift-policy says."""
    deletion_protection: Bool = False
    """true: the deletion of a tenant is held until it is confirmed."""


class EnvironmentConfigSource(ApiModel):
    """EnvironmentConfigs whose data holds `plans`, by name or by labels."""

    name: ObjectName | None = None
    """Name of the EnvironmentConfig."""
    match_labels: Annotated[LabelMap | None, Field(min_length=1)] = None
    """Every EnvironmentConfig with all these labels is used, in the order of their names."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.name) != has(self.matchLabels)",
            "expected exactly one of name and matchLabels",
            lambda source: (source.name is None) != (source.match_labels is None),
        ),
    )


class PlanSource(ApiModel):
    """Where further plans come from."""

    environment_config: EnvironmentConfigSource
    """EnvironmentConfigs whose data holds `plans`, in the same form as here."""


class TenantPlans(ApiModel):
    """The plans of a platform, by name."""

    api_version: Literal["edgetenants.fn.crossplane.io/v1alpha1"] = API_VERSION
    """Group and version."""
    kind: Literal["TenantPlans"] = KIND
    """Kind."""
    metadata: dict[str, Any] | None = None
    """Metadata; not read."""
    default_plan: PlanName | None = None
    """Plan of the claims that name none. Unset: they are refused."""
    plans: Annotated[dict[PlanName, Plan], Field(max_length=100, default_factory=dict)]
    """The plans by name; at most 100."""
    plans_from: Annotated[tuple[PlanSource, ...] | None, Field(max_length=16), Kube(list_type="atomic")] = (
        None
    )
    """Where further plans come from; of several plans of one name the last is used, those above first."""
    ttl: Annotated[str, Field(max_length=16, pattern="^([0-9]+(ms|s|m|h))+$"), AfterValidator(_check_ttl)] = (
        "1h"
    )
    """How long Crossplane may reuse an answer of the function, as a Go duration (30s, 10m, 1h) of at most
    8760h. Unset with plansFrom: 10m, as cores before v2.4 look at its sources only then. A claim that is not
    settled is looked at again sooner: after a minute while a change is on its way, after 10 minutes while it
    waits."""

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
    """Read the function's input, whole.

    Raises:
        errors.InvalidInput: with all problems, each with its path (`plans.standard.distributionId`).
    """
    return errors.parse(TenantPlans, value)


def salvage(value: Mapping[str, Any]) -> tuple[TenantPlans, dict[str, errors.InvalidInput]]:
    """Read the function's input and set broken plans aside, so that they harm only the claims that use them.

    Returns:
        The input with its sound plans and its default plan, which need not be there; and for each broken
        plan, by name, what is wrong with it.

    Raises:
        errors.InvalidInput: with the problems that are not those of a single plan.
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
