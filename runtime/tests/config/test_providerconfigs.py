"""Provider configs: which is meant, what it may say, whose use is recorded."""

from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.errors import NotYet, RetryMode
from edgetenants_runtime.kube.errors import Forbidden, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.testing import toy

OURS = {"kind": "ProviderConfig", "name": "ours"}
SECRET = {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "creds"}}}
USAGE = ObjectKey("shop", "uid-acme")


def config(
    spec: dict[str, Any] | None = None, *, name: str = "default", namespace: str = "", **metadata: Any
) -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": 3} | where | metadata,
        "spec": spec or {"credentials": {"source": "None"}},
    }


def ours(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return config(spec, name="ours", namespace="shop", **metadata)


def test_a_config_is_held_its_use_recorded_and_then_nothing_is_written(tree: Any) -> None:
    world = tree(config())
    mr = Managed(toy())
    resolved = world.resolve(mr)
    world.resolve(mr)
    world.restart()
    world.resolve(mr)
    assert (str(resolved.key), resolved.generation, resolved.source, resolved.credentials) == (
        "ClusterProviderConfig default", 3, "None", None,
    )  # fmt: skip
    assert world.journal == [
        "patch ClusterProviderConfig default",
        "create ProviderConfigUsage shop/uid-acme",
    ]
    assert world.finalizers("default", "") == ["in-use.crossplane.io"]
    usage = world.objects.get(tree.USAGE, USAGE)
    assert usage["providerConfigRef"] == {"kind": "ClusterProviderConfig", "name": "default"}
    assert usage["resourceRef"] == {
        "apiVersion": "toys.m.example.org/v1alpha1", "kind": "Toy", "name": "acme", "uid": "uid-acme",
    }  # fmt: skip
    assert usage["metadata"]["labels"] == {
        "crossplane.io/provider-config": "default",
        "crossplane.io/provider-config-kind": "ClusterProviderConfig",
    }
    (owner,) = usage["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == ("uid-acme", True, True)


def test_a_config_is_looked_at_without_a_trace(tree: Any) -> None:
    """Its credentials are not read: here they do not exist."""
    world = tree(ours(SECRET))
    stored = world.configs.stored(world.mr())
    assert stored is not None
    assert stored["metadata"]["uid"] == "uid-ours"
    assert world.journal == []


@pytest.mark.parametrize("ref", [{"kind": "ProviderConfig", "name": "x"}, {"kind": "Secret", "name": "ours"}])
def test_a_config_that_does_not_exist_is_none(tree: Any, ref: dict[str, str]) -> None:
    world = tree(ours())
    assert world.configs.stored(Managed(toy(providerConfigRef=ref))) is None


def test_the_configs_that_all_namespaces_can_use(tree: Any) -> None:
    world = tree(config(), ours(), config(name="second"))
    found = {each["metadata"]["name"] for each in world.configs.cluster_scoped()}
    assert found == {"default", "second"}


def test_the_secret_is_held_before_its_first_user_is_recorded(tree: Any) -> None:
    world = tree(ours(SECRET))
    world.put_secret()
    assert world.resolve(world.mr()).credentials == b"AKIA"
    assert world.journal == [
        "patch ProviderConfig shop/ours",
        "patch Secret shop/aws",
        "create ProviderConfigUsage shop/uid-acme",
    ]
    assert world.marked()


def test_a_usage_from_before_a_restart_is_kept_and_follows_the_reference(tree: Any) -> None:
    world = tree(config(), config(name="other"))
    world.resolve(Managed(toy()))
    world.restart()
    del world.journal[:]
    world.resolve(Managed(toy(providerConfigRef={"name": "other"})))
    assert world.journal == ["patch ClusterProviderConfig other", "patch ProviderConfigUsage shop/uid-acme"]
    usage = world.objects.get(tree.USAGE, USAGE)
    assert usage["providerConfigRef"]["name"] == "other"
    assert usage["metadata"]["labels"][names.LABEL_PROVIDER_CONFIG] == "other"


def test_a_usage_that_the_informer_has_not_seen_is_not_made_twice(tree: Any) -> None:
    world = tree(config(), config(name="other"))
    world.resolve(Managed(toy()))
    world.restart()
    world.configs.informers[2].cache.deleted(world.objects.get(tree.USAGE, USAGE))
    del world.journal[:]
    world.resolve(Managed(toy()))
    assert world.journal == ["create ProviderConfigUsage shop/uid-acme"]


def test_a_usage_that_lost_its_owner_gets_it_back(tree: Any) -> None:
    world = tree(config())
    world.resolve(Managed(toy()))
    world.objects.patch(tree.USAGE, USAGE, {"metadata": {"ownerReferences": None}})
    world.sync()
    del world.journal[:]
    world.resolve(Managed(toy()))
    assert world.journal == ["patch ProviderConfigUsage shop/uid-acme"]
    (owner,) = world.objects.get(tree.USAGE, USAGE)["metadata"]["ownerReferences"]
    assert owner["uid"] == "uid-acme"


def test_a_resource_that_is_deleted_gets_no_new_usage(tree: Any) -> None:
    world = tree(config())
    world.resolve(Managed(toy(deleted=True)))
    assert world.journal == []


def test_a_config_that_is_deleted_takes_no_new_resources_and_keeps_those_it_has(tree: Any) -> None:
    world = tree(ours(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["in-use.crossplane.io"]))
    error = world.refusal(world.mr(finalizers=[]))
    assert error.message == (
        "spec.providerConfigRef: ProviderConfig shop/ours is being deleted and accepts no new resources; "
        "use another one, or apply a copy under another name and point its users to the copy"
    )
    assert world.journal == []
    world.resolve(world.mr())
    assert world.journal == ["create ProviderConfigUsage shop/uid-acme"]


def test_a_second_config_is_recorded_beside_the_first_and_let_go(tree: Any) -> None:
    world = tree(ours(), ours() | {"metadata": ours()["metadata"] | {"name": "dns", "uid": "uid-dns"}})
    dns = {"kind": "ProviderConfig", "name": "dns"}
    mr = world.mr(forProvider={"dns": dns})
    world.resolve(mr)
    assert str(world.resolve(mr, tree.SECOND).key) == "ProviderConfig shop/dns"
    assert world.journal[-1] == "create ProviderConfigUsage shop/uid-acme-dns"
    second = ObjectKey("shop", "uid-acme-dns")
    assert world.objects.get(tree.USAGE, second)["providerConfigRef"] == dns

    plain = world.mr(forProvider={"size": 1})
    world.resolve(plain)
    world.resolve(plain)
    # No right to delete it: it names the first from now on.
    assert world.journal[-1] == "patch ProviderConfigUsage shop/uid-acme-dns"
    assert world.objects.get(tree.USAGE, second)["providerConfigRef"] == OURS
    error = world.refusal(plain, tree.SECOND)
    assert error.message == "spec.forProvider.dns.configRef: expected a provider config, got none"


def test_messages_of_a_second_config_name_its_field(tree: Any) -> None:
    dns = {"kind": "ProviderConfig", "name": "no"}
    error = tree(ours()).refusal(Managed(toy(forProvider={"dns": dns})), tree.SECOND)
    assert error.message.startswith("spec.forProvider.dns.configRef: ProviderConfig shop/no does not exist")


def test_a_missing_config_is_named_and_waited_for_without_back_off(tree: Any) -> None:
    error = tree().refusal(Managed(toy(providerConfigRef=OURS)))
    assert error.message == (
        "spec.providerConfigRef: ProviderConfig shop/ours does not exist; create it or use another one"
    )
    assert error.retry.mode is RetryMode.POLL


def test_an_unknown_kind_is_named(tree: Any) -> None:
    error = tree().refusal(Managed(toy(providerConfigRef={"kind": "StoreConfig", "name": "x"})))
    assert (
        "spec.providerConfigRef.kind: expected one of ClusterProviderConfig, ProviderConfig, got StoreConfig"
        in error.message
    )


def test_configs_that_have_not_been_read_are_no_error_and_refused_ones_are(tree: Any) -> None:
    world = tree()
    clusters = world.configs.informers[1]
    clusters._synced.clear()
    with pytest.raises(NotYet) as waits:
        world.resolve(Managed(toy()))
    assert waits.value.quiet, "each resource would get an event after each start"
    clusters._problem = "forbidden"
    assert "cannot be read: forbidden" in world.refusal(Managed(toy())).message


INJECTED = {"credentials": {"source": "InjectedIdentity"}}
NONE = {"credentials": {"source": "None"}}
OF_OTHERS = {
    "credentials": {"source": "Secret", "secretRef": {"namespace": "other", "name": "s", "key": "k"}}
}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (INJECTED, "spec.credentials.source"),
        ({"credentials": {"source": "Filesystem", "fs": {"path": "/x"}}}, "spec.credentials.source"),
        ({"credentials": {"source": "Environment", "env": {"name": "X"}}}, "spec.credentials.source"),
        (OF_OTHERS, "spec.credentials.secretRef.namespace"),
        (NONE | {"endpoint": {"url": "https://x"}}, "spec.endpoint"),
        (SECRET | {"endpoint": {"url": "https://x"}}, "spec.endpoint"),
        (NONE | {"roles": [{}]}, "spec.roles"),
        ({"roles": [{}]}, "spec.roles"),
    ],
)
def test_a_namespaced_config_does_not_reach_beyond_its_namespace(
    tree: Any, spec: dict[str, Any], field: str
) -> None:
    world = tree(ours(spec))
    error = world.refusal(world.mr())
    assert error.message.startswith(f"ProviderConfig shop/ours: {field}: ")
    assert error.retry.mode is RetryMode.POLL
    assert world.journal == []


@pytest.mark.parametrize("spec", [NONE, SECRET, SECRET | {"roles": [{}]}])
def test_a_namespaced_config_may_say_what_is_its_own(tree: Any, spec: dict[str, Any]) -> None:
    world = tree(ours(spec))
    world.put_secret()
    assert world.resolve(world.mr()).spec == spec


def test_a_cluster_scoped_config_may_say_everything(tree: Any) -> None:
    spec = INJECTED | {"roles": [{}], "endpoint": {"url": "https://x"}}
    assert tree(config(spec)).resolve(Managed(toy())).spec == spec


def test_the_restriction_can_be_lifted(tree: Any) -> None:
    spec = INJECTED | {"endpoint": {"url": "https://x"}, "roles": [{}]}
    world = tree(ours(spec), allow_namespaced_identity=True)
    assert world.resolve(world.mr()).source == "InjectedIdentity"


def test_users_are_told_of_configs_that_appear_change_or_go(tree: Any) -> None:
    world = tree()
    for change in ({}, {"labels": {"a": "b"}}, {"generation": 4}):
        world.put_config(ours(**change))
        world.sync()
    world.objects.delete(tree.NAMESPACED, ObjectKey("shop", "ours"))
    world.sync()
    assert world.told == ["ProviderConfig shop/ours"] * 3


def test_a_secret_that_may_not_be_written_is_used_all_the_same(tree: Any) -> None:
    world = tree(ours(SECRET))
    world.put_secret()
    refused = Forbidden(Operation("patch", SECRETS), 403, "no")
    world.objects.failing["patch Secret"] = [refused] * 9
    for _ in range(5):
        assert world.resolve(world.mr()).credentials == b"AKIA"
    tried = 9 - len(world.objects.failing["patch Secret"])
    assert tried == 1, "a refusal is not repeated at every reconcile"
    assert not world.marked()
    assert world.finalizers() == ["in-use.crossplane.io"]


def test_a_secret_that_vanishes_meanwhile_stops_nobody_before_it_is_read_again(tree: Any) -> None:
    world = tree(ours(SECRET))
    world.put_secret()
    world.use()
    assert world.secret() is not None
    world.objects.delete(SECRETS, ObjectKey("shop", "aws"))
    world.sync()
    assert world.secret() is not None, "it is held"
    assert world.resolve(world.mr("other")).credentials == b"AKIA"
