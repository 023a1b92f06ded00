"""What no SDK shows: raw requests, element names, error bodies, header names."""

import http.client
import re
import xml.etree.ElementTree as ET
from urllib.parse import quote, urlsplit

import pytest
from botocore.model import ListShape, StructureShape
from botocore.serialize import create_serializer

from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.errors import STATUS, ErrorCode
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.exchange import Request
from edgetenants_emulator.protocol.operations import resolve, scope_of, service_model

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
    assert root.find(f"{{{NAMESPACE}}}Domains")[0].tag == f"{{{NAMESPACE}}}member"


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


def test_a_carriage_return_is_no_new_line(aws, send):
    body = create_body(
        aws.parent, "member", Parameters="<member><Name>tier</Name><Value>a&#xD;\nb</Value></member>"
    )
    assert b"<Value>a&#xD;\nb</Value>" in send("POST", "distribution-tenant", body)[2]


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


STAMP = "2026-01-02T03:04:05.678Z"
SPELLED = {
    "Domains": "member",
    "Parameters": "member",
    "ParameterDefinitions": "member",
    "ValidationTokenDetails": "member",
    "DnsConfigurationList": "DnsConfiguration",
    "DistributionTenantList": "DistributionTenantSummary",
    "ConnectionGroups": "ConnectionGroupSummary",
    "Locations": "Location",
    "AnycastIps": "AnycastIp",
}
"""What stands in the lists of tenants, by AWS's SDK for Go, which reads no other names (deserializers.go)."""


def sample(shape, label="x"):
    """A value for each member of a shape, with all that XML writes in another way."""
    if isinstance(shape, StructureShape):
        return {name: sample(member, name) for name, member in shape.members.items()}
    if isinstance(shape, ListShape):
        return [sample(shape.member, f"{label} {n}") for n in (1, 2)]
    text = f"{label} <&> '\"' ü \U0001f310 \n"
    return {"boolean": False, "integer": 7, "long": 8, "timestamp": STAMP}.get(shape.type_name, text)


def strictly(shape, element):
    """What a reader finds that knows the model's names alone, as those of Go and JavaScript do."""
    if isinstance(shape, StructureShape):
        names = {member.serialization.get("name", name): name for name, member in shape.members.items()}
        tags = [child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in element]
        assert len(set(tags)) == len(tags)
        assert set(tags) <= set(names), f"{shape.name} has no {set(tags) - set(names)}"
        return {
            names[tag]: strictly(shape.members[names[tag]], child)
            for tag, child in zip(tags, element, strict=True)
        }
    if isinstance(shape, ListShape):
        item = shape.member.serialization.get("name", "member")
        assert {child.tag for child in element} == {f"{{{NAMESPACE}}}{item}"}, shape.name
        return [strictly(shape.member, child) for child in element]
    text = element.text or ""
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    return int(text) if shape.type_name in ("integer", "long") else text


def located(shape, place):
    """The members in that place, with their names there."""
    return {
        name: member.serialization.get("name", name)
        for name, member in shape.members.items()
        if member.serialization.get("location") == place
    }


def plain(shape):
    """Values for what stands outside of the body: a header has no lines."""
    outside = {**located(shape, "header"), **located(shape, "uri"), **located(shape, "querystring")}
    return {name: 7 if shape.members[name].type_name == "integer" else "plain" for name in outside}


@pytest.mark.parametrize("name", HANDLERS)
def test_an_answer_is_read_by_the_models_names_alone(name):
    operation = service_model("cloudfront").operation_model(name)
    shape = operation.output_shape
    in_headers = {} if shape is None else located(shape, "header")
    result = {} if shape is None else sample(shape) | dict.fromkeys(in_headers, "plain")
    response = restxml.serialize(operation, result, "an id")
    assert response.status == operation.http["responseCode"]
    assert response.headers["x-amzn-RequestId"] == "an id"
    assert {key: response.headers[key] for key in in_headers.values()} == dict.fromkeys(
        in_headers.values(), "plain"
    )
    if shape is None:
        assert response.body == b""
        return
    root = ET.fromstring(response.body)
    payload = shape.serialization.get("payload")
    if payload:
        assert root.tag == f"{{{NAMESPACE}}}{shape.members[payload].serialization.get('name', payload)}"
        assert strictly(shape.members[payload], root) == result[payload]
    else:
        inside = {name: value for name, value in result.items() if name not in in_headers}
        assert strictly(shape, root) == inside


@pytest.mark.parametrize("name", HANDLERS)
def test_a_request_is_read_as_an_sdk_writes_it(name):
    operation = service_model("cloudfront").operation_model(name)
    wanted = sample(operation.input_shape) | plain(operation.input_shape)
    written = create_serializer("rest-xml", include_validation=False).serialize_to_request(wanted, operation)
    query = "&".join(f"{key}={value}" for key, value in written["query_string"].items())
    path, _, fixed = written["url_path"].partition("?")
    headers = {key.lower(): value for key, value in written["headers"].items()} | {
        key.lower(): value for key, value in SIGNED.items()
    }
    body = written["body"] or b""
    request = Request(written["method"], path, "&".join(filter(None, (fixed, query))), headers, body)
    found = resolve(request, scope_of(request))
    assert found.name == name
    assert restxml.parse(operation, request, found.labels) == wanted


def test_the_items_of_lists_are_spelled_as_gos_sdk_reads_them():
    model = service_model("cloudfront")
    result = {name: sample(model.operation_model(name).output_shape) for name in HANDLERS if outputs(name)}
    found = {}
    for name, value in result.items():
        body = restxml.serialize(model.operation_model(name), value, "").body
        for element in ET.fromstring(body).iter():
            found.setdefault(element.tag.rpartition("}")[2], set()).update(
                child.tag.rpartition("}")[2] for child in element
            )
    assert {name: found[name] for name in SPELLED} == {name: {item} for name, item in SPELLED.items()}


def outputs(name):
    return service_model("cloudfront").operation_model(name).output_shape is not None


def test_no_list_of_the_models_is_flattened():
    for service in ("cloudfront", "route53"):
        model = service_model(service)
        shapes = [model.shape_for(name) for name in model.shape_names]
        members = [m for each in shapes if isinstance(each, StructureShape) for m in each.members.values()]
        assert not [each for each in (*shapes, *members) if each.serialization.get("flattened")]
        assert not [each for each in members if each.serialization.get("xmlAttribute")]


def test_moments_are_written_as_the_protocol_has_them(aws, send):
    made = aws.tenant()["DistributionTenant"]
    root = ET.fromstring(send("GET", f"distribution-tenant/{made['Id']}")[2])
    for name in ("CreatedTime", "LastModifiedTime"):
        text = root.findtext(f"{{{NAMESPACE}}}{name}")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)


@pytest.mark.parametrize(
    ("call", "namespace"),
    [
        (("GetDistributionTenant", "GET", "/2020-05-31/distribution-tenant/dt_none"), NAMESPACE),
        (
            ("GetHostedZone", "GET", "/2013-04-01/hostedzone/ZNONE"),
            "https://route53.amazonaws.com/doc/2013-04-01/",
        ),
        (("GetCallerIdentity", "POST", "2011-06-15"), "https://sts.amazonaws.com/doc/2011-06-15/"),
        (("ListUsers", "POST", "2010-05-08"), "https://iam.amazonaws.com/doc/2010-05-08/"),
    ],
    ids=["cloudfront", "route53", "sts", "iam"],
)
def test_an_error_has_the_namespace_of_its_service(emulator, admin, request, call, namespace):
    operation, method, where = call
    service = request.node.callspec.id
    admin("POST", "faults", {"operation": operation, "error": {"code": "AccessDenied"}})
    headers = {"Authorization": SIGNED["Authorization"].replace("/cloudfront/", f"/{service}/")}
    body = None
    if method == "POST":
        body, where = f"Action={operation}&Version={where}", "/"
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection = http.client.HTTPConnection(urlsplit(emulator.url).netloc, timeout=10)
    connection.request(method, where, body, headers)
    answered = connection.getresponse()
    root = ET.fromstring(answered.read())
    connection.close()
    assert answered.status == 403
    assert root.tag == f"{{{namespace}}}ErrorResponse"
