"""Multi-tenant distributions, and rules of tenants, groups and tags that few keep."""

from __future__ import annotations

from typing import Any

from tests.contract.account import SERVER, Account, domains, multi_tenant
from tests.contract.facts import STALE, Facts, scenario

UNKNOWN = "00000000-0000-0000-0000-000000000000"
SIX = [{"Name": name, "Definition": {"StringSchema": {"Required": False}}} for name in "abcdef"]


def origin(**members: Any) -> dict[str, Any]:
    own = {"Id": "o", "DomainName": "o.example.com", "CustomOriginConfig": SERVER, **members}
    return {"Quantity": 1, "Items": [{name: value for name, value in own.items() if value is not None}]}


@scenario
def distribution_configurations(aws: Account) -> Facts:
    config = multi_tenant("unused", aws.certificate)
    behavior = config["DefaultCacheBehavior"]
    cases: dict[str, dict[str, Any]] = {
        "an alias": {"Aliases": {"Quantity": 1, "Items": ["alias.example.com"]}},
        "a price class": {"PriceClass": "PriceClass_100"},
        "a TTL": {"DefaultCacheBehavior": {**behavior, "MinTTL": 5}},
        "an Anycast list": {"AnycastIpListId": "aip_0"},
        "six parameters": {"TenantConfig": {"ParameterDefinitions": SIX}},
        "a parameter that is not defined": {"Origins": origin(OriginPath="/{{colour}}")},
        "an origin of no kind": {"Origins": origin(CustomOriginConfig=None)},
        "a path without slash": {"Origins": origin(OriginPath="path")},
        "an unknown origin": {"DefaultCacheBehavior": {**behavior, "TargetOriginId": "other"}},
        "an unknown cache policy": {"DefaultCacheBehavior": {**behavior, "CachePolicyId": UNKNOWN}},
        "a web ACL of WAF Classic": {"WebACLId": UNKNOWN},
        "a quantity that is not true": {"CacheBehaviors": {"Quantity": 1}},
        "a caller reference in use": {"CallerReference": "parent"},
    }
    for case, changes in cases.items():
        wanted = {**config, "CallerReference": case, **changes}
        yield case, aws.ask("create_distribution", DistributionConfig=wanted).outcome


@scenario
def distribution_life(aws: Account) -> Facts:
    made = aws.ask("create_distribution", DistributionConfig=multi_tenant("life", aws.certificate))
    yield "create", made.outcome
    distribution = made.raw["Distribution"]
    yield "members of create", sorted(distribution)
    yield "members of its config", sorted(distribution["DistributionConfig"])
    yield "members of its behavior", sorted(distribution["DistributionConfig"]["DefaultCacheBehavior"])
    config = aws.ask("get_distribution_config", Id=distribution["Id"]).raw["DistributionConfig"]

    def update(wanted: dict[str, Any], if_match: str = "") -> str:
        version = if_match or aws.ask("get_distribution_config", Id=distribution["Id"]).etag
        params = {"Id": distribution["Id"], "IfMatch": version, "DistributionConfig": wanted}
        return aws.ask("update_distribution", **params).outcome

    yield "stale", update(config, STALE)
    yield "update of the caller reference", update({**config, "CallerReference": "new"})
    bare = {name: value for name, value in config.items() if name != "CacheBehaviors"}
    yield "update with a member left out", update(bare)
    yield "update with what was read", update(config)


@scenario
def strict_rules(aws: Account) -> Facts:
    arn = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"
    cases: dict[str, dict[str, Any]] = {
        "a disabled web ACL with an ARN": {"WebAcl": {"Action": "disable", "Arn": arn}},
        "a location that no country has": geo("XX"),
        "a location twice": geo("DE", "DE"),
    }
    for number, (case, own) in enumerate(cases.items()):
        yield case, aws.tenant(f"one-{number}", Customizations=own).outcome
    yield "an address for a domain", aws.tenant("two", Domains=domains("192.0.2.1")).outcome
    yield "a connection group's name with a blank", aws.group("my edge").outcome
    tagged = aws.group("tagged").body["Arn"]
    keys = {"Items": ["aws:mine"]}
    yield "a reserved key to untag", aws.ask("untag_resource", Resource=tagged, TagKeys=keys).outcome


def geo(*codes: str) -> dict[str, Any]:
    return {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": list(codes)}}
