"""Which refusals may be about the account."""

from __future__ import annotations

import pytest

from provider.cloudfront.aws.errors import PAUSED, RENEWED, AwsError
from provider.cloudfront.quota.limits import is_about_one, is_undecided


def refusal(words: str, code: str = "EntityLimitExceeded") -> AwsError:
    return AwsError("CreateDistributionTenant", code, words, status=400)


@pytest.mark.parametrize(
    "words",
    [
        "Your request exceeds the limit of 100 domains for a distribution tenant.",
        "You can specify up to 5 Domains.",
        "Your request exceeds the limit of 5 parameters for a distribution tenant.",
        "Your request exceeds the limit of 2500 certificates.",
        "Too many CNAMEs",
        "the Anycast IP list has 5 connection groups",
    ],
)
def test_what_names_something_of_the_resource_is_about_it_alone(words):
    assert is_about_one(refusal(words))


@pytest.mark.parametrize(
    "words",
    [
        "Your request exceeds the limit of 10000 distribution tenants.",
        "Your request exceeds the limit of 100 connection groups.",
        "The entity limit has been exceeded.",
        "no message",
        "shop.vintage: too many tenants",
    ],
)
def test_all_else_may_be_about_the_account(words):
    assert not is_about_one(refusal(words))


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "InvalidArgument", "Endpoint"])
def test_no_other_error_is_about_a_quota(code):
    assert is_about_one(refusal("too many tenants", code))


@pytest.mark.parametrize(
    ("code", "status", "undecided"),
    [
        ("Throttling", 400, True),
        ("TooManyRequests", 429, True),
        ("InternalError", 500, True),
        ("ServiceUnavailable", 503, True),
        ("Endpoint", 0, True),
        (PAUSED, 0, True),
        (RENEWED, 0, True),
        ("EntityLimitExceeded", 400, False),
        ("InvalidArgument", 400, False),
        ("AccessDenied", 403, False),
        ("ParamValidation", 0, False),
        ("Credentials", 0, False),
    ],
)
def test_what_was_throttled_held_back_or_lost_is_undecided(code, status, undecided):
    assert is_undecided(AwsError("CreateDistributionTenant", code, "words", status=status)) is undecided
