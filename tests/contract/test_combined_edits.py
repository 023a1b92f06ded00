"""Every edit that AWS can serve converges, whatever it combines, under readings of AWS's open questions.

A wish is drawn as what the tenant is to be. Those that AWS cannot serve, and those to which no way leads, are
left out; the others are reached by the provider's own client against the emulator, one after another.
EDGETENANTS_EDITS leads more lives, EDGETENANTS_SEED others.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as some

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.certificates import acm
from provider.cloudfront.domain.moves import TAKE_ANNOTATION
from provider.cloudfront.state.certificates import covers
from tests.contract import in_process
from tests.contract.lives import ACCOUNT, DISTRIBUTION, GEO, WEB_ACL, GroupLife, Life, Recorded
from tests.contract.readings import SEED
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import managed

LIVES = int(os.environ.get("EDGETENANTS_EDITS", "25"))
OTHER = "E1OTHER"
"""A distribution whose certificate covers other names."""
INHERITED = {DISTRIBUTION: "*.example.com", OTHER: "*.other.test"}
CUSTOM = {"one": ("*.custom.test",), "two": ("*.custom.test", "*.more.test")}
ZONES = ("example.com", "other.test", "custom.test", "more.test", "managed.test")
READINGS: tuple[dict[str, Any], ...] = (
    {},
    {"update_needs_deployed": True, "tags_lag_seconds": 90},
    {"removed_domain_detaches_certificate": True},
    {"certificate_attached_by_itself": True},
    {"certificate_moves_etag": False, "unchanged_update_moves_etag": False},
    {"update_checks_dns": False, "verify_attaches_certificate": True},
    {"uncovered_domain_error": "InvalidAssociation", "domain_lookup_lag_seconds": 120},
    {"uncovered_domain_error": "accepted", "tags_move_etag": True},
)


@dataclass(frozen=True)
class Wish:
    """What the tenant is to be."""

    domains: frozenset[str]
    """Those that begin with g are another tenant's at first."""
    distribution: str = DISTRIBUTION
    certificate: str | None = None
    """A custom one, managed, or none of its own."""
    group: bool = False
    parameter: str | None = "a"
    tags: frozenset[str] = frozenset()
    geo: bool = False
    web_acl: bool = False
    enabled: bool = True

    def serves(self, domains: Iterable[str]) -> bool:
        """Certificates that are there cover them all."""
        names = (INHERITED[self.distribution], *CUSTOM.get(self.certificate or "", ()))
        return all(covers(names, domain) for domain in domains)

    @property
    def possible(self) -> bool:
        """AWS can serve it. A managed certificate cannot be had for a domain that is another tenant's."""
        others = {domain for domain in self.domains if domain.startswith("g")}
        return self.serves(others if self.certificate == "managed" else self.domains)

    def reached_from(self, before: Wish) -> bool:
        """There is a way. A domain is moved only to a certificate that is there, and a tenant must have one
        of its own, covered too, when its certificate is replaced for the move."""
        moved = {domain for domain in self.domains if domain.startswith("g")} - before.domains
        return bool(self.domains - moved) or before.serves(moved) or self.serves(before.domains)


names = some.builds(
    lambda label, zone: f"{label}.{zone}", some.sampled_from(["a", "b", "ga", "gb"]), some.sampled_from(ZONES)
)
wishes = some.builds(
    Wish,
    domains=some.frozensets(names, min_size=1, max_size=5),
    distribution=some.sampled_from([DISTRIBUTION, OTHER]),
    certificate=some.sampled_from([None, "one", "two", "managed"]),
    group=some.booleans(),
    parameter=some.sampled_from([None, "a", "b"]),
    tags=some.frozensets(some.sampled_from(["team", "stage"])),
    geo=some.booleans(),
    web_acl=some.booleans(),
    enabled=some.sampled_from([True, True, True, False]),
).filter(lambda wish: wish.possible)


@some.composite
def lives(draw: some.DrawFn) -> list[Wish]:
    """A wish for the creation, with a domain of its own, and edits that lead on from each."""
    own = wishes.filter(lambda wish: any(not domain.startswith("g") for domain in wish.domains))
    led = [draw(own)]
    for _ in range(draw(some.integers(1, 3))):
        before = led[-1]
        led.append(draw(wishes.filter(lambda wish, before=before: wish.reached_from(before))))
    return led


class Account:
    """Two distributions, custom certificates, a connection group."""

    def __init__(self, url: str) -> None:
        self.aws = Recorded(url)
        names, parameters = [INHERITED[OTHER]], [{"name": "tenantName"}]
        seeded = {"id": OTHER, "certificateDomains": names, "parameters": parameters}
        self.aws.admin("POST", "seed", {"account": ACCOUNT, "distributions": [seeded]})
        self.custom = {name: acm.issue(ACCOUNT, list(of)) for name, of in CUSTOM.items()}
        self.everything = acm.issue(ACCOUNT, [f"*.{zone}" for zone in ZONES])
        group = GroupLife(manifest(name="shop.edits"), self.aws)
        group.settle()
        self.group = group.status["atProvider"]
        default = self.aws.calls.default_group()
        assert default is not None
        self.endpoints = {True: self.group["routingEndpoint"], False: default.routing_endpoint}
        self.numbers = itertools.count(1)


class Tenant:
    """One that is led through wishes, and another that gives it domains."""

    def __init__(self, account: Account, led: list[Wish]) -> None:
        self.account, self.aws, self.number = account, account.aws, next(account.numbers)
        given = sorted({d for wish in led for d in wish.domains if d.startswith("g")})
        asked = {
            "distributionId": DISTRIBUTION,
            "domains": self.named([*given, "kept.example.com"]),
            "customizations": {"certificate": {"arn": account.everything}},
        }
        self.gives = Life(managed(asked, annotations=self.name("gives"), uid=f"gives{self.number}"), self.aws)
        self.gives.settle()
        taken = {TAKE_ANNOTATION: self.gives.status["atProvider"]["id"]}
        obj = managed({}, annotations={**self.name("takes"), **taken}, uid=f"takes{self.number}")
        self.takes = Life(obj, self.aws)
        for life in (self.gives, self.takes):
            life.context["everyone"] = lambda: [self.gives.mr, self.takes.mr]

    def name(self, of: str) -> dict[str, str]:
        return {"crossplane.io/external-name": f"shop.{of}{self.number}"}

    def named(self, domains: Iterable[str]) -> list[str]:
        """Domains of this life alone."""
        return sorted(f"{d.partition('.')[0]}{self.number}.{d.partition('.')[2]}" for d in domains)

    def wish(self, wish: Wish) -> None:
        self.lead(wish)
        own: dict[str, Any] = {"geoRestrictions": GEO} if wish.geo else {}
        own |= {"webAcl": {"action": "override", "arn": WEB_ACL}} if wish.web_acl else {}
        own |= (
            {"certificate": {"arn": arn}} if (arn := self.account.custom.get(wish.certificate or "")) else {}
        )
        managed_ = {"validationTokenHost": "cloudfront"} if wish.certificate == "managed" else None
        self.takes.change(
            distributionId=wish.distribution,
            domains=self.named(wish.domains),
            connectionGroupId=self.account.group["id"] if wish.group else None,
            customizations=own or None,
            managedCertificateRequest=managed_,
            parameters={"tenantName": wish.parameter} if wish.parameter else None,
            tags=dict.fromkeys(wish.tags, "x") or None,
            enabled=wish.enabled,
        )

    def lead(self, wish: Wish) -> None:
        """The DNS leads to where the tenant is, or is to be."""
        there = self.takes.status.get("atProvider", {}).get("connectionGroupId") == self.account.group["id"]
        endpoint = self.account.endpoints[wish.group or there]
        for domain in self.named(wish.domains):
            self.aws.admin("POST", "records", {"name": domain, "type": "CNAME", "values": [endpoint]})

    def check(self, wish: Wish) -> None:
        seen = self.aws.calls.get_tenant(f"shop.takes{self.number}")
        assert sorted(seen.domains) == self.named(wish.domains)
        assert (seen.distribution_id, seen.enabled) == (wish.distribution, wish.enabled)
        assert seen.parameters == ({"tenantName": wish.parameter} if wish.parameter else {})
        # One that is disabled is at rest before its certificate is issued.
        assert not (wish.enabled and seen.inactive_domains)
        own = seen.customizations
        assert (bool(own.geo_restrictions), bool(own.web_acl)) == (wish.geo, wish.web_acl)
        if wish.certificate in CUSTOM:
            assert own.certificate_arn == self.account.custom[wish.certificate]
        if wish.group:
            assert seen.connection_group_id == self.account.group["id"]
        self.aws.deploy()
        self.aws.deploy()
        assert wish.tags == self.aws.calls.tags(seen.arn).keys() & {"team", "stage"}

    def remove(self) -> None:
        for life in (self.takes, self.gives):
            life.delete()
            life.settle()


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with EmulatorServer(rate=0) as running, in_process.reaching(running):
        yield Account(running.url)


def live(account: Account, led: list[Wish], reading: dict[str, Any]) -> None:
    account.aws.unset()
    tenant = Tenant(account, led)
    account.aws.set({"domain_move_needs_disabled_source": False, **reading})
    for wish in led:
        tenant.wish(wish)
        tenant.check(wish)
    account.aws.unset()
    tenant.remove()


OWN = Wish(frozenset({"a.example.com"}))
TAKES = Wish(frozenset({"a.example.com", "ga.custom.test"}), certificate="one")


@settings(
    max_examples=LIVES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@seed(SEED)
@example(led=[OWN, TAKES], reading={})
@given(led=lives(), reading=some.sampled_from(READINGS))
def test_every_edit_that_aws_can_serve_converges(
    account: Account, led: list[Wish], reading: dict[str, Any]
) -> None:
    live(account, led, reading)
