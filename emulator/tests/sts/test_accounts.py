"""Roles, their chains, and accounts that never see each other."""

import itertools
import json

import boto3
import pytest
from botocore.exceptions import ClientError

NUMBERS = itertools.count(1)


@pytest.fixture
def client(aws):
    """A boto3 client with the credentials of a session, or with an account's number as its key."""

    def make(service, credentials):
        if isinstance(credentials, str):
            credentials = {"AccessKeyId": credentials, "SecretAccessKey": "any"}
        return boto3.client(
            service,
            endpoint_url=aws.url,
            region_name="us-east-1",
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials.get("SessionToken"),
        )

    return make


@pytest.fixture
def role():
    """Make a role in an account that trusts what it is told to; its ARN."""

    def make(account, principal, condition=None, action="sts:AssumeRole", **more):
        statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": action}
        if condition:
            statement["Condition"] = condition
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        name = f"role{next(NUMBERS)}"
        made = account.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document, **more)
        return made["Role"]["Arn"]

    return make


@pytest.fixture
def assume(client):
    """Assume a role with some credentials; the session's."""

    def call(credentials, arn, **more):
        sts = client("sts", credentials)
        return sts.assume_role(RoleArn=arn, RoleSessionName="test", **more)["Credentials"]

    return call


def refused(call, *args, **more):
    with pytest.raises(ClientError) as raised:
        call(*args, **more)
    error = raised.value.response
    return error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"], error["Error"]["Message"]


def test_a_session_is_in_its_roles_account(aws, other, role, assume, client):
    session = assume(aws.account, role(other, aws.account))
    identity = client("sts", session).get_caller_identity()
    assert identity["Account"] == other.account
    assert ":assumed-role/" in identity["Arn"]


def test_the_external_id_is_asked_for(aws, other, role, assume):
    arn = role(other, f"arn:aws:iam::{aws.account}:root", {"StringEquals": {"sts:ExternalId": "shared"}})
    assert assume(aws.account, arn, ExternalId="shared")["SessionToken"]
    for given in ({}, {"ExternalId": "guessed"}):
        code, status, message = refused(assume, aws.account, arn, **given)
        assert (code, status) == ("AccessDenied", 403)
        assert "is not authorized to perform: sts:AssumeRole" in message
        assert message.endswith(f"on resource: {arn}")


def test_a_role_that_trusts_another(aws, other, role, assume):
    arn = role(other, "444455556666")
    assert refused(assume, aws.account, arn)[0] == "AccessDenied"
    assert assume("444455556666", arn)


def test_a_refused_role_makes_no_session(aws, other, role, assume, admin):
    assert refused(assume, aws.account, role(other, "444455556666"))[0] == "AccessDenied"
    assert admin("GET", "calls")["calls"][-1]["code"] == "AccessDenied"


def test_a_chain_of_roles(aws, other, role, assume, client):
    hub = role(aws, aws.account)
    spoke = role(other, hub, {"StringEquals": {"sts:ExternalId": "spoke"}})
    assert refused(assume, aws.account, spoke, ExternalId="spoke")[0] == "AccessDenied"
    first = assume(aws.account, hub)
    assert refused(assume, first, spoke)[0] == "AccessDenied"
    second = assume(first, spoke, ExternalId="spoke")
    assert client("sts", second).get_caller_identity()["Account"] == other.account


def test_a_chained_session_lasts_an_hour_at_most(aws, other, role, assume):
    hub = role(aws, aws.account, MaxSessionDuration=7200)
    spoke = role(other, hub, MaxSessionDuration=7200)
    first = assume(aws.account, hub, DurationSeconds=7200)
    code, status, message = refused(assume, first, spoke, DurationSeconds=3601)
    assert (code, status) == ("ValidationError", 400)
    assert "role chaining" in message


def test_a_session_longer_than_the_roles_longest(aws, role, assume):
    code, _, message = refused(assume, aws.account, role(aws, aws.account), DurationSeconds=7200)
    assert code == "ValidationError"
    assert "MaxSessionDuration" in message


def test_tags_are_a_permission_of_their_own(aws, role, assume):
    tags = [{"Key": "team", "Value": "edge"}]
    plain = role(aws, aws.account)
    assert "sts:TagSession" in refused(assume, aws.account, plain, Tags=tags)[2]
    assert assume(aws.account, role(aws, aws.account, action=["sts:AssumeRole", "sts:TagSession"]), Tags=tags)


def test_a_user_of_iam_is_known_by_name(aws, role, assume):
    iam = aws.client("iam")
    name = f"user{next(NUMBERS)}"
    arn = iam.create_user(UserName=name)["User"]["Arn"]
    key = iam.create_access_key(UserName=name)["AccessKey"]
    only_this_user = role(aws, arn)
    assert assume(key, only_this_user)
    assert f"User: arn:aws:iam::{aws.account}:user/moto" in refused(assume, aws.account, only_this_user)[2]


def test_anybody_may_assume_a_role_that_nobody_made(aws, assume):
    assert assume(aws.account, f"arn:aws:iam::{aws.account}:role/nobody/made")


@pytest.fixture
def sides(aws, other, role, assume, client):
    """CloudFront by a role's session in each of two accounts, and the parent of each."""
    return [
        (client("cloudfront", assume(aws.account, role(account, aws.account))), account.parent)
        for account in (aws, other)
    ]


def create(side, name, domain):
    cloudfront, parent = side
    made = cloudfront.create_distribution_tenant(
        DistributionId=parent, Name=name, Domains=[{"Domain": domain}]
    )
    return made["DistributionTenant"]


def test_accounts_do_not_see_each_other(sides):
    tenants = [create(side, "acme", f"{i}.example.com") for i, side in enumerate(sides)]
    for (cloudfront, _), own, foreign in zip(sides, tenants, reversed(tenants), strict=True):
        listed = cloudfront.list_distribution_tenants()["DistributionTenantList"]
        assert [each["Id"] for each in listed] == [own["Id"]]
        assert cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Id"] == own["Id"]
        assert refused(cloudfront.get_distribution_tenant, Identifier=foreign["Id"])[0] == "EntityNotFound"
        by_domain = foreign["Domains"][0]["Domain"]
        found = refused(cloudfront.get_distribution_tenant_by_domain, Domain=by_domain)
        assert found[0] == "EntityNotFound"
        assert refused(cloudfront.get_distribution_tenant, Identifier=foreign["Arn"])[0] == "AccessDenied"


def test_a_foreign_parent_takes_no_tenants(sides):
    assert refused(create, (sides[0][0], sides[1][1]), "acme", "a.example.com")[1] in (403, 404)


def test_domains_are_unique_over_accounts(sides):
    create(sides[0], "acme", "shop.example.com")
    code, status, message = refused(create, sides[1], "other", "shop.example.com")
    assert (code, status) == ("CNAMEAlreadyExists", 409)
    assert "acme" not in message


def test_a_domain_that_was_freed_is_anybodys(sides, admin):
    create(sides[0], "acme", "shop.example.com")
    admin("DELETE", "distribution-tenants/acme")
    assert create(sides[1], "acme", "shop.example.com")
