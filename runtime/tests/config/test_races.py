"""What happens to configs and Secrets behind the back of the process, or at the same time."""

import base64
from typing import Any

import pytest

from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.kube.errors import Conflict, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.testing import TOYS, toy

SECRET = {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "creds"}}}
KEY, AWS = ObjectKey("shop", "ours"), ObjectKey("shop", "aws")
DEFAULT = ProviderConfigKey("ProviderConfig", "ours", "shop")
FINALIZER = "in-use.crossplane.io"
CONFLICT = Conflict(Operation("patch", SECRETS), 409, "the object has been modified")


def ours(uid: str = "uid-ours", **metadata: Any) -> dict[str, Any]:
    about = {"name": "ours", "namespace": "shop", "uid": uid, "generation": 1}
    return {"metadata": about | metadata, "spec": SECRET}


@pytest.fixture
def world(tree: Any) -> Any:
    made = tree(ours())
    made.put_secret()
    return made


def strip(world: Any, kind: Any, key: ObjectKey, *fields: str) -> None:
    """A user takes fields off the metadata."""
    stored = world.objects.get(kind, key)
    for field in fields:
        stored["metadata"].pop(field, None)
    world.objects.write(kind, stored)
    world.sync()


def meanwhile(world: Any, method: str, act: Any) -> None:
    """Have something happen right before the next call of that method of the API server."""
    real = getattr(world.objects, method)

    def call(*args: Any, **options: Any) -> Any:
        delattr(world.objects, method)
        act()
        return real(*args, **options)

    setattr(world.objects, method, call)


# Holding.


def test_a_use_recorded_by_a_process_that_held_no_config_is_held_at_the_next_reconcile(world: Any) -> None:
    mr = world.use()
    strip(world, world.NAMESPACED, KEY, "finalizers")
    world.resolve(mr)
    assert world.finalizers() == [FINALIZER]


def test_a_secret_alone_that_is_not_held_is_held_at_the_next_reconcile(world: Any) -> None:
    mr = world.use()
    strip(world, SECRETS, AWS, "labels", "finalizers")
    world.resolve(mr)
    assert world.marked()


def test_a_finalizer_without_its_label_is_no_mark(world: Any) -> None:
    mr = world.use()
    strip(world, SECRETS, AWS, "labels")
    world.resolve(mr)
    assert world.marked()


@pytest.mark.parametrize("deleted", ["config", "secret"])
def test_what_is_deleted_already_takes_no_finalizer_and_stops_nobody_it_serves(
    world: Any, deleted: str
) -> None:
    kind, key = (world.NAMESPACED, KEY) if deleted == "config" else (SECRETS, AWS)
    stored = world.objects.get(kind, key)
    stored["metadata"]["finalizers"] = ["other/x"]
    world.objects.write(kind, stored)
    world.objects.delete(kind, key)
    world.sync()
    assert world.resolve(world.mr()).credentials == b"AKIA"


def test_many_that_begin_at_once_do_not_fail_for_it(world: Any) -> None:
    mr = world.mr()

    def another_was_faster() -> None:
        for kind, key, changes in (
            (world.NAMESPACED, KEY, {"finalizers": [FINALIZER]}),
            (SECRETS, AWS, {"finalizers": [world.MARK], "labels": {world.MARK: "true"}}),
        ):
            stored = world.objects.get(kind, key)
            stored["metadata"] |= changes
            world.objects.write(kind, stored)

    meanwhile(world, "patch", another_was_faster)
    world.resolve(mr)
    assert world.journal[-1] == "create ProviderConfigUsage shop/uid-acme"


def test_many_that_mark_a_secret_at_once_do_not_fail_for_it(world: Any) -> None:
    mr = world.use()
    strip(world, SECRETS, AWS, "labels", "finalizers")

    def another_was_faster() -> None:
        stored = world.objects.get(SECRETS, AWS)
        stored["metadata"] |= {"finalizers": [world.MARK], "labels": {world.MARK: "true"}}
        world.objects.write(SECRETS, stored)

    meanwhile(world, "patch", another_was_faster)
    world.resolve(mr)
    assert world.marked()


@pytest.mark.parametrize("prefix", ["patch ProviderConfig", "patch Secret"])
def test_another_writer_is_no_reason_to_go_on_unheld(world: Any, prefix: str) -> None:
    world.objects.failing[prefix] = [CONFLICT]
    with pytest.raises(Conflict):
        world.resolve(world.mr())
    assert not [entry for entry in world.journal if "Usage" in entry]
    world.resolve(world.mr())
    assert world.marked()


def test_a_finalizer_added_by_somebody_else_meanwhile_is_not_lost(world: Any) -> None:
    mr = world.mr()

    def somebody_else() -> None:
        stored = world.objects.get(SECRETS, AWS)
        stored["metadata"]["finalizers"] = ["other/x"]
        world.objects.write(SECRETS, stored)

    world.objects.patch(world.NAMESPACED, KEY, {"metadata": {"finalizers": [FINALIZER]}})
    world.sync()
    meanwhile(world, "patch", somebody_else)
    with pytest.raises(Conflict):
        world.resolve(mr)
    world.resolve(mr)
    assert world.secret()["metadata"]["finalizers"] == ["other/x", world.MARK]


def test_the_cluster_scoped_tree_does_all_this_with_a_mark_of_its_own(tree: Any) -> None:
    class Legacy(tree):  # type: ignore[misc]
        CLUSTER = ResourceKind("example.org", "v1", "ProviderConfig", "providerconfigs", namespaced=False)
        NAMESPACED = ResourceKind("example.org", "v1", "None", "nones", namespaced=True)
        USAGE = ResourceKind("example.org", "v1", "ProviderConfigUsage", "usages", namespaced=False)
        MARK = "example.org/in-use"

    reference = {"name": "aws", "namespace": "shop", "key": "creds"}
    spec = {"credentials": {"source": "Secret", "secretRef": reference}, "endpoint": {"url": "https://x"}}
    world = Legacy({"metadata": {"name": "default", "uid": "u", "generation": 1}, "spec": spec})
    world.put_secret()
    assert world.resolve(Managed(toy(cluster=True))).credentials == b"AKIA"
    world.look()
    assert world.journal == [
        "patch ProviderConfig default",
        "patch Secret shop/aws",
        "create ProviderConfigUsage uid-acme",
        "patch ProviderConfig default",
    ]
    assert world.marked()
    assert world.config("default", "")["status"] == {"users": 1}


# Releasing.


def test_who_begins_while_the_last_user_goes_keeps_the_config(world: Any) -> None:
    world.use()
    world.look()
    world.finish()
    usage = ObjectKey("shop", "uid-acme")
    world.objects.delete(world.USAGE, usage)
    world.sync()
    waiting = world.controller.releases.alone

    def begin_first(name: Any) -> Any:
        world.controller.releases.alone = waiting
        world.use("late")
        return waiting(name)

    world.controller.releases.alone = begin_first
    assert world.look() == ["create ProviderConfigUsage shop/uid-late"]
    assert world.finalizers() == [FINALIZER]
    assert world.marked()


def test_who_begins_to_use_a_secret_while_it_is_being_released_keeps_it(world: Any) -> None:
    world.use()
    world.look()
    waiting, turns = world.controller.releases.alone, iter(range(9))

    def begin_before_the_secret(name: Any) -> Any:
        if next(turns) == 1:
            world.use("late")
        return waiting(name)

    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.sync()
    world.controller.releases.alone = begin_before_the_secret
    assert "patch Secret shop/aws" not in world.look()
    assert world.marked()


def test_a_release_that_hangs_stops_no_users_of_other_configs(world: Any) -> None:
    """As while another product's webhook for Secrets of one namespace does not answer."""
    world.use()
    world.look()
    world.controller.RELEASE_SECONDS = 0.05
    other = ObjectKey("shop", "other")
    with world.controller.releases.alone(other), world.controller.using(DEFAULT):
        pass
    for busy in (DEFAULT, *world.controller._secrets_in_use(DEFAULT)):
        with (
            world.controller.releases.alone(busy),
            pytest.raises(NotYet, match="is being released"),
            world.controller.using(DEFAULT),
        ):
            raise AssertionError
    assert world.controller.releases._locks == {}, "no lock stays behind"


def test_who_begins_to_use_a_config_while_it_changes_begins_again(world: Any) -> None:
    world.use()
    secrets = iter([(ObjectKey("shop", "aws"),), (ObjectKey("shop", "new"),)])
    world.controller._secrets_in_use = lambda _: next(secrets)
    with pytest.raises(NotYet, match="has just changed"), world.controller.using(DEFAULT):
        raise AssertionError


def test_a_resource_that_somebody_else_lets_go_frees_its_config(world: Any) -> None:
    world.use()
    world.look()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.look()
    assert world.finalizers() == [FINALIZER]
    world.objects.patch(TOYS, ObjectKey("shop", "acme"), {"metadata": {"finalizers": []}})
    world.look()
    assert world.finalizers() == []


def test_a_config_that_waits_is_looked_at_now_and_then(world: Any) -> None:
    world.use()
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    world.look()
    assert world.controller._queue.delayed == 1
    world.look(61)
    assert world.controller._queue.delayed == 1


@pytest.mark.parametrize(("installed", "held"), [(True, [FINALIZER]), (False, [])])
def test_a_kind_that_is_not_answered_for_yet_may_have_users(
    tree: Any, installed: bool, held: list[str]
) -> None:
    world = tree(ours(finalizers=[FINALIZER]), served=lambda kind: installed or kind != TOYS)
    world.resources._synced.clear()
    world.resources._served = False
    world.look()
    assert world.finalizers() == held


def test_nothing_is_kept_of_a_secret_that_is_released(world: Any) -> None:
    world.use()
    world.look()
    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.look()
    assert not world.secrets._read


# Content.


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_secrets_with_very_many_finalizers_are_released_and_keep_no_others(world: Any) -> None:
    """Anyone may set the mark on their own Secrets."""
    world.use()
    world.look()
    marked = {"labels": {world.MARK: "true"}, "finalizers": [*(f"a.b/{n}" for n in range(150)), world.MARK]}
    evil = [ObjectKey("evil", f"evil-{number}") for number in range(5)]
    for key in evil:
        world.objects.write(SECRETS, {"metadata": {"name": key.name, "namespace": key.namespace} | marked})
    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.sync()
    world.look()
    assert not world.marked()
    assert world.finalizers() == []
    assert [len(world.objects.get(SECRETS, key)["metadata"]["finalizers"]) for key in evil] == [150] * 5


def test_a_secret_that_cannot_be_released_keeps_no_others(world: Any) -> None:
    world.use()
    world.look()
    release, refused = world.controller._parts.secrets.release, ObjectKey("evil", "refused")
    marked = {"labels": {world.MARK: "true"}, "finalizers": [world.MARK]}
    world.objects.write(
        SECRETS, {"metadata": {"name": refused.name, "namespace": refused.namespace} | marked}
    )

    def releases(key: ObjectKey) -> None:
        if key == refused:
            raise CONFLICT
        release(key)

    world.controller._parts.secrets.release = releases
    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.sync()
    world.look()
    assert not world.marked()


def test_each_change_of_credentials_is_told_also_one_back(world: Any) -> None:
    world.use()
    world.look()
    world.told.clear()
    for value in ("new", "AKIA"):
        world.put_secret(creds=encoded(value))
        world.look()
    assert world.told == ["ProviderConfig shop/ours"] * 2


def test_users_are_not_told_of_secrets_that_are_listed_at_the_start(world: Any) -> None:
    world.use()
    world.restart()
    world.told.clear()
    world.look()
    assert world.told == []


def test_where_secrets_cannot_be_watched_the_minute_holds(world: Any) -> None:
    mr = world.use()
    world.look()
    world.secrets.informer._problem = "forbidden"
    world.put_secret(creds=encoded("new"))
    assert world.resolve(mr).credentials == b"AKIA"
    world.secrets.UNWATCHED_SECONDS = 0.0
    assert world.resolve(mr).credentials == b"new"


def test_the_watch_goes_on_while_secrets_are_held_although_the_kinds_are_gone(tree: Any) -> None:
    served = [True]
    world = tree(ours(), served=lambda _: served[0])
    world.put_secret()
    world.use()
    served[0] = False
    assert world.secrets.informer._gate()
    world.secrets.release(AWS)
    assert not world.secrets.informer._gate()


# What the provider reports.


def test_what_was_reported_of_a_config_is_not_said_of_its_successor(world: Any) -> None:
    world.configs.report(world.resolve(world.mr()), {"accountId": "1"})
    world.look()
    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.look()
    world.objects.delete(world.NAMESPACED, KEY)
    world.put_config(ours(uid="uid-successor"))
    world.look(6)
    assert world.config()["status"] == {"users": 0}
    world.configs.report(world.resolve(world.mr("next")), {"callerArn": "a"})
    world.look(6)
    assert world.config()["status"] == {"users": 1, "callerArn": "a"}


def test_a_report_without_news_has_nobody_look(world: Any) -> None:
    resolved = world.resolve(world.mr())
    world.configs.report(resolved, {"accountId": "1"})
    world.look()
    world.configs.report(resolved, {"accountId": "1"})
    assert world.controller._queue.delayed == 0


def test_of_a_config_that_is_gone_nothing_is_kept(world: Any) -> None:
    world.configs.report(world.resolve(world.mr()), {"accountId": "1"})
    world.look()
    world.finish()
    world.objects.delete(world.USAGE, ObjectKey("shop", "uid-acme"))
    world.objects.delete(world.NAMESPACED, KEY)
    world.look()
    assert (world.controller._reported, world.controller._written) == ({}, {})
