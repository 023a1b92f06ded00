"""The call log: every request of every service, counted by operation."""

import pytest
from botocore.exceptions import ClientError


def test_what_is_logged(aws, admin):
    admin("DELETE", "calls")
    admin.step(100)
    aws.tenant()
    aws.refused("get_distribution_tenant", Identifier="nobody")
    report = admin("GET", "calls")
    assert report["total"] == 2
    assert report["by_operation"] == {"CreateDistributionTenant": 1, "GetDistributionTenant": 1}
    made, got = report["calls"]
    assert (made["n"], made["service"], made["account"], made["target"]) == (
        1,
        "cloudfront",
        "123456789012",
        "acme",
    )
    assert (made["status"], made["code"], made["virtual"]) == (201, "", 100)
    assert (got["n"], got["target"], got["status"], got["code"]) == (2, "nobody", 404, "EntityNotFound")
    assert got["real"] >= made["real"]


def test_since_a_number(aws, admin):
    total = admin("GET", "calls")["total"]
    aws.tenant()
    report = admin("GET", f"calls?since={total}")
    assert [call["n"] for call in report["calls"]] == [total + 1]
    assert report["by_operation"] == {"CreateDistributionTenant": 1}
    assert report["total"] == total + 1


def test_retries_are_calls(aws, admin):
    admin("POST", "faults", {"operation": "GetDistributionTenant", "every": True})
    with pytest.raises(ClientError):
        aws.client("cloudfront", retries=3).get_distribution_tenant(Identifier="acme")
    assert admin("GET", "calls")["by_operation"]["GetDistributionTenant"] == 3


def test_other_services_are_counted(aws, admin):
    admin("DELETE", "calls")
    aws.client("acm").list_certificates()
    aws.client("sts").get_caller_identity()
    route53 = aws.client("route53")
    zone = route53.create_hosted_zone(Name="example.com", CallerReference=str(id(admin)))["HostedZone"]["Id"]
    route53.list_resource_record_sets(HostedZoneId=zone)
    found = [(call["service"], call["operation"]) for call in admin("GET", "calls")["calls"]]
    assert found == [
        ("acm", "ListCertificates"),
        ("sts", "GetCallerIdentity"),
        ("route53", "CreateHostedZone"),
        ("route53", "ListResourceRecordSets"),
    ]


def test_the_errors_of_other_services_have_their_code(aws, admin):
    acm = aws.client("acm")
    with pytest.raises(acm.exceptions.ResourceNotFoundException):
        acm.describe_certificate(CertificateArn="arn:aws:acm:us-east-1:123456789012:certificate/0000-0000")
    call = admin("GET", "calls")["calls"][-1]
    assert (call["status"], call["code"]) == (400, "ResourceNotFoundException")


def test_admin_requests_are_none(aws, admin):
    before = admin("GET", "calls")["total"]
    admin.step(1)
    admin("GET", "state")
    assert admin("GET", "calls")["total"] == before
