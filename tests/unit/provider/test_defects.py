"""What other operators of CloudFront tenants got wrong, where no test of a part shows that ours does not.

The whole list, with the tests of the parts, is in test_known_defects.py.
"""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import MagicMock

import pytest

from provider import main, options
from provider.cloudfront.aws import calls
from provider.cloudfront.aws.domain_calls import DomainCalls
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.group_calls import GroupCalls
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.clients.connector import GroupConnector, TenantConnector
from provider.cloudfront.state import observed
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.customizations import Customizations, GeoRestrictions, WebAcl
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.tenant import plan
from tests.unit.provider.cloudfront.certificate.test_certificates import ASKED, DOMAIN, requested, served
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import FakeCloudFront, Killed
from tests.unit.provider.world import FOR_PROVIDER, World, managed

ARN = "arn:aws:cloudfront::123456789012:distribution-tenant/dt_1"
REQUEST = Request("self-hosted")

IDENTITY = {"Id": "dt_1", "Arn": "arn", "Name": "shop.acme"}


def settled(for_provider=None, **spec) -> World:
    world = World(managed(for_provider, **spec))
    world.settle()
    return world


# What is there already.


def test_what_a_lost_creation_made_is_deleted_with_its_resource():
    world = World(cloudfront=FakeCloudFront())
    world.cloudfront.die = (4, "after")
    with pytest.raises(Killed):
        world.reconcile()
    assert world.cloudfront.journal[-1] == "CreateDistributionTenant"
    assert "atProvider" not in world.status
    world.restart()
    world.delete()
    world.settle()
    assert world.gone
    assert not world.cloudfront.tenants


@pytest.mark.parametrize(("policy", "told"), [("Report", True), ("Suspend", False)])
@pytest.mark.parametrize("kind", [World, Groups])
def test_what_was_deleted_in_aws_is_left_where_the_policy_says_so(kind, policy, told):
    world = kind(driftPolicy=policy) if kind is Groups else World(managed(driftPolicy=policy))
    world.settle()
    there = world.cloudfront.groups if kind is Groups else world.cloudfront.tenants
    name = world.group.id if kind is Groups else "dt_1"
    kept = there.pop(name)
    made = [call for _ in range(3) for call in world.reconcile()]
    assert [call for call in made if not call.startswith(("Get", "List"))] == []
    assert world.ready() == ("False", "RecreationHeld")
    assert f"driftPolicy {policy} does not recreate it" in world.condition("Ready")[2]
    assert (world.condition("InSync")[:2] == ("False", "DriftDetected")) is told
    assert world.error.after == 60
    world.obj["spec"]["driftPolicy"] = "Enforce"
    world.reconcile()
    world.clock.advance(61)
    world.settle()
    assert kept.id not in there
    assert world.ready() == ("True", "Available")


def test_it_is_created_under_every_policy():
    for policy in ("Report", "Suspend"):
        assert settled(driftPolicy=policy).ready() == ("True", "Available")


# Edits that do nothing.


def test_records_that_are_asked_for_later_are_answered():
    world = settled()
    world.edit(dns={"configRef": {"name": "zones", "kind": "ClusterProviderConfig"}})
    world.reconcile()
    assert world.condition("DNSReady")[0] == "False", "an edit that does nothing says so"


def test_what_is_emptied_is_sent_and_what_is_unsaid_is_not():
    bare = Tenant("shop.acme", "E1", domains=frozenset({"a.example.com"}), enabled=True)
    both = frozenset({"Parameters", "Customizations"})
    sent = calls.update("dt_1", "v1", bare, both)
    assert (sent["Parameters"], sent["Customizations"]) == ([], {})
    assert not both & calls.update("dt_1", "v1", bare).keys()


def test_domains_are_a_set_of_names_in_lower_case():
    world = World(managed({**FOR_PROVIDER, "domains": ["Acme.Example.COM"]}))
    world.reconcile()
    assert "spec.forProvider.domains[0]" in world.error.message, "refused, where a user might be surprised"
    world.edit(domains=["shop.acme.com", "acme.example.com", "shop.acme.com"])
    world.reconcile()
    assert "expected no duplicates (shop.acme.com appears twice)" in world.error.message
    world.edit(domains=["shop.acme.com", "acme.example.com"])
    world.settle()
    assert set(world.cloudfront.only.domains) == {"acme.example.com", "shop.acme.com"}
    for _ in range(3):
        assert world.reconcile() == ["GetDistributionTenant"]
    answer = {**IDENTITY, "Domains": [{"Domain": "ACME.example.com", "Status": "active"}]}
    assert observed.tenant(answer, "v1").active_domains == ("acme.example.com",)


# Certificates.


def test_an_unrelated_edit_asks_for_no_second_certificate():
    world = served()
    before = dict(world.cloudfront.managed)
    world.edit(parameters={"tenantName": "b"})
    world.settle()
    assert world.cloudfront.only.parameters == {"tenantName": "b"}
    assert world.cloudfront.managed == before
    asking = Tenant("shop.acme", "E1", domains=frozenset({DOMAIN}), certificate_request=REQUEST)
    assert "ManagedCertificateRequest" not in calls.update("dt_1", "v1", asking)
    assert "ManagedCertificateRequest" in calls.creation(asking)


def test_an_attached_certificate_is_never_filled_into_the_spec():
    world = requested()
    world.cloudfront.settle_certificate("issued")
    for _ in range(4):
        offered = world.client.observe(world.mr).late_initialized
        assert set(offered) <= {"domains", "enabled"}
        world.reconcile()
    assert world.ready() == ("True", "Available")


def test_a_domain_that_takes_its_time_after_the_attachment_is_looked_at_again():
    world = requested()
    world.cloudfront.settle_certificate("issued")
    world.settle()
    assert world.ready() == ("True", "Available")
    world.cloudfront.edit("dt_1", domains={DOMAIN: "inactive"})
    for _ in range(5):
        world.reconcile()
        seen = world.client.observe(world.mr)
        assert seen.poll_after is None, "the poll interval at the latest"
        assert seen.up_to_date
    assert world.ready() == ("False", "DomainInactive")
    world.cloudfront.edit("dt_1", domains={DOMAIN: "active"})
    world.reconcile()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("policy", ["Report", "Suspend"])
def test_drift_that_is_left_holds_up_neither_certificate_nor_ready(policy):
    world = World(managed(ASKED, driftPolicy=policy))
    world.settle()
    world.cloudfront.edit("dt_1", parameters={"tenantName": "x"})
    world.settle()
    world.cloudfront.settle_certificate("issued")
    world.settle()
    arn = world.cloudfront.managed["dt_1"].arn
    assert world.cloudfront.only.customizations.certificate_arn == arn
    assert world.cloudfront.only.parameters == {"tenantName": "x"}
    assert world.ready() == ("True", "Available")


def test_a_certificate_that_is_no_good_is_not_hidden_by_active_domains():
    world = served()
    arn = world.cloudfront.only.customizations.certificate_arn
    lost = Certificate(arn, "expired", "self-hosted", domains=frozenset({DOMAIN}))
    world.cloudfront.managed["dt_1"] = lost
    world.cloudfront.edit("dt_1")
    world.context["frozen"] = "the provider runs with --read-only"
    world.reconcile()
    assert world.ready() == ("False", "CertificateExpired")


# Deletion.


def test_a_disabling_says_no_more_than_aws_wants():
    seen = observed.ObservedTenant(
        "dt_1",
        ARN,
        "shop.acme",
        "v1",
        "E1",
        connection_group_id="cg_1",
        domains={"a.example.com": "active", "b.example.com": "inactive"},
        parameters={"tenantName": "acme"},
        customizations=Customizations(WebAcl("disable"), None, GeoRestrictions("none")),
    )
    disable, _ = plan.remove(seen)
    alone, with_parent, whole = [calls.update("dt_1", "v1", tenant) for _, tenant in disable.ways]
    assert alone == {"Id": "dt_1", "IfMatch": "v1", "Enabled": False}
    parent = {
        "DistributionId": "E1",
        "Domains": [{"Domain": "a.example.com"}, {"Domain": "b.example.com"}],
    }
    assert with_parent == {**alone, **parent}
    assert whole == {
        **with_parent,
        "ConnectionGroupId": "cg_1",
        "Parameters": [{"Name": "tenantName", "Value": "acme"}],
    }, "but for customizations, which stay: CloudFront refuses to be told of a certificate that ran out"


# Errors.


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("EntityLimitExceeded", "QuotaExceeded"),
        ("InvalidAssociation", "InvalidSpec"),
        ("InvalidTagging", "InvalidSpec"),
        ("InvalidArgument", "InvalidSpec"),
        ("EntityNotFound", "ParentNotFound"),
        ("CNAMEAlreadyExists", "DomainConflict"),
        ("AccessDenied", "AccessDenied"),
        ("Throttling", "Throttled"),
        ("NoSuchThing", "AWSError"),
    ],
)
def test_a_refused_creation_is_told_with_its_reason(code, reason):
    world = World()
    world.cloudfront.refuse["CreateDistributionTenant"] = AwsError("CreateDistributionTenant", code, "why")
    world.reconcile()
    assert world.ready() == ("False", reason)
    assert "why" in world.condition("Ready")[2]


def test_a_name_that_another_namespace_has_is_told_and_not_retried_in_haste():
    world = World(managed())
    world.cloudfront.add(tags={"edgetenants.io/owner": "cluster-1/DistributionTenant/other/shop.acme"})
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert "it belongs to another namespace" in world.condition("Ready")[2]
    assert "cluster-1/DistributionTenant/other" not in world.condition("Ready")[2]
    assert world.error.retry.mode.value == "Poll"


# Lists.


class Pages(GroupCalls):
    """ListConnectionGroups, one group to a page and the default one on the last."""

    def __init__(self, count):
        self._cloudfront = self
        self.count, self.asked = count, []

    def list_connection_groups(self, Marker="0"):  # noqa: N803 - boto3's name
        self.asked.append(Marker)
        at = int(Marker)
        row = {
            "Id": f"cg_{at}",
            "Arn": "arn",
            "Name": f"g{at}",
            "ETag": "v1",
            "IsDefault": at == self.count - 1,
        }
        return {"ConnectionGroups": [row]} | ({"NextMarker": str(at + 1)} if at + 1 < self.count else {})


def test_the_default_group_is_found_on_whatever_page():
    pages = Pages(3)
    found = pages.default_group()
    assert found is not None
    assert found.id == "cg_2"
    assert pages.asked == ["0", "1", "2"]


class Conflicts(DomainCalls):
    """ListDomainConflicts, one to a page."""

    def __init__(self, *domains):
        self._cloudfront = self
        self.domains = domains

    def list_domain_conflicts(self, Domain, DomainControlValidationResource, Marker="0"):  # noqa: N803
        at = int(Marker)
        row = {
            "Domain": self.domains[at],
            "ResourceType": "distribution",
            "ResourceId": f"E{at}",
            "AccountId": "*",
        }
        more = {"NextMarker": str(at + 1)} if at + 1 < len(self.domains) else {}
        return {"DomainConflicts": [row], **more}


def test_conflicts_are_read_to_the_last_page():
    found = Conflicts("*.Example.com", "a.example.com").conflicts("a.example.com", "dt_1")
    assert [(each.domain, each.id) for each in found] == [("*.example.com", "E0"), ("a.example.com", "E1")]


def test_a_disabled_tenant_still_has_its_domains():
    world = World()
    world.cloudfront.add(name="left.over", enabled=False)
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert "acme.example.com is served by another tenant of this account" in world.condition("Ready")[2]
    assert [tenant.name for tenant in world.cloudfront.tenants.values()] == ["left.over"]


# Flags and wiring.


def given(*arguments):
    return main.main.make_context("provider", list(arguments), auto_envvar_prefix="EDGETENANTS").params


def test_probes_and_metrics_are_reached_from_outside_the_pod_at_the_ports_that_were_given():
    usual = options.settings(given())
    assert (usual.health_address, usual.metrics_address) == ("0.0.0.0", "0.0.0.0")
    assert usual.metrics_port
    moved = options.settings(given("--health-port=9001", "--metrics-port=9002"))
    assert (moved.health_port, moved.metrics_port) == (9001, 9002)


def test_both_kinds_of_both_trees_are_managed(monkeypatch):
    managed_kinds, told_of_removals = [], []

    class Configs:
        def on_removal(self, handler):
            told_of_removals.append(handler.__qualname__)

        def on_appearance(self, handler):
            assert handler.__name__ == "back"

    class Manager:
        def __init__(self, *_):
            self.metrics = type("Metrics", (), {"registry": None})()
            self.metrics.registry = type("Registry", (), {"register": lambda *_: None})()

        def configs(self, *_, **__):
            return Configs()

        def manage(self, kind, connector, _):
            managed_kinds.append((kind.resource, type(connector)))
            assert connector._accounts._workers == 8
            assert connector._accounts._places.lists == 2
            return MagicMock()

        def everything_read(self):
            return "every kind that is served"

        def repeat(self, name, work):
            assert name == "kept domains"
            # Readiness would not do: it counts a kind as ready until it is known to be served.
            assert work.__self__._everything_read() == "every kind that is served"

    monkeypatch.setattr(main, "Manager", Manager)
    monkeypatch.setattr(main, "Instruments", lambda _: Instruments())
    policy = options.policy(given(), "i")
    main.wire(None, None, options.settings(given("--workers=8")), policy)
    groups = ("cloudfront.m.edgetenants.io", "cloudfront.edgetenants.io")
    assert managed_kinds == [
        pair
        for group in groups
        for pair in (
            (f"distributiontenants.{group}", TenantConnector),
            (f"connectiongroups.{group}", GroupConnector),
        )
    ]
    removed = ["Accounts.gone", "DnsServers.gone"]
    assert told_of_removals == removed * 2, "what a config of either tree sets goes with it"


def test_a_bare_version_that_moves_is_no_drift():
    world = settled()
    world.cloudfront.edit("dt_1")
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.condition("InSync")[0] == "True"
    writes = world.status_writes
    world.reconcile()
    assert world.status_writes == writes
    one, other = ({**IDENTITY, "LastModifiedTime": moment} for moment in ("a", "b"))
    assert observed.at_provider(observed.tenant(one, "v1"), None) == observed.at_provider(
        observed.tenant(other, "v1"), None
    )


def test_a_tenant_made_anew_has_the_version_of_the_old_one_and_is_another():
    world = served()
    before = world.cloudfront.only
    world.cloudfront.tenants.clear()
    world.cloudfront.managed.clear()
    world.settle()
    made = world.cloudfront.only
    world.cloudfront.tenants[made.id] = replace(made, etag=before.etag)
    world.settle()
    assert world.condition("CertificateReady")[1] == "PendingValidation"
    assert world.status["atProvider"]["id"] == made.id != before.id


@pytest.mark.parametrize("asked", [None, False])
def test_what_was_disabled_for_a_deletion_is_enabled_once_its_resource_is_there_again(asked):
    spec = {**FOR_PROVIDER, "enabled": asked}
    if asked is None:
        del spec["enabled"]
    first = World(managed(spec))
    first.settle()
    first.cloudfront.refuse["DeleteDistributionTenant"] = AwsError(
        "DeleteDistributionTenant", "ResourceNotDisabled", "not yet", status=409
    )
    first.delete()
    first.reconcile()
    assert not first.cloudfront.only.enabled
    again = World(managed(spec, uid="another"), first.cloudfront)
    again.memory, again.clock = first.memory, first.clock
    offered = again.client.observe(again.mr).late_initialized
    assert offered.get("enabled") is (asked is None)
    again.settle()
    assert again.cloudfront.only.enabled is (asked is None)
    assert again.ready() == (("True", "Available") if asked is None else ("False", "Disabled"))


def test_what_somebody_else_disabled_stays_so_where_the_spec_leaves_it_open():
    world = World(managed({key: value for key, value in FOR_PROVIDER.items() if key != "enabled"}))
    world.settle()
    world.cloudfront.edit("dt_1", enabled=False)
    world.obj["metadata"]["uid"] = "another"
    world.obj["status"] = {}
    world.restart()
    assert world.client.observe(world.mr).late_initialized["enabled"] is False
