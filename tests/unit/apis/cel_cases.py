"""For every rule of the APIs an object that keeps it and one that breaks it, as data.

Used twice: by the unit tests against the Python twins of the rules, and on a real API server against the
CRDs.
`manifests()` gives whole objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apis import kinds
from apis.kinds import Kind

TENANTS = (kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT)
GROUPS = (kinds.CONNECTION_GROUP, kinds.LEGACY_CONNECTION_GROUP)
CONFIGS = (kinds.CLUSTER_PROVIDER_CONFIG, kinds.PROVIDER_CONFIG, kinds.LEGACY_PROVIDER_CONFIG)
SHARED_CONFIGS = (kinds.CLUSTER_PROVIDER_CONFIG, kinds.LEGACY_PROVIDER_CONFIG)
"""They name Secrets with their namespace."""
CLAIMS = (kinds.TENANT_CLAIM, kinds.LEGACY_TENANT_CLAIM)
PLANS = (kinds.TENANT_PLANS,)

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d-1111-2222-3333-444455556666"
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/shop/0a1b2c3d-1111-2222-3333-444455556666"


@dataclass(frozen=True)
class Case:
    """One rule, seen from both sides."""

    name: str
    kinds: tuple[Kind, ...]
    refusal: str
    """Words of the refusal: the rule's message, or what the schema says."""
    accepted: Mapping[str, Any]
    refused: Mapping[str, Any]


def tenant(**fields: Any) -> dict[str, Any]:
    """A DistributionTenant that has what it needs, with `fields` under forProvider (None takes one away)."""
    merged = {"distributionId": "E1EDGETENANTS", "domains": ["acme.example.com"], **fields}
    return {"spec": {"forProvider": {key: value for key, value in merged.items() if value is not None}}}


def custom(**fields: Any) -> dict[str, Any]:
    """A DistributionTenant with these customizations."""
    return tenant(customizations=fields)


def group(**fields: Any) -> dict[str, Any]:
    """A ConnectionGroup with `fields` under forProvider."""
    return {"spec": {"forProvider": fields}}


def config(**fields: Any) -> dict[str, Any]:
    """A ProviderConfig with `fields` in its spec."""
    return {"spec": {"credentials": {"source": "None"}, **fields}}


def claim(**fields: Any) -> dict[str, Any]:
    """A TenantClaim with `fields` in its spec."""
    return {"spec": {"domains": ["acme.example.com"], **fields}}


def plan(**fields: Any) -> dict[str, Any]:
    """TenantPlans with one plan, `standard`, with `fields`."""
    return {"plans": {"standard": {"distributionId": "E1EDGETENANTS", **fields}}}


_ONE_SERVICE = "expected exactly one of route53, rfc2136, powerdns, cloudflare and azure"
_POWERDNS = {
    "url": "http://pdns:8081",
    "apiKeySecretRef": {"namespace": "dns", "name": "pdns", "key": "key"},
}
_OWN_POWERDNS = {**_POWERDNS, "apiKeySecretRef": {"name": "pdns", "key": "key"}}
"""In a ProviderConfig of a namespace."""
_CLOUDFLARE = {"apiTokenSecretRef": {"namespace": "dns", "name": "cf", "key": "token"}}
_AZURE = {
    "subscriptionId": "11111111-2222-3333-4444-555555555555",
    "resourceGroup": "dns",
    "credentialsSecretRef": {"namespace": "dns", "name": "az"},
}
_HTTPS_ONLY = "expected caCertificates with an https URL only"
_MANAGED = {"validationTokenHost": "cloudfront"}
_NO_ID = (
    "expected distributionId, distributionIdRef or distributionIdSelector here or in initProvider, "
    "unless managementPolicies lack *, Create and Update"
)
_NO_DOMAINS = "expected domains here or in initProvider, unless managementPolicies lack *, Create and Update"
_A_DOMAIN = (
    "expected a domain name as CloudFront stores it, such as www.example.com: lower case, at least one dot, "
    "international names as xn--…, no scheme, port, path or IP address"
)
_NO_ACM = (
    "expected the ARN of an ACM certificate in us-east-1: arn:aws:acm:us-east-1:<account>:certificate/<id>"
)
_NO_WAF = (
    "expected the ARN of a WAFv2 web ACL of scope CLOUDFRONT: "
    "arn:aws:wafv2:us-east-1:<account>:global/webacl/<name>/<id>"
)
_TAG_PREFIX = "expected tag keys that do not start with aws:, crossplane- or edgetenants"
_TAG_LENGTH = "expected tag keys of 1 to 128 characters"
_TAG_CHARACTERS = "expected tag keys of letters, digits, spaces and the characters _ . : / = + @ -"
_PARAMETER = "expected parameter names of 1 to 128 letters, digits, - and _"
_ASKED = "expected a domain name such as www.example.com, without scheme, port, path or spaces"
_OBSERVE = {"spec": {"managementPolicies": ["Observe"], "forProvider": {}}}
_INITIAL = {"spec": {"forProvider": {}, "initProvider": tenant()["spec"]["forProvider"]}}

SOURCES = (kinds.TENANT_SOURCE,)


def source(**fields: Any) -> dict[str, Any]:
    """A TenantSource that has what it needs, and these fields."""
    whole = {
        "source": {"configMap": {"name": "customers", "key": "rows", "format": "csv"}},
        "key": "id",
        "template": {"name": "{id}", "spec": {"domains": ["{domain}"]}},
    }
    return {"spec": {**whole, **fields}}


_REF = {"name": "customers", "key": "value"}
_POSTGRESQL = {
    "host": "db.example.com", "database": "shop", "user": "reader", "passwordSecretRef": _REF,
}  # fmt: skip
_POSTGRESQL_TABLE = {**_POSTGRESQL, "table": "customers"}
_MYSQL = {**_POSTGRESQL, "jsonColumns": ["domains"]}
_REDIS = {"host": "redis.example.com", "passwordSecretRef": _REF, "prefix": "customer:"}
_HTTP = {"url": "https://api.example.com/customers", "paging": "Single"}


def _header(name: str) -> dict[str, Any]:
    return source(source={"http": {**_HTTP, "headers": [{"name": name, "secretRef": _REF}]}})


_PAGING = "expected nextUrl with paging NextUrl, cursor with paging Cursor, and neither with another"
_POLL = "expected a duration from 10s to 24h"

CEL_CASES: tuple[Case, ...] = (
    # TenantSource
    Case("shortest poll", SOURCES, _POLL, source(pollInterval="10s"), source(pollInterval="9s")),
    Case("longest poll", SOURCES, _POLL, source(pollInterval="23h60m"), source(pollInterval="24h1s")),
    Case(
        "longest grace", SOURCES, "expected a duration of at most 8760h",
        source(after="8760h"), source(after="8761h"),
    ),
    Case(
        "a source", SOURCES, "expected exactly one of configMap, postgresql, mysql, redis and http",
        source(source={"postgresql": _POSTGRESQL_TABLE}), source(source={}),
    ),
    Case(
        "one source", SOURCES, "expected exactly one of configMap, postgresql, mysql, redis and http",
        source(source={"http": _HTTP}), source(source={"postgresql": _POSTGRESQL_TABLE, "http": _HTTP}),
    ),
    Case(
        "a table or a query", SOURCES, "expected exactly one of table and query",
        source(source={"postgresql": {**_POSTGRESQL, "query": "select 1"}}),
        source(source={"postgresql": _POSTGRESQL}),
    ),
    Case(
        "not a table and a query", SOURCES, "expected exactly one of table and query",
        source(source={"postgresql": _POSTGRESQL_TABLE}),
        source(source={"postgresql": {**_POSTGRESQL_TABLE, "query": "select 1"}}),
    ),
    Case(
        "MySQL alone", SOURCES, "expected exactly one of configMap, postgresql, mysql, redis and http",
        source(source={"mysql": {**_MYSQL, "table": "customers"}}),
        source(source={"mysql": {**_MYSQL, "table": "customers"}, "postgresql": _POSTGRESQL_TABLE}),
    ),
    Case(
        "Redis alone", SOURCES, "expected exactly one of configMap, postgresql, mysql, redis and http",
        source(source={"redis": _REDIS}), source(source={"redis": _REDIS, "http": _HTTP}),
    ),
    Case(
        "a table or a query of MySQL", SOURCES, "expected exactly one of table and query",
        source(source={"mysql": {**_MYSQL, "query": "select 1"}}),
        source(source={"mysql": {**_MYSQL, "table": "customers", "query": "select 1"}}),
    ),
    Case(
        "a pointer for the way to the next page", SOURCES, _PAGING,
        source(source={"http": {**_HTTP, "paging": "NextUrl", "nextUrl": "/next"}}),
        source(source={"http": {**_HTTP, "paging": "Cursor"}}),
    ),
    Case(
        "no pointer for another way", SOURCES, _PAGING,
        source(source={"http": {**_HTTP, "paging": "Cursor", "cursor": "/after"}}),
        source(source={"http": {**_HTTP, "paging": "Link", "nextUrl": "/next"}}),
    ),
    Case(
        "one number of all rows", SOURCES, "expected at most one of total and totalHeader",
        source(source={"http": {**_HTTP, "totalHeader": "X-Total-Count"}}),
        source(source={"http": {**_HTTP, "total": "/total", "totalHeader": "X-Total-Count"}}),
    ),
    Case(
        "own headers", SOURCES,
        "expected none of accept-encoding, connection, content-length, host, if-none-match, "
        "transfer-encoding",
        _header("Authorization"), _header("HOST"),
    ),
    # DistributionTenant
    Case("distribution by id", TENANTS, _NO_ID, tenant(), tenant(distributionId=None)),
    Case(
        "distribution by reference", TENANTS, _NO_ID,
        tenant(distributionId=None, distributionIdRef={"name": "main"}), tenant(distributionId=None),
    ),
    Case(
        "distribution by selector", TENANTS, _NO_ID,
        tenant(distributionId=None, distributionIdSelector={"matchLabels": {"a": "b"}}),
        tenant(distributionId=None),
    ),
    Case(
        "all from initProvider", TENANTS, _NO_ID, _INITIAL, {"spec": {"forProvider": {}, "initProvider": {}}},
    ),
    Case("observe-only needs nothing", TENANTS, _NO_ID, _OBSERVE, {"spec": {}}),
    Case(
        "creating needs a distribution", TENANTS, _NO_ID, {"spec": {"managementPolicies": []}},
        {"spec": {"managementPolicies": ["Observe", "Create", "Delete"]}},
    ),
    Case("domains", TENANTS, _NO_DOMAINS, tenant(), tenant(domains=None)),
    Case(
        "updating needs domains", TENANTS, _NO_DOMAINS, _OBSERVE,
        {"spec": {"managementPolicies": ["Observe", "Update"], "forProvider": {"distributionId": "E1"}}},
    ),
    Case(
        "one certificate", TENANTS, "expected none with customizations.certificate",
        tenant(managedCertificateRequest=_MANAGED, customizations={"webAcl": {"action": "disable"}}),
        tenant(managedCertificateRequest=_MANAGED, customizations={"certificate": {"arn": CERTIFICATE}}),
    ),
    Case(
        "primary domain", TENANTS,
        "expected one of domains",
        tenant(managedCertificateRequest={**_MANAGED, "primaryDomainName": "acme.example.com"}),
        tenant(managedCertificateRequest={**_MANAGED, "primaryDomainName": "www.example.com"}),
    ),
    Case(
        "no managed wildcard", TENANTS,
        "expected no wildcard with managedCertificateRequest, as managed certificates have none",
        tenant(domains=["*.example.com"]),
        tenant(domains=["*.example.com", "acme.example.com"], managedCertificateRequest=_MANAGED),
    ),
    Case(
        "web ACL to override with", TENANTS, "expected arn, arnRef or arnSelector with action override",
        custom(webAcl={"action": "override", "arn": WEB_ACL}), custom(webAcl={"action": "override"}),
    ),
    Case(
        "web ACL by reference", TENANTS, "expected arn, arnRef or arnSelector with action override",
        custom(webAcl={"action": "override", "arnRef": {"name": "shop"}}),
        custom(webAcl={"action": "override"}),
    ),
    Case(
        "no web ACL to disable with", TENANTS, "expected no arn, arnRef or arnSelector with action disable",
        custom(webAcl={"action": "disable"}), custom(webAcl={"action": "disable", "arn": WEB_ACL}),
    ),
    Case(
        "web ACL is global", TENANTS, _NO_WAF,
        custom(webAcl={"action": "override", "arn": WEB_ACL}),
        custom(webAcl={"action": "override", "arn": WEB_ACL.replace("global", "regional")}),
    ),
    Case(
        "certificate given", TENANTS, "expected arn, arnRef or arnSelector",
        custom(certificate={"arnSelector": {"matchControllerRef": True}}), custom(certificate={}),
    ),
    Case(
        "certificate in us-east-1", TENANTS, _NO_ACM,
        custom(certificate={"arn": CERTIFICATE}),
        custom(certificate={"arn": CERTIFICATE.replace("us-east-1", "eu-central-1")}),
    ),
    Case(
        "countries to restrict", TENANTS,
        "expected locations with restrictionType whitelist or blacklist, and only then",
        custom(geoRestrictions={"restrictionType": "whitelist", "locations": ["DE"]}),
        custom(geoRestrictions={"restrictionType": "blacklist"}),
    ),
    Case(
        "no countries without restriction", TENANTS,
        "expected locations with restrictionType whitelist or blacklist, and only then",
        custom(geoRestrictions={"restrictionType": "none"}),
        custom(geoRestrictions={"restrictionType": "none", "locations": ["DE"]}),
    ),
    Case("tag prefixes", TENANTS, _TAG_PREFIX, tenant(tags={"team": "shop"}), tenant(tags={"AWS:x": "y"})),
    Case(
        "tag of ours", TENANTS, _TAG_PREFIX,
        tenant(tags={"x": ""}), tenant(tags={"edgetenants.io/owner": "y"}),
    ),
    Case(
        "tag of ours after a blank", TENANTS, _TAG_PREFIX,
        tenant(tags={" x": ""}), tenant(tags={" \u00a0Edgetenants.io/owner": "y"}),
    ),
    Case(
        "tag key length", TENANTS, _TAG_LENGTH, tenant(tags={"x" * 128: "y"}), tenant(tags={"x" * 129: "y"}),
    ),
    Case("tag key empty", TENANTS, _TAG_LENGTH, tenant(tags={"x": "y"}), tenant(tags={"": "y"})),
    Case(
        "tag key characters", TENANTS, _TAG_CHARACTERS,
        tenant(tags={"\u00dc\u00a0\u0663_.:/=+@-": "y"}), tenant(tags={"x\u0000": "y"}),
    ),
    Case(
        "tag key symbols", TENANTS, _TAG_CHARACTERS, tenant(tags={"x": "y"}), tenant(tags={"x\u20ac": "y"}),
    ),
    Case(
        "parameter names", TENANTS, _PARAMETER,
        tenant(parameters={"a-B_1": "x"}), tenant(parameters={"a b": "x"}),
    ),
    # ConnectionGroup
    Case(
        "group tag prefixes", GROUPS, _TAG_PREFIX,
        group(tags={"a": "b"}), group(tags={"crossplane-name": "b"}),
    ),
    Case("group tag keys", GROUPS, _TAG_LENGTH, group(tags={"a": "b"}), group(tags={"": "b"})),
    Case(
        "group tag key characters", GROUPS, _TAG_CHARACTERS,
        group(tags={"a": "b"}), group(tags={"a;": "b"}),
    ),
    # ProviderConfigs
    Case(
        "Secret needs secretRef", CONFIGS, "expected secretRef with source Secret, and only then",
        config(), config(credentials={"source": "Secret"}),
    ),
    Case(
        "Environment needs env", CONFIGS, "expected env with source Environment, and only then",
        config(credentials={"source": "Environment", "env": {"name": "AWS_CREDENTIALS"}}),
        config(credentials={"source": "Environment"}),
    ),
    Case(
        "Filesystem needs fs", CONFIGS, "expected fs with source Filesystem, and only then",
        config(credentials={"source": "Filesystem", "fs": {"path": "/aws"}}),
        config(credentials={"source": "None", "fs": {"path": "/aws"}}),
    ),
    Case(
        "web identity is a base", CONFIGS,
        "expected None or InjectedIdentity with webIdentity",
        config(webIdentity={"roleARN": "arn:aws:iam::123456789012:role/edge"}),
        config(
            webIdentity={"roleARN": "arn:aws:iam::123456789012:role/edge"},
            credentials={"source": "Environment", "env": {"name": "X"}},
        ),
    ),
    Case(
        "one DNS provider", SHARED_CONFIGS, _ONE_SERVICE,
        config(dns={"powerdns": _POWERDNS}),
        config(dns={"powerdns": _POWERDNS, "rfc2136": {"server": "10.0.0.1"}}),
    ),
    Case(
        "one of two DNS services", SHARED_CONFIGS, _ONE_SERVICE,
        config(dns={"cloudflare": _CLOUDFLARE}),
        config(dns={"cloudflare": _CLOUDFLARE, "azure": _AZURE}),
    ),
    Case(
        "Azure DNS, and no server", SHARED_CONFIGS, _ONE_SERVICE,
        config(dns={"azure": _AZURE}),
        config(dns={"azure": _AZURE, "rfc2136": {"server": "10.0.0.1"}}),
    ),
    Case(
        "one DNS provider of a namespace", (kinds.PROVIDER_CONFIG,), _ONE_SERVICE,
        config(dns={"powerdns": _OWN_POWERDNS}),
        config(dns={"powerdns": _OWN_POWERDNS, "rfc2136": {"server": "10.0.0.1"}}),
    ),
    Case(
        "some DNS provider", CONFIGS, _ONE_SERVICE,
        config(dns={"rfc2136": {"server": "10.0.0.1"}}), config(dns={}),
    ),
    Case(
        "credentials for Route 53", CONFIGS, "expected credentials of AWS with dns.route53, got source None",
        config(credentials={"source": "InjectedIdentity"}, dns={"route53": {}}), config(dns={"route53": {}}),
    ),
    Case(
        "authorities for https", SHARED_CONFIGS, _HTTPS_ONLY,
        config(dns={"powerdns": {**_POWERDNS, "url": "https://pdns:8081", "caCertificates": "PEM"}}),
        config(dns={"powerdns": {**_POWERDNS, "caCertificates": "PEM"}}),
    ),
    Case(
        "authorities for https in a namespace", (kinds.PROVIDER_CONFIG,), _HTTPS_ONLY,
        config(dns={"powerdns": {**_OWN_POWERDNS, "url": "https://pdns:8081", "caCertificates": "PEM"}}),
        config(dns={"powerdns": {**_OWN_POWERDNS, "caCertificates": "PEM"}}),
    ),
    # TenantClaim
    Case(
        "adopting one tenant", CLAIMS, "expected isolation Shared with adopt, as the claim adopts one tenant",
        claim(adopt={"tenantId": "dt_1"}), claim(adopt={"tenantId": "dt_1"}, isolation="PerDomain"),
    ),
    Case(
        "custom certificate", CLAIMS, "expected arn with mode Custom, and only then",
        claim(certificate={"mode": "Custom", "arn": CERTIFICATE}), claim(certificate={"mode": "Custom"}),
    ),
    Case(
        "certificate's ARN", CLAIMS, _NO_ACM,
        claim(certificate={"mode": "Custom", "arn": CERTIFICATE}),
        claim(certificate={"mode": "Custom", "arn": "arn:aws:acm:eu-west-1:1:certificate/x"}),
    ),
    Case(
        "validation of a managed certificate", CLAIMS, "expected validation only with mode Managed",
        claim(certificate={"mode": "Managed", "validation": "SelfHosted"}),
        claim(certificate={"mode": "Inherited", "validation": "CloudFront"}),
    ),
    Case(
        "web ACL of one's own", CLAIMS, "expected arn with mode Override, and only then",
        claim(security={"webAcl": {"mode": "Override", "arn": WEB_ACL}}),
        claim(security={"webAcl": {"mode": "Inherit", "arn": WEB_ACL}}),
    ),
    Case(
        "web ACL's ARN", CLAIMS, _NO_WAF,
        claim(security={"webAcl": {"mode": "Override", "arn": WEB_ACL}}),
        claim(security={"webAcl": {"mode": "Override", "arn": CERTIFICATE}}),
    ),
    Case(
        "allow or deny", CLAIMS, "expected exactly one of allow and deny",
        claim(security={"geo": {"allow": ["DE"]}}), claim(security={"geo": {"allow": ["DE"],
        "deny": ["FR"]}}),
    ),
    Case("claim's tag prefixes", CLAIMS, _TAG_PREFIX, claim(tags={"a": "b"}), claim(tags={"aws:a": "b"})),
    Case("claim's tag keys", CLAIMS, _TAG_LENGTH, claim(tags={"a": "b"}), claim(tags={"": "b"})),
    Case(
        "claim's tag key characters", CLAIMS, _TAG_CHARACTERS,
        claim(tags={"a b": "b"}), claim(tags={"a\n": "b"}),
    ),
    Case(
        "claim's parameters", CLAIMS, _PARAMETER,
        claim(parameters={"a": "b"}), claim(parameters={"a.b": "b"}),
    ),
    # TenantPlans
    Case(
        "default plan exists", PLANS, "expected one of plans",
        {"defaultPlan": "standard", **plan()}, {"defaultPlan": "gold", **plan()},
    ),
    Case(
        "one plan source", PLANS, "expected exactly one of name and matchLabels",
        {"plansFrom": [{"environmentConfig": {"name": "plans"}}]}, {"plansFrom": [{"environmentConfig": {}}]},
    ),
    Case(
        "managed DNS has a configuration", PLANS, "expected configRef with mode Managed",
        plan(dns={"mode": "Managed", "configRef": {"kind": "ClusterProviderConfig", "name": "dns"}}),
        plan(dns={"mode": "Managed"}),
    ),
    Case(
        "shared or dedicated connection", PLANS, "expected no connectionGroupId with dedicated true",
        plan(connection={"connectionGroupId": "cg_1"}),
        plan(connection={"connectionGroupId": "cg_1", "dedicated": True}),
    ),
    Case(
        "plan's certificate", PLANS, "expected arn with mode Custom, and only then",
        plan(certificate={"mode": "Custom", "arn": CERTIFICATE}), plan(certificate={"mode": "Custom"}),
    ),
    Case(
        "plan's certificate's ARN", PLANS, _NO_ACM,
        plan(certificate={"mode": "Custom", "arn": CERTIFICATE}),
        plan(certificate={"mode": "Custom", "arn": WEB_ACL}),
    ),
    Case(
        "plan's validation", PLANS, "expected validation only with mode Managed",
        plan(certificate={"mode": "Managed"}),
        plan(certificate={"mode": "Custom", "arn": CERTIFICATE, "validation": "CloudFront"}),
    ),
    Case(
        "plan's web ACL", PLANS, "expected arn with mode Override, and only then",
        plan(security={"webAcl": {"mode": "Disabled"}}), plan(security={"webAcl": {"mode": "Override"}}),
    ),
    Case(
        "plan's web ACL's ARN", PLANS, _NO_WAF,
        plan(security={"webAcl": {"mode": "Override", "arn": WEB_ACL}}),
        plan(security={"webAcl": {"mode": "Override", "arn": "arn:x"}}),
    ),
    Case(
        "plan's countries", PLANS, "expected exactly one of allow and deny",
        plan(security={"geo": {"deny": ["DE"]}}), plan(security={"geo": {}}),
    ),
    Case("plan's tag prefixes", PLANS, _TAG_PREFIX, plan(tags={"a": "b"}), plan(tags={"aws:a": "b"})),
    Case("plan's tag keys", PLANS, _TAG_LENGTH, plan(tags={"a": "b"}), plan(tags={"": "b"})),
    Case(
        "plan's tag key characters", PLANS, _TAG_CHARACTERS, plan(tags={"a": "b"}), plan(tags={"a<": "b"})
    ),
    Case("plan's parameters", PLANS, _PARAMETER, plan(parameters={"a": "b"}), plan(parameters={"a.b": "b"})),
    Case("domain in upper case", TENANTS, _A_DOMAIN, tenant(), tenant(domains=["ACME.example.com"])),
    Case("domain without dot", TENANTS, _A_DOMAIN, tenant(), tenant(domains=["localhost"])),
    Case("domain that is an address", TENANTS, _A_DOMAIN, tenant(), tenant(domains=["192.0.2.7"])),
    Case("domain not in ASCII", TENANTS, _A_DOMAIN, tenant(), tenant(domains=["bücher.example"])),
    Case("wildcard inside", TENANTS, _A_DOMAIN, tenant(domains=["*.a.de"]), tenant(domains=["a.*.de"])),
    Case("claim with a URL", CLAIMS, _ASKED, claim(domains=["Bücher.Example"]),
         claim(domains=["https://acme.example.com"])),
    Case("claim with a port", CLAIMS, _ASKED, claim(), claim(domains=["acme.example.com:443"])),
    Case("claim with a path", CLAIMS, _ASKED, claim(), claim(domains=["acme.example.com/shop"])),
    Case("claim with a space", CLAIMS, _ASKED, claim(), claim(domains=["acme example.com"])),
    Case("claim with a no-break space", CLAIMS, _ASKED, claim(),
         claim(domains=["acme\u00a0x.example.com"])),
    Case("claim without a dot", CLAIMS, _ASKED, claim(domains=["*.example.com"]), claim(domains=["acme"])),
    Case("claim with an address", CLAIMS, _ASKED, claim(), claim(domains=["192.0.2.7"])),
)  # fmt: skip
"""Rules in CEL; every one of them is here."""

_DUPLICATE = "uplicate"

SCHEMA_CASES: tuple[Case, ...] = (
    Case("a duration", SOURCES, "after", source(after="1h30m"), source(after="1 day")),
    Case("a column", SOURCES, "key", source(key="customer.id"), source(key="customer id")),
    Case("labels to adopt by", SOURCES, "matchLabels", source(adopt={"matchLabels": {"a": "b"}}),
         source(adopt={"matchLabels": {}})),
    Case("objects in a minute", SOURCES, "maxNew", source(maxNew=0), source(maxNew=-1)),
    Case("objects that are not live", SOURCES, "maxNotLive", source(maxNotLive=1), source(maxNotLive=0)),
    Case("domain twice", TENANTS, _DUPLICATE, tenant(), tenant(domains=["a.de", "a.de"])),
    Case(
        "500 domains", TENANTS, "500",
        tenant(domains=[f"a{n}.example.com" for n in range(500)]),
        tenant(domains=[f"a{n}.example.com" for n in range(501)]),
    ),
    Case("no domain", TENANTS, "domains", tenant(), tenant(domains=[])),
    Case("50 parameters", TENANTS, "parameters", tenant(parameters={f"a{n}": "x" for n in range(50)}),
         tenant(parameters={f"a{n}": "x" for n in range(51)})),
    Case("parameter that XML has not", TENANTS, "parameters", tenant(parameters={"a": "\tb\n\x85\u2028"}),
         tenant(parameters={"a": "b\r"})),
    Case("parameter without value", TENANTS, "parameters", tenant(), tenant(parameters={"a": ""})),
    Case("country's name", TENANTS, "locations", tenant(),
         custom(geoRestrictions={"restrictionType": "whitelist", "locations": ["Germany"]})),
    Case("unknown drift policy", TENANTS, "driftPolicy", tenant(),
         {"spec": {**tenant()["spec"], "driftPolicy": "Ignore"}}),
    Case("unknown field to ignore", TENANTS, "ignoreDrift",
         {"spec": {**tenant()["spec"], "ignoreDrift": ["tags.team", "customizations.webAcl"]}},
         {"spec": {**tenant()["spec"], "ignoreDrift": ["etag"]}}),
    Case("unknown field", TENANTS, "unknown field", tenant(), tenant(distributionid="E1")),
    Case("unknown policy", TENANTS, "managementPolicies", tenant(),
         {"spec": {**tenant()["spec"], "managementPolicies": ["Read"]}}),
    Case("unknown source", CONFIGS, "source", config(), config(credentials={"source": "Vault"})),
    Case("claim without domains", CLAIMS, "domains", claim(), {"spec": {"plan": "standard"}}),
    Case("claim's unknown field", CLAIMS, "unknown field", claim(), claim(domain="acme.example.com")),
    Case("plan without distribution", PLANS, "distributionId", plan(), {"plans": {"standard": {}}}),
    Case("ttl is a duration", PLANS, "ttl", {"ttl": "1h30m"}, {"ttl": "soon"}),
)  # fmt: skip
"""What the schema itself refuses."""


def manifest(
    kind: Kind, body: Mapping[str, Any], name: str = "acme", namespace: str = "default"
) -> dict[str, Any]:
    """A whole object of `kind`."""
    metadata = {"name": name} | ({"namespace": namespace} if kind.scope == "Namespaced" else {})
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}


def manifests(
    cases: tuple[Case, ...] = CEL_CASES + SCHEMA_CASES,
) -> Iterator[tuple[Case, dict[str, Any], dict[str, Any]]]:
    """For each case and each of its kinds: the object that is accepted and the one that is refused."""
    for case in cases:
        for kind in case.kinds:
            yield case, manifest(kind, case.accepted), manifest(kind, case.refused)
