"""Requests by chance: none fails, none hangs, and what is refused changes nothing.

More of them: python -m edgetenants_emulator.fuzz --count 100000 --seed 7
"""

import http.client

from edgetenants_emulator import fuzz
from edgetenants_emulator.cloudfront import tenants
from edgetenants_emulator.cloudfront.handlers import HANDLERS

COUNT = 5000
"""About ten seconds on an idle machine."""


def test_every_request_is_answered_as_it_must_be():
    report = fuzz.run(COUNT)
    assert not report.findings, "\n".join(map(str, report.findings[:5]))
    assert sum(report.statuses.values()) == COUNT
    # A fuzz that is refused at the door finds nothing behind it.
    assert not [name for name in HANDLERS if not report.operations[name]]


def test_what_is_wrong_is_found(monkeypatch):
    """A handler that fails, one that answers too little, one that changes the state and then refuses."""

    def breaks(*_):
        raise RuntimeError("broken")

    def changes(world, account, params):
        tenants.remove(world, tenants.by_id(world, account, params["Id"]))
        return tenants.by_id(world, account, params["Id"])

    monkeypatch.setitem(HANDLERS, "ListConnectionGroups", breaks)
    monkeypatch.setitem(HANDLERS, "GetDistribution", lambda *_: {"Distribution": {"Id": "E1"}})
    monkeypatch.setitem(HANDLERS, "DeleteDistributionTenant", changes)
    found = {(each.request.operation, each.why.partition(":")[0]) for each in fuzz.run(800).findings}
    assert {
        ("ListConnectionGroups", "500, a failure"),
        ("GetDistribution", "200, does not match the model"),
        ("DeleteDistributionTenant", "404, but the state has changed"),
    } <= found


def test_a_request_without_answer_is_found(monkeypatch):
    def hangs(*_):
        raise TimeoutError

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", hangs)
    assert {each.why for each in fuzz.run(3).findings} == {"no response: TimeoutError()"}
