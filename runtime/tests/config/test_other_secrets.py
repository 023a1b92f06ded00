"""The Secrets that a config has beside its credentials, for one of its uses."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.config.resolved import SecretField
from edgetenants_runtime.managed import ObjectKey

TSIG = "dns.tsigSecretRef"
NONE: dict[str, Any] = {"credentials": {"source": "None"}}
WITH_TSIG = {**NONE, "dns": {"tsigSecretRef": {"name": "tsig"}}}
WITH_KEY = {**NONE, "dns": {"tsigSecretRef": {"name": "tsig", "key": "token"}}}
DNS: dict[str, Any] = {"forProvider": {"dns": {"kind": "ProviderConfig", "name": "ours"}}}


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def ours(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": "ours", "namespace": "shop", "uid": "uid-ours", "generation": 3},
        "spec": spec,
    }


def use(world: Any, *keys: str, optional: tuple[str, ...] = ()) -> Any:
    return replace(world.SECOND, secrets=(SecretField(TSIG, keys, optional),))


def test_they_are_loaded_for_the_use_that_needs_them_and_shown_nowhere(tree: Any) -> None:
    world = tree(ours(WITH_TSIG))
    world.put_secret("tsig", secret=encoded(b"AKIA"), other=encoded(b"of no concern"))
    mr = world.mr(**DNS)
    found = world.resolve(mr, use(world, "secret", optional=("algorithm",)))
    assert found.secrets == {TSIG: {"secret": b"AKIA"}}
    assert "AKIA" not in repr(found)
    assert world.resolve(mr).secrets == {}


def test_one_that_cannot_be_used_stops_no_other_use(tree: Any) -> None:
    world = tree(ours(WITH_TSIG))
    mr = world.mr(**DNS)
    assert world.resolve(mr).source == "None"
    where = f"ProviderConfig shop/ours: spec.{TSIG}"
    assert (
        world.refusal(mr, use(world, "keyname", "secret")).message
        == f"{where}: Secret shop/tsig does not exist"
    )
    world.put_secret("tsig", keyname=encoded(b"n"))
    said = world.refusal(mr, use(world, "keyname", "secret")).message
    assert said == f"{where}: Secret shop/tsig has no key 'secret'"
    # It was not cached.
    world.put_secret("tsig", keyname=encoded(b"n"), secret=encoded(b"s"))
    assert world.resolve(mr, use(world, "keyname", "secret")).secrets[TSIG] == {
        "keyname": b"n",
        "secret": b"s",
    }


def test_a_reference_may_name_the_key(tree: Any) -> None:
    world = tree(ours(WITH_KEY))
    world.put_secret("tsig", token=encoded(b"t"))
    mr = world.mr(**DNS)
    assert world.resolve(mr, use(world)).secrets == {TSIG: {"token": b"t"}}
    world.put_secret("tsig", other=encoded(b"t"))
    said = world.refusal(mr, use(world)).message
    assert said.endswith(f"spec.{TSIG}.key: Secret shop/tsig has no key 'token'")


@pytest.mark.parametrize("dns", [{}, {"tsigSecretRef": None}, {"tsigSecretRef": "x"}])
def test_without_a_reference_nothing_is_read(tree: Any, dns: dict[str, Any]) -> None:
    world = tree(ours({**NONE, "dns": dns}))
    assert world.resolve(world.mr(**DNS), use(world, "secret")).secrets == {}


def test_a_namespaced_config_reads_its_own_namespace_only(tree: Any) -> None:
    """Its CRD has no such field; a resource that was stored before may."""
    world = tree(ours({**NONE, "dns": {"tsigSecretRef": {"name": "tsig", "namespace": "sys"}}}))
    world.put_secret("tsig", "sys", secret=encoded(b"of another"))
    said = world.refusal(world.mr(**DNS), use(world, "secret")).message
    assert "Secret shop/tsig does not exist" in said


def test_a_change_is_told_and_takes_effect(tree: Any) -> None:
    world = tree(ours(WITH_TSIG))
    world.put_secret("tsig", secret=encoded(b"old"))
    mr, dns = world.mr(**DNS), use(world, "secret")
    world.resolve(mr)
    assert world.resolve(mr, dns).secrets[TSIG] == {"secret": b"old"}
    world.look()
    world.told.clear()
    world.put_secret("tsig", secret=encoded(b"new"))
    world.look()
    assert world.told == ["ProviderConfig shop/ours"]
    assert world.resolve(mr, dns).secrets[TSIG] == {"secret": b"new"}
    assert "data" not in world.secrets.informer.cache.get(ObjectKey("shop", "tsig"))
