"""`down` removes from a given cluster what `up` made there, and nothing else."""

import signal
import socket
from dataclasses import replace

import pytest

from sandbox import teardown
from sandbox.control import recorded
from sandbox.errors import WorldError
from sandbox.kubectl import KubernetesObject
from sandbox.state import ControlPlane, State
from sandbox.teardown import Removal, take_down
from tests.unit.sandbox.clusters import Cluster

XRD = "tenantclaims.platform.edgetenants.io"
MANAGED = "distributiontenants.cloudfront.m.edgetenants.io"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for name in ("_INSTANCES_WITHIN", "_OBJECTS_WITHIN", "_UNATTENDED_WITHIN"):
        monkeypatch.setattr(teardown, name, 0.0)


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def created(cluster):
    return (
        cluster.add("Namespace", "crossplane-system"),
        cluster.add("CustomResourceDefinition", MANAGED),
        cluster.add("CompositeResourceDefinition", XRD),
        cluster.add("Composition", "tenantclaims"),
    )


def given(created, **more):
    return State(
        "test", ControlPlane.GIVEN, {}, "/no/kubectl", cluster="theirs", created=tuple(created), **more
    )


def remove(cluster, state, *, attended=True):
    lines = []
    removal = Removal(cluster, state, lines.append, attended)
    removal.before_processes()
    cluster.journal.append("processes end")
    removal.after_processes()
    return lines


def test_what_up_made_goes_and_what_others_made_stays(cluster, created):
    others = [cluster.add("Namespace", "shop"), cluster.add("CustomResourceDefinition", "bears.a.io")]
    lines = remove(cluster, given(created, kept=("Namespace/kube-system",)))
    assert list(cluster.objects.values()) == others
    assert "deleted the 4 objects of up; kept: Namespace/kube-system" in lines[-1]


def test_a_namesake_that_somebody_else_made_stays(cluster, created):
    del cluster.objects["Composition", "", "tenantclaims"]
    theirs = cluster.add("Composition", "tenantclaims")
    remove(cluster, given(created))
    assert list(cluster.objects.values()) == [theirs]


def test_core_is_there_for_what_it_has_to_answer_for(cluster, created):
    """Definitions go while core runs, kinds after it has ended; the newest first."""
    remove(cluster, given(created))
    deletions = [line for line in cluster.journal if line.startswith(("delete", "processes"))]
    assert set(deletions[:2]) == {
        "delete Composition/tenantclaims",
        f"delete CompositeResourceDefinition/{XRD}",
    }
    assert deletions[2] == "processes end"
    assert sorted(deletions[3:]) == [
        f"delete CustomResourceDefinition/{MANAGED}",
        "delete Namespace/crossplane-system",
    ]


def test_instances_of_kinds_that_were_there_before_are_not_touched(cluster):
    """Claims go with `up`'s definition of them; where the definition was found, they are a user's."""
    cluster.add("CustomResourceDefinition", MANAGED)
    remove(cluster, given([cluster.add("Composition", "tenantclaims")]))
    assert not [line for line in cluster.journal if line.startswith("kubectl delete")]


def test_instances_of_our_kinds_go_first(cluster, created):
    remove(cluster, given(created))
    assert cluster.journal[0] == f"kubectl delete {MANAGED} --all"


def test_legacy_claims_and_their_composites_go_before_what_they_would_compose_again(cluster):
    group = "platform.edgetenants.io"
    created = [
        cluster.add("CustomResourceDefinition", MANAGED),
        cluster.add("CompositeResourceDefinition", f"xtenantclaims.{group}"),
    ]
    for name in ("tenantclaims", "xtenantclaims"):
        cluster.add("CustomResourceDefinition", f"{name}.{group}")  # made by core
    remove(cluster, given(created))
    assert cluster.journal[:2] == [
        f"kubectl delete tenantclaims.{group},xtenantclaims.{group} --all",
        f"kubectl delete {MANAGED} --all",
    ]


def test_what_does_not_go_is_named(cluster, created):
    cluster.stuck.add("crossplane-system")
    cluster.refuses_patches = True
    with pytest.raises(WorldError, match=r"not deleted yet: Namespace/crossplane-system"):
        remove(cluster, given(created))


@pytest.mark.parametrize("attended", [True, False])
def test_what_only_a_finalizer_holds_is_let_go(cluster, created, attended):
    cluster.stuck.add(XRD)
    lines = remove(cluster, given(created), attended=attended)
    assert f"removing the finalizers of CompositeResourceDefinition/{XRD}" in lines
    assert cluster.objects == {}


def test_an_api_server_that_does_not_answer_is_not_taken_for_an_empty_one(cluster, created, monkeypatch):
    def unreachable(_):
        raise WorldError("kubectl get: connection refused")

    monkeypatch.setattr(cluster, "existing", unreachable)
    with pytest.raises(WorldError, match="connection refused"):
        remove(cluster, given(created))


def test_a_kind_that_has_gone_took_its_objects_along(cluster, created, monkeypatch):
    everything = cluster.existing

    def existing(objects):
        if any(o["kind"] == "Composition" for o in objects):
            raise WorldError('no matches for kind "Composition" in version "v1"')
        return everything(objects)

    monkeypatch.setattr(cluster, "existing", existing)
    remove(cluster, given(created))
    assert cluster.objects == {}


def test_down_ends_processes_frees_ports_and_forgets(layout, processes, spec):
    processes.launch(spec("child"))
    child = processes.run("child").identity
    layout.save(State("test", ControlPlane.BUILT, {"apiserver": 1}, "kubectl"))
    lines = []
    take_down(layout, lines.append)
    assert not child.alive
    assert not layout.directory.exists()
    assert lines == ["sandbox test is down: its 1 processes have ended, its 1 ports are free"]


def test_down_of_nothing_is_no_error(layout):
    lines = []
    take_down(layout, lines.append)
    take_down(layout, lines.append)
    assert lines == ["sandbox test does not exist"] * 2


def test_a_port_that_is_still_in_use_is_named_and_the_sandbox_stays_recorded(layout, processes):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        layout.save(State("test", ControlPlane.BUILT, {"apiserver": port}, "kubectl"))
        with pytest.raises(WorldError, match=rf"still in use: {port} by pid"):
            take_down(layout, lambda _: None)
    assert layout.load() is not None


def test_a_cluster_that_does_not_answer_keeps_its_record_unless_forgotten(layout, processes):
    obj = KubernetesObject("v1", "Namespace", "", "crossplane-system", "uid")
    layout.save(replace(given([obj]), kubectl="/bin/false"))
    with pytest.raises(WorldError, match="kubectl"):
        take_down(layout, lambda _: None)
    assert layout.load().created == (obj,)
    take_down(layout, lambda _: None, forget_cluster=True)
    assert layout.load() is None


def test_a_supervisor_that_was_killed_does_not_hinder_down(layout, processes, spec):
    processes.launch(spec("child"))
    layout.save(State("test", ControlPlane.BUILT, {}, "kubectl"))
    known = recorded(layout.directory)
    known.supervisor.signal(signal.SIGKILL)
    take_down(layout, lambda _: None)
    assert not any(p.alive for p in known.everyone())
    assert not layout.directory.exists()
