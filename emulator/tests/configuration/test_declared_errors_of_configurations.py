"""No declared error of CreateDistribution (WithTags) and UpdateDistribution is forgotten: each one of
botocore's model is provoked here, or stands with the reason why only a fault can bring it.

A case is a whole configuration, read from a distribution, with some members put in or taken out; it is tried
with each of the three operations that declare its error.
"""

import copy
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from botocore import xform_name
from moto.cloudfront.responses import CloudFrontResponse

from edgetenants_emulator.protocol.operations import service_model

FIRST_VERSION, SECOND_VERSION = "E23ZP02F085DFQ", "ETVPDKIKX0DER"
OF_CONFIGURATIONS = ("CreateDistribution", "CreateDistributionWithTags", "UpdateDistribution")
UNKNOWN, BUCKET = "00000000-0000-0000-0000-000000000000", "bucket.s3.us-east-1.amazonaws.com"
LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function:edge"


def declared(operation: str) -> dict[str, int]:
    """Error name to HTTP status, as the model has them."""
    shapes = service_model("cloudfront").operation_model(operation).error_shapes
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}


def listed(*items: Any) -> dict[str, Any]:
    return {"Quantity": len(items), "Items": list(items)}


@dataclass
class Case:
    """What is put into a configuration by path, and what is dropped; a callable takes the scene."""

    put: Any
    drop: tuple[str, ...] = ()
    standard: bool = False


@dataclass
class Scene:
    """An account with the multi-tenant distribution `one` and the standard one `standard`."""

    aws: Any
    admin: Any
    inherited: str

    def __post_init__(self) -> None:
        self.standard = self.direct("standard")

    def direct(self, reference: str, **config: Any) -> str:
        return self.aws.distribution(reference, ConnectionMode="direct", TenantConfig=None, **config)

    def config(self, distribution_id: str) -> dict[str, Any]:
        return self.aws.cloudfront.get_distribution_config(Id=distribution_id)["DistributionConfig"]

    def build(self, case: Case, operation: str) -> dict[str, Any]:
        """The parameters of a call with the case's configuration."""
        put = case.put(self) if callable(case.put) else case.put
        distribution_id = self.standard if case.standard else self.aws.parent
        config = copy.deepcopy(self.config(distribution_id))
        if operation != "UpdateDistribution":
            config["CallerReference"] = "new"
        for path in case.drop:
            *way, last = path.split(".")
            del follow(config, way)[last]
        for path, value in put.items():
            *way, last = path.split(".")
            follow(config, way)[last] = value
        if operation == "CreateDistributionWithTags":
            return {"DistributionConfigWithTags": {"DistributionConfig": config, "Tags": {"Items": []}}}
        version = {"Id": distribution_id, "IfMatch": FIRST_VERSION} if operation.startswith("Update") else {}
        return {"DistributionConfig": config, **version}

    def anycast_list(self) -> str:
        return self.aws.cloudfront.create_anycast_ip_list(Name="list", IpCount=3)["AnycastIpList"]["Id"]

    def access_control(self, kind: str) -> str:
        config = {"Name": "c", "SigningProtocol": "sigv4", "SigningBehavior": "always"}
        made = self.aws.cloudfront.create_origin_access_control(
            OriginAccessControlConfig={**config, "OriginAccessControlOriginType": kind}
        )
        return made["OriginAccessControl"]["Id"]

    def key_group(self) -> str:
        key = {"CallerReference": "k", "Name": "k", "EncodedKey": "k"}
        public = self.aws.cloudfront.create_public_key(PublicKeyConfig=key)["PublicKey"]["Id"]
        made = self.aws.cloudfront.create_key_group(KeyGroupConfig={"Name": "g", "Items": [public]})
        return made["KeyGroup"]["Id"]

    def function(self) -> str:
        if not hasattr(CloudFrontResponse, "create_function"):
            pytest.skip("moto has functions from 5.2.4 on")
        config = {"Comment": "", "Runtime": "cloudfront-js-2.0"}
        name = uuid.uuid4().hex  # moto's functions outlive the server
        self.aws.cloudfront.create_function(Name=name, FunctionConfig=config, FunctionCode=b"f")
        return name

    def used(self, put: dict[str, Any], **quota: int) -> dict[str, Any]:
        """A configuration that another distribution has already, whose quota is then used up."""
        call = self.build(Case(put), "CreateDistribution")
        call["DistributionConfig"]["CallerReference"] = "other"
        self.aws.cloudfront.create_distribution(**call)
        self.admin.settings(**quota)
        return put


def follow(value: Any, way: list[str]) -> Any:
    for step in way:
        value = value[int(step) if step.isdecimal() else step]
    return value


BEHAVIOR, ORIGIN, CERTIFICATE = "DefaultCacheBehavior", "Origins.Items.0", "ViewerCertificate"
LEGACY = (f"{BEHAVIOR}.CachePolicyId",)
ALL_METHODS = listed("GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE")
VIEWERS, TTLS = "viewer-request", {"MinTTL": 0, "DefaultTTL": 1, "MaxTTL": 2}


def forwarded(query_string: bool = False, ttls: dict[str, int] = TTLS, **members: Any) -> dict[str, Any]:
    values = {"QueryString": query_string, "Cookies": {"Forward": "none"}, **members}
    return {
        f"{BEHAVIOR}.ForwardedValues": values,
        **{f"{BEHAVIOR}.{name}": value for name, value in ttls.items()},
    }


def legacy(**settings: Any) -> Case:
    return Case(forwarded(**settings), LEGACY, standard=True)


def origin(standard: bool = False, **members: Any) -> Case:
    return Case({f"{ORIGIN}.{name}": value for name, value in members.items()}, standard=standard)


def bucket(**members: Any) -> Case:
    put = {f"{ORIGIN}.DomainName": BUCKET, **{f"{ORIGIN}.{name}": value for name, value in members.items()}}
    return Case(put, (f"{ORIGIN}.CustomOriginConfig",), standard=True)


def behavior(**members: Any) -> Case:
    return Case({f"{BEHAVIOR}.{name}": value for name, value in members.items()})


def error_page(**response: Any) -> Case:
    return Case({"CustomErrorResponses": listed(response)})


def countries(kind: str, *codes: str) -> Case:
    items = listed(*codes) if codes else {"Quantity": 0}
    return Case({"Restrictions.GeoRestriction": {"RestrictionType": kind, **items}})


def behaviors(count: int, **members: Any) -> Case:
    rows = [
        {
            "PathPattern": f"/{n}",
            "TargetOriginId": "o",
            "ViewerProtocolPolicy": "https-only",
            "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6",
            "AllowedMethods": listed("GET", "HEAD"),
            "Compress": False,
            "FieldLevelEncryptionId": "",
            "LambdaFunctionAssociations": {"Quantity": 0},
            **members,
        }
        for n in range(count)
    ]
    return Case({"CacheBehaviors": listed(*rows)})


def lambdas(*versions: int, events: tuple[str, ...] = (VIEWERS,)) -> dict[str, Any]:
    pairs = [(version, event) for version in versions for event in events]
    return listed(*({"LambdaFunctionARN": f"{LAMBDA}:{v}", "EventType": event} for v, event in pairs))


def functions(*names: str) -> dict[str, Any]:
    arns = [f"arn:aws:cloudfront::123456789012:function/{name}" for name in names]
    return listed(*({"FunctionARN": arn, "EventType": VIEWERS} for arn in arns))


def group(number: int) -> dict[str, Any]:
    members, codes = listed({"OriginId": "o"}, {"OriginId": "o"}), {"StatusCodes": listed(500)}
    return {"Id": f"g{number}", "FailoverCriteria": codes, "Members": members}


def numbered(count: int, form: str = "n{}") -> dict[str, Any]:
    return listed(*(form.format(n) for n in range(count)))


def taken_alias(scene: Scene) -> dict[str, Any]:
    scene.aws.tenant("taken")
    return {"Aliases": listed("taken.example.com")}


def dedicated(scene: Scene) -> dict[str, Any]:
    own = {"ACMCertificateArn": scene.inherited, "SSLSupportMethod": "vip"}
    for reference in ("first", "second"):
        scene.direct(reference, ViewerCertificate=own)
    return {CERTIFICATE: own}


def other_lambda(scene: Scene) -> dict[str, Any]:
    associations = f"{BEHAVIOR}.LambdaFunctionAssociations"
    scene.used({associations: lambdas(1)}, distributions_with_lambda=1)
    return {associations: lambdas(2)}


def on_function(scene: Scene) -> dict[str, Any]:
    own = {f"{BEHAVIOR}.FunctionAssociations": functions(scene.function())}
    return scene.used(own, distributions_per_reference=1)


def on_key_group(scene: Scene) -> dict[str, Any]:
    groups = {"Enabled": True, **listed(scene.key_group())}
    return scene.used({f"{BEHAVIOR}.TrustedKeyGroups": groups}, distributions_per_reference=1)


def on_access_control(scene: Scene) -> dict[str, Any]:
    own = {f"{ORIGIN}.DomainName": BUCKET, f"{ORIGIN}.OriginAccessControlId": scene.access_control("s3")}
    return scene.used(own, distributions_per_reference=1)


NAMES = ("tenantName", *"abcde")
SIX = [{"Name": name, "Definition": {"StringSchema": {"Required": False}}} for name in NAMES]
OAI = "origin-access-identity/cloudfront/E1"
CUSTOM = f"{ORIGIN}.CustomOriginConfig"
# Error to the configuration that provokes it.
CASES = {
    "CNAMEAlreadyExists": Case(taken_alias, standard=True),
    "DistributionAlreadyExists": Case({"CallerReference": "standard"}),
    "EntityLimitExceeded": Case({"TenantConfig.ParameterDefinitions": SIX}),
    "EntityNotFound": Case({"AnycastIpListId": "aip_0"}, standard=True),
    "IllegalFieldLevelEncryptionConfigAssociationWithCacheBehavior": behavior(FieldLevelEncryptionId="C1"),
    "IllegalOriginAccessConfiguration": bucket(
        S3OriginConfig={"OriginAccessIdentity": OAI}, OriginAccessControlId="E1"
    ),
    "IllegalUpdate": Case({"CallerReference": "another"}),
    "InconsistentQuantities": Case({"CacheBehaviors": {"Quantity": 1}}),
    "InvalidArgument": Case({"PriceClass": "PriceClass_100"}),
    "InvalidDefaultRootObject": Case({"DefaultRootObject": "/index.html"}),
    "InvalidDomainNameForOriginAccessControl": Case(
        lambda s: {f"{ORIGIN}.OriginAccessControlId": s.access_control("s3")}
    ),
    "InvalidErrorCode": error_page(ErrorCode=418),
    "InvalidForwardCookies": legacy(Cookies={"Forward": "whitelist"}),
    "InvalidFunctionAssociation": behavior(FunctionAssociations=functions("none")),
    "InvalidGeoRestrictionParameter": countries("whitelist"),
    "InvalidHeadersForS3Origin": Case(
        {**bucket(S3OriginConfig={"OriginAccessIdentity": ""}).put, **forwarded(Headers=listed("Host"))},
        (*LEGACY, CUSTOM),
        standard=True,
    ),
    "InvalidLambdaFunctionAssociation": behavior(
        LambdaFunctionAssociations=listed({"LambdaFunctionARN": LAMBDA, "EventType": VIEWERS})
    ),
    "InvalidLocationCode": countries("whitelist", "XX"),
    "InvalidMinimumProtocolVersion": Case({f"{CERTIFICATE}.MinimumProtocolVersion": "TLSv9"}),
    "InvalidOrigin": Case({}, (CUSTOM,)),
    "InvalidOriginAccessControl": origin(OriginAccessControlId="E0UNKNOWN"),
    "InvalidOriginAccessIdentity": bucket(S3OriginConfig={"OriginAccessIdentity": OAI}),
    "InvalidOriginKeepaliveTimeout": Case({f"{CUSTOM}.OriginKeepaliveTimeout": 121}),
    "InvalidOriginReadTimeout": Case({f"{CUSTOM}.OriginReadTimeout": 0}),
    "InvalidProtocolSettings": Case({f"{CERTIFICATE}.MinimumProtocolVersion": "SSLv3"}),
    "InvalidQueryStringParameters": legacy(QueryStringCacheKeys=listed("q")),
    "InvalidRelativePath": origin(OriginPath="no-slash"),
    "InvalidResponseCode": error_page(ErrorCode=404, ResponseCode="418", ResponsePagePath="/404.html"),
    "InvalidTTLOrder": legacy(ttls={"MinTTL": 2, "DefaultTTL": 1, "MaxTTL": 3}),
    "InvalidViewerCertificate": Case({f"{CERTIFICATE}.ACMCertificateArn": "arn:aws:acm:us-east-1:1:c/0"}),
    "InvalidWebACLId": Case({"WebACLId": UNKNOWN}),
    "NoSuchCachePolicy": behavior(CachePolicyId=UNKNOWN),
    "NoSuchContinuousDeploymentPolicy": Case({"ContinuousDeploymentPolicyId": "p"}, standard=True),
    "NoSuchFieldLevelEncryptionConfig": behavior(
        FieldLevelEncryptionId="C1",
        AllowedMethods={**ALL_METHODS, "CachedMethods": listed("GET", "HEAD")},
    ),
    "NoSuchOrigin": behavior(TargetOriginId="other"),
    "NoSuchOriginRequestPolicy": behavior(OriginRequestPolicyId=UNKNOWN),
    "NoSuchRealtimeLogConfig": behavior(
        RealtimeLogConfigArn="arn:aws:cloudfront::123456789012:realtime-log-config/none"
    ),
    "NoSuchResponseHeadersPolicy": behavior(ResponseHeadersPolicyId=UNKNOWN),
    "RealtimeLogConfigOwnerMismatch": behavior(
        RealtimeLogConfigArn="arn:aws:cloudfront::210987654321:realtime-log-config/theirs"
    ),
    "TooManyCacheBehaviors": behaviors(76),
    "TooManyCertificates": Case(dedicated, standard=True),
    "TooManyCookieNamesInWhiteList": legacy(
        Cookies={"Forward": "whitelist", "WhitelistedNames": numbered(11)}
    ),
    "TooManyDistributionCNAMEs": Case({"Aliases": numbered(101, "a{}.example.com")}, standard=True),
    "TooManyDistributions": Case(lambda s: s.admin.settings(distributions_per_account=2) or {}),
    "TooManyDistributionsAssociatedToKeyGroup": Case(on_key_group),
    "TooManyDistributionsWithFunctionAssociations": Case(on_function),
    "TooManyDistributionsWithLambdaAssociations": Case(other_lambda),
    "TooManyDistributionsWithSingleFunctionARN": Case(
        lambda s: s.used({f"{BEHAVIOR}.LambdaFunctionAssociations": lambdas(1)}, distributions_with_lambda=1)
    ),
    "TooManyDistributionsAssociatedToOriginAccessControl": Case(on_access_control),
    "TooManyFunctionAssociations": behavior(FunctionAssociations=functions("a", "b", "c")),
    "TooManyHeadersInForwardedValues": legacy(Headers=numbered(11)),
    "TooManyKeyGroupsAssociatedToDistribution": behavior(
        TrustedKeyGroups={"Enabled": True, **listed(*"abcde")}
    ),
    "TooManyLambdaFunctionAssociations": behaviors(51, LambdaFunctionAssociations=lambdas(1, 2)),
    "TooManyOriginCustomHeaders": origin(
        CustomHeaders=listed(*({"HeaderName": f"h{n}", "HeaderValue": "v"} for n in range(31)))
    ),
    "TooManyOriginGroupsPerDistribution": Case({"OriginGroups": listed(*map(group, range(11)))}),
    "TooManyOrigins": Case(
        lambda s: {"Origins": listed(*(s.config(s.aws.parent)["Origins"]["Items"][0] for _ in range(101)))}
    ),
    "TooManyQueryStringParameters": legacy(query_string=True, QueryStringCacheKeys=numbered(11)),
    "TooManyTrustedSigners": Case(
        {f"{BEHAVIOR}.TrustedSigners": {"Enabled": True, **numbered(6, "{:012}")}},
        standard=True,
    ),
    "TrustedKeyGroupDoesNotExist": behavior(TrustedKeyGroups={"Enabled": True, **listed("none")}),
    "TrustedSignerDoesNotExist": Case(
        {f"{BEHAVIOR}.TrustedSigners": {"Enabled": True, **listed("me")}}, standard=True
    ),
}
# What is wrong elsewhere than in the configuration: operation, error, and what is changed in the call.
AROUND = {
    ("CreateDistributionWithTags", "InvalidTagging"): {
        "DistributionConfigWithTags": {"Tags": {"Items": [{"Key": "aws:mine", "Value": ""}]}}
    },
    ("UpdateDistribution", "InvalidIfMatchVersion"): {"IfMatch": "nonsense"},
    ("UpdateDistribution", "NoSuchDistribution"): {"Id": "E0UNKNOWN"},
    ("UpdateDistribution", "PreconditionFailed"): {"IfMatch": SECOND_VERSION},
}
BODILESS = [("POST", "distribution"), ("POST", "distribution?WithTags"), ("PUT", "distribution/E0/config")]
ONLY_BY_FAULT = {
    "IAM policies are not evaluated, and the request can name nothing of another account.": {"AccessDenied"},
    "There are neither staging distributions nor continuous deployment policies.": {
        "ContinuousDeploymentPolicyInUse",
        "StagingDistributionInUse",
    },
    "There are only managed policies, which any number of distributions may have.": {
        "TooManyDistributionsAssociatedToCachePolicy",
        "TooManyDistributionsAssociatedToOriginRequestPolicy",
        "TooManyDistributionsAssociatedToResponseHeadersPolicy",
    },
    "There are no configurations for field-level encryption.": {
        "TooManyDistributionsAssociatedToFieldLevelEncryptionConfig",
    },
    "The API has no member RequiredProtocols any more.": {"InvalidRequiredProtocol"},
}


@pytest.fixture
def scene(aws, admin, inherited) -> Scene:
    return Scene(aws, admin, inherited[aws.account])


def assert_refused(aws, operation: str, params: dict[str, Any], error: str) -> None:
    with pytest.raises(getattr(aws.cloudfront.exceptions, error)) as raised:
        getattr(aws.cloudfront, xform_name(operation))(**params)
    answer = raised.value.response
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == declared(operation)[error]
    assert answer["Error"]["Message"]


@pytest.mark.parametrize(
    ("operation", "error"),
    [(name, error) for name in OF_CONFIGURATIONS for error in CASES if error in declared(name)],
)
def test_provoked(aws, scene, operation, error):
    assert_refused(aws, operation, scene.build(CASES[error], operation), error)


@pytest.mark.parametrize(("operation", "error"), AROUND)
def test_provoked_around_the_configuration(aws, scene, operation, error):
    call = scene.build(Case({}), operation)
    for name, value in AROUND[operation, error].items():
        call[name] = {**call[name], **value} if isinstance(value, dict) else value
    assert_refused(aws, operation, call, error)


@pytest.mark.parametrize(("method", "path"), BODILESS)
def test_missing_bodies(bare, method, path):
    assert bare(method, path) == (400, "MissingBody")


@pytest.mark.parametrize("mode", ["multi-tenant", "standard"])
@pytest.mark.parametrize("operation", OF_CONFIGURATIONS)
def test_without_the_case_it_passes(aws, scene, operation, mode):
    call = scene.build(Case({}, standard=mode == "standard"), operation)
    getattr(aws.cloudfront, xform_name(operation))(**call)


def test_none_is_forgotten():
    excused = set().union(*ONLY_BY_FAULT.values())
    for operation in OF_CONFIGURATIONS:
        around = {error for name, error in AROUND if name == operation}
        provoked = (CASES.keys() & declared(operation).keys()) | around | {"MissingBody"}
        assert provoked.isdisjoint(excused)
        assert provoked | (excused & declared(operation).keys()) == declared(operation).keys(), operation
