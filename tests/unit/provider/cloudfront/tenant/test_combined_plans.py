"""Edits that combine what CloudFront takes only in one order (the whole lives are in tests/contract)."""

from __future__ import annotations

import pytest

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain.moves import TAKE_ANNOTATION
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.customizations import Customizations
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import compare
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant import plan
from provider.cloudfront.tenant.actions import MoveDomain, RequestCertificate, UpdateTenant
from provider.cloudfront.tenant.plan import Moves
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import World, managed

OWN, MOVED, MORE = "www.example.com", "shop.customer.test", "new.example.com"
CUSTOM = "arn:aws:acm:us-east-1:123456789012:certificate/custom"
REQUEST = Request("cloudfront")
SEEN = ObservedTenant("dt_1", "arn", "shop.acme", "v1", "E1", domains={OWN: "active"})
ASKED = Tenant(
    name="shop.acme",
    distribution_id="E1",
    domains=frozenset({OWN, MOVED}),
    enabled=True,
    customizations=Customizations(certificate_arn=CUSTOM),
)
LATER = Moves({MOVED: "shop.source"}, covered_later=True)


def steps(asked: Tenant, request: Request | None = None, moves: Moves = LATER) -> list[tuple[str, object]]:
    """What is done, with the domains that are sent."""
    actions = plan.converge(compare(asked, SEEN), SEEN, request, moves=moves)
    return [(type(a).__name__, sorted(getattr(getattr(a, "tenant", None), "domains", ()))) for a in actions]


def with_domains(*domains: str, **more) -> Tenant:
    return Tenant(**{**ASKED.__dict__, "domains": frozenset(domains), **more})


def test_the_certificate_comes_before_the_move():
    assert steps(ASKED) == [("UpdateTenant", [OWN]), ("MoveDomain", [])]


def test_one_that_covers_it_now_is_not_waited_for():
    now = Moves({MOVED: "shop.source"})
    assert steps(ASKED, moves=now) == [("MoveDomain", []), ("UpdateTenant", [MOVED, OWN])]


def test_a_tenant_keeps_its_domains_until_it_has_the_others():
    alone = with_domains(MOVED)
    assert steps(alone) == [("UpdateTenant", [OWN]), ("MoveDomain", []), ("UpdateTenant", [MOVED])]


def test_what_needs_a_request_is_added_after_the_move():
    both = with_domains(OWN, MOVED, MORE, certificate_request=REQUEST)
    expected = [("UpdateTenant", [OWN]), ("MoveDomain", []), ("UpdateTenant", sorted([OWN, MOVED, MORE]))]
    assert steps(both, REQUEST) == expected


def test_another_distribution_a_request_and_a_move_are_one_update_and_the_move():
    there = with_domains(OWN, MOVED, MORE, distribution_id="E2", certificate_request=REQUEST)
    update, move = plan.converge(compare(there, SEEN), SEEN, REQUEST, moves=LATER)
    assert isinstance(update, UpdateTenant)
    assert (update.request, update.tenant.domains) == (REQUEST, {OWN, MORE})
    assert isinstance(move, MoveDomain)


@pytest.mark.parametrize("domains", [(OWN,), (OWN, MORE)])
def test_another_distribution_and_a_request_are_one_update(domains):
    there = with_domains(*domains, distribution_id="E2", certificate_request=REQUEST)
    (action,) = plan.converge(compare(there, SEEN), SEEN, REQUEST)
    assert isinstance(action, UpdateTenant)
    assert action.request is REQUEST
    assert FieldDiff("distributionId", "E2", "E1") in action.changes


def test_a_request_alone_is_one():
    same = with_domains(OWN, customizations=SEEN.customizations, certificate_request=REQUEST)
    (action,) = plan.converge(compare(same, SEEN), SEEN, REQUEST)
    assert isinstance(action, RequestCertificate)


class Strict(FakeCloudFront):
    """Moves a domain only to a certificate that covers it."""

    def move_domain(self, domain, tenant, etag):
        there = self.tenants[tenant]
        own = self.certificates.get(there.customizations.certificate_arn)
        if own is None:
            raise AwsError("UpdateDomainAssociation", "InvalidArgument", "no certificate", status=400)
        return super().move_domain(domain, tenant, etag)


def test_adding_a_certificate_and_taking_a_domain_is_one_edit():
    cloudfront = Strict()
    cloudfront.certificates[CUSTOM] = Certificate(CUSTOM, "issued", domains=frozenset({"*.customer.test"}))
    tags = {OWNER_TAG: "cluster-1/DistributionTenant/shop/shop.source"}
    source = cloudfront.add(
        name="shop.source", domains={MOVED: "active", "k.example.com": "active"}, tags=tags
    )
    obj = managed(
        {"distributionId": DISTRIBUTION, "domains": [OWN]}, annotations={TAKE_ANNOTATION: source.id}
    )
    world = World(obj, cloudfront)
    world.settle()
    world.edit(domains=[OWN, MOVED], customizations={"certificate": {"arn": CUSTOM}})
    calls = world.reconcile()
    assert calls[-2:] == ["UpdateDistributionTenant", "UpdateDomainAssociation"]
    world.settle()
    assert set(cloudfront.tenants["dt_2"].domains) == {OWN, MOVED}
    assert world.condition("InSync")[0] == "True"
    assert MoveDomain.__name__ not in str(world.error)
