"""Nothing is taken from under live tenants: neither by the deletion of their connection group, nor silently
by a user who disables it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import structlog
from botocore.exceptions import ClientError

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.aws.domain_calls import DomainCalls
from provider.cloudfront.aws.errors import ENDLESS, AwsError
from provider.cloudfront.aws.group_calls import GroupCalls
from provider.cloudfront.memory import group_look
from provider.cloudfront.memory.group_look import GroupLook
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.safety.name_keys import key_of
from provider.cloudfront.state import group as group_state
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.cloudfront.safety.test_kept_domains import records
from tests.unit.provider.fake_cloudfront import ACCOUNT, DEFAULT_GROUP, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

DENIED = AwsError("ListDistributionTenants", "AccessDenied", "not authorized", status=403)
PAUSE = 15.0


NUMBERS = itertools.count()


class Shared(Groups):
    """A group in a provider that has other managed resources in its cache."""

    def __init__(self, *cached: dict[str, Any], **spec: Any) -> None:
        super().__init__(cloudfront=FakeCloudFront(disables_used_groups=True), **spec)
        self.cached = list(cached)
        self.context["everyone"] = lambda: [Managed(each) for each in self.cached]
        self.settle()

    def use(self, **values: Any) -> str:
        """A tenant in the group that lists do not show; its id."""
        made = self.cloudfront.add(connection_group_id=self.group.id, **values)
        self.cloudfront.unlisted.add(made.id)
        return made.id

    def looks(self, times: int = 4) -> list[str]:
        """So many looks, and the calls of the last one."""
        calls = []
        for _ in range(times):
            self.clock.advance(PAUSE)
            calls = self.reconcile()
            assert self.group.enabled
        return calls


def cached(namespace: str = "shop", asked: str | None = None, **at_provider: Any) -> dict[str, Any]:
    uid = f"{namespace} {next(NUMBERS)}"
    made = managed({**FOR_PROVIDER, **({"connectionGroupId": asked} if asked else {})}, uid=uid)
    made["metadata"]["namespace"] = namespace
    return {**made, "status": {"atProvider": at_provider}}


# The deletion of a group.


def test_a_deletion_takes_a_second_look_before_it_disables():
    world = Shared()
    world.delete()
    assert world.reconcile() == ["GetConnectionGroup", "ListDistributionTenants"]
    assert "waits for a second check of its tenants" in world.error.message
    assert isinstance(world.error, NotYet)
    assert world.error.after == PAUSE
    tenant = world.cloudfront.add(connection_group_id=world.group.id)
    world.looks()
    assert "waits for its tenants to be deleted or moved: 1 more" in world.error.message
    del world.cloudfront.tenants[tenant.id]
    world.reconcile()
    assert "second check" in world.error.message, "the pause starts again"
    world.settle()
    assert world.gone


def test_a_group_that_is_disabled_as_asked_needs_no_second_look():
    world = Shared(for_provider={"enabled": False})
    world.delete()
    calls = world.reconcile()
    assert calls == [
        "GetConnectionGroup",
        "ListDistributionTenants",
        "ListTagsForResource",
        "DeleteConnectionGroup",
    ]


@pytest.mark.parametrize(
    "error",
    [
        DENIED,
        AwsError("ListDistributionTenants", "InvalidArgument", "no"),
        AwsError("ListDistributionTenants", "EntityNotFound", "no"),
        AwsError("ListDistributionTenants", ENDLESS, "no end"),
    ],
    ids=lambda error: error.code,
)
def test_where_aws_does_not_tell_the_group_is_kept_until_somebody_confirms(error):
    world = Shared()
    world.cloudfront.refuse["ListDistributionTenants"] = error
    world.delete()
    world.looks()
    assert world.ready() == ("False", "DeletionHeld")
    words = world.condition("Ready")[2]
    assert str(error) in words
    assert "set the annotation edgetenants.io/confirm to 0a1b2c3d" in words
    assert ("Allow cloudfront:ListDistributionTenants" in words) is (error is DENIED)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.settle()
    assert world.gone


@pytest.mark.parametrize("code", ["Throttling", "InternalError", "Endpoint"])
def test_a_list_that_is_throttled_is_asked_again_and_holds_nothing(code):
    world = Shared()
    world.cloudfront.refuse["ListDistributionTenants"] = AwsError("L", code, "no")
    world.delete()
    world.looks()
    assert isinstance(world.error, ExternalError)
    assert world.ready() == ("True", "Available")
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone


def test_a_confirmation_does_not_outweigh_what_is_known():
    world = Shared()
    world.cloudfront.add(connection_group_id=world.group.id)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.delete()
    world.looks()
    world.cached = [cached("other", id=world.use(name="other.acme"))]
    world.cloudfront.refuse["ListDistributionTenants"] = DENIED
    world.cached[0]["status"]["atProvider"]["connectionGroupId"] = world.group.id
    world.looks()
    assert "moved: 1 more, named in the provider's log" in world.error.message


def confirmed_blindly(**spec: Any) -> Shared:
    """A deletion that its author confirmed, with credentials that may neither list nor get tenants."""
    world = Shared(**spec)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    get = AwsError("GetDistributionTenant", "AccessDenied", "no", status=403)
    world.cloudfront.refuse |= {"ListDistributionTenants": DENIED, "GetDistributionTenant": get}
    world.delete()
    return world


@pytest.mark.parametrize("external_name", ["other.acme", "dt_1", "unknown"])
def test_a_confirmation_does_not_cover_a_tenant_of_another_namespace_that_cannot_be_read(external_name):
    """The author of the group confirms its deletion, and the tenant is not the author's."""
    world = confirmed_blindly()
    world.use(name="other.acme")
    other = cached("other", asked=world.group.id)
    other["metadata"]["annotations"] = {"crossplane.io/external-name": external_name}
    world.cached = [other]
    get_refused(world, "AccessDenied", f"not authorized to get {external_name}")
    kept_confirmed(world)
    assert external_name not in json.dumps(world.obj["status"]), "it is another namespace's"


def get_refused(world: Shared, code: str, words: str = "no", status: int = 403) -> None:
    refusal = AwsError("GetDistributionTenant", code, words, status=status)
    world.cloudfront.refuse["GetDistributionTenant"] = refusal


def kept_confirmed(world: Shared, way_out: str = "Allow cloudfront:ListDistributionTenants") -> None:
    calls = world.looks(12)
    assert "UpdateConnectionGroup" not in calls
    assert world.ready() == ("False", "DeletionHeld")
    words = world.condition("Ready")[2]
    assert "could not read all tenants that name the group" in words
    assert words.endswith(way_out)


def test_a_refusal_that_may_be_a_proxys_says_nothing_of_a_tenant():
    world = confirmed_blindly()
    world.cached = [cached("other", asked=world.group.id, id=world.use(name="other.acme"))]
    get_refused(world, "403", "Forbidden")
    kept_confirmed(world)


def test_a_confirmation_does_not_cover_tenants_beyond_those_that_are_read():
    world = confirmed_blindly()
    del world.cloudfront.refuse["GetDistributionTenant"]
    real = cached("other", asked=world.group.id, id=world.use(name="other.acme"))
    real["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    world.cached = [*lies(world, 35, "other"), real]
    kept_confirmed(world)


@pytest.mark.parametrize(
    "name",
    [
        "arn:aws:cloudfront::999999999999:distribution-tenant/dt_1",
        "arn:aws:s3:::bucket",
        "other acme",
    ],
)
def test_what_cannot_be_a_tenant_of_the_account_holds_up_no_confirmed_deletion(name):
    world = confirmed_blindly()
    other = cached("other", asked=world.group.id)
    other["metadata"]["annotations"] = {"crossplane.io/external-name": name}
    world.cached = [other]
    world.settle()
    assert world.gone
    assert "GetDistributionTenant" not in world.cloudfront.journal


@pytest.mark.parametrize("code", ["InvalidArgument", ENDLESS])
def test_a_list_that_fails_though_it_is_permitted_has_another_way_out(code):
    world = confirmed_blindly()
    world.cloudfront.refuse["ListDistributionTenants"] = AwsError("ListDistributionTenants", code, "no")
    world.cached = [cached("other", asked=world.group.id, id=world.use(name="other.acme"))]
    kept_confirmed(world, "If no tenant uses it, delete it in AWS")


@pytest.mark.parametrize("hold", ["unreadable", "too many"])
def test_what_was_read_before_a_long_hold_does_not_count_after_it(hold):
    """A tenant that was elsewhere joins the group meanwhile."""
    world = confirmed_blindly()
    del world.cloudfront.refuse["GetDistributionTenant"]
    joins = world.use(name="other.acme")
    world.cloudfront.edit(joins, connection_group_id="cg_another")
    real = cached("other", asked=world.group.id, id=joins)
    real["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    newer = lies(world, 12, "other")
    many = lies(world, 40, "stranger") if hold == "too many" else [cached("stranger", asked=world.group.id)]
    world.cached = [*newer, real, *many]
    if hold == "unreadable":
        get_refused(world, "AccessDenied")
    kept_confirmed(world)
    world.cloudfront.edit(joins, connection_group_id=world.group.id)
    for _ in range(30):
        world.clock.advance(60)
        world.reconcile()
    world.cloudfront.refuse.pop("GetDistributionTenant", None)
    world.cached = [*newer, real]
    for _ in range(12):
        world.clock.advance(60)
        world.reconcile()
    assert "UpdateConnectionGroup" not in world.cloudfront.journal
    assert "moved: 1 more" in world.error.message


def test_an_arn_of_the_account_is_read():
    world = confirmed_blindly()
    other = cached("other", asked=world.group.id)
    arn = f"arn:aws:cloudfront::{ACCOUNT}:distribution-tenant/{world.use(name='other.acme')}"
    other["metadata"]["annotations"] = {"crossplane.io/external-name": arn}
    world.cached = [other]
    kept_confirmed(world)


def test_a_group_that_is_disabled_already_is_not_kept_so():
    world = confirmed_blindly(for_provider={"enabled": False})
    world.use(name="other.acme")
    world.cached = [cached("other", asked=world.group.id)]
    for _ in range(4):
        world.clock.advance(PAUSE)
        world.reconcile()
    assert "DeleteConnectionGroup" in world.cloudfront.journal


@pytest.mark.parametrize("made", [False, True])
def test_a_resource_beside_it_that_asks_for_the_group_keeps_it(made):
    world = Shared()
    world.cached = [cached(asked=world.group.id, **({"id": world.use()} if made else {}))]
    world.delete()
    calls = world.looks()
    assert "waits for its tenants to be deleted or moved: DistributionTenant acme" in world.error.message
    assert calls == ["GetConnectionGroup", "ListTagsForResource", "ListDistributionTenants"]


@pytest.mark.parametrize("namespace", ["shop", "hostile"])
def test_a_group_stays_while_the_provider_moves_dns_records_of_its_namespace_away(namespace):
    world = Shared()
    moving = cached(namespace, asked="cg_another")
    endpoint = world.cloudfront.get_group(world.group.id).routing_endpoint
    record = {"name": "a.example.com", "managedBy": "Provider", "found": f"CNAME {endpoint}"}
    moving["spec"]["forProvider"]["dns"] = {"configRef": {"name": "dns"}}
    moving["status"]["dnsInstructions"] = [record]
    world.cached = [moving]
    world.delete()
    if namespace == "shop":
        world.looks()
        assert "waits for its tenants to be deleted or moved: DistributionTenant acme" in world.error.message
        record.pop("found")
    world.settle()
    assert world.gone


@pytest.mark.parametrize("reason", ["Deleting", "DeletionHeld"])
def test_a_group_stays_while_records_of_a_domain_that_moved_lead_to_it(reason):
    """The resource that made them waits for the tenant that has the domain; its own tenant is gone."""
    world = Shared()
    left = cached("shop", asked="cg_another")
    endpoint = world.cloudfront.get_group(world.group.id).routing_endpoint
    record = {"name": "a.example.com", "managedBy": "Provider", "value": endpoint}
    left["spec"]["forProvider"]["dns"] = {"configRef": {"name": "dns"}}
    left["status"] |= {
        "dnsInstructions": [record],
        "conditions": [{"type": "Ready", "status": "False", "reason": reason}],
    }
    left["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    world.cached = [left]
    world.delete()
    if reason == "DeletionHeld":
        world.looks()
        assert "waits for its tenants to be deleted or moved: DistributionTenant acme" in world.error.message
        world.cached = []
    world.settle()
    assert world.gone


def test_a_resource_of_another_namespace_counts_when_aws_says_so():
    world = Shared()
    id_ = world.use(name="secret.customer")
    world.cached = [cached("secret", asked=world.group.id, id=id_)]
    world.delete()
    world.looks()
    assert "moved: 1 more, named in the provider's log" in world.error.message
    assert "secret" not in world.error.message
    world.cloudfront.edit(id_, connection_group_id=DEFAULT_GROUP)
    world.settle()
    assert world.gone


def lies(world: Shared, count: int, namespace: str = "hostile") -> list[dict[str, Any]]:
    told = {"connectionGroupId": world.group.id}
    found = [cached(namespace, asked=world.group.id, id=f"{namespace}-{n}", **told) for n in range(count)]
    for number, each in enumerate(found):
        each["metadata"]["creationTimestamp"] = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
    return found


def passes_until(
    world: Shared, done: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None
) -> int:
    """The reconciles that it takes, at most a hundred."""
    for passes in range(1, 100):
        assert world.reconcile().count("GetDistributionTenant") <= 20
        if done():
            return passes
        world.clock.advance(getattr(world.error, "after", None) or 5)
        world.cloudfront.deploy()
        meanwhile()
    raise AssertionError(world.error)


@pytest.mark.parametrize("error", [None, AwsError("G", "AccessDenied", "of another account", status=403)])
def test_many_of_another_namespace_that_lie_cost_little_and_do_not_block_a_deletion(error):
    world = Shared()
    world.cached = lies(world, 500)
    if error:
        world.cloudfront.refuse["GetDistributionTenant"] = error
    world.delete()
    assert passes_until(world, lambda: world.gone) < 6
    assert world.cloudfront.journal.count("GetDistributionTenant") <= 20 + 10 * 5


class Stranger:
    """The author of many resources in other namespaces, who changes them all after each reconcile."""

    def __init__(self, world: Shared, how: str, namespaces: int = 1, each: int = 100) -> None:
        self.world, self.how, self.times = world, how, 0
        self.made = [lie for n in range(namespaces) for lie in lies(world, each, f"ns-{n}")]
        world.cached = [*world.cached, *self.made]

    def act(self) -> None:
        self.times += 1
        for number, each in enumerate(self.made):
            match self.how:
                case "edits":
                    each["metadata"]["generation"] = self.times + 1
                case "deletes and creates":
                    each["metadata"]["uid"] = f"made {self.times} {number}"
                    each["metadata"]["creationTimestamp"] = f"2026-01-02T00:{self.times:02}:00Z"
                case "names others":
                    each["status"]["atProvider"]["id"] = f"dt_{self.times}_{number}"
                case "renames":
                    each["metadata"]["annotations"] = {
                        "crossplane.io/external-name": f"x{self.times}-{number}"
                    }
                    each["status"]["atProvider"].pop("id", None)


@pytest.mark.parametrize("how", ["edits", "deletes and creates", "names others", "renames"])
@pytest.mark.parametrize(("namespaces", "each", "most"), [(1, 22, 6), (1, 200, 6), (30, 20, 24)])
def test_who_changes_resources_that_name_a_group_does_not_block_its_deletion(how, namespaces, each, most):
    world = Shared()
    stranger = Stranger(world, how, namespaces, each)
    world.delete()
    assert passes_until(world, lambda: world.gone, stranger.act) <= most


@pytest.mark.parametrize("how", ["edits", "names others"])
@pytest.mark.parametrize("less", [{"enabled": False}, {"ipv6Enabled": False}], ids=str)
def test_who_changes_resources_that_name_a_group_does_not_block_its_changes(how, less):
    world = Shared()
    stranger = Stranger(world, how)
    world.edit(**less)
    before = world.group
    assert passes_until(world, lambda: world.group != before, stranger.act) <= 6


@pytest.mark.parametrize(("namespaces", "newer"), [(1, 30), (1, 500), (30, 20)])
def test_a_resource_that_counts_is_not_hidden_by_newer_ones_of_another_namespace(namespaces, newer):
    world = Shared()
    id_ = world.use(name="secret.customer")
    world.cached = [cached("secret", asked=world.group.id, id=id_)]
    world.cached[0]["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    stranger = Stranger(world, "names others", namespaces, newer)
    world.delete()
    for _ in range(30):
        world.looks(1)
        stranger.act()
    assert "moved: 1 more, named in the provider's log" in world.error.message


def test_a_proven_tenant_is_not_hidden_by_others_of_its_namespace_or_by_its_status():
    world = Shared()
    id_ = world.use(name="hostile.site")
    hidden = cached("hostile", asked=world.group.id, id="dt_none")
    hidden["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    world.memory.proofs.note(hidden["metadata"]["uid"], world.cloudfront.tenants[id_])
    world.cached = [hidden, *lies(world, 500)]
    world.delete()
    world.looks()
    assert "moved: 1 more, named in the provider's log" in world.error.message


def test_the_newest_tenant_of_each_namespace_is_read_each_time():
    world = Shared()
    late = cached("secret", asked=world.group.id)
    late["metadata"] |= {"name": "late", "creationTimestamp": "2025-01-01T00:00:00Z"}
    late["metadata"]["annotations"]["crossplane.io/external-name"] = "secret.late"
    world.cached = [late, *lies(world, 500)]
    world.delete()
    world.looks(1)
    world.use(name="secret.late")
    world.looks(1)
    assert "waits for its tenants" in world.error.message


def test_proven_tenants_are_read_first():
    world = Shared()
    id_ = world.use(name="secret.customer")
    proven = cached("secret", asked=world.group.id, id=id_)
    proven["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    world.memory.proofs.note(proven["metadata"]["uid"], world.cloudfront.tenants[id_])
    world.cached = [proven]
    Stranger(world, "edits", namespaces=30, each=20)
    world.delete()
    assert world.reconcile().count("GetDistributionTenant") == 1
    assert "waits for its tenants" in world.error.message


def test_a_group_with_a_hidden_tenant_that_aws_knows_of_is_enabled_again():
    """Nothing but junk of its own namespace hides it."""
    world = Shared()
    id_ = world.use(name="hostile.site")
    world.cached = [cached("hostile", asked=world.group.id, id=id_), *lies(world, 500)]
    world.cached[0]["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    world.delete()
    passes_until(world, lambda: "waits for its tenants" in str(world.error))
    assert world.group.enabled
    assert "UpdateConnectionGroup" in world.cloudfront.journal


def test_a_tenant_that_was_found_late_is_found_again_without_reading_all():
    world = Shared()
    id_ = world.use(name="secret.customer")
    world.cached = [*lies(world, 30), cached("hostile", asked=world.group.id, id=id_)]
    world.cached[-1]["metadata"]["creationTimestamp"] = "2026-01-01T00:10:30Z"
    world.delete()
    passes_until(world, lambda: "waits for its tenants" in str(world.error))
    world.clock.advance(world.error.after)
    assert world.reconcile().count("GetDistributionTenant") == 10
    assert "waits for its tenants" in world.error.message


@pytest.mark.parametrize("name", ["..", "", "x" * 9000, "dt_1?domain=a", "dt 1", "-"])
def test_what_names_no_tenant_is_not_asked_for(name):
    world = Shared()
    world.cached = [cached("hostile", id=name or "/", connectionGroupId=world.group.id)]
    world.delete()
    assert world.reconcile() == ["GetConnectionGroup", "ListDistributionTenants"]
    world.settle()
    assert world.gone


def test_names_of_other_namespaces_are_not_told():
    world = Shared()
    world.cloudfront.add(connection_group_id=world.group.id, name="secret.customer")
    world.cloudfront.add(connection_group_id=world.group.id, name="shop.acme")
    world.cached = [cached("secret", name="secret.customer"), cached("shop", name="shop.acme")]
    world.delete()
    with structlog.testing.capture_logs() as log:
        world.looks()
    assert "moved: shop.acme, 1 more, named in the provider's log" in world.error.message
    assert "secret" not in world.error.message
    assert [each["tenants"] for each in log] == [["secret.customer", "shop.acme"]], "told once"


@pytest.mark.parametrize("code", ["CannotDeleteEntityWhileInUse", "ResourceInUse"])
def test_a_group_that_aws_says_is_used_after_all_is_enabled_again(code):
    world = Shared()
    world.cloudfront.refuse["DeleteConnectionGroup"] = AwsError("D", code, "used", status=409)
    world.delete()
    world.reconcile()
    world.clock.advance(PAUSE)
    calls = world.reconcile()
    update = "UpdateConnectionGroup"
    assert calls[-3:] == [update, "DeleteConnectionGroup", update]
    assert world.group.enabled
    assert "waits for its tenants" in world.error.message
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone


def test_a_tenant_that_turns_up_in_a_group_that_is_being_disabled_is_served_again():
    world = Shared()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    world.reconcile()
    world.clock.advance(PAUSE)
    world.reconcile()
    assert not world.group.enabled
    world.cloudfront.add(connection_group_id=world.group.id)
    world.reconcile()
    assert world.group.enabled


def test_a_group_that_cannot_be_enabled_again_says_so():
    world = Shared()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    world.reconcile()
    world.clock.advance(PAUSE)
    world.reconcile()
    world.cloudfront.add(connection_group_id=world.group.id)
    refusal = AwsError("UpdateConnectionGroup", "AccessDenied", "not authorized", status=403)
    world.cloudfront.refuse["UpdateConnectionGroup"] = refusal
    world.reconcile()
    assert isinstance(world.error, ExternalError)
    assert f"enable connection group {world.group.name} again: AccessDenied" in world.error.message


@pytest.mark.parametrize("enabled", [True, False])
def test_so_does_one_that_turns_up_while_the_provider_is_started_again(enabled):
    world = Shared()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    if not enabled:
        world.edit(enabled=False)
        world.settle()
    world.delete()
    # One that is disabled as asked is deleted at once.
    for _ in range(2 if enabled else 0):
        world.reconcile()
        world.clock.advance(PAUSE)
    assert not world.group.enabled
    world.restart()
    world.cloudfront.add(connection_group_id=world.group.id)
    world.reconcile()
    assert world.group.enabled is enabled
    assert "waits for its tenants" in world.error.message


@pytest.mark.parametrize("restarts", [(), (0,), (1,), (0, 1, 2)])
def test_so_does_one_that_turns_up_while_the_deletion_is_on_hold(restarts):
    """The provider had disabled the group before writes were frozen."""
    world = Shared()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    for _ in range(2):
        world.reconcile()
        world.clock.advance(PAUSE)
    assert not world.group.enabled
    for look in range(3):
        if look in restarts:
            world.restart()
        world.context["frozen"] = "spec.writes is Frozen"
        world.reconcile()
        assert world.ready() == ("False", "Frozen")
    world.restart()
    world.cloudfront.add(connection_group_id=world.group.id)
    world.context["frozen"] = ""
    world.reconcile()
    assert world.group.enabled


def test_one_that_others_disable_while_its_deletion_is_on_hold_stays_so():
    world = Shared()
    world.delete()
    world.context["frozen"] = "spec.writes is Frozen"
    world.reconcile()
    world.cloudfront.groups[world.group.id] = replace(world.group, enabled=False, etag="by others")
    for _ in range(2):
        world.reconcile()
        assert world.status["atProvider"]["enabled"] is False
    world.cloudfront.add(connection_group_id=world.group.id)
    world.context["frozen"] = ""
    world.reconcile()
    assert not world.group.enabled


def test_a_forged_status_enables_no_group_of_others():
    world = Shared()
    disable(world, world.group.id)
    foreign = {**world.group.tags, "edgetenants.io/owner": "cluster-1/ConnectionGroup/other/shop.front"}
    world.cloudfront.groups[world.group.id] = replace(world.group, tags=foreign)
    world.cloudfront.add(connection_group_id=world.group.id)
    world.restart()
    world.delete()
    assert world.obj["status"]["atProvider"]["enabled"] is True
    for _ in range(3):
        world.reconcile()
        world.clock.advance(PAUSE)
    assert not world.group.enabled


def test_a_group_whose_disabling_was_not_answered_is_enabled_again():
    world = Shared()
    world.delete()
    del world.obj["status"]["atProvider"]["enabled"]
    world.reconcile()
    world.clock.advance(PAUSE)
    # It reaches AWS, and its answer gets lost.
    world.cloudfront.refuse["UpdateConnectionGroup"] = AwsError("U", "Endpoint", "reset")
    world.reconcile()
    world.cloudfront.refuse.clear()
    disable(world, world.group.id)
    world.cloudfront.add(connection_group_id=world.group.id)
    world.reconcile()
    assert world.group.enabled


@pytest.mark.parametrize("shown", [True, False], ids=["in the list", "in AWS's refusal"])
def test_a_group_that_waits_for_its_tenants_leaves_the_rate_to_others(shown):
    world = Shared()
    if shown:
        world.cloudfront.add(connection_group_id=world.group.id)
    else:
        refusal = AwsError("D", "ResourceInUse", "used", status=409)
        world.cloudfront.refuse["DeleteConnectionGroup"] = refusal
    world.delete()
    looks = []
    while sum(looks) < 3600:
        world.reconcile()
        if "waits for its tenants" in world.error.message:
            looks.append(world.error.after)
        world.clock.advance(world.error.after)
    assert looks[:5] == [5, 10, 20, 40, 60]
    assert set(looks[5:]) == {60}
    world.cloudfront.refuse.clear()
    world.cloudfront.tenants.clear()
    world.settle()
    assert world.gone


class Lists:
    """Answers of a list, page after page."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.pages, self.markers = iter(pages), []

    def _page(self, **request: Any) -> dict[str, Any]:
        self.markers.append(request.get("Marker"))
        page = next(self.pages)
        if "Error" in page:
            raise ClientError(page, "ListDistributionTenants")
        return page

    list_distribution_tenants = list_connection_groups = list_domain_conflicts = _page


def calls_of(*pages: dict[str, Any]) -> tuple[GroupCalls, Lists]:
    calls, lists = GroupCalls(), Lists(*pages)
    calls._cloudfront = lists  # type: ignore[assignment]
    return calls, lists


def test_the_tenants_of_a_group_are_looked_for_on_every_page():
    row = {"Id": "dt_1", "Arn": "arn", "Name": "shop.acme", "ETag": "v1"}
    rows = [row, {**row, "Name": "shop.other"}]
    pages = (
        {"NextMarker": "a"},
        {"NextMarker": "b", "DistributionTenantList": rows},
        {"DistributionTenantList": [row]},
    )
    calls, lists = calls_of(*pages)
    listed = iter(calls.tenants_of_group("cg_1"))
    assert [next(listed).name, next(listed).name] == ["shop.acme", "shop.other"]
    assert lists.markers == [None, "a"], "a page that is not needed is not read"
    assert [each.name for each in listed] == ["shop.acme"]
    assert lists.markers == [None, "a", "b"]
    assert [*calls_of({"NextMarker": "a"}, {})[0].tenants_of_group("cg_1")] == []


THROTTLED = {"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}


def test_a_page_that_is_throttled_is_asked_for_once_more():
    calls, lists = calls_of({"NextMarker": "a"}, THROTTLED, {"NextMarker": "b"}, THROTTLED, {})
    assert [*calls.tenants_of_group("cg_1")] == []
    assert lists.markers == [None, "a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("pages", "asked"),
    [
        ((THROTTLED,), [None]),
        (({"NextMarker": "a"}, THROTTLED, THROTTLED), [None, "a", "a"]),
        (({"NextMarker": "a"}, {"Error": {"Code": "AccessDenied", "Message": "no"}}), [None, "a"]),
    ],
)
def test_a_list_that_goes_on_being_refused_fails(pages, asked):
    calls, lists = calls_of(*pages)
    with pytest.raises(AwsError):
        [*calls.tenants_of_group("cg_1")]
    assert lists.markers == asked


@pytest.mark.parametrize("what", ["tenants", "default group"])
@pytest.mark.parametrize("markers", ["aa", "aba"])
def test_pages_that_lead_back_are_no_empty_list(what, markers):
    calls, _ = calls_of(*({"NextMarker": marker} for marker in markers))
    ask = calls.default_group if what == "default group" else lambda: [*calls.tenants_of_group("cg_1")]
    with pytest.raises(AwsError) as refused:
        ask()
    assert refused.value.code == ENDLESS


def test_conflicts_whose_pages_lead_back_come_to_an_end():
    calls = DomainCalls()
    calls._cloudfront = Lists(*({"NextMarker": marker} for marker in "aba"))  # type: ignore[assignment]
    assert calls.conflicts("a.example.com", "dt_1") == ()


# A group that a user disables.


def disable(world: World, id_: str, *, enabled: bool = False) -> None:
    group = world.cloudfront.groups[id_]
    world.cloudfront.groups[id_] = replace(group, enabled=enabled)


def served() -> World:
    world = World(managed({**FOR_PROVIDER, "connectionGroupId": "cg_own"}))
    world.cloudfront.put_group("cg_own")
    world.settle()
    assert world.ready() == ("True", "Available")
    return world


def test_a_disabled_group_takes_ready_within_two_minutes_and_gives_it_back():
    world = served()
    for enabled, expected in [(False, ("False", "ConnectionGroupDisabled")), (True, ("True", "Available"))]:
        disable(world, "cg_own", enabled=enabled)
        for _ in range(2):
            world.clock.advance(60.0)
            world.reconcile()
        assert world.ready() == expected
    assert world.status["domainsReady"] == "2/2"


def test_after_a_restart_it_is_told_at_once():
    world = served()
    disable(world, "cg_own")
    world.restart()
    world.reconcile()
    assert world.ready() == ("False", "ConnectionGroupDisabled")
    assert "cg_own is disabled in AWS" in world.condition("Ready")[2]
    assert world.status["domainsReady"] == "0/2"


def test_a_new_tenant_in_a_disabled_group_is_not_ready():
    world = World(managed({**FOR_PROVIDER, "connectionGroupId": "cg_own"}))
    world.cloudfront.put_group("cg_own")
    disable(world, "cg_own")
    for _ in range(3):
        world.reconcile()
        assert world.ready() == ("False", "ConnectionGroupDisabled")


def test_a_new_tenant_waits_for_its_group_to_be_rolled_out():
    world = World(managed({**FOR_PROVIDER, "connectionGroupId": "cg_own"}))
    world.cloudfront.put_group("cg_own")
    group = world.cloudfront.groups["cg_own"]
    world.cloudfront.groups["cg_own"] = replace(group, status="InProgress")
    for _ in range(2):
        world.clock.advance(60.0)
        world.reconcile()
    assert world.ready() == ("False", "Deploying")
    world.cloudfront.groups["cg_own"] = group
    world.clock.advance(60.0)
    world.reconcile()
    assert world.ready() == ("True", "Available")
    world.cloudfront.groups["cg_own"] = replace(group, status="InProgress")
    world.clock.advance(60.0)
    world.reconcile()
    assert world.ready() == ("True", "Available"), "a later change of the group is no interruption"


@pytest.mark.parametrize("code", ["AccessDenied", "EntityNotFound", "Throttling", "InternalError"])
def test_a_group_that_cannot_be_looked_at_takes_nothing(code):
    world = served()
    world.cloudfront.refuse["GetConnectionGroup"] = AwsError("GetConnectionGroup", code, "no")
    disable(world, "cg_own")
    for restart in (False, True):
        if restart:
            world.restart()
        world.clock.advance(60.0)
        world.reconcile()
        assert world.ready() == ("True", "Available")
    assert world.status["atProvider"]["routingEndpoint"] == "d1.cloudfront.net"


@pytest.mark.parametrize(("code", "stays"), [("Throttling", True), ("AccessDenied", False)])
def test_what_was_seen_is_kept_while_aws_takes_no_requests_and_no_longer(code, stays):
    before = GroupLook("cg_1", "d1", disabled=True)
    after = group_look.failed(before, AwsError("GetConnectionGroup", code, "no"))
    assert (after.disabled, after.endpoint) == (stays, "d1")


def test_one_look_a_minute_serves_all_tenants_of_a_group():
    first = served()
    others = []
    for number in range(5):
        obj = managed({**FOR_PROVIDER, "connectionGroupId": "cg_own", "domains": [f"t{number}.example.com"]})
        obj["metadata"]["annotations"]["crossplane.io/external-name"] = f"shop.t{number}"
        world = World({**obj, "metadata": {**obj["metadata"], "uid": f"u{number}"}}, first.cloudfront)
        world.clock, world.memory = first.clock, first.memory
        world.settle()
        others.append(world)
    for _ in range(3):
        first.clock.advance(60.0)
        calls = [call for world in (first, *others) for call in world.reconcile()]
        assert calls.count("GetConnectionGroup") == 1


def test_the_look_of_its_own_managed_resource_serves_the_tenants_too():
    group = Groups()
    group.settle()
    asked = {**FOR_PROVIDER, "connectionGroupId": group.group.id}
    world = World(managed(asked, uid="tenant"), group.cloudfront)
    world.clock, world.memory = group.clock, group.memory
    world.settle()
    group.clock.advance(60.0)
    assert group.reconcile() == ["GetConnectionGroup"]
    assert world.reconcile() == ["GetDistributionTenant"]


def test_a_group_that_does_not_say_whether_it_is_enabled_is_not_taken_for_disabled():
    assert group_state.read({"Id": "cg_1", "Arn": "arn", "Name": "front"}, "v1").enabled


# What a disabling says.


def test_a_disabling_that_every_form_is_refused_for_is_told_and_tried_again():
    world = World()
    world.settle()
    world.cloudfront.refuse["UpdateDistributionTenant"] = AwsError("U", "InvalidArgument", "not so")
    world.delete()
    assert world.reconcile().count("UpdateDistributionTenant") == 3
    assert "not so" in world.error.message
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone


@pytest.mark.parametrize(
    "code", ["AccessDenied", "Throttling", "PreconditionFailed", "EntityNotFound", "InternalError"]
)
def test_what_is_refused_for_another_reason_is_not_said_in_other_words(code):
    world = World()
    world.settle()
    world.cloudfront.refuse["UpdateDistributionTenant"] = AwsError("U", code, "no")
    world.delete()
    assert world.reconcile().count("UpdateDistributionTenant") == 1


# The taking over of a group.

TAG = "edgetenants.io/owner"
OURS = f"{INSTALLATION}/DistributionTenant/shop/shop.acme"
OTHERS = f"{INSTALLATION}/DistributionTenant/rogue/x"


def taking(*owners: str | None, **values: Any) -> Groups:
    """A resource that takes over a group which a user made in the console, with tenants of these owners."""
    world = Groups({"ipv6Enabled": False}, FakeCloudFront(disables_used_groups=True))
    group = world.cloudfront.add_group("shop.front", **values)
    for number, owner in enumerate(owners):
        tags = {TAG: owner} if owner else {}
        world.cloudfront.add(name=f"t{number}", connection_group_id=group.id, tags=tags)
    world.obj["metadata"]["annotations"][ADOPT_ANNOTATION] = group.id
    return world


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param([OURS, f"{INSTALLATION}/DistributionTenant/rogue/x"], id="another namespace's"),
        pytest.param(["other-cluster/DistributionTenant/shop/shop.acme"], id="another installation's"),
        pytest.param([OURS, None], id="nobody's"),
        pytest.param([OURS] * 21, id="too many to look at"),
    ],
)
def test_a_group_with_tenants_of_others_is_not_taken_over(owners: list[str | None]) -> None:
    world = taking(*owners)
    for _ in range(3):
        assert not {"TagResource", "UpdateConnectionGroup"} & set(world.reconcile())
        world.clock.advance(60)
    assert world.ready() == ("False", "AdoptionRefused")
    assert "tenants that do not belong to this namespace" in world.error.message
    assert f"{TAG} to {INSTALLATION}/ConnectionGroup/shop/shop.front" in world.error.message
    assert "rogue" not in world.error.message
    world.group.tags[TAG] = f"{INSTALLATION}/ConnectionGroup/shop/shop.front"
    world.edit(ipv6Enabled=True, tags={"team": "shop"})
    assert "TagResource" in world.reconcile(), "an administrator gave it away"


@pytest.mark.parametrize("owners", [(), (OURS, OURS)], ids=["empty", "with one's own"])
def test_a_group_with_ones_own_tenants_or_none_is_taken_over(owners: tuple[str, ...]) -> None:
    world = taking(*owners)
    assert "TagResource" in world.reconcile()
    world.clock.advance(PAUSE)
    assert "UpdateConnectionGroup" in world.reconcile()


def test_a_group_whose_tenants_aws_does_not_tell_is_not_taken_over() -> None:
    world = taking()
    world.cloudfront.refuse["ListDistributionTenants"] = DENIED
    assert "TagResource" not in world.reconcile()
    assert "read the owners of the tenants in connection group shop.front" in world.error.message


def test_ones_own_group_that_lost_its_owner_tag_is_marked_again_whoever_is_in_it() -> None:
    world = Groups()
    world.settle()
    world.cloudfront.add(name="visitor", connection_group_id=world.group.id)
    del world.group.tags[TAG]
    world.edit(ipv6Enabled=False)
    world.clock.advance(7200)
    assert "TagResource" in world.reconcile()


# The disabling of a group by its spec.


def serving(api: FakeObjects | None, *owners: str) -> Groups:
    """A group of one's own, with tenants of these owners; with records of names where there is an `api`."""
    world = Groups(cloudfront=FakeCloudFront(disables_used_groups=True))
    if api is not None:
        world.context["kept"] = records(api)
    world.settle()
    for number, owner in enumerate(owners):
        tags = {TAG: owner} if owner else {}
        world.cloudfront.add(name=f"t{number}", connection_group_id=world.group.id, tags=tags)
    return world


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("owner", [OTHERS, ""], ids=["another's", "nobody's"])
@pytest.mark.parametrize(
    "less", [{"enabled": False}, {"ipv6Enabled": False}, {"anycastIpListId": "aip_1"}], ids=str
)
def test_nothing_is_taken_from_a_group_with_tenants_of_others(
    less: dict[str, Any], owner: str, forged: bool
) -> None:
    world = serving(None, OURS, owner)
    before = world.group
    world.edit(**less)
    if forged:
        # As if it had been written so, and a user had changed it in AWS.
        world.status["applied"] = {**world.status.get("applied", {}), **less}
    assert "UpdateConnectionGroup" not in world.reconcile()
    assert f"{next(iter(less))} of connection group" in world.error.message
    assert "rogue" not in world.error.message
    assert world.group == before


def test_what_others_have_of_a_group_may_become_more() -> None:
    world = serving(None, OTHERS)
    world.cloudfront.groups[world.group.id] = replace(world.group, ipv6_enabled=False, enabled=False)
    world.edit(enabled=True, ipv6Enabled=True)
    assert "UpdateConnectionGroup" in world.reconcile()
    assert (world.group.enabled, world.group.ipv6_enabled) == (True, True)


def test_the_owner_tags_of_a_large_group_are_read_for_the_most_part_once() -> None:
    world = serving(FakeObjects(Journal()), *[OURS] * 50)
    known = world.context["kept"]
    known.hold([key_of("DistributionTenant", ACCOUNT, f"t{number}") for number in range(50)], "shop")
    world.edit(enabled=False)
    calls = [*world.reconcile(), *after_a_pause(world)]
    assert "UpdateConnectionGroup" in calls
    assert 50 <= calls.count("ListTagsForResource") <= 50 + 20 + 1


@pytest.mark.parametrize("less", [{"enabled": False}, {"ipv6Enabled": False}], ids=str)
def test_a_former_owner_takes_nothing_from_a_tenant_that_was_handed_over(less: dict[str, Any]) -> None:
    """Its name may still be recorded for him."""
    world = serving(FakeObjects(Journal()), OTHERS)
    world.context["kept"].hold([key_of("DistributionTenant", ACCOUNT, "t0")], "shop")
    world.edit(**less)
    assert "UpdateConnectionGroup" not in [*world.reconcile(), *after_a_pause(world)]
    assert (world.group.enabled, world.group.ipv6_enabled) == (True, True)


def test_a_record_for_another_namespace_is_enough() -> None:
    api = FakeObjects(Journal())
    other = serving(api, "")
    other.context["kept"].hold([key_of("DistributionTenant", ACCOUNT, "t0")], "rogue")
    other.edit(enabled=False)
    assert "ListTagsForResource" not in other.reconcile()
    assert other.group.enabled


def test_a_cluster_scoped_group_is_disabled_by_whoever_runs_the_platform() -> None:
    world = serving(None, f"{INSTALLATION}/DistributionTenant/rogue/x")
    del world.obj["metadata"]["namespace"]
    world.group.tags[TAG] = f"{INSTALLATION}/ConnectionGroup//shop.front"
    world.obj["status"]["applied"]["owner"] = world.group.tags[TAG]
    world.edit(enabled=False)
    assert "UpdateConnectionGroup" in world.reconcile()


LESS = [{"enabled": False}, {"ipv6Enabled": False}]


@pytest.mark.parametrize("less", LESS, ids=["disabled", "without IPv6"])
@pytest.mark.parametrize("how", ["by its spec", "by its status"])
def test_what_others_have_of_a_group_stays_though_the_list_lags_behind_their_tenant(
    less: dict[str, Any], how: str
) -> None:
    world = Shared()
    id_ = world.use(tags={TAG: OTHERS})
    named = {"asked": world.group.id} if how == "by its spec" else {"connectionGroupId": world.group.id}
    world.cached.append(cached("rogue", id=id_, **named))
    world.edit(**less)
    for _ in range(3):
        assert "UpdateConnectionGroup" not in world.reconcile()
        world.clock.advance(60)
    assert "tenants that do not belong to this namespace" in world.error.message
    world.cached.clear()
    world.cloudfront.tenants.clear()
    assert "UpdateConnectionGroup" in [*world.reconcile(), *after_a_pause(world)]


def after_a_pause(world: Groups) -> list[str]:
    world.clock.advance(15)
    return world.reconcile()


def test_a_group_is_disabled_after_a_second_look() -> None:
    world = serving(None)
    world.edit(enabled=False)
    assert "UpdateConnectionGroup" not in world.reconcile()
    assert isinstance(world.error, NotYet)
    assert "disabled after a second check of its tenants" in world.error.message
    # A tenant of others, which a user put there at the console, and which AWS lists late.
    world.cloudfront.add(name="late", connection_group_id=world.group.id, tags={TAG: OTHERS})
    assert "UpdateConnectionGroup" not in after_a_pause(world)
    world.cloudfront.tenants.clear()
    assert "UpdateConnectionGroup" not in after_a_pause(world), "looks begin anew"
    assert "UpdateConnectionGroup" in after_a_pause(world)
    assert not world.group.enabled


def test_a_look_of_before_is_no_first_look() -> None:
    world = serving(None)
    world.edit(enabled=False)
    world.reconcile()
    world.edit(enabled=True)
    world.reconcile()
    world.clock.advance(3600)
    world.edit(enabled=False)
    assert "UpdateConnectionGroup" not in world.reconcile()
    assert "UpdateConnectionGroup" in after_a_pause(world)


def test_who_only_names_a_group_keeps_nobody_from_changing_it() -> None:
    world = Shared()
    mine = world.use(tags={TAG: OURS})
    elsewhere = world.cloudfront.add(name="far", tags={TAG: OTHERS})
    for id_ in (mine, elsewhere.id, "dt_none"):
        world.cached.append(cached("rogue", asked=world.group.id, id=id_))
    world.edit(ipv6Enabled=False)
    assert "UpdateConnectionGroup" in world.reconcile()
