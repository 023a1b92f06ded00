"""What another kind has to supply: its whole life is the skeleton's, and it costs less than 300 lines."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import name_keys
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.cloudfront.clients import third_kind
from tests.unit.provider.cloudfront.clients.third_kind import ObservedStore, StoreClient
from tests.unit.provider.fake_cloudfront import ACCOUNT
from tests.unit.provider.world import INSTALLATION, World, dependencies

KIND = "KeyValueStore"


@dataclass
class Stores:
    """AWS, as far as this kind goes."""

    stores: dict[str, ObservedStore] = field(default_factory=dict)
    journal: list[str] = field(default_factory=list)
    die: None = None
    conflicts: int = 0
    ineffective: bool = False
    in_progress: bool = False

    def get_store(self, name):
        self.journal.append("Get")
        return replace(self._found(name), tags=None)

    def create_store(self, store):
        self.journal.append("Create")
        arn = f"arn:aws:cloudfront::{ACCOUNT}:key-value-store/1"
        self.stores["1"] = ObservedStore("1", arn, store.name, "v1", comment=store.comment or "")
        self.stores["1"] = replace(self.stores["1"], tags=store.tags)
        return replace(self.stores["1"], tags=None)

    def update_store(self, id_, etag, store):
        self.journal.append("Update")
        before = self.stores[id_]
        if self.conflicts:
            self.conflicts -= 1
            raise AwsError("Update", "PreconditionFailed", "stale", status=412)
        comment = before.comment if self.ineffective else store.comment
        self.stores[id_] = replace(before, etag=etag + "+", comment=comment)
        return replace(self.stores[id_], tags=None)

    def delete_store(self, id_, _etag):
        self.journal.append("Delete")
        if self.in_progress:
            self.in_progress = False
            raise AwsError("Delete", "PreconditionFailed", "stale", status=412)
        del self.stores[id_]

    def tags(self, arn):
        self.journal.append("ListTags")
        return dict(self._found(arn).tags)

    def tag(self, arn, tags):
        self.journal.append("Tag")
        store = self._found(arn)
        self.stores[store.id] = replace(store, tags={**store.tags, **tags})

    def deploy(self):
        """See FakeCloudFront."""

    def _found(self, name):
        for store in self.stores.values():
            if name in (store.id, store.arn, store.name):
                return store
        raise AwsError("Get", "EntityNotFound", "no such store", status=404)


class Life(World):
    @property
    def client(self):
        given = {"installation": INSTALLATION, "account": ACCOUNT} | self.context
        return StoreClient(dependencies(self.cloudfront, self.memory, **given))


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setitem(judgement._BY_ID, KIND, judgement._BY_ID["ConnectionGroup"])
    monkeypatch.setitem(name_keys._PREFIXES, KIND, "_store.")
    metadata = {"name": "a", "namespace": "shop", "uid": "uid-1", "generation": 1}
    obj = {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": KIND,
        "metadata": metadata | {"annotations": {"crossplane.io/external-name": "shop.a"}},
        "spec": {"forProvider": {"comment": "one", "tags": {"team": "edge"}}},
    }
    return Life(obj, Stores())


def test_it_lives(world):
    assert world.reconcile() == ["Get", "Create"]
    assert world.cloudfront.stores["1"].tags[OWNER_TAG] == f"{INSTALLATION}/{KIND}/shop/shop.a"
    assert world.reconcile() == ["Get"]
    world.edit(comment="two", tags={"team": "core"})
    assert world.reconcile() == ["Get", "ListTags", "Update", "Tag"]
    assert world.cloudfront.stores["1"].comment == "two"
    world.delete()
    world.settle()
    assert world.gone
    assert world.cloudfront.stores == {}


def test_drift_is_repaired_and_a_conflict_is_tried_once_more(world):
    world.settle()
    world.cloudfront.stores["1"] = replace(world.cloudfront.stores["1"], comment="theirs")
    world.cloudfront.conflicts = 1
    assert world.reconcile() == ["Get", "Update", "Get", "Update"]
    assert world.events[-1].startswith("update: repaired drift: updated store shop.a: comment theirs → one")


def test_an_update_without_effect_is_made_twice(world):
    world.settle()
    world.cloudfront.ineffective = True
    world.edit(comment="two")
    assert [world.reconcile().count("Update") for _ in range(4)] == [1, 1, 0, 0]
    assert world.condition("InSync")[1] == "UpdateIneffective"


def test_what_is_anothers_is_left_alone(world):
    world.settle()
    world.cloudfront.stores["1"] = replace(world.cloudfront.stores["1"], tags={OWNER_TAG: "other/x/y/z"})
    world.obj.pop("status")
    world.restart()
    world.reconcile()
    assert isinstance(world.error, ExternalError)
    assert world.ready() == ("False", "AdoptionRefused")


def test_a_deletion_that_is_refused_is_tried_again(world):
    world.settle()
    world.delete()
    world.cloudfront.in_progress = True
    world.settle()
    assert world.gone
    assert world.cloudfront.journal.count("Delete") == 2


def test_it_costs_less_than_300_lines():
    assert len(Path(third_kind.__file__).read_text().splitlines()) < 300
