"""The ConfigMaps with the records: read at the start, written on change, and never over another client."""

from __future__ import annotations

import threading
import time

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import KubeError, Operation, TooLarge
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.testing import FakeObjects, Journal, Killed
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.records import config_maps
from provider.records.config_maps import LABEL, DomainRecords, config_map
from provider.records.life import SHARDS, Record, shard_of, size
from provider.records.turns import Turns
from provider.records.use import Looks

NAMESPACE = "crossplane-system"
DOMAIN, WILDCARD = "acme.example.com", "*.example.com"
SAME_SHARD = next(d for n in range(9999) if shard_of(d := f"d{n}.example.com") == shard_of(DOMAIN))
KEY = ObjectKey(NAMESPACE, config_map(shard_of(DOMAIN)))


class Serial(FakeObjects):
    """One request at a time, as an API server has it."""

    lock = threading.Lock()

    def get(self, *request):
        with self.lock:
            return super().get(*request)

    def create(self, *request):
        with self.lock:
            return super().create(*request)

    def patch(self, *request):
        with self.lock:
            return super().patch(*request)


@pytest.fixture
def api() -> FakeObjects:
    return FakeObjects(Journal())


def process(api, *, load=True) -> DomainRecords:
    """A process that has just begun to lead."""
    made = DomainRecords(api, NAMESPACE, Looks(FakeClock(), 60))
    if load:
        made.load()
    return made


def refusal(code: int) -> KubeError:
    return KubeError(Operation("patch", CONFIG_MAPS), code, "no")


def writes(api) -> list[str]:
    return [entry for entry in api._journal.entries if entry.startswith(("create", "patch"))]


def test_what_is_held_is_known_to_the_next_process(api):
    process(api).hold([DOMAIN, WILDCARD], "shop")
    again = process(api)
    assert [again.holder(d) for d in (DOMAIN, WILDCARD, "other.example.com")] == ["shop", "shop", None]
    assert len(api.select(CONFIG_MAPS, NAMESPACE, {LABEL: "true"})) == 2


def test_what_is_recorded_already_is_not_written(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    records.hold([DOMAIN], "shop")
    process(api).hold([DOMAIN], "shop")
    assert len(writes(api)) == 1


def test_nothing_is_free_before_the_records_are_read(api, monkeypatch):
    monkeypatch.setattr(config_maps, "_LOADED_SECONDS", 0.01)
    records = process(api, load=False)
    assert not records.known
    with pytest.raises(RecordsFailed, match="have not been read yet"):
        records.holder(DOMAIN)


def test_a_write_waits_for_them_at_the_start(api):
    process(api).hold([DOMAIN], "shop")
    records = process(api, load=False)
    threading.Timer(0.05, records.load).start()
    assert records.holder(DOMAIN) == "shop"


def test_two_writers_lose_nothing(api):
    first, second = process(api), process(api)
    first.hold([DOMAIN], "shop")
    second.hold([SAME_SHARD], "sales")
    assert second.holder(DOMAIN) == "shop"
    third = process(api)
    assert [third.holder(d) for d in (DOMAIN, SAME_SHARD)] == ["shop", "sales"]


def test_a_change_is_judged_anew_where_an_administrator_was_faster(api):
    records = process(api)
    records.hold([DOMAIN, SAME_SHARD], "shop")
    api.patch(CONFIG_MAPS, KEY, {"data": {DOMAIN: None}})

    records.change(shard_of(DOMAIN), lambda known: dict.fromkeys(known, Record("sales")))

    assert process(api).holder(DOMAIN) is None, "what was released stays so"
    assert process(api).holder(SAME_SHARD) == "sales"


def test_a_released_domain_is_seen_when_it_is_read_anew(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    api.patch(CONFIG_MAPS, KEY, {"data": {DOMAIN: None}})
    assert records.holder(DOMAIN) == "shop"
    records.reread([DOMAIN])
    assert records.holder(DOMAIN) is None


def test_a_deleted_config_map_releases_all_and_is_made_anew(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    del api._objects[CONFIG_MAPS.resource, KEY]
    records.hold([SAME_SHARD], "sales")
    again = process(api)
    assert [again.holder(d) for d in (DOMAIN, SAME_SHARD)] == [None, "sales"]


def test_a_deleted_config_map_is_known_when_all_are_read_anew(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    del api._objects[CONFIG_MAPS.resource, KEY]
    records.load()
    assert records.holder(DOMAIN) is None


def test_one_without_its_label_releases_nothing(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    api.patch(CONFIG_MAPS, KEY, {"metadata": {"labels": {LABEL: None}}})
    records.load()
    assert records.holder(DOMAIN) == "shop"


def test_what_is_written_while_all_are_read_anew_stays_known(api, monkeypatch):
    records = process(api)
    records.hold([DOMAIN], "shop")
    process(api).hold(in_one_shard(1), "sales")
    select = FakeObjects.select

    def slow(*request):
        found = select(*request)
        records.hold([SAME_SHARD], "shop")
        return found

    monkeypatch.setattr(FakeObjects, "select", slow)
    records.load()
    assert records.holder(SAME_SHARD) == "shop"


def test_a_restored_backup_is_believed(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    old = api.get(CONFIG_MAPS, KEY)
    records.hold([SAME_SHARD], "sales")
    api.put(CONFIG_MAPS, old)
    records.reread([DOMAIN])
    assert records.holder(SAME_SHARD) is None
    records.hold([SAME_SHARD], "sales")
    assert process(api).holder(SAME_SHARD) == "sales"


@pytest.mark.parametrize("code", [403, 413, 500])
def test_what_is_not_written_is_told(api, code):
    records = process(api)
    api.failing["create ConfigMap"] = [refusal(code)]
    with pytest.raises(RecordsFailed, match="no"):
        records.hold([DOMAIN], "shop")
    assert records.holder(DOMAIN) is None
    records.hold([DOMAIN], "shop")
    assert process(api).holder(DOMAIN) == "shop"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_is_found_out(api, when):
    records = process(api)
    records.hold([DOMAIN], "shop")
    api._journal.kill = (len(api._journal.entries), when)
    with pytest.raises(Killed):
        records.hold([SAME_SHARD], "shop")
    api._journal.kill = None
    process(api).hold([SAME_SHARD], "shop")
    records.hold([SAME_SHARD], "shop")
    assert process(api).holder(SAME_SHARD) == "shop"


def test_spoilt_records_and_foreign_config_maps_end_nothing(api):
    stored = {"metadata": {"name": KEY.name, "namespace": NAMESPACE, "labels": {LABEL: "true"}}}
    api.create(CONFIG_MAPS, {**stored, "data": {DOMAIN: "mine!"}})
    foreign = {"name": "notes", "namespace": NAMESPACE, "labels": {LABEL: "true"}}
    api.create(CONFIG_MAPS, {"metadata": foreign, "data": {SAME_SHARD: '{"namespace": "x"}'}})
    records = process(api)
    assert (records.holder(DOMAIN), records.holder(SAME_SHARD)) == ("?", None)
    records.hold([DOMAIN], "shop")
    assert process(api).holder(DOMAIN) == "shop"


def test_an_administrator_is_told_where_a_record_stands(api):
    records = process(api)
    records.hold([WILDCARD], "shop")
    name = config_map(shard_of(WILDCARD))
    assert records.place(WILDCARD) == f"key _.example.com of ConfigMap {name} in namespace {NAMESPACE}"
    assert "_.example.com" in api.get(CONFIG_MAPS, ObjectKey(NAMESPACE, name))["data"]


def test_writers_at_once_lose_nothing():
    api = Serial(Journal())
    records = process(api)
    domains = [f"d{n}.example.com" for n in range(64)]
    threads = [
        threading.Thread(target=records.hold, args=(domains[n::8], f"team-{n}"), daemon=True)
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    again = process(api)
    assert [again.holder(d) for d in domains] == [f"team-{n % 8}" for n in range(64)]
    assert sorted(again.entries()) == sorted({shard_of(d) for d in domains})
    assert max(again.entries()) < SHARDS


def in_one_shard(count):
    found = (d for n in range(99_999) if shard_of(d := f"x{n}.example.com") == shard_of(DOMAIN))
    return [next(found) for _ in range(count)]


class Slow(Serial):
    """An API server that answers the first one once all others wait, and which counts."""

    writes = 0
    waits = None

    def patch(self, *request):
        self.writes += 1
        if self.waits is not None:
            self.waits.wait(10)
        return super().patch(*request)


def test_those_that_want_the_same_config_map_are_written_together():
    api = Slow(Journal())
    records = process(api)
    records.hold([DOMAIN], "shop")
    wanted = in_one_shard(40)
    threads = [threading.Thread(target=records.hold, args=([domain], "shop")) for domain in wanted]
    api.waits, api.writes = threading.Event(), 0
    for thread in threads:
        thread.start()
    shard = shard_of(DOMAIN)
    deadline = time.monotonic() + 10
    while len(records._turns._waiting.get(shard, ())) + api.writes < 40 and time.monotonic() < deadline:
        time.sleep(0.01)
    api.waits.set()
    for thread in threads:
        thread.join(10)
    assert [records.holder(domain) for domain in wanted] == ["shop"] * 40
    assert api.writes == 2, "one, and the others together"
    assert [process(api).holder(domain) for domain in wanted] == ["shop"] * 40


def test_a_write_that_fails_is_tried_by_those_that_waited(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    api.failing["patch ConfigMap"] = [refusal(500)]
    failed = []

    def hold(domain):
        try:
            records.hold([domain], "shop")
        except RecordsFailed:
            failed.append(domain)

    wanted = in_one_shard(4)
    threads = [threading.Thread(target=hold, args=(domain,)) for domain in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(failed) == 1
    assert all(records.holder(domain) == "shop" for domain in wanted if domain not in failed)


def test_who_waits_too_long_for_others_comes_again(api):
    turns = Turns()
    turns.take(1, turns.ask(1, {}), 0.01)
    with pytest.raises(RecordsFailed, match="other records are being written"):
        turns.take(1, turns.ask(1, {}), 0.01)


def test_what_nobody_waits_for_any_more_is_not_given_back():
    turns = Turns()
    first, second = turns.ask(1, {}), turns.ask(1, {})
    batch = turns.take(1, first, 0.01)
    assert batch == [first, second]
    with pytest.raises(RecordsFailed):
        turns.take(1, second, 0.01)
    turns.give_back(1, batch, first)
    again = turns.ask(1, {})
    assert turns.take(1, again, 0.01) == [again], "in an outage those of all tries would pile up"


def test_no_namespace_fills_up_a_config_map(api, monkeypatch):
    greedy = in_one_shard(5)
    most = sum(size(domain, Record("greedy")) for domain in greedy[:3])
    monkeypatch.setattr(config_maps.life, "MOST_OF_ONE", most)
    records = process(api)
    records.hold(greedy, "greedy")
    records.hold([DOMAIN], "shop")
    assert [records.holder(domain) for domain in greedy].count("greedy") == 3
    assert records.holder(DOMAIN) == "shop"


def test_a_full_config_map_holds_up_nobody(api):
    records = process(api)
    records.hold([DOMAIN], "shop")
    api.failing["patch ConfigMap"] = [TooLarge(Operation("patch", CONFIG_MAPS), 413, "too large")]
    records.hold([SAME_SHARD], "shop")
    assert records.holder(SAME_SHARD) is None
    assert records.holder(DOMAIN) == "shop"


def test_a_list_that_is_an_old_one_takes_no_record_back(api):
    records = process(api)
    records.hold([SAME_SHARD], "sales")
    old = api.select(CONFIG_MAPS, NAMESPACE, {LABEL: "true"})
    records.hold([DOMAIN], "shop")
    select, api.select = api.select, lambda *_: old
    records.load()
    assert records.holder(DOMAIN) == "shop"
    api.select = select
    records.load()
    assert [records.holder(d) for d in (DOMAIN, SAME_SHARD)] == ["shop", "sales"]


def test_with_other_processes_what_seems_free_is_read_again():
    api, looks = FakeObjects(Journal()), Looks(FakeClock(), 60)
    here, alone, there = (
        DomainRecords(api, "crossplane-system", looks, shared=shared) for shared in (True, False, True)
    )
    for records in (here, alone, there):
        records.load()
    there.hold(["acme.example.com"], "shop")
    for records in (here, alone):
        assert records.holder("acme.example.com") is None
        records.reread_free(["acme.example.com"])
    assert here.holder("acme.example.com") == "shop"
    assert alone.holder("acme.example.com") is None
