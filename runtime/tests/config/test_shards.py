"""Provider configs with shards: whose they are, and which process protects and counts them."""

from typing import Any

import pytest

from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey, ProviderConfigKey

KEY = ProviderConfigKey("ProviderConfig", "ours", "shop")
SPEC = {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "creds"}}}


@pytest.fixture
def mine() -> set[str]:
    return set()


@pytest.fixture
def world(tree: Any, mine: set[str]) -> Any:
    about = {"name": "ours", "namespace": "shop", "uid": "uid-ours", "generation": 1}
    made = tree({"metadata": about, "spec": SPEC}, mine=mine.__contains__)
    made.put_secret()
    return made


def tell_account(world: Any, account: str) -> None:
    """Another process reports it."""
    stored = world.objects.find(world.NAMESPACED, ObjectKey("shop", "ours"))
    world.objects.write(world.NAMESPACED, stored | {"status": {"accountId": account}})
    world.sync()


def test_the_owner_is_in_the_status_and_else_the_config_itself(world: Any) -> None:
    assert world.configs.owner(KEY) == "uid-ours"
    tell_account(world, "111111111111")
    assert world.configs.owner(KEY) == "111111111111"
    missing = ProviderConfigKey("ProviderConfig", "missing", "shop")
    assert world.configs.owner(missing) == str(missing)


def test_a_resource_belongs_to_the_process_of_its_config(world: Any, mine: set[str]) -> None:
    mr = world.mr()
    assert not world.configs.mine(mr)
    mine.add("uid-ours")
    assert world.configs.mine(mr)
    tell_account(world, "111111111111")
    assert not world.configs.mine(mr)
    mine.add("111111111111")
    assert world.configs.mine(mr)


def test_a_change_of_the_owner_is_told_and_nothing_else(world: Any) -> None:
    moved: list[ProviderConfigKey] = []
    world.configs.on_moved(moved.append)
    tell_account(world, "111111111111")
    assert moved == [KEY]
    stored = world.objects.find(world.NAMESPACED, ObjectKey("shop", "ours"))
    world.objects.write(world.NAMESPACED, stored | {"status": {"accountId": "111111111111", "users": 4}})
    world.sync()
    assert moved == [KEY]


def test_only_its_process_protects_and_counts_a_config(world: Any, mine: set[str]) -> None:
    world.mr()
    assert world.look() == []
    mine.add("uid-ours")
    world.configs.look_at_all()
    assert "patch ProviderConfig shop/ours" in world.look()
    assert (world.config() or {})["status"] == {"users": 1}


def test_what_was_reported_is_forgotten_with_the_config(world: Any, mine: set[str]) -> None:
    """It comes back with another account, as another process reported."""
    mine.update({"uid-ours", "222222222222"})
    world.use()
    world.controller.report(KEY, "uid-ours", {"accountId": "111111111111"})
    world.look(6)
    assert (world.config() or {})["status"]["accountId"] == "111111111111"
    assert not world.configs.mine(world.resource("acme"))
    tell_account(world, "222222222222")
    world.look(6)
    assert (world.config() or {})["status"]["accountId"] == "222222222222"


def test_an_account_of_another_process_is_written_at_once(world: Any, mine: set[str]) -> None:
    """Its process waits for it. An account of this process is written with the next count."""
    mine.update({"uid-ours", "222222222222"})
    world.use()
    world.look(0.3)
    for account, status in (("222222222222", None), ("111111111111", "111111111111")):
        world.controller.report(KEY, "uid-ours", {"accountId": account})
        world.look(0.3)
        assert (world.config() or {})["status"].get("accountId") == status


def test_a_secret_is_released_by_one_process(world: Any, mine: set[str]) -> None:
    mine.add("uid-ours")
    world.use()
    world.look(6)
    assert world.marked()
    world.finish()
    usages = list(world.objects.stored(world.USAGE))
    for usage in usages:
        world.objects.delete(world.USAGE, ObjectKey("shop", usage["metadata"]["name"]))
    world.look(6)
    assert world.marked()
    mine.add("secret shop/aws")
    world.configs.look_at_all()
    world.look(6)
    assert not world.marked()
    assert world.objects.find(SECRETS, ObjectKey("shop", "aws")) is not None
