"""Tenants that are gone: a few are made again, many at once only when a user confirms it."""

from __future__ import annotations

import contextlib
import copy
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.memory import answers, vanishing
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.vanishing import Census, Loss, Vanished, Verdict, decide, limit, take_census
from provider.cloudfront.state.identity import OWNER_TAG
from provider.records.config_maps import DomainRecords
from provider.records.rounds import Claims, Rounds
from provider.records.use import Looks
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import ACCOUNT, FakeCloudFront
from tests.unit.provider.world import World, managed

POLL = 60.0
CONFIG = "ClusterProviderConfig default"


@pytest.mark.parametrize(("known", "most"), [(1, 5), (5, 5), (250, 5), (299, 5), (300, 6), (10_000, 200)])
def test_five_or_two_percent(known, most):
    assert limit(known) == most


@pytest.mark.parametrize(
    ("gone", "known", "looked_at", "waited", "verdict"),
    [
        pytest.param(1, 1, 1, 0.9, Verdict.MAKE, id="so few tenants can never be too many"),
        pytest.param(5, 5, 5, 0.9, Verdict.MAKE, id="nor five"),
        pytest.param(1, 6, 1, 0.9, Verdict.WAIT, id="the others are looked at first"),
        pytest.param(5, 6, 6, 1, Verdict.MAKE, id="five may be gone"),
        pytest.param(6, 6, 6, 1, Verdict.HELD, id="six are too many"),
        pytest.param(6, 6, 6, 0.9, Verdict.HELD, id="which is not waited for"),
        pytest.param(200, 10_000, 10_000, 1, Verdict.MAKE, id="two percent may"),
        pytest.param(201, 10_000, 10_000, 1, Verdict.HELD, id="more may not"),
        pytest.param(150, 10_000, 300, 1, Verdict.HELD, id="half of those that could be looked at"),
        pytest.param(5, 10_000, 6, 1, Verdict.MAKE, id="five of six that were looked at"),
        pytest.param(5, 10_000, 5, 1, Verdict.WAIT, id="five of five: the others are waited for"),
        pytest.param(5, 8, 2, 9.9, Verdict.WAIT, id="as long as none that is there was seen"),
        pytest.param(5, 8, 2, 10, Verdict.MAKE, id="but not for ever: they may be paused"),
    ],
)
def test_judgement(gone, known, looked_at, waited, verdict):
    assert decide(gone, known, looked_at, believed=known, waited=waited) is verdict


def token_of(world: World) -> str:
    """What its message says to set."""
    said = re.search(r"of ClusterProviderConfig default to (\w+)", world.condition("Ready")[2])
    assert said is not None
    return said[1]


@dataclass
class Fleet:
    """Many managed resources of one account, in one process."""

    size: int
    groups: int = 0
    """Of these, connection groups."""
    clock: FakeClock = field(default_factory=FakeClock)
    cloudfront: FakeCloudFront = field(default_factory=FakeCloudFront)
    worlds: list[World] = field(default_factory=list)

    def __post_init__(self):
        for number in range(self.groups):
            world = Groups({}, self.cloudfront, name=f"shop.g{number}")
            world.obj["metadata"]["uid"] = f"uid-g{number}"
            self.worlds.append(world)
        for number in range(self.size - self.groups):
            asked = {"distributionId": "E1EDGETENANTS", "domains": [f"t{number}.example.com"]}
            obj = managed(
                asked,
                uid=f"uid-{number}",
                annotations={"crossplane.io/external-name": f"shop.t{number}"},
            )
            self.worlds.append(World(obj, self.cloudfront))
        self.context = {
            "everyone": lambda: [world.mr for world in self.worlds if not world.gone],
            "poll_seconds": POLL,
            "config": CONFIG,
        }
        self.restart()
        self.poll()
        self.poll()
        assert len(self.cloudfront.tenants) == self.size - self.groups

    def restart(self):
        memory = AccountMemory(self.clock)
        for world in self.worlds:
            world.memory, world.clock, world.context = memory, self.clock, self.context

    def confirm(self, token):
        self.context["confirmed"] = token

    def poll(self):
        """Every resource is looked at once, spread over the poll interval."""
        for world in self.worlds:
            self.clock.advance(POLL / self.size)
            world.reconcile()

    def lose(self, number):
        for id_ in list(self.cloudfront.tenants)[:number]:
            del self.cloudfront.tenants[id_]

    def lose_groups(self):
        for id_ in [group.id for group in self.cloudfront.groups.values() if not group.is_default]:
            del self.cloudfront.groups[id_]

    @property
    def held(self):
        return [w for w in self.worlds if w.ready() == ("False", "RecreationHeld")]

    @property
    def token(self):
        """What the messages say to set."""
        (token,) = {token_of(world) for world in self.held}
        return token

    def creations(self):
        return self.cloudfront.journal.count("CreateDistributionTenant")


def test_a_few_are_made_anew_after_the_others_were_looked_at():
    fleet = Fleet(8)
    fleet.lose(5)
    fleet.poll()
    assert fleet.creations() == 8
    assert len(fleet.held) == 5
    assert "recreates it in 60 s" in fleet.held[0].condition("Ready")[2]
    fleet.poll()
    fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8
    assert all(world.ready() == ("True", "Available") for world in fleet.worlds)


def test_of_many_none_is_made_anew_until_it_is_confirmed():
    fleet = Fleet(8)
    fleet.lose(6)
    for _ in range(5):
        fleet.poll()
    assert fleet.creations() == 8
    assert len(fleet.held) == 6
    status, _, message = fleet.held[0].condition("Ready")
    assert status == "False"
    assert "so are too many of the account's other tenants and connection groups" in message
    assert not re.search(r"\b[568]\b", message.partition("gone from AWS")[2]), "what others have is not told"
    fleet.confirm(fleet.token)
    fleet.poll()
    fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8
    assert not fleet.held


def test_a_new_process_makes_none_anew_either():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    token = fleet.token
    for _ in range(3):
        fleet.restart()
        fleet.poll()
        fleet.poll()
    assert fleet.creations() == 8
    assert fleet.token == token, "what somebody is about to confirm does not move"


def test_one_confirmation_is_for_one_time():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    fleet.confirm(fleet.token)
    fleet.poll()
    fleet.poll()
    assert fleet.creations() == 16
    fleet.lose(8)
    for _ in range(3):
        fleet.poll()
    assert fleet.creations() == 16
    assert len(fleet.held) == 8


def test_another_token_confirms_nothing():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.confirm("true")
    for _ in range(3):
        fleet.poll()
    assert fleet.creations() == 8


def test_those_that_come_back_clear_it():
    fleet = Fleet(8)
    before = dict(fleet.cloudfront.tenants)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    fleet.cloudfront.tenants = before
    fleet.poll()
    assert fleet.creations() == 8
    assert not fleet.held
    fleet.lose(2)
    for _ in range(3):
        fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8, "those that are back do not count any more"


def test_those_that_nobody_wants_any_more_are_not_counted():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    for world in fleet.worlds[:3]:
        world.delete()
    for _ in range(3):
        fleet.poll()
    assert all(world.gone for world in fleet.worlds[:3])
    assert fleet.creations() == 13


OTHERWISE = [
    pytest.param({"managementPolicies": ["Observe"]}, {}, id="it is only looked at"),
    pytest.param({"managementPolicies": ["Observe", "Update"]}, {}, id="it may not be created"),
    pytest.param({"driftPolicy": "Suspend"}, {}, id="its drift policy leaves it"),
    pytest.param({"driftPolicy": "Report"}, {}, id="its drift policy leaves it and says so"),
    pytest.param({}, {"edgetenants.io/dry-run": "true"}, id="it is rehearsed"),
]


@pytest.mark.parametrize(("spec", "annotations"), OTHERWISE)
def test_what_would_not_be_made_anew_holds_up_nobody(spec, annotations):
    fleet = Fleet(16)
    left, others = fleet.worlds[:8], fleet.worlds[8:]
    for world in left:
        world.obj["spec"] |= spec
        world.obj["metadata"]["annotations"] |= annotations
        world.context = world.context | {"frozen": "dry-run" if annotations else ""}
    fleet.lose(10)
    for _ in range(4):
        fleet.clock.advance(POLL / 2)
        for world in left:
            with contextlib.suppress(NotYet):
                assert not world.client.observe(Managed(world.obj)).exists
        for world in others:
            world.reconcile()
    assert fleet.creations() == 18
    assert len(fleet.cloudfront.tenants) == 8


def test_resources_that_went_without_another_look_hold_up_nobody():
    fleet = Fleet(16)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    assert len(fleet.held) == 8
    # Without Delete among their policies they are let go before anything is looked at.
    for world in fleet.worlds[:6]:
        world.gone = True
    fleet.worlds = fleet.worlds[6:]
    for _ in range(2):
        fleet.clock.advance(POLL)
        fleet.poll()
    fleet.poll()
    assert fleet.creations() == 18, "two counts lack them"


def forge(fleet, number, namespace="hostile"):
    """Resources of a user who may write status: of tenants that never were."""
    for index in range(number):
        obj = managed(
            {"distributionId": "E1EDGETENANTS", "domains": [f"f{index}.example.com"]},
            uid=f"forged-{namespace}-{index}",
            annotations={"crossplane.io/external-name": f"{namespace}.f{index}"},
        )
        obj["metadata"]["namespace"] = namespace
        arn = f"arn:aws:cloudfront::123456789012:distribution-tenant/dt_0{index}"
        obj["status"] = {"atProvider": {"id": f"dt_0{index}", "name": f"{namespace}.f{index}", "arn": arn}}
        world = World(obj, fleet.cloudfront)
        world.memory, world.clock, world.context = fleet.worlds[0].memory, fleet.clock, fleet.context
        fleet.worlds.append(world)


def test_forged_status_holds_up_its_own_namespace_alone():
    fleet = Fleet(8)
    forge(fleet, 50)
    fleet.poll()
    fleet.poll()
    assert {world.mr.namespace for world in fleet.held} == {"hostile"}
    fleet.lose(1)
    for _ in range(3):
        fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8
    assert {world.mr.namespace for world in fleet.held} == {"hostile"}


def remembered(fleet: Fleet) -> None:
    """From here on names are recorded, as they are where a provider runs."""
    records = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(fleet.clock, 60))
    records.load()
    fleet.context["kept"] = records
    fleet.poll()


def with_one_in_each_of(fleet: Fleet, namespaces: list[str]) -> None:
    """Teams that have a tenant each."""
    for namespace in namespaces:
        asked = {"distributionId": "E1EDGETENANTS", "domains": [f"{namespace}.example.com"]}
        name = {"crossplane.io/external-name": f"{namespace}.only"}
        obj = managed(asked, uid=f"uid-{namespace}", annotations=name)
        obj["metadata"]["namespace"] = namespace
        fleet.worlds.append(World(obj, fleet.cloudfront))
    fleet.restart()
    fleet.poll()
    fleet.poll()


def test_who_forges_in_many_namespaces_holds_up_nobody_else():
    fleet = Fleet(8)
    remembered(fleet)
    for number in range(9):
        forge(fleet, 1, f"hostile{number}")
    fleet.size = len(fleet.worlds)
    fleet.poll()
    fleet.restart()
    fleet.poll()
    fleet.lose(1)
    for _ in range(3):
        fleet.poll()
    assert sum(each.name.startswith("shop.") for each in fleet.cloudfront.tenants.values()) == 8
    assert "shop" not in {world.mr.namespace for world in fleet.held}


@pytest.mark.parametrize("kept", ["recorded", "no records", "unread"])
def test_an_accident_of_many_namespaces_holds_them_all_after_a_restart_too(kept):
    fleet, teams = Fleet(1), [f"team{number}" for number in range(8)]
    if kept != "no records":
        remembered(fleet)
    with_one_in_each_of(fleet, teams)
    assert len(fleet.cloudfront.tenants) == 9
    fleet.cloudfront.tenants.clear()
    if kept == "unread":
        fleet.context["kept"] = DomainRecords(
            FakeObjects(Journal()), "crossplane-system", Looks(fleet.clock, 60)
        )
    fleet.restart()
    for _ in range(3):
        fleet.poll()
    assert {world.mr.namespace for world in fleet.held} == {"shop", *teams}
    assert not fleet.cloudfront.tenants


class NoClaims:
    def allowed(self, verb, kind):
        return False


def passes_round(fleet: Fleet) -> None:
    """The records are brought to what is."""
    kept = fleet.context["kept"]
    Rounds(
        kept,
        kept._looks,
        Claims(NoClaims()),
        keep=timedelta(hours=72),
        everyone=fleet.context["everyone"],
        everything_read=lambda: True,
    ).round()


def test_what_was_deleted_and_is_forged_again_holds_up_nobody_after_a_restart():
    fleet = Fleet(8)
    remembered(fleet)
    hostile = [f"hostile{number}" for number in range(9)]
    with_one_in_each_of(fleet, hostile)
    theirs = [world for world in fleet.worlds if world.mr.namespace in hostile]
    before = [world.status for world in theirs]
    for world in theirs:
        world.delete()
        world.settle()
        assert world.gone
    for world, status in zip(theirs, before, strict=True):
        again = copy.deepcopy(world.obj)
        again["metadata"].pop("deletionTimestamp")
        again["metadata"]["uid"] += "-again"
        again["status"] = status
        fleet.worlds[fleet.worlds.index(world)] = World(again, fleet.cloudfront)
    passes_round(fleet)
    fleet.restart()
    fleet.poll()
    fleet.lose(1)
    for _ in range(3):
        fleet.poll()
    assert "shop" not in {world.mr.namespace for world in fleet.held}


@pytest.mark.parametrize("frozen", ["", "writes are frozen"])
def test_the_domains_are_kept_for_as_long_as_recreation_is_on_hold(frozen):
    fleet = Fleet(8)
    remembered(fleet)
    held = fleet.context["kept"]._looks
    fleet.context["frozen"] = frozen
    fleet.lose(8)
    for _ in range(3):
        fleet.poll()
    uses = held.uses([world.mr for world in fleet.worlds])
    assert {uses.is_held("shop", f"t{number}.example.com") for number in range(8)} == {None}


def onlook(fleet: Fleet) -> list[World]:
    """A namespace has resources that only look at tenants of others, one at each."""
    watching = []
    for index, victim in enumerate(list(fleet.cloudfront.tenants.values())[:6]):
        obj = managed(
            {},
            uid=f"onlooker-{index}",
            annotations={"crossplane.io/external-name": victim.name},
            managementPolicies=["Observe"],
        )
        obj["metadata"]["namespace"] = "hostile"
        world = World(obj, fleet.cloudfront)
        world.memory, world.clock, world.context = fleet.worlds[0].memory, fleet.clock, fleet.context
        watching.append(world)
    fleet.worlds += watching
    return watching


def test_who_looked_at_others_tenants_and_is_led_elsewhere_holds_up_nobody():
    fleet = Fleet(8)
    watching = onlook(fleet)
    fleet.poll()
    for index, world in enumerate(watching):
        assert world.status["atProvider"]["id"]
        world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = f"nothing.{index}"
        world.obj["status"]["atProvider"]["name"] = f"nothing.{index}"
        world.obj["spec"]["managementPolicies"] = ["*"]
    fleet.poll()
    fleet.lose(1)
    for _ in range(4):
        fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8
    assert {world.mr.namespace for world in fleet.held} == {"hostile"}


def test_who_went_without_a_last_look_is_forgotten_after_a_week():
    fleet = Fleet(8)
    for world in (watching := onlook(fleet)):
        world.reconcile()
    del fleet.worlds[8:]
    for _ in range(8):
        fleet.clock.advance(24 * 3600)
        fleet.poll()
    memory = fleet.worlds[0].memory
    known = {*memory.vanished._looks, *memory.vanished._seen}
    for part in (memory.unseen, *memory._per_resource):
        known |= {uid for each in vars(part).values() if isinstance(each, dict) for uid in each}
    assert known >= {world.mr.uid for world in fleet.worlds}
    assert not known & {world.mr.uid for world in watching}


def test_what_others_ask_for_in_vain_stops_nobody():
    fleet = Fleet(8)
    forge(fleet, 1)
    fleet.worlds[-1].obj["spec"]["managementPolicies"] = ["Delete"]
    fleet.lose(1)
    for _ in range(3):
        for world in fleet.worlds[:8]:
            world.reconcile()
        fleet.clock.advance(POLL)
    assert len(fleet.cloudfront.tenants) == 8


def test_an_accident_is_noticed_by_a_new_process_over_many_namespaces():
    fleet = Fleet(8)
    fleet.lose(8)
    for number, world in enumerate(fleet.worlds):
        world.obj["metadata"]["namespace"] = f"team-{number}"
    fleet.restart()
    for _ in range(3):
        fleet.poll()
    assert fleet.creations() == 8
    assert len(fleet.held) == 8


def test_who_waits_for_anothers_count_comes_again(monkeypatch):
    monkeypatch.setattr(answers, "_LONGEST_WAIT", 0.01)
    fleet = Fleet(8)
    fleet.lose(1)
    first = fleet.worlds[0]

    def slowly():
        """Others are looked at while one worker counts."""
        first.reconcile()
        return vanishing.take_census((), None, 0.0, lambda _: "")

    first.memory.shared.get("known tenants 123456789012", slowly)
    assert isinstance(first.error, NotYet)
    assert first.error.after == 2
    assert not first.error.conditions


def test_others_that_are_found_gone_take_nothing_from_a_confirmation():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    token = fleet.token
    forge(fleet, 6)
    fleet.poll()
    fleet.confirm(token)
    fleet.poll()
    fleet.poll()
    assert all(world.ready() == ("True", "Available") for world in fleet.worlds[:8])


def test_six_that_go_one_by_one_are_made_anew():
    fleet = Fleet(8)
    for _ in range(6):
        fleet.lose(1)
        for _ in range(3):
            fleet.poll()
    assert len(fleet.cloudfront.tenants) == 8


def test_credentials_of_another_account_look_like_nothing_is_gone():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.context["account"] = "999999999999"
    fleet.poll()
    assert {world.ready()[1] for world in fleet.worlds} <= {"Available", "AccountMismatch"}
    assert fleet.creations() == 8


def test_connection_groups_count_and_are_held_like_tenants():
    fleet = Fleet(8, groups=3)
    fleet.lose(4)
    fleet.lose_groups()
    for _ in range(3):
        fleet.poll()
    assert len(fleet.held) == 7
    assert "connection group shop.g0" in fleet.held[0].condition("Ready")[2]
    assert fleet.cloudfront.journal.count("CreateConnectionGroup") == 3
    fleet.confirm(fleet.token)
    fleet.poll()
    fleet.poll()
    assert fleet.cloudfront.journal.count("CreateConnectionGroup") == 6
    assert not fleet.held


def test_a_connection_group_that_is_gone_alone_is_made_anew():
    fleet = Fleet(8, groups=1)
    fleet.lose_groups()
    fleet.poll()
    assert fleet.cloudfront.journal.count("CreateConnectionGroup") == 1
    fleet.poll()
    fleet.poll()
    assert fleet.cloudfront.journal.count("CreateConnectionGroup") == 2
    assert not fleet.held


def lost(id_, namespace, *, name="", proven=True, recorded=True) -> Loss:
    return Loss(id_, name or f"_tenant.{id_}", CONFIG, namespace, proven, recorded)


def census_of(*uids: str, taken: float = 0.0, **by_status: int) -> Census:
    """That of resources with a tenant each, all of them recorded."""
    return Census(len(uids) + sum(by_status.values()), len(uids), by_status, frozenset(uids), taken)


def test_what_the_provider_deleted_itself_counts_for_nobody():
    vanished = AccountMemory(FakeClock()).vanished
    for number in range(10):
        vanished.is_there(f"twin-{number}", f"dt_{number}")
    vanished.found_gone("twin-0", lost("dt_0", "noisy"))
    for number in range(10):
        vanished.removed(f"dt_{number}")
    for number in range(10):
        vanished.found_gone(f"twin-{number}", lost(f"dt_{number}", "noisy"))
    vanished.found_gone("victim", lost("dt_victim", "quiet"))
    census = census_of("victim", *(f"twin-{number}" for number in range(10)))
    assert vanished.verdict("twin-3", census, POLL) is Verdict.MAKE
    assert vanished.verdict("victim", census, POLL) is Verdict.WAIT


def gone_from_aws() -> World:
    world = World()
    world.settle()
    id_ = world.cloudfront.only.id
    world.cloudfront.tenants.clear()
    world.memory.vanished.found_gone(world.mr.uid, lost(id_, "shop"))
    assert world.memory.vanished._gone
    return world


def test_what_nobody_wants_any_more_counts_no_longer_and_at_once():
    world = gone_from_aws()
    world.delete()
    world.reconcile()
    assert not world.memory.vanished._gone


def test_what_its_policy_leaves_from_now_on_counts_no_longer_and_at_once():
    world = gone_from_aws()
    world.obj["spec"]["driftPolicy"] = "Suspend"
    world.reconcile()
    assert not world.memory.vanished._gone


def team_of(fleet: Fleet, namespace: str, names: list[str]) -> list[World]:
    """A team of one namespace that has these tenants, by their owner tags."""
    worlds = []
    for name in names:
        asked = {"distributionId": "E1EDGETENANTS", "domains": [f"{name}-{namespace}.example.com"]}
        external = {"crossplane.io/external-name": f"{namespace}.{name}"}
        obj = managed(asked, uid=f"uid-{namespace}-{name}", annotations=external)
        obj["metadata"] |= {"namespace": namespace, "name": name}
        world = World(obj, fleet.cloudfront)
        world.memory, world.clock, world.context = fleet.worlds[0].memory, fleet.clock, fleet.context
        worlds.append(world)
    fleet.worlds += worlds
    fleet.poll()
    fleet.poll()
    assert all(world.ready() == ("True", "Available") for world in worlds)
    return worlds


def with_peers(fleet: Fleet) -> None:
    """Resources with one external name know of each other, as they do where a provider runs."""
    fleet.context["peers"] = lambda mr, names: [
        other.mr
        for other in fleet.worlds
        if other.mr.uid != mr.uid and {other.mr.external_name, other.mr.at_provider.get("id")} & names
    ]


def lead_elsewhere(world: World, name: str) -> None:
    """The user changes the external name, and what status says of it."""
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = name
    world.obj["status"] = copy.deepcopy(world.status)
    world.obj["status"]["atProvider"]["name"] = name


def forge_losses_of_their_own(fleet: Fleet, namespaces: list[str]) -> None:
    """Each namespace says that the tenant is gone which it had."""
    for namespace in namespaces:
        forge(fleet, 1, namespace)
        lead_elsewhere(fleet.worlds[-1], f"{namespace}.only")
    fleet.poll()


def recreates_what_it_loses(fleet: Fleet, number: int = 1) -> None:
    """The tenants of shop are recreated as if no other namespace had lost any."""
    of_shop = [world for world in fleet.worlds if world.mr.namespace == "shop"]
    fleet.lose(number)
    for _ in range(3):
        for world in of_shop:
            fleet.clock.advance(POLL / len(of_shop))
            world.reconcile()
    assert {world.ready() for world in of_shop} == {("True", "Available")}


def test_a_record_vouches_for_no_other_name_than_that_which_was_looked_for():
    """A live tenant of one's own, and a status that says that something else had its name."""
    fleet = Fleet(8)
    remembered(fleet)
    hostile = [f"hostile{number}" for number in range(6)]
    with_one_in_each_of(fleet, hostile)
    for namespace in hostile:
        forge(fleet, 1, namespace)
        ghost = fleet.worlds[-1].obj
        ghost["metadata"]["annotations"]["crossplane.io/external-name"] = f"ghost-{namespace}"
        ghost["status"]["atProvider"] |= {"id": f"ghost-{namespace}", "name": f"{namespace}.only"}
    fleet.poll()
    recreates_what_it_loses(fleet)


def test_who_is_no_longer_proven_to_have_a_tenant_cannot_lose_it():
    """Six tenants go from resources that only observe now to others. The former claim to have lost them."""
    fleet = Fleet(8)
    with_peers(fleet)
    names = [f"a{number}" for number in range(6)]
    former = team_of(fleet, "hostile", names)
    for world in former:
        world.obj["spec"]["managementPolicies"] = ["Observe"]
        again = copy.deepcopy(world.obj)
        again["metadata"]["uid"] += "-again"
        again["spec"]["managementPolicies"] = ["*"]
        again.pop("status")
        latter = World(again, fleet.cloudfront)
        latter.memory, latter.clock, latter.context = world.memory, fleet.clock, fleet.context
        world.reconcile()
        fleet.worlds.append(latter)
        latter.settle()
        assert latter.ready() == ("True", "Available")
    for number, world in enumerate(former):
        lead_elsewhere(world, f"hostile.ghost{number}")
        world.obj["spec"]["managementPolicies"] = ["*"]
    fleet.poll()
    # Those that have the tenants are not looked at again before the others.
    for world in former:
        world.reconcile()
        assert world.ready() == ("False", "RecreationHeld")
    assert len(fleet.cloudfront.tenants) == 14
    recreates_what_it_loses(fleet)


def after_an_accident(fleet: Fleet) -> list[World]:
    """All tenants were gone for a moment. Those of one team are not looked at after that."""
    team = team_of(fleet, "hostile", [f"a{number}" for number in range(6)])
    before = dict(fleet.cloudfront.tenants)
    fleet.cloudfront.tenants.clear()
    fleet.poll()
    fleet.poll()
    assert len(fleet.held) == 14
    fleet.cloudfront.tenants = before
    fleet.worlds = fleet.worlds[:8]
    fleet.context["everyone"] = lambda: [world.mr for world in (*fleet.worlds, *team)]
    fleet.poll()
    assert not fleet.held
    return team


def test_a_loss_says_nothing_once_its_resource_names_something_else():
    fleet = Fleet(8)
    for number, world in enumerate(after_an_accident(fleet)):
        lead_elsewhere(world, f"hostile.ghost{number}")
        world.reconcile()
        assert world.ready() == ("False", "RecreationHeld")
    recreates_what_it_loses(fleet)


def test_what_another_resource_finds_is_not_lost():
    fleet = Fleet(8)
    for world in after_an_accident(fleet):
        beside = copy.deepcopy(world.obj)
        beside["metadata"] |= {"uid": f"{world.mr.uid}-beside", "namespace": "onlooker"}
        beside["spec"]["managementPolicies"] = ["Observe"]
        onlooker = World(beside, fleet.cloudfront)
        onlooker.memory, onlooker.clock, onlooker.context = world.memory, fleet.clock, fleet.context
        onlooker.reconcile()
    recreates_what_it_loses(fleet)


def test_what_is_refused_as_anothers_is_not_lost_either():
    """The tags went to others in the meantime: the provider does not recreate what exists."""
    fleet = Fleet(8)
    for world in after_an_accident(fleet):
        id_ = world.status["atProvider"]["id"]
        fleet.cloudfront.edit(id_, tags={OWNER_TAG: "another/DistributionTenant/else/where"})
        refused = {"type": "Ready", "status": "False", "reason": "AdoptionRefused"}
        world.obj["status"] = {**world.status, "conditions": [refused]}
        world.reconcile()
        assert world.ready()[1] == "AdoptionRefused"
    recreates_what_it_loses(fleet)


@pytest.mark.parametrize(("minutes", "held"), [(50, 1), (70, 0)])
def test_what_nobody_looks_for_any_more_counts_for_an_hour(minutes, held):
    fleet = Fleet(8)
    after_an_accident(fleet)
    for _ in range(minutes):
        fleet.poll()
    fleet.lose(1)
    for _ in range(3):
        fleet.poll()
    assert len(fleet.held) == held


def test_who_could_not_look_for_long_recreates_none_before_the_others_were_looked_at():
    fleet = Fleet(8)
    fleet.lose(8)
    fleet.poll()
    fleet.poll()
    assert len(fleet.held) == 8
    fleet.clock.advance(3 * 3600)
    for _ in range(3):
        fleet.poll()
        assert fleet.creations() == 8
    assert len(fleet.held) == 8


def test_what_counted_before_the_records_were_read_is_looked_up_in_them():
    fleet = Fleet(8)
    remembered(fleet)
    read = fleet.context["kept"]
    fleet.context["kept"] = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(fleet.clock, 60))
    for number in range(6):
        forge(fleet, 1, f"hostile{number}")
    fleet.poll()
    fleet.context["kept"] = read
    fleet.poll()
    recreates_what_it_loses(fleet)


def test_a_name_that_somebody_has_again_tells_of_no_loss():
    fleet = Fleet(8)
    vanished = fleet.worlds[0].memory.vanished
    for number in range(6):
        told = lost(
            f"forged-{number}", f"hostile{number}", name=f"_tenant.hostile{number}.only", proven=False
        )
        vanished.found_gone(f"ghost-{number}", told)
        vanished.exists(f"dt_real{number}", f"_tenant.hostile{number}.only")
    assert not vanished._gone
    assert not vanished._whose


def test_what_was_proven_is_lost_even_if_another_tenant_has_its_name_now():
    vanished = AccountMemory(FakeClock()).vanished
    vanished.is_there("uid-1", "dt_1")
    vanished.found_gone("uid-1", lost("dt_1", "shop", name="_tenant.shop.one"))
    vanished.exists("dt_2", "_tenant.shop.one")
    assert [gone.id for gone in vanished._gone.values()] == ["dt_1"]


def test_an_accident_of_one_namespace_holds_the_others_for_as_long_as_it_lasts():
    fleet = Fleet(8)
    team = team_of(fleet, "blue", [f"a{number}" for number in range(6)])
    for world in team:
        del fleet.cloudfront.tenants[world.status["atProvider"]["id"]]
    for _ in range(4):
        fleet.poll()
    fleet.lose(1)
    for _ in range(4):
        fleet.poll()
    assert len(fleet.held) == 7
    assert len(fleet.cloudfront.tenants) == 7


def test_a_tenant_that_two_are_proven_to_have_had_is_lost_once():
    vanished = AccountMemory(FakeClock()).vanished
    for number in range(6):
        vanished.is_there(f"uid-{number}", "dt_1")
        vanished.found_gone(f"uid-{number}", lost("dt_1", "noisy"))
    vanished.found_gone("victim", lost("dt_victim", "quiet"))
    assert vanished.verdict("victim", census_of("victim", *map(str, range(19))), POLL) is Verdict.WAIT


def test_who_was_never_seen_to_have_a_tenant_has_lost_none():
    """A tenant that was just created may be invisible for a moment."""
    vanished = AccountMemory(FakeClock()).vanished
    for number in range(6):
        vanished.found_gone(f"uid-{number}", lost(f"dt_{number}", "noisy", recorded=False))
    vanished.found_gone("victim", lost("dt_victim", "quiet"))
    assert vanished.verdict("victim", census_of("victim", *map(str, range(19))), POLL) is Verdict.WAIT


def test_a_stale_look_of_another_resource_does_not_bring_back_a_record_of_what_was_deleted():
    """An onlooker of the same namespace that is paused, while the provider deletes what it looked at."""
    fleet = Fleet(8)
    remembered(fleet)
    hostile = [f"hostile{number}" for number in range(6)]
    with_one_in_each_of(fleet, hostile)
    for world in [world for world in fleet.worlds if world.mr.namespace in hostile]:
        beside = copy.deepcopy(world.obj)
        beside["metadata"]["uid"] += "-beside"
        beside["spec"]["managementPolicies"] = ["Observe"]
        onlooker = World(beside, fleet.cloudfront)
        onlooker.memory, onlooker.clock, onlooker.context = world.memory, fleet.clock, fleet.context
        onlooker.reconcile()
        fleet.clock.advance(1)
        world.delete()
        world.settle()
        assert world.gone
        fleet.worlds.append(onlooker)
    everyone = fleet.worlds
    passes_round(fleet)
    fleet.worlds = [world for world in everyone if world.mr.namespace == "shop"]
    forge_losses_of_their_own(fleet, hostile)
    recreates_what_it_loses(fleet)


def test_a_deletion_whose_answer_was_lost_leaves_no_record_that_vouches():
    """The process ends after AWS has deleted the tenant, and before it has recorded that."""
    fleet = Fleet(8)
    remembered(fleet)
    hostile = [f"hostile{number}" for number in range(6)]
    with_one_in_each_of(fleet, hostile)
    theirs = [world for world in fleet.worlds if world.mr.namespace in hostile]
    for world in theirs:
        world.delete()
        del fleet.cloudfront.tenants[world.status["atProvider"]["id"]]
    fleet.restart()
    for world in theirs:
        world.settle()
        assert world.gone
    fleet.worlds = [world for world in fleet.worlds if world not in theirs]
    forge_losses_of_their_own(fleet, hostile)
    recreates_what_it_loses(fleet)


def test_the_token_is_there_also_if_another_resource_finds_the_tenant_in_the_meantime():
    vanished, loss = AccountMemory(FakeClock()).vanished, lost("dt_1", "shop")
    vanished.found_gone("uid-1", loss)
    before = vanished.token(CONFIG, loss)
    vanished.exists("dt_1", "_tenant.shop.one")
    assert vanished.token(CONFIG, loss) == before


def test_a_status_chooses_no_token_and_no_forged_loss_confirms_those_of_others():
    """The smallest id is in the token, and anyone may write a small one to a status."""
    vanished = AccountMemory(FakeClock()).vanished
    theirs, forged = lost("dt_5", "shop"), lost("a", "red", proven=False, recorded=False)
    vanished.found_gone("uid-1", theirs)
    alone = vanished.token(CONFIG, theirs)
    vanished.found_gone("uid-2", forged)
    beside = lost("b", "shop", proven=False, recorded=False)
    vanished.found_gone("uid-3", beside)
    assert vanished.token(CONFIG, theirs) == vanished.token(CONFIG, beside) == alone
    old = AccountMemory(FakeClock()).vanished
    old.found_gone("uid-2", forged)
    of_forged = old.token(CONFIG, forged)
    assert not vanished.confirm(CONFIG, of_forged, "uid-1")
    assert vanished.confirm(CONFIG, of_forged, "uid-2")
    assert not vanished.confirm(CONFIG, of_forged, "uid-1"), "its own is permitted, and no other"
    assert vanished.confirm(CONFIG, alone, "uid-1")


def test_a_status_that_changes_all_the_time_keeps_nobody_from_confirming():
    """Its tenant is gone in the same accident, and its name is recorded. So its loss counts for all."""
    fleet = Fleet(8)
    remembered(fleet)
    with_one_in_each_of(fleet, ["hostile"])
    forge(fleet, 6)
    fleet.cloudfront.tenants.clear()
    fleet.restart()
    fleet.poll()
    fleet.poll()
    hostile = next(world for world in fleet.worlds if world.mr.uid == "uid-hostile")
    shown = set()
    for number in range(5):
        hostile.obj["status"]["atProvider"]["id"] = f"!{number}"
        fleet.poll()
        shown |= {token_of(world) for world in fleet.held if world.mr.namespace == "shop"}
    (token,) = shown
    assert token != token_of(hostile)
    hostile.obj["status"]["atProvider"]["id"] = "!6"
    fleet.confirm(token)
    fleet.poll()
    assert sum(tenant.name.startswith("shop.") for tenant in fleet.cloudfront.tenants.values()) == 8


def test_the_token_of_one_namespace_confirms_what_all_have_lost():
    vanished = AccountMemory(FakeClock()).vanished
    losses = {name: lost(f"dt_{name}", name, proven=name == "red") for name in ("red", "blue", "green")}
    for name, loss in losses.items():
        vanished.found_gone(name, loss)
    tokens = {name: vanished.token(CONFIG, loss) for name, loss in losses.items()}
    assert len(set(tokens.values())) == 3
    assert vanished.confirm(CONFIG, tokens["blue"], "red")
    assert not vanished.confirm(CONFIG, tokens["green"], "green"), "all were permitted"


def held(clock: FakeClock, loss: Loss, *, annotation: str = "", uid: str = "uid-1") -> Vanished:
    """A process that has run for hours, meets its first loss and finds the annotation so."""
    vanished = AccountMemory(clock).vanished
    clock.advance(7200)
    vanished.found_gone(uid, loss)
    assert not vanished.confirm(CONFIG, annotation, uid)
    return vanished


def test_an_annotation_that_stays_confirms_no_later_accident():
    """A user of the namespace whose token was used loses a resource of the same name and id again."""
    clock, loss = FakeClock(), lost("dt_1", "red")
    vanished = held(clock, loss)
    token = vanished.token(CONFIG, loss)
    assert vanished.confirm(CONFIG, token, "uid-1")
    clock.advance(60)
    for number in range(100):
        vanished.found_gone(f"theirs-{number}", lost(f"dt_5{number}", "shop"))
    assert not vanished.confirm(CONFIG, token, "theirs-0")
    vanished.found_gone("uid-2", loss)
    assert not vanished.confirm(CONFIG, token, "theirs-0")
    again = vanished.token(CONFIG, loss)
    assert again != token, "to set what is set already would confirm nothing"
    assert vanished.confirm(CONFIG, again, "theirs-0")


def test_nor_does_it_in_a_later_process():
    clock, loss = FakeClock(), lost("dt_1", "red")
    token = held(clock, loss).token(CONFIG, loss)
    later = held(clock, lost("dt_5", "shop"), annotation=token)
    later.found_gone("uid-2", loss)
    assert not later.confirm(CONFIG, token, "uid-1")
    assert later.confirm(CONFIG, later.token(CONFIG, loss), "uid-1")


def test_a_third_accident_of_a_day_has_a_token_too():
    clock, loss = FakeClock(), lost("dt_1", "shop")
    vanished = held(clock, loss, uid="uid-0")
    tokens = []
    for number in range(3):
        clock.advance(60)
        vanished.found_gone(f"uid-{number}", loss)
        tokens.append(vanished.token(CONFIG, loss))
        assert vanished.confirm(CONFIG, tokens[-1], f"uid-{number}")
    assert tokens[0] != tokens[1] != tokens[2]


def test_a_new_process_finds_in_its_first_hour_what_the_annotation_means():
    clock = FakeClock()
    loss, other = lost("dt_2", "shop"), lost("dt_1", "blue")
    first = AccountMemory(clock).vanished
    first.found_gone("uid-1", loss)
    token = first.token(CONFIG, loss)
    second = AccountMemory(clock).vanished
    second.found_gone("uid-2", other)
    assert not second.confirm(CONFIG, token, "uid-2")
    clock.advance(600)
    second.found_gone("uid-1", loss)
    assert second.confirm(CONFIG, token, "uid-2")


def seen_and_lost(vanished: Vanished, clock: FakeClock, count: int) -> dict[str, Loss]:
    """Tenants of shop that the process sees, and finds gone later."""
    theirs = {f"theirs-{number}": lost(f"dt_5{number}", "shop") for number in range(count)}
    for uid, loss in theirs.items():
        vanished.is_there(uid, loss.id)
    clock.advance(1200)
    for uid, loss in theirs.items():
        vanished.found_gone(uid, loss)
    return theirs


def test_an_annotation_from_before_a_restart_confirms_nothing_that_the_new_process_saw():
    """A user of red writes the former id back into a status, to confirm the accident of shop."""
    clock, old = FakeClock(), lost("dt_1", "red")
    token = held(clock, old).token(CONFIG, old)
    vanished = AccountMemory(clock).vanished
    theirs = seen_and_lost(vanished, clock, 100)
    assert not vanished.confirm(CONFIG, token, "theirs-0")
    vanished.found_gone("uid-2", old)
    assert vanished.confirm(CONFIG, token, "uid-2")
    assert not vanished.confirm(CONFIG, token, "theirs-0"), "the others stay on hold"
    shown = vanished.token(CONFIG, theirs["theirs-0"])
    assert vanished.confirm(CONFIG, shown, "theirs-0")


def test_a_loss_beside_it_permits_nothing_that_the_new_process_saw():
    """A user of red deletes the resource and forges it again, for each of shop's."""
    clock, old = FakeClock(), lost("dt_1", "red")
    token = held(clock, old).token(CONFIG, old)
    vanished = AccountMemory(clock).vanished
    theirs = seen_and_lost(vanished, clock, 8)
    for number, uid in enumerate(theirs):
        vanished.found_gone(f"forged-{number}", old)
        assert not vanished.confirm(CONFIG, token, uid)
    census = census_of(*theirs, taken=clock.now())
    assert {vanished.verdict(uid, census, POLL) for uid in theirs} == {Verdict.HELD}


def test_a_token_from_before_a_restart_is_not_shown_again():
    clock, loss = FakeClock(), lost("dt_1", "shop")
    token = held(clock, loss).token(CONFIG, loss)
    vanished = AccountMemory(clock).vanished
    vanished.is_there("uid-1", loss.id)
    vanished.found_gone("uid-1", loss)
    assert not vanished.confirm(CONFIG, token, "uid-1")
    again = vanished.token(CONFIG, loss)
    assert again != token
    assert vanished.confirm(CONFIG, again, "uid-1")


def test_a_token_that_is_set_again_is_meant_again():
    clock, loss = FakeClock(), lost("dt_1", "shop")
    vanished = held(clock, loss)
    token = vanished.token(CONFIG, loss)
    assert vanished.confirm(CONFIG, token, "uid-1")
    clock.advance(60)
    vanished.found_gone("uid-2", loss)
    assert not vanished.confirm(CONFIG, "", "uid-2")
    assert vanished.confirm(CONFIG, token, "uid-2")


@pytest.mark.parametrize(("days", "valid"), [(0, True), (1, True), (2, False), (30, False), (-1, False)])
def test_a_token_is_valid_until_the_end_of_the_next_day(days, valid):
    now = datetime(2026, 3, 4, 23, 59, tzinfo=UTC)
    loss = lost("dt_1", "shop")

    def gone(day: datetime) -> Vanished:
        vanished = Vanished(FakeClock(), lambda: day)
        vanished.found_gone("uid-1", loss)
        return vanished

    token = gone(now).token(CONFIG, loss)
    assert gone(now + timedelta(days=days)).confirm(CONFIG, token, "uid-1") is valid


def test_forged_tenants_raise_the_limit_for_their_own_namespace_only():
    fleet = Fleet(8)
    remembered(fleet)
    forge(fleet, 300)
    fleet.size = len(fleet.worlds)
    fleet.poll()
    fleet.lose(6)
    before = fleet.creations()
    for _ in range(3):
        fleet.poll()
    assert fleet.creations() == before
    assert sum(world.mr.namespace == "shop" for world in fleet.held) == 6


def test_a_recorded_name_counts_once_however_many_resources_have_it():
    fleet = Fleet(20)
    remembered(fleet)
    forge(fleet, 300)
    for number, world in enumerate(fleet.worlds[20:]):
        world.obj["metadata"]["namespace"] = "shop"
        world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = f"shop.t{number % 2}"
    census = take_census((world.mr for world in fleet.worlds), ACCOUNT, 0.0, lambda mr: str(mr.external_name))
    assert (census.known, census.believed("shop"), census.believed("other")) == (320, 20, 20)


def test_looks_at_forged_tenants_do_not_stand_for_those_that_exist():
    """AWS's rate lets the provider look at some of them only."""
    vanished = AccountMemory(FakeClock()).vanished
    for number in range(300):
        vanished.found_gone(f"forged-{number}", lost(f"f_{number}", "red", proven=False, recorded=False))
    for number in range(10):
        vanished.is_there(f"there-{number}", f"there_{number}")
    for number in range(6):
        vanished.found_gone(f"uid-{number}", lost(f"dt_{number}", "shop"))
    uids = (*(f"uid-{n}" for n in range(6)), *(f"there-{n}" for n in range(300)))
    census = replace(census_of(*uids), by_status={"red": 300})
    vanished._clock.advance(POLL)
    assert vanished.verdict("uid-0", census, 2 * POLL) is Verdict.WAIT
    assert vanished.verdict("uid-0", census, POLL) is Verdict.HELD


@pytest.mark.parametrize("lacks", ["all", "the others", "the one that asks"])
def test_a_count_that_lacks_resources_recreates_nothing(lacks):
    """It was taken while the cache was being filled."""
    uids = [f"uid-{number}" for number in range(20)]
    vanished = AccountMemory(FakeClock()).vanished
    for uid in uids:
        vanished.found_gone(uid, lost(f"dt_{uid}", "shop"))
    vanished._clock.advance(2 * POLL)
    left = {"all": [], "the others": uids[:1], "the one that asks": uids[1:]}[lacks]
    said = vanished.verdict(uids[0], census_of(*left, taken=POLL), POLL)
    assert said is (Verdict.HELD if lacks == "the others" else Verdict.WAIT)
    assert vanished.verdict(uids[0], census_of(*uids, taken=2 * POLL), POLL) is Verdict.HELD


def test_two_counts_that_lack_a_resource_are_enough():
    vanished = AccountMemory(FakeClock()).vanished
    for number in range(20):
        vanished.found_gone(f"uid-{number}", lost(f"dt_{number}", "shop"))
    vanished._clock.advance(2 * POLL)
    verdicts = [
        vanished.verdict("uid-0", census_of("uid-0", *kept, *map(str, range(99)), taken=taken), POLL)
        for taken, kept in ((1.0, ()), (1.0, ()), (2.0, [f"uid-{n}" for n in range(20)]), (3.0, ()))
    ]
    assert verdicts == [Verdict.HELD] * 4
    assert len(vanished._gone) == 20, "a resource that was there in between is missed anew"
    vanished.verdict("uid-0", census_of("uid-0", *map(str, range(99)), taken=4.0), POLL)
    assert len(vanished._gone) <= 1


class TestDeciding:
    """For some poll intervals after a loss, lists stand for nothing."""

    POLL = 60.0

    def vanished(self, *, recorded: bool = True) -> tuple[Vanished, FakeClock]:
        clock = FakeClock(1000.0)
        vanished = Vanished(clock)
        loss = Loss("dt_1", "name", "config", "shop", proven=False, recorded=recorded)
        vanished.found_gone("uid", loss)
        return vanished, clock

    def test_it_ends_after_ten(self):
        vanished, clock = self.vanished()
        clock.advance(10 * self.POLL - 1)
        assert vanished.is_deciding(self.POLL)
        clock.advance(1)
        assert not vanished.is_deciding(self.POLL)

    def test_it_ends_with_the_loss(self):
        vanished, _ = self.vanished()
        vanished.is_there("uid", "dt_1")
        assert not vanished.is_deciding(self.POLL)

    def test_looks_that_find_it_gone_again_do_not_prolong_it(self):
        vanished, clock = self.vanished()
        clock.advance(10 * self.POLL)
        vanished.found_gone("uid", Loss("dt_1", "name", "config", "shop", proven=False, recorded=True))
        assert not vanished.is_deciding(self.POLL)

    def test_what_only_a_status_says_decides_nothing(self):
        """Any namespace could have all tenants of the account read each minute."""
        vanished, _ = self.vanished(recorded=False)
        assert not vanished.is_deciding(self.POLL)

    def test_what_a_list_shows_ends_no_loss(self):
        vanished, _ = self.vanished()
        vanished.is_listed("uid", "dt_1")
        assert vanished.is_deciding(self.POLL)


@pytest.mark.parametrize(
    ("gone", "missing", "verdict"),
    [(1, 4, Verdict.MAKE), (1, 5, Verdict.WAIT), (5, 1, Verdict.WAIT), (6, 0, Verdict.HELD)],
)
def test_those_that_a_list_shows_no_more_are_read_first(gone, missing, verdict):
    """Even after ten poll intervals: AWS may throttle the reads."""
    assert decide(gone, 100, 100, believed=100, waited=20, missing=missing) is verdict
