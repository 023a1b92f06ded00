"""What the hostile tests' users may do is what Crossplane's RBAC manager renders for editors, and no more."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.manifests import NAMESPACE, Package
from sandbox.world import World
from tests.integration.conftest import CACHE
from tests.integration.hostile import CONFIGS, ROOT, USAGES, Teams, editors_rules
from tests.integration.watching import Object

REVISION = "rendered-for-a-test"
"""Another than the provider's: with it go the roles that were rendered for it."""
METRICS_PORT = 8080
"""Of the RBAC manager, which has no flag for it."""
KINDS = ["edt", "ecg", "tenantclaims", CONFIGS, USAGES, "secrets"]
BEYOND = [
    "clusterproviderconfigs.m.edgetenants.io",
    "compositions",
    "compositeresourcedefinitions",
    "environmentconfigs",
    "clusterroles",
    "customresourcedefinitions",
    "namespaces",
]
PACKAGE = Package.load(ROOT, legacy=False)
XRD = PACKAGE.xrd["metadata"]["name"]


def _revision() -> Object:
    """One of our provider, as the package manager would have made it."""
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "ProviderRevision",
        "metadata": {"name": REVISION},
        "spec": {
            "desiredState": "Active",
            "image": "sandbox.invalid/edgetenants/provider:v0",
            "revision": 1,
        },
    }


def _objects() -> list[Object]:
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return [{**kind, "name": crd["metadata"]["name"]} for crd in (*PACKAGE.crds, *PACKAGE.inactive)]


@pytest.fixture
def manager(world: World, tmp_path: Path) -> Iterator[None]:
    """The RBAC manager, with a revision of our provider. Core, whose package manager would look for the
    revision's image, rests."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", METRICS_PORT))
        except OSError:
            pytest.skip(
                f"the RBAC manager listens at port {METRICS_PORT} and nowhere else, and that is taken"
            )
    world.processes.stop("crossplane")
    world.kubectl("apply", "-f", "-", input=json.dumps(_revision()))
    refs = json.dumps({"status": {"objectRefs": _objects()}})
    world.kubectl("patch", "providerrevision", REVISION, "--subresource=status", "--type=merge", "-p", refs)
    environment = {**os.environ, "KUBECONFIG": str(world.kubeconfig)}
    with (tmp_path / "log").open("wb") as log:
        command = [str(CACHE / "bin" / "crossplane"), "rbac", "start"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=10)
            world.kubectl("delete", "providerrevision", REVISION, "--wait=false")
            world.processes.start("crossplane")


def test_editors_have_what_the_rbac_manager_renders(world: World, manager: None) -> None:
    names = [
        f"crossplane:provider:{REVISION}:aggregate-to-edit",
        f"crossplane:composite:{XRD}:aggregate-to-edit",
    ]

    def rendered() -> list[Object] | None:
        out = world.kubectl("get", "clusterrole", *names, "-o", "json", "--ignore-not-found")
        found = json.loads(out)["items"] if out.strip() else []
        return [rule for role in found for rule in role["rules"]] if len(found) == len(names) else None

    assert world.wait_for("both roles", rendered, seconds=60) == editors_rules(PACKAGE)


def test_editors_may_do_everything_in_their_namespace_and_nothing_beyond(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    assert [kind for kind in KINDS if not red.may("create", kind, red.namespace)] == []
    for kind in ("edt", "ecg", "tenantclaims", CONFIGS):
        assert red.may("patch", kind, red.namespace, subresource="status"), kind
    for verb in ("get", "list", "create", "delete"):
        assert [kind for kind in KINDS if red.may(verb, kind, blue.namespace)] == [], verb
        assert [kind for kind in KINDS if red.may(verb, kind, NAMESPACE)] == [], verb
    assert [kind for kind in (*KINDS, *BEYOND) if red.may("create", kind)] == []
    assert not red.may("get", "configmaps", NAMESPACE)
