"""DNS records that the provider made for one team are changed and removed for no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.hostile import Teams, unharmed
from tests.integration.test_dns_records import Zone, dns_config, managed_by
from tests.integration.watching import Object, condition


@dataclass(frozen=True)
class Led:
    """Two teams that share a zone and its config."""

    teams: Teams
    zone: Zone
    config: str

    def asked(self, *domains: str) -> Object:
        return {"domains": list(domains), **managed_by(self.config)}

    def of(self, name: str) -> list[Object]:
        """The record sets of a domain, with its mark."""
        names = (f"{name}.", f"_edgetenants.{name}.")
        return [row for row in self.zone.rows() if row["Name"] in names]


@pytest.fixture
def led(teams: Teams) -> Iterator[Led]:
    zone = Zone(teams.blue.admin, "example.com")
    config = dns_config(teams.blue.admin, f"dns-{zone.id.lower()}", zone)
    yield Led(teams, zone, config)
    for team in (teams.blue, teams.red):
        team.admin.kubectl("delete", "edt", "--all", "-n", team.namespace, "--wait=true")
    zone.delete()


def test_records_of_a_domain_of_another_stay_whatever_one_lists_and_deletes(led: Led) -> None:
    blue, red = led.teams.blue, led.teams.red
    blue.served("led", forProvider=led.asked("led.example.com"))
    blue.wait("its records", lambda: len(led.of("led.example.com")) == 2, 60)
    before = led.of("led.example.com")
    with unharmed(blue, "led"):
        red.served("mine", forProvider=led.asked("mine.example.com"))
        red.change("mine", {"spec": {"forProvider": {"domains": ["mine.example.com", "led.example.com"]}}})
        red.told("mine", "led.example.com")
        # The status says that the domain is its own.
        red.forge("mine", blue.get("led", "edt")["status"])
        red.looked_at("mine")
        red.remove("mine")
        red.wait("it to be gone", lambda: not red.get("mine", "edt"), 90)
    assert led.of("led.example.com") == before
    assert led.of("mine.example.com") == []


def test_records_that_a_team_left_behind_are_nobody_elses(led: Led) -> None:
    blue, red = led.teams.blue, led.teams.red
    blue.served("left", forProvider=led.asked("left.example.com"))
    blue.wait("its records", lambda: len(led.of("left.example.com")) == 2, 60)
    before = led.of("left.example.com")
    blue.change("left", {"spec": {"forProvider": {"dns": None}}})
    blue.looked_at("left")
    blue.remove("left")
    blue.wait("it to be gone", lambda: not blue.get("left", "edt"), 90)
    blue.release_domains()
    red.served("left", forProvider=led.asked("left.example.com"))
    said = red.told("left", "belong to another namespace", type_="DNSReady")
    assert blue.namespace not in said
    red.annotate("left", confirm="replace-0000000000")
    red.looked_at("left")
    assert condition(red.get("left", "edt"), "DNSReady")["reason"] == "DNSError"
    red.remove("left")
    red.wait("it to be gone", lambda: not red.get("left", "edt"), 90)
    assert led.of("left.example.com") == before
