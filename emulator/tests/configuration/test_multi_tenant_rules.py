"""What a multi-tenant distribution can have and cannot, and where it may have parameters."""

import copy

import pytest

INVALID, LIMIT = ("InvalidArgument", 400), ("EntityLimitExceeded", 400)
ILLEGAL, EXISTS = ("IllegalUpdate", 400), ("DistributionAlreadyExists", 409)
BUCKET = "b.s3.amazonaws.com"
LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function:edge"
TTL = {"QueryString": False, "Cookies": {"Forward": "none"}}


def config_of(aws, distribution_id):
    return aws.cloudfront.get_distribution_config(Id=distribution_id)["DistributionConfig"]


def put(config, path, value):
    *way, last = path.split(".")
    for step in way:
        config = config[int(step) if step.isdecimal() else step]
    if value is None:
        del config[last]
    else:
        config[last] = value


@pytest.fixture
def build(aws):
    """The parent's config, for a new distribution, with some members put in; None takes one out."""

    def built(changes):
        config = copy.deepcopy(config_of(aws, aws.parent))
        for path, value in {"CallerReference": "two", **changes}.items():
            put(config, path, value)
        return config

    return built


def definitions(*names, **schema):
    wanted = {"Required": False, **schema}
    return {
        "TenantConfig.ParameterDefinitions": [
            {"Name": name, "Definition": {"StringSchema": wanted}} for name in ("tenantName", *names)
        ]
    }


BEHAVIOR, ORIGIN, CERTIFICATE = "DefaultCacheBehavior", "Origins.Items.0", "ViewerCertificate"
CUSTOM = f"{ORIGIN}.CustomOriginConfig"
CANNOT = {
    "an alias": ({"Aliases": {"Quantity": 1, "Items": ["a.example.com"]}}, INVALID),
    "an Anycast list": ({"AnycastIpListId": "aip_1"}, INVALID),
    "IPv6": ({"IsIPV6Enabled": True}, INVALID),
    "a price class": ({"PriceClass": "PriceClass_100"}, INVALID),
    "even the widest price class": ({"PriceClass": "PriceClass_All"}, INVALID),
    "a continuous deployment policy": ({"ContinuousDeploymentPolicyId": "p"}, INVALID),
    "staging": ({"Staging": True}, INVALID),
    "legacy logging": (
        {"Logging": {"Enabled": True, "IncludeCookies": False, "Bucket": BUCKET, "Prefix": ""}},
        INVALID,
    ),
    "a minimum TTL": ({f"{BEHAVIOR}.MinTTL": 0}, INVALID),
    "a default TTL": ({f"{BEHAVIOR}.DefaultTTL": 5}, INVALID),
    "a maximum TTL": ({f"{BEHAVIOR}.MaxTTL": 5}, INVALID),
    "forwarded values": ({f"{BEHAVIOR}.CachePolicyId": None, f"{BEHAVIOR}.ForwardedValues": TTL}, INVALID),
    "smooth streaming": ({f"{BEHAVIOR}.SmoothStreaming": True}, INVALID),
    "trusted signers": (
        {f"{BEHAVIOR}.TrustedSigners": {"Enabled": True, "Quantity": 1, "Items": ["self"]}},
        INVALID,
    ),
    "a certificate of IAM": (
        {CERTIFICATE: {"IAMCertificateId": "ASCA1", "SSLSupportMethod": "sni-only"}},
        INVALID,
    ),
    "dedicated IP addresses": ({f"{CERTIFICATE}.SSLSupportMethod": "vip"}, INVALID),
    "SSLv3": ({f"{CERTIFICATE}.MinimumProtocolVersion": "SSLv3"}, ("InvalidProtocolSettings", 400)),
    "a web ACL of WAF Classic": (
        {"WebACLId": "a1b2c3d4-5678-90ab-cdef-0123456789ab"},
        ("InvalidWebACLId", 400),
    ),
    "an origin access identity": (
        {
            f"{ORIGIN}.DomainName": BUCKET,
            CUSTOM: None,
            f"{ORIGIN}.S3OriginConfig": {"OriginAccessIdentity": "origin-access-identity/cloudfront/E1"},
        },
        INVALID,
    ),
}
DEFINITIONS = {
    "one twice": (definitions("tier", "tier"), INVALID),
    "a bad name": (definitions("a b"), INVALID),
    "too long a name": (definitions("n" * 129), INVALID),
    "too long a default": (definitions("tier", DefaultValue="v" * 257), INVALID),
    "too many": (definitions("a", "b", "c", "d", "e"), LIMIT),
    "of a standard one": ({**definitions("a"), "ConnectionMode": "direct"}, INVALID),
}
PLACES = {
    "not defined": ({f"{ORIGIN}.OriginPath": "/{{colour}}"}, INVALID),
    "not closed": ({f"{ORIGIN}.OriginPath": "/{{tenantName}"}, INVALID),
    "no name": ({f"{ORIGIN}.OriginPath": "/{{}}"}, INVALID),
    "three in a field": ({f"{ORIGIN}.OriginPath": "/{{tenantName}}/{{tier}}/{{tier}}"}, LIMIT),
    "in the root object": ({"DefaultRootObject": "{{tenantName}}.html"}, INVALID),
    "in an origin's header": (
        {
            f"{ORIGIN}.CustomHeaders": {
                "Quantity": 1,
                "Items": [{"HeaderName": "x", "HeaderValue": "{{tier}}"}],
            }
        },
        INVALID,
    ),
}
ORIGINS = {
    "an IP address": ({f"{ORIGIN}.DomainName": "192.0.2.1"}, INVALID),
    "two kinds": ({f"{ORIGIN}.S3OriginConfig": {"OriginAccessIdentity": ""}}, INVALID),
    "a bucket that is none": (
        {CUSTOM: None, f"{ORIGIN}.S3OriginConfig": {"OriginAccessIdentity": ""}},
        INVALID,
    ),
    "too many attempts": ({f"{ORIGIN}.ConnectionAttempts": 4}, INVALID),
    "too short to complete": ({f"{ORIGIN}.ResponseCompletionTimeout": 29}, INVALID),
    "a shield nowhere": ({f"{ORIGIN}.OriginShield": {"Enabled": True}}, INVALID),
    "a VPC origin that is not there": (
        {CUSTOM: None, f"{ORIGIN}.VpcOriginConfig": {"VpcOriginId": "vo_0"}},
        ("EntityNotFound", 404),
    ),
    "a path that ends with a slash": ({f"{ORIGIN}.OriginPath": "/a/"}, ("InvalidRelativePath", 400)),
}
OTHERS = {
    "a caller reference in use": ({"CallerReference": "one"}, EXISTS),
    "the same with another config": ({"CallerReference": "one", "Comment": "another"}, EXISTS),
    "an unknown mode": ({"ConnectionMode": "both"}, INVALID),
    "no cache policy": ({f"{BEHAVIOR}.CachePolicyId": None}, INVALID),
    "only a POST": (
        {f"{BEHAVIOR}.AllowedMethods": {"Quantity": 1, "Items": ["POST"]}},
        INVALID,
    ),
    "two functions for one event": (
        {
            f"{BEHAVIOR}.LambdaFunctionAssociations": {
                "Quantity": 2,
                "Items": [
                    {"LambdaFunctionARN": f"{LAMBDA}:{version}", "EventType": "viewer-request"}
                    for version in (1, 2)
                ],
            }
        },
        ("InvalidLambdaFunctionAssociation", 400),
    ),
    "too long a comment": ({"Comment": "c" * 129}, INVALID),
    "an error page without a status": (
        {"CustomErrorResponses": {"Quantity": 1, "Items": [{"ErrorCode": 404, "ResponsePagePath": "/4"}]}},
        INVALID,
    ),
    "a certificate without a method": (
        {f"{CERTIFICATE}.SSLSupportMethod": None},
        ("InvalidViewerCertificate", 400),
    ),
    "a trust store that is not there": (
        {"ViewerMtlsConfig": {"Mode": "required", "TrustStoreConfig": {"TrustStoreId": "ts_0"}}},
        ("EntityNotFound", 404),
    ),
}
REFUSED = {
    f"{name}: {case}": outcome
    for name, cases in {
        "cannot have": CANNOT,
        "definitions": DEFINITIONS,
        "parameters": PLACES,
        "origins": ORIGINS,
        "others": OTHERS,
    }.items()
    for case, outcome in cases.items()
}


@pytest.mark.parametrize("case", REFUSED)
def test_create_refuses(aws, build, case):
    changes, expected = REFUSED[case]
    assert aws.refused("create_distribution", DistributionConfig=build(changes)) == expected


PASSES = {
    "two parameters in a field": {f"{ORIGIN}.OriginPath": "/{{tenantName}}/{{tier}}"},
    "a parameter as the host": {f"{ORIGIN}.DomainName": "{{tenantName}}.origin.example.com"},
    "a parameter as the whole host and its domain": {f"{ORIGIN}.DomainName": "{{tenantName}}.{{tier}}"},
    "braces in the comment": {"Comment": "{{anything}}"},
    "five definitions": definitions("tier", "a", "b", "c"),
    "what is off": {
        "Staging": False,
        "IsIPV6Enabled": False,
        "PriceClass": "None",
        "Aliases": {"Quantity": 0},
    },
    "a bucket": {
        f"{ORIGIN}.DomainName": "bucket.s3.eu-central-1.amazonaws.com",
        CUSTOM: None,
        f"{ORIGIN}.S3OriginConfig": {"OriginAccessIdentity": ""},
    },
    "a web ACL": {
        "WebACLId": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/626900da-5f64-418b",
    },
    "a whitelist": {
        "Restrictions.GeoRestriction": {"RestrictionType": "whitelist", "Quantity": 2, "Items": ["DE", "FR"]}
    },
    "policies of AWS": {
        f"{BEHAVIOR}.OriginRequestPolicyId": "b689b0a8-53d0-40ab-baf2-68738e2966ac",
        f"{BEHAVIOR}.ResponseHeadersPolicyId": "67f7725c-6f97-4210-82d7-5512b31e9d03",
    },
}


@pytest.mark.parametrize("case", PASSES)
def test_create_passes(aws, build, case):
    config = build(PASSES[case])
    made = aws.cloudfront.create_distribution(DistributionConfig=config)["Distribution"]
    update = {"Id": made["Id"], "IfMatch": "E23ZP02F085DFQ", "DistributionConfig": made["DistributionConfig"]}
    assert (
        aws.cloudfront.update_distribution(**update)["Distribution"]["DistributionConfig"]
        == made["DistributionConfig"]
    )


def test_what_the_model_does_not_declare_with_tags(aws, build):
    """EntityLimitExceeded is declared for CreateDistribution alone."""
    config = build(definitions("a", "b", "c", "d", "e"))
    assert aws.refused("create_distribution", DistributionConfig=config) == LIMIT
    both = {"DistributionConfig": config, "Tags": {"Items": []}}
    assert aws.refused("create_distribution_with_tags", DistributionConfigWithTags=both) == INVALID


LEFT_OUT = ["CacheBehaviors", "Logging", "HttpVersion", f"{ORIGIN}.OriginPath", f"{BEHAVIOR}.Compress"]
LEFT_OUT += [f"{CUSTOM}.OriginReadTimeout", "ViewerCertificate", "WebACLId"]


@pytest.mark.parametrize("path", LEFT_OUT)
def test_an_update_leaves_nothing_out(aws, admin, build, path):
    update = {
        "Id": aws.parent,
        "IfMatch": "E23ZP02F085DFQ",
        "DistributionConfig": build({"CallerReference": "one", path: None}),
    }
    assert aws.refused("update_distribution", **update) == ILLEGAL
    admin.settings(distribution_update_needs_all=False)
    aws.cloudfront.update_distribution(**update)


def test_a_refused_update_changes_nothing(aws, build):
    before = aws.cloudfront.get_distribution(Id=aws.parent)
    update = {"Id": aws.parent, "IfMatch": before["ETag"]}
    for changes in ({CUSTOM: None}, definitions("a", "b", "c", "d", "e")):
        config = build({"CallerReference": "one", **changes})
        assert aws.refused("update_distribution", **update, DistributionConfig=config) == ILLEGAL
    after = aws.cloudfront.get_distribution(Id=aws.parent)
    assert (after["ETag"], after["Distribution"]) == (before["ETag"], before["Distribution"])


@pytest.mark.parametrize("member", ["Origins", "DefaultCacheBehavior", "Comment"])
def test_required_members(aws, bare, member):
    """botocore would not send it."""
    namespace = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
    members = {
        "CallerReference": "one",
        "Comment": "",
        "Enabled": "true",
        "Origins": "<Quantity>1</Quantity>"
        "<Items><Origin><Id>o</Id><DomainName>o.test</DomainName></Origin></Items>",
        "DefaultCacheBehavior": "<TargetOriginId>o</TargetOriginId>"
        "<ViewerProtocolPolicy>https-only</ViewerProtocolPolicy>",
    }
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in members.items() if name != member)
    body = f'<DistributionConfig xmlns="{namespace}">{inside}</DistributionConfig>'
    assert bare("POST", "distribution", body) == INVALID[::-1]
    answer = bare("PUT", f"distribution/{aws.parent}/config", body, If_Match="E23ZP02F085DFQ")
    assert answer == INVALID[::-1]
