"""initProvider, late initialization and references of a DistributionTenant, with the runtime around it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from apis import kinds
from edgetenants_runtime import testing
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.references import asks
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.state import applied
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.customizations import INHERITED, GeoRestrictions, WebAcl
from provider.main import managed_kind, resource_kind
from tests.unit.provider.fake_cloudfront import ACCOUNT, DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, dependencies, managed

KIND = managed_kind(kinds.DISTRIBUTION_TENANT)
GROUPS = resource_kind(kinds.CONNECTION_GROUP)
BARE = {"distributionId": DISTRIBUTION, "domains": ["acme.example.com"]}
ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/shop/1"
OTHER_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/shop/2"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/1"


class Provider:
    """A connector whose process can be restarted."""

    def __init__(self, cloudfront: FakeCloudFront) -> None:
        self.cloudfront = cloudfront
        self.restart()

    def restart(self) -> None:
        self.memory = AccountMemory(FakeClock())

    def connect(self, mr: Managed) -> TenantClient:
        given = dependencies(self.cloudfront, self.memory, INSTALLATION, ACCOUNT, everyone=lambda: [mr])
        return TenantClient(given)


class World(testing.World):
    def __init__(self, for_provider: dict[str, Any] | None = None, **spec: Any) -> None:
        self.cloudfront = FakeCloudFront()
        self.cloudfront.put_group("cg_1", "d1.cloudfront.net")
        names = frozenset({"acme.example.com"})
        self.cloudfront.certificates[CERTIFICATE] = Certificate(CERTIFICATE, "issued", domains=names)
        self.provider = Provider(self.cloudfront)
        obj = managed(for_provider, **spec)
        obj["metadata"]["resourceVersion"] = "1"
        super().__init__(obj, KIND, self.provider)

    def converge(self) -> list[str]:
        """Reconcile until nothing moves, in a new process; the calls that wrote to AWS."""
        self.provider.restart()
        self.restart()
        before = len(self.cloudfront.journal)
        for _ in range(6):
            self.reconcile()
            self.cloudfront.deploy()
        calls = self.cloudfront.journal[before:]
        return [call for call in calls if not call.startswith(("Get", "List", "Describe", "Verify"))]

    def edit(self, **spec: Any) -> None:
        """A user replaces blocks of the spec."""
        stored = self.objects.find(KIND, self.key)
        assert stored is not None
        stored["spec"] |= spec
        stored["metadata"]["generation"] += 1
        self.objects.put(KIND, stored)
        self.objects.touch(KIND, self.key)

    @property
    def asked(self) -> dict[str, Any]:
        assert self.mr is not None
        return dict(self.mr.for_provider)

    def says(self, type_: str) -> str:
        return next((c.get("message", "") for c in self.status()["conditions"] if c["type"] == type_), "")


# initProvider.

INITIAL = {
    "enabled": False,
    "connectionGroupId": "cg_1",
    "parameters": {"tier": "gold", "tenantName": "below"},
    "tags": {"made": "once", "team": "below"},
    "customizations": {
        "webAcl": {"action": "override", "arn": ACL},
        "geoRestrictions": {"restrictionType": "whitelist", "locations": ["DE"]},
    },
}


def test_a_creation_takes_init_provider_below_for_provider():
    above = {
        **BARE,
        "parameters": {"tenantName": "above"},
        "tags": {"team": "above"},
        "customizations": {"webAcl": {"action": "disable"}, "certificate": {"arn": CERTIFICATE}},
    }
    world = World(above, initProvider=INITIAL)
    assert world.converge() == ["CreateDistributionTenant"]
    made = world.cloudfront.only
    assert not made.enabled
    assert made.connection_group_id == "cg_1"
    assert made.parameters == {"tier": "gold", "tenantName": "above"}
    assert {k: v for k, v in made.tags.items() if k in ("made", "team")} == {"made": "once", "team": "above"}
    # A web ACL is one choice: the ARN below does not belong to the action above.
    assert made.customizations.web_acl == WebAcl("disable")
    assert made.customizations.geo_restrictions == GeoRestrictions("whitelist", frozenset({"DE"}))
    assert made.customizations.certificate_arn == CERTIFICATE
    assert world.converge() == []


def test_what_is_required_may_stand_in_init_provider_alone_and_is_no_drift():
    world = World({"tags": {"team": "shop"}}, initProvider=BARE)
    assert world.converge() == ["CreateDistributionTenant"]
    world.cloudfront.put_distribution("E2")
    id_ = world.cloudfront.only.id
    world.cloudfront.edit(id_, distribution_id="E2", domains={"other.example.com": "active"})
    assert world.converge() == []
    world.edit(forProvider={"enabled": False})
    world.converge()
    assert world.cloudfront.only.distribution_id == "E2"
    assert set(world.cloudfront.only.domains) == {"other.example.com"}


def test_an_update_keeps_what_only_init_provider_says_as_it_is_now():
    """Customizations and parameters go to CloudFront whole, so each part must be taken from there."""
    initial = {**INITIAL, "enabled": True}
    world = World({**BARE, "parameters": {"tenantName": "acme"}}, initProvider=initial)
    world.converge()
    made = world.cloudfront.only
    changed = type(made.customizations)(
        web_acl=WebAcl("override", OTHER_ACL),
        certificate_arn=CERTIFICATE,
        geo_restrictions=made.customizations.geo_restrictions,
    )
    world.cloudfront.edit(
        made.id,
        parameters={"tier": "silver", "tenantName": "acme"},
        customizations=changed,
        tags={**made.tags, "made": "twice"},
    )
    assert world.converge() == [], "what only initProvider says is no drift"

    geo = {"restrictionType": "blacklist", "locations": ["FR"]}
    asked = {**BARE, "parameters": {"tenantName": "new"}, "customizations": {"geoRestrictions": geo}}
    world.edit(forProvider=asked)
    assert world.converge() == ["UpdateDistributionTenant"]
    now = world.cloudfront.only
    assert now.parameters == {"tier": "silver", "tenantName": "new"}
    assert now.customizations.web_acl == WebAcl("override", OTHER_ACL)
    assert now.customizations.certificate_arn == CERTIFICATE
    assert now.customizations.geo_restrictions == GeoRestrictions("blacklist", frozenset({"FR"}))
    assert now.tags["made"] == "twice"
    assert now.enabled


def test_an_edit_of_init_provider_does_nothing_once_the_tenant_is_there():
    world = World(BARE, initProvider={"parameters": {"tier": "gold"}})
    world.converge()
    world.edit(initProvider={"parameters": {"tier": "silver"}, "enabled": False, "tags": {"a": "b"}})
    assert world.converge() == []
    world.edit(initProvider={})
    assert world.converge() == []
    assert world.cloudfront.only.parameters == {"tier": "gold"}


def test_a_tenant_that_vanished_is_made_as_at_first():
    world = World(BARE, initProvider={"parameters": {"tier": "gold"}})
    world.converge()
    world.cloudfront.tenants.clear()
    assert world.converge() == ["CreateDistributionTenant"]
    assert world.cloudfront.only.parameters == {"tier": "gold"}


BLOCKS = some.fixed_dictionaries(
    {},
    optional={
        "enabled": some.booleans(),
        "connectionGroupId": some.just("cg_1"),
        "parameters": some.dictionaries(some.sampled_from("abc"), some.sampled_from("12"), min_size=1),
        "tags": some.dictionaries(some.sampled_from("abc"), some.sampled_from("12"), min_size=1),
        "customizations": some.fixed_dictionaries(
            {},
            optional={
                "webAcl": some.sampled_from([{"action": "disable"}, {"action": "override", "arn": ACL}]),
                "certificate": some.just({"arn": CERTIFICATE}),
            },
        ),
    },
)


@settings(max_examples=60, deadline=None)
@given(above=BLOCKS, below=BLOCKS)
def test_whatever_the_blocks_say_one_call_makes_the_tenant_and_none_follows(above, below):
    world = World({**BARE, **above}, initProvider=below)
    assert world.converge() == ["CreateDistributionTenant"]
    assert world.converge() == []


# Late initialization.


def test_what_the_user_left_open_is_filled_in_once():
    world = World(BARE)
    world.converge()
    assert world.asked == {**BARE, "enabled": True}
    assert world.converge() == []


@pytest.mark.parametrize(
    ("spec", "open_"),
    [
        ({"managementPolicies": ["Observe", "Create", "Update", "Delete"]}, True),
        ({"initProvider": {"enabled": False}}, True),
        ({}, False),
    ],
    ids=["not without the policy", "not what initProvider says", "else it is"],
)
def test_what_is_left_open(spec, open_):
    world = World(BARE, **spec)
    world.converge()
    assert ("enabled" not in world.asked) is open_


def test_a_field_that_was_filled_in_and_cleared_stays_empty():
    world = World(BARE)
    world.converge()
    assert world.asked["enabled"] is True
    world.edit(forProvider=BARE)
    assert world.converge() == []
    assert world.asked == BARE
    # Set once more, changed in AWS meanwhile, and cleared once more.
    world.edit(forProvider={**BARE, "enabled": False})
    assert world.converge() == ["UpdateDistributionTenant"]
    world.edit(forProvider=BARE)
    assert world.converge() == []
    assert world.asked == BARE
    assert not world.cloudfront.only.enabled


def test_a_field_that_the_user_set_and_cleared_is_never_filled_in():
    world = World({**BARE, "enabled": True})
    world.converge()
    world.edit(forProvider=BARE)
    world.converge()
    assert world.asked == BARE
    world.cloudfront.edit(world.cloudfront.only.id, enabled=False)
    assert world.converge() == []
    assert world.asked == BARE


def test_an_imported_tenant_fills_in_what_it_is_and_is_not_touched():
    world = World({}, managementPolicies=["Observe", "LateInitialize"])
    world.cloudfront.add(enabled=False)
    assert world.converge() == []
    assert world.asked == {"domains": ["acme.example.com"], "enabled": False}
    world.edit(forProvider={})
    assert world.converge() == []
    assert world.asked == {}


def test_nothing_that_aws_changes_by_itself_or_that_is_referred_to_is_filled_in():
    world = World(BARE, initProvider=INITIAL)
    world.converge()
    assert world.asked == BARE
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS):
        assert set(kind.late_initialized) <= {"domains", "enabled", "ipv6Enabled"}


# References.


def group(name: str, id_: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop"},
        "status": {"atProvider": {"id": id_}} if id_ else {},
    }


def test_a_tenant_waits_for_its_connection_group_and_is_made_in_it():
    world = World({**BARE, "connectionGroupIdRef": {"name": "front"}})
    assert world.converge() == []
    words = "spec.forProvider.connectionGroupIdRef: ConnectionGroup shop/front does not exist"
    assert words in world.says("Synced")
    world.objects.put(GROUPS, group("front", ""))
    assert world.converge() == []
    assert "waiting for ConnectionGroup shop/front to have its id" in world.says("Ready")
    world.objects.put(GROUPS, group("front", "cg_1"))
    assert world.converge() == ["CreateDistributionTenant"]
    assert world.cloudfront.only.connection_group_id == "cg_1"
    assert world.asked["connectionGroupId"] == "cg_1"
    assert world.converge() == []


def test_an_optional_group_that_is_not_there_is_done_without():
    reference = {"name": "front", "policy": {"resolution": "Optional"}}
    world = World({**BARE, "connectionGroupIdRef": reference})
    assert world.converge() == ["CreateDistributionTenant"]


def test_an_optional_web_acl_that_is_not_there_is_done_without():
    acl = {"action": "override", "arnRef": {"name": "acl", "policy": {"resolution": "Optional"}}}
    world = World({**BARE, "customizations": {"webAcl": acl}})
    assert world.converge() == ["CreateDistributionTenant"]
    assert world.cloudfront.only.customizations.web_acl is None


def test_a_group_that_follows_moves_the_tenant():
    reference = {"name": "front", "policy": {"resolve": "Always"}}
    world = World({**BARE, "connectionGroupIdRef": reference})
    world.cloudfront.put_group("cg_2", "d2.cloudfront.net")
    world.objects.put(GROUPS, group("front", "cg_1"))
    world.converge()
    world.objects.put(GROUPS, group("front", "cg_2"))
    assert world.converge() == ["UpdateDistributionTenant"]
    assert world.cloudfront.only.connection_group_id == "cg_2"


@pytest.mark.parametrize("kind", [kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT])
def test_a_tenant_without_references_asks_for_nothing(kind):
    assert list(asks(Managed(managed(FOR_PROVIDER)), kind.references)) == []


def foreign(**spec):
    """A tenant for which someone set a web ACL, restrictions and a parameter in AWS."""
    world = World({**BARE, "parameters": {"tenantName": "acme"}}, **spec)
    world.converge()
    made = world.cloudfront.only
    changed = replace(
        made.customizations,
        web_acl=WebAcl("disable"),
        geo_restrictions=GeoRestrictions("whitelist", frozenset({"KP"})),
    )
    parameters = {"tenantName": "acme", "tier": "silver"}
    world.cloudfront.edit(made.id, parameters=parameters, customizations=changed)
    assert "UpdateDistributionTenant" not in world.converge()
    return world


def test_settings_that_the_spec_does_not_set_are_told():
    world = foreign()
    assert world.says("InSync") == (
        "AWS has settings that the spec does not set: customizations.webAcl, customizations.geoRestrictions, "
        "parameters.tier. The provider leaves them. To remove one, change it in AWS"
    )
    world.cloudfront.edit(
        world.cloudfront.only.id, parameters={"tenantName": "acme"}, customizations=INHERITED
    )
    world.converge()
    assert world.says("InSync") == ""


@pytest.mark.parametrize(
    "spec",
    [
        {"ignoreDrift": ["customizations", "parameters"]},
        {
            "initProvider": {
                "parameters": {"tier": "gold"},
                "customizations": {
                    "webAcl": {"action": "disable"},
                    "geoRestrictions": {"restrictionType": "none"},
                },
            }
        },
    ],
)
def test_what_its_author_leaves_to_others_is_not_told(spec):
    assert foreign(**spec).says("InSync") == ""


def test_a_forged_record_names_no_tag_that_a_spec_cannot_name():
    forged = {"applied": {"hash": "1", "tagKeys": ["team", "crossplane-x", " EdgeTenants-y", "aws:z"]}}
    assert applied.read(forged).tag_keys == {"team"}
