"""Which control plane is used, and which is refused."""

import json

import pytest

from sandbox.choice import Choice, Options, choose, notices, refuse_unsafe
from sandbox.errors import Refused, WorldError
from sandbox.state import ControlPlane


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"kind": "Config", "contexts": [{"name": "kind-dev"}, {"name": "prod"}]}))
    return path


@pytest.fixture
def assets(tmp_path):
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / name).touch(mode=0o755)
    return folder


class FakeKubectl:
    """A cluster that has the given things."""

    def __init__(self, *has):
        self.has = set(has)

    def run(self, *args, **_):
        return "{}"

    def exists(self, *what):
        return " ".join(what) in self.has


def test_a_cluster_that_is_named_comes_first(file, assets):
    environ = {"KUBEBUILDER_ASSETS": str(assets), "KUBECONFIG": "/elsewhere"}
    choice = choose(Options(kubeconfig=file, context="kind-dev"), environ)
    assert choice == Choice(ControlPlane.GIVEN, file, "kind-dev")
    assert "kind-dev" in choice.says


def test_then_envtests_binaries_and_else_one_is_built(assets):
    assert choose(Options(), {"KUBEBUILDER_ASSETS": str(assets)}).kind is ControlPlane.ENVTEST
    built = choose(Options(), {"KUBECONFIG": "/home/me/.kube/config"})
    assert built.kind is ControlPlane.BUILT
    assert "built from the published Kubernetes libraries" in built.says


def test_the_environments_kubeconfig_is_ignored_with_a_notice():
    [notice] = notices({"KUBECONFIG": "/home/me/.kube/config"})
    assert "/home/me/.kube/config" in notice
    assert "ignoring" in notice
    assert notices({}) == ()


BAD = {
    "an unknown context": (
        {"context": "staging"},
        r"context 'staging' not found; contexts in .*: kind-dev, prod",
    ),
    "no context": ({}, r"requires --context NAME.*contexts in .*: kind-dev, prod"),
    "nothing to start": (
        {"context": "prod", "control_plane_only": True},
        "cannot be combined with --kubeconfig",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_half_a_choice_says_what_is_missing(file, case):
    options, words = BAD[case]
    with pytest.raises(WorldError, match=words):
        choose(Options(kubeconfig=file, **options), {})


def test_a_context_without_a_file_does_not_fall_back_to_the_environment(file):
    with pytest.raises(WorldError, match="requires --kubeconfig"):
        choose(Options(context="prod"), {"KUBECONFIG": str(file)})


def test_owning_no_cluster_is_an_error():
    with pytest.raises(WorldError, match="--i-own-this-cluster requires"):
        choose(Options(i_own_this_cluster=True), {})


def test_assets_that_are_not_there_are_named(assets):
    (assets / "etcd").unlink()
    with pytest.raises(WorldError, match=r"does not contain etcd"):
        choose(Options(), {"KUBEBUILDER_ASSETS": str(assets)})


CROSSPLANE = (
    "crd compositeresourcedefinitions.apiextensions.crossplane.io",
    "deployments -A -l app=crossplane",
    "deployment crossplane -n crossplane-system",
)
OURS = "distributiontenants.cloudfront.m.edgetenants.io"


def test_an_empty_cluster_is_used():
    refuse_unsafe(FakeKubectl(), owned=False)


@pytest.mark.parametrize("sign", CROSSPLANE)
def test_where_crossplane_is_one_must_own_the_cluster(sign):
    with pytest.raises(Refused, match="--i-own-this-cluster"):
        refuse_unsafe(FakeKubectl(sign), owned=False)
    refuse_unsafe(FakeKubectl(sign), owned=True)


def test_where_our_resources_live_even_its_owner_is_refused():
    refuse_unsafe(FakeKubectl(f"crd {OURS}"), owned=True)
    with pytest.raises(Refused, match="would act on them"):
        refuse_unsafe(FakeKubectl(f"crd {OURS}", f"{OURS} -A"), owned=True)
