"""A domain that is refused at a creation keeps dark nothing that the namespace served before."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state import observed
from provider.records.config_maps import DomainRecords
from provider.records.use import Looks
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import World, managed

OURS = ["acme.example.com", "shop.acme.com"]
TAKEN = "taken.example.com"
CREATE = "CreateDistributionTenant"


@pytest.fixture
def kept() -> DomainRecords:
    records = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(FakeClock(), 60))
    records.load()
    return records


@pytest.fixture
def cloudfront() -> FakeCloudFront:
    """A user has one domain."""
    cloudfront = FakeCloudFront()
    cloudfront.add(name="other.has-it", domains={TAKEN: "active"})
    return cloudfront


def tenant(cloudfront: FakeCloudFront, *domains: str, kept=None, uid: str = "first", **asked) -> World:
    obj = managed({"distributionId": DISTRIBUTION, "domains": list(domains), **asked}, uid=uid)
    return World(obj, cloudfront, **({"kept": kept} if kept else {}))


def passes(world: World, number: int = 4) -> None:
    for _ in range(number):
        world.reconcile()
        world.cloudfront.deploy()
        world.clock.advance(600)


def there(world: World) -> set[str]:
    found = [t for t in world.cloudfront.tenants.values() if t.name == world.mr.external_name]
    return {domain for t in found for domain in t.domains}


def lose(world: World) -> None:
    del world.cloudfront.tenants[own_id(world)]


def leave(world: World, **changes: Any) -> str:
    """The world's tenant goes on under another name, as a former one that is being deleted does; its id."""
    id_ = own_id(world)
    world.cloudfront.edit(id_, name="shop.going", **changes)
    return id_


def own_id(world: World) -> str:
    [id_] = [t.id for t in world.cloudfront.tenants.values() if t.name == world.mr.external_name]
    return id_


def test_a_tenant_that_is_gone_comes_back_without_the_domain_that_is_refused(cloudfront):
    world = tenant(cloudfront, *OURS)
    world.settle()
    world.edit(domains=[*OURS, TAKEN])
    passes(world)
    lose(world)
    passes(world)
    assert there(world) == set(OURS)
    assert world.ready() == ("False", "DomainConflict")
    assert TAKEN in world.error.message


def test_a_claim_that_is_made_again_with_one_more_gets_what_its_namespace_had(cloudfront, kept):
    before = tenant(cloudfront, *OURS, kept=kept)
    before.settle()
    before.delete()
    before.settle()
    assert before.gone
    again = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second")
    passes(again)
    assert there(again) == set(OURS)
    assert again.ready() == ("False", "DomainConflict")


def test_the_story_says_what_is_left_out(cloudfront, kept):
    tenant(cloudfront, *OURS, kept=kept).settle()
    world = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second")
    cloudfront.tenants = {id_: t for id_, t in cloudfront.tenants.items() if t.name == "other.has-it"}
    seen = world.client.observe(world.mr)
    assert f", without {TAKEN}: spec.forProvider.domains: " in world.client.create(world.mr, seen).message


@pytest.mark.parametrize("primary", [TAKEN, OURS[0]])
def test_a_certificate_is_asked_for_what_it_comes_back_with(cloudfront, kept, primary):
    tenant(cloudfront, *OURS, kept=kept).settle()
    cloudfront.tenants = {id_: t for id_, t in cloudfront.tenants.items() if t.name == "other.has-it"}
    cloudfront.pointing.update([*OURS, TAKEN])
    request = {"validationTokenHost": "cloudfront", "primaryDomainName": primary}
    world = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second", managedCertificateRequest=request)
    world.reconcile()
    assert there(world) == set(OURS)


def test_a_domain_that_another_tenant_of_the_namespace_has_is_none_that_this_one_had(cloudfront, kept):
    other = tenant(cloudfront, "second.example.com", kept=kept, uid="other")
    other.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.second"
    other.settle()
    world = tenant(cloudfront, *OURS, kept=kept)
    world.settle()
    world.edit(domains=[*OURS, "second.example.com"])
    passes(world)
    lose(world)
    passes(world)
    assert there(world) == set(OURS)


def test_what_came_back_without_a_domain_of_its_own_gets_it_later(cloudfront, kept):
    """Its former tenant is still going when the new one is made, and another domain is refused alone."""
    before = tenant(cloudfront, *OURS, kept=kept)
    before.settle()
    id_ = leave(before, domains={OURS[1]: "active"})
    again = tenant(cloudfront, *OURS, "not-covered.example.net", kept=kept, uid="second")
    passes(again)
    assert there(again) == {OURS[0]}
    del cloudfront.tenants[id_]
    passes(again)
    assert there(again) == set(OURS)


def test_a_former_tenant_that_is_gone_is_not_remembered_as_the_holder(cloudfront, kept):
    """One of the domains is kept for others, so that AWS is not asked for the rest before that is known."""
    kept.hold([TAKEN], "others")
    before = tenant(cloudfront, *OURS, kept=kept)
    before.settle()
    id_ = leave(before)
    again = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second")
    again.reconcile()
    assert there(again) == set()
    del cloudfront.tenants[id_]
    again.clock.advance(5)
    again.reconcile()
    assert there(again) == set(OURS)


def test_it_is_tried_again_soon_though_less_was_refused_as_well(cloudfront, kept):
    before = tenant(cloudfront, *OURS, kept=kept)
    before.settle()
    before.delete()
    leave(before)
    again = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second")
    again.context["everyone"] = lambda: [before.mr]
    # AWS frees a domain later than its look-up says.
    cloudfront.tenant_of_domain = lambda domain: None
    assert again.reconcile().count(CREATE) == 2, "the whole, and what the namespace had"
    assert again.error.retry.mode == "Backoff"


def test_a_creation_is_tried_again_soon_while_the_former_tenant_is_going(cloudfront, kept):
    before = tenant(cloudfront, *OURS, kept=kept)
    before.settle()
    leave(before)
    again = tenant(cloudfront, *OURS, TAKEN, kept=kept, uid="second")
    again.reconcile()
    assert again.error.retry.mode == "Poll"
    before.delete()
    again.context["everyone"] = lambda: [before.mr]
    again.reconcile()
    assert again.error.retry.mode == "Backoff"
    before.obj["metadata"]["namespace"] = "others"
    again.reconcile()
    assert again.error.retry.mode == "Poll"


def test_a_first_creation_is_made_whole_or_not_at_all(cloudfront, kept):
    world = tenant(cloudfront, *OURS, TAKEN, kept=kept)
    passes(world)
    assert there(world) == set()
    assert world.ready() == ("False", "DomainConflict")


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "InternalFailure"])
def test_what_fewer_domains_do_not_help_is_met_once(cloudfront, code):
    world = tenant(cloudfront, *OURS)
    world.settle()
    world.edit(domains=[*OURS, "new.example.com"])
    lose(world)
    status = 500 if code == "InternalFailure" else 403
    cloudfront.refuse[CREATE] = AwsError(CREATE, code, "no", status=status)
    calls = []
    while CREATE not in calls:
        calls = world.reconcile()
        world.clock.advance(600)
    assert calls.count(CREATE) == 1


@pytest.mark.parametrize("code", ["EntityLimitExceeded", "InvalidArgument"])
def test_a_tenant_comes_back_though_aws_refuses_so_many_domains(cloudfront, code):
    world = tenant(cloudfront, *OURS)
    world.settle()
    world.edit(domains=[*OURS, "new.example.com"])
    lose(world)
    create, refused = cloudfront.create_tenant, []

    def up_to_two(asked):
        if len(asked.domains) > 2:
            refused.append(asked)
            raise AwsError(CREATE, code, "too many", status=400)
        return create(asked)

    cloudfront.create_tenant = up_to_two
    passes(world)
    assert refused
    assert set(OURS) <= there(world)


def test_a_tenant_that_is_gone_serves_nothing(cloudfront):
    world = tenant(cloudfront, *OURS)
    world.settle()
    assert world.status["domainsReady"] == "2/2"
    lose(world)
    cloudfront.refuse[CREATE] = AwsError(CREATE, "AccessDenied", "no", status=403)
    for _ in range(3):
        world.clock.advance(600)
        world.reconcile()
    assert {each["status"] for each in world.status["atProvider"]["domains"]} == {"inactive"}
    assert world.status["domainsReady"] == "0/2"
    assert world.status["atProvider"]["id"], "by which it is known that it was there"


@pytest.mark.parametrize("domains", [None, 3, "a", [3], [{"domain": 3}], [{}], {"domain": "a"}])
def test_a_status_that_somebody_forged_names_no_domain(domains):
    assert observed.domains_in({"domains": domains}) == frozenset()
    assert observed.without_tenant({"id": "dt_1", "domains": domains}) is None
