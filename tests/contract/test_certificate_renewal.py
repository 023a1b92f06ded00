"""Managed certificates that AWS cannot renew: another one is there in time, or the domain that is in the way
is named in time. On the emulator's virtual clock, day by day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provider.cloudfront.memory.account_memory import AccountMemory
from tests.contract.emulated import DISTRIBUTION, Emulated
from tests.unit.provider.world import TODAY, World, managed

DAY = 24 * 3600.0
HOUR = 3600.0
GONE, KEPT = "gone.customer.test", "kept.customer.test"
REQUEST = {"validationTokenHost": "cloudfront"}
SELF_HOSTED = {"validationTokenHost": "self-hosted"}


class Year(World):
    """A tenant with an attached managed certificate for both domains; both clocks go on together."""

    def __init__(self, aws: Emulated, request: dict[str, Any] | None = None) -> None:
        asked = {
            "distributionId": DISTRIBUTION,
            "domains": [GONE, KEPT],
            "enabled": True,
            "managedCertificateRequest": request or REQUEST,
        }
        self.aws = aws
        super().__init__(managed(asked), aws)
        groups = aws.admin("GET", "state")["connectionGroups"]
        self.endpoint = next(each["RoutingEndpoint"] for each in groups if each.get("IsDefault"))
        aws.admin("PATCH", "settings", {"expired_certificate_deactivates": True})
        for domain in (GONE, KEPT):
            self.point(domain)
        self.made = self.clock.now() + 60
        for _ in range(6):
            self.go(60)
        assert self.condition("CertificateReady")[:2] == ("True", "Validated")
        aws.admin("DELETE", "calls")

    def restart(self) -> None:
        self.memory = AccountMemory(self.clock, today=self.today)

    def today(self) -> datetime:
        """The emulator's date: it has stepped its clock for other tests before."""
        tenants = self.aws.tenants
        if not tenants:
            return TODAY
        made = datetime.fromisoformat(tenants[0]["CreatedTime"])
        return made.astimezone(UTC) + timedelta(seconds=self.clock.now() - self.made)

    def go(self, seconds: float) -> None:
        """Let time pass, and look. No domain that is listed is dark."""
        self.clock.advance(seconds)
        self.aws.clock.advance(1)  # for the pace of the calls
        self.aws.admin("POST", "clock", {"step": seconds})
        self.reconcile()

    def days(self, number: int) -> None:
        """Day by day."""
        for _ in range(number):
            self.go(DAY + 60)
            self.reconcile()
            self.lit(KEPT)

    def lit(self, *domains: str) -> None:
        assert {domain: self.domains[domain] for domain in domains} == dict.fromkeys(domains, "active")

    @property
    def domains(self) -> dict[str, str]:
        return dict(self.aws.calls.get_tenant("shop.acme").domains)

    def point(self, domain: str) -> None:
        self.aws.admin("POST", "records", {"name": domain, "type": "CNAME", "values": [self.endpoint]})

    def astray(self, domain: str) -> None:
        self.aws.admin("DELETE", f"records?name={domain}")

    @property
    def requests(self) -> int:
        calls = self.aws.admin("GET", "calls")["calls"]
        return sum("ManagedCertificateRequest" in call["parameters"] for call in calls)

    @property
    def certificate(self) -> dict[str, Any]:
        return dict(self.status["atProvider"]["certificate"])


@pytest.fixture
def years(aws):
    worlds = []
    before = aws.admin("GET", "settings")

    def make(**given: Any) -> Year:
        worlds.append(Year(aws, **given))
        return worlds[-1]

    yield make
    aws.admin("PATCH", "settings", before)
    for domain in (GONE, KEPT):
        aws.admin("DELETE", f"records?name={domain}")


def without_one(year: Year) -> Year:
    """Its author removes a domain, and the domain's owner leads it elsewhere."""
    year.edit(domains=[KEPT])
    year.go(60)
    year.astray(GONE)
    return year


def test_a_removed_domain_does_not_end_the_renewal_of_the_others(years) -> None:
    year = without_one(years())
    first = year.certificate
    year.go(330 * DAY)
    assert (year.requests, year.certificate["arn"]) == (0, first["arn"])
    year.days(7)
    assert year.requests == 1
    assert year.certificate["domains"] == [KEPT]
    assert year.certificate["arn"] != first["arn"]
    assert year.condition("CertificateReady") == ("True", "Validated", "")
    year.go(100 * DAY)
    year.days(2)
    assert year.requests == 1, "the new one is renewed by AWS"
    assert year.ready() == ("True", "Available")


def test_restarts_repeat_no_request(years) -> None:
    """A new process at each look: while AWS issues the new certificate, and while it never shows it."""
    year = without_one(years())
    year.aws.admin("PATCH", "settings", {"certificate_request_lost": True})
    year.go(336 * DAY)
    for _ in range(11):
        year.restart()
        year.go(2 * HOUR)
        year.lit(KEPT)
    assert year.requests == 1
    assert year.condition("CertificateReady")[0] == "True"
    year.aws.admin("PATCH", "settings", {"certificate_request_lost": False, "certificate_issue_seconds": DAY})
    for _ in range(8):
        year.go(6 * HOUR)
    assert year.requests == 2, "the one that was lost is repeated after a day"
    for _ in range(9):
        year.restart()
        year.go(8 * HOUR)
        year.lit(KEPT)
    year.aws.admin("PATCH", "settings", {"certificate_issue_seconds": 60})
    assert year.requests == 2
    assert year.certificate["domains"] == [KEPT]
    assert year.condition("CertificateReady")[:2] == ("True", "Validated")


def replacing(year: Year) -> Year:
    """The replacement was requested, and DNS leads the present domain elsewhere before AWS validates it."""
    without_one(year).go(336 * DAY)
    assert year.requests == 1
    year.astray(KEPT)
    return year


def processes(year: Year, number: int) -> None:
    """So many processes, of 23 hours each."""
    for _ in range(number):
        year.restart()
        for _ in range(2):
            year.go(11.5 * HOUR)
            year.reconcile()


def test_restarts_do_not_put_off_the_request_after_a_failed_one(years) -> None:
    year = replacing(years())
    first = year.certificate["replaces"]["arn"]
    processes(year, 4)
    assert (year.certificate["status"], year.requests) == ("validation-timed-out", 1)
    assert year.certificate["replaces"]["arn"] == first
    year.point(KEPT)
    processes(year, 3)
    assert year.requests == 2
    assert year.condition("CertificateReady") == ("True", "Validated", "")
    assert year.certificate["domains"] == [KEPT]
    assert year.certificate["arn"] != first


def test_restarts_do_not_hide_the_end_of_the_certificate_that_serves(years) -> None:
    year = replacing(years())
    year.aws.admin("PATCH", "settings", {"expired_certificate_deactivates": False})
    end = datetime.fromisoformat(year.certificate["replaces"]["notAfter"])
    while year.today() < end - timedelta(hours=23):
        processes(year, 1)
    assert year.condition("CertificateReady")[:2] == ("True", "RenewalBlocked")
    processes(year, 1)
    year.restart()
    year.go(HOUR)
    year.reconcile()
    assert year.today() > end
    assert year.certificate["replaces"]["status"] == "expired"
    assert (year.condition("CertificateReady")[0], year.ready()[0]) == ("False", "False")


def test_a_process_that_dies_after_the_request_repeats_nothing(years) -> None:
    year = without_one(years())
    year.go(334 * DAY)
    before = year.obj["status"]
    year.aws.admin("PATCH", "settings", {"certificate_issue_seconds": DAY})
    for _ in range(12):
        year.go(6 * HOUR)
        if year.requests:
            break
    assert year.requests == 1
    year.obj["status"] = before
    year.restart()
    year.go(60)
    assert year.certificate["replaces"]["status"] == "issued"
    for _ in range(9):
        year.go(8 * HOUR)
        year.lit(KEPT)
    year.aws.admin("PATCH", "settings", {"certificate_issue_seconds": 60})
    assert year.requests == 1
    assert year.condition("CertificateReady") == ("True", "Validated", "")


def test_a_listed_domain_that_blocks_the_renewal_is_named_in_time(years) -> None:
    year = years()
    until = year.certificate["notAfter"]
    year.astray(GONE)
    year.go(334 * DAY)
    assert year.condition("CertificateReady")[:2] == ("True", "Validated")
    year.days(4)
    status, reason, message = year.condition("CertificateReady")
    assert (status, reason) == ("True", "RenewalBlocked")
    assert f"valid until {until}" in message
    assert f"proof of control of {GONE}:" in message
    assert KEPT not in message
    writes = year.status_writes
    year.days(5)
    assert year.requests == 0, "AWS would not issue it"
    assert year.status_writes == writes, "nothing new to tell"
    year.point(GONE)
    year.days(3)
    assert year.condition("CertificateReady") == ("True", "Validated", "")
    assert year.certificate["notAfter"] > until, "AWS renewed it"
    assert year.requests == 0


def test_the_blocking_domain_is_removed(years) -> None:
    year = years()
    year.astray(GONE)
    year.go(336 * DAY)
    year.days(2)
    assert year.condition("CertificateReady")[1] == "RenewalBlocked"
    year.edit(domains=[KEPT])
    year.days(2)
    assert year.requests == 1
    assert year.condition("CertificateReady") == ("True", "Validated", "")
    assert year.certificate["domains"] == [KEPT]


def test_both_a_removed_and_a_listed_domain_block_it(years) -> None:
    year = without_one(years())
    year.astray(KEPT)
    year.days(1)  # DNS is looked at each hour
    year.go(335 * DAY)
    year.days(2)
    status, reason, message = year.condition("CertificateReady")
    assert (status, reason, year.requests) == ("True", "RenewalBlocked", 0)
    assert f"{GONE}, which the tenant no longer has" in message
    assert f"proof of control of {KEPT}:" in message
    year.point(KEPT)
    year.days(2)
    assert (year.requests, year.certificate["domains"]) == (1, [KEPT])


def test_a_customer_who_serves_the_token_is_told_the_redirects_in_time(years) -> None:
    year = without_one(years(request=SELF_HOSTED))
    year.aws.admin("PATCH", "managed-certificates/shop.acme", {"served": [KEPT]})
    year.astray(KEPT)
    first = year.certificate["arn"]
    year.go(336 * DAY)
    year.days(2)
    assert year.requests == 1
    status, reason, message = year.condition("CertificateReady")
    assert (status, reason) == ("True", "RenewalBlocked")
    assert f"Certificate {first} is valid until" in message
    assert f"{KEPT}/.well-known/" in message
    year.days(4)
    assert year.certificate["status"] == "validation-timed-out" or year.requests > 1
    assert year.condition("CertificateReady")[0] == "True"
    assert year.requests == 2, "one for the first, which ended, after a day"
    year.aws.admin("PATCH", "managed-certificates/shop.acme", {"served": True})
    year.days(2)
    assert year.condition("CertificateReady")[:2] == ("True", "Validated")
    assert year.certificate["arn"] != first
