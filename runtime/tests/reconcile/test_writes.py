"""What becomes of each write to a managed resource: whom it may hit, who sees it, when it is repeated."""

from datetime import UTC, datetime
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import SystemClock
from edgetenants_runtime.external import Observation
from edgetenants_runtime.kube.cache import Cache, ChangeType, ObjectChange
from edgetenants_runtime.kube.errors import Conflict, NotFound, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.manager import Manager
from edgetenants_runtime.reconcile.collaborators import Collaborators, Pace
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.reconciler import Reconciler
from edgetenants_runtime.reconcile.steps import Next
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.testing import TOYS, FakeObjects, FakeRecorder, Journal, World, toy

SETTLED = {"finalizers": [names.FINALIZER], "annotations": {names.EXTERNAL_NAME: "acme"}}


def writer() -> tuple[ManagedWriter, FakeObjects, Cache, Managed]:
    objects, cache = FakeObjects(Journal()), Cache()
    objects.put(TOYS, toy())
    made = ManagedWriter(objects, TOYS, cache, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return made, objects, cache, Managed(toy())


def test_our_own_write_is_what_the_next_reconcile_sees() -> None:
    made, _, cache, mr = writer()
    written = made.patch_metadata(mr, annotations={"a": "b"}, finalizers=[])
    assert cache.get(mr.key) == written.raw


@pytest.mark.parametrize(
    ("edit", "ours"),
    [
        pytest.param({}, True, id="nothing else"),
        pytest.param({"labels": {"team": "edge"}}, False, id="a user's label"),
        pytest.param({"annotations": {"a": "b", "team": "edge"}}, False, id="a user's annotation"),
        pytest.param({"annotations": {}}, False, id="another value"),
        pytest.param({"generation": 7}, False, id="an edit of the spec"),
        pytest.param({"finalizers": [names.FINALIZER, "else"]}, False, id="another finalizer"),
    ],
)
def test_a_watch_that_is_faster_than_the_response_shows_our_own_write(
    edit: dict[str, Any], ours: bool
) -> None:
    made, objects, cache, mr = writer()
    cache.changed(mr.raw)
    patch, seen = objects.patch, list[ObjectChange]()

    def delivered(*given: Any, **more: Any) -> dict[str, Any]:
        written = patch(*given, **more)
        seen.extend(cache.changed({**written, "metadata": {**written["metadata"], **edit}}))
        assert [made.makes(change) for change in seen] == [ours]
        return written

    objects.patch = delivered  # type: ignore[method-assign]
    made.patch_metadata(mr, annotations={"a": "b"}, finalizers=[names.FINALIZER])
    assert [made.makes(change) for change in seen] == [False], "the write has ended"


def test_a_write_that_fails_makes_nothing() -> None:
    made, objects, cache, mr = writer()
    cache.changed(mr.raw)
    objects.touch(TOYS, mr.key)
    with pytest.raises(Conflict):
        made.patch_metadata(mr, annotations={"a": "b"}, finalizers=[])
    theirs = {**objects.get(TOYS, mr.key)}
    theirs["metadata"] = {**theirs["metadata"], "annotations": {"a": "b"}}
    [change] = cache.changed(theirs)
    assert not made.makes(change)


def test_a_finalizer_is_a_patch_of_metadata_and_of_nothing_else() -> None:
    made, objects, _, mr = writer()
    sent: list[Any] = []
    patch = objects.patch

    def noting(*given: Any, **more: Any) -> dict[str, Any]:
        sent.append(given[2])
        return patch(*given, **more)

    objects.patch = noting  # type: ignore[method-assign]
    made.patch_metadata(mr, annotations={}, finalizers=[names.FINALIZER])
    assert sent == [{"metadata": {"resourceVersion": mr.resource_version, "finalizers": [names.FINALIZER]}}]


def test_filling_in_gives_way_to_whoever_wrote_meanwhile() -> None:
    made, objects, _, mr = writer()
    objects.touch(TOYS, mr.key)
    with pytest.raises(Conflict):
        made.fill_in(mr, {"colour": "red"})


@pytest.mark.parametrize("leads", [True, False])
def test_a_former_leader_does_not_write_over_the_status_of_its_successor(leads: bool) -> None:
    """It was frozen in a reconcile. While it leads, the conflict is one with a user's edit."""
    world = World(toy(**SETTLED))
    world.external.toys = {"acme": 1}
    frozen = world.mr
    assert frozen is not None
    world.objects.put(world.kind, {**frozen.raw, "status": {"observedGeneration": 3}})
    world.objects.touch(world.kind, world.key)
    world.leads = leads
    outcome = world.reconciler.reconcile(frozen)
    assert (world.status()["observedGeneration"] == 3) is not leads
    assert outcome.next is (Next.AFTER if leads else Next.REAL_BACKOFF)


def test_a_creations_result_never_hits_a_successor_of_the_same_name() -> None:
    made, objects, _, mr = writer()
    successor = toy()
    successor["metadata"]["uid"] = "uid-successor"
    objects.put(TOYS, successor)
    with pytest.raises(NotFound):
        made.set_critical_annotations(mr, {names.EXTERNAL_NAME: "toy-7"})
    assert objects.get(TOYS, mr.key) == successor


def test_polls_are_spread_by_jitter() -> None:
    world = World(toy(**SETTLED))

    class Late:
        def uniform(self, low: float, high: float) -> float:
            assert (low, high) == (0.9, 1.1)
            return high

    world.external.toys = {"acme": 1}
    writes = ManagedWriter(world.objects, world.kind, Cache(), now=world.now)
    spread = Collaborators(
        connector=world.external,
        writer=writes,
        connections=ConnectionPublisher(world.objects),
        recorder=FakeRecorder(Journal()),
        rng=Late(),  # type: ignore[arg-type]
        pace=Pace(poll_interval=60.0),
        now=world.now,
    )
    assert world.mr is not None
    outcome = Reconciler(world.kind, spread).reconcile(world.mr)
    assert (outcome.next, outcome.seconds) == (Next.AFTER, pytest.approx(66.0))


def test_a_secret_that_cannot_be_placed_is_not_the_resource_being_gone() -> None:
    world = World(toy(**SETTLED, writeConnectionSecretToRef={"name": "edge", "namespace": "shop"}))
    world.external.toys = {"acme": 1}
    world.external.observation = Observation(exists=True, connection_details={"url": b"x"})
    gone = NotFound(Operation("create", SECRETS), 404, 'namespaces "shop" not found')
    world.objects.create = lambda *_: (_ for _ in ()).throw(gone)  # type: ignore[method-assign]
    outcome = world.reconcile()
    assert outcome is not None
    assert (outcome.next, outcome.failed) == (Next.REAL_BACKOFF, True)


def test_a_namespaced_resource_writes_its_secret_beside_itself_whatever_it_names() -> None:
    world = World(toy(**SETTLED, writeConnectionSecretToRef={"name": "edge", "namespace": "kube-system"}))
    world.external.toys = {"acme": 1}
    world.external.observation = Observation(exists=True, connection_details={"url": b"x"})
    world.reconcile()
    assert world.objects.find(SECRETS, ObjectKey("shop", "edge")) is not None
    assert world.objects.find(SECRETS, ObjectKey("kube-system", "edge")) is None


def test_a_change_of_status_alone_wakes_nobody(client: Any) -> None:
    controller = Manager(client, SystemClock()).manage(TOYS, World(toy()).external)
    told = toy(status={"x": 1})
    annotated = toy(status={"x": 1}, annotations={"x": "y"})
    woken: list[ObjectKey] = []
    controller.enqueue = lambda key, *_: woken.append(key)  # type: ignore[method-assign]
    for old, new in ((toy(), told), (told, annotated)):
        controller.on_change(ObjectChange(ChangeType.MODIFIED, Managed(new).key, old, new))
    assert woken == [Managed(annotated).key]


def test_a_release_that_comes_too_late_ends_quietly() -> None:
    world = World(toy(deleted=True))
    stale = world.mr
    assert stale is not None
    world.reconcile()
    before = len(world.journal)
    assert world.reconciler.reconcile(stale).next is Next.NEVER
    assert not [entry for entry in world.journal[before:] if "Warning" in entry]
