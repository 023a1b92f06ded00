"""What no SDK shows: raw requests, element names, error bodies, header names."""

import http.client
import xml.etree.ElementTree as ET
from urllib.parse import quote, urlsplit

import pytest

from edgetenants_emulator.cloudfront import HANDLERS
from edgetenants_emulator.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.errors import STATUS, ErrorCode
from edgetenants_emulator.operations import service_model

NAMESPACE = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
ROOT = "CreateDistributionTenantRequest"
SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/cloudfront/aws4_request, "
    "SignedHeaders=host, Signature=0"
}


@pytest.fixture
def send(emulator):
    """A raw request over one kept-alive connection: status, headers, body."""
    connection = http.client.HTTPConnection(urlsplit(emulator.url).netloc, timeout=10)

    def request(method, path, body=None, headers=SIGNED, **extra):
        chunked = "Transfer-Encoding" in extra
        all_headers = {**headers, **extra}
        connection.request(method, f"/2020-05-31/{path}", body, all_headers, encode_chunked=chunked)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    yield request
    connection.close()


def error(body):
    root = ET.fromstring(body)
    assert root.tag == f"{{{NAMESPACE}}}ErrorResponse"
    find = lambda name: root.findtext(f".//{{{NAMESPACE}}}{name}")  # noqa: E731
    assert find("Type") in ("Sender", "Receiver")
    assert find("RequestId")
    return find("Code"), find("Message")


def create_body(parent, item, **inside):
    members = "".join(f"<{name}>{value}</{name}>" for name, value in inside.items())
    return (
        f'<CreateDistributionTenantRequest xmlns="{NAMESPACE}"><DistributionId>{parent}</DistributionId>'
        f"<Name>acme</Name><Domains><{item}><Domain>a.example.com</Domain></{item}></Domains>{members}"
        "</CreateDistributionTenantRequest>"
    )


@pytest.mark.parametrize(
    "item", ["member", "DomainItem"], ids=["as SDKs write lists", "as the reference does"]
)
def test_both_spellings_of_a_list(aws, send, item):
    status, headers, body = send(
        "POST", "distribution-tenant", create_body(aws.parent, item, Enabled="false")
    )
    root = ET.fromstring(body)
    assert status == 201
    assert headers["ETag"] == "E23ZP02F085DFQ"
    assert headers["x-amzn-RequestId"]
    assert root.tag == f"{{{NAMESPACE}}}DistributionTenant"
    assert root.findtext(f"{{{NAMESPACE}}}Enabled") == "false"
    assert root.find(f"{{{NAMESPACE}}}Domains")[0].tag == f"{{{NAMESPACE}}}DomainResult"


def test_an_empty_list_request(aws, send):
    aws.tenant()
    for body in (None, f'<ListDistributionTenantsRequest xmlns="{NAMESPACE}"/>'):
        status, _, answer = send("POST", "distribution-tenants", body)
        root = ET.fromstring(answer)
        assert (status, root.tag) == (200, f"{{{NAMESPACE}}}ListDistributionTenantsResult")
        assert (
            root.find(f"{{{NAMESPACE}}}DistributionTenantList")[0].tag
            == f"{{{NAMESPACE}}}DistributionTenantSummary"
        )


def test_an_update_without_body_keeps_all(aws, send):
    made = aws.tenant()["DistributionTenant"]
    status, headers, _ = send(
        "PUT", f"distribution-tenant/{made['Id']}", headers={**SIGNED, "If-Match": "E23ZP02F085DFQ"}
    )
    assert (status, headers["ETag"]) == (200, "ETVPDKIKX0DER")
    found = aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]
    assert {**found, "LastModifiedTime": made["LastModifiedTime"]} == made


def test_a_delete_has_no_body(aws, admin, send):
    made = aws.tenant(Enabled=False)
    admin.step(60)
    path = f"distribution-tenant/{made['DistributionTenant']['Id']}"
    status, headers, body = send("DELETE", path, headers={**SIGNED, "If-Match": made["ETag"]})
    assert (status, body) == (204, b"")
    assert headers["x-amzn-RequestId"]


def test_an_arn_in_a_path_is_encoded(aws, send):
    arn = aws.tenant()["DistributionTenant"]["Arn"]
    assert send("GET", f"distribution-tenant/{quote(arn, safe='')}")[0] == 200


def test_text_is_escaped(aws, send):
    made = aws.tenant(Parameters=[{"Name": "tier", "Value": "<gold & more>"}])["DistributionTenant"]
    assert b"&lt;gold &amp; more&gt;" in send("GET", f"distribution-tenant/{made['Id']}")[2]
    assert made["Parameters"] == [{"Name": "tier", "Value": "<gold & more>"}]


BROKEN = {
    "no XML": ("<Create", "MalformedXML"),
    "another type": ("<R><MaxItems>many</MaxItems></R>", "MalformedXML"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_xml(send, case):
    body, code = BROKEN[case]
    status, _, answer = send("POST", "distribution-tenants", body)
    assert (status, error(answer)[0]) == (400, code)


def test_a_missing_member_is_named(aws, send):
    status, _, body = send(
        "POST", "distribution-tenant", f'<{ROOT} xmlns="{NAMESPACE}"><Name>acme</Name></{ROOT}>'
    )
    code, message = error(body)
    assert (status, code) == (400, "InvalidArgument")
    assert "'distributionId'" in message
    assert "'domains'" in message


def test_a_missing_if_match(aws, send):
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    for method in ("PUT", "DELETE"):
        status, _, body = send(method, f"distribution-tenant/{tenant_id}")
        assert (status, error(body)[0]) == (400, "InvalidIfMatchVersion")


def test_without_credentials(send):
    status, headers, body = send("GET", "distribution-tenant/acme", headers={})
    assert (status, error(body)[0]) == (403, "MissingAuthenticationToken")
    assert headers["x-amzn-RequestId"]


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({}, (403, "MissingAuthenticationToken")),
        ({"Authorization": SIGNED["Authorization"].replace("key/", "k/e/y/")}, (400, "IncompleteSignature")),
    ],
)
@pytest.mark.parametrize("action", ["GetCallerIdentity", "AssumeRole"])
def test_sts_wants_credentials_too(emulator, given, refusal, action):
    connection = http.client.HTTPConnection(urlsplit(emulator.url).netloc, timeout=10)
    form = {"Content-Type": "application/x-www-form-urlencoded", **given}
    connection.request("POST", "/", f"Action={action}&Version=2011-06-15", form)
    response = connection.getresponse()
    told = ET.fromstring(response.read()).findtext(".//{*}Code")
    connection.close()
    assert (response.status, told) == refusal


def test_an_operation_that_the_emulator_has_not_is_named(send):
    status, _, body = send("GET", "streaming-distribution")
    code, message = error(body)
    assert (status, code) == (501, "NotImplemented")
    assert "ListStreamingDistributions" in message


def test_a_path_that_aws_has_not(send):
    status, _, body = send("GET", "no/such/path")
    assert (status, error(body)[0]) == (404, "UnknownOperationException")


def test_a_chunked_body(aws, send):
    chunks = iter([create_body(aws.parent, "member").encode()])
    assert send("POST", "distribution-tenant", chunks, **{"Transfer-Encoding": "chunked"})[0] == 201


def test_a_broken_chunk(send):
    status, headers, _ = send("POST", "distribution-tenants", b"no chunk\r\n", **{"Content-Length": "x"})
    assert (status, headers["Connection"]) == (400, "close")


def test_statuses_are_the_models():
    model = service_model("cloudfront")
    for code in ConfigErrorCode:
        declared = model.shape_for(code).metadata["error"]["httpStatusCode"]
        assert refusal(code, "").status == declared, code
    for code in ErrorCode:
        if code in model.shape_names:
            assert STATUS[code] == model.shape_for(code).metadata["error"]["httpStatusCode"], code
    assert set(STATUS) == set(ErrorCode)


def test_a_missing_body(aws, send):
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    status, _, body = send("POST", f"distribution-tenant/{tenant_id}/invalidation")
    assert (status, error(body)[0]) == (400, "MissingBody")


def test_every_error_that_a_tenants_operation_declares_is_known():
    operations = [name for name in HANDLERS if "Tenant" in name or "Domain" in name or "Group" in name]
    declared = {
        shape.name
        for name in [*operations, "GetManagedCertificateDetails", "VerifyDnsConfiguration"]
        for shape in service_model("cloudfront").operation_model(name).error_shapes
    }
    assert len(operations) > 15
    assert declared <= set(ErrorCode)
