"""Credentials: where they come from, what is said when they cannot be used, when they are read again."""

import base64
import random
from pathlib import Path
from typing import Any

import pytest

from edgetenants_runtime.config.credentials import CredentialLoader
from edgetenants_runtime.config.held_secrets import HeldSecrets
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey, ProviderConfigKey

DEFAULT = ProviderConfigKey("ClusterProviderConfig", "default", "")
SELECTOR = {"source": "Secret", "secretRef": {"namespace": "sys", "name": "aws", "key": "creds"}}
OURS = {
    "metadata": {"name": "ours", "namespace": "shop", "uid": "uid-ours", "generation": 1},
    "spec": {"credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "creds"}}},
}


class Reads:
    """One Secret behind an API server, and how often it was read."""

    def __init__(self, data: dict[str, str] | None) -> None:
        self.data, self.count, self.error = data, 0, None

    error: KubeError | None

    def selecting(self, labels: object) -> "Reads":
        return self

    def get(self, kind: object, key: ObjectKey) -> dict[str, Any]:
        self.count += 1
        if self.error:
            raise self.error
        if self.data is None:
            raise KubeError(Operation("get", SECRETS), 500, "no answer") from None
        return {"metadata": {"name": key.name, "resourceVersion": "5"}, "data": self.data}


def loader(reads: Any, environment: dict[str, str] | None = None) -> CredentialLoader:
    return CredentialLoader(HeldSecrets(reads, "example.org/in-use", random.Random(1)), environment or {})


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def test_credentials_from_every_source(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"from file")
    having = loader(Reads({"creds": encoded(b"from secret")}), {"CREDS": "from environment"})
    sources: list[dict[str, Any]] = [
        {"source": "None"},
        {"source": "InjectedIdentity"},
        SELECTOR,
        {"source": "Environment", "env": {"name": "CREDS"}},
        {"source": "Filesystem", "fs": {"path": str(tmp_path / "c")}},
    ]
    assert [having.load(DEFAULT, source) for source in sources] == [
        None, None, b"from secret", b"from environment", b"from file",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        ({"source": "Secret"}, "spec.credentials.secretRef: name and namespace are required"),
        (
            {"source": "Environment", "env": {"name": "NO"}},
            "spec.credentials.env.name: the provider's process has no environment variable 'NO'",
        ),
        (
            {"source": "Environment", "env": {"name": "EMPTY"}},
            "spec.credentials.env.name: the provider's process has an empty environment variable",
        ),
        (
            {"source": "Filesystem", "fs": {"path": "/no/such"}},
            "spec.credentials.fs.path: /no/such: No such file",
        ),
        (
            {"source": "Filesystem", "fs": {"path": "/dev/null"}},
            "spec.credentials.fs.path: /dev/null: the file is empty",
        ),
    ],
)
def test_credentials_that_cannot_be_loaded(credentials: dict[str, Any], message: str) -> None:
    with pytest.raises(ExternalError, match="ClusterProviderConfig default: " + message):
        loader(Reads({}), {"EMPTY": " "}).load(DEFAULT, credentials)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"other": "eA=="}, ".key: Secret sys/aws has no key 'creds'"),
        ({"creds": ""}, ".key: Secret sys/aws has no value for 'creds'"),
        ({"creds": encoded(b" \n")}, ".key: Secret sys/aws has no value for 'creds'"),
        ({"creds": "no base64!"}, ".key: Secret sys/aws has invalid base64"),
    ],
)
def test_a_secret_that_cannot_be_used_is_read_again_at_once(data: dict[str, str], message: str) -> None:
    reads = Reads(data)
    having = loader(reads)
    with pytest.raises(ExternalError) as raised:
        having.load(DEFAULT, SELECTOR)
    assert raised.value.message == f"ClusterProviderConfig default: spec.credentials.secretRef{message}"
    reads.data = {"creds": encoded(b"x")}
    assert having.load(DEFAULT, SELECTOR) == b"x"


def test_an_unwatched_secret_is_read_once_a_minute() -> None:
    reads = Reads({"creds": encoded(b"x")})
    having = loader(reads)
    for _ in range(3):
        having.load(DEFAULT, SELECTOR)
    assert reads.count == 1
    having._secrets.UNWATCHED_SECONDS = 0.0  # type: ignore[misc]
    having.load(DEFAULT, SELECTOR)
    assert reads.count == 2


def test_refusals_name_the_field_and_an_api_server_in_trouble_is_no_fault_of_the_config() -> None:
    reads = Reads({})
    reads.error = Forbidden(Operation("get", SECRETS, name="aws", namespace="sys"), 403, "no")
    with pytest.raises(ExternalError, match=r"spec.credentials.secretRef: "):
        loader(reads).load(DEFAULT, SELECTOR)
    reads.error = KubeError(Operation("get", SECRETS), 503, "busy")
    with pytest.raises(KubeError):
        loader(reads).load(DEFAULT, SELECTOR)


def test_a_held_secret_is_read_again_when_it_changes_and_its_users_are_told(tree: Any) -> None:
    world = tree(OURS)
    world.put_secret()
    mr = world.use()
    world.look()
    world.told.clear()
    world.put_secret(creds=encoded(b"new"))
    world.look()
    assert world.told == ["ProviderConfig shop/ours"]
    assert world.resolve(mr).credentials == b"new"


def test_a_change_beside_the_credentials_is_no_news_for_their_users(tree: Any) -> None:
    world = tree(OURS)
    world.put_secret()
    mr = world.use()
    world.look()
    world.told.clear()
    world.put_secret(creds="QUtJQQ==", other="eA==")
    assert world.look() == []
    assert world.told == []
    assert world.resolve(mr).credentials == b"AKIA"


def test_new_credentials_that_a_reconcile_saw_first_are_told_all_the_same(tree: Any) -> None:
    world = tree(OURS)
    world.put_secret()
    mr = world.use()
    world.look()
    world.told.clear()
    world.put_secret(creds=encoded(b"new"))
    world.sync()
    assert world.resolve(mr).credentials == b"new"
    world.look()
    assert world.told == ["ProviderConfig shop/ours"]


def test_credentials_are_not_shown_nor_kept_beyond_what_was_asked_for(tree: Any) -> None:
    world = tree(OURS)
    world.put_secret(creds=encoded(b"AKIA"), other=encoded(b"of no concern"))
    resolved = world.resolve(world.mr())
    assert resolved.credentials == b"AKIA"
    assert "AKIA" not in repr(resolved)
    (known,) = world.secrets._read.values()
    assert list(known.values) == ["creds"]
    assert "data" not in world.secrets.informer.cache.get(ObjectKey("shop", "aws"))
