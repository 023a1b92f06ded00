"""No tenant loses a domain while the records that the provider made for it may lead to CloudFront."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.domain.public_look import PublicDns
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.ownership import Owner
from provider.dns.public import Answer, Outcome
from provider.dns.records import RecordSet
from tests.unit.provider.dns.memory import MemoryStore
from tests.unit.provider.world import (
    ACCOUNT,
    FOR_PROVIDER,
    INSTALLATION,
    World,
    dependencies,
    managed,
)

A, B = "a.example.com", "b.example.com"
ASKED = {**FOR_PROVIDER, "domains": [A, B], "dns": {"configRef": {"name": "dns"}}}
NAME = "ClusterProviderConfig dns"


class Recorded(World):
    """A tenant whose records the provider makes in a zone."""

    def __init__(self) -> None:
        self.zone = MemoryStore("example.com")
        self.access = self.opened(self.zone)
        self.current: TenantClient | None = None
        super().__init__(managed(ASKED))

    def opened(self, store: MemoryStore) -> RecordsAccess:
        """The access of a config that was edited has other tickets."""
        return RecordsAccess(
            store=store, config=NAME, owner=Owner.of("i", "shop", "r"), tickets=RecordTickets()
        )

    @property
    def client(self) -> TenantClient:
        if self.current is None:
            deps = dependencies(
                self.cloudfront,
                self.memory,
                installation=INSTALLATION,
                account=ACCOUNT,
                config="ClusterProviderConfig default",
                **self.context,
            )
            self.current = TenantClient(replace(deps, records=self.access))
        return self.current

    def reconcile(self) -> list[str]:
        self.current = None
        return super().reconcile()

    @property
    def served(self) -> list[str]:
        """The domains of the tenant in AWS."""
        return sorted(domain for each in self.cloudfront.tenants.values() for domain in each.domains)

    @property
    def led(self) -> list[str]:
        """The names that lead to CloudFront."""
        return sorted(each.name for each in self.zone.records if each.type == "CNAME")

    def go_on(self, passes: int = 6) -> None:
        for _ in range(passes):
            self.clock.advance(60)
            self.reconcile()
            self.cloudfront.deploy()


@pytest.fixture
def world() -> Recorded:
    world = Recorded()
    world.settle(30)
    assert (world.served, world.led) == ([A, B], [A, B])
    return world


def test_a_domain_is_not_removed_while_its_zone_is_not_found(world):
    """The config names another server now, which the first reconcile says, and each later one."""
    world.access = world.opened(MemoryStore("other.test"))
    world.edit(domains=[A])
    world.go_on()
    assert (world.served, world.led) == ([A, B], [A, B])
    assert B in str(world.error)
    assert B in [each["name"] for each in world.status["dnsInstructions"]]
    world.access = world.opened(world.zone)
    world.go_on()
    assert (world.served, world.led) == ([A], [A])
    assert B not in [each["name"] for each in world.status["dnsInstructions"]]


def test_a_config_that_fails_for_a_moment_leaves_no_records_of_a_tenant_that_is_gone(world):
    world.cloudfront.tenants.clear()
    world.access = RecordsAccess(problem="cannot assume the role: no answer")
    world.delete()
    world.go_on()
    assert not world.gone
    assert "remove spec.forProvider.dns" in str(world.error)
    world.access = world.opened(world.zone)
    world.go_on()
    assert world.gone
    assert world.led == []


def test_records_that_are_gone_keep_no_resource(world):
    world.cloudfront.tenants.clear()
    world.delete()
    for domain in (A, B):
        world.access.tickets.gone(world.mr.uid, domain)
    world.access = replace(world.access, store=None, problem="cannot assume the role: no answer")
    world.go_on()
    assert world.gone


def test_a_config_that_fails_keeps_no_resource_without_records():
    world = Recorded()
    world.access = RecordsAccess(problem="cannot assume the role: no answer")
    world.delete()
    world.go_on()
    assert world.gone


def test_a_record_that_a_person_put_beside_the_mark_makes_nothing_forgotten(world):
    world.zone.put(RecordSet(B, "MX", ("10 mail.example.net",), 300))
    world.zone.drop(B, "CNAME")
    world.zone.put(RecordSet(B, "NS", ("ns.example.net",), 300))
    world.go_on(2)
    told = {each["name"]: each.get("managedBy") for each in world.status["dnsInstructions"]}
    assert told[B] == "Provider"


class Failing(MemoryStore):
    """Its zone could not be loaded."""

    error = DnsError(Failure.LATER, "BIND at ns1: read a.example.com: SERVFAIL")

    def read(self, zone, names, *, fresh=False):
        raise self.error


def test_a_deletion_that_waits_for_a_server_that_fails_says_so_and_the_way_out(world):
    world.access = world.opened(Failing("example.com"))
    world.delete()
    world.go_on()
    assert (world.served, world.led) == ([A, B], [A, B])
    status, reason, message = world.condition("DNSReady")
    assert (status, reason) == ("False", "DNSError")
    assert "SERVFAIL" in message
    assert "remove spec.forProvider.dns of this resource" in message
    assert world.error.after == 30.0


def test_what_public_dns_says_besides_is_shown_where_the_provider_makes_the_records(world):
    looked = PublicDns(Forbidding())
    world.context["public"] = looked
    world.obj["metadata"]["annotations"]["crossplane.io/reconcile-requested-at"] = "now"
    for each in world.cloudfront.tenants.values():
        world.cloudfront.edit(each.id, domains=dict.fromkeys(each.domains, "inactive"))
    world.go_on(2)
    shown = {each["name"]: each for each in world.status["dnsInstructions"]}
    assert shown[A]["managedBy"] == "Provider"
    assert "forbid Amazon's certificate authority" in shown[A]["found"]


def test_the_zone_says_what_an_apex_is_not_the_number_of_labels():
    world = Recorded()
    world.zone = MemoryStore("shop.example.com")
    world.access = world.opened(world.zone)
    seen = Forbidding()
    world.context["public"] = PublicDns(seen)
    world.obj["spec"]["forProvider"]["domains"] = ["shop.example.com"]
    world.reconcile()
    assert ("_cf-challenge.shop.example.com", "TXT") in seen.asked, "before the tenant exists, too"
    world.settle(30)
    world.obj["metadata"]["annotations"]["crossplane.io/reconcile-requested-at"] = "now"
    seen.asked.clear()
    world.go_on(2)
    assert ("_cf-challenge.shop.example.com", "TXT") in seen.asked
    assert {(each["type"], each["name"]) for each in world.status["dnsInstructions"]} == {
        ("ALIAS", "shop.example.com"),
        ("TXT", "_cf-challenge.shop.example.com"),
    }


class Forbidding:
    """Public DNS with CAA records of another authority."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def ask(self, name: str, kind: str) -> Answer:
        self.asked.append((name, kind))
        values = ('0 issue "letsencrypt.org"',) if (name, kind) == ("example.com", "CAA") else ()
        return Answer(Outcome.FOUND if values else Outcome.NO_TYPE, name, kind, (), values)


def test_a_deletion_that_waits_for_a_server_that_pauses_says_so_too(world):
    failing = Failing("example.com")
    failing.error = Unreachable(Failure.LATER, "no connection: next try in 7 s", after=7.0)
    world.access = world.opened(failing)
    world.delete()
    world.go_on()
    status, reason, message = world.condition("DNSReady")
    assert (status, reason) == ("False", "DNSError")
    assert "7 s" not in message, "it would change with each attempt"
    assert "remove spec.forProvider.dns of this resource" in message
    assert world.error.after == 7.0


def test_a_moment_is_worth_no_condition(world):
    failing = Failing("example.com")
    failing.error = DnsError(Failure.CHANGED, "others have changed the records")
    world.access = world.opened(failing)
    world.delete()
    world.go_on()
    assert world.condition("DNSReady")[0] == "True"


def test_without_a_dns_service_records_keep_their_tenant(world):
    world.access = RecordsAccess(problem=f"{NAME}: spec.dns: expected a DNS service", is_nowhere=True)
    world.delete()
    world.go_on()
    assert (world.served, world.led) == ([A, B], [A, B])
    assert "remove spec.forProvider.dns" in str(world.error)
