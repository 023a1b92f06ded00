"""Who may assume a role, by its trust policy alone."""

import json

import pytest

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.sts.trust_policies import Caller, allows

USER = Caller("111122223333", "arn:aws:iam::111122223333:user/ann")
SESSION = Caller(
    "111122223333",
    "arn:aws:sts::111122223333:assumed-role/hub/s1",
    "arn:aws:iam::111122223333:role/hub",
    is_session=True,
)
ROOT = {"AWS": "arn:aws:iam::111122223333:root"}


def statement(principal=ROOT, effect="Allow", action="sts:AssumeRole", **more):
    return {"Effect": effect, "Action": action, "Principal": principal, **more}


def condition(operator, value, key="sts:ExternalId"):
    return statement(Condition={operator: {key: value}})


CASES = [
    ("the account's root", [statement()], USER, {}, True),
    ("the account's number", [statement({"AWS": ["1", "111122223333"]})], USER, {}, True),
    ("everybody", [statement("*")], USER, {}, True),
    ("the user", [statement({"AWS": USER.arn})], USER, {}, True),
    ("the role of a session", [statement({"AWS": SESSION.role_arn})], SESSION, {}, True),
    ("one session of a role", [statement({"AWS": SESSION.arn})], SESSION, {}, True),
    ("another account", [statement({"AWS": "444455556666"})], USER, {}, False),
    ("a service", [statement({"Service": "ec2.amazonaws.com"})], USER, {}, False),
    ("nobody", [], USER, {}, False),
    ("another action", [statement(action="sts:TagSession")], USER, {}, False),
    ("all actions", [statement(action="STS:*")], USER, {}, True),
    (
        "all but an action",
        [{"Effect": "Allow", "NotAction": "sts:Assume*", "Principal": "*"}],
        USER,
        {},
        False,
    ),
    ("a deny stands above", [statement(), statement({"AWS": USER.arn}, "Deny")], USER, {}, False),
    ("a deny for others", [statement(), statement({"AWS": "9"}, "Deny")], USER, {}, True),
    (
        "a deny for all but one",
        [statement(), {"Effect": "Deny", "Action": "*", "NotPrincipal": {"AWS": USER.arn}}],
        SESSION,
        {},
        False,
    ),
    ("the external id", [condition("StringEquals", "x1")], USER, {"sts:externalid": "x1"}, True),
    (
        "one of the external ids",
        [condition("StringEquals", ["x0", "x1"])],
        USER,
        {"sts:externalid": "x1"},
        True,
    ),
    ("another external id", [condition("StringEquals", "x1")], USER, {"sts:externalid": "X1"}, False),
    ("no external id", [condition("StringEquals", "x1")], USER, {}, False),
    ("no external id, if it exists", [condition("StringEqualsIfExists", "x1")], USER, {}, True),
    ("an external id like it", [condition("StringLike", "x?-*")], USER, {"sts:externalid": "x1-a"}, True),
    ("a bracket is no pattern", [condition("StringLike", "[x]")], USER, {"sts:externalid": "x"}, False),
    ("not an external id", [condition("StringNotEquals", "x1")], USER, {"sts:externalid": "x1"}, False),
    ("not an external id, none given", [condition("StringNotEquals", "x1")], USER, {}, True),
    ("there must be one", [condition("Null", "false")], USER, {}, False),
    ("there must be none", [condition("Null", True)], USER, {}, True),
    ("any case", [condition("StringEqualsIgnoreCase", "X1")], USER, {"sts:externalid": "x1"}, True),
    (
        "the caller's ARN",
        [condition("ArnLike", "arn:aws:iam::*:role/h*", "aws:PrincipalArn")],
        SESSION,
        {},
        True,
    ),
    ("a key that nobody knows", [condition("StringEquals", "o-1", "aws:PrincipalOrgID")], USER, {}, False),
]


@pytest.mark.parametrize(
    ("case", "statements", "caller", "context", "expected"), CASES, ids=[c[0] for c in CASES]
)
def test_a_policy(case, statements, caller, context, expected):
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    assert allows(document, "sts:AssumeRole", caller, context) is expected


def test_a_statement_without_a_list():
    assert allows(json.dumps({"Statement": statement()}), "sts:AssumeRole", USER, {})


def test_an_operator_that_is_not_evaluated_is_named():
    document = json.dumps({"Statement": [condition("IpAddress", "192.0.2.0/24", "aws:SourceIp")]})
    with pytest.raises(AwsError, match="IpAddress"):
        allows(document, "sts:AssumeRole", USER, {})
