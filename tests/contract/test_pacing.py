"""Tenants that wait for their certificates, which may take weeks, hold up none of the claim's others."""

from __future__ import annotations

import pytest

from tests.contract import test_isolation_switches
from tests.contract.test_isolation_switches import Shop

DOMAINS = [f"{letter}.customer.test" for letter in "abcd"]
PLAN = {"certificate": {"mode": "Managed", "validation": "SelfHosted"}}


@pytest.mark.parametrize("denied", ["", "VerifyDnsConfiguration"])
def test_certificates_that_wait_for_their_owners_hold_up_no_others(aws, denied, monkeypatch):
    monkeypatch.setattr(test_isolation_switches, "DOMAINS", DOMAINS)
    before = aws.admin("GET", "settings")["certificate_issue_seconds"]
    aws.admin("PATCH", "settings", {"certificate_issue_seconds": 360_000})
    try:
        if denied:
            aws.fault(denied, every=True, code="AccessDenied", status=403, message="no")
        shop = Shop(aws, "PerDomain", PLAN)
        shop.turn(12)
    finally:
        aws.admin("DELETE", "faults")
        aws.admin("PATCH", "settings", {"certificate_issue_seconds": before})
    assert [world.ready()[1] for world in shop.worlds.values()] == ["CertificatePending"] * len(DOMAINS)
