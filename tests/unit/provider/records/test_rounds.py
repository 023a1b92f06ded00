"""The rounds over the records: what ends them, and what that is uncertain does not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotServed, Operation, TooLarge
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.records import life, rounds
from provider.records.config_maps import DomainRecords, config_map
from provider.records.life import data_key, shard_of
from provider.records.rounds import CLAIMS, Claims, Rounds
from provider.records.use import Looks, listed_by
from tests.unit.provider.world import managed

DOMAIN = "acme.example.com"
NAME = "_tenant.123456789012.shop.acme"
START = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
LIST = Operation("list", CLAIMS)
LONGEST_STEP = 300.0


class Cluster:
    """Managed resources, claims, and a provider's rounds."""

    def __init__(self) -> None:
        self.api, self.clock, self.now = FakeObjects(Journal()), FakeClock(), START
        self.mrs: list[Managed] = []
        self.read = True
        self.claims: dict[str, list[str]] | KubeError | None = {}
        """By namespace; None where they may not be read."""
        self.asked: list[str] = []
        self.restart()

    def restart(self) -> None:
        self.looks = Looks(self.clock, 60)
        self.records = DomainRecords(self.api, "crossplane-system", self.looks)
        self.rounds = Rounds(
            self.records,
            self.looks,
            Claims(self),
            keep=timedelta(hours=72),
            everyone=lambda: self.mrs,
            everything_read=lambda: self.read,
            now=lambda: self.now,
        )
        self.rounds.round()

    # As Claims asks.

    def allowed(self, verb, kind):
        assert (verb, kind) == ("list", CLAIMS)
        return self.claims is not None

    def select(self, kind, namespace, labels):
        assert (kind, labels) == (CLAIMS, {})
        self.asked.append(namespace)
        if isinstance(self.claims, KubeError):
            raise self.claims
        return [{"spec": {"domains": self.claims.get(namespace, [])}}]

    # What happens.

    def holds(self, uid: str = "one") -> Managed:
        mr = self.lists(uid)
        self.looks.note(mr, frozenset({DOMAIN}))
        self.records.hold([DOMAIN], "shop")
        return mr

    def goes(self) -> None:
        """The resource is deleted, and with it its tenant, as a look finds."""
        for mr in self.mrs:
            self.looks.note(mr, frozenset())
        self.mrs.clear()

    def lists(self, uid: str = "one") -> Managed:
        mr = Managed(managed({"domains": [DOMAIN]}, uid=uid))
        self.mrs = [other for other in self.mrs if other.uid != uid] + [mr]
        return mr

    def passes(self, **time) -> str | None:
        """Time passes with a round at its end, and at least every five minutes."""
        left = timedelta(**time).total_seconds()
        while left > 0:
            step = min(left, LONGEST_STEP)
            left -= step
            self.now += timedelta(seconds=step)
            self.clock.advance(step)
            self.rounds.round()
        return self.records.holder(DOMAIN)

    @property
    def writes(self) -> int:
        return len([e for e in self.api._journal.entries if e.startswith(("create", "patch"))])


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_steady_state_writes_and_asks_nothing(cluster):
    mr = cluster.holds()
    before = cluster.writes
    for _ in range(200):
        cluster.looks.note(mr, frozenset({DOMAIN}))
        assert cluster.passes(hours=1) == "shop"
    assert (cluster.writes, cluster.asked) == (before, [])


def test_one_that_nobody_lists_any_more_ends_soon(cluster):
    cluster.holds()
    cluster.goes()
    assert cluster.passes(seconds=10) == "shop", "a resource that is replaced is gone for a moment"
    assert cluster.passes(seconds=9) == "shop"
    assert cluster.passes(seconds=1) is None


def test_one_that_is_listed_between_two_rounds_is_not_given_up(cluster):
    cluster.holds()
    for _ in range(10):
        cluster.goes()
        assert cluster.passes(seconds=4) == "shop"
        cluster.looks.note(cluster.lists(), frozenset())
        cluster.clock.advance(5)
        cluster.now += timedelta(seconds=5)
        cluster.goes()
        cluster.mrs.clear()
        assert cluster.passes(seconds=1) == "shop"
    assert cluster.passes(seconds=8) == "shop"
    assert cluster.passes(seconds=2) is None


def test_one_that_moves_from_resource_to_resource_is_not_given_up(cluster):
    cluster.holds("old")
    cluster.looks.note(cluster.lists("old"), frozenset())
    for rounds_apart in (10, 60):
        for _ in range(3):
            assert cluster.passes(seconds=rounds_apart) == "shop", "somebody took it away in AWS"
        cluster.mrs.clear()
        assert cluster.passes(seconds=rounds_apart) == "shop", "one round sees nobody list it"
        cluster.looks.note(cluster.lists("new"), frozenset())
    assert cluster.passes(seconds=10) == "shop"


def test_one_that_a_claim_listed_lately_is_not_given_up(cluster):
    cluster.holds()
    cluster.goes()
    cluster.claims = {"shop": [DOMAIN]}
    for _ in range(3):
        assert cluster.passes(seconds=10) == "shop"
    cluster.claims = {}
    assert cluster.passes(seconds=10) == "shop"
    assert cluster.passes(seconds=10) is None


def test_one_whose_tenant_was_left_in_aws_waits_for_the_time(cluster):
    cluster.holds()
    cluster.mrs.clear()
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop", "nobody saw the tenant without it"
    assert cluster.passes(hours=1) is None


@pytest.mark.parametrize("again", [0, 1], ids=["at once", "a round later"])
def test_the_tenant_that_was_left_is_that_of_the_last_to_have_it(cluster, again):
    cluster.looks.note(cluster.holds("first"), frozenset({DOMAIN}))
    cluster.looks.note(cluster.lists("last"), frozenset({DOMAIN}))
    cluster.looks.note(cluster.lists("first"), frozenset())
    for _ in range(again):
        cluster.rounds.round()
    cluster.mrs.clear()
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop"


def test_the_time_does_not_run_while_the_provider_holds_the_recreation(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    cluster.looks.note_hold(mr)
    for _ in range(20):
        assert cluster.passes(hours=20) == "shop"
        cluster.looks.note(mr, frozenset())
        cluster.looks.note_hold(mr)
    assert cluster.passes(hours=23) == "shop", "a day after the last look"
    cluster.passes(hours=1)
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=2) is None


def test_what_was_on_hold_and_is_there_again_is_as_all_others(cluster):
    mr = cluster.holds()
    cluster.looks.note_hold(mr)
    cluster.looks.note(mr, frozenset({DOMAIN}))
    cluster.goes()
    cluster.passes(seconds=10)
    assert cluster.passes(seconds=10) is None
    assert not cluster.looks._on_hold


def test_what_goes_while_it_is_on_hold_is_forgotten(cluster):
    cluster.looks.note_hold(cluster.holds())
    cluster.mrs.clear()
    cluster.passes(minutes=1)
    assert not cluster.looks._on_hold


def test_a_name_whose_tenant_the_provider_deleted_vouches_for_nothing(cluster):
    mr = cluster.holds()
    assert cluster.records.vouches(DOMAIN, "shop")
    assert not cluster.records.vouches(DOMAIN, "other")
    cluster.looks.note_deleted(mr)
    cluster.goes()
    cluster.lists("made again")
    cluster.passes(seconds=10)
    assert cluster.records.holder(DOMAIN) == "shop"
    assert not cluster.records.vouches(DOMAIN, "shop")
    cluster.restart()
    assert not cluster.records.vouches(DOMAIN, "shop"), "another process knows it, too"
    cluster.looks.note(cluster.lists("made again"), frozenset({DOMAIN}))
    cluster.passes(seconds=10)
    assert cluster.records.vouches(DOMAIN, "shop")


def test_a_second_resource_of_the_tenant_that_was_not_looked_at_since_vouches_for_nothing(cluster):
    mr = cluster.holds()
    cluster.looks.note(cluster.lists("twin"), frozenset({DOMAIN}))
    cluster.looks.note_deleted(mr)
    cluster.looks.note(mr, frozenset())
    cluster.passes(seconds=10)
    cluster.looks.note(cluster.lists("twin"), frozenset())
    cluster.passes(seconds=10)
    assert cluster.records.holder(DOMAIN) == "shop"
    assert not cluster.records.vouches(DOMAIN, "shop")


NAME = "_tenant.123456789012.shop.acme"


def test_a_deleted_name_is_marked_at_once_and_survives_the_process(cluster):
    mr = cluster.lists()
    cluster.looks.note(mr, frozenset({DOMAIN, NAME}))
    cluster.records.hold([DOMAIN, NAME], "shop")
    before = cluster.writes
    cluster.records.deleted(mr, frozenset())
    assert cluster.writes == before + 1, "of the name alone"
    cluster.restart()
    assert not cluster.records.vouches(NAME, "shop")
    assert cluster.records.holder(NAME) == "shop"


def test_a_deletion_of_what_was_never_looked_at_is_marked_too(cluster):
    """As what was made for a resource that went meanwhile."""
    cluster.records.hold([NAME], "shop")
    cluster.records.deleted(Managed(managed(uid="went")), frozenset({NAME}))
    assert not cluster.records.vouches(NAME, "shop")
    cluster.passes(seconds=10)
    assert not cluster.records.vouches(NAME, "shop")


def test_a_mark_that_cannot_be_written_is_made_by_the_next_round(cluster):
    mr = cluster.lists()
    cluster.looks.note(mr, frozenset({NAME}))
    cluster.records.hold([NAME], "shop")
    patch, cluster.api.patch = cluster.api.patch, refusing
    cluster.records.deleted(mr, frozenset())
    cluster.api.patch = patch
    assert cluster.records.vouches(NAME, "shop")
    cluster.looks.note(mr, frozenset())
    cluster.passes(seconds=10)
    assert not cluster.records.vouches(NAME, "shop")


def refusing(*_given, **_more):
    raise KubeError(Operation("patch", CONFIG_MAPS), 503, "down")


def test_what_was_deleted_is_forgotten_with_its_record(cluster):
    cluster.looks.note_deleted(cluster.holds())
    cluster.goes()
    for _ in range(4):
        cluster.passes(minutes=1)
    assert cluster.looks._deleted == {}


def test_a_domain_that_came_back_was_not_given_up(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    cluster.looks.note(mr, frozenset({DOMAIN}))
    cluster.mrs.clear()
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop"


def test_what_was_given_up_is_forgotten_with_its_record(cluster):
    cluster.looks.note(cluster.holds(), frozenset({DOMAIN, "other.example.com"}))
    cluster.goes()
    cluster.passes(minutes=1)
    assert cluster.looks._given_up == {("shop", DOMAIN)}
    cluster.passes(minutes=1)
    cluster.passes(minutes=1)
    assert cluster.looks._given_up == set()


@pytest.mark.parametrize("spelling", [DOMAIN, "ACME.Example.com."])
def test_one_that_a_claim_lists_is_kept(cluster, spelling):
    cluster.holds()
    cluster.goes()
    cluster.claims = {"shop": ["no domain", spelling]}
    assert cluster.passes(hours=1) == "shop"
    before = cluster.writes
    assert cluster.passes(hours=71) == "shop"
    assert 0 < cluster.writes - before <= 71 * 6, "how long it was not held, at most every ten minutes"
    assert cluster.passes(hours=1) is None, "72 h are over"


def test_one_that_a_claim_of_another_namespace_lists_is_not(cluster):
    cluster.holds()
    cluster.goes()
    cluster.claims = {"rogue": [DOMAIN]}
    cluster.passes(minutes=1)
    assert cluster.passes(minutes=1) is None
    assert set(cluster.asked) == {"shop"}


def test_a_resource_that_waits_for_its_deletion_lists_it(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    cluster.passes(minutes=1)
    assert cluster.passes(hours=1) == "shop"
    assert cluster.asked == [], "the resource tells"


def test_found_again_it_is_held_again(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    assert cluster.passes(hours=71) == "shop"
    cluster.looks.note(mr, frozenset({DOMAIN}))
    cluster.passes(minutes=1)
    cluster.looks.note(mr, frozenset())
    assert cluster.passes(hours=71) == "shop"


def test_another_tenant_of_the_namespace_holds_it_as_well(cluster):
    cluster.looks.note(cluster.holds(), frozenset())
    cluster.looks.note(cluster.lists("two"), frozenset({DOMAIN}))
    before = cluster.writes
    cluster.passes(hours=1)
    assert cluster.writes == before


@pytest.mark.parametrize(
    "claims",
    [
        None,
        Forbidden(LIST, 403, "no"),
        KubeError(LIST, 503, "busy"),
        KubeError(LIST, 0, "no answer"),
    ],
    ids=["no right", "forbidden", "busy", "no answer"],
)
def test_where_claims_cannot_be_read_it_ends_after_72_hours(cluster, claims):
    cluster.holds()
    cluster.goes()
    cluster.claims = claims
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None
    if claims is None:
        assert cluster.asked == [], "the right is asked for, and not tried"


NOT_SERVED = NotServed(LIST, 404, "not served")


def test_a_kind_that_is_not_served_is_believed_after_many_rounds(cluster):
    cluster.holds()
    cluster.goes()
    cluster.claims = NOT_SERVED
    assert cluster.passes(minutes=5 * 60) == "shop"
    assert cluster.passes(minutes=5) is None


def test_each_answer_that_the_kind_is_served_starts_the_count_over(cluster):
    cluster.holds()
    cluster.goes()
    for _ in range(3):
        cluster.claims = NOT_SERVED
        assert cluster.passes(minutes=5 * 59) == "shop"
        cluster.claims = {"shop": [DOMAIN]}
        assert cluster.passes(minutes=5) == "shop"


def test_the_answers_of_one_round_count_once(cluster):
    spaces = [f"team-{n}" for n in range(50)]
    for space in spaces:
        obj = managed({"domains": [f"{space}.example.com"]}, uid=space)
        obj["metadata"]["namespace"] = space
        cluster.mrs.append(Managed(obj))
        cluster.looks.note(cluster.mrs[-1], frozenset({f"{space}.example.com"}))
        cluster.records.hold([f"{space}.example.com"], space)
    cluster.claims = {space: [f"{space}.example.com"] for space in spaces}
    cluster.passes(seconds=30)
    cluster.goes()
    cluster.claims = NOT_SERVED
    cluster.passes(seconds=10)
    cluster.passes(seconds=10)
    assert len(cluster.asked) >= 2 * len(spaces)
    assert [cluster.records.holder(f"{space}.example.com") for space in spaces] == spaces


def test_before_everything_is_read_nothing_ends(cluster):
    cluster.holds()
    cluster.goes()
    cluster.read = False
    before = cluster.writes
    assert cluster.passes(hours=100) == "shop"
    assert cluster.writes == before


def test_a_new_process_knows_nothing_of_what_it_has_not_looked_at(cluster):
    mr = cluster.holds()
    before = cluster.writes
    cluster.restart()
    assert cluster.passes(hours=23) == "shop"
    cluster.looks.note(mr, frozenset({DOMAIN}))
    assert cluster.passes(hours=23) == "shop"
    assert cluster.writes == before


def test_a_new_process_ends_nothing_of_what_it_has_not_looked_at(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    cluster.passes(minutes=1)
    cluster.now += timedelta(hours=80)
    cluster.restart()
    assert cluster.passes(hours=23) == "shop", "its tenant may be there again"
    cluster.looks.note(mr, frozenset({DOMAIN}))
    assert cluster.passes(hours=23) == "shop"


def test_what_cannot_be_looked_at_loses_nothing(cluster):
    """It is paused, its policies are not defined, or a reference of it leads nowhere."""
    cluster.holds()
    cluster.restart()
    cluster.lists("paused")
    before = cluster.writes
    assert cluster.passes(hours=1000) == "shop"
    assert cluster.writes == before
    cluster.mrs.clear()
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None


def test_nor_does_what_was_looked_at_long_ago(cluster):
    cluster.holds()
    before = cluster.writes
    assert cluster.passes(hours=1000) == "shop"
    assert cluster.writes == before
    cluster.goes()
    cluster.passes(seconds=10)
    assert cluster.passes(seconds=10) is None


@pytest.mark.parametrize("restarted", [False, True])
def test_to_list_what_was_given_up_keeps_nothing(cluster, restarted):
    mr = cluster.holds()
    cluster.lists("never looked at")
    cluster.looks.note(mr, frozenset())
    cluster.passes(hours=24)
    if restarted:
        cluster.restart()
        cluster.passes(hours=24)  # in which it is uncertain again
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None


def test_nor_does_to_list_what_the_provider_deleted(cluster):
    mr = cluster.holds()
    cluster.passes(hours=24)
    cluster.looks.note_deleted(mr)
    cluster.mrs.clear()
    cluster.lists("never looked at")
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None


def test_the_time_runs_over_restarts(cluster):
    mr = cluster.holds()
    cluster.looks.note(mr, frozenset())
    cluster.passes(minutes=1)
    for _ in range(8):
        cluster.restart()
        cluster.looks.note(mr, frozenset())
        assert cluster.passes(hours=9) == "shop", "a restart loses some minutes"
    assert cluster.passes(hours=2) is None


def test_records_of_cluster_scoped_resources_without_a_claim_wait_for_the_time(cluster):
    cluster.records.hold([DOMAIN], "")
    cluster.passes(minutes=1)
    assert cluster.passes(hours=71) == ""
    assert cluster.passes(hours=1) is None
    assert cluster.asked == []


def test_records_are_read_as_soon_as_the_server_answers(cluster, monkeypatch):
    cluster.holds()
    answers = [KubeError(Operation("list", CONFIG_MAPS), 0, "no answer"), None]
    select = FakeObjects.select

    def failing(api, *request):
        if error := answers.pop(0):
            raise error
        return select(api, *request)

    monkeypatch.setattr(FakeObjects, "select", failing)
    cluster.restart()
    assert not cluster.records.known
    assert cluster.rounds.round() > 1
    assert cluster.records.holder(DOMAIN) == "shop"


def released(cluster: Cluster, domain: str = DOMAIN) -> None:
    key = ObjectKey("crossplane-system", config_map(shard_of(domain)))
    cluster.api.patch(CONFIG_MAPS, key, {"data": {data_key(domain): None}})


def test_what_an_administrator_releases_is_known_at_the_next_round(cluster):
    cluster.holds()
    released(cluster)
    assert cluster.records.holder(DOMAIN) == "shop"
    assert cluster.passes(seconds=10) is None, "so that the next look at its tenant records it again"
    assert cluster.passes(hours=1) is None, "a round records nothing"


def test_what_a_former_process_wrote_last_is_known_at_the_next_round(cluster):
    """No one looks at its tenant any more, which the former process deleted."""
    former = cluster.records
    cluster.restart()
    former.hold([DOMAIN], "shop")
    assert cluster.passes(seconds=10) == "shop"
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None


def test_records_that_did_not_change_are_not_read_into_again(cluster, monkeypatch):
    cluster.holds()
    cluster.passes(seconds=10)
    monkeypatch.setattr(life.Record, "of_value", None)
    assert cluster.passes(seconds=10) == "shop"


def test_records_that_cannot_be_read_anew_end_nothing(cluster, monkeypatch):
    cluster.holds()
    cluster.goes()

    def down(*_):
        raise KubeError(Operation("list", CONFIG_MAPS), 0, "no answer")

    monkeypatch.setattr(cluster.api, "select", down)
    before = cluster.writes
    assert cluster.passes(hours=100) == "shop"
    assert cluster.writes == before


SHARDS_OF_THREE = sorted({shard_of(f"d{n}.example.com"): f"d{n}.example.com" for n in range(3)}.items())


def since(cluster: Cluster, domain: str) -> str | None:
    key = ObjectKey("crossplane-system", config_map(shard_of(domain)))
    return json.loads(cluster.api.get(CONFIG_MAPS, key)["data"][domain]).get("notHeldSince")


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("code", [0, 409, 422, 500])
def test_a_config_map_that_cannot_be_written_holds_up_no_other(cluster, bad, code):
    domains = [domain for _, domain in SHARDS_OF_THREE]
    assert len(domains) == 3
    cluster.records.hold(domains, "shop")
    refused = f"patch ConfigMap crossplane-system/{config_map(shard_of(domains[bad]))}"
    cluster.api.failing[refused] = [KubeError(Operation("patch", CONFIG_MAPS), code, "no")] * 50
    cluster.passes(seconds=10)
    cluster.passes(seconds=10)
    assert [bool(since(cluster, domain)) for domain in domains] == [n != bad for n in range(3)]
    cluster.api.failing.clear()
    cluster.passes(seconds=10)
    assert all(since(cluster, domain) for domain in domains)


def full(cluster: Cluster, monkeypatch) -> None:
    """A ConfigMap takes nothing that makes it larger."""
    patch = cluster.api.patch

    def stored(kind, key, change):
        known = cluster.api.get(kind, key)["data"]
        if sum(len(v) - len(known.get(k, "")) for k, v in change["data"].items() if v) > 0:
            raise TooLarge(Operation("patch", CONFIG_MAPS), 413, "too large")
        return patch(kind, key, change)

    monkeypatch.setattr(cluster.api, "patch", stored)


def test_the_time_of_what_stands_in_a_full_config_map_runs_too(cluster, monkeypatch):
    cluster.holds()
    full(cluster, monkeypatch)
    cluster.mrs.clear()
    cluster.passes(seconds=10)
    assert since(cluster, DOMAIN) is None
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None


def test_what_is_given_up_makes_room_in_a_full_config_map(cluster, monkeypatch):
    cluster.holds()
    full(cluster, monkeypatch)
    cluster.goes()
    assert [cluster.passes(seconds=10) for _ in range(2)] == ["shop", None]


def test_what_ends_in_a_full_config_map_does_not_wait_for_what_it_does_not_take(cluster, monkeypatch):
    other = next(d for n in range(2000) if shard_of(d := f"d{n}.example.com") == shard_of(DOMAIN))
    cluster.holds()
    cluster.records.hold([other], "sales")
    full(cluster, monkeypatch)
    cluster.goes()
    assert [cluster.passes(seconds=10) for _ in range(2)] == ["shop", None]
    assert cluster.records.holder(other) == "sales"


def test_found_again_its_time_in_a_full_config_map_begins_anew(cluster, monkeypatch):
    mr = cluster.holds()
    full(cluster, monkeypatch)
    cluster.looks.note(mr, frozenset())
    assert cluster.passes(hours=60) == "shop"
    cluster.looks.note(mr, frozenset({DOMAIN}))
    cluster.passes(seconds=10)
    cluster.looks.note(mr, frozenset())
    cluster.passes(seconds=10)
    assert cluster.passes(hours=60) == "shop"
    assert cluster.passes(hours=13) is None


@pytest.mark.parametrize("value", ["mine!", '{"namespace": "shop", "notHeldSince": "soon"}'])
def test_a_spoilt_record_stays_as_it_is_until_somebody_removes_it(cluster, value):
    cluster.records.hold([DOMAIN], "shop")
    key = ObjectKey("crossplane-system", config_map(shard_of(DOMAIN)))
    cluster.api.patch(CONFIG_MAPS, key, {"data": {data_key(DOMAIN): value}})
    assert cluster.passes(hours=100) == life.UNREADABLE
    assert cluster.api.get(CONFIG_MAPS, key)["data"][data_key(DOMAIN)] == value
    released(cluster)
    assert cluster.passes(seconds=10) is None


def test_churn_ends_the_oldest(cluster, monkeypatch):
    monkeypatch.setattr(life.superfluous, "__defaults__", (2,))
    for n in range(4):
        cluster.records.hold([f"d{n}.example.com"], "busy")
        cluster.claims = {"busy": [f"d{n}.example.com" for n in range(4)]}
        cluster.passes(minutes=1)
    cluster.passes(minutes=1)
    assert [cluster.records.holder(f"d{n}.example.com") for n in range(4)] == [None, None, "busy", "busy"]


def test_namespaces_take_turns(cluster, monkeypatch):
    monkeypatch.setattr(rounds, "_MOST_NAMESPACES", 2)
    for n in range(5):
        cluster.records.hold([f"d{n}.example.com"], f"ns-{n}")
        cluster.claims[f"ns-{n}"] = [f"d{n}.example.com"]
    cluster.asked.clear()
    for _ in range(3):
        cluster.passes(minutes=1)
    assert cluster.asked == ["ns-0", "ns-1", "ns-2", "ns-3", "ns-4", "ns-0"]


def test_what_a_resource_lists():
    mr = Managed(managed({"domains": ["A.example.com"]}, initProvider={"domains": ["b.example.com"]}))
    assert listed_by(mr) == {"a.example.com", "b.example.com", "_tenant.shop.acme"}
    assert listed_by(Managed(managed({}))) == {"_tenant.shop.acme"}


# Names.


def named(cluster: Cluster) -> Managed:
    """A tenant without domains, whose name is kept."""
    mr = Managed(managed({}, uid="named"))
    cluster.mrs.append(mr)
    cluster.looks.note(mr, frozenset({NAME}))
    cluster.records.hold([NAME], "shop")
    return mr


def test_a_name_in_a_steady_state_and_after_a_restart_is_neither_written_nor_asked_for(cluster):
    mr = named(cluster)
    before = cluster.writes
    cluster.passes(hours=1)
    cluster.restart()
    cluster.passes(seconds=30)
    cluster.looks.note(mr, frozenset({NAME}))
    cluster.passes(hours=2)
    assert cluster.records.holder(NAME) == "shop"
    assert (cluster.writes, cluster.asked) == (before, [])


@pytest.mark.parametrize("claims", [None, {"shop": []}, KubeError(LIST, 500, "down")])
def test_a_name_that_no_resource_of_the_namespace_has_ends_soon(cluster, claims):
    """Whatever is known of claims: they list no names."""
    mr = named(cluster)
    cluster.goes()
    cluster.claims = claims
    other = managed({}, uid="other")
    other["metadata"]["namespace"] = "rogue"
    cluster.mrs = [Managed(other)]
    cluster.passes(seconds=1)
    assert cluster.records.holder(NAME) == "shop", "a resource that is replaced is gone for a moment"
    cluster.passes(seconds=10)
    assert cluster.records.holder(NAME) is None
    assert (mr.namespace, cluster.asked) == ("shop", [])


@pytest.mark.parametrize("cluster_scoped", [False, True])
def test_a_name_whose_tenant_is_gone_is_kept_while_a_resource_has_it_and_not_for_ever(
    cluster, cluster_scoped
):
    named(cluster)
    mr = Managed(managed({}, uid="named", cluster=cluster_scoped))
    cluster.mrs = [mr]
    cluster.looks.note(mr, frozenset())
    cluster.passes(minutes=1)
    cluster.passes(hours=71)
    assert cluster.records.holder(NAME) == "shop"
    cluster.passes(hours=1)
    assert cluster.records.holder(NAME) is None


class TestShards:
    """Two processes, each with the resources of other accounts. `one` observes the resource "one"."""

    @pytest.fixture
    def processes(self):
        one, other = Cluster(), Cluster()
        other.api, other.clock, other.mrs = one.api, one.clock, one.mrs
        for process, uids in ((one, {"one"}), (other, {"two"})):
            process.looks = Looks(process.clock, 60)
            process.records = DomainRecords(one.api, "crossplane-system", process.looks, shared=True)
            process.rounds = Rounds(
                process.records,
                process.looks,
                Claims(process),
                keep=timedelta(hours=72),
                everyone=lambda: one.mrs,
                everything_read=lambda: True,
                mine=lambda mr, uids=uids: mr.uid in uids,
                now=lambda: one.now,
            )
        return one, other

    def passes(self, processes, **time):
        one, _ = processes
        left = timedelta(**time).total_seconds()
        while left > 0:
            step = min(left, LONGEST_STEP)
            left -= step
            one.now += timedelta(seconds=step)
            one.clock.advance(step)
            for process in processes:
                process.rounds.round()
        one.records.load()
        return one.records.holder(DOMAIN)

    def test_what_another_process_observes_ends_nothing(self, processes):
        one, _ = processes
        mr = one.holds()
        for _ in range(40):
            one.looks.note(mr, frozenset({DOMAIN}))
            assert self.passes(processes, hours=4) == "shop"
        assert "notHeldSince" not in stored(one)

    def test_what_one_process_saw_given_up_ends_soon(self, processes):
        one, _ = processes
        one.holds()
        one.goes()
        self.passes(processes, seconds=10)
        assert self.passes(processes, seconds=30) is None

    def test_a_domain_that_no_process_knows_of_is_kept_for_its_time_and_counted_once(self, processes):
        one, _ = processes
        one.records.hold([DOMAIN], "shop")
        assert self.passes(processes, hours=71) == "shop"
        assert self.passes(processes, hours=2) is None

    def test_a_domain_that_no_resource_lists_and_a_tenant_has_is_rarely_written(self, processes):
        one, _ = processes
        mr = one.holds()
        del mr.raw["spec"]["forProvider"]["domains"]
        before = one.writes
        for _ in range(6 * 24 * 4):
            one.looks.note(mr, frozenset({DOMAIN}))
            assert self.passes(processes, minutes=10) == "shop"
        assert one.writes - before < 6 * 24 * 4 * 2

    def test_a_count_begins_again_when_another_process_found_the_domain_held(self, processes, monkeypatch):
        """The record is then as it was before the count began."""
        monkeypatch.setattr(rounds, "_SHARED_SECONDS", 0.0)
        one, _ = processes
        mr = one.holds()
        del mr.raw["spec"]["forProvider"]["domains"]
        for _ in range(80):
            one.looks.note(mr, frozenset({DOMAIN}))
            assert self.passes(processes, hours=1) == "shop"

    def test_resources_of_a_further_shard_are_unknown_until_they_are_observed(self, processes):
        one, other = processes
        mr = one.holds()
        one.looks.note(mr, frozenset({DOMAIN}))
        self.passes(processes, hours=30)
        other.rounds._mine = lambda mr: True
        one.rounds._mine = lambda mr: False
        other.records.begin_again()
        other.records.change(
            shard_of(DOMAIN), lambda entries: {DOMAIN: replace(entries[DOMAIN], deleted=True)}
        )
        assert self.passes(processes, hours=20) == "shop"
        assert "notHeldSince" not in stored(one)


def stored(cluster: Cluster) -> str:
    found = cluster.api.find(CONFIG_MAPS, ObjectKey("crossplane-system", config_map(shard_of(DOMAIN))))
    return found["data"][data_key(DOMAIN)]
