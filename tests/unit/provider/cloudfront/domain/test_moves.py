"""Domains that are moved from one tenant of ours to another: asked for, between our own, and to the end."""

from __future__ import annotations

import pytest

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain import moves
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION, Mover, taken_from
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.safety.holds import hold_of
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront, Killed
from tests.unit.provider.world import World, managed

OWN, MOVED = "www.example.com", "old.example.com"
OURS = "cluster-1/DistributionTenant/shop/shop.source"
ELSEWHERE = "cluster-1/DistributionTenant/other/shop.source"
THEIRS = "cluster-2/DistributionTenant/shop/shop.source"
MOVE = "UpdateDomainAssociation"


def source(cloudfront: FakeCloudFront, owner: str | None = OURS):
    """The tenant that has the domain, and one more."""
    return cloudfront.add(
        name="shop.source",
        domains={MOVED: "active", "kept.example.com": "active"},
        tags={OWNER_TAG: owner} if owner else {},
    )


def receiving(
    owner: str | None = OURS, *, take: str | None = "dt_1", sources: tuple[dict, ...] = (), **more
) -> World:
    """A tenant of its own, which is Ready, and another that has a domain."""
    cloudfront = FakeCloudFront()
    source(cloudfront, owner)
    annotations = {TAKE_ANNOTATION: take} if take else {}
    obj = managed({"distributionId": DISTRIBUTION, "domains": [OWN]}, annotations=annotations, **more)
    world = World(obj, cloudfront)
    world.context["everyone"] = lambda: [world.mr, *(World(each).mr for each in sources)]
    world.settle()
    return world


def source_mr(namespace: str = "other", spec: dict | None = None, **annotations: str) -> dict:
    """The resource that has the domain, as its status says."""
    named = {"crossplane.io/external-name": "shop.source", **annotations}
    obj = managed(annotations=named, uid="source", **(spec or {}))
    obj["metadata"]["namespace"] = namespace
    obj["status"] = {"atProvider": {"id": "dt_1"}, "applied": {"hash": "1"}}
    return obj


def between(namespace: str) -> dict:
    """A third resource, which takes domains from the receiving tenant."""
    third = source_mr(
        namespace, **{TAKE_ANNOTATION: "dt_1,dt_2", "crossplane.io/external-name": "shop.third"}
    )
    third["metadata"] |= {"uid": "third", "name": "third"}
    third["status"]["atProvider"]["id"] = "dt_3"
    return third


def holders(world: World) -> list[str]:
    return [t.name for t in world.cloudfront.tenants.values() if MOVED in t.domains]


def test_a_domain_is_moved_in_one_step():
    world = receiving()
    world.edit(domains=[OWN, MOVED])
    calls = world.reconcile()
    assert MOVE in calls
    assert "UpdateDistributionTenant" not in calls, "there is nothing left to update"
    assert world.events[-1] == f"update: moved domain {MOVED} from tenant shop.source to tenant shop.acme"
    world.settle()
    assert holders(world) == ["shop.acme"]
    assert "kept.example.com" in world.cloudfront.tenants["dt_1"].domains
    assert world.condition("InSync")[0] == "True"
    assert world.ready() == ("True", "Available")
    assert world.cloudfront.journal.count(MOVE) == 1


def test_a_domain_of_a_tenant_that_is_going_is_waited_for_and_released_by_nobody():
    """As after a confirmed change of isolation."""
    going = source_mr("shop")
    going["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    going["status"]["atProvider"]["domains"] = [{"domain": MOVED, "status": "active"}]
    world = receiving(take=None, sources=(going,))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    told = world.error.message
    assert "That tenant is being deleted, which frees the domain. No action is needed" in told
    assert "Release the domain there" not in told
    assert world.error.retry.mode == "Backoff", "visitors wait for it"


def condition(type_: str, reason: str, message: str) -> dict[str, str]:
    return {"type": type_, "status": "False", "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("held", "words"),
    [
        pytest.param(
            {"conditions": [condition("Ready", "DeletionHeld", "To delete it, set X")]},
            "The deletion of DistributionTenant acme is on hold; its Ready condition says how to proceed",
            id="its deletion is held",
        ),
        pytest.param(
            {"conditions": [condition("Synced", "ReconcileError", "no ProviderConfig default")]},
            "The deletion of DistributionTenant acme fails; its Synced condition says why",
            id="its deletion fails",
        ),
        pytest.param(
            {"annotations": {"crossplane.io/paused": "true"}},
            "Its deletion waits while it is paused. Remove the annotation crossplane.io/paused of "
            "DistributionTenant acme",
            id="it is paused",
        ),
        pytest.param(
            {"managementPolicies": ["Observe", "Create", "Update"]},
            "or move it",
            id="its policies leave the tenant",
        ),
    ],
)
def test_of_a_tenant_whose_deletion_is_held_the_cause_is_told_and_nothing_is_hurried(held, words):
    going = source_mr("shop")
    going["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    going["metadata"].setdefault("annotations", {}).update(held.get("annotations", {}))
    going["status"]["atProvider"]["domains"] = [{"domain": MOVED, "status": "active"}]
    going["status"]["conditions"] = held.get("conditions", [])
    if "managementPolicies" in held:
        going["spec"]["managementPolicies"] = held["managementPolicies"]
    world = receiving(take=None, sources=(going,))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert words in world.error.message
    assert "No action is needed" not in world.error.message
    assert world.error.retry.mode == "Poll"


def test_what_else_changed_is_updated_after_the_move():
    world = receiving()
    world.edit(domains=[OWN, MOVED, "new.example.com"], parameters={"tenantName": "b"})
    calls = world.reconcile()
    assert [c for c in calls if c in (MOVE, "UpdateDistributionTenant")] == [MOVE, "UpdateDistributionTenant"]
    world.settle()
    tenant = world.cloudfront.tenants["dt_2"]
    assert set(tenant.domains) == {OWN, MOVED, "new.example.com"}
    assert tenant.parameters == {"tenantName": "b"}


@pytest.mark.parametrize(
    ("owner", "take", "sources", "words"),
    [
        pytest.param(OURS, None, (), f"{TAKE_ANNOTATION} to dt_1", id="nobody asked for it"),
        pytest.param(OURS, "dt_9", (), f"{TAKE_ANNOTATION} to dt_1", id="another tenant's were asked for"),
        pytest.param(None, "dt_1", (), "Release the domain there, or remove it here", id="it has no owner"),
        pytest.param(
            THEIRS, "dt_1", (), "Release the domain there, or remove it here", id="another cluster's"
        ),
        pytest.param(
            "cluster-1/ConnectionGroup/shop/x",
            "dt_1",
            (),
            "Release the domain there",
            id="another kind's identity",
        ),
        pytest.param(
            "cluster-11/DistributionTenant/shop/x",
            "dt_1",
            (),
            "Release the domain there",
            id="a longer name of one",
        ),
        pytest.param(
            ELSEWHERE, "dt_1", (), f"{GIVE_ANNOTATION} of the resource that has it", id="another namespace's"
        ),
        pytest.param(
            ELSEWHERE,
            "dt_1",
            (source_mr(**{GIVE_ANNOTATION: "shop/shop.acme2, x"}),),
            f"{GIVE_ANNOTATION} of the resource that has it to shop/shop.acme",
            id="which gives to others",
        ),
        pytest.param(
            ELSEWHERE,
            "dt_1",
            (source_mr(**{GIVE_ANNOTATION: "shop.acme, sales/shop.acme"}),),
            f"{GIVE_ANNOTATION} of the resource that has it to shop/shop.acme",
            id="which gives to a name, whosever it is",
        ),
        pytest.param(
            OURS,
            "dt_1",
            (source_mr("shop", **{TAKE_ANNOTATION: "dt_2"}),),
            "The tenants would take it from each other",
            id="both would take the other's",
        ),
        pytest.param(
            OURS,
            "dt_1",
            (source_mr("shop", **{TAKE_ANNOTATION: "dt_7,dt_3"}), between("shop")),
            "The tenants would take it from each other",
            id="it would come back by a third",
        ),
    ],
)
def test_it_stays_where_it_is_and_the_message_says_how(owner, take, sources, words):
    world = receiving(owner, take=take, sources=sources)
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert words in world.error.message
    assert "Release the domain there" in world.error.message or "The tenants" in world.error.message
    assert MOVE not in world.cloudfront.journal
    assert holders(world) == ["shop.source"]


def test_another_team_stops_no_move_by_what_its_status_says():
    world = receiving(sources=(source_mr("shop", **{TAKE_ANNOTATION: "dt_3"}), between("rogue")))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert MOVE in world.cloudfront.journal
    assert holders(world) == ["shop.acme"]


def test_it_does_not_come_back_by_a_third_namespace_that_agrees():
    """Each of the three takes from the one before, and each gives to the next."""
    first = source_mr(**{TAKE_ANNOTATION: "dt_3", GIVE_ANNOTATION: "shop/shop.acme"})
    third = between("sales")
    third["metadata"]["annotations"][GIVE_ANNOTATION] = "other/shop.source"
    world = receiving(ELSEWHERE, sources=(first, third))
    world.obj["metadata"]["annotations"][GIVE_ANNOTATION] = "sales/shop.third"
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert "The tenants would take it from each other without end" in world.error.message
    assert "sales" not in world.error.message
    assert holders(world) == ["shop.source"]


@pytest.mark.parametrize(
    ("gives", "third_gives"),
    [
        pytest.param("sales/shop.else", "other/shop.source", id="this one does not give to the third"),
        pytest.param("sales/shop.third", "other/shop.else", id="the third does not give to the first"),
    ],
)
def test_a_ring_that_one_of_them_does_not_agree_to_stops_no_move(gives, third_gives):
    first = source_mr(**{TAKE_ANNOTATION: "dt_3", GIVE_ANNOTATION: "shop/shop.acme"})
    third = between("sales")
    third["metadata"]["annotations"][GIVE_ANNOTATION] = third_gives
    world = receiving(ELSEWHERE, sources=(first, third))
    world.obj["metadata"]["annotations"][GIVE_ANNOTATION] = gives
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]


@pytest.mark.parametrize("owner", [None, THEIRS])
def test_strangers_give_nothing_whatever_they_say(owner):
    world = receiving(owner, sources=(source_mr(**{GIVE_ANNOTATION: "shop/shop.acme"}),))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert "or move it" not in world.error.message
    assert holders(world) == ["shop.source"]


GIVES = {GIVE_ANNOTATION: "shop/shop.acme"}


@pytest.mark.parametrize(
    "impostor",
    [
        pytest.param(source_mr("shop", **GIVES), id="of another namespace than the owner's"),
        pytest.param(
            source_mr("shop", {"managementPolicies": ["Observe"]}, **GIVES), id="which may only look"
        ),
        pytest.param(
            source_mr("other", {"managementPolicies": ["Observe"]}, **GIVES),
            id="of the owner's namespace, which may only look",
        ),
    ],
)
def test_only_the_owner_gives_and_not_whoever_looks_at_the_tenant(impostor):
    world = receiving(ELSEWHERE, sources=(impostor, source_mr()))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert f"{GIVE_ANNOTATION} of the resource that has it to shop/shop.acme" in world.error.message
    assert holders(world) == ["shop.source"]


def test_the_owner_gives_whoever_else_looks_at_the_tenant():
    looks = source_mr("shop", {"managementPolicies": ["Observe"]})
    world = receiving(ELSEWHERE, sources=(looks, source_mr(**GIVES)))
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_a_receiver_that_was_handed_over_meanwhile_takes_nothing():
    world = receiving()
    world.cloudfront.tenants["dt_2"].tags[OWNER_TAG] = THEIRS
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert "its owner tag in AWS names another namespace or installation" in world.error.message
    assert THEIRS not in world.error.message
    assert holders(world) == ["shop.source"]


def test_another_namespace_may_give_it():
    world = receiving(ELSEWHERE, sources=(source_mr(**{GIVE_ANNOTATION: "shop/shop.x, shop/shop.acme"}),))
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_what_is_being_deleted_gives_nothing():
    """Another may have come in its place, and have agreed to nothing."""
    going = source_mr(**GIVES)
    going["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    world = receiving(ELSEWHERE, sources=(going,))
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert f"{GIVE_ANNOTATION} of the resource that has it" in world.error.message
    assert holders(world) == ["shop.source"]


FROZEN = {"spec": {"writes": "Frozen"}}
LATER = "It stays there for now: "


@pytest.mark.parametrize(
    ("giver", "config", "words"),
    [
        pytest.param(
            source_mr("shop", **{"crossplane.io/paused": "true"}),
            {},
            "DistributionTenant acme is paused. Remove its annotation crossplane.io/paused to proceed",
            id="it is paused",
        ),
        pytest.param(
            source_mr("shop", **{"edgetenants.io/dry-run": "true"}),
            {},
            "DistributionTenant acme is in a dry run. Remove its annotation edgetenants.io/dry-run",
            id="it is in a dry run",
        ),
        pytest.param(
            source_mr("shop", {"managementPolicies": ["Observe"]}),
            {},
            "the managementPolicies of DistributionTenant acme do not allow updates. Add Update",
            id="it only observes",
        ),
        pytest.param(
            source_mr("shop", {"managementPolicies": []}),
            {},
            "the managementPolicies of DistributionTenant acme do not allow",
            id="it has no policies",
        ),
        pytest.param(
            source_mr("shop", {"managementPolicies": ["Delete"]}),
            {},
            "the managementPolicies of DistributionTenant acme do not allow",
            id="its policies are not supported",
        ),
        pytest.param(
            source_mr("shop"),
            FROZEN,
            "spec.writes of ClusterProviderConfig default, which DistributionTenant acme uses, is Frozen",
            id="its config is frozen",
        ),
        pytest.param(
            source_mr("shop"),
            None,
            "ClusterProviderConfig default, which DistributionTenant acme uses, does not exist. Create it",
            id="its config is gone",
        ),
    ],
)
def test_what_stops_writes_for_the_giver_stops_the_move(giver, config, words):
    world = receiving(sources=(giver,))
    world.context["hold"] = lambda mr: hold_of(mr, config)
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert LATER + words in world.error.message
    assert MOVE not in world.cloudfront.journal
    assert holders(world) == ["shop.source"]


def test_what_stops_it_in_another_namespace_stays_private():
    world = receiving(ELSEWHERE, sources=(source_mr(**GIVES, **{"crossplane.io/paused": "true"}),))
    world.context["hold"] = lambda mr: hold_of(mr, {})
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert f"{LATER}the resource that has it is on hold. Its owners can end that" in world.error.message
    assert holders(world) == ["shop.source"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"status": {}}, id="its status was lost"),
        pytest.param({"status": {"atProvider": {"id": "dt_1"}}}, id="its record was lost"),
    ],
)
def test_a_giver_is_held_whatever_its_status_has_lost(change):
    world = receiving(sources=({**source_mr("shop", **{"crossplane.io/paused": "true"}), **change},))
    world.context["hold"] = lambda mr: hold_of(mr, {})
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert LATER in world.error.message


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(source_mr("sales", **{"crossplane.io/paused": "true"}), id="of another namespace"),
        pytest.param(between("shop"), id="of another tenant"),
    ],
)
def test_only_a_resource_that_has_the_tenant_holds_it(other):
    """Anyone may pause a resource of their own, and state any id in its status."""
    other["metadata"]["annotations"]["crossplane.io/paused"] = "true"
    world = receiving(sources=(source_mr("shop"), other))
    world.context["hold"] = lambda mr: hold_of(mr, {"spec": {"writes": "Enabled"}})
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_a_resource_that_only_looks_at_the_giver_holds_nothing():
    looks = source_mr("shop", {"managementPolicies": ["Observe"]})
    world = receiving(sources=(looks, source_mr("shop")))
    world.context["hold"] = lambda mr: hold_of(mr, {})
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_the_move_follows_when_the_hold_ends():
    world = receiving(sources=(source_mr("shop"),))
    config = {"spec": {"writes": "Frozen"}}
    world.context["hold"] = lambda mr: hold_of(mr, config)
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert holders(world) == ["shop.source"]
    config["spec"]["writes"] = "Enabled"
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_a_new_tenant_is_made_first_and_given_its_domains_then():
    cloudfront = FakeCloudFront()
    source(cloudfront)
    asked = {"distributionId": DISTRIBUTION, "domains": [OWN, MOVED]}
    world = World(managed(asked, annotations={TAKE_ANNOTATION: "dt_1"}), cloudfront)
    world.reconcile()
    assert set(cloudfront.tenants["dt_2"].domains) == {OWN}
    assert world.condition("InSync")[1] == "UpdatePending", "what waits is no drift"
    world.settle()
    assert holders(world) == ["shop.acme"]
    assert not any("drift" in event for event in world.events)


def test_a_tenant_cannot_be_made_of_moved_domains_alone():
    cloudfront = FakeCloudFront()
    source(cloudfront)
    asked = {"distributionId": DISTRIBUTION, "domains": [MOVED]}
    world = World(managed(asked, annotations={TAKE_ANNOTATION: "dt_1"}), cloudfront)
    world.reconcile()
    assert "Add one of its own" in world.error.message
    assert len(cloudfront.tenants) == 1


def test_a_domain_that_no_certificate_covers_is_not_moved():
    world = receiving()
    world.cloudfront.edit("dt_1", domains={"www.other.test": "active"})
    request = {"validationTokenHost": "cloudfront"}
    world.edit(domains=[OWN, "www.other.test"], managedCertificateRequest=request)
    world.reconcile()
    assert "no certificate covers www.other.test" in world.error.message
    assert MOVE not in world.cloudfront.journal


def test_cloudfront_may_want_the_source_disabled_first():
    world = receiving()
    world.cloudfront.refuse[MOVE] = AwsError(MOVE, "IllegalUpdate", "must be disabled first", status=400)
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert "IllegalUpdate: must be disabled first" in world.error.message
    assert "set spec.forProvider.enabled to false there" in world.error.message
    assert world.error.retry.mode.name == "POLL"
    del world.cloudfront.refuse[MOVE]
    world.settle()
    assert holders(world) == ["shop.acme"]


def test_the_source_does_not_take_it_back():
    world = receiving()
    other = World(
        managed(
            {"distributionId": DISTRIBUTION, "domains": [MOVED, "kept.example.com"]},
            annotations={"crossplane.io/external-name": "shop.source"},
            uid="other",
        ),
        world.cloudfront,
    )
    other.settle()
    world.edit(domains=[OWN, MOVED])
    world.settle()
    other.reconcile()
    assert f"{MOVED} is served by tenant shop.acme (dt_2)" in other.error.message
    assert other.condition("Ready")[0] == "False"
    other.edit(domains=["kept.example.com"])
    other.settle()
    assert other.ready() == ("True", "Available")
    assert holders(world) == ["shop.acme"]


def test_a_rehearsal_shows_it_and_does_not_do_it():
    world = receiving()
    world.edit(domains=[OWN, MOVED])
    recorder = Recorder(world.cloudfront)
    world.cloudfront = recorder.as_cloudfront
    told = rehearse(world.client, world.mr, recorder).to_status()
    assert [(t["action"], t["operation"]) for t in told] == [("MoveDomain", f"cloudfront:{MOVE}")]
    assert MOVED in told[0]["details"]
    assert MOVE not in recorder.inner.journal


CALLS = 20
"""More than a creation with a move takes; a death that never comes ends well too."""


def fresh() -> World:
    cloudfront = FakeCloudFront()
    source(cloudfront)
    asked = {"distributionId": DISTRIBUTION, "domains": [OWN, MOVED], "tags": {"team": "shop"}}
    return World(managed(asked, annotations={TAKE_ANNOTATION: "dt_1"}), cloudfront)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", range(CALLS))
def test_a_death_anywhere_ends_as_asked(call, when):
    world = fresh()
    world.cloudfront.die = (call, when)
    try:
        world.settle()
    except Killed:
        world.restart()
        world.settle()
    assert holders(world) == ["shop.acme"]
    assert set(world.cloudfront.tenants["dt_2"].domains) == {OWN, MOVED}
    assert set(world.cloudfront.tenants["dt_1"].domains) == {"kept.example.com"}
    assert len(world.cloudfront.tenants) == 2
    assert world.ready() == ("True", "Available")
    assert len(world.cloudfront.journal) > 2
    assert world.cloudfront.journal.index(MOVE) < CALLS


def crowd(count: int, ids: str) -> tuple[dict, ...]:
    """Resources of another namespace that take domains from one another."""
    found = []
    for number in range(count):
        obj = source_mr("red", **{TAKE_ANNOTATION: ids, "crossplane.io/external-name": f"red.s{number}"})
        obj["metadata"] |= {"uid": f"red-{number}", "name": f"s{number}"}
        obj["status"]["atProvider"]["id"] = f"dt_red{number}"
        found.append(obj)
    return tuple(found)


@pytest.fixture
def read(monkeypatch) -> list[tuple[str, str]]:
    """The uid and annotation of each list that is parsed."""
    found: list[tuple[str, str]] = []
    listed = moves._listed

    def noted(mr, annotation):
        found.append((mr.uid, annotation))
        return listed(mr, annotation)

    monkeypatch.setattr(moves, "_listed", noted)
    return found


def of_blue(obj: dict) -> dict:
    """The same in a second namespace, which gives to no one in the first."""
    obj["metadata"] |= {"namespace": "blue", "uid": f"blue {obj['metadata']['uid']}"}
    obj["metadata"]["annotations"][GIVE_ANNOTATION] = "some/one"
    return obj


def test_the_lists_of_resources_that_take_from_one_another_are_read_once_each(read):
    """Otherwise, two namespaces with many of them keep the provider busy: those that do not agree are asked
    again by each of the others."""
    ids = ",".join(f"dt_red{number}" for number in range(30))
    everyone = [*crowd(30, ids), *map(of_blue, crowd(30, ids))]
    own = Managed(managed())
    mover = Mover(own, "cluster-1", lambda: map(Managed, everyone))
    for each in everyone[:3]:
        assert not mover._comes_back([Managed(each)])
    assert len(read) == len(set(read))
    # Of one namespace, it is read what they take; of the other only that they do not give.
    assert sorted(read) == sorted(
        [(f"red-{number}", TAKE_ANNOTATION) for number in range(30)]
        + [(f"blue red-{number}", GIVE_ANNOTATION) for number in range(30)]
    )


def ring(length: int) -> tuple[Mover, Managed]:
    """The mover of a resource, and the source from which a chain of that many others leads back to it."""
    everyone = []
    for number, obj in enumerate(crowd(length, "")):
        last = number == length - 1
        obj["metadata"]["annotations"][TAKE_ANNOTATION] = "dt_own" if last else f"dt_red{number + 1}"
        everyone.append(Managed(obj))
    own = managed(annotations={GIVE_ANNOTATION: f"red/red.s{length - 1}"})
    own["status"] = {"atProvider": {"id": "dt_own"}}
    return Mover(Managed(own), "cluster-1", lambda: iter(everyone)), everyone[0]


def test_a_ring_is_found_unless_the_search_is_too_long(read):
    mover, source = ring(1_001)
    assert mover._comes_back([source]), "it asks 1,000 of them"
    mover, source = ring(1_100)
    del read[:]
    assert not mover._comes_back([source])
    assert len(read) == 1_001


def test_a_crowd_of_one_id_ends_the_search_before_it_is_read(read):
    others = [of_blue(obj) for obj in crowd(1_001, "dt_red0")]
    for obj in others:
        obj["status"]["atProvider"]["id"] = "dt_one"
    (first,) = crowd(1, "dt_one")
    mover = Mover(Managed(managed()), "cluster-1", lambda: map(Managed, (first, *others)))
    assert not mover._comes_back([Managed(first)])
    assert read == [("red-0", TAKE_ANNOTATION)]


def test_a_search_ends_at_the_deadline():
    mover, source = ring(5)
    clock = FakeClock()
    with deadline.within(60.0, clock):
        assert mover._comes_back([source])
        clock.advance(60.0)
        with pytest.raises(ExternalError, match="the search for moves without end was not started"):
            mover._comes_back([source])


def test_annotations_of_a_quarter_megabyte_are_not_read():
    ids = ",".join(f"dt_{number}" for number in range(25_000))
    assert taken_from(Managed(crowd(1, ids)[0])) == frozenset()
    giver = source_mr(**{GIVE_ANNOTATION: "shop/shop.acme," + "x" * 70_000})
    assert not moves._Lists(Managed(managed()), ()).gives(Managed(giver), Managed(managed()))
    world = receiving()
    world.obj["metadata"]["annotations"][TAKE_ANNOTATION] = ids
    world.edit(domains=[OWN, MOVED])
    world.reconcile()
    assert f"{TAKE_ANNOTATION}]: expected at most 26000 characters, got more" in world.error.message


def test_a_source_that_was_handed_over_meanwhile_gives_nothing():
    """Its owner was read for an earlier move."""
    world = receiving()
    world.edit(domains=[OWN, MOVED])
    world.settle()
    assert holders(world) == ["shop.acme"]
    world.cloudfront.tenants["dt_1"].tags[OWNER_TAG] = THEIRS
    world.edit(domains=[OWN, MOVED, "kept.example.com"])
    world.reconcile()
    assert world.cloudfront.journal.count(MOVE) == 1
    assert "kept.example.com" in world.cloudfront.tenants["dt_1"].domains
