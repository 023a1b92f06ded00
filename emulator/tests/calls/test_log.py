"""The call log: every request of every service, counted by operation."""

import json
import urllib.request

import pytest
from botocore.exceptions import ClientError
from botocore.model import StructureShape

from edgetenants_emulator.calls.log import CallLog
from edgetenants_emulator.calls.parameters import MASK, SECRETS
from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol.operations import service_model


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


def test_a_call_names_the_app_that_made_it(aws, admin, monkeypatch):
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "provider-x")
    aws.client("sts").get_caller_identity()
    monkeypatch.delenv("AWS_SDK_UA_APP_ID")
    aws.client("sts").get_caller_identity()
    assert [call["app"] for call in admin("GET", "calls")["calls"]][-2:] == ["provider-x", ""]


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


def last(admin):
    return admin("GET", "calls")["calls"][-1]


class TestParameters:
    def test_of_cloudfront(self, aws, admin):
        made = aws.tenant(Parameters=[{"Name": "tier", "Value": "gold"}])
        call = last(admin)
        assert call["parameters"] == {
            "DistributionId": aws.parent,
            "Name": "acme",
            "Domains": [{"Domain": "acme.example.com"}],
            "Parameters": [{"Name": "tier", "Value": "gold"}],
        }
        assert call["request_id"] == made["ResponseMetadata"]["RequestId"]

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_of_a_call_that_a_fault_strikes(self, aws, admin, when):
        admin("POST", "faults", {"action": "throttle", "when": when})
        aws.refused("get_distribution_tenant", Identifier="nobody")
        assert last(admin)["parameters"] == {"Identifier": "nobody"}

    def test_of_a_call_above_a_limit(self, aws, admin):
        admin("POST", "limits", {"service": "cloudfront", "operation": "*", "burst": 1, "refill": 0})
        aws.cloudfront.list_connection_groups()
        assert aws.refused("get_connection_group", Identifier="edge")[0] == "Throttling"
        assert last(admin)["parameters"] == {"Identifier": "edge"}

    def test_of_other_protocols(self, aws, admin):
        aws.client("route53").list_hosted_zones_by_name(DNSName="example.com")
        assert last(admin)["parameters"] == {"DNSName": "example.com"}
        aws.client("acm").list_certificates(MaxItems=7)
        assert last(admin)["parameters"] == {"MaxItems": 7}
        role = "arn:aws:iam::210987654321:role/r"
        aws.client("sts").assume_role(RoleArn=role, RoleSessionName="me")
        assert last(admin)["parameters"] == {"RoleArn": role, "RoleSessionName": "me"}

    def test_without_secrets(self, aws, admin):
        pem = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
        with pytest.raises(ClientError):
            aws.client("acm").import_certificate(Certificate=pem, PrivateKey=pem, CertificateChain=pem)
        with pytest.raises(ClientError):
            aws.client("sts").assume_role_with_web_identity(
                RoleArn="arn:aws:iam::210987654321:role/r", RoleSessionName="me", WebIdentityToken="s3cret"
            )
        imported, assumed = admin("GET", "calls")["calls"][-2:]
        assert imported["parameters"] == {"Certificate": MASK, "PrivateKey": MASK, "CertificateChain": MASK}
        assert assumed["parameters"]["WebIdentityToken"] == MASK
        assert assumed["parameters"]["RoleSessionName"] == "me"

    @pytest.mark.parametrize("operation", sorted(HANDLERS))
    def test_no_operation_of_ours_takes_a_secret(self, operation):
        """They are logged as they are read."""
        shape = service_model("cloudfront").operation_model(operation).input_shape
        assert secrets_in(shape, ()) == []

    def test_of_what_cannot_be_read(self, aws, admin):
        url = f"{aws.url}/2020-05-31/distribution-tenants"
        scope = "any/20260101/us-east-1/cloudfront/aws4_request"
        headers = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}
        with pytest.raises(urllib.request.HTTPError):
            urllib.request.urlopen(urllib.request.Request(url, b"<oops", headers))
        assert (last(admin)["code"], last(admin)["parameters"]) == ("MalformedXML", {})


def secrets_in(shape, path):
    if shape is None or shape.name in path:
        return []
    if isinstance(shape, StructureShape):
        inside = [(n, m) for n, m in shape.members.items()]
        own = [n for n, m in inside if n in SECRETS and m.type_name in ("string", "blob")]
        # An IAM certificate's id by its old name.
        own = [n for n in own if (shape.name, n) != ("ViewerCertificate", "Certificate")]
        return own + [found for _, m in inside for found in secrets_in(m, (*path, shape.name))]
    return secrets_in(shape.member, path) if shape.type_name == "list" else []


class TestBounds:
    def test_the_parameters_of_old_calls_are_dropped(self):
        log = CallLog()
        calls = [log.begin("Op", "cloudfront", "1", 0.0) for _ in range(3)]
        for call in calls:
            log.keep(call, {"a": "b"}, log.KEPT_BYTES // 2 - 100)
        assert [call["parameters"] for call in log.report()["calls"]] == [None, {"a": "b"}, {"a": "b"}]

    def test_the_newest_calls_are_kept(self, monkeypatch):
        monkeypatch.setattr(CallLog, "KEPT", 2)
        log = CallLog()
        for _ in range(3):
            log.begin("Op", "cloudfront", "1", 0.0)
        report = log.report()
        assert [call["n"] for call in report["calls"]] == [2, 3]
        assert report["by_operation"] == {"Op": 3}


class TestFilters:
    @pytest.fixture(autouse=True)
    def some_calls(self, aws, other, admin):
        admin("DELETE", "calls")
        aws.tenant()
        other.refused("get_distribution_tenant", Identifier="nobody")
        aws.client("acm").list_certificates()

    @pytest.mark.parametrize(
        ("query", "numbers"),
        [
            ("operation=GetDistributionTenant", [2]),
            ("account=123456789012", [1, 3]),
            ("service=acm", [3]),
            ("code=EntityNotFound", [2]),
            ("account=123456789012&since=1", [3]),
        ],
    )
    def test_by_member(self, admin, query, numbers):
        report = admin("GET", f"calls?{query}")
        assert [call["n"] for call in report["calls"]] == numbers
        assert sum(report["by_operation"].values()) == len(numbers)

    def test_as_text_one_line_each(self, aws, admin):
        with urllib.request.urlopen(f"{admin.url}/calls?format=text") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            lines = answer.read().decode().splitlines()
        assert len(lines) == 3
        assert "cloudfront:CreateDistributionTenant" in lines[0]
        assert json.dumps("acme.example.com") in lines[0]
        assert "404 EntityNotFound" in lines[1]

    @pytest.mark.parametrize(
        ("query", "named"), [("since=x", "since"), ("format=xml", "format"), ("colour=red", "colour")]
    )
    def test_refuses(self, admin, query, named):
        status, message = admin.refused("GET", f"calls?{query}")
        assert (status, named in message) == (400, True)
