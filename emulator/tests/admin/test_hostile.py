"""The admin API under values that no test means: refused with a message, and the emulator goes on."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from edgetenants_emulator.admin.api import _ENDPOINTS

BODIES = {
    "deep": "[" * 100_000,
    "half a character": '{"distributions": [{"id": "\\udfff"}], "name": "\\ud800", "type": "TXT"}',
    "no number": '{"step": NaN, "rate": Infinity, "deploySeconds": NaN, "deploy_tenant_seconds": NaN}',
    "beyond all time": '{"step": 1e300}',
    "the end of time": '{"step": 300000000000}',
    "a rate beyond all time": '{"rate": 1e300}',
    "a number without end": '{"step": ' + "9" * 5000 + "}",
    "a list": "[1]",
    "a text": '"text"',
    "null": "null",
    "members without sense": '{"step": [], "served": 7, "status": {}, "Enabled": 1, "burst": "x"}',
    "no UTF-8": b"\xff\xfe{",
}


@pytest.fixture
def send(emulator):
    def send(method, path, body):
        connection = http.client.HTTPConnection(urlsplit(emulator.url).netloc, timeout=10)
        connection.request(method, f"/_edgetenants/{path}", body)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, text

    return send


@pytest.mark.parametrize("case", BODIES)
def test_each_request_is_answered(send, aws, case):
    aws.tenant()
    body = BODIES[case] if isinstance(BODIES[case], bytes) else BODIES[case].encode()
    for method, name, rest in _ENDPOINTS:
        if method in ("POST", "PATCH", "PUT"):
            status, text = send(method, f"{name}/acme" if rest else name, body)
            assert status < 500, (method, name, text)
            json.loads(text)
    status, _ = send("GET", "state", None)
    assert status == 200
    assert send("POST", "clock", b'{"rate": 0}')[0] == 200
    assert send("POST", "reset", None)[0] == 200


def test_after_the_end_of_time_resources_are_made_still(send, aws, admin):
    admin("POST", "clock", {"step": 300_000_000_000})
    assert aws.tenant()["DistributionTenant"]["CreatedTime"].year == 9999


@pytest.mark.parametrize(
    "path",
    ["clock?since=1e99&timeout=NaN", "calls?since=%EF%BC%91", "faults/f1?wait=NaN", "clock?timeout=-1"],
)
def test_each_query_is_answered(send, path):
    status, text = send("GET", path, None)
    assert status < 500
    json.loads(text)
