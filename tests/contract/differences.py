"""Where ministack 1.5.33 answers otherwise than our emulator, on purpose: both answers, and why ours.

"The model" is botocore's of CloudFront 2020-05-31, which AWS's SDKs and API reference are made from. "No
source" means that AWS publishes nothing: ours is the reading that is harder for a caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INVALID, NOT_FOUND, STALE = "400 InvalidArgument", "404 EntityNotFound", "412 PreconditionFailed"
TAKEN, DENIED, NO_VERSION = "409 CNAMEAlreadyExists", "403 AccessDenied", "400 InvalidIfMatchVersion"
NOT_DISABLED, IN_USE = "409 ResourceNotDisabled", "409 CannotDeleteEntityWhileInUse"
NO_RESOURCE, TAGGING = "404 NoSuchResource", "400 InvalidTagging"
TENANT = ["Arn", "ConnectionGroupId", "CreatedTime", "DistributionId", "Domains", "Enabled", "Id"]
TENANT += ["LastModifiedTime", "Name", "Parameters", "Status"]
GROUP = ["Arn", "CreatedTime", "Enabled", "Id", "Ipv6Enabled", "IsDefault", "LastModifiedTime", "Name"]
GROUP += ["RoutingEndpoint", "Status"]
DISTRIBUTION = ["ARN", "DistributionConfig", "DomainName", "Id", "InProgressInvalidationBatches"]
DISTRIBUTION += ["LastModifiedTime", "Status"]
TOKEN = ["Domain", "RedirectFrom", "RedirectTo"]
ACTIVE = ["ActiveTrustedKeyGroups", "ActiveTrustedSigners"]
CONFIG = ["CallerReference", "Comment", "ConnectionMode", "DefaultCacheBehavior", "Enabled", "OriginGroups"]
CONFIG += ["Origins", "TenantConfig", "ViewerCertificate"]
CONFIG_FILLED_IN = ["CacheBehaviors", "CustomErrorResponses", "DefaultRootObject", "HttpVersion", "Logging"]
CONFIG_FILLED_IN += ["Restrictions", "WebACLId"]
BEHAVIOR = ["CachePolicyId", "TargetOriginId", "ViewerProtocolPolicy"]
BEHAVIOR_FILLED_IN = ["AllowedMethods", "Compress", "FieldLevelEncryptionId", "FunctionAssociations"]
BEHAVIOR_FILLED_IN += ["GrpcConfig", "LambdaFunctionAssociations", "TrustedKeyGroups"]


@dataclass(frozen=True)
class Difference:
    """One fact of a scenario; `source` says where ours is published."""

    scenario: str
    fact: str
    ministack: Any
    ours: Any
    source: str


# By source; inside: scenario, fact, ministack's answer, ours.
_BY_SOURCE: dict[str, list[tuple[str, str, Any, Any]]] = {
    "AWS CLI example update-distribution-tenant: a tenant without tags has no member Tags": [
        ("tenant_life", "members of create", [*TENANT, "Tags"], TENANT),
        ("group_life", "members of create", [*GROUP, "Tags"], GROUP),
    ],
    "AWS CLI examples update-distribution-tenant and update-connection-group: the answer shows no Tags": [
        ("tagging", "tenant: shown by a get", True, False),
        ("tagging", "group: shown by a get", True, False),
    ],
    "AWS CLI examples create-distribution-tenant and create-connection-group: Status InProgress": [
        ("tenant_life", "status at first", "Deployed", "InProgress"),
        ("group_life", "status at first", "Deployed", "InProgress"),
    ],
    "No source; HowToDeleteDistribution waits for Deployed, and so does Terraform's provider. A setting": [
        ("tenant_deletion_rules", "right after disabling", "204", NOT_DISABLED),
        ("group_rules", "right after disabling", "204", NOT_DISABLED),
    ],
    "The model: CreateDistributionTenant's Name has a pattern, of 3 to 128 characters": [
        ("tenant_names", "too short", "201", INVALID),
        ("tenant_names", "underscore", "201", INVALID),
        ("tenant_names", "129 characters", "201", INVALID),
    ],
    "Developer guide, CNAMEs: alternate domain names must be lower-case": [
        ("tenant_domains", "taken, in upper case", TAKEN, INVALID),
        ("domains_of_distributions", "in upper case", TAKEN, INVALID),
    ],
    "Developer guide, alternate-domain-names-move: a domain is on one resource, whatever the account": [
        ("other_accounts", "domain", "201", TAKEN),
        ("other_accounts", "list", ["acme", "mine"], ["acme"]),
        ("other_accounts", "get by domain", "200", NOT_FOUND),
    ],
    "The model: AccessDenied is declared for every operation of the tenant API": [
        ("other_accounts", "get by ARN", NOT_FOUND, DENIED),
        ("other_accounts", "group by ARN", NOT_FOUND, DENIED),
        ("other_accounts", "tags", INVALID, DENIED),
    ],
    "Developer guide, managed-cloudfront-certificates: a domain is served once a certificate covers it": [
        ("certificates", "nothing covers the domain", "201", INVALID),
        ("certificates", "one that is not there", "201", INVALID),
        ("managed_certificates", "status of its domain", "active", "inactive"),
    ],
    "Developer guide, managed-cloudfront-certificates: a managed certificate is pending until it is served": [
        ("managed_certificate_life", "status at first", "issued", "pending-validation"),
        ("managed_certificate_life", "attached before it is served", "200", INVALID),
    ],
    "The model: ValidationTokenDetail has RedirectFrom and RedirectTo, for the token host self-hosted": [
        ("managed_certificate_life", "members of a token", ["Domain"], TOKEN),
    ],
    "The model: GetManagedCertificateDetails declares EntityNotFound": [
        ("managed_certificate_life", "details without a request", "200", NOT_FOUND),
    ],
    "The model: DnsConfiguration has the Reason for its Status; nothing leads to a name that has no record": [
        ("tenant_of_a_group_life", "DNS", ["Domain", "Status"], ["Domain", "Reason", "Status"]),
    ],
    "The model: PrimaryDomainName is the domain of the certificate, and the tenant's domains are on it": [
        ("managed_certificates", "a primary domain of somebody else", "201", INVALID),
    ],
    "The model: InvalidIfMatchVersion is for a version missing or not valid, the other for a stale one": [
        ("tenant_versions", "update_distribution_tenant: no version at all", STALE, NO_VERSION),
        ("tenant_versions", "update_distribution_tenant: star", STALE, NO_VERSION),
        ("tenant_versions", "delete_distribution_tenant: no version at all", STALE, NO_VERSION),
        ("tenant_versions", "delete_distribution_tenant: star", STALE, NO_VERSION),
        ("group_versions", "update_connection_group: no version at all", STALE, NO_VERSION),
        ("group_versions", "delete_connection_group: no version at all", STALE, NO_VERSION),
    ],
    "AWS CLI examples: every new tenant and connection group carries the same first ETag": [
        ("tenant_versions", "first of two tenants", False, True),
    ],
    "The model: WebAclCustomization.Arn is the web ACL to put in place of the parent's": [
        ("customizations", "an override without web ACL", "201", INVALID),
        ("customizations", "an override without web ACL: afterwards", "200", NOT_FOUND),
    ],
    "No source for tenants; the model's GeoRestriction needs locations for a whitelist or blacklist": [
        ("customizations", "a list without locations", "201", INVALID),
        ("customizations", "a list without locations: afterwards", "200", NOT_FOUND),
    ],
    "Developer guide, tenant-customization: a required parameter must be given; the error is not published": [
        ("parameter_rules", "one that the parent does not define", "201", INVALID),
        ("parameter_rules", "twice", "201", INVALID),
        ("parameter_rules", "a required one missing", "201", INVALID),
    ],
    "The model: Id of an update is the ID, where Identifier of a get is the ID, ARN or name": [
        ("tenant_lookups", "update by name", "200", NOT_FOUND),
        ("group_lookups", "update by name", "200", NOT_FOUND),
    ],
    "The model: EntityNotFound is declared where a request refers to something else": [
        ("group_rules", "an unknown Anycast list", "201", NOT_FOUND),
        ("group_lists", "of an unknown Anycast list", "200", NOT_FOUND),
        ("tenant_lists", "of an unknown distribution", [], NOT_FOUND),
        ("tenant_lists", "of an unknown group", [], NOT_FOUND),
    ],
    "The model: UpdateConnectionGroup declares ResourceInUse, and nothing else could be in use. A setting": [
        ("group_rules", "disable with a tenant", "200", "409 ResourceInUse"),
    ],
    "Developer guide, custom-connection-group: the default one comes with a distribution, and stays": [
        ("default_group", "before any tenant", 0, 1),
        ("default_group", "delete", "204", IN_USE),
    ],
    "The model: the tagging operations declare NoSuchResource and InvalidTagging, and no EntityNotFound": [
        ("tagging", "tenant: unknown", NOT_FOUND, NO_RESOURCE),
        ("tagging", "group: unknown", NOT_FOUND, NO_RESOURCE),
        ("tagging", "tenant: reserved", "204", TAGGING),
        ("tagging", "group: reserved", "204", TAGGING),
    ],
    "The model: ListDistributionTenantsByCustomization takes one of the two ARNs, but not both": [
        ("tenant_lists", "by neither", ["one", "three", "two"], INVALID),
        ("tenant_lists", "by both", [], INVALID),
    ],
    "The model: MaxItems is the most items of a page, NextMarker leads to the next": [
        ("tenant_lists", "pages of two", [3], [2, 1]),
        ("tenant_lists", "a bad marker", ["one", "three", "two"], INVALID),
        ("group_lists", "pages of two", 3, 2),
    ],
    "Developer guide, distribution-config-options: what a multi-tenant distribution cannot have": [
        ("distribution_configurations", "an alias", "201", INVALID),
        ("distribution_configurations", "a price class", "201", INVALID),
        ("distribution_configurations", "a TTL", "201", INVALID),
        ("distribution_configurations", "an Anycast list", "201", INVALID),
        ("distribution_configurations", "a web ACL of WAF Classic", "201", "400 InvalidWebACLId"),
    ],
    "Developer guide, cloudfront-limits: five parameters for a multi-tenant distribution": [
        ("distribution_configurations", "six parameters", "201", "400 EntityLimitExceeded"),
    ],
    "Developer guide, tenant-customization: a parameter is defined on the distribution": [
        ("distribution_configurations", "a parameter that is not defined", "201", INVALID),
    ],
    "aws/aws-sdk-php#1737, hashicorp/terraform-provider-aws#46105: an origin without its config is refused": [
        ("distribution_configurations", "an origin of no kind", "201", "400 InvalidOrigin"),
    ],
    "The model: CreateDistribution declares these errors, with the words for what is wrong": [
        ("distribution_configurations", "a path without slash", "201", "400 InvalidRelativePath"),
        ("distribution_configurations", "an unknown origin", "201", "404 NoSuchOrigin"),
        ("distribution_configurations", "an unknown cache policy", "201", "404 NoSuchCachePolicy"),
        ("distribution_configurations", "a quantity that is not true", "201", "400 InconsistentQuantities"),
    ],
    "The model: DistributionConfig.CallerReference, a value sent before is DistributionAlreadyExists": [
        ("distribution_configurations", "a caller reference in use", "200", "409 DistributionAlreadyExists"),
    ],
    "AWS CLI example create-distribution: what is left out comes back filled in": [
        ("distribution_life", "members of create", DISTRIBUTION, sorted([*DISTRIBUTION, *ACTIVE])),
        ("distribution_life", "members of its config", CONFIG, sorted([*CONFIG, *CONFIG_FILLED_IN])),
        ("distribution_life", "members of its behavior", BEHAVIOR, sorted([*BEHAVIOR, *BEHAVIOR_FILLED_IN])),
    ],
    "The model: UpdateDistribution, the value of CallerReference can't be changed": [
        ("distribution_life", "update of the caller reference", "200", "400 IllegalUpdate"),
    ],
    "aws-controllers-k8s/community#2335: a member left out is required for updates. A setting": [
        ("distribution_life", "update with a member left out", "200", "400 IllegalUpdate"),
    ],
    "The model: WebAclCustomization, with disable there is no web ACL": [
        ("strict_rules", "a disabled web ACL with an ARN", "201", INVALID),
    ],
    "The model: GeoRestriction, one country code of ISO 3166-1 alpha-2 for each country": [
        ("strict_rules", "a location that no country has", "201", INVALID),
        ("strict_rules", "a location twice", "201", INVALID),
    ],
    "Developer guide, CNAMEs: an alternate domain name is a domain name": [
        ("strict_rules", "an address for a domain", "201", INVALID),
    ],
    "No source for groups; the model has such a pattern for tenants and Anycast lists. A setting": [
        ("strict_rules", "a connection group's name with a blank", "201", INVALID),
    ],
    "The model: UntagResource declares InvalidTagging, and keys that begin with aws: are AWS's": [
        ("strict_rules", "a reserved key to untag", "204", TAGGING),
    ],
}
DIFFERENCES = [Difference(*row, source) for source, rows in _BY_SOURCE.items() for row in rows]
