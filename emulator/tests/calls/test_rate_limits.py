"""Rate limits: the buckets alone, Route 53's published ones, and any for CloudFront."""

import doctest

import pytest
from botocore.exceptions import ClientError

from edgetenants_emulator.calls import rate_limits
from edgetenants_emulator.calls.rate_limits import ALL, EACH, PUBLISHED, Limit, RateLimits, TokenBucket, Unit
from edgetenants_emulator.errors import AwsError


def test_the_examples_in_docstrings():
    assert doctest.testmod(rate_limits).failed == 0


class TestBucket:
    def test_never_fills_above_its_burst(self):
        bucket = TokenBucket(burst=3, refill=1, now=0)
        assert [bucket.take(1, now=1000) for _ in range(4)] == [True, True, True, False]

    def test_many_small_refills_make_a_whole_token(self):
        bucket = TokenBucket(burst=1, refill=1, now=0)
        assert bucket.take(1, now=0)
        assert not any(bucket.has(1, now=i / 10) for i in range(1, 10))
        assert bucket.take(1, now=1.0)

    def test_a_full_bucket_has_enough_for_anything(self):
        bucket = TokenBucket(burst=3, refill=1, now=0)
        assert bucket.take(5, now=0)
        assert not bucket.take(1, now=0)

    def test_without_refill_it_stays_empty(self):
        bucket = TokenBucket(burst=1, refill=0, now=0)
        assert [bucket.take(1, now) for now in (0, 1e9)] == [True, False]


class Limits(RateLimits):
    """Limits with a clock in hand."""

    def __init__(self, *limits):
        self.time = 0.0
        super().__init__(lambda: self.time)
        self.set(limits)

    def passing(self, operation, account="1", service="s", body=b""):
        """How many calls pass until one is throttled, at most 2,000."""
        for count in range(2000):
            try:
                self.admit(service, operation, account, body)
            except AwsError:
                return count
        return 2000


class TestLimits:
    def test_by_account_and_operation(self):
        limits = Limits(Limit("s", "Get", 3, 1))
        assert [limits.passing("Get", account) for account in "12"] == [3, 3]
        assert limits.passing("Put") == 2000
        assert limits.passing("Get", service="other") == 2000
        limits.time = 2.0
        assert limits.passing("Get") == 2

    def test_all_operations_share_one(self):
        limits = Limits(Limit("s", ALL, 3, 1))
        assert [limits.passing(name) for name in ("Get", "Put")] == [3, 0]

    def test_each_operation_has_its_own_unless_it_has_another(self):
        limits = Limits(Limit("s", EACH, 3, 1), Limit("s", "Put", 5, 1))
        assert [limits.passing(name) for name in ("Get", "Put", "List")] == [3, 5, 3]

    def test_a_throttled_call_is_counted_nowhere(self):
        limits = Limits(Limit("s", ALL, 5, 0), Limit("s", "Get", 2, 0))
        assert [limits.passing("Get"), limits.passing("Get"), limits.passing("Put")] == [2, 0, 3]

    def test_changes_of_records(self):
        limits = Limits(Limit("s", "Change", 10, 1, Unit.CHANGES))
        body = b"<Action>UPSERT</Action><Action>CREATE</Action><Action> DELETE </Action>"
        assert limits.passing("Change", body=body) == 2
        assert limits.passing("Change", body=b"<Action>UPSERT</Action>") == 1

    @pytest.mark.parametrize(
        ("operation", "body", "expected"),
        [
            ("GetHostedZone", b"", 50),
            ("CreateHostedZone", b"", 40),
            ("ChangeResourceRecordSets", b"<Action>CREATE</Action>", 50),
            ("ChangeResourceRecordSets", b"<Action>UPSERT</Action>" * 50, 15),
        ],
    )
    def test_what_route_53_publishes(self, operation, body, expected):
        limits = Limits(*PUBLISHED["route53"])
        assert limits.passing(operation, service="route53", body=body) == expected

    @pytest.mark.parametrize(("burst", "refill"), [(0, 1), (1, -1), (float("nan"), 1), (1, float("nan"))])
    def test_no_limit(self, burst, refill):
        with pytest.raises(ValueError, match="burst"):
            Limit("s", ALL, burst, refill)


def throttled(call, **params):
    with pytest.raises(ClientError) as raised:
        call(**params)
    error = raised.value.response
    return (
        error["Error"]["Code"],
        error["ResponseMetadata"]["HTTPStatusCode"],
        error["Error"]["Message"],
    )


def get(aws):
    return aws.refused("get_distribution_tenant", Identifier="nobody")


RATE_EXCEEDED = ("Throttling", 400, "Rate exceeded")


class TestServer:
    def test_route_53_is_not_limited_until_asked(self, aws, other, admin):
        route53 = aws.client("route53")
        for _ in range(60):
            route53.get_hosted_zone_count()
        assert len(admin("POST", "limits", {"published": "route53"})["limits"]) == 5
        for _ in range(50):
            route53.get_hosted_zone_count()
        assert throttled(route53.get_hosted_zone_count) == RATE_EXCEEDED
        other.client("route53").get_hosted_zone_count()
        admin.step(0.1)
        route53.get_hosted_zone_count()
        assert throttled(route53.get_hosted_zone_count) == RATE_EXCEEDED
        assert admin("DELETE", "limits?service=route53") == {"limits": []}
        route53.get_hosted_zone_count()

    def test_any_operation_of_cloudfront(self, aws, admin, emulator):
        limit = {"service": "cloudfront", "operation": "CreateDistributionTenant", "burst": 1, "refill": 0.5}
        assert admin("POST", "limits", limit) == {"limits": [{**limit, "unit": "requests"}]}
        aws.tenant()
        assert throttled(aws.tenant, name="next") == RATE_EXCEEDED
        assert aws.cloudfront.list_distribution_tenants()["DistributionTenantList"][0]["Name"] == "acme"
        admin.step(2)
        aws.tenant("next")
        assert admin("GET", "calls")["calls"][-3]["code"] == "Throttling"
        emulator.application.calls.reset()  # no operation's model declares Throttling

    def test_cloudfronts_by_setting(self, aws, other, admin):
        admin.settings(cloudfront_requests_per_second=0.5, cloudfront_requests_burst=2)
        assert [get(aws)[0] for _ in range(3)] == ["EntityNotFound", "EntityNotFound", "Throttling"]
        assert get(other)[0] == "EntityNotFound"
        aws.cloudfront.list_distribution_tenants()
        admin.step(1)
        assert get(aws) == ("Throttling", 400)
        admin.step(1)
        assert [get(aws)[0] for _ in range(2)] == ["EntityNotFound", "Throttling"]

    def test_a_throttled_call_has_no_effect(self, aws, admin):
        limit = {"service": "cloudfront", "operation": "CreateDistributionTenant", "burst": 1, "refill": 0}
        admin("POST", "limits", limit)
        aws.tenant("first")
        assert throttled(aws.tenant, name="second") == RATE_EXCEEDED
        assert [tenant["Name"] for tenant in admin("GET", "state")["tenants"]] == ["first"]
        admin("DELETE", "limits")
        aws.tenant("second")

    def test_a_service_as_a_whole(self, aws, admin):
        admin("POST", "limits", {"service": "acm", "operation": "*", "burst": 1, "refill": 1})
        acm = aws.client("acm")
        acm.list_certificates()
        assert throttled(acm.get_account_configuration) == RATE_EXCEEDED

    def test_none_by_default(self, aws):
        assert {get(aws)[0] for _ in range(60)} == {"EntityNotFound"}

    def test_sdks_try_again(self, aws, admin):
        admin("POST", "limits", {"service": "route53", "operation": "*", "burst": 1, "refill": 1})
        admin("POST", "clock", {"rate": 20})
        route53 = aws.client("route53", retries=5)
        answers = [route53.get_hosted_zone_count() for _ in range(2)]
        assert [each["ResponseMetadata"]["HTTPStatusCode"] for each in answers] == [200, 200]

    @pytest.mark.parametrize(
        ("limit", "message"),
        [
            ({}, "limit: expected service"),
            ({"published": "s3"}, "route53"),
            ({"service": "s", "operation": "o", "burst": 1, "refill": -1}, "refill"),
            ({"service": "route53"}, "operation"),
            ({"service": "s", "operation": "o", "burst": 0}, "burst"),
            ({"service": "s", "operation": "o", "burst": 1, "color": 1}, "limit: expected service"),
            ({"service": "s", "operation": "o", "burst": 1, "unit": "bytes"}, "bytes"),
        ],
    )
    def test_no_limit(self, admin, limit, message):
        status, told = admin.refused("POST", "limits", limit)
        assert status == 400
        assert message in told
        assert admin("GET", "limits") == {"limits": []}
