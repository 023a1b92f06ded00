"""Requests to the admin API, as a server sees them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sandbox.emulator_admin import EmulatorAdmin
from sandbox.errors import WorldError


@pytest.fixture
def server():
    seen = []
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            seen.append((self.command, self.path, body))
            status, answer = answers.get(self.path.partition("?")[0].removeprefix("/_edgetenants"), (200, {}))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield EmulatorAdmin(f"http://127.0.0.1:{running.server_port}"), seen, answers
        running.shutdown()


CASES = {
    "step": (lambda e: e.step(60), ("POST", "/clock", {"step": 60})),
    "rate": (lambda e: e.set_rate(20), ("POST", "/clock", {"rate": 20})),
    "clock": (lambda e: e.clock(), ("GET", "/clock", None)),
    "seed": (lambda e: e.seed({"a": 1}), ("POST", "/seed", {"a": 1})),
    "state": (lambda e: e.state(), ("GET", "/state", None)),
    "edit": (
        lambda e: e.edit_tenant("shop.acme/x", {"Enabled": False}),
        ("PATCH", "/distribution-tenants/shop.acme%2Fx", {"Enabled": False}),
    ),
    "remove": (lambda e: e.remove_tenant("dt_1"), ("DELETE", "/distribution-tenants/dt_1", None)),
    "calls": (lambda e: e.calls(since=7), ("GET", "/calls?since=7", None)),
    "reset calls": (lambda e: e.reset_calls(), ("DELETE", "/calls", None)),
    "release": (lambda e: e.release("f1"), ("DELETE", "/faults/f1", None)),
    "drop": (lambda e: e.release("f1", drop=True), ("DELETE", "/faults/f1?drop=true", None)),
    "clear": (lambda e: e.clear_faults(), ("DELETE", "/faults", None)),
    "settings": (lambda e: e.change_settings({"a": 1}), ("PATCH", "/settings", {"a": 1})),
}


@pytest.mark.parametrize("case", CASES)
def test_each_request_is_what_the_emulator_serves(server, case):
    emulator, seen, _ = server
    act, (method, path, body) = CASES[case]
    act(emulator)
    assert seen == [(method, f"/_edgetenants{path}", body)]


FAULTS = {
    "hold": (lambda e: e.hold("Create", nth=2, when="after"), {"nth": 2, "when": "after", "action": "hold"}),
    "delay": (lambda e: e.delay("Create", 5), {"nth": 1, "when": "before", "action": "delay", "seconds": 5}),
    "reset": (lambda e: e.reset_connection("Create"), {"nth": 1, "when": "before", "action": "reset"}),
    "fail": (
        lambda e: e.fail("Create", {"code": "Throttling", "status": 429}, every=True),
        {
            "nth": 1,
            "when": "before",
            "action": "fail",
            "error": {"code": "Throttling", "status": 429},
            "every": True,
        },
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_armed_and_known_by_id(server, case):
    emulator, seen, answers = server
    answers["/faults"] = (200, {"id": "f9"})
    act, body = FAULTS[case]
    assert act(emulator) == "f9"
    assert seen == [("POST", "/_edgetenants/faults", {"operation": "Create", **body})]


def test_waiting_for_a_held_call(server):
    emulator, seen, answers = server
    answers["/faults/f1"] = (200, {"state": "held"})
    assert emulator.wait_held("f1", seconds=3)
    answers["/faults/f1"] = (200, {"state": "armed"})
    assert not emulator.wait_held("f1", seconds=3)
    assert seen[0][1] == "/_edgetenants/faults/f1?wait=3"


def test_a_tenant_by_name(server):
    emulator, _, answers = server
    answers["/state"] = (200, {"tenants": [{"Name": "a"}, {"Name": "b", "Id": "dt_b"}]})
    assert emulator.tenant("b") == {"Name": "b", "Id": "dt_b"}
    assert emulator.tenant("c") == {}


def test_a_refusal_has_the_emulators_words(server):
    emulator, _, answers = server
    answers["/clock"] = (400, {"message": "the clock does not go backwards"})
    with pytest.raises(WorldError, match=r"refused POST /clock: 400.*backwards"):
        emulator.step(-1)


def test_no_emulator_is_said_so():
    with pytest.raises(WorldError, match=r"does not respond at http://127\.0\.0\.1:9"):
        EmulatorAdmin("http://127.0.0.1:9").state()
