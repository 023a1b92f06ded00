"""Moves of domains over the wire, whatever CloudFront wants of the tenant that gives."""

from __future__ import annotations

import pytest

from edgetenants_runtime.reconcile.steps import Next
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION
from tests.contract.emulated import DISTRIBUTION
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import World, managed

GIVEN = "moves.example.com"


def two(aws) -> tuple[World, World]:
    """One tenant that has the domain, and one that is to have it."""
    worlds = []
    for name, domains in (("gives", ["gives.example.com", GIVEN]), ("takes", ["takes.example.com"])):
        annotations = {"crossplane.io/external-name": f"shop.{name}"}
        asked = {"distributionId": DISTRIBUTION, "domains": domains, "enabled": True}
        worlds.append(World(managed(asked, annotations=annotations, uid=name), aws))
        worlds[-1].settle()
    gives, takes = worlds
    takes.obj["metadata"]["annotations"][TAKE_ANNOTATION] = gives.status["atProvider"]["id"]
    takes.edit(domains=["takes.example.com", GIVEN])
    return gives, takes


def domains(aws, name: str) -> set[str]:
    return set(aws.get_tenant(f"shop.{name}").domains)


def test_it_is_moved_in_one_step(aws):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    _, takes = two(aws)
    takes.settle()
    assert domains(aws, "takes") == {"takes.example.com", GIVEN}
    assert domains(aws, "gives") == {"gives.example.com"}
    assert takes.ready() == ("True", "Available")
    assert aws.journal.count("UpdateDomainAssociation") == 1


def test_cloudfront_may_want_the_tenant_that_gives_disabled(aws):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": True})
    gives, takes = two(aws)
    takes.reconcile()
    assert "IllegalUpdate" in takes.error.message
    assert "set spec.forProvider.enabled to false there" in takes.error.message
    assert takes.ready() == ("False", "DomainConflict"), "one of its domains is not served here"
    gives.edit(enabled=False)
    gives.settle()
    takes.settle()
    gives.edit(enabled=True, domains=["gives.example.com"])
    gives.settle()
    assert domains(aws, "takes") == {"takes.example.com", GIVEN}
    assert gives.ready() == takes.ready() == ("True", "Available")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("fail", {"code": "Throttling", "status": 400}),
        ("fail", {"code": "InternalError", "status": 500}),
        ("fail", {"code": "PreconditionFailed", "status": 412}),
        ("reset", {}),
    ],
)
def test_a_move_that_is_disturbed_ends_as_asked(aws, when, action, error):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    _, takes = two(aws)
    aws.fault("UpdateDomainAssociation", when=when, action=action, **error)
    for _ in range(4):
        takes.reconcile()
        aws.deploy()
    takes.settle()
    assert domains(aws, "takes") == {"takes.example.com", GIVEN}
    assert domains(aws, "gives") == {"gives.example.com"}
    assert takes.condition("InSync")[0] == "True"


def ring(aws, spaces: str) -> list[World]:
    """Tenants that all list one domain. Each may take it from the one before, which gives it."""
    worlds: list[World] = []
    for number, space in enumerate(spaces):
        own = [f"own-{number}.example.com"]
        asked = {"distributionId": DISTRIBUTION, "domains": own if number else [*own, GIVEN], "enabled": True}
        named = {"crossplane.io/external-name": f"{space}.t{number}"}
        obj = managed(asked, annotations=named, uid=f"uid-{number}")
        obj["metadata"] |= {"namespace": space, "name": f"t{number}"}
        worlds.append(World(obj, aws, everyone=lambda: [each.mr for each in worlds]))
        worlds[-1].settle()
    for number, world in enumerate(worlds):
        source, receiver = worlds[number - 1], worlds[(number + 1) % len(worlds)]
        world.obj["metadata"]["annotations"] |= {
            TAKE_ANNOTATION: source.status["atProvider"]["id"],
            GIVE_ANNOTATION: f"{receiver.mr.namespace}/{receiver.mr.external_name}",
        }
        world.edit(domains=[f"own-{number}.example.com", GIVEN])
    return worlds


@pytest.mark.parametrize("spaces", ["aa", "ab", "aaa", "aba", "abc", "abcd", "abac"])
def test_a_ring_of_tenants_does_not_move_a_domain_without_end(aws, spaces):
    """Whichever members there are: each namespace agrees to its two moves, and sees no more of the ring."""
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    worlds = ring(aws, spaces)
    for _ in range(3):
        for world in worlds:
            world.reconcile()
            aws.deploy()
    assert aws.journal.count("UpdateDomainAssociation") == 0
    told = worlds[1].error.message
    assert "The tenants would take it from each other without end" in told
    assert ".t2" not in told
    assert ".t3" not in told


def reconciled(aws, name: str, *domains: str) -> Reconciled:
    asked = {"distributionId": DISTRIBUTION, "domains": list(domains), "enabled": True}
    named = {"crossplane.io/external-name": f"shop.{name}"}
    obj = managed(asked, annotations=named, uid=f"uid-{name}")
    obj["metadata"] |= {"resourceVersion": "1", "name": name}
    found = Reconciled(obj, aws)
    found.come_to_rest(20)
    return found


def test_a_domain_that_is_free_is_tried_again_soon_though_cloudfront_refuses_it_once_more(aws):
    """Its release is not rolled out yet."""
    gives = reconciled(aws, "gives", "gives.example.com", GIVEN)
    takes = reconciled(aws, "takes", "takes.example.com")
    takes.edit(domains=["takes.example.com", GIVEN])
    waits = [takes.reconcile().seconds for _ in range(8)]
    assert waits[-1] == 600
    gives.edit(domains=["gives.example.com"])
    gives.reconcile()
    takes.connector.woken("uid-takes")
    for _ in range(2):
        aws.fault("UpdateDistributionTenant", code="CNAMEAlreadyExists", status=409, message="in use")
        assert takes.reconcile().next is Next.BACKOFF
    takes.come_to_rest()
    assert domains(aws, "takes") == {"takes.example.com", GIVEN}
