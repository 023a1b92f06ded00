"""The AWS CLI's published examples of these operations, replayed: the same members in, the same shape out.

The shapes are those of the examples' output in the AWS CLI Command Reference; names and domains are our own.
A shape has a string for a string, a moment for a time, the members of an object, and the one shape of all
items of a list.
"""

import re
from datetime import datetime
from typing import Any

import pytest

STRING, BOOLEAN, NUMBER, MOMENT = "a string", "a boolean", "a number", "a moment"
ETAG = {"ETag": STRING}
TAGS = {"Items": [{"Key": STRING, "Value": STRING}]}
GEO = {"RestrictionType": STRING, "Locations": [STRING]}
TENANT = {
    "Id": STRING,
    "DistributionId": STRING,
    "Name": STRING,
    "Arn": STRING,
    "Domains": [{"Domain": STRING, "Status": STRING}],
    "ConnectionGroupId": STRING,
    "CreatedTime": MOMENT,
    "LastModifiedTime": MOMENT,
    "Enabled": BOOLEAN,
    "Status": STRING,
}
PARAMETERS = [{"Name": STRING, "Value": STRING}]
GROUP = {
    "Id": STRING,
    "Name": STRING,
    "Arn": STRING,
    "RoutingEndpoint": STRING,
    "CreatedTime": MOMENT,
    "LastModifiedTime": MOMENT,
    "Enabled": BOOLEAN,
    "Status": STRING,
    "IsDefault": BOOLEAN,
}


def shape(value: Any) -> Any:
    """What a value is made of."""
    if isinstance(value, dict):
        return {name: shape(inside) for name, inside in value.items() if name != "ResponseMetadata"}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    kinds = {str: STRING, bool: BOOLEAN, int: NUMBER, datetime: MOMENT}
    return kinds[type(value)]


@pytest.fixture
def replay(aws):
    """The examples' surroundings: a certificate of the tenant's own and a connection group."""
    aws.own_certificate = aws.certificate("shop.test.org")
    aws.own_group = aws.group("surroundings")["ConnectionGroup"]["Id"]
    return aws


def customized(aws) -> dict[str, Any]:
    """The input of the example for create-distribution-tenant."""
    return {
        "DistributionId": aws.parent,
        "Name": "customized",
        "Domains": [{"Domain": "shop.test.org"}],
        "Parameters": [{"Name": "tier", "Value": "gold"}],
        "ConnectionGroupId": aws.own_group,
        "Enabled": False,
        "Tags": {"Items": [{"Key": "team", "Value": "edge"}]},
        "Customizations": {
            "GeoRestrictions": {"Locations": ["DE"], "RestrictionType": "whitelist"},
            "WebAcl": {"Action": "disable"},
            "Certificate": {"Arn": aws.own_certificate},
        },
    }


def test_create_distribution_tenant(replay):
    wanted = customized(replay)
    made = replay.cloudfront.create_distribution_tenant(**wanted)
    own = {"WebAcl": {"Action": STRING}, "Certificate": {"Arn": STRING}, "GeoRestrictions": GEO}
    tenant = {**TENANT, "Tags": TAGS, "Customizations": own, "Parameters": PARAMETERS}
    assert shape(made) == {**ETAG, "DistributionTenant": tenant}
    given = made["DistributionTenant"]
    assert {name: given[name] for name in wanted if name != "Domains"} == {
        name: value for name, value in wanted.items() if name != "Domains"
    }
    assert given["Domains"] == [{"Domain": "shop.test.org", "Status": "active"}]
    assert given["CreatedTime"] == given["LastModifiedTime"]
    assert given["Status"] == "InProgress"
    assert re.fullmatch(r"arn:aws:cloudfront::\d{12}:distribution-tenant/dt_\w+", given["Arn"])


def test_get_distribution_tenant(replay):
    made = replay.tenant("plain", ConnectionGroupId=replay.own_group)
    found = replay.cloudfront.get_distribution_tenant(Identifier=made["DistributionTenant"]["Id"])
    assert shape(found) == {**ETAG, "DistributionTenant": TENANT}


def test_get_distribution_tenant_by_domain(replay):
    replay.tenant("plain", Enabled=False)
    found = replay.cloudfront.get_distribution_tenant_by_domain(Domain="plain.example.com")
    assert shape(found) == {**ETAG, "DistributionTenant": TENANT}


def test_update_distribution_tenant(replay):
    """Two members are sent; the answer has all, the tags apart, and the countries in order."""
    made = replay.cloudfront.create_distribution_tenant(
        **{**customized(replay), "Domains": [{"Domain": "a.example.com"}]}
    )
    own = {
        "WebAcl": {"Action": "disable"},
        "GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE", "GB", "ES"]},
    }
    answer = replay.cloudfront.update_distribution_tenant(
        Id=made["DistributionTenant"]["Id"],
        IfMatch=made["ETag"],
        Parameters=[{"Name": "tier", "Value": "silver"}],
        Customizations=own,
    )
    customizations = {"WebAcl": {"Action": STRING}, "GeoRestrictions": GEO}
    tenant = {**TENANT, "Customizations": customizations, "Parameters": PARAMETERS}
    assert shape(answer) == {**ETAG, "DistributionTenant": tenant}
    given = answer["DistributionTenant"]
    assert given["Customizations"]["GeoRestrictions"]["Locations"] == ["DE", "ES", "GB"]
    assert given["Parameters"] == [{"Name": "tier", "Value": "silver"}]
    assert (given["Enabled"], given["Status"]) == (False, "InProgress")
    assert given["ConnectionGroupId"] == replay.own_group


def test_list_distribution_tenants(replay, admin):
    """Of one connection group, with different customizations: those that have none show no such member."""
    geo = {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}}
    group = {"ConnectionGroupId": replay.own_group, "Enabled": False}
    tier = [{"Name": "tier", "Value": "gold"}]
    both = {**geo, "WebAcl": {"Action": "disable"}}
    replay.tenant("one", **group, Customizations=both, Parameters=tier)
    replay.tenant("two", **group, Customizations=geo)
    replay.tenant("three", **group)
    replay.tenant("elsewhere")
    admin.step(60)
    listed = replay.cloudfront.list_distribution_tenants(
        AssociationFilter={"ConnectionGroupId": replay.own_group}
    )
    rows = {row["Name"]: row for row in listed.pop("DistributionTenantList")}
    summary = {**TENANT, **ETAG}
    both_shape = {"WebAcl": {"Action": STRING}, "GeoRestrictions": GEO}
    assert {name: shape(row) for name, row in rows.items()} == {
        "one": {**summary, "Customizations": both_shape},
        "two": {**summary, "Customizations": {"GeoRestrictions": GEO}},
        "three": summary,
    }
    assert {row["Status"] for row in rows.values()} == {"Deployed"}
    assert len({row["ETag"] for row in rows.values()}) == 1
    assert shape(listed) == {}


def test_list_distribution_tenants_by_customization(replay):
    arn = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"
    replay.tenant("guarded", Customizations={"WebAcl": {"Action": "override", "Arn": arn}})
    replay.tenant("plain")
    listed = replay.cloudfront.list_distribution_tenants_by_customization(WebACLArn=arn)
    custom = {"WebAcl": {"Action": STRING, "Arn": STRING}}
    assert shape(listed) == {"DistributionTenantList": [{**TENANT, **ETAG, "Customizations": custom}]}
    assert [row["Name"] for row in listed["DistributionTenantList"]] == ["guarded"]


def test_create_connection_group(aws):
    tags = {"Items": [{"Key": "abc", "Value": "123"}]}
    addresses = aws.cloudfront.create_anycast_ip_list(Name="list", IpCount=3)["AnycastIpList"]["Id"]
    made = aws.cloudfront.create_connection_group(
        Name="without-ipv6", AnycastIpListId=addresses, Ipv6Enabled=False, Enabled=True, Tags=tags
    )
    group = {**GROUP, "Tags": TAGS, "Ipv6Enabled": BOOLEAN, "AnycastIpListId": STRING}
    assert shape(made) == {**ETAG, "ConnectionGroup": group}
    given = made["ConnectionGroup"]
    assert given["AnycastIpListId"] == addresses
    assert (given["Ipv6Enabled"], given["Enabled"], given["IsDefault"]) == (False, True, False)
    assert (given["Status"], given["Tags"]) == ("InProgress", tags)


def test_update_connection_group(aws):
    made = aws.group(Tags={"Items": [{"Key": "abc", "Value": "123"}]})
    answer = aws.cloudfront.update_connection_group(
        Id=made["ConnectionGroup"]["Id"], IfMatch=made["ETag"], Ipv6Enabled=False, Enabled=False
    )
    assert shape(answer) == {**ETAG, "ConnectionGroup": {**GROUP, "Ipv6Enabled": BOOLEAN}}
    given = answer["ConnectionGroup"]
    assert (given["Ipv6Enabled"], given["Enabled"], given["Status"]) == (False, False, "InProgress")


def test_list_connection_groups(aws, admin):
    aws.group("second")
    admin.step(60)
    listed = aws.cloudfront.list_connection_groups()
    rows = listed["ConnectionGroups"]
    assert [shape(row) for row in rows] == [{**GROUP, **ETAG}] * 2
    assert [row["IsDefault"] for row in rows] == [True, False]
    assert rows[0]["Name"] == f"CreatedByCloudFront-{rows[0]['Id']}"
    assert [row["Status"] for row in rows] == ["Deployed"] * 2
    assert rows[0]["ETag"] == rows[1]["ETag"]
    assert shape({name: value for name, value in listed.items() if name != "ConnectionGroups"}) == {}


NONE, OFF = {"Quantity": NUMBER}, {"Enabled": BOOLEAN, "Quantity": NUMBER}
METHODS = {"Quantity": NUMBER, "Items": [STRING]}
PARAMETER = {"StringSchema": {"Comment": STRING, "DefaultValue": STRING, "Required": BOOLEAN}}
CERTIFICATE = {"ACMCertificateArn": STRING, "Certificate": STRING, "CertificateSource": STRING}
CERTIFICATE |= {"CloudFrontDefaultCertificate": BOOLEAN, "MinimumProtocolVersion": STRING}
DISTRIBUTION = {
    "Id": STRING,
    "ARN": STRING,
    "Status": STRING,
    "LastModifiedTime": MOMENT,
    "InProgressInvalidationBatches": NUMBER,
    "DomainName": STRING,
    "ActiveTrustedSigners": OFF,
    "ActiveTrustedKeyGroups": OFF,
    "DistributionConfig": {
        "CallerReference": STRING,
        "DefaultRootObject": STRING,
        "Origins": {
            "Quantity": NUMBER,
            "Items": [
                {
                    "Id": STRING,
                    "DomainName": STRING,
                    "OriginPath": STRING,
                    "CustomHeaders": NONE,
                    "S3OriginConfig": {"OriginAccessIdentity": STRING},
                    "ConnectionAttempts": NUMBER,
                    "ConnectionTimeout": NUMBER,
                    "OriginShield": {"Enabled": BOOLEAN},
                    "OriginAccessControlId": STRING,
                }
            ],
        },
        "OriginGroups": NONE,
        "DefaultCacheBehavior": {
            "TargetOriginId": STRING,
            "TrustedKeyGroups": OFF,
            "ViewerProtocolPolicy": STRING,
            "AllowedMethods": {**METHODS, "CachedMethods": METHODS},
            "Compress": BOOLEAN,
            "LambdaFunctionAssociations": NONE,
            "FunctionAssociations": NONE,
            "FieldLevelEncryptionId": STRING,
            "CachePolicyId": STRING,
            "GrpcConfig": {"Enabled": BOOLEAN},
        },
        "CacheBehaviors": NONE,
        "CustomErrorResponses": NONE,
        "Comment": STRING,
        "Logging": {"Enabled": BOOLEAN, "IncludeCookies": BOOLEAN, "Bucket": STRING, "Prefix": STRING},
        "Enabled": BOOLEAN,
        "ViewerCertificate": {**CERTIFICATE, "SSLSupportMethod": STRING},
        "Restrictions": {"GeoRestriction": {"RestrictionType": STRING, "Quantity": NUMBER}},
        "WebACLId": STRING,
        "HttpVersion": STRING,
        "TenantConfig": {"ParameterDefinitions": [{"Name": STRING, "Definition": PARAMETER}]},
        "ConnectionMode": STRING,
    },
}


def multi_tenant(**members: Any) -> dict[str, Any]:
    """The input of the examples for create-distribution with multi-tenant support."""
    origin = {
        "Id": "bucket",
        "DomainName": "bucket.s3.us-east-1.amazonaws.com",
        "OriginPath": "/{{tenantName}}",
        "CustomHeaders": {"Quantity": 0},
        "S3OriginConfig": {"OriginAccessIdentity": ""},
    }
    methods = {"Quantity": 2, "Items": ["HEAD", "GET"]}
    schema = {"Comment": "the tenant's directory", "DefaultValue": "root", "Required": False}
    return {
        "CallerReference": "replayed",
        "Comment": "replayed",
        "DefaultRootObject": "index.html",
        "Origins": {"Quantity": 1, "Items": [origin]},
        "DefaultCacheBehavior": {
            "TargetOriginId": "bucket",
            "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6",
            "ViewerProtocolPolicy": "allow-all",
            "AllowedMethods": {**methods, "CachedMethods": methods},
        },
        "Enabled": True,
        "HttpVersion": "http2",
        "ConnectionMode": "tenant-only",
        "TenantConfig": {
            "ParameterDefinitions": [{"Name": "tenantName", "Definition": {"StringSchema": schema}}]
        },
        **members,
    }


def test_create_distribution_with_certificate(aws, inherited):
    certificate = {"ACMCertificateArn": inherited[aws.account], "SSLSupportMethod": "sni-only"}
    made = aws.cloudfront.create_distribution(DistributionConfig=multi_tenant(ViewerCertificate=certificate))
    assert shape(made) == {"Location": STRING, **ETAG, "Distribution": DISTRIBUTION}
    given = made["Distribution"]["DistributionConfig"]
    assert given["ViewerCertificate"] == {
        **certificate,
        "CloudFrontDefaultCertificate": False,
        "MinimumProtocolVersion": "TLSv1.2_2021",
        "Certificate": certificate["ACMCertificateArn"],
        "CertificateSource": "acm",
    }


def test_create_distribution_without_certificate(aws):
    wanted = multi_tenant()
    made = aws.cloudfront.create_distribution(DistributionConfig=wanted)
    given = made["Distribution"]["DistributionConfig"]
    for member in ("ConnectionMode", "TenantConfig", "CallerReference", "HttpVersion", "DefaultRootObject"):
        assert given[member] == wanted[member]
    assert given["Origins"]["Items"][0]["OriginPath"] == "/{{tenantName}}"
    assert given["ViewerCertificate"] == {
        "CloudFrontDefaultCertificate": True,
        "SSLSupportMethod": "sni-only",
        "MinimumProtocolVersion": "TLSv1",
        "CertificateSource": "cloudfront",
    }
    origin = given["Origins"]["Items"][0]
    assert (origin["ConnectionAttempts"], origin["ConnectionTimeout"]) == (3, 10)
    own = shape(made["Distribution"])["DistributionConfig"].pop("ViewerCertificate")
    assert own == {name: CERTIFICATE.get(name, STRING) for name in own}
    assert made["Distribution"]["Status"] == "InProgress"
    assert made["Location"].endswith(made["Distribution"]["Id"])


def test_list_distributions_by_connection_mode(aws):
    """What a multi-tenant one cannot have is shown all the same."""
    listed = aws.cloudfront.list_distributions_by_connection_mode(ConnectionMode="tenant-only")
    (row,) = listed["DistributionList"]["Items"]
    shown = {"Aliases": {"Quantity": 0}, "PriceClass": "PriceClass_All", "IsIPV6Enabled": False}
    assert {name: row[name] for name in shown} == shown
    config = aws.cloudfront.get_distribution_config(Id=aws.parent)["DistributionConfig"]
    assert config.keys().isdisjoint(shown)
