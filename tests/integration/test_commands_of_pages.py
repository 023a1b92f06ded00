"""The commands of kubectl on the pages run as they stand there, with names for their placeholders. Commands
that write are dry runs on the server."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.unit.docs.pages import COMMANDS, ROOT

ELSEWHERE = {
    "get pods": "a sandbox has no pods",
    "logs": "a sandbox has no pods",
    "port-forward": "a sandbox has no pods",
    "delete configuration.pkg.crossplane.io": "a sandbox has no packages",
    "delete provider.pkg.crossplane.io": "a sandbox has no packages",
    "apply -f examples/install/": "test_packages.py",
    "apply -f tenant.yaml": "test_packages.py",
    "apply -f -": "test_packages.py",
    "delete -f examples/install/protect-packages.yaml": "test_packages.py",
    "wait --for=condition=Healthy": "test_packages.py",
    "create secret generic aws-credentials -n crossplane-system --from-file=credentials=": "test_packages.py",
    "apply -f tenants/": "tests/contract/test_import.py writes and checks the files",
    "apply -f examples/legacy-claim": "test_legacy_claims.py and test_crossplane_v1.py",
    "apply -f examples/provider/provider-config.yaml": "test_legacy_packages.py and test_packages_on_v1.py",
    "get ledt,lecg": "test_packages_on_v1.py follows docs/migrate-v1-to-v2.md",
    "wait --for=delete": "test_packages_on_v1.py",
    "wait --for=condition=Established": "test_packages_on_v1.py",
    "wait --for=condition=Ready": "test_packages_on_v1.py",
    "delete tenantclaims --all": "test_packages_on_v1.py",
    "delete managedresourceactivationpolicy": "test_packages_on_v1.py",
    "delete providerconfigs.edgetenants.io": "test_packages_on_v1.py",
    "get tenantclaims,xtenantclaims,ledt": "test_crossplane_v1.py",
    "create namespace shop": "test_examples.py applies it",
    "create -f backup/": "test_back_up_and_restore.py follows docs/how-to/back-up-and-restore.md",
    "apply -f crd.yaml": "test_write_a_provider.py",
    "apply -f train.yaml": "test_write_a_provider.py",
    "wait toy/train": "test_write_a_provider.py",
    "delete toy train": "test_write_a_provider.py",
}
"""The beginnings of commands that cannot run here, with the reason or the test that runs them."""
WRITES = ("annotate", "apply", "create", "delete", "patch")
RUN = list(
    dict.fromkeys(
        each.text
        for each in COMMANDS
        if each.program == "kubectl" and not shlex.join(each.words).startswith(tuple(ELSEWHERE))
    )
)


@pytest.fixture(scope="module")
def names(world: World) -> Iterator[dict[str, str]]:
    """What the placeholders stand for: the claim acme in namespace shop, and what it became."""
    claims = Claims(world, "shop")
    claims.apply(claims.claim("acme"))
    claims.wait_ready("acme")
    tenant = claims.managed("acme")["metadata"]["name"]
    world.kubectl("apply", "-f", str(ROOT / "package" / "crds-sources"))
    world.kubectl("wait", "crd/tenantsources.platform.edgetenants.io", "--for=condition=Established")
    world.kubectl("apply", "-f", str(ROOT / "examples" / "sources" / "configmap"))
    world.kubectl("create", "configmap", "edgetenants-domains-50", "-n", "crossplane-system", check=False)
    yield {"NAME": tenant, "NEW": tenant, "OLD": tenant, "NS": "shop", "CLAIM": "acme", "sales": "shop"}
    claims.delete_all()


@pytest.mark.parametrize("text", RUN, ids=lambda text: text[:70])
def test_a_command_runs(
    world: World, names: dict[str, str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, verb, *rest = [names.get(word, word) for word in shlex.split(text)]
    if "tenantclaim" in rest and "acme" not in rest:
        rest = ["acme" if word == names["NAME"] else word for word in rest]
    monkeypatch.chdir(ROOT)
    for file in ("credentials", "ca.crt"):
        if f"--from-file={file}" in rest:
            monkeypatch.chdir(tmp_path)
            (tmp_path / file).write_text("[default]\n")
    world.kubectl(verb, *rest, *(["--dry-run=server"] if verb in WRITES else []))


def test_each_exception_is_on_a_page() -> None:
    shown = [shlex.join(each.words) for each in COMMANDS if each.program == "kubectl"]
    assert [each for each in ELSEWHERE if not any(text.startswith(each) for text in shown)] == []
