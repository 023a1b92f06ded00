"""Rate limits: token buckets on the virtual clock."""

import pytest
from botocore.exceptions import ClientError

THROTTLED = ("Throttling", 400)


def get(aws):
    return aws.refused("get_distribution_tenant", Identifier="nobody")


def test_cloudfronts_by_setting(aws, other, admin):
    admin.settings(cloudfront_requests_per_second=0.5, cloudfront_requests_burst=2)
    assert [get(aws)[0] for _ in range(3)] == ["EntityNotFound", "EntityNotFound", "Throttling"]
    assert get(other)[0] == "EntityNotFound"
    aws.cloudfront.list_distribution_tenants()
    admin.step(1)
    assert get(aws) == THROTTLED
    admin.step(1)
    assert [get(aws)[0] for _ in range(2)] == ["EntityNotFound", "Throttling"]


def test_a_throttled_call_has_no_effect(aws, admin):
    admin("POST", "rates", {"operation": "CreateDistributionTenant", "per_second": 0})
    aws.tenant("first")
    with pytest.raises(ClientError, match=r"\(Throttling\).*Rate exceeded"):
        aws.tenant("second")
    assert [tenant["Name"] for tenant in admin("GET", "state")["tenants"]] == ["first"]
    admin("DELETE", "rates")
    aws.tenant("second")


def test_a_service_as_a_whole(aws, admin):
    admin("POST", "rates", {"service": "acm", "per_second": 1, "burst": 1})
    acm = aws.client("acm")
    acm.list_certificates()
    with pytest.raises(ClientError, match="Throttling"):
        acm.get_account_configuration()


def test_route_53s_as_published(aws, admin):
    admin.settings(route53_limits=True)
    route53 = aws.client("route53")
    for _ in range(50):
        route53.get_hosted_zone_count()
    with pytest.raises(ClientError, match="Throttling"):
        route53.list_hosted_zones()
    admin.step(0.1)
    route53.list_hosted_zones()


def test_none_by_default(aws):
    for _ in range(60):
        assert get(aws)[0] == "EntityNotFound"


@pytest.mark.parametrize("body", [{}, {"per_second": -1}, {"per_second": 1, "burst": 0}, {"rate": 1}])
def test_a_limit_that_makes_no_sense(admin, body):
    assert admin.refused("POST", "rates", body)[0] == 400
    assert admin("GET", "rates") == {"rates": []}
