"""What a request's XML must be: the operation's root element, its members, each of its type, each once."""

import xml.etree.ElementTree as ET

import pytest
from botocore.model import StructureShape

from edgetenants_emulator import Settings
from edgetenants_emulator.cloudfront.handlers import HANDLERS, operation_model
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol import constraints, request_shape
from edgetenants_emulator.protocol.restxml import NAMESPACE

XMLNS = f'xmlns="{NAMESPACE}"'
FULL_WIDTH = "\uff11\uff12"
NO_INTEGERS = ["", " 1", "1 ", "+1", "1_000", FULL_WIDTH, "1.0", "0x10", "1e3", "one", "--1", "-", "9" * 5000]
OUT_OF_RANGE = [str(2**31), str(-(2**31) - 1), str(10**30)]
NO_BOOLEANS = ["", "True", "TRUE", "1", "yes", " true", "true ", "\u01b7rue"]


def listing(text):
    root = "ListDistributionTenantsRequest"
    return f"<{root} {XMLNS}><MaxItems>{text}</MaxItems></{root}>"


def updating(inside, root="UpdateDistributionTenantRequest", xmlns=XMLNS):
    return f"<{root} {xmlns}>{inside}</{root}>"


@pytest.fixture
def update(aws, admin, bare):
    """An update of a tenant by raw XML: status and code; nothing is changed by one that is refused."""
    made = aws.tenant()

    def send(body):
        before = admin("GET", "state")
        found = bare(
            "PUT", f"distribution-tenant/{made['DistributionTenant']['Id']}", body, If_Match=made["ETag"]
        )
        assert (admin("GET", "state") == before) is (found[0] >= 400)
        return found

    return send


@pytest.mark.parametrize("text", [*NO_INTEGERS, *OUT_OF_RANGE])
def test_an_integer_in_a_body(bare, text):
    assert bare("POST", "distribution-tenants", listing(text).encode()) == (400, "MalformedXML")


@pytest.mark.parametrize("text", ["1", "007", str(2**31 - 1)])
def test_an_integer_that_is_one(aws, bare, text):
    assert bare("POST", "distribution-tenants", listing(text)) == (200, "")


@pytest.mark.parametrize("text", [*NO_INTEGERS[1:], *OUT_OF_RANGE, "0", "-1"])
@pytest.mark.parametrize(
    "path", ["distribution", "distribution-tenant/{}/invalidation"], ids=["text", "integer"]
)
def test_an_integer_in_a_query(aws, bare, path, text):
    """botocore's model has MaxItems as a text here and as an integer there."""
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    escaped = "".join(f"%{byte:02x}" for byte in text.encode())
    assert bare("GET", f"{path.format(tenant_id)}?MaxItems={escaped}") == (400, "InvalidArgument")


@pytest.mark.parametrize("text", NO_BOOLEANS)
def test_a_boolean(update, text):
    assert update(updating(f"<Enabled>{text}</Enabled>").encode()) == (400, "MalformedXML")


@pytest.mark.parametrize("kind", ["HTTPPort", "HTTPSPort"])
@pytest.mark.parametrize(
    ("port", "accepted"),
    [(80, 1), (443, 1), (1024, 1), (65535, 1), (-1, 0), (0, 0), (81, 0), (1023, 0), (65536, 0)],
)
def test_a_port(aws, inherited, kind, port, accepted):
    server = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only", kind: port}
    origin = {"Id": "o", "DomainName": "o.example.com", "CustomOriginConfig": server}
    config = {"certificate": inherited[aws.account], "Origins": {"Quantity": 1, "Items": [origin]}}
    if accepted:
        aws.distribution("two", **config)
    else:
        with pytest.raises(aws.cloudfront.exceptions.InvalidArgument, match=kind[1:]):
            aws.distribution("two", **config)


def test_no_number_is_below_zero():
    """Quantities, ports, seconds, statuses: CloudFront's model has no other numbers."""
    model = operation_model("CreateDistribution")
    for name, number in (("ErrorCode", "-1"), ("ErrorCachingMinTTL", "-1")):
        page = {"ErrorCode": 404, name: int(number)}
        config = {"CustomErrorResponses": {"Quantity": 1, "Items": [page]}}
        with pytest.raises(AwsError, match=f"'{number}' at .*{name[1:]}"):
            constraints.check(model, {"DistributionConfig": config})


WITH_BODY = [
    name
    for name in HANDLERS
    if isinstance(shape := operation_model(name).input_shape, StructureShape)
    and any("location" not in member.serialization for member in shape.members.values())
]


def request_of(name):
    """Method and path of an operation, anything for its labels."""
    http = operation_model(name).http
    path = http["requestUri"].removeprefix("/2020-05-31/")
    for label in ("Id", "Identifier", "Resource"):
        path = path.replace(f"{{{label}}}", "any")
    return http["method"], path


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize(
    "body",
    ["<Wrong/>", f"<Wrong {XMLNS}/>", '<{root} xmlns="http://cloudfront.amazonaws.com/doc/2019-03-26/"/>'],
)
def test_another_root(bare, name, body):
    shape = operation_model(name).input_shape
    payload = shape.members.get(shape.serialization.get("payload", ""), shape)
    root = payload.serialization["name"]
    assert bare(*request_of(name), body.format(root=root), If_Match="E23ZP02F085DFQ") == (400, "MalformedXML")


def test_another_root_changes_nothing(update):
    assert update(updating("<Enabled>false</Enabled>", "CreateDistributionTenantRequest")) == (
        400,
        "MalformedXML",
    )
    assert update(updating("<Enabled>false</Enabled>", xmlns=""))[0] == 200


UNKNOWN = {
    "at the top": "<Enabled>true</Enabled><Colour>red</Colour>",
    "of another operation": "<Name>other</Name>",
    "in lower case": "<enabled>false</enabled>",
    "in a structure": "<Customizations><WebACL><Action>disable</Action></WebACL></Customizations>",
    "in a list": "<Parameters><member><Name>tier</Name><Default>a</Default></member></Parameters>",
    "in another namespace": '<Enabled xmlns="http://example.com/">false</Enabled>',
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_members(update, case):
    assert update(updating(UNKNOWN[case])) == (400, "MalformedXML")


def test_an_unknown_member_is_named():
    model = operation_model("UpdateDistributionTenant")
    body = updating(UNKNOWN["in a list"]).encode()
    with pytest.raises(
        AwsError, match=r"'parameters\.1\.member\.default' is not a member; members: Name, Value"
    ):
        request_shape.check(model, body, Settings())


def test_unknown_members_may_be_ignored(update, admin):
    admin.settings(unknown_members_refused=False)
    assert update(updating(UNKNOWN["at the top"]))[0] == 200


TWISTED = {
    "a member twice": "<Enabled>true</Enabled><Enabled>false</Enabled>",
    "text in a structure": "<Customizations>no text</Customizations>",
    "text after a member": "<Enabled>false</Enabled>text",
    "an element in a text": "<DistributionId><b/>E1</DistributionId>",
    "text in a list": "<Domains>text</Domains>",
}


@pytest.mark.parametrize("case", TWISTED)
def test_twisted_bodies(update, case):
    assert update(updating(TWISTED[case])) == (400, "MalformedXML")


NO_DOCUMENTS = {
    "no XML": b"<Create",
    "an unknown encoding": b'<?xml version="1.0" encoding="nothing"?><a/>',
    "an encoding of many bytes": b'<?xml version="1.0" encoding="utf-7"?><a/>',
    "no text": b"\xff\xfe\x00",
    "a document type": f'<!DOCTYPE a [<!ENTITY e "1">]>{listing("&e;")}'.encode(),
    "two roots": f"{listing('1')}{listing('1')}".encode(),
    "deep": b"<a>" * 100_000 + b"</a>" * 100_000,
}


@pytest.mark.parametrize("case", NO_DOCUMENTS)
def test_no_documents(bare, case):
    assert bare("POST", "distribution-tenants", NO_DOCUMENTS[case]) == (400, "MalformedXML")


def test_a_document_in_another_encoding(aws, bare):
    body = f'<?xml version="1.0" encoding="utf-16"?>{listing("1")}'.encode("utf-16")
    assert bare("POST", "distribution-tenants", body) == (200, "")


@pytest.mark.parametrize(
    "path", ["distribution-tenant/%0B%00%ef%bf%be", "distribution-tenant/%ff", "distribution?Marker=%0B"]
)
def test_what_xml_cannot_hold_is_not_in_an_answer(emulator, bare, path):
    status, _ = bare("GET", path)
    assert 400 <= status < 500
    ET.fromstring(bare.body)
