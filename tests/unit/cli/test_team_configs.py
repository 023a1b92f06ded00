"""A platform engineer runs the command line on a ProviderConfig that a team wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.aws import NoConfig, Reach
from cli.documents import read_all
from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.account.sessions import Account
from provider.cloudfront.account.team_configs import RESTRICTIONS

SECRET = {"source": "Secret", "secretRef": {"name": "aws", "key": "credentials"}}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("spec.endpoint", {"credentials": SECRET, "endpoint": {"url": "http://evil.example.com"}}),
    ("spec.credentials.source", {"credentials": {"source": "InjectedIdentity"}}),
    ("spec.credentials.source", {"credentials": {"source": "Filesystem", "fs": {"path": "/etc/passwd"}}}),
    ("spec.credentials.source", {"credentials": {"source": "Environment", "env": {"name": "TOKEN"}}}),
    ("spec.webIdentity", {"credentials": SECRET, "webIdentity": {"tokenPath": "id_rsa"}}),
    ("spec.assumeRoleChain", {"credentials": {"source": "None"}, "assumeRoleChain": [{"roleArn": "r"}]}),
]


class Opened(Exception):  # noqa: N818 - it names what happened
    """The command line began to use the ProviderConfig."""


def reach(folder: Path, spec: dict[str, Any], *, namespace: str = "red", trusted: bool = False) -> Reach:
    """The accounts of a ProviderConfig in a file, without its Secret; none can be opened."""
    metadata = {"name": "evil", **({"namespace": namespace} if namespace else {})}
    kind = "ProviderConfig" if namespace else "ClusterProviderConfig"
    made = {"apiVersion": "m.edgetenants.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(made))
    found = Reach(read_all([file]), lambda _: None, trusted=trusted)
    found.accounts.of = opened  # type: ignore[method-assign]
    return found


def opened(_: object) -> Account:
    raise Opened


@pytest.mark.parametrize(("field", "spec"), REFUSED)
def test_a_teams_config_uses_neither_the_identity_nor_the_files_of_the_user(
    tmp_path: Path, field: str, spec: dict[str, Any]
) -> None:
    with pytest.raises(ExternalError, match=f"ProviderConfig red/evil: {field}"):
        reach(tmp_path, spec).only()


@pytest.mark.parametrize(("field", "spec"), REFUSED)
def test_what_is_refused_can_be_allowed(tmp_path: Path, field: str, spec: dict[str, Any]) -> None:
    with pytest.raises(Opened):
        reach(tmp_path, spec, trusted=True).only()


def test_the_users_identity_does_not_stand_in_for_a_teams_credentials(tmp_path: Path) -> None:
    with pytest.raises(NoConfig, match="do not contain the Secret of ProviderConfig red/evil"):
        reach(tmp_path, {"credentials": SECRET, "assumeRoleChain": [{"roleArn": "r"}]}).only()


def test_a_cluster_scoped_config_is_the_platforms_own(tmp_path: Path) -> None:
    own = {"credentials": {"source": "InjectedIdentity"}, "endpoint": {"url": "http://127.0.0.1:1"}}
    with pytest.raises(Opened):
        reach(tmp_path, own, namespace="").only()


def test_the_provider_refuses_the_same() -> None:
    assert (*RESTRICTIONS.fields, *RESTRICTIONS.begun_by_credentials) == (
        "endpoint",
        "webIdentity",
        "assumeRoleChain",
    )
