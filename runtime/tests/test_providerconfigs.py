"""Provider configs: which is meant, what it may say, whose use is recorded, where credentials come from."""

import base64
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from edgetenants_runtime.errors import ExternalError, NotYet, RetryMode
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.providerconfigs import ConfigKinds, ProviderConfigs
from edgetenants_runtime.testing import FakeObjects, Journal, toy

G = "m.example.org"
NAMESPACED = ResourceKind(G, "v1alpha1", "ProviderConfig", "providerconfigs", namespaced=True)
CLUSTER = ResourceKind(G, "v1alpha1", "ClusterProviderConfig", "clusterproviderconfigs", namespaced=False)
USAGE = ResourceKind(G, "v1alpha1", "ProviderConfigUsage", "providerconfigusages", namespaced=True)
OURS = {"kind": "ProviderConfig", "name": "ours"}


class Setting:
    """Provider configs over a fake API server."""

    def __init__(self, *, configs: list[dict[str, Any]] = (), **options: Any) -> None:  # type: ignore[assignment]
        self.log = Journal()
        self.objects = FakeObjects(self.log)
        kinds = ConfigKinds((NAMESPACED, CLUSTER), USAGE, ("endpoint",))
        self.configs = ProviderConfigs(self.objects, kinds, random.Random(1), **options)  # type: ignore[arg-type]
        for informer in self.configs.informers:
            informer._synced.set()
        for config in configs:
            self.put(config)

    def put(self, config: dict[str, Any]) -> None:
        index = 0 if config["metadata"].get("namespace") else 1
        self.configs.informers[index].cache.changed(config)


def config(
    spec: Mapping[str, Any] | None = None, *, name: str = "default", namespace: str = ""
) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", "generation": 3, "resourceVersion": "4"}
    return {"metadata": metadata | ({"namespace": namespace} if namespace else {}), "spec": spec or {}}


def refusal(setting: Setting, **spec: Any) -> ExternalError:
    with pytest.raises(ExternalError) as raised:
        setting.configs.resolve(Managed(toy(**spec)))
    return raised.value


def test_a_config_is_resolved_and_its_use_recorded_once() -> None:
    setting = Setting(configs=[config({"credentials": {"source": "None"}})])
    mr = Managed(toy())
    resolved = setting.configs.resolve(mr)
    setting.configs.resolve(mr)
    assert (str(resolved.key), resolved.generation, resolved.source, resolved.credentials) == (
        "ClusterProviderConfig default", 3, "None", None,
    )  # fmt: skip
    assert setting.log.entries == ["create ProviderConfigUsage shop/uid-acme"]
    usage = setting.objects.get(USAGE, ObjectKey("shop", "uid-acme"))
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


def test_a_usage_from_before_a_restart_is_kept_and_follows_the_reference() -> None:
    setting = Setting(configs=[config(), config(name="other")])
    setting.objects.put(
        USAGE, {"metadata": {"name": "uid-acme", "namespace": "shop"}, "providerConfigRef": {"name": "x"}}
    )
    setting.configs.resolve(Managed(toy(providerConfigRef={"name": "other"})))
    assert setting.log.entries == [
        "create ProviderConfigUsage shop/uid-acme",
        "patch ProviderConfigUsage shop/uid-acme",
    ]


def test_a_resource_that_is_deleted_gets_no_new_usage() -> None:
    setting = Setting(configs=[config()])
    setting.configs.resolve(Managed(toy(deleted=True)))
    assert setting.log.entries == []


def test_a_missing_config_is_named_and_waited_for_without_back_off() -> None:
    error = refusal(Setting(), providerConfigRef=OURS)
    assert error.message == (
        "spec.providerConfigRef: ProviderConfig shop/ours does not exist; create it or name another one"
    )
    assert error.retry.mode is RetryMode.POLL


def test_an_unknown_kind_is_named() -> None:
    error = refusal(Setting(), providerConfigRef={"kind": "StoreConfig", "name": "x"})
    assert (
        "spec.providerConfigRef.kind: StoreConfig is none of ClusterProviderConfig, ProviderConfig"
        in error.message
    )


def test_configs_that_have_not_been_read_are_no_error_and_refused_ones_are() -> None:
    setting = Setting()
    clusters = setting.configs.informers[1]
    clusters._synced.clear()
    with pytest.raises(NotYet):
        setting.configs.resolve(Managed(toy()))
    clusters._problem = "forbidden"
    assert "cannot be read: forbidden" in refusal(setting).message


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"credentials": {"source": "InjectedIdentity"}}, "spec.credentials.source"),
        ({"credentials": {"source": "Filesystem", "fs": {"path": "/x"}}}, "spec.credentials.source"),
        ({"credentials": {"source": "Environment", "env": {"name": "X"}}}, "spec.credentials.source"),
        (
            {
                "credentials": {
                    "source": "Secret",
                    "secretRef": {"namespace": "other", "name": "s", "key": "k"},
                }
            },
            "spec.credentials.secretRef.namespace",
        ),
        ({"credentials": {"source": "None"}, "endpoint": {"url": "https://x"}}, "spec.endpoint"),
    ],
)
def test_a_namespaced_config_does_not_reach_beyond_its_namespace(spec: dict[str, Any], field: str) -> None:
    setting = Setting(configs=[config(spec, name="ours", namespace="shop")])
    assert f"ProviderConfig shop/ours: {field}: " in refusal(setting, providerConfigRef=OURS).message
    assert setting.log.entries == []


def test_the_restriction_can_be_lifted() -> None:
    spec = {"credentials": {"source": "InjectedIdentity"}, "endpoint": {"url": "https://x"}}
    setting = Setting(configs=[config(spec, name="ours", namespace="shop")], allow_namespaced_identity=True)
    assert setting.configs.resolve(Managed(toy(providerConfigRef=OURS))).source == "InjectedIdentity"


def test_users_are_told_of_configs_that_appear_change_or_go() -> None:
    setting = Setting()
    told: list[str] = []
    setting.configs.on_change(lambda key: told.append(str(key)))
    informer = setting.configs.informers[0]
    created, changed = config(name="ours", namespace="shop"), config(name="ours", namespace="shop")
    changed["metadata"] |= {"generation": 4, "resourceVersion": "9"}
    touched = config(name="ours", namespace="shop")
    touched["metadata"] |= {"resourceVersion": "5"}
    for obj in (created, touched, changed):
        change = informer.cache.changed(obj)
        assert change is not None
        informer._tell(change)
    gone = informer.cache.deleted(changed)
    assert gone is not None
    informer._tell(gone)
    assert told == ["ProviderConfig shop/ours"] * 3


# Credentials.

DEFAULT = ProviderConfigKey("ClusterProviderConfig", "default", "")
SELECTOR = {"source": "Secret", "secretRef": {"namespace": "sys", "name": "aws", "key": "creds"}}


def secret(**data: bytes) -> dict[str, Any]:
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    return {"metadata": {"name": "aws", "namespace": "sys"}, "data": encoded}


def test_credentials_from_every_source(tmp_path: Path) -> None:
    objects = FakeObjects(Journal())
    objects.put(SECRETS, secret(creds=b"from secret"))
    (tmp_path / "c").write_bytes(b"from file")
    loader = CredentialLoader(objects, {"CREDS": "from environment"})
    sources: list[dict[str, Any]] = [
        {"source": "None"},
        {"source": "InjectedIdentity"},
        SELECTOR,
        {"source": "Environment", "env": {"name": "CREDS"}},
        {"source": "Filesystem", "fs": {"path": str(tmp_path / "c")}},
    ]
    assert [loader.load(DEFAULT, source) for source in sources] == [
        None, None, b"from secret", b"from environment", b"from file",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        (SELECTOR, "spec.credentials.secretRef: Secret sys/aws does not exist"),
        ({"source": "Secret"}, "spec.credentials.secretRef: name and namespace are needed"),
        (
            {"source": "Environment", "env": {"name": "NO"}},
            "spec.credentials.env: the provider's process has no",
        ),
        ({"source": "Filesystem", "fs": {"path": "/no/such"}}, "spec.credentials.fs: /no/such: No such file"),
    ],
)
def test_credentials_that_cannot_be_loaded(credentials: dict[str, Any], message: str) -> None:
    with pytest.raises(ExternalError, match="ClusterProviderConfig default: " + message):
        CredentialLoader(FakeObjects(Journal()), {}).load(DEFAULT, credentials)


def test_a_key_that_is_added_later_is_found_at_once() -> None:
    objects = FakeObjects(Journal())
    objects.put(SECRETS, secret(other=b"x"))
    loader = CredentialLoader(objects, {})
    with pytest.raises(ExternalError, match="Secret sys/aws has no key 'creds'"):
        loader.load(DEFAULT, SELECTOR)
    objects.put(SECRETS, secret(creds=b"x"))
    assert loader.load(DEFAULT, SELECTOR) == b"x"


def test_credentials_are_not_shown() -> None:
    setting = Setting(configs=[config(SELECTOR | {"credentials": SELECTOR})])
    setting.objects.put(SECRETS, secret(creds=b"AKIA"))
    resolved = setting.configs.resolve(Managed(toy()))
    assert resolved.credentials == b"AKIA"
    assert "AKIA" not in repr(resolved)
