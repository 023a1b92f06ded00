"""ProviderConfigs: the credentials, limits and DNS zones that the provider uses. One model serves all three
kinds.

The teams of a namespace write its ProviderConfigs. So the provider refuses settings there that would give
them its own identity or send its requests elsewhere. The CRD cannot refuse them, because a flag of the
provider allows them.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from edgetenants_runtime.api import providerconfig as base
from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.api.references import SecretKeySelector, SecretReference

from .arns import RoleArn


class Writes(StrEnum):
    """Whether the provider may write to AWS."""

    ENABLED = "Enabled"
    """It may write."""
    FROZEN = "Frozen"
    """It writes nothing, and only observes."""


class TenantLists(StrEnum):
    """How the provider notices changes of tenants in AWS."""

    CURRENT = "Current"
    """By lists of all tenants of the account."""
    LATE = "Late"
    """The last complete list is too old, so the provider polls each tenant."""
    NOT_PERMITTED = "NotPermitted"
    """AWS refuses the lists, so the provider polls each tenant."""
    UNUSED = "Unused"
    """The account has more pages of tenants than resources, so the provider polls each resource."""


TagText = Annotated[str, Field(max_length=256)]
SessionKey = Annotated[str, Field(min_length=1, max_length=128)]


class AssumedRole(ApiModel):
    """One role of a chain."""

    role_arn: Annotated[RoleArn, Field(alias="roleARN")]
    """ARN of the role to assume."""
    external_id: Annotated[
        str | None,
        Field(alias="externalID", min_length=2, max_length=1224, pattern=r"^[A-Za-z0-9_+=,.@:/-]*$"),
    ] = None
    """External id that the role's trust policy requires."""
    session_name: Annotated[
        str | None, Field(min_length=2, max_length=64, pattern=r"^[A-Za-z0-9_+=,.@-]*$")
    ] = None
    """Name of the session in CloudTrail. Unset: edgetenants."""
    tags: Annotated[dict[str, TagText] | None, Field(max_length=50)] = None
    """Session tags."""
    transitive_tag_keys: Annotated[
        tuple[SessionKey, ...] | None, Field(max_length=50), Kube(list_type="set")
    ] = None
    """Keys of the session tags that are passed on to the next roles in the chain."""


class WebIdentity(ApiModel):
    """A role to assume with an OpenID Connect token."""

    role_arn: Annotated[RoleArn, Field(alias="roleARN")]
    """ARN of the role to assume."""
    token_path: Annotated[str | None, Field(min_length=1, max_length=4096, pattern="^/")] = None
    """Absolute path of the file with the token; the provider reads it before each use. Unset: the path in the
    provider's environment variable AWS_WEB_IDENTITY_TOKEN_FILE."""


class Endpoint(ApiModel):
    """The endpoint of AWS's APIs."""

    url: Annotated[str, Field(max_length=2048, pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$")]
    """Base URL of the APIs, for other partitions, private endpoints and emulators."""
    region: Annotated[str | None, Field(max_length=64, pattern="^[a-z]{2}(-[a-z]+)+-[0-9]+$")] = None
    """Region for signing requests. Unset: us-east-1."""


RequestRate = Annotated[float, Field(ge=0.1, le=1000), NOT_TEXT]


class RateLimits(ApiModel):
    """Limits on requests per second for each AWS service, per account, shared by all resources that use
    it."""

    cloudfront: RequestRate | None = None
    """Requests per second to CloudFront, 0.1 to 1000. Unset: 5."""
    acm: RequestRate | None = None
    """Requests per second to ACM, 0.1 to 1000. Unset: 5."""
    route53: RequestRate | None = None
    """Requests per second to Route 53, 0.1 to 1000. Unset: 5."""


QuotaValue = Annotated[int, Field(ge=1, le=10_000_000), NOT_TEXT]


class Quotas(ApiModel):
    """Quotas that AWS has granted to the account."""

    tenants: QuotaValue | None = None
    """Distribution tenants per account, 1 to 10000000. Unset: AWS's default, 10000."""
    connection_groups: QuotaValue | None = None
    """Connection groups per account, 1 to 10000000. Unset: AWS's default, 100."""
    certificates: QuotaValue | None = None
    """Certificates of ACM per account in us-east-1, 1 to 10000000. Unset: AWS's default, 2500."""


class HostedZone(ApiModel):
    """A hosted zone of Route 53."""

    id: Annotated[str, Field(min_length=1, max_length=32, pattern="^[A-Z0-9]+$")]
    """Id of the hosted zone."""


class Route53(ApiModel):
    """Writes records to Route 53 with the credentials of this ProviderConfig."""

    zones: Annotated[
        tuple[HostedZone, ...] | None, Field(max_length=500), Kube(list_type="map", keys=("id",))
    ] = None
    """Hosted zones that the provider may write to. For each domain it uses the zone with the longest matching
    name. Unset: it finds public zones by name."""


class Propagation(StrEnum):
    """When a change of DNS records counts as served."""

    NAME_SERVERS = "NameServers"
    """When all name servers of the zone answer with it. The provider asks them on port 53."""
    PRIMARY = "Primary"
    """When the primary server has it."""


ZoneNames = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s/]+$")], ...] | None,
    Field(max_length=500),
    Kube(list_type="set"),
]


class Rfc2136(ApiModel):
    """Writes records by dynamic updates of a DNS server (RFC 2136), signed with TSIG (RFC 8945)."""

    server: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s/]+$")]
    """Host name or address of the primary server."""
    port: Annotated[int, Field(ge=1, le=65535), NOT_TEXT] = 53
    """Port of the server, for TCP."""
    tsig_secret_ref: SecretReference | None = None
    """Secret with the TSIG key in its keys `name`, `algorithm` (hmac-sha256, …; unset: hmac-sha256) and
    `secret` (base64). Unset: updates are not signed, which a namespaced ProviderConfig may not do, unless the
    provider runs with --allow-namespaced-identity."""
    zones: ZoneNames = None
    """Zones that the provider may write to. For each domain it uses the longest matching one. Unset: it asks
    the server for the zone, and the key must be permitted to query it."""
    propagation: Propagation = Propagation.NAME_SERVERS
    """When a change counts as served. NameServers: when all name servers of the zone answer with it, on port
    53. Primary: when the primary server has it, for name servers that the provider cannot reach."""


class PowerDns(ApiModel):
    """Writes records by the HTTP API of PowerDNS Authoritative Server, version 4.6 or newer."""

    url: Annotated[str, Field(max_length=2048, pattern=r"^https?://[^\s/?#@\\]+(/[^\s?#\\]*)?$")]
    """URL of the API without /api/v1, such as https://pdns.example.com:8081."""
    server_id: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9._-]+$")] = "localhost"
    """Id of the server in the API."""
    api_key_secret_ref: SecretKeySelector
    """The key of a Secret that holds the API key."""
    zones: ZoneNames = None
    """Zones that the provider may write to. For each domain it uses the longest matching one. Unset: it asks
    the API for the zone."""
    ca_certificates: Annotated[str | None, Field(min_length=1, max_length=65536)] = None
    """Certificates of the authorities that the provider trusts for the URL, in PEM. Unset: those of the
    system."""
    apex_alias: Bool = False
    """true: the provider makes a record of type ALIAS at the apex of a zone. PowerDNS answers it only with
    its settings expand-alias and resolver. false: DNSReady says that a domain at the apex has no record."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.caCertificates) || self.url.startsWith('https://')",
            "expected caCertificates with an https URL only",
            lambda api: api.ca_certificates is None or api.url.startswith("https://"),
            field=".caCertificates",
        ),
    )


class Cloudflare(ApiModel):
    """Writes records by Cloudflare's API, with an API token. The provider's image must have Cloudflare's
    SDK."""

    api_token_secret_ref: SecretKeySelector
    """The key of a Secret that holds the API token. The token needs the permissions Zone Read and DNS Write
    for the zones."""
    zones: ZoneNames = None
    """Names or ids of the zones that the provider may write to. For each domain it uses the longest matching
    one. Unset: all that the token may read."""


class AzureCloud(StrEnum):
    """A cloud of Azure."""

    PUBLIC = "Public"
    """Azure's public cloud."""
    US_GOVERNMENT = "USGovernment"
    """Azure Government, in the United States."""
    CHINA = "China"
    """Azure in China, operated by 21Vianet."""


class AzureDns(ApiModel):
    """Writes records to Azure DNS, as an application of Microsoft Entra ID. The provider's image must have
    Azure's SDK."""

    cloud: AzureCloud = AzureCloud.PUBLIC
    """The cloud of the subscription."""
    subscription_id: Annotated[
        str,
        Field(
            max_length=36,
            pattern=r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        ),
    ]
    """Id of the subscription, a UUID."""
    resource_group: Annotated[
        str, Field(min_length=1, max_length=90, pattern=r"^[A-Za-z0-9_().-]*[A-Za-z0-9_()-]$")
    ]
    """Name of the resource group with the zones."""
    credentials_secret_ref: SecretReference
    """Secret with the application in its keys `tenantId`, `clientId` (UUIDs) and `clientSecret`. The
    application needs the role DNS Zone Contributor in the resource group."""
    zones: ZoneNames = None
    """Names of the zones that the provider may write to. For each domain it uses the longest matching one.
    Unset: all public zones of the resource group."""


class ExistingRecords(StrEnum):
    """What the provider does about DNS records of its domains that it did not make."""

    KEEP = "Keep"
    """It leaves them, and reports them."""
    REPLACE_IF_CONFIRMED = "ReplaceIfConfirmed"
    """It replaces them once a user has confirmed that on the resource."""


class DnsConfig(ApiModel):
    """Where the provider writes DNS records."""

    route53: Route53 | None = None
    """In Route 53."""
    rfc2136: Rfc2136 | None = None
    """On a DNS server that accepts dynamic updates."""
    powerdns: PowerDns | None = None
    """In PowerDNS."""
    cloudflare: Cloudflare | None = None
    """In Cloudflare."""
    azure: AzureDns | None = None
    """In Azure DNS."""
    existing_records: ExistingRecords = ExistingRecords.KEEP
    """What the provider does if a domain has other records that it did not make. Keep: it leaves them, and
    DNSReady lists them. ReplaceIfConfirmed: it replaces them, except those of another namespace, once the
    resource has the annotation edgetenants.io/confirm with the token that DNSReady names. Anyone who may
    edit resources that use this ProviderConfig may confirm."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.route53), has(self.rfc2136), has(self.powerdns), has(self.cloudflare), "
            "has(self.azure)].filter(given, given).size() == 1",
            "expected exactly one of route53, rfc2136, powerdns, cloudflare and azure",
            lambda dns: [dns.route53, dns.rfc2136, dns.powerdns, dns.cloudflare, dns.azure].count(None) == 4,
        ),
    )


_WITHOUT_BASE = (CredentialsSource.NONE, CredentialsSource.INJECTED_IDENTITY)


class ProviderConfigSpec(ApiModel):
    """How the provider accesses AWS, and with which identity."""

    credentials: base.Credentials
    """The base credentials. From a Secret, the environment or a file, they are an AWS shared credentials file
    (profile `default`). None is for a ProviderConfig that only writes DNS records outside of AWS. A
    namespaced ProviderConfig may use only None and Secret, unless the provider runs with
    --allow-namespaced-identity."""
    assume_role_chain: Annotated[
        tuple[AssumedRole, ...] | None, Field(max_length=8), Kube(list_type="atomic")
    ] = None
    """Roles to assume one after the other, starting from the base credentials. At most 8. In a namespaced
    ProviderConfig only with credentials from a Secret, unless the provider runs with
    --allow-namespaced-identity."""
    web_identity: WebIdentity | None = None
    """A role to assume with a token; its credentials are the base credentials. Refused in a namespaced
    ProviderConfig, unless the provider runs with --allow-namespaced-identity."""
    endpoint: Endpoint | None = None
    """The endpoint of AWS's APIs. Unset: AWS's public endpoints. Refused in a namespaced ProviderConfig,
    unless the provider runs with --allow-namespaced-identity."""
    rate_limits: RateLimits | None = None
    """Limits on requests per second for each AWS service. The lowest limit among the cluster-scoped
    ProviderConfigs of an account applies to the account. A namespaced ProviderConfig's limit applies in
    addition, only to the requests made with it, and never raises the account's."""
    quotas: Quotas | None = None
    """Quotas that AWS has granted to the account, for the metrics, the warning when 90 % are used, and the
    messages of resources that AWS refuses. The provider refuses nothing because of them. The lowest number
    among the cluster-scoped ProviderConfigs of an account applies to the account. A namespaced ProviderConfig
    may set a lower one, for its own warning and messages."""
    writes: Writes = Writes.ENABLED
    """Enabled: the provider writes to AWS. Frozen: it writes nothing to AWS with this ProviderConfig; it
    observes the resources, and their conditions show the changes that wait."""
    dns: DnsConfig | None = None
    """Where the provider writes records for resources whose `dns.configRef` names this ProviderConfig. Unset:
    it writes none. A namespaced ProviderConfig may name a DNS server, by rfc2136 or powerdns, that the
    provider's flag --namespaced-dns-servers has; with --allow-namespaced-identity, any. Cloudflare and Azure
    DNS need no flag."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.webIdentity) || self.credentials.source in ['None', 'InjectedIdentity']",
            "expected None or InjectedIdentity with webIdentity",
            lambda spec: spec.web_identity is None or spec.credentials.source in _WITHOUT_BASE,
            field=".credentials.source",
        ),
        Rule(
            "!has(self.dns) || !has(self.dns.route53) || self.credentials.source != 'None' || "
            "has(self.webIdentity) || has(self.endpoint)",
            "expected credentials of AWS with dns.route53, got source None",
            lambda spec: (
                spec.dns is None
                or spec.dns.route53 is None
                or spec.credentials.source is not CredentialsSource.NONE
                or spec.web_identity is not None
                or spec.endpoint is not None
            ),
            field=".credentials.source",
        ),
    )


class ProviderConfigStatus(base.ProviderConfigStatus):
    """The observed state of a ProviderConfig."""

    account_id: Annotated[str | None, Field(max_length=12)] = None
    """The AWS account of the credentials."""
    caller_arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the identity of the credentials."""
    tenant_lists: TenantLists | None = None
    """How the provider notices changes of tenants in AWS. Current: by lists of all tenants. Late or
    NotPermitted: it polls each tenant, as the last complete list is too old, or as AWS refuses
    ListDistributionTenants. Unused: it polls each, as a list would take more requests. Unset: the provider
    runs with --no-sweep, or has not listed them yet."""
