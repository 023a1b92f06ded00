"""All kinds of edgetenants: group, names, scope, columns, and the model of their objects."""

from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.api.model import ApiModel, Scope
from edgetenants_runtime.api.providerconfig import ProviderConfigUsage
from edgetenants_runtime.api.references import ReferenceField

from .connectiongroup import (
    ClusterConnectionGroupSpec,
    ConnectionGroupStatus,
    NamespacedConnectionGroupSpec,
)
from .distributiontenant import ClusterDistributionTenantSpec, NamespacedDistributionTenantSpec
from .observation import DistributionTenantStatus
from .providerconfig import ProviderConfigSpec, ProviderConfigStatus
from .references import tenant_references
from .tenantclaim import TenantClaimSpec, TenantClaimStatus
from .tenantplans import TenantPlans
from .tenantreport import TenantReport
from .tenantsource import TenantSourceSpec, TenantSourceStatus

VERSION: Final = "v1alpha1"

PLATFORM_GROUP: Final = "platform.edgetenants.io"
MANAGED_GROUP: Final = "cloudfront.m.edgetenants.io"
LEGACY_MANAGED_GROUP: Final = "cloudfront.edgetenants.io"
CONFIG_GROUP: Final = "m.edgetenants.io"
LEGACY_CONFIG_GROUP: Final = "edgetenants.io"
INPUT_GROUP: Final = "edgetenants.fn.crossplane.io"

CONNECTION_KEYS: Final = (
    "connectionGroupId",
    "distributionTenantArn",
    "distributionTenantId",
    "domains",
    "endpoint",
    "url",
)
"""Keys of a DistributionTenant's connection Secret."""


@dataclass(frozen=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    json_path: str
    type: str = "string"
    priority: int = 0
    """0: always shown. 1: shown with `-o wide`."""


@dataclass(frozen=True)
class Kind:
    """One kind of object."""

    group: str
    kind: str
    plural: str
    scope: Scope
    description: str
    spec: type[ApiModel] | None = None
    status: type[ApiModel] | None = None
    fields: type[ApiModel] | None = None
    """For kinds without a spec: the model of their top-level fields."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    references: tuple[ReferenceField, ...] = ()
    """Fields that the provider can resolve from other objects."""
    late_initialized: tuple[str, ...] = ()
    """Fields of forProvider that late initialization sets to the value in AWS if they are unset."""

    @property
    def api_version(self) -> str:
        """Group and version, as in an object's apiVersion."""
        return f"{self.group}/{VERSION}"

    @property
    def crd_name(self) -> str:
        """Name of the CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"


def _condition(name: str, type_: str, field: str = "status", priority: int = 0) -> Column:
    return Column(name, f".status.conditions[?(@.type=='{type_}')].{field}", priority=priority)


_AGE = Column("AGE", ".metadata.creationTimestamp", "date")
_EXTERNAL_NAME = Column("EXTERNAL-NAME", r".metadata.annotations.crossplane\.io/external-name")
_MANAGED = ("crossplane", "managed", "edgetenants")
_CONFIG = ("crossplane", "provider", "edgetenants")

_TENANT_COLUMNS = (
    _condition("READY", "Ready"),
    _condition("SYNCED", "Synced"),
    Column("DOMAINS", ".status.domainsReady"),
    _EXTERNAL_NAME,
    _AGE,
    _condition("REASON", "Ready", "reason", 1),
    Column("ID", ".status.atProvider.id", priority=1),
    Column("ENDPOINT", ".status.atProvider.routingEndpoint", priority=1),
)
_GROUP_COLUMNS = (
    _condition("READY", "Ready"),
    _condition("SYNCED", "Synced"),
    Column("ENDPOINT", ".status.atProvider.routingEndpoint"),
    _EXTERNAL_NAME,
    _AGE,
    _condition("REASON", "Ready", "reason", 1),
    Column("ID", ".status.atProvider.id", priority=1),
)
_CONFIG_COLUMNS = (
    Column("ACCOUNT", ".status.accountId"),
    Column("USERS", ".status.users", "integer"),
    Column("WRITES", ".spec.writes"),
    _AGE,
    Column("SECRET-NAME", ".spec.credentials.secretRef.name", priority=1),
)
_USAGE_COLUMNS = (
    _AGE,
    Column("CONFIG-NAME", ".providerConfigRef.name"),
    Column("RESOURCE-KIND", ".resourceRef.kind"),
    Column("RESOURCE-NAME", ".resourceRef.name"),
)

_TENANT_TEXT = (
    "A DistributionTenant is a distribution tenant of Amazon CloudFront: domains that a multi-tenant "
    "distribution serves, with their certificate, parameters and customizations. Its external name is the "
    "tenant's name in CloudFront."
)
_GROUP_TEXT = (
    "A ConnectionGroup is a connection group of Amazon CloudFront: the routing endpoint of its tenants' "
    "domains, with its addresses. Its external name is the group's name in CloudFront."
)
_CONFIG_TEXT = "configures access to AWS: credentials, endpoint, request rates and the zones for DNS records."
_USAGE_TEXT = (
    "A ProviderConfigUsage records that a resource uses a ProviderConfig, and so prevents the deletion of "
    "the ProviderConfig."
)

_TENANT_LATE = ("domains", "enabled")
_GROUP_LATE = ("enabled", "ipv6Enabled")
"""Short on purpose: the provider enforces a late-initialized value from then on. So this excludes fields that
AWS may change on its own (a certificate, a web ACL, the connection group) and fields with references."""

DISTRIBUTION_TENANT: Final = Kind(
    group=MANAGED_GROUP,
    kind="DistributionTenant",
    plural="distributiontenants",
    scope=Scope.NAMESPACED,
    description=_TENANT_TEXT,
    spec=NamespacedDistributionTenantSpec,
    status=DistributionTenantStatus,
    short_names=("edt",),
    categories=_MANAGED,
    columns=_TENANT_COLUMNS,
    references=tenant_references(Scope.NAMESPACED, MANAGED_GROUP, VERSION),
    late_initialized=_TENANT_LATE,
)
CONNECTION_GROUP: Final = Kind(
    group=MANAGED_GROUP,
    kind="ConnectionGroup",
    plural="connectiongroups",
    scope=Scope.NAMESPACED,
    description=_GROUP_TEXT,
    spec=NamespacedConnectionGroupSpec,
    status=ConnectionGroupStatus,
    short_names=("ecg",),
    categories=_MANAGED,
    columns=_GROUP_COLUMNS,
    late_initialized=_GROUP_LATE,
)
PROVIDER_CONFIG: Final = Kind(
    group=CONFIG_GROUP,
    kind="ProviderConfig",
    plural="providerconfigs",
    scope=Scope.NAMESPACED,
    description=f"A ProviderConfig {_CONFIG_TEXT} Resources in its namespace can use it.",
    spec=ProviderConfigSpec,
    status=ProviderConfigStatus,
    categories=_CONFIG,
    columns=_CONFIG_COLUMNS,
)
CLUSTER_PROVIDER_CONFIG: Final = Kind(
    group=CONFIG_GROUP,
    kind="ClusterProviderConfig",
    plural="clusterproviderconfigs",
    scope=Scope.CLUSTER,
    description=f"A ClusterProviderConfig {_CONFIG_TEXT} Resources in every namespace can use it.",
    spec=ProviderConfigSpec,
    status=ProviderConfigStatus,
    categories=_CONFIG,
    columns=_CONFIG_COLUMNS,
)
PROVIDER_CONFIG_USAGE: Final = Kind(
    group=CONFIG_GROUP,
    kind="ProviderConfigUsage",
    plural="providerconfigusages",
    scope=Scope.NAMESPACED,
    description=_USAGE_TEXT,
    fields=ProviderConfigUsage,
    categories=_CONFIG,
    columns=_USAGE_COLUMNS,
)
LEGACY_DISTRIBUTION_TENANT: Final = Kind(
    group=LEGACY_MANAGED_GROUP,
    kind="DistributionTenant",
    plural="distributiontenants",
    scope=Scope.CLUSTER,
    description=_TENANT_TEXT,
    spec=ClusterDistributionTenantSpec,
    status=DistributionTenantStatus,
    short_names=("ledt",),
    categories=_MANAGED,
    columns=_TENANT_COLUMNS,
    references=tenant_references(Scope.CLUSTER, LEGACY_MANAGED_GROUP, VERSION),
    late_initialized=_TENANT_LATE,
)
LEGACY_CONNECTION_GROUP: Final = Kind(
    group=LEGACY_MANAGED_GROUP,
    kind="ConnectionGroup",
    plural="connectiongroups",
    scope=Scope.CLUSTER,
    description=_GROUP_TEXT,
    spec=ClusterConnectionGroupSpec,
    status=ConnectionGroupStatus,
    short_names=("lecg",),
    categories=_MANAGED,
    columns=_GROUP_COLUMNS,
    late_initialized=_GROUP_LATE,
)
LEGACY_PROVIDER_CONFIG: Final = Kind(
    group=LEGACY_CONFIG_GROUP,
    kind="ProviderConfig",
    plural="providerconfigs",
    scope=Scope.CLUSTER,
    description=f"A ProviderConfig {_CONFIG_TEXT} Cluster-scoped resources can use it.",
    spec=ProviderConfigSpec,
    status=ProviderConfigStatus,
    categories=_CONFIG,
    columns=_CONFIG_COLUMNS,
)
LEGACY_PROVIDER_CONFIG_USAGE: Final = Kind(
    group=LEGACY_CONFIG_GROUP,
    kind="ProviderConfigUsage",
    plural="providerconfigusages",
    scope=Scope.CLUSTER,
    description=_USAGE_TEXT,
    fields=ProviderConfigUsage,
    categories=_CONFIG,
    columns=_USAGE_COLUMNS,
)
TENANT_PLANS: Final = Kind(
    group=INPUT_GROUP,
    kind="TenantPlans",
    plural="tenantplans",
    scope=Scope.NAMESPACED,
    description="TenantPlans is the input of function-edgetenants: the plans that claims can use.",
    fields=TenantPlans,
    categories=("crossplane",),
)

TENANT_REPORT: Final = Kind(
    group=INPUT_GROUP,
    kind="TenantReport",
    plural="tenantreports",
    scope=Scope.NAMESPACED,
    description="TenantReport is the input of function-edgetenants in an Operation that reports on claims.",
    fields=TenantReport,
    categories=("crossplane",),
)

_CLAIM_TEXT = (
    "A TenantClaim requests that Amazon CloudFront serves domains, under one of the platform team's plans."
)
_CLAIM_COLUMNS = (
    Column("PLAN", ".spec.plan"),
    _condition("LIVE", "Live", "reason"),
    Column("DOMAINS", ".status.domainsReady"),
    Column("URL", ".status.url"),
    # Conditions instead of status fields: Crossplane writes no status fields while a claim is refused.
    _condition("MESSAGE", "Live", "message", 1),
    _condition("BLOCKED", "Blocked", "message", 1),
    _condition("DEGRADED", "Degraded", "message", 1),
)

TENANT_CLAIM: Final = Kind(
    group=PLATFORM_GROUP,
    kind="TenantClaim",
    plural="tenantclaims",
    scope=Scope.NAMESPACED,
    description=_CLAIM_TEXT,
    spec=TenantClaimSpec,
    status=TenantClaimStatus,
    short_names=("tc",),
    categories=("edgetenants",),
    columns=_CLAIM_COLUMNS,
)
LEGACY_TENANT_CLAIM: Final = Kind(
    group=PLATFORM_GROUP,
    kind="XTenantClaim",
    plural="xtenantclaims",
    scope=Scope.CLUSTER,
    description=_CLAIM_TEXT,
    spec=TenantClaimSpec,
    status=TenantClaimStatus,
    short_names=("xtc",),
    categories=("edgetenants",),
    columns=_CLAIM_COLUMNS,
)

TENANT_SOURCE: Final = Kind(
    group=PLATFORM_GROUP,
    kind="TenantSource",
    plural="tenantsources",
    scope=Scope.NAMESPACED,
    description="A TenantSource is a table of customers whose rows become claims or managed resources.",
    spec=TenantSourceSpec,
    status=TenantSourceStatus,
    short_names=("tsrc",),
    categories=("edgetenants",),
    columns=(
        Column("ROWS", ".status.rows", "integer"),
        Column("LIVE", ".status.live", "integer"),
        Column("INVALID", ".status.invalid", "integer"),
        _condition("SYNCED", "Synced"),
        _AGE,
        _condition("REASON", "Synced", "reason", 1),
        _condition("MESSAGE", "Synced", "message", 1),
    ),
)

PROVIDER_KINDS: Final = (
    DISTRIBUTION_TENANT,
    CONNECTION_GROUP,
    PROVIDER_CONFIG,
    CLUSTER_PROVIDER_CONFIG,
    PROVIDER_CONFIG_USAGE,
)
"""The provider's kinds for Crossplane v2, which a default installation activates."""

LEGACY_PROVIDER_KINDS: Final = (
    LEGACY_DISTRIBUTION_TENANT,
    LEGACY_CONNECTION_GROUP,
    LEGACY_PROVIDER_CONFIG,
    LEGACY_PROVIDER_CONFIG_USAGE,
)
"""The provider's cluster-scoped kinds, for Crossplane v1 and for resources that were created with it."""
