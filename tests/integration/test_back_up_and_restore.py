"""docs/how-to/back-up-and-restore.md, command by command: the claims of one cluster in another one, on the
same AWS account. Then the restore that the page warns of, with managed resources and their owner references.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import WorldError
from sandbox.manifests import CREDENTIALS, NAMESPACE
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import CACHE, ROOT
from tests.integration.reading import reader
from tests.integration.test_bad_claims import composition, patch
from tests.integration.test_guards import DEFAULT_CONFIG
from tests.integration.test_packages import get, reads, shell
from tests.integration.test_packages_on_v1 import changed_tags, in_aws, without_tags
from tests.integration.watching import Object, condition, is_true

PAGE = ROOT / "docs" / "how-to" / "back-up-and-restore.md"
FAST = 60
COMPOSED = "crossplane.io/composite"
DEDICATED = {"distributionId": "E1EDGETENANTS", "connection": {"dedicated": True}}
PLANS = {
    "apiVersion": "apiextensions.crossplane.io/v1beta1",
    "kind": "EnvironmentConfig",
    "metadata": {"name": "own", "labels": {"edgetenants.io/plans": "true"}},
    "data": {"plans": {"dedicated": DEDICATED}},
}
DIRECT = {
    "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
    "kind": "DistributionTenant",
    "metadata": {"name": "direct", "namespace": "shop"},
    "spec": {"forProvider": {"distributionId": "E1EDGETENANTS", "domains": ["direct.example.com"]}},
}
UNUSED = {
    "apiVersion": "m.edgetenants.io/v1alpha1",
    "kind": "ProviderConfig",
    "metadata": {"name": "unused", "namespace": "shop"},
    "spec": {"credentials": {"source": "Secret", "secretRef": {"name": "keys", "key": "credentials"}}},
}
NAMES = ("shared", "each", "dedicated")


@pytest.fixture(scope="module")
def old() -> Iterator[World]:
    """The cluster that is backed up, with a claim of each form. Its emulator is the AWS account of both."""
    running = up("old")
    try:
        with_plans(running)
        running.emulator.set_rate(FAST)
        claims = Claims(running, "shop")
        claims.apply(
            PLANS,
            DIRECT,
            UNUSED,
            claims.claim("shared", domains=["a.example.com", "b.example.com"], connectionSecretName="edge"),
            claims.claim("each", isolation="PerDomain", domains=["c.example.com", "d.example.com"]),
            claims.claim("dedicated", plan="dedicated"),
        )
        for name in NAMES:
            claims.wait_ready(name)
        claims.wait("direct to serve", lambda: is_true(claims.get("direct", "edt"), "Ready"))
        yield running
    finally:
        running.down()


@pytest.fixture(scope="module")
def new(old: World) -> Iterator[World]:
    """A cluster with Crossplane, the Composition and the function, but without any trace of a provider."""
    running = up("new")
    try:
        with_plans(running)
        running.emulator.set_rate(FAST)
        running.processes.stop("provider")
        running.kubectl("delete", DEFAULT_CONFIG, "default")
        running.kubectl("delete", "secret", CREDENTIALS, "-n", NAMESPACE)
        running.kubectl("delete", "configmaps", "--all", "-n", NAMESPACE)
        yield running
    finally:
        running.down()


def up(name: str) -> World:
    return World.up(name=f"{name}-{os.getpid()}", cache=CACHE, progress=lambda line: print(line, flush=True))


def with_plans(world: World) -> None:
    pipeline = composition(world)["spec"]["pipeline"]
    pipeline[0]["input"]["plansFrom"] = [
        {"environmentConfig": {"matchLabels": {"edgetenants.io/plans": "true"}}}
    ]
    patch(world, pipeline)


def follow(world: World, heading: str, folder: Path) -> None:
    """Run each command below a heading of the page."""
    body = PAGE.read_text().partition(f"\n{heading}\n")[2]
    found = re.findall(r"^\$ (.*)$", re.split(r"^#+ ", body, flags=re.MULTILINE)[0], re.MULTILINE)
    assert found, heading
    for command in found:
        shell(world, command, folder)


def test_restored_claims_manage_the_same_tenants_and_only_a_tag_changes(
    old: World, new: World, tmp_path: Path
) -> None:
    before, kept = in_aws(old), records(old)
    assert len(before) == 6
    follow(old, "## Move to another cluster", tmp_path)
    follow(old, "## Back up", tmp_path)
    old.emulator.reset_calls()

    follow(new, "### 1. The installation id, before the provider starts", tmp_path)
    # Instead of step 2: this sandbox has no packages, and runs the function already.
    new.processes.start("provider")
    follow(new, "### 3. Plans and provider configs, with writes frozen", tmp_path)
    follow(new, "### 4. Claims", tmp_path)
    follow(new, "### 5. Check", tmp_path)
    configs = get(new, f"{DEFAULT_CONFIG},providerconfigs.m.edgetenants.io", "-A")["items"]
    assert {each["metadata"]["name"]: each["spec"]["writes"] for each in configs} == {
        "default": "Frozen",
        "unused": "Frozen",
    }
    assert ids(new) == set(before)
    assert writes(old) == {}

    follow(new, "### 6. Allow writes", tmp_path)
    new.wait_for("the tags", lambda: in_sync(new))
    assert writes(old) == {"TagResource": 5}, "the sixth has no claim, and keeps its name"
    after = in_aws(old)
    assert without_tags(after) == without_tags(before)
    assert {tag for id_ in before for tag in changed_tags(before[id_], after[id_])} == {"crossplane-name"}
    new.wait_for("the records to count as held", lambda: records(new) == kept)
    assert get(new, "secret", "edge", "-n", "shop")["data"]["distributionTenantId"]

    for process in ("provider", "crossplane", "function"):
        old.processes.stop(process)
    Claims(new, "shop").patch("shared", {"parameters": {"tenantName": "later"}})
    new.wait_for("a change", lambda: writes(old).get("UpdateDistributionTenant"))


def test_the_backup_of_a_composed_resource_is_refused(new: World, tmp_path: Path) -> None:
    wrong = "mkdir backup; kubectl get edt -A -l crossplane.io/composite -o yaml > backup/wrong.yaml"
    shell(new, wrong, tmp_path)
    [clean] = re.findall(r"^\$ (sed .*)$", PAGE.read_text(), re.MULTILINE)
    shell(new, clean, tmp_path)
    with pytest.raises(WorldError, match=r'ownerReferences\[0\].*"uid"'):
        new.kubectl("create", "-f", str(tmp_path / "backup" / "wrong.yaml"))


def test_resources_with_the_owner_references_of_another_cluster_go_without_their_tenants(
    old: World, new: World, tmp_path: Path
) -> None:
    """Kubernetes deletes them. First writes are frozen; then the provider sees that a backup had them."""
    follow(new, "## Back up", tmp_path)
    copies = [copy(each, created=True) for each in managed(new, COMPOSED)]
    names = {each["metadata"]["name"] for each in copies}
    # An earlier test changed a tenant: CloudFront may still roll it out.
    rolled_out = lambda: all(each["Status"] == "Deployed" for each in in_aws(old).values())  # noqa: E731
    new.wait_for("the tenants to be rolled out", rolled_out)
    before = in_aws(old)
    lose(new)
    follow(new, "## Move to another cluster", tmp_path)
    old.emulator.reset_calls()

    new.kubectl("create", "-f", "-", input="\n---\n".join(map(json.dumps, copies)))
    # Before the claims: otherwise a new resource may find the tenant first, and the copy goes at once.
    waiting = lambda reason: {name for name, each in by_name(new).items() if held(each, reason)}  # noqa: E731
    new.wait_for("the deletions to be frozen", lambda: waiting("Frozen") == names)
    follow(new, "### 4. Claims", tmp_path)
    follow(new, "### 6. Allow writes", tmp_path)
    new.wait_for("the deletions to be held", lambda: waiting("DeletionHeld") == names)

    follow(new, "## Managed resources were restored with owner references", tmp_path)
    follow(new, "### 5. Check", tmp_path)
    new.wait_for("the tags", lambda: in_sync(new))
    assert not names & set(by_name(new))
    assert ids(new) == set(before)
    assert set(writes(old)) <= {"TagResource"}
    assert without_tags(in_aws(old)) == without_tags(before)


def test_at_last_a_deletion_that_nothing_holds_takes_the_tenants_along(
    old: World, new: World, tmp_path: Path
) -> None:
    """The copies do not say that their tenants are older, as these were found in an earlier restore."""
    follow(new, "## Back up", tmp_path)
    [lost] = [copy(each, created=False) for each in managed(new, f"{COMPOSED}=shared")]
    before = set(in_aws(old))
    lose(new)
    new.kubectl("create", "-f", "-", input=json.dumps(lost))
    new.wait_for("the tenant to go", lambda: len(in_aws(old)) == len(before) - 1)
    follow(new, "### 4. Claims", tmp_path)
    follow(new, "### 5. Check", tmp_path)
    [served] = [each for each in in_aws(old).values() if each["Name"] == "shop.shared"]
    assert served["Id"] not in before
    assert len(set(in_aws(old)) & before) == len(before) - 1


def managed(world: World, selector: str = "") -> list[Object]:
    read = reader(world.kubeconfig)
    return [each for kind in ("edt", "ecg") for each in read.items(kind, selector=selector)]


def by_name(world: World) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in managed(world)}


def ids(world: World) -> set[str]:
    return {each["status"]["atProvider"]["id"] for each in managed(world)}


def in_sync(world: World) -> bool:
    return all(is_true(each, "InSync") for each in managed(world))


def held(resource: Object, reason: str) -> bool:
    going = "deletionTimestamp" in resource["metadata"]
    return going and condition(resource, "Ready").get("reason") == reason


def writes(world: World) -> dict[str, int]:
    """The calls that changed something in AWS, by operation."""
    return {name: n for name, n in world.emulator.calls()["by_operation"].items() if not reads(name)}


def records(world: World) -> dict[str, str]:
    """The kept domains and names, each with what is recorded."""
    found = reader(world.kubeconfig).items("configmaps", NAMESPACE, "edgetenants.io/kept-domains=true")
    return {key: value for each in found for key, value in (each.get("data") or {}).items()}


def copy(resource: Object, *, created: bool) -> Object:
    """What a tool restores that keeps owner references and annotations. `created`: the resource had created
    its tenant, long before the backup. Else it had found it, as after an earlier restore."""
    metadata = {k: v for k, v in resource["metadata"].items() if k not in ("uid", "resourceVersion")}
    assert metadata["ownerReferences"]
    mark = {"crossplane.io/external-create-succeeded": "2020-01-01T00:00:00Z"} if created else {}
    return {**resource, "metadata": {**metadata, "annotations": {**metadata["annotations"], **mark}}}


def lose(world: World) -> None:
    """As if it were another cluster: all claims and managed resources are gone, and no process saw it."""
    kinds = "tenantclaims,edt,ecg"
    for process in ("provider", "crossplane"):
        world.processes.stop(process)
    world.kubectl("delete", kinds, "--all", "-n", "shop", "--wait=false")
    for name in world.kubectl("get", kinds, "-n", "shop", "-o", "name").split():
        bare = json.dumps({"metadata": {"finalizers": None}})
        # Kubernetes deletes what a claim that is gone controls, maybe before this.
        world.kubectl("patch", name, "-n", "shop", "--type=merge", "-p", bare, check=False)
    claims = lambda: reader(world.kubeconfig).items("tenantclaims", "shop")  # noqa: E731
    world.wait_for("them to go", lambda: not (claims() or managed(world)))
    for process in ("crossplane", "provider"):
        world.processes.start(process)
