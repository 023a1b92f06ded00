"""What is moto's: ACM, STS, Route 53, and the rest of CloudFront; and whose account a request is."""

import boto3
import pytest
from botocore.exceptions import ClientError


def caller(aws, key):
    client = boto3.client(
        "sts",
        endpoint_url=aws.url,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key="any",
    )
    return client.get_caller_identity()["Account"]


@pytest.mark.parametrize(
    ("key", "account"),
    [("any", "123456789012"), ("AKIAIOSFODNN7EXAMPLE", "123456789012"), ("111122223333",) * 2],
)
def test_the_account_of_a_key(aws, key, account):
    assert caller(aws, key) == account


def test_a_role_of_another_account(aws, other):
    made = other.tenant()["DistributionTenant"]
    role = aws.client("sts").assume_role(
        RoleArn=f"arn:aws:iam::{other.account}:role/edge", RoleSessionName="test"
    )["Credentials"]
    client = boto3.client(
        "cloudfront",
        endpoint_url=aws.url,
        region_name="us-east-1",
        aws_access_key_id=role["AccessKeyId"],
        aws_secret_access_key=role["SecretAccessKey"],
        aws_session_token=role["SessionToken"],
    )
    assert client.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Id"] == made["Id"]


def test_each_account_has_its_own_certificates(aws, other):
    own = aws.client("acm").request_certificate(DomainName="own.test.org")["CertificateArn"]
    listed = other.client("acm").list_certificates()["CertificateSummaryList"]
    assert own not in [certificate["CertificateArn"] for certificate in listed]


def test_a_certificate_requested_in_acm_covers_once_issued(aws, monkeypatch):
    monkeypatch.setattr("moto.settings.ACM_VALIDATION_WAIT", 0)
    arn = aws.client("acm").request_certificate(DomainName="*.test.org")["CertificateArn"]
    parent = aws.distribution("by acm", certificate=arn)
    made = aws.tenant(DistributionId=parent, Domains=[{"Domain": "shop.test.org"}])
    assert made["DistributionTenant"]["Domains"][0]["Status"] == "active"


def test_the_rest_of_cloudfront_is_motos(aws):
    config = {
        "Name": "oac",
        "OriginAccessControlOriginType": "s3",
        "SigningBehavior": "always",
        "SigningProtocol": "sigv4",
    }
    made = aws.cloudfront.create_origin_access_control(OriginAccessControlConfig=config)
    found = aws.cloudfront.get_origin_access_control(Id=made["OriginAccessControl"]["Id"])
    assert found["ResponseMetadata"]["HTTPHeaders"]["x-amzn-requestid"]


@pytest.mark.parametrize(
    ("service", "operation", "params"),
    [
        ("cloudfront", "list_streaming_distributions", {}),
        ("cloudfront", "list_conflicting_aliases", {"DistributionId": "E1", "Alias": "a.b"}),
        (
            "acm",
            "revoke_certificate",
            {"CertificateArn": "arn:aws:acm:::xxxxxxxx", "RevocationReason": "SUPERSEDED"},
        ),
        ("route53", "list_cidr_collections", {}),
        ("sts", "decode_authorization_message", {"EncodedMessage": "x"}),
    ],
)
def test_what_moto_has_not_is_named(aws, service, operation, params):
    client = aws.client(service)
    with pytest.raises(ClientError) as raised:
        getattr(client, operation)(**params)
    error = raised.value.response
    assert (error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"]) == ("NotImplemented", 501)
    assert client.meta.method_to_api_mapping[operation] in error["Error"]["Message"]


def test_a_bug_of_motos_is_told(aws, emulator, monkeypatch, admin):
    def broken(*_):
        raise ZeroDivisionError("moto divides")

    monkeypatch.setattr(emulator.application.moto, "_app", broken)
    acm = aws.client("acm")
    with pytest.raises(ClientError, match="moto divides"):
        acm.list_certificates()
    assert admin("GET", "calls")["calls"][-1]["code"] == "InternalError"


def test_a_bug_of_ours_is_told(aws, emulator, monkeypatch):
    monkeypatch.setattr(emulator.world, "tenants", None)
    with pytest.raises(ClientError, match="InternalError"):
        aws.cloudfront.get_distribution_tenant(Identifier="acme")
    emulator.application.calls.reset()
