"""ProviderConfigs: whose credentials, limits and DNS zones are used. One model serves all three kinds.

Namespaced ProviderConfigs are written by the teams of the namespace, so the provider refuses what would lend
them its own identity or send its requests elsewhere; that cannot stand in the CRD, as a flag of the provider
allows it.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from edgetenants_runtime.api import providerconfig as base
from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Kube, Rule
from edgetenants_runtime.api.providerconfig import CredentialsSource
from edgetenants_runtime.api.references import SecretReference

from .arns import RoleArn


class Writes(StrEnum):
    """Whether anything may be written to AWS."""

    ENABLED = "Enabled"
    """It may."""
    FROZEN = "Frozen"
    """Nothing is written; what is there is observed and shown."""


TagText = Annotated[str, Field(max_length=256)]
SessionKey = Annotated[str, Field(min_length=1, max_length=128)]


class AssumedRole(ApiModel):
    """One role of a chain."""

    role_arn: Annotated[RoleArn, Field(alias="roleARN")]
    """ARN of the role that is assumed."""
    external_id: Annotated[
        str | None,
        Field(alias="externalID", min_length=2, max_length=1224, pattern=r"^[A-Za-z0-9_+=,.@:/-]*$"),
    ] = None
    """External id that the role's trust policy asks for."""
    session_name: Annotated[
        str | None, Field(min_length=2, max_length=64, pattern=r"^[A-Za-z0-9_+=,.@-]*$")
    ] = None
    """Name of the session in CloudTrail. Unset: edgetenants."""
    tags: Annotated[dict[str, TagText] | None, Field(max_length=50)] = None
    """Session tags."""
    transitive_tag_keys: Annotated[
        tuple[SessionKey, ...] | None, Field(max_length=50), Kube(list_type="set")
    ] = None
    """Keys of session tags that are passed on to the roles that follow."""


class WebIdentity(ApiModel):
    """A role that is assumed with an OpenID Connect token."""

    role_arn: Annotated[RoleArn, Field(alias="roleARN")]
    """ARN of the role that is assumed."""
    token_path: Annotated[str | None, Field(min_length=1, max_length=4096, pattern="^/")] = None
    """Absolute path of the file with the token, read anew before each use. Unset: what the environment
    variable AWS_WEB_IDENTITY_TOKEN_FILE of the provider says."""


class Endpoint(ApiModel):
    """Where AWS's APIs are reached."""

    url: Annotated[str, Field(max_length=2048, pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$")]
    """Base URL of the APIs, for other partitions, private endpoints and emulators."""
    region: Annotated[str | None, Field(max_length=64, pattern="^[a-z]{2}(-[a-z]+)+-[0-9]+$")] = None
    """Region that requests are signed for. Unset: us-east-1."""


RequestRate = Annotated[float, Field(ge=0.1, le=1000), NOT_TEXT]


class RateLimits(ApiModel):
    """Most requests a second for each AWS service, for the account, shared by all resources that use it."""

    cloudfront: RequestRate | None = None
    """Requests a second to CloudFront, 0.1 to 1000. Unset: 5."""
    acm: RequestRate | None = None
    """Requests a second to ACM, 0.1 to 1000. Unset: 5."""
    route53: RequestRate | None = None
    """Requests a second to Route 53, 0.1 to 1000. Unset: 5."""


class HostedZone(ApiModel):
    """A hosted zone of Route 53."""

    id: Annotated[str, Field(min_length=1, max_length=32, pattern="^[A-Z0-9]+$")]
    """Id of the hosted zone."""


class Route53(ApiModel):
    """Records are made in Route 53 with the credentials of this ProviderConfig."""

    zones: Annotated[
        tuple[HostedZone, ...] | None, Field(max_length=500), Kube(list_type="map", keys=("id",))
    ] = None
    """Hosted zones that may be written to; for each domain the one with the longest matching name is used.
    Unset: public zones are found by name."""


class Rfc2136(ApiModel):
    """Records are made by dynamic updates of a DNS server (RFC 2136), signed with TSIG (RFC 8945)."""

    server: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s/]+$")]
    """Host name or address of the primary server."""
    port: Annotated[int, Field(ge=1, le=65535), NOT_TEXT] = 53
    """Port of the server."""
    tsig_secret_ref: SecretReference | None = None
    """Secret with the TSIG key in its keys `name`, `algorithm` (hmac-sha256, …) and `secret` (base64). Unset:
    updates are not signed."""
    zones: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] | None,
        Field(max_length=500),
        Kube(list_type="set"),
    ] = None
    """Zones that may be written to; for each domain the longest matching one is used. Unset: the zone is
    found by asking the server."""


class DnsConfig(ApiModel):
    """Where DNS records are made."""

    route53: Route53 | None = None
    """In Route 53."""
    rfc2136: Rfc2136 | None = None
    """On a DNS server that takes dynamic updates."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.route53) != has(self.rfc2136)",
            "expected exactly one of route53 and rfc2136",
            lambda dns: (dns.route53 is None) != (dns.rfc2136 is None),
        ),
    )


_WITHOUT_BASE = (CredentialsSource.NONE, CredentialsSource.INJECTED_IDENTITY)


class ProviderConfigSpec(ApiModel):
    """How AWS is reached, and as whom."""

    credentials: base.Credentials
    """The base credentials: an AWS shared credentials file (profile `default`) where they come from a Secret,
    the environment or a file. A ProviderConfig in a namespace may use None and Secret only, unless the
    provider runs with --allow-namespaced-identity."""
    assume_role_chain: Annotated[
        tuple[AssumedRole, ...] | None, Field(max_length=8), Kube(list_type="atomic")
    ] = None
    """Roles that are assumed one after the other, from the base credentials on. At most 8. In a namespace
    only from credentials of a Secret, unless the provider runs with --allow-namespaced-identity."""
    web_identity: WebIdentity | None = None
    """A role that is assumed with a token as base credentials. Refused in a namespace, unless the provider
    runs with --allow-namespaced-identity."""
    endpoint: Endpoint | None = None
    """Where AWS's APIs are reached. Unset: AWS's public endpoints. Refused in a namespace, unless the
    provider runs with --allow-namespaced-identity."""
    rate_limits: RateLimits | None = None
    """Most requests a second for each AWS service. The lowest of all cluster-scoped ProviderConfigs of an
    account holds for it. In a namespace it counts where none of them says anything, and not below 5."""
    writes: Writes = Writes.ENABLED
    """Frozen: nothing is written to AWS with this ProviderConfig; resources are observed, and show what they
    wait for. Enabled: as usual."""
    dns: DnsConfig | None = None
    """Where records are made for resources whose `dns.configRef` names this ProviderConfig. Unset:
    nowhere."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.webIdentity) || self.credentials.source in ['None', 'InjectedIdentity']",
            "expected None or InjectedIdentity with webIdentity",
            lambda spec: spec.web_identity is None or spec.credentials.source in _WITHOUT_BASE,
            field=".credentials.source",
        ),
    )


class ProviderConfigStatus(base.ProviderConfigStatus):
    """What is known of a ProviderConfig."""

    account_id: Annotated[str | None, Field(max_length=12)] = None
    """AWS account that the credentials belong to."""
    caller_arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the identity that the credentials are of."""
