"""Provider configs in use: held, counted, released in order, and how often anything is written."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.kube.errors import Conflict, Forbidden, KubeError, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.testing import TOYS, Killed, toy

SECRET = {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "creds"}}}
KEY = ObjectKey("shop", "ours")
AWS = ObjectKey("shop", "aws")
CONFIG = "patch ProviderConfig shop/ours"
"""Of the finalizer or of the status."""
MARK = "patch Secret shop/aws"


def ours(spec: dict[str, Any] | None = None, name: str = "ours", **metadata: Any) -> dict[str, Any]:
    about = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "generation": 1}
    return {"metadata": about | metadata, "spec": SECRET if spec is None else spec}


@pytest.fixture
def world(tree: Any) -> Any:
    made = tree(ours())
    made.put_secret()
    return made


def status(world: Any, name: str = "ours") -> Any:
    return (world.config(name) or {}).get("status")


def collect_usages(world: Any) -> None:
    """As the collector does when a namespace is deleted: at once."""
    for usage in list(world.objects.stored(world.USAGE)):
        key = ObjectKey("shop", usage["metadata"]["name"])
        world.objects.delete(world.USAGE, key)
    world.sync()


def test_an_unused_config_is_left_alone_but_for_its_count(world: Any) -> None:
    assert world.look() == [CONFIG]
    assert status(world) == {"users": 0}
    assert world.finalizers() == []
    assert not world.marked()
    world.objects.delete(world.NAMESPACED, KEY)
    assert world.look() == []


def test_users_are_counted_and_nothing_is_written_in_steady_state(world: Any) -> None:
    world.use("one")
    world.use("two")
    world.look()
    assert status(world) == {"users": 2}
    world.restart()
    for name in ("one", "two"):
        world.use(name)
    assert world.look(60) == []


def test_a_resource_that_uses_a_config_in_two_ways_counts_once(world: Any) -> None:
    mr = world.mr(forProvider={"dns": {"kind": "ProviderConfig", "name": "ours"}})
    world.resolve(mr)
    world.resolve(mr, world.SECOND)
    world.look()
    assert status(world) == {"users": 1}


def test_ten_thousand_users_cost_few_writes(world: Any) -> None:
    minute = 60
    for second in range(minute):
        for number in range(10):
            mr = toy(providerConfigRef=world.OURS)
            mr["metadata"]["uid"] = f"uid-{second}-{number}"
            world.resolve(Managed(mr))
        world.look(0.25)
    world.look(10)
    assert status(world) == {"users": 10 * minute}
    writes = [entry for entry in world.journal if entry == CONFIG]
    assert len(writes) <= 2 + minute / 5 + 1, "finalizer, first user, one count each 5 s, the last"


def test_a_deleted_config_says_why_it_stays(world: Any) -> None:
    world.use()
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    assert world.look() == ["event Warning UsageAccounting", CONFIG]
    (said,) = status(world)["conditions"]
    assert (said["type"], said["status"], said["reason"]) == ("Terminating", "True", "InUse")
    assert said["message"].startswith("Blocking deletion while usages still exist")
    assert "apply a copy under another name and point its users to the copy" in said["message"]
    assert world.recorder.messages == [said["message"]]
    world.restart()
    assert world.look(30) == []


def test_a_deleted_config_goes_with_its_last_user_and_its_secret_after_it(world: Any) -> None:
    world.use()
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    world.objects.delete(SECRETS, AWS)
    world.look()
    world.finish()
    collect_usages(world)
    assert world.look() == [CONFIG, MARK]
    assert (world.config(), world.secret()) == (None, None)


def test_a_config_used_no_more_is_released_but_not_deleted(world: Any) -> None:
    world.use()
    world.look()
    world.finish()
    collect_usages(world)
    world.look(6)
    assert status(world) == {"users": 0}
    assert world.finalizers() == []
    assert not world.marked()


def test_usages_that_went_first_free_nothing_that_a_resource_still_needs(world: Any) -> None:
    world.use("one")
    world.use("two")
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    world.objects.delete(SECRETS, AWS)
    collect_usages(world)
    world.restart()
    world.look(6)
    assert status(world)["users"] == 2
    world.finish("one")
    world.look(6)
    assert world.resolve(world.mr("two", deleted=True)).credentials == b"AKIA"
    assert status(world)["users"] == 1
    world.finish("two")
    world.look()
    assert (world.config(), world.secret()) == (None, None)


def test_nothing_is_released_before_all_resources_have_been_read(world: Any) -> None:
    world.use()
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    collect_usages(world)
    world.restart()
    world.resources.cache.deleted(world.objects.get(TOYS, ObjectKey("shop", "acme")))
    world.resources._synced.clear()
    world.controller._attempt(world.controller._queue.get(block=False) or _task(world))
    assert world.finalizers() == ["in-use.crossplane.io"]


def _task(world: Any) -> Any:
    world.clock.advance(1)
    return world.controller._queue.get(block=False)


def test_nothing_is_written_while_the_process_may_not_act(world: Any) -> None:
    world.use()
    world.controller._may_act = lambda: False
    assert world.look() == []
    world.controller._may_act = lambda: True
    assert world.look(1) == [CONFIG]


def test_a_terminating_config_that_somebody_else_holds_does_not_go_on_saying_in_use(world: Any) -> None:
    world.use()
    world.look()
    world.objects.patch(world.NAMESPACED, KEY, {"metadata": {"finalizers": [*world.finalizers(), "other/x"]}})
    world.objects.delete(world.NAMESPACED, KEY)
    world.look()
    world.finish()
    collect_usages(world)
    world.look(6)
    assert world.finalizers() == ["other/x"]
    assert status(world) == {"users": 0, "conditions": []}
    assert len(world.recorder.messages) == 1


def test_conditions_of_others_are_kept_and_no_reason_to_tell(world: Any) -> None:
    condition = {"type": "Reachable", "status": "True", "reason": "Seen", "lastTransitionTime": "t"}
    world.objects.write(world.NAMESPACED, ours() | {"status": {"users": 7, "conditions": [condition]}})
    world.look()
    assert status(world) == {"users": 0, "conditions": [condition]}
    assert world.recorder.messages == []


# Secrets.


def test_a_config_that_names_another_secret_releases_the_first(world: Any) -> None:
    mr = world.use()
    world.look()
    world.put_secret("new")
    changed = world.config()
    changed["spec"] = {"credentials": {"source": "Secret", "secretRef": {"name": "new", "key": "creds"}}}
    changed["metadata"]["generation"] = 2
    world.put_config(changed)
    world.look()
    assert (world.marked("aws"), world.marked("new")) == (False, True)
    world.resolve(mr)
    assert world.look() == []


def test_a_secret_of_two_configs_is_held_until_neither_is_used(world: Any) -> None:
    world.put_config(ours(name="other"))
    world.use("one")
    world.use("two", providerConfigRef={"kind": "ProviderConfig", "name": "other"})
    world.look()
    world.finish("one")
    collect_usages(world)
    world.look(6)
    assert (world.finalizers("ours"), world.finalizers("other")) == ([], ["in-use.crossplane.io"])
    assert world.marked()
    world.finish("two")
    world.look(6)
    assert not world.marked()


def test_secrets_at_every_path_are_held(world: Any) -> None:
    world.put_secret("tsig")
    world.put_config(ours(SECRET | {"dns": {"tsigSecretRef": {"name": "tsig"}}}))
    world.sync()
    world.use()
    assert world.marked("aws")
    assert world.marked("tsig")


def test_a_secret_left_behind_by_a_process_that_died_is_released(tree: Any) -> None:
    world = tree()
    world.put_secret()
    stored = world.secret()
    stored["metadata"] |= {"labels": {tree.MARK: "true", "a": "b"}, "finalizers": ["other/x", tree.MARK]}
    world.objects.write(SECRETS, stored)
    world.restart()
    assert world.look() == [MARK]
    metadata = world.secret()["metadata"]
    assert (metadata["labels"], metadata["finalizers"]) == ({"a": "b"}, ["other/x"])


def test_a_mark_that_somebody_takes_off_is_put_back(world: Any) -> None:
    world.use()
    world.look()
    stored = world.secret()
    del stored["metadata"]["labels"], stored["metadata"]["finalizers"]
    world.objects.write(SECRETS, stored)
    world.look()
    assert world.marked()


def test_a_mark_that_somebody_takes_off_again_and_again_is_no_war(world: Any) -> None:
    world.use()
    for _ in range(20):
        stored = world.secret()
        for name in ("labels", "finalizers"):
            stored["metadata"].pop(name, None)
        world.objects.write(SECRETS, stored)
        world.look()
    assert world.journal.count(MARK) == world.secrets.MARKS


def test_finalizers_of_others_are_kept(world: Any) -> None:
    stored = world.secret()
    stored["metadata"]["finalizers"] = ["other/x"]
    world.objects.write(SECRETS, stored)
    world.use()
    assert world.secret()["metadata"]["finalizers"] == ["other/x", world.MARK]
    world.finish()
    collect_usages(world)
    world.look()
    assert world.secret()["metadata"]["finalizers"] == ["other/x"]


# Usages.


def test_a_usage_without_owner_counts_for_nothing_and_is_given_back_for_collection(world: Any) -> None:
    world.use()
    world.look()
    usage = ObjectKey("shop", "uid-acme")
    world.objects.patch(world.USAGE, usage, {"metadata": {"ownerReferences": [{"uid": "u", "name": "n"}]}})
    world.objects.delete(TOYS, ObjectKey("shop", "acme"))
    world.finish()
    del world.journal[:]
    assert "patch ProviderConfigUsage shop/uid-acme" in world.look(6)
    other, owner = world.objects.get(world.USAGE, usage)["metadata"]["ownerReferences"]
    assert other == {"uid": "u", "name": "n"}
    assert owner == {
        "apiVersion": "toys.m.example.org/v1alpha1", "kind": "Toy", "name": "acme", "uid": "uid-acme",
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


# What the provider reports.


def test_what_the_provider_knows_of_a_config_is_written_once_and_with_the_count(world: Any) -> None:
    mr = world.mr()
    for _ in range(3):
        world.configs.report(world.resolve(mr), {"accountId": "123456789012"})
    del world.journal[:]
    assert world.look() == [CONFIG]
    assert status(world) == {"users": 1, "accountId": "123456789012"}
    world.restart()
    world.configs.report(world.resolve(mr), {"accountId": "123456789012"})
    assert world.look(6) == []
    world.configs.report(world.resolve(mr), {"accountId": None})
    world.look(6)
    assert status(world) == {"users": 1}


def test_a_warning_is_an_event_of_the_config_and_no_write(world: Any) -> None:
    config = world.resolve(world.mr())
    world.look()
    del world.journal[:]
    world.configs.warn(config, "nearly used up")
    world.configs.warn(replace(config, uid="that of its predecessor"), "of another one")
    assert [entry for entry in world.journal if entry.startswith("event")] == [
        "event Warning QuotaNearlyUsed"
    ]
    assert world.look(6) == []


# Trouble.


@pytest.mark.parametrize(
    "error",
    [
        Conflict(Operation("patch", SECRETS), 409, "moved"),
        KubeError(Operation("patch", SECRETS), 503, "busy"),
        Forbidden(Operation("patch", SECRETS), 403, "no"),
        KubeError(Operation("patch", SECRETS), 0, "no answer"),
    ],
    ids=["conflict", "busy", "forbidden", "silent"],
)
def test_a_write_that_fails_is_tried_again(world: Any, error: KubeError) -> None:
    world.use()
    world.objects.failing[CONFIG] = [error]
    world.look()
    world.look(2)
    assert status(world) == {"users": 1}


def test_conflicts_are_tried_again_less_and_less_often(world: Any) -> None:
    world.use()
    tries: list[float] = []
    patch = world.objects.patch

    def refuses(kind: Any, *given: Any, **more: Any) -> Any:
        if more.get("subresource") != "status":
            return patch(kind, *given, **more)
        tries.append(world.clock.now())
        raise Conflict(Operation("patch", kind), 409, "moved")

    world.objects.patch = refuses
    for _ in range(60):
        world.look(0.25)
    assert 4 <= len(tries) <= 8, "in a minute"


def test_who_cannot_take_new_credentials_hides_them_from_nobody(world: Any) -> None:
    world.use()
    told: list[str] = []
    world.configs.on_change(lambda _: {}["bug"])
    world.configs.on_change(lambda key: told.append(str(key)))
    world.look()
    world.put_secret(creds="TkVX")
    world.look()
    assert told == ["ProviderConfig shop/ours"]


def test_a_config_that_goes_is_told_by_its_uid_also_where_another_follows_at_once(world: Any) -> None:
    gone: list[str] = []
    world.configs.on_removal(gone.append)
    world.put_config(ours(generation=2))
    world.sync()
    assert gone == [], "it changed"
    world.put_config(ours(uid="another"))
    world.sync()
    assert gone == ["uid-ours"]
    world.objects._objects.pop((world.NAMESPACED.resource, KEY))
    world.sync()
    assert gone == ["uid-ours", "another"]


def one_life(world: Any) -> None:
    """Two users come, everything is deleted at once, the users finish one after the other."""
    for name in ("one", "two"):
        world.use(name)
    world.look()
    if world.config() and "deletionTimestamp" not in world.config()["metadata"]:
        world.objects.delete(world.NAMESPACED, KEY)
        world.objects.delete(SECRETS, AWS)
    finish_life(world)


def finish_life(world: Any) -> None:
    collect_usages(world)
    for name in ("one", "two"):
        if world.objects.find(TOYS, ObjectKey("shop", name)) is None:
            continue
        stored = world.objects.get(TOYS, ObjectKey("shop", name))
        stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        world.objects.write(TOYS, stored)
        world.look(6)
        assert world.resolve(world.resource(name)).credentials == b"AKIA", "gone before its user"
        world.finish(name)
    world.look(6)


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_each_write_everything_still_goes_in_order(tree: Any, when: str) -> None:
    for index in itertools.count():
        world = tree(ours())
        world.put_secret()
        world.log.kill = (index, when)
        try:
            one_life(world)
        except Killed:
            pass
        else:
            assert index > 5, "the life has fewer writes than it should"
            return
        world.restart()
        if world.config() is not None and "deletionTimestamp" not in world.config()["metadata"]:
            one_life(world)
        else:
            finish_life(world)
        assert (world.config(), world.secret()) == (None, None), f"{when} {index}"
