"""A change of which AWS or a check refuses a part: the rest of it is made."""

from dataclasses import replace

import pytest

from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import compare, merge
from provider.cloudfront.tenant import parts
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import World, managed

OTHERS = "taken.example.com"


def named(name, *domains, cloudfront):
    asked = {"distributionId": "E1EDGETENANTS", "domains": list(domains)}
    obj = managed(asked, uid=f"uid-{name}", annotations={"crossplane.io/external-name": f"shop.{name}"})
    world = World(obj, cloudfront)
    world.settle()
    return world


def there(world):
    return next(t for t in world.cloudfront.tenants.values() if t.name == world.mr.external_name)


@pytest.fixture
def cloudfront():
    cloudfront = FakeCloudFront()
    named("other", OTHERS, cloudfront=cloudfront)
    return cloudfront


@pytest.fixture
def world(cloudfront):
    return named("acme", "a.example.com", "b.example.com", cloudfront=cloudfront)


def test_a_suspension_does_not_wait_for_another_tenants_domain(world):
    world.edit(domains=["a.example.com", "b.example.com", OTHERS], enabled=False)
    world.reconcile()
    assert not there(world).enabled
    assert isinstance(world.error, ExternalError)
    assert OTHERS in world.error.message
    assert (
        "updated tenant shop.acme: enabled true → false. The rest of the change was refused: "
        in world.error.message
    )
    world.reconcile()
    assert "The rest" not in world.error.message


def test_a_suspension_asked_for_afterwards_does_not_wait_either(world):
    world.edit(domains=["a.example.com", OTHERS])
    world.reconcile()
    world.edit(enabled=False)
    world.reconcile()
    assert not there(world).enabled


def test_domains_are_given_up_and_parameters_changed_while_a_domain_is_refused(world):
    world.edit(domains=["a.example.com", OTHERS], parameters={"tenantName": "acme", "tier": "gold"})
    world.reconcile()
    assert set(there(world).domains) == {"a.example.com"}
    assert there(world).parameters == {"tenantName": "acme", "tier": "gold"}


def test_a_tenant_keeps_its_domains_where_none_of_them_stays(world):
    world.edit(domains=[OTHERS])
    world.reconcile()
    assert set(there(world).domains) == {"a.example.com", "b.example.com"}


def test_no_part_is_without_a_domain(world):
    seen = there(world)
    whole = compare(replace(diff_target(seen), domains=frozenset({OTHERS}), enabled=False), seen)
    found = list(parts.of(whole, seen))
    assert [part.target.domains for part in found] == [frozenset(seen.domains)]
    assert [[change.field for change in part.all] for part in found] == [["enabled"]]


def diff_target(seen):
    return merge(Tenant(name=seen.name), Applied(), seen)


def test_what_is_refused_is_asked_for_again_and_nothing_else_is_written(world):
    world.edit(domains=["a.example.com", OTHERS], enabled=False)
    world.reconcile()
    before = there(world).etag
    for _ in range(3):
        world.reconcile()
    assert there(world).etag == before


def test_a_new_domain_is_added_beside_one_that_somebody_has(world):
    world.edit(domains=["a.example.com", "b.example.com", "new.example.com", OTHERS])
    world.reconcile()
    assert set(there(world).domains) == {"a.example.com", "b.example.com", "new.example.com"}
    assert OTHERS in world.error.message


def test_a_domain_that_somebody_took_off_is_put_back_beside_one_that_is_refused(world):
    world.edit(domains=["a.example.com", "b.example.com", OTHERS])
    world.reconcile()
    world.cloudfront.edit(there(world).id, domains={"a.example.com": "active"})
    world.reconcile()
    assert set(there(world).domains) == {"a.example.com", "b.example.com"}


def test_a_certificate_that_a_part_asked_for_is_counted(cloudfront):
    cloudfront.pointing.update(["m.example.com", "new.example.net", OTHERS])
    world = named("managed", "m.example.com", cloudfront=cloudfront)
    world.edit(
        domains=["m.example.com", "new.example.net", OTHERS],
        managedCertificateRequest={"validationTokenHost": "cloudfront", "primaryDomainName": OTHERS},
    )
    world.reconcile()
    assert set(there(world).domains) == {"m.example.com", "new.example.net"}
    assert world.memory.requests._requests, "AWS counts it"


def test_two_tenants_swap_domains(cloudfront):
    one = named("one", "a1.example.com", "a2.example.com", cloudfront=cloudfront)
    two = named("two", "b1.example.com", "b2.example.com", cloudfront=cloudfront)
    one.edit(domains=["a1.example.com", "b2.example.com"])
    two.edit(domains=["b1.example.com", "a2.example.com"])
    for _ in range(2):
        one.reconcile()
        two.reconcile()
    assert set(there(one).domains) == {"a1.example.com", "b2.example.com"}
    assert set(there(two).domains) == {"b1.example.com", "a2.example.com"}


def test_the_rest_is_looked_at_again_soon(world):
    world.edit(domains=["a.example.com", OTHERS])
    world.reconcile()
    assert world.error.retry.seconds == 5.0


@pytest.mark.parametrize(
    "also",
    [
        pytest.param({"parameters": {"unheard": "of"}}, id="a parameter that nobody defines"),
        pytest.param({"distributionId": "E1GONE"}, id="a distribution that is not there"),
        pytest.param({"domains": ["new.example.net"]}, id="a domain without certificate"),
    ],
)
def test_a_suspension_waits_for_nothing_that_is_refused(world, also):
    world.edit(enabled=False, **also)
    world.reconcile()
    assert world.error is not None
    assert not there(world).enabled


def test_domains_are_given_up_beside_a_parameter_that_is_refused(world):
    world.edit(domains=["a.example.com"], parameters={"unheard": "of"})
    world.reconcile()
    assert set(there(world).domains) == {"a.example.com"}


@pytest.mark.parametrize(
    "also",
    [
        pytest.param({"parameters": {"unheard": "of"}}, id="a parameter that the distribution lacks"),
        pytest.param({"domains": ["new.example.net"]}, id="a domain without certificate"),
    ],
)
def test_restrictions_wait_for_nothing_that_is_refused(world, also):
    """A plan has them, and the author of the claim what is refused."""
    geo = {"restrictionType": "blacklist", "locations": ["FR"]}
    world.edit(customizations={"geoRestrictions": geo}, **also)
    world.reconcile()
    assert world.error is not None
    assert there(world).customizations.geo_restrictions.locations == {"FR"}
    assert there(world).enabled
    assert set(there(world).domains) == {"a.example.com", "b.example.com"}


def test_a_tenant_that_stays_at_its_distribution_keeps_the_restrictions_there(world):
    """The plan of another distribution has none, and a parameter of the claim is refused there."""
    geo = {"restrictionType": "blacklist", "locations": ["FR"]}
    world.edit(customizations={"geoRestrictions": geo})
    world.settle()
    world.edit(distributionId="E1GONE", customizations=None, parameters={"unheard": "of"})
    for _ in range(3):
        world.reconcile()
    assert there(world).customizations.geo_restrictions.locations == {"FR"}


def test_what_is_disabled_is_not_enabled_by_a_part(world):
    world.edit(enabled=False)
    world.settle()
    world.edit(enabled=True, parameters={"unheard": "of"})
    world.reconcile()
    assert not there(world).enabled


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling"])
def test_what_any_update_would_meet_is_met_once(world, code):
    world.edit(domains=["a.example.com", OTHERS], enabled=False)
    error = AwsError("UpdateDistributionTenant", code, "no", status=403)
    world.cloudfront.refuse["UpdateDistributionTenant"] = error
    assert world.reconcile().count("UpdateDistributionTenant") == 1


def test_a_tenant_that_serves_on_is_not_said_to_be_disabled(world):
    world.edit(enabled=False)
    denied = AwsError("UpdateDistributionTenant", "AccessDenied", "no", status=403)
    world.cloudfront.refuse["UpdateDistributionTenant"] = denied
    world.reconcile()
    assert there(world).enabled
    assert world.ready() == ("True", "Available")


def test_a_part_without_effect_is_not_repeated_until_the_tenant_moves(world):
    world.cloudfront.keeps_ineffective = frozenset({"enabled"})
    world.edit(domains=["a.example.com", "b.example.com", OTHERS], enabled=False)
    updates = [world.reconcile().count("UpdateDistributionTenant") for _ in range(3)]
    # The refused one each time, and once the rest.
    assert updates == [2, 1, 1]
    world.cloudfront.edit(there(world).id, parameters={"tier": "gold"})
    world.cloudfront.keeps_ineffective = frozenset()
    world.reconcile()
    assert not there(world).enabled


def test_nothing_is_taken_over_for_a_spec_that_is_refused(cloudfront):
    foreign = named("foreign", "f.example.com", cloudfront=cloudfront)
    cloudfront.edit(there(foreign).id, tags={})
    adopting = World(
        managed(
            {
                "distributionId": "E1EDGETENANTS",
                "domains": ["f.example.com"],
                "enabled": False,
                "parameters": {"unheard": "of"},
            },
            uid="uid-adopting",
            annotations={
                "crossplane.io/external-name": "shop.foreign",
                "edgetenants.io/adopt": there(foreign).id,
            },
        ),
        cloudfront,
    )
    for _ in range(4):
        adopting.reconcile()
        adopting.clock.advance(60)
    assert there(foreign).enabled
    assert there(foreign).tags == {}


@pytest.mark.parametrize("serving", [True, False])
def test_both_causes_are_told_where_the_rest_fails_too(world, serving):
    world.edit(
        enabled=False, parameters={"unheard": "of"}, **({} if serving else {"domains": ["new.example.com"]})
    )
    denied = AwsError("UpdateDistributionTenant", "AccessDenied", "no", status=403, request_id="r1")
    world.cloudfront.refuse["UpdateDistributionTenant"] = denied
    world.reconcile()
    told, _, request = world.error.message.partition(" (request id: ")
    assert request == "r1)"
    assert told.startswith("spec.forProvider.parameters.unheard: ")
    assert "The rest of the change also fails: update tenant shop.acme with the other fields: " in told
    assert "AccessDenied: no. Permit it in the IAM policy" in told
    assert [each.message for each in world.error.conditions] == ([] if serving else [told])
    assert world.error.retry.mode == "Backoff"
