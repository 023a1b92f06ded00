"""The watch of Secrets in use, and a running controller of configs, against a scripted API server."""

import random
from collections.abc import Callable
from typing import Any

from edgetenants_runtime import SystemClock
from edgetenants_runtime.config.held_secrets import HeldSecrets
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.providerconfigs import ConfigKinds

Until = Callable[[Callable[[], Any]], None]
MARK = "m.example.org/in-use"
AWS = ObjectKey("shop", "aws")
PATH = "/api/v1/namespaces/shop/secrets/aws"


def secret(version: str, **more: Any) -> dict[str, Any]:
    marks = {"labels": {MARK: "true"}, "finalizers": [MARK]}
    about = {"name": "aws", "namespace": "shop", "uid": "uid-aws", "resourceVersion": version}
    return {"metadata": about | marks} | more


def test_only_marked_secrets_are_watched_and_content_is_read_when_the_version_moves(
    api: Any, client: KubeClient, until: Until
) -> None:
    held = HeldSecrets(client, MARK, random.Random(1))
    changed: list[ObjectKey] = []
    held.on_change(changed.append)
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [secret("5")]})]
    api.watches = [[{"type": "MODIFIED", "object": secret("9")}, "hang"]]
    api.others[f"GET {PATH}"] = 200, secret("9", data={"creds": "eA==", "more": "eQ=="})
    held.informer.start()
    try:
        until(lambda: changed == [AWS])
        assert held.values(AWS, ("creds",)) == {"creds": "eA=="}
        assert held.values(AWS, ("creds",)) == {"creds": "eA=="}
        assert [path for method, path, query, _ in api.requests if not query] == [PATH]
        selectors = [
            query["labelSelector"] for query in (*api.queries(watch=False), *api.queries(watch=True))
        ]
        assert selectors == [f"{MARK}=true"] * 2
        # The next version is read once.
        api.others[f"GET {PATH}"] = 200, secret("12", data={"creds": "eg=="})
        held.informer.cache.changed(secret("11"))
        assert [held.values(AWS, ("creds",)) for _ in range(2)] == [{"creds": "eg=="}] * 2
        assert len([path for _, path, query, _ in api.requests if not query]) == 2
    finally:
        held.informer.stop()


def test_other_lists_of_the_client_select_nothing(api: Any, client: KubeClient) -> None:
    api.lists = [api.listed()]
    client.selecting({"a": "b"}).list_page(SECRETS)
    client.list_page(SECRETS)
    assert [query.get("labelSelector") for query in api.queries(watch=False)] == ["a=b", None]


def test_a_running_manager_counts_and_stops(api: Any, client: KubeClient, until: Until) -> None:
    """All kinds are answered alike: what is listed is a config, and a usage, and a Secret with our mark."""
    kinds = ConfigKinds((_kind("ProviderConfig"),), _kind("ProviderConfigUsage"))
    config = secret("5", spec={})
    config["metadata"]["name"] = "ours"
    crds = [{"metadata": {"name": f"{k}.m.example.org", "uid": k, "resourceVersion": "5"}} for k in (
        "providerconfigs", "providerconfigusages",
    )]  # fmt: skip
    api.crds = api.listed(*crds)
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [config]})]
    path = "/apis/m.example.org/v1alpha1/namespaces/shop/providerconfigs/ours/status"
    api.others[f"PATCH {path}"] = 200, config | {"status": {"users": 0}}
    manager = Manager(client, SystemClock(), Settings(stop_seconds=5))
    manager.configs(kinds)
    manager.start()
    try:
        until(lambda: ("PATCH", path) in [request[:2] for request in list(api.requests)])
    finally:
        assert manager.stop()
    body = next(body for method, at, _, body in api.requests if (method, at) == ("PATCH", path))
    assert body == {"metadata": {"resourceVersion": "5"}, "status": {"users": 0}}


def _kind(kind: str) -> ResourceKind:
    return ResourceKind("m.example.org", "v1alpha1", kind, f"{kind.lower()}s", namespaced=True)


def reads(api: Any, held: HeldSecrets, name: str, content: str = "eA==") -> int:
    """How many requests it takes to read a Secret twice."""
    path = f"/api/v1/namespaces/shop/secrets/{name}"
    api.others[f"GET {path}"] = 200, {**secret("5", data={"creds": content}), "kind": "Secret"}
    before = len(api.requests)
    for _ in range(2):
        assert held.values(ObjectKey("shop", name), ("creds",)) == {"creds": content}
    return len(api.requests) - before


def test_contents_do_not_fill_the_memory(api: Any, client: KubeClient) -> None:
    """A Secret that is being deleted accepts no mark: nothing tells the provider when it is gone."""
    held = HeldSecrets(client, MARK, random.Random(1))
    held.MOST_READ = 3  # type: ignore[misc]
    assert [reads(api, held, f"s{number}") for number in range(6)] == [1] * 6
    assert len(held._read) == 3
    assert reads(api, held, "s5") == 0
    assert reads(api, held, "s0") == 1


def test_a_content_that_is_longer_than_credentials_are_is_read_each_time(
    api: Any, client: KubeClient
) -> None:
    held = HeldSecrets(client, MARK, random.Random(1))
    assert reads(api, held, "long", "e" * (held.LONGEST_READ + 1)) == 2
    assert len(held._read) == 0


def test_refusals_and_marks_are_forgotten_when_they_no_longer_count(api: Any, client: KubeClient) -> None:
    held = HeldSecrets(client, MARK, random.Random(1))
    held.REFUSED_SECONDS = 0.0  # type: ignore[misc]
    for number in range(4):
        path = f"/api/v1/namespaces/shop/secrets/s{number}"
        about = {"name": f"s{number}", "namespace": "shop", "uid": f"u{number}", "resourceVersion": "5"}
        api.others[f"GET {path}"] = 200, {"metadata": about}
        api.others[f"PATCH {path}"] = 422, {"code": 422, "reason": "Invalid", "message": "is being deleted"}
        held.hold(ObjectKey("shop", f"s{number}"))
    assert len(held._refused) == len(held._marks) == 1
