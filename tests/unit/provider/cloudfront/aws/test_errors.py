"""AWS's errors: none that botocore's model declares is forgotten, and each asks for what the table says."""

from __future__ import annotations

import io
from types import SimpleNamespace

import boto3
import botocore.credentials
import botocore.exceptions
import botocore.parsers
import botocore.session
import pytest
from botocore.awsrequest import AWSResponse, HeadersDict

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet, RetryMode
from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.aws.error_translation import as_aws_errors
from provider.cloudfront.aws.errors import CODES, PAUSED, AwsError, ErrorClass
from provider.cloudfront.aws.operations import OPERATIONS
from provider.cloudfront.aws.retries import to_external_error
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import World


def declared() -> dict[str, str]:
    """Every error code that the model declares for the operations used, with one operation."""
    session = botocore.session.get_session()
    codes = {}
    for operation in OPERATIONS.values():
        model = session.get_service_model(operation.service)
        for shape in model.operation_model(operation.name).error_shapes:
            codes[shape.metadata.get("error", {}).get("code", shape.name)] = operation.name
    return codes


_SOMEBODY_ELSE = (
    ". Another client changed it at the same time. The provider retries. If this persists, another provider "
    "of this installation or another tool also writes to it: stop one of the two"
)
_RENEW = ". Renew the credentials to which spec.credentials of the ProviderConfig refers"
ADVICE = {
    "AccessDenied": ". Permit it in the IAM policy of these credentials (docs/iam.md)",
    "InvalidArgument": ". Correct the resource; the provider retries as soon as it changes",
    "PreconditionFailed": _SOMEBODY_ELSE,
    "InvalidIfMatchVersion": _SOMEBODY_ELSE,
    "EntityLimitExceeded": ". A quota of the AWS account is used up: the account's owner must request an "
    "increase from AWS, or remove what is not needed. The provider retries every ten minutes",
    "LimitExceededException": ". A quota of the AWS account is used up: the account's owner must request an "
    "increase from AWS, or remove what is not needed. The provider retries every ten minutes",
    "ExpiredToken": _RENEW,
    "Credentials": _RENEW,
}


def test_no_declared_error_is_forgotten():
    assert set(declared()) <= set(CODES)


@pytest.mark.parametrize(
    ("code", "words", "status", "kind", "reason", "retry"),
    [
        ("PreconditionFailed", "", 412, ErrorClass.CONFLICT, "AWSError", (RetryMode.BACKOFF, 0)),
        ("InvalidIfMatchVersion", "", 400, ErrorClass.CONFLICT, "AWSError", (RetryMode.BACKOFF, 0)),
        ("Throttling", "Rate exceeded", 400, ErrorClass.THROTTLED, "Throttled", (RetryMode.BACKOFF, 0)),
        ("ServiceUnavailable", "", 503, ErrorClass.THROTTLED, "AWSError", (RetryMode.BACKOFF, 0)),
        ("Endpoint", "", 0, ErrorClass.THROTTLED, "AWSError", (RetryMode.BACKOFF, 0)),
        ("NeverHeardOf", "", 502, ErrorClass.THROTTLED, "AWSError", (RetryMode.BACKOFF, 0)),
        ("NeverHeardOf", "", 429, ErrorClass.THROTTLED, "Throttled", (RetryMode.BACKOFF, 0)),
        ("NeverHeardOf", "", 400, ErrorClass.TERMINAL, "AWSError", (RetryMode.POLL, 0)),
        ("LimitExceededException", "", 400, ErrorClass.QUOTA, "QuotaExceeded", (RetryMode.AFTER, 600)),
        ("EntityLimitExceeded", "", 400, ErrorClass.QUOTA, "QuotaExceeded", (RetryMode.AFTER, 600)),
        ("CNAMEAlreadyExists", "", 409, ErrorClass.TERMINAL, "DomainConflict", (RetryMode.POLL, 0)),
        ("InvalidArgument", "bad value", 400, ErrorClass.TERMINAL, "InvalidSpec", (RetryMode.POLL, 0)),
        ("AccessDenied", "", 403, ErrorClass.TERMINAL, "AccessDenied", (RetryMode.POLL, 0)),
        ("ExpiredToken", "", 403, ErrorClass.TERMINAL, "AccessDenied", (RetryMode.POLL, 0)),
        ("Credentials", "", 0, ErrorClass.TERMINAL, "AccessDenied", (RetryMode.POLL, 0)),
        ("MalformedXML", "", 400, ErrorClass.BUG, "AWSError", (RetryMode.BACKOFF, 0)),
    ],
)
def test_each_class_has_its_retry(code, words, status, kind, reason, retry):
    error = AwsError("CreateDistributionTenant", code, words, status=status, request_id="r-1")
    explained = to_external_error(error, "create tenant shop.acme", serving=False)
    assert error.verdict.class_ is kind
    assert isinstance(explained, ExternalError)
    told = f"create tenant shop.acme: {code}: {words}"
    advice = ADVICE.get(code, ". The provider retries")
    assert explained.message == f"{told}{advice} (request id: r-1)"
    assert [(c.type, str(c.status), c.reason) for c in explained.conditions] == [("Ready", "False", reason)]
    assert (explained.retry.mode, explained.retry.seconds) == retry


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_error_says_what_comes_next(code):
    explained = to_external_error(AwsError("Any", code, "AWS says no."), "do it", serving=False)
    told, _, action = explained.message.partition("AWS says no. ")
    assert told == f"do it: {code}: "
    assert action


def test_unproven_ownership_means_wait():
    words = "The provided Domain Name is not valid. Could not verify Domain Name ownership."
    explained = to_external_error(
        AwsError("CreateDistributionTenant", "InvalidArgument", words), "create", serving=False
    )
    assert isinstance(explained, NotYet)
    assert explained.after == 300.0
    assert explained.conditions[0].reason == "DomainValidationPending"


@pytest.mark.parametrize(
    ("code", "given", "after", "reason"),
    [
        ("ResourceNotDisabled", None, 5.0, "Disabling"),
        ("ResourceInUse", None, 60.0, "AWSError"),
        ("CannotDeleteEntityWhileInUse", None, 60.0, "AWSError"),
        (PAUSED, 7.5, 7.5, "Throttled"),
    ],
)
def test_what_is_only_waited_for_is_no_error(code, given, after, reason):
    explained = to_external_error(AwsError("Any", code, "words", after=given), "what", serving=False)
    assert isinstance(explained, NotYet)
    assert (explained.after, explained.conditions[0].reason) == (after, reason)


def test_what_serves_stays_ready_whatever_fails():
    error = AwsError("UpdateDistributionTenant", "CNAMEAlreadyExists", "taken")
    assert to_external_error(error, "update", serving=True).conditions == ()


@pytest.mark.parametrize("code", sorted(declared()))
def test_every_declared_error_of_a_creation_is_told_and_survived(code):
    world = World(cloudfront=FakeCloudFront())
    world.cloudfront.refuse["CreateDistributionTenant"] = AwsError("CreateDistributionTenant", code, "words")
    world.reconcile()
    assert world.error is not None
    world.cloudfront.refuse.clear()
    world.clock.advance(60)
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("operation", ["UpdateDistributionTenant", "TagResource"])
@pytest.mark.parametrize("code", sorted(declared()))
def test_every_declared_error_of_an_update_leaves_ready_and_heals(operation, code):
    world = World()
    world.settle()
    world.edit(parameters={"tenantName": "b"}, tags={"stage": "live"})
    world.cloudfront.refuse[operation] = AwsError(operation, code, "words")
    world.reconcile()
    assert world.error is not None
    assert world.ready() == ("True", "Available")
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.condition("InSync")[0] == "True"
    assert world.cloudfront.only.tags["stage"] == "live"


@pytest.mark.parametrize("operation", ["UpdateDistributionTenant", "DeleteDistributionTenant"])
@pytest.mark.parametrize(
    "code", sorted(set(declared()) - {"EntityNotFound", "NoSuchResource", "NoSuchDistribution"})
)
def test_every_declared_error_of_a_deletion_is_survived(operation, code):
    world = World()
    world.settle()
    world.delete()
    world.cloudfront.refuse[operation] = AwsError(operation, code, "words")
    world.reconcile()
    assert not world.gone
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone
    assert not world.cloudfront.tenants


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (botocore.exceptions.NoCredentialsError(), "Credentials"),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "Endpoint"),
        (botocore.exceptions.SSLError(endpoint_url="https://x", error="bad"), "TLS"),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="https://x"), "Endpoint"),
        (botocore.exceptions.ParamValidationError(report="no"), "ParamValidation"),
        (
            botocore.exceptions.ClientError(
                {
                    "Error": {"Code": "ExpiredToken", "Message": "expired"},
                    "ResponseMetadata": {"HTTPStatusCode": 403, "RequestId": "r-1"},
                },
                "AssumeRole",
            ),
            "ExpiredToken",
        ),
        (botocore.exceptions.ClientError({}, "GetDistributionTenant"), "Unknown"),
    ],
)
def test_no_exception_of_botocore_passes(raised, code):
    with pytest.raises(AwsError) as caught, as_aws_errors("GetDistributionTenant"):
        raise raised
    assert caught.value.code == code


def lost(error, operation="CreateDistributionTenant"):
    """The error that an exception of botocore becomes."""
    with pytest.raises(AwsError) as caught, as_aws_errors(operation):
        raise error
    return caught.value


def answered(code, status, operation="CreateDistributionTenant"):
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return lost(botocore.exceptions.ClientError(answer, operation))


URL = {"endpoint_url": "https://cloudfront.amazonaws.com"}


@pytest.mark.parametrize(
    "error",
    [
        *(
            answered(code, 400)
            for code in ("InvalidArgument", "InvalidTagging", "Throttling", "NeverHeardOf")
        ),
        *(answered(code, 403) for code in ("AccessDenied", "ExpiredToken", "SignatureDoesNotMatch")),
        *(answered(code, 404) for code in ("NoSuchDistribution", "EntityNotFound")),
        answered("CNAMEAlreadyExists", 409),
        answered("TooManyRequests", 429),
        answered("InternalFailure", 500, "AssumeRole"),
        lost(botocore.exceptions.ReadTimeoutError(**URL), "AssumeRoleWithWebIdentity"),
        lost(botocore.exceptions.EndpointConnectionError(**URL)),
        lost(botocore.exceptions.ConnectTimeoutError(**URL)),
        lost(botocore.exceptions.ParamValidationError(report="no")),
        lost(botocore.exceptions.NoCredentialsError()),
        AwsError("CreateDistributionTenant", PAUSED, "words"),
    ],
    ids=str,
)
def test_a_clear_refusal_of_a_creation_made_nothing(error):
    assert error.made_nothing
    assert to_external_error(error, "create", serving=False, creating=True).made_nothing


@pytest.mark.parametrize(
    "error",
    [
        *(answered(code, status) for code, status in [("InternalError", 500), ("ServiceUnavailable", 503)]),
        *(answered(code, 503) for code in ("Throttling", "SlowDown", "AccessDenied")),
        *(answered("NeverHeardOf", status) for status in (0, 200, 301, 408, 502, 504)),
        answered("EntityAlreadyExists", 409),
        answered("RequestTimeout", 400),
        lost(botocore.exceptions.ReadTimeoutError(**URL)),
        lost(botocore.exceptions.ConnectionClosedError(**URL)),
        lost(botocore.exceptions.HTTPClientError(error="reset by peer")),
        lost(botocore.exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2)),
        lost(botocore.exceptions.SSLError(error="bad record", **URL)),
    ],
    ids=str,
)
def test_any_other_answer_leaves_open_what_a_creation_made(error):
    assert not error.made_nothing
    explained = to_external_error(error, "create", serving=False, creating=True)
    assert not explained.made_nothing


def test_an_answer_that_cannot_be_read_leaves_it_open_too():
    error = lost(botocore.parsers.ResponseParserError("no XML"))
    assert (error.code, error.made_nothing) == ("Endpoint", False)


def test_of_a_call_that_creates_nothing_it_is_not_said():
    assert not to_external_error(answered("AccessDenied", 403), "update", serving=False).made_nothing


# Answers of another shape than AWS's: anyone who writes a provider config names the endpoint.


class Answering:
    """The provider's calls, each answered with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        made = [self._client(service) for service in ("cloudfront", "acm", "sts")]
        self.calls = CloudFrontCalls(*made)

    def _client(self, service):
        client = boto3.client(
            service, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
        )
        client.meta.events.register("before-send", self._answer)
        return client

    def _answer(self, **_):
        headers = HeadersDict({"content-type": "text/xml"})
        return AWSResponse("https://endpoint.test", 200, headers, Raw(self.body))


class Raw(io.BytesIO):
    def stream(self, **_):
        yield self.read()


FOREIGN = {
    "nothing": b"",
    "another operation's": b"<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>",
    "without members": b"<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>",
    "a page": b"<html><body>hello</body></html>",
    "JSON": b"[1, 2]",
    "deep JSON": b"[" * 100_000,
}
READS = {"GetCallerIdentity", "GetDistributionTenant", "GetConnectionGroup"}
CALLS = {
    "GetCallerIdentity": lambda calls: calls.caller(),
    "GetDistributionTenant": lambda calls: calls.get_tenant("dt_1"),
    "CreateDistributionTenant": lambda calls: calls.create_tenant(
        Tenant("a.b", "E1", domains=frozenset({"a.b"}))
    ),
    "GetConnectionGroup": lambda calls: calls.get_group("cg_1"),
    "UpdateDomainAssociation": lambda calls: calls.move_domain("a.b", "dt_1", "E"),
}


@pytest.mark.parametrize("body", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("operation", CALLS)
def test_an_answer_of_another_shape_is_no_bug(operation, body):
    with pytest.raises(AwsError) as caught:
        CALLS[operation](Answering(body).calls)
    assert (caught.value.operation, caught.value.code) == (operation, "Endpoint")
    assert caught.value.verdict.reason is Reason.AWS_ERROR
    assert caught.value.made_nothing == (operation in READS)


@pytest.mark.parametrize("body", FOREIGN.values(), ids=FOREIGN)
def test_an_answer_of_another_shape_from_acm_is_no_bug(body):
    calls = Answering(body).calls
    try:
        calls.certificate("arn:aws:acm:us-east-1:1:certificate/x")
    except AwsError as error:
        assert error.code == "Endpoint"  # noqa: PT017 - an empty answer is one without a certificate


def test_a_role_whose_credentials_lack_is_no_bug():
    fetcher = botocore.credentials.AssumeRoleCredentialFetcher(
        lambda *_, **__: SimpleNamespace(assume_role=lambda **_: {}, close=lambda: None),
        botocore.credentials.Credentials("k", "s"),
        "arn:aws:iam::1:role/x",
    )
    with pytest.raises(AwsError) as caught, as_aws_errors("GetCallerIdentity"):
        fetcher.fetch_credentials()
    assert caught.value.code == "Endpoint"


def test_a_bug_of_ours_beneath_botocore_stays_one():
    calls = Answering(b"").calls
    calls._sts.meta.events.register("before-call", lambda **_: {}["of ours"])
    with pytest.raises(KeyError, match="of ours"):
        calls.caller()
