"""AssumeRoleWithWebIdentity: tokens of identity providers against the trust policies of roles made here."""

import base64
import itertools
import json
import time

import pytest
from botocore.exceptions import ClientError
from moto.iam.models import iam_backends

NUMBERS = itertools.count(1)
DAY = 24 * 3600
"""Tokens are made when the tests are collected: none may run out before its test runs."""
ISSUER = "https://oidc.eks.eu-central-1.amazonaws.com/id/ABC"
HOST = ISSUER.removeprefix("https://")
SUBJECT = "system:serviceaccount:crossplane-system:provider"
PROVIDER = f"arn:aws:iam::123456789012:oidc-provider/{HOST}"


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(**claims):
    given = {"iss": ISSUER, "sub": SUBJECT, "aud": ["sts.amazonaws.com"], "exp": time.time() + DAY, **claims}
    known = {name: value for name, value in given.items() if value is not None}
    return f"{part({'alg': 'none'})}.{part(known)}.c2ln"


def trust(principal=PROVIDER, action="sts:AssumeRoleWithWebIdentity", kind="Federated", **condition):
    statement = {"Effect": "Allow", "Principal": {kind: principal}, "Action": action}
    return {**statement, "Condition": condition} if condition else statement


BOUND = {"StringEquals": {f"{HOST}:aud": "sts.amazonaws.com", f"{HOST}:sub": SUBJECT}}


@pytest.fixture(autouse=True)
def provider(aws):
    """The account's identity provider."""
    iam = aws.client("iam")
    iam.create_open_id_connect_provider(
        Url=ISSUER, ClientIDList=["sts.amazonaws.com", "other"], ThumbprintList=["0" * 40]
    )
    yield
    iam_backends[aws.account]["aws"].open_id_providers.clear()


@pytest.fixture
def role(aws):
    """Make a role with these statements for its trust policy; its ARN."""

    def make(*statements, **more):
        document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        name = f"web{next(NUMBERS)}"
        made = aws.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document, **more)
        return made["Role"]["Arn"]

    return make


@pytest.fixture
def assume(aws):
    sts = aws.client("sts")

    def call(arn, given, **more):
        return sts.assume_role_with_web_identity(
            RoleArn=arn, RoleSessionName="test", WebIdentityToken=given, **more
        )

    return call


def refused(call, *args, **more):
    with pytest.raises(ClientError) as raised:
        call(*args, **more)
    error = raised.value.response
    return error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"], error["Error"]["Message"]


def test_a_session_of_a_service_account(aws, admin, role, assume):
    arn = role(trust(**BOUND))
    found = assume(arn, token())
    assert found["SubjectFromWebIdentityToken"] == SUBJECT
    assert (found["Audience"], found["Provider"]) == ("sts.amazonaws.com", ISSUER)
    assert found["AssumedRoleUser"]["Arn"].endswith("/test")
    logged = admin("GET", "calls?operation=AssumeRoleWithWebIdentity")["calls"][0]
    assert logged["parameters"]["WebIdentityToken"] == "***"


def test_the_session_ends(aws, admin, role, assume):
    credentials = assume(role(trust(**BOUND)), token(), DurationSeconds=900)["Credentials"]
    key = type(aws)(aws.url, credentials["AccessKeyId"])
    key.cloudfront.list_distribution_tenants()
    admin.step(900)
    assert refused(key.cloudfront.list_distribution_tenants)[:2] == ("ExpiredToken", 403)


WEEK = 7 * 24 * 3600
TRUSTED = [
    ("no condition", trust(), {}),
    ("a subject like it", trust(StringLike={f"{HOST}:sub": "system:serviceaccount:crossplane-*:*"}), {}),
    ("one of the subjects", trust(StringEquals={f"{HOST}:sub": ["x", SUBJECT]}), {}),
    ("the audience alone", trust(StringEquals={f"{HOST}:aud": "sts.amazonaws.com"}), {}),
    ("one audience in text", trust(**BOUND), {"aud": "sts.amazonaws.com"}),
    ("the audience that the provider knows", trust(**BOUND), {"aud": ["elsewhere", "sts.amazonaws.com"]}),
    (
        "the party that is authorized",
        trust(StringEquals={f"{HOST}:aud": "app", f"{HOST}:oaud": "other"}),
        {"aud": "other", "azp": "app"},
    ),
    ("the provider in a condition", trust(StringEquals={"aws:FederatedProvider": PROVIDER}), {}),
    ("a token for long", trust(), {"exp": time.time() + WEEK}),
    (
        "a provider that IAM knows by name",
        trust("accounts.google.com", StringEquals={"accounts.google.com:aud": "app"}),
        {"iss": "https://accounts.google.com", "aud": "app"},
    ),
]
DENIED = [
    ("another subject", trust(**BOUND), {"sub": "system:serviceaccount:default:default"}),
    ("a subject in another case", trust(**BOUND), {"sub": SUBJECT.upper()}),
    ("another audience", trust(**BOUND), {"aud": "other"}),
    ("another provider", trust(PROVIDER + "D"), {}),
    ("another action", trust(action="sts:AssumeRole"), {}),
    ("an account, which is no provider", trust("123456789012", kind="AWS"), {}),
    ("a subject that is only like it", trust(StringEquals={f"{HOST}:sub": "system:*"}), {}),
    ("the provider denied", {**trust(), "Effect": "Deny"}, {}),
]
INVALID = [
    ("no token", "no-token", "not a valid JWT"),
    ("two parts", ".".join(token().split(".")[:2]), "not a valid JWT"),
    ("no JSON", "YWJj.YWJj.c2ln", "not a valid JWT"),
    ("no base64", "!.!.!", "not a valid JWT"),
    ("claims that are no object", f"{part({})}.{part([1])}.c2ln", "not a valid JWT"),
    ("no end", token(exp=None), "Missing a required claim: exp"),
    ("no subject", token(sub=None), "Missing a required claim: sub"),
    ("an end that is no number", token(exp="soon"), "exp is no number"),
    ("an unknown provider", token(iss="https://idp.example"), "No OpenIDConnect provider found"),
    ("an audience of nobody", token(aud="elsewhere"), "Incorrect token audience"),
]


@pytest.mark.parametrize(("statement", "claims"), [c[1:] for c in TRUSTED], ids=[c[0] for c in TRUSTED])
def test_whom_a_trust_policy_lets_in(role, assume, statement, claims):
    assert assume(role(statement), token(**claims))["Credentials"]["AccessKeyId"]


@pytest.mark.parametrize(("statement", "claims"), [c[1:] for c in DENIED], ids=[c[0] for c in DENIED])
def test_whom_it_does_not(role, assume, statement, claims):
    code, status, message = refused(assume, role(statement), token(**claims))
    assert (code, status) == ("AccessDenied", 403)
    assert message == "Not authorized to perform sts:AssumeRoleWithWebIdentity"


@pytest.mark.parametrize(("given", "words"), [c[1:] for c in INVALID], ids=[c[0] for c in INVALID])
def test_a_token_that_is_none(role, assume, given, words):
    code, status, message = refused(assume, role(trust()), given)
    assert (code, status) == ("InvalidIdentityToken", 400)
    assert words in message


def test_a_token_that_is_too_old(role, assume):
    code, status, message = refused(assume, role(trust()), token(exp=time.time() - 1))
    assert (code, status) == ("ExpiredTokenException", 400)
    assert message.startswith("Token expired: current date/time ")


def test_tokens_live_on_real_time(admin, role, assume):
    admin.step(WEEK)
    assert assume(role(trust()), token(exp=time.time() + 60))


def test_longer_than_the_roles_longest(role, assume):
    code, _, message = refused(assume, role(trust()), token(), DurationSeconds=3601)
    assert (code, "MaxSessionDuration" in message) == ("ValidationError", True)
    assert assume(role(trust(), MaxSessionDuration=7200), token(), DurationSeconds=7200)


def test_a_role_that_nobody_made_asks_for_a_token_alone(assume):
    arn = "arn:aws:iam::123456789012:role/nobody-made-it"
    assert assume(arn, token(iss="https://idp.example"))
    assert refused(assume, arn, "no-token")[0] == "InvalidIdentityToken"
    assert refused(assume, arn, token(exp=1))[0] == "ExpiredTokenException"


def test_keys_are_not_let_in_by_a_trust_in_a_provider(aws, role):
    arn = role(trust(action="sts:*"))
    call = aws.client("sts").assume_role
    assert refused(call, RoleArn=arn, RoleSessionName="test")[0] == "AccessDenied"
