"""Whatever happens, every record says what is: held where a tenant has it, and else its time runs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from functools import partial

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.safety import name_keys
from provider.cloudfront.state.identity import OWNER_TAG
from provider.records.config_maps import LABEL, DomainRecords, config_map
from provider.records.life import data_key, domain_of, shard_of
from provider.records.rounds import CLAIMS, Claims, Rounds
from provider.records.use import Looks, listed_by
from tests.unit.provider.fake_cloudfront import ACCOUNT, DISTRIBUTION, FakeCloudFront, Killed
from tests.unit.provider.world import World, managed

EXAMPLES = int(os.environ.get("EDGETENANTS_HISTORIES", "150"))
NAMESPACE = "crossplane-system"
DOMAINS = ("a.example.com", "b.example.com", "*.example.com")
NAMESPACES = ("shop", "sales")
DOWN = KubeError(Operation("patch", CONFIG_MAPS), 0, "no answer")


class Server(FakeObjects):
    """An API server whose answers may be lost, and that may refuse one ConfigMap."""

    def __init__(self) -> None:
        super().__init__(Journal())
        self.loses_answers = False
        self.refuses: str | None = None

    def create(self, kind, obj):
        return self._answered(obj["metadata"]["name"], partial(super().create, kind, obj))

    def patch(self, kind, key, patch, **more):
        return self._answered(key.name, partial(super().patch, kind, key, patch, **more))

    def _answered(self, name, write):
        if name == self.refuses:
            raise KubeError(Operation("patch", CONFIG_MAPS), 500, "a webhook is down")
        stored = write()
        if self.loses_answers:
            raise DOWN
        return stored

    def allowed(self, verb, kind):
        return True

    def select(self, kind, namespace, labels):
        return [] if kind == CLAIMS else super().select(kind, namespace, labels)


class Process:
    """A provider's records and rounds."""

    def __init__(self, history: History) -> None:
        self.looks = Looks(history.clock, 60)
        self.records = DomainRecords(history.api, NAMESPACE, self.looks)
        self.rounds = Rounds(
            self.records,
            self.looks,
            Claims(history.api),
            keep=timedelta(hours=72),
            everyone=lambda: [world.mr for world in history.worlds],
            everything_read=lambda: True,
            now=lambda: history.now,
        )
        self.rounds.round()


class History:
    """Managed resources of two namespaces that want the same domains, and what happens to them."""

    def __init__(self) -> None:
        self.api, self.cloudfront, self.clock = Server(), FakeCloudFront(), FakeClock()
        self.now = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
        self.worlds: list[World] = []
        self.number = 0
        self.process = self.former = Process(self)

    # What happens.

    def one_is_made(self, n):
        if len(self.worlds) < 5:
            self._make(NAMESPACES[n % 2], DOMAINS[n // 2 % 3])

    def one_is_deleted(self, n):
        for world in self._one(n):
            world.delete()

    def one_is_made_anew_beside_the_old_one(self, n):
        for world in self._one(n):
            if len(self.worlds) < 5:
                world.delete()
                self._make(world.mr.namespace, world.mr.for_provider["domains"][0])

    def one_is_named_by_its_id(self, n):
        for world in self._one(n):
            if id_ := world.status.get("atProvider", {}).get("id"):
                world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = id_

    def one_is_looked_at(self, n):
        for world in self._one(n):
            self._look(world)

    def all_are_looked_at(self, _):
        for world in list(self.worlds):
            self._look(world)

    def the_console_deletes(self, n):
        for id_ in sorted(self.cloudfront.tenants)[n % 3 :][:1]:
            del self.cloudfront.tenants[id_]

    def a_record_is_released(self, n):
        domain = DOMAINS[n % 3]
        key = ObjectKey(NAMESPACE, config_map(shard_of(domain)))
        if self.api.find(CONFIG_MAPS, key):
            FakeObjects.patch(self.api, CONFIG_MAPS, key, {"data": {data_key(domain): None}})

    def the_provider_is_killed(self, _):
        self.former, self.process = self.process, Process(self)
        for world in self.worlds:
            world.context["kept"] = self.process.records
            world.restart()

    def the_former_provider_looks_once_more(self, n):
        for world in self._one(n):
            world.context["kept"] = self.former.records
            self._look(world)
            world.context["kept"] = self.process.records

    def the_provider_dies_amid_a_look(self, n):
        self.cloudfront.die = (len(self.cloudfront.journal) + n % 4, ("before", "after")[n // 4 % 2])
        self.one_is_looked_at(n // 8)
        self.cloudfront.die = None

    def an_answer_is_lost(self, n):
        self.api.loses_answers = True
        self.one_is_looked_at(n)
        self.api.loses_answers = False

    def a_config_map_takes_no_writes(self, n):
        self.api.refuses = config_map(shard_of(DOMAINS[n % 3]))

    def the_wall_clock_is_wrong(self, n):
        self.now += timedelta(hours=80) * (1, -1)[n % 2]

    def a_round_passes(self, _):
        self.now += timedelta(seconds=10)
        self.clock.advance(10)
        self.process.rounds.round()

    # Parts.

    def _one(self, n):
        return self.worlds[n % len(self.worlds) :][:1] if self.worlds else []

    def _make(self, namespace, domain):
        self.number += 1
        name = f"{namespace}.t{self.number}"
        asked = {"distributionId": DISTRIBUTION, "domains": [domain]}
        obj = managed(asked, uid=name, annotations={"crossplane.io/external-name": name})
        obj["metadata"] |= {"namespace": namespace, "name": f"t{self.number}"}
        world = World(obj, self.cloudfront, kept=self.process.records)
        world.clock = self.clock
        world.context["everyone"] = lambda: [each.mr for each in self.worlds]
        world.restart()
        self.worlds.append(world)

    def _look(self, world):
        try:
            world.reconcile()
        except Killed:
            self.the_provider_is_killed(0)
        if world.gone:
            self.worlds = [each for each in self.worlds if each is not world]

    def settle(self):
        """Nothing else happens, and everything is looked at again and again."""
        for _ in range(12):
            self.cloudfront.deploy()
            for world in list(self.worlds):
                self._look(world)
            self.now += timedelta(minutes=2)
            self.clock.advance(120)
            self.process.rounds.round()

    # What is.

    @property
    def stored(self):
        found = self.api.select(CONFIG_MAPS, NAMESPACE, {LABEL: "true"})
        return {domain_of(key): json.loads(value) for each in found for key, value in each["data"].items()}

    @property
    def has(self):
        """Who has what in AWS, by the owner tags."""
        pairs = {}
        for tenant in self.cloudfront.tenants.values():
            namespace = tenant.tags[OWNER_TAG].split("/")[2]
            for key in (*tenant.active_domains, name_keys.key_of("DistributionTenant", ACCOUNT, tenant.name)):
                pairs[key] = namespace
        return pairs

    def check(self):
        stored = {key: record for key, record in self.stored.items() if not self._unwritten(key)}
        held = {key: record["namespace"] for key, record in stored.items() if "notHeldSince" not in record}
        on_hold = [world.mr for world in self.worlds if world.mr.uid in self.process.looks._on_hold]
        uncertain = {(mr.namespace, key) for mr in on_hold for key in listed_by(mr)}
        for key, namespace in held.items():
            known = self.has.get(key) == namespace or (namespace, name_keys.without_account(key)) in uncertain
            assert known, f"the time of {key} does not begin"
        for world in self.worlds:
            tenant = self.cloudfront.tenants.get(world.status.get("atProvider", {}).get("id"))
            for domain in tenant.active_domains if tenant else ():
                assert held.get(domain) == world.mr.namespace or self._unwritten(domain), f"{domain} is free"

    def _unwritten(self, key):
        return config_map(shard_of(key)) == self.api.refuses


def live() -> History:
    """One tenant serves a domain."""
    history = History()
    history.one_is_made(0)
    history.all_are_looked_at(0)
    history.a_round_passes(0)
    assert history.stored[DOMAINS[0]] == {"namespace": "shop"}
    return history


def test_the_domain_of_a_live_tenant_is_recorded_again_at_its_next_look_after_a_release():
    history = live()
    history.a_record_is_released(0)
    history.a_round_passes(0)
    assert DOMAINS[0] not in history.stored
    history.one_is_looked_at(0)
    assert history.stored[DOMAINS[0]] == {"namespace": "shop"}
    history.the_console_deletes(0)
    history.one_is_made(1)
    history._look(history.worlds[1])
    assert history.worlds[1].ready() == ("False", "DomainConflict"), "who is next has it"
    history.settle()
    history.check()
    assert history.has[DOMAINS[0]] == "shop"


def test_a_release_without_a_live_tenant_stays_one():
    history = live()
    history.the_console_deletes(0)
    history.a_record_is_released(0)
    for _ in range(3):
        history.a_round_passes(0)
        assert DOMAINS[0] not in history.stored
    history.one_is_made(1)
    history._look(history.worlds[1])
    history.settle()
    assert history.has[DOMAINS[0]] == "sales", "the next one has it, as the administrator wanted"


def test_what_names_by_its_id_a_tenant_that_is_gone_keeps_its_domains_no_longer_than_others():
    history = live()
    history.one_is_named_by_its_id(0)
    history.the_console_deletes(0)
    history.one_is_looked_at(0)
    history.a_round_passes(0)
    assert "notHeldSince" in history.stored[DOMAINS[0]]


STEPS = sorted(name for name, step in vars(History).items() if callable(step) and name[0] != "_")
STEPS = [name for name in STEPS if name not in ("settle", "check")]


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 40)), min_size=4, max_size=30))
def test_every_record_says_what_is(steps):
    history = History()
    for step, n in steps:
        getattr(history, step)(n)
    history.settle()
    history.check()
