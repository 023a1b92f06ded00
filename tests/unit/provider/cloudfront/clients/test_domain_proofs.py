"""Where a tenant's proofs matter, and where they do not: what its namespace keeps, what only observes, what
is counted."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.aws.metrics import Gauges, Instruments
from provider.cloudfront.clients.metrics import MetricsClient
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.domain import proof
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.domain.text_lookup import Texts
from provider.cloudfront.safety.dependencies import Dependencies
from tests.unit.provider.fake_cloudfront import ACCOUNT
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

REQUIRED = {"mode": "Required"}
DOMAINS = frozenset(FOR_PROVIDER["domains"])


class Kept:
    """Records of domains; none are written."""

    known, recording = True, False

    def __init__(self, **holders: str) -> None:
        self.holders = {name.replace("_", "."): namespace for name, namespace in holders.items()}

    def holder(self, domain: str) -> str | None:
        return self.holders.get(domain)

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class ProvenWorld(World):
    """A tenant whose domains need proofs; `proven` are those that DNS proves."""

    def __init__(self, obj: Any = None, **context: Any) -> None:
        self.proven: set[str] = set()
        self.asked: list[str] = []
        self.seconds = 0.0
        self.registry = CollectorRegistry()
        self.instruments = Instruments(self.registry)
        super().__init__(obj or managed(domainProof=REQUIRED), **context)

    def restart(self) -> None:
        super().restart()
        self.proofs = DomainProofs(self.clock, self.look_up)

    def look_up(self, name: str, seconds: float) -> Texts:
        del seconds
        self.asked.append(name)
        self.clock.advance(self.seconds)
        values = (proof.value(INSTALLATION, "shop", d) for d in sorted(self.proven) if proof.name(d) == name)
        return Texts(tuple(values))

    @property
    def client(self) -> Any:
        deps: Dependencies = super().client._deps
        client = TenantClient(Dependencies(deps.account, deps.cluster, deps.policy, proofs=self.proofs))
        return MetricsClient(client, self.instruments.tenants, ACCOUNT, self.clock)

    @property
    def without_proof(self) -> float | None:
        gauges = Gauges(lambda: [self.mr], self.instruments.tenants, dict)
        return (
            {each.name: each for each in gauges.collect()}["edgetenants_aws_domains_without_proof"]
            .samples[0]
            .value
        )


def creations(world: World) -> int:
    return sum("CreateDistributionTenant" in each for each in world.cloudfront.journal)


def test_what_the_namespace_keeps_is_served_again_without_a_proof():
    world = ProvenWorld(kept=Kept(acme_example_com="shop", shop_acme_com="shop"))
    world.reconcile()
    assert (world.error, creations(world)) == (None, 1)


def test_what_another_namespace_keeps_is_no_proof():
    world = ProvenWorld(kept=Kept(acme_example_com="team-b"))
    world.reconcile()
    assert isinstance(world.error, ExternalError)
    assert creations(world) == 0


def test_of_a_tenant_that_is_gone_what_was_served_comes_back_and_the_rest_waits():
    world = ProvenWorld(kept=Kept(acme_example_com="shop"))
    for _ in range(2):
        world.reconcile()
    (tenant,) = world.cloudfront.tenants.values()
    assert set(tenant.domains) == {"acme.example.com"}


def test_what_is_kept_does_not_wait_for_slow_look_ups_of_the_rest():
    others = [f"n{number:03}.example.com" for number in range(60)]
    asked = managed({**FOR_PROVIDER, "domains": ["acme.example.com", *others]}, domainProof=REQUIRED)
    world = ProvenWorld(asked, kept=Kept(acme_example_com="shop"))
    world.seconds, world.proven = 2.5, set(others)
    world.reconcile()
    (tenant,) = world.cloudfront.tenants.values()
    assert "acme.example.com" in tenant.domains


def test_one_that_only_observes_asks_no_dns():
    world = ProvenWorld()
    world.proven = set(DOMAINS)
    world.settle()
    world.obj["spec"]["managementPolicies"] = ["Observe"]
    del world.obj["status"]["dnsInstructions"]
    world.restart()
    world.asked.clear()
    world.clock.advance(25 * 3600)
    world.reconcile()
    assert world.asked == []


def test_lost_proofs_are_counted():
    world = ProvenWorld()
    world.proven = set(DOMAINS)
    world.settle()
    assert world.without_proof == 0
    world.proven = {"acme.example.com"}
    world.clock.advance(25 * 3600)
    world.reconcile()
    assert world.without_proof == 1
    assert world.ready()[0] == "True"


def test_the_tenants_of_others_say_nothing_of_proofs():
    world = World()
    world.settle()
    assert all(each["purpose"] != "Proof" for each in world.status.get("dnsInstructions") or ())


@pytest.mark.parametrize("given", [True, False])
def test_without_resolvers_a_domain_is_not_proven(given):
    world = World(managed(domainProof=REQUIRED) if given else managed())
    world.reconcile()
    assert creations(world) == (0 if given else 1)
