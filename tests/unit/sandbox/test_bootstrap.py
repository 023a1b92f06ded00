"""What is applied, what is left as it was found, and what is remembered of it."""

import threading

import pytest

from sandbox.bootstrap import Bootstrap
from sandbox.errors import WorldError
from sandbox.manifests import Package
from sandbox.state import ROOT, Crossplane
from tests.unit.sandbox.clusters import Cluster


@pytest.fixture
def crossplane_crds(tmp_path):
    folder = tmp_path / "crds"
    folder.mkdir()
    text = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: locks.pkg.crossplane.io}\n"
    )
    (folder / "pkg.crossplane.io_locks.yaml").write_text(text)
    return folder


@pytest.fixture
def remembered():
    return []


@pytest.fixture
def make(remembered):
    def bootstrap(cluster, *, foreign, crossplane=Crossplane.V2):
        package = Package.load(ROOT, crossplane, legacy=False)
        return Bootstrap(
            cluster, package, foreign=foreign, remember=lambda made, kept: remembered.append((made, kept))
        )

    return bootstrap


def test_in_a_given_cluster_what_exists_is_neither_changed_nor_remembered_as_ours(
    make, remembered, crossplane_crds
):
    cluster = Cluster()
    before = cluster.add("Namespace", "crossplane-system")
    lock = cluster.add("CustomResourceDefinition", "locks.pkg.crossplane.io")
    bootstrap = make(cluster, foreign=True)
    bootstrap.accounts()
    bootstrap.kinds(crossplane_crds, threading.Event())
    created, kept = remembered[-1]
    assert kept == ("Namespace/crossplane-system", "CustomResourceDefinition/locks.pkg.crossplane.io")
    assert not {before.uid, lock.uid} & {o.uid for o in created}
    assert not {
        "apply Namespace/crossplane-system",
        "apply CustomResourceDefinition/locks.pkg.crossplane.io",
    } & set(cluster.journal)
    assert {o.kind for o in created} == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
    }


def test_each_change_is_remembered_at_once(make, remembered):
    bootstrap = make(Cluster(), foreign=True)
    bootstrap.accounts()
    first = remembered[-1][0]
    bootstrap.composition()
    assert remembered[-1][0][: len(first)] == first
    assert [o.kind for o in remembered[-1][0][len(first) :]] == ["CompositeResourceDefinition", "Composition"]


def test_kinds_that_are_not_established_are_named(make, crossplane_crds, monkeypatch):
    monkeypatch.setattr("sandbox.bootstrap._ESTABLISHED_WITHIN", 0)
    cluster = Cluster()
    monkeypatch.setattr(cluster, "with_condition", lambda *_: frozenset({"locks.pkg.crossplane.io"}))
    with pytest.raises(WorldError, match=r"not established.*distributiontenants.cloudfront.m.edgetenants.io"):
        make(cluster, foreign=False).kinds(crossplane_crds, threading.Event())


@pytest.mark.parametrize(
    ("crossplane", "served"), [(Crossplane.V2, "Established"), (Crossplane.V1, "Offered")]
)
def test_claims_are_served_when_their_own_kind_is(make, monkeypatch, crossplane, served):
    cluster, asked = Cluster(), []
    names = frozenset({"tenantclaims.platform.edgetenants.io", "xtenantclaims.platform.edgetenants.io"})
    monkeypatch.setattr(cluster, "with_condition", lambda *what: asked.append(what) or names)
    make(cluster, foreign=False, crossplane=crossplane).claims_served(threading.Event())
    assert asked == [("xrd", served)]


def test_waiting_ends_when_nobody_waits_any_more(make, monkeypatch):
    cluster, abandon = Cluster(), threading.Event()
    abandon.set()
    with pytest.raises(WorldError, match="stopped waiting because another step failed"):
        make(cluster, foreign=False).claims_served(abandon)


def test_an_empty_folder_of_crossplanes_kinds_is_an_error(make, tmp_path):
    with pytest.raises(WorldError, match="does not contain Crossplane's CRDs"):
        make(Cluster(), foreign=False).kinds(tmp_path, threading.Event())
