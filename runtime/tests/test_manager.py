"""The running provider over a scripted API server: events, controllers, health, metrics, leadership, stop."""

import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime import Change, Managed, ManagedKind, Observation, SystemClock
from edgetenants_runtime.api.annotations import FINALIZER, PAUSED
from edgetenants_runtime.clock import FakeClock, Stopwatch, pause
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.events import EventRecorder, EventWriter
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.manager import KindSettings, Manager, Settings, _has_another
from edgetenants_runtime.process.controller import Controller
from edgetenants_runtime.process.leader import Election, Timing
from edgetenants_runtime.providerconfigs import ConfigKinds, ProviderConfigs
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.testing import toy
from edgetenants_runtime.testing.cases import SETTLED

Until = Callable[[Callable[[], Any]], None]
TOYS = ManagedKind("toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True)
EVENTS = "/api/v1/namespaces/shop/events"
DELETED = {"generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER, "x.y/z"]}


def writes(api: Any) -> list[str]:
    return [f"{method} {path}" for method, path, _, _ in api.requests if method != "GET"]


def tell(api: Any, writer: EventWriter, message: str = "m") -> None:
    recorder = EventRecorder(writer)
    recorder.event(Managed(toy()), EventType.NORMAL, EventReason.CREATED, message)
    recorder.start()
    recorder.stop(5)


def test_a_repeated_event_is_counted_and_rarely_written(api: Any, client: KubeClient) -> None:
    clock = FakeClock()
    writer = EventWriter(client, clock=clock)
    for _ in range(5):
        tell(api, writer)
    tell(api, writer, "m (request id: 7)")
    assert writes(api) == [f"POST {EVENTS}"]
    clock.advance(301)
    tell(api, writer)
    name = api.requests[0][3]["metadata"]["name"]
    assert writes(api) == [f"POST {EVENTS}", f"PATCH {EVENTS}/{name}"]
    assert api.requests[-1][3]["count"] == 7


def test_a_restarted_process_counts_on(api: Any, client: KubeClient) -> None:
    api.others[f"POST {EVENTS}"] = 409, {"code": 409, "reason": "AlreadyExists"}
    tell(api, EventWriter(client))
    name = api.requests[0][3]["metadata"]["name"]
    api.others[f"GET {EVENTS}/{name}"] = 200, {"count": 4}
    tell(api, EventWriter(client))
    assert api.requests[-1][:2] == ("PATCH", f"{EVENTS}/{name}")
    assert api.requests[-1][3]["count"] == 5


def test_events_that_cannot_be_written_stop_nobody(api: Any, client: KubeClient) -> None:
    api.others[f"POST {EVENTS}"] = 403, {"code": 403, "message": "no"}
    tell(api, EventWriter(client))
    assert writes(api) == [f"POST {EVENTS}"]


class Client:
    """Toys that exist and take long to look at, when told so."""

    def __init__(self) -> None:
        self.observed: list[str] = []
        self.busy = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def connect(self, mr: Managed) -> "Client":
        return self

    def observe(self, mr: Managed) -> Observation:
        if mr.name == "bug":
            raise KeyError("bug")
        self.observed.append(mr.name)
        self.busy.set()
        self.go_on.wait(5)
        return Observation(exists=True)

    def create(self, mr: Managed, seen: Observation) -> Change:
        raise AssertionError

    update = delete = create


def get(manager: Manager, path: str, port: int | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port or manager.health_port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def serve(api: Any, *items: dict[str, Any], watch: Any = "hang") -> None:
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": list(items)})]
    api.watches = [watch]
    for item in items:
        path = f"/apis/toys.m.example.org/v1alpha1/namespaces/shop/toys/{item['metadata']['name']}"
        stored = item | {"metadata": item["metadata"] | {"resourceVersion": "9"}}
        api.others[f"PATCH {path}"] = api.others[f"PATCH {path}/status"] = 200, stored


def named(name: str, **changes: Any) -> dict[str, Any]:
    obj = toy()
    obj["metadata"] |= {"name": name, "uid": f"uid-{name}"} | changes
    return obj


@pytest.fixture
def outside() -> Client:
    return Client()


@pytest.fixture(autouse=True)
def logs_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Manager.run` configures the logs of the whole process, so also those that other tests read."""
    monkeypatch.setattr("edgetenants_runtime.logs.configure", lambda: None)


@pytest.fixture
def manager(client: KubeClient, outside: Client) -> Any:
    manager = Manager(client, SystemClock(), Settings(workers=2, health_port=0, stop_seconds=5))
    manager.manage(TOYS, outside)
    yield manager
    outside.go_on.set()
    manager.stop()


def test_what_is_listed_is_reconciled_and_a_bug_stops_no_worker(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("bug"), named("a"), named("b"), named("c"))
    manager.start()
    until(lambda: sorted(outside.observed) == ["a", "b", "c"])
    assert manager.healthy() == (True, [])


def test_what_was_edited_before_the_start_goes_first(
    api: Any, client: KubeClient, outside: Client, until: Until
) -> None:
    """As after a fail-over."""
    settled = [named(name) | {"status": SETTLED} for name in "abc"]
    edited, deleted = named("edited", generation=2), named("deleted", **DELETED)
    manager = Manager(client, SystemClock(), Settings(workers=1, stop_seconds=5))
    manager.manage(TOYS, outside)
    serve(api, *settled, *(each | {"status": SETTLED} for each in (deleted, edited)))
    manager.start()
    until(lambda: len(outside.observed) == 5)
    manager.stop()
    assert outside.observed == ["edited", "deleted", "a", "b", "c"]


def test_only_what_people_ask_for_wakes_a_resource(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    status_only = named("a", resourceVersion="20") | {"status": {"x": 1}}
    annotated = named("a", resourceVersion="21", annotations={PAUSED: "no"}) | {"status": {"x": 1}}
    lines = [
        {"type": "MODIFIED", "object": status_only},
        {"type": "ADDED", "object": named("b", resourceVersion="22")},
    ]
    serve(api, named("a"), watch=[*lines, "hang"])
    manager.start()
    until(lambda: "b" in outside.observed)
    assert outside.observed.count("a") == 1
    controller = manager._controllers[0]
    [change] = controller.informer.cache.changed(annotated)
    controller.on_change(change)
    until(lambda: outside.observed.count("a") == 2)


def test_what_is_asked_for_again_and_again_in_a_moment_is_reconciled_once(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("a"))
    controller, key = manager._controllers[0], ObjectKey("shop", "a")
    controller.enqueue_after(key, 0.0)
    assert len(controller.queue) == 0, "before its start, it reconciles all anyway"
    manager.start()
    until(lambda: outside.observed == ["a"] and not controller.processing)
    for _ in range(50):
        controller.enqueue_after(key, 0.2)
    assert len(controller.queue) == 0
    assert controller.queue.delayed <= 2, "the other one is its next poll"
    until(lambda: len(outside.observed) == 2)


def test_a_conflict_costs_fewer_and_fewer_looks_while_the_cache_lags(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    """Rule: conflict.quiet"""
    serve(api, named("a"))
    path = "PATCH /apis/toys.m.example.org/v1alpha1/namespaces/shop/toys/a"
    api.others[path] = 409, {"code": 409, "reason": "Conflict", "message": "modified"}
    queue = manager._controllers[0].queue
    queue.FIRST_RETRY = 0.2  # type: ignore[misc]
    lasted = Stopwatch()
    manager.start()
    until(lambda: len(outside.observed) == 4)
    assert lasted.elapsed() > 0.8 * (0.2 + 0.4 + 0.8)
    assert not [line for line in writes(api) if line != path]


def test_a_resource_that_is_made_again_while_nobody_watches_is_another(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    """Rule: managed.recreated"""
    end = threading.Event()
    serve(api, named("a"), watch=[end])
    again = named("a", uid="uid-again", resourceVersion="20")
    gone = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
    api.lists.append((200, {"metadata": {"resourceVersion": "30"}, "items": [again]}))
    api.watches = [[end, gone], "hang"]
    controller = manager._controllers[0]
    forgotten: list[str] = []
    controller._reconciler.forget = forgotten.append  # type: ignore[method-assign]
    manager.start()
    # A reconcile that is still under way when the resource is replaced forgets it, too.
    until(lambda: outside.observed == ["a"] and not controller.processing)
    end.set()
    until(lambda: len(outside.observed) == 2)
    assert forgotten == ["uid-a"]


def test_a_stop_finishes_what_is_under_way(api: Any, manager: Manager, outside: Client, until: Until) -> None:
    serve(api, named("a"))
    outside.go_on.clear()
    manager.start()
    assert outside.busy.wait(5)
    threading.Timer(0.05, outside.go_on.set).start()
    assert manager.stop() is True
    assert any("/status" in write for write in writes(api))


def test_a_stop_does_not_wait_for_ever(api: Any, client: KubeClient, outside: Client) -> None:
    manager = Manager(client, SystemClock(), Settings(workers=1, stop_seconds=0.05))
    manager.manage(TOYS, outside)
    serve(api, named("a"))
    outside.go_on.clear()
    manager.start()
    assert outside.busy.wait(5)
    assert manager.stop() is False
    outside.go_on.set()


def test_readiness_names_what_is_refused(api: Any, manager: Manager, until: Until) -> None:
    api.lists = [(403, {"code": 403, "message": "no"})]
    manager.start()
    until(lambda: "verbs" in get(manager, "/readyz")[1])
    status, body = get(manager, "/readyz")
    assert status == 503
    assert 'resources: ["toys"], verbs: ["list"]' in body
    assert get(manager, "/healthz") == (200, "ok\n")
    assert get(manager, "/other")[0] == 404


def test_a_kind_that_is_not_served_is_waited_for_and_counts_as_ready(
    api: Any, manager: Manager, until: Until
) -> None:
    api.lists = [(404, {})]
    manager.start()
    until(lambda: get(manager, "/readyz") == (200, "ok\nwaiting for toys.toys.m.example.org to be served\n"))


def lists_of_toys(api: Any) -> int:
    return len([p for m, p, q, _ in list(api.requests) if m == "GET" and p.endswith("/toys") and q])


def test_a_kind_without_a_crd_is_not_asked_for_until_the_crd_appears(
    api: Any, manager: Manager, until: Until
) -> None:
    serve(api, toy())
    api.crds = api.listed()
    appeared = threading.Event()
    api.crd_events = [appeared, {"type": "ADDED", "object": api.TOYS_CRD}, "hang"]
    manager.start()
    until(lambda: get(manager, "/readyz") == (200, "ok\nwaiting for toys.toys.m.example.org to be served\n"))
    assert lists_of_toys(api) == 0
    appeared.set()
    until(lambda: get(manager, "/readyz") == (200, "ok\n"))


def test_where_crds_may_not_be_read_every_kind_is_tried(api: Any, manager: Manager, until: Until) -> None:
    serve(api, toy())
    api.crds = 403, {"code": 403, "message": "no"}
    manager.start()
    until(lambda: lists_of_toys(api) > 0)


# Kinds that may have the same.

DOLLS = ManagedKind("dolls.m.example.org", "v1alpha1", "Doll", "dolls", namespaced=True)
DOLLS_CRD = {"metadata": {"name": "dolls.dolls.m.example.org", "uid": "crd-dolls", "resourceVersion": "6"}}
LIST_DOLLS = "LIST /apis/dolls.m.example.org/v1alpha1/dolls"
REFUSED = 403, {"code": 403, "message": "no"}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Informer, "FIRST_RETRY", 0.02)


def with_dolls(api: Any, manager: Manager, answer: tuple[int, Any]) -> None:
    """A second kind, whose list is answered so."""
    serve(api, named("a"))
    api.crds = api.listed(api.TOYS_CRD, DOLLS_CRD)
    api.others[LIST_DOLLS] = answer
    manager.manage(DOLLS, Client())
    manager.start()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("answer", [(503, {"code": 503, "message": "busy"}), REFUSED])
def test_nothing_is_reconciled_before_every_kind_that_is_served_was_read(
    api: Any, manager: Manager, outside: Client, until: Until, answer: tuple[int, Any]
) -> None:
    with_dolls(api, manager, answer)
    toys, dolls = manager._controllers
    until(lambda: toys.informer.synced and dolls.informer.problem)
    assert not manager.everything_read()
    pause(SystemClock(), 0.3)
    assert outside.observed == []
    assert "dolls" in get(manager, "/readyz")[1]
    api.others[LIST_DOLLS] = api.listed()
    until(lambda: outside.observed == ["a"])


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("crds", "answer"),
    [
        pytest.param(None, (404, {}), id="its CRD is not established"),
        pytest.param(REFUSED, (404, {}), id="CRDs may not be read, and it is not served"),
        pytest.param(REFUSED, REFUSED, id="CRDs may not be read, and nor may it"),
    ],
)
def test_a_kind_that_is_not_there_holds_up_nobody(
    api: Any, manager: Manager, outside: Client, until: Until, crds: Any, answer: tuple[int, Any]
) -> None:
    serve(api, named("a"))
    api.crds = crds or api.listed(api.TOYS_CRD, DOLLS_CRD)
    api.others[LIST_DOLLS] = answer
    manager.manage(DOLLS, Client())
    manager.start()
    until(lambda: outside.observed == ["a"])


def test_a_kind_without_a_crd_holds_up_nobody(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("a"))
    manager.manage(DOLLS, Client())
    manager.start()
    until(lambda: outside.observed == ["a"])
    assert LIST_DOLLS.partition(" ")[2] not in [path for _, path, _, _ in api.requests]


# What is served.


def test_metrics_have_a_port_of_their_own_and_count_what_was_done(
    api: Any, client: KubeClient, outside: Client, until: Until
) -> None:
    manager = Manager(client, SystemClock(), Settings(health_port=0, metrics_port=0))
    manager.manage(TOYS, outside)
    serve(api, named("a"))
    manager.start()
    controller = 'controller="managed/toy.toys.m.example.org"'
    done = f'controller_runtime_reconcile_total{{{controller},result="requeue_after"}} 1.0'
    until(lambda: done in get(manager, "/metrics", manager.metrics_port)[1])
    text = get(manager, "/metrics", manager.metrics_port)[1]
    assert 'rest_client_requests_total{code="200",method="GET"}' in text
    assert f'workqueue_adds_total{{{controller},name="managed/toy.toys.m.example.org"}} 1.0' in text
    assert get(manager, "/metrics")[0] == 404
    assert get(manager, "/healthz", manager.metrics_port)[0] == 404
    manager.stop()


def test_metrics_can_stand_beside_the_probes(api: Any, client: KubeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    manager = Manager(client, SystemClock(), Settings(health_port=port, metrics_port=port))
    manager.start()
    assert manager.health_port == manager.metrics_port == port
    assert get(manager, "/metrics")[0] == get(manager, "/healthz")[0] == 200
    manager.stop()


def test_a_taken_port_is_told_before_anything_starts(api: Any, client: KubeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(health_port=0, metrics_port=taken.getsockname()[1])
        manager = Manager(client, SystemClock(), settings)
        with pytest.raises(OSError, match="in use"):
            manager.start()
    assert api.requests == []


# Leadership.

LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases"
MINE = Election("system", "toys", Timing(2, 1.0, 0.05), identity="me")


def lease(holder: str) -> tuple[int, dict[str, Any]]:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15 if holder else 1}
    return 200, {"metadata": {"name": "toys", "namespace": "system", "resourceVersion": "3"}, "spec": spec}


@pytest.fixture
def candidate(client: KubeClient, outside: Client) -> Any:
    settings = Settings(workers=2, health_port=0, stop_seconds=5, election=MINE)
    manager = Manager(client, SystemClock(), settings)
    manager.manage(TOYS, outside)
    yield manager
    outside.go_on.set()
    manager.stop()


def led_by(api: Any, holder: str) -> None:
    api.others[f"GET {LEASE}/toys"] = api.others[f"PATCH {LEASE}/toys"] = lease(holder)


def test_a_follower_reads_everything_is_ready_and_reconciles_nothing_until_it_leads(
    api: Any, candidate: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("a"))
    led_by(api, "another")
    candidate.start()
    until(lambda: get(candidate, "/readyz") == (200, "ok\nwaiting for leadership; current leader: another\n"))
    assert outside.observed == []
    led_by(api, "")
    api.others[f"PATCH {LEASE}/toys"] = lease("me")
    until(lambda: outside.observed == ["a"])
    assert get(candidate, "/readyz") == (200, "ok\n")


def test_a_lease_that_may_not_be_read_is_told_by_readiness(
    api: Any, candidate: Manager, until: Until
) -> None:
    serve(api)
    api.others[f"GET {LEASE}/toys"] = 403, {"code": 403, "message": "no"}
    candidate.start()

    def told() -> bool:
        # The client knows of the refusal a moment before the election does, and is not asked to be ready.
        status, body = get(candidate, "/readyz")
        return status == 503 and 'resources: ["leases"], verbs: ["get"]' in body

    until(told)


def test_a_lost_leadership_ends_the_run_with_an_error_and_releases_nothing(
    api: Any, candidate: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("a"))
    led_by(api, "me")
    codes: list[int] = []
    candidate.start()
    until(lambda: outside.observed == ["a"])
    candidate._stopped.clear()
    led_by(api, "another")
    api.others[f"PATCH {LEASE}/toys"] = 409, {"code": 409, "reason": "Conflict"}
    with pytest.MonkeyPatch.context() as patch:
        # Started above; signals belong to the main thread of a process of its own.
        patch.setattr(candidate, "start", lambda: None)
        patch.setattr(signal, "signal", lambda *_: None)
        codes.append(candidate.run())
    assert codes == [1]
    written = [body["spec"]["holderIdentity"] for _, path, _, body in api.requests if body and LEASE in path]
    assert "" not in written


def test_running_work_has_less_time_than_is_left_of_a_lost_lease(candidate: Manager) -> None:
    assert candidate._stop_bound == 5
    candidate._lost = True
    assert candidate._stop_bound == pytest.approx(0.8)


def test_a_stop_gives_the_lease_up_after_the_last_reconcile(
    api: Any, candidate: Manager, outside: Client
) -> None:
    serve(api, named("a"))
    led_by(api, "me")
    outside.go_on.clear()
    candidate.start()
    assert outside.busy.wait(5)
    threading.Timer(0.1, outside.go_on.set).start()
    assert candidate.stop() is True
    asked = [(path, body) for _, path, _, body in api.requests if body]
    status = max(n for n, (path, _) in enumerate(asked) if path.endswith("/status"))
    released = [
        n for n, (path, body) in enumerate(asked) if LEASE in path and not body["spec"]["holderIdentity"]
    ]
    assert released
    assert min(released) > status


def test_what_was_cut_off_begins_no_more_writes_and_keeps_the_lease(
    api: Any, client: KubeClient, until: Until
) -> None:
    class Absent(Client):
        def observe(self, mr: Managed) -> Observation:
            super().observe(mr)
            return Observation(exists=False)

        def create(self, mr: Managed, seen: Observation) -> Change:
            self.observed.append("created")
            return Change()

    outside = Absent()
    manager = Manager(client, SystemClock(), Settings(workers=1, stop_seconds=0.05, election=MINE))
    manager.manage(TOYS, outside)
    serve(api, named("a"))
    led_by(api, "me")
    outside.go_on.clear()
    manager.start()
    assert outside.busy.wait(5)
    assert manager.stop() is False
    outside.go_on.set()
    until(lambda: not manager._controllers[0].queue.processing)
    assert outside.observed == ["a"]
    assert "" not in [b["spec"]["holderIdentity"] for _, path, _, b in api.requests if b and LEASE in path]


def test_no_reconcile_begins_in_a_process_that_may_not_act(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    serve(api, named("a"))
    manager.start()
    until(lambda: outside.observed == ["a"])
    controller = manager._controllers[0]
    until(lambda: not controller.processing)
    manager._cut_off = True
    with capture_logs() as lines:
        controller.enqueue(ObjectKey("shop", "a"))
        until(lambda: [line for line in lines if line["event"] == "left for the leader"])
    assert outside.observed == ["a"]
    assert manager.healthy() == (True, [])
    # As after a step of the clock: the next renewal shows that it still leads.
    manager._cut_off = False
    until(lambda: outside.observed == ["a", "a"])


# Time.


def test_a_reconcile_that_hangs_is_told_keeps_its_resource_and_gives_up_its_place(
    api: Any, client: KubeClient, outside: Client, until: Until
) -> None:
    manager = Manager(client, SystemClock(), Settings(workers=1, health_port=0, timeout=0.05))
    controller = manager.manage(TOYS, outside)
    serve(api, named("a"))
    outside.go_on.clear()
    with capture_logs() as lines:
        manager.start()
        assert outside.busy.wait(5)
        until(lambda: [controller.look_for_overdue(), *lines] and "exceeded its timeout" in str(lines))
        outside.busy.clear()
        serve(api, named("a"), named("b"))
        [change] = controller.informer.cache.changed(named("b", resourceVersion="30"))
        controller.on_change(change)
        controller.enqueue(ObjectKey("shop", "a"))
        until(lambda: "b" in outside.observed)
    assert outside.observed == ["a", "b"]
    [line] = [line for line in lines if "exceeded its timeout" in line["event"]]
    assert (line["kind"], line["namespace"], line["name"]) == ("Toy", "shop", "a")
    assert "observe" in str(line["where"])
    # Now both hang, and no one is left.
    until(lambda: [controller.look_for_overdue()] and controller.problem)
    assert get(manager, "/healthz") == (503, "not ok\n2 reconciles of toys.toys.m.example.org are stuck\n")
    outside.go_on.set()
    until(lambda: not controller.problem and not controller.processing)
    until(lambda: len([w for w in controller._workers if w.is_alive()]) == 1)
    assert get(manager, "/healthz")[0] == 200
    manager.stop()


# The process.


def test_a_second_signal_ends_the_process_at_once(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []
    monkeypatch.setattr("os._exit", codes.append)
    manager = Manager(client, SystemClock())
    manager._on_signal(signal.SIGTERM, None)
    assert (codes, manager._stopped.is_set()) == ([], True)
    manager._on_signal(signal.SIGTERM, None)
    assert codes == [1]


def test_a_requested_stop_ends_the_run_with_success(api: Any, client: KubeClient) -> None:
    serve(api)
    manager = Manager(client, SystemClock(), Settings())
    threading.Timer(0.05, manager.request_stop).start()
    assert manager.run() == 0


@pytest.mark.parametrize(
    ("spec", "has"),
    [
        ({}, True),
        ({"managementPolicies": ["Observe"]}, False),
        ({"managementPolicies": ["Observe", "Update"]}, True),
    ],
)
def test_who_only_looks_has_nothing_that_was_left(spec: dict[str, Any], has: bool) -> None:
    named = {"crossplane.io/external-name": "x"}
    left, other = toy(annotations=named), toy(annotations=named, **spec)
    other["metadata"] |= {"uid": "other", "name": "other"}

    class Read:
        cache = Cache()

    Read.cache.changed(other)
    assert _has_another(Read(), Managed(left)) is has  # type: ignore[arg-type]


@pytest.mark.parametrize(("workers", "most"), [(1, 1), (2, 1), (3, 2), (8, 4), (20, 10)])
def test_no_namespace_has_all_workers(api: Any, manager: Manager, workers: int, most: int) -> None:
    controller = manager.manage(DOLLS, Client(), settings=KindSettings(workers=workers))
    for number in range(30):
        controller.queue.add(ObjectKey("shop", str(number)))
    given = [key for _ in range(30) if (key := controller.queue.get(block=False)) is not None]
    for key in given:
        controller.queue.done(key)  # the manager's stop waits for what is not done
    assert len(given) == most


# Shards.


@pytest.fixture
def sharded(client: KubeClient, outside: Client) -> Manager:
    election = replace(MINE, shards=2)
    return Manager(client, SystemClock(), Settings(workers=1, election=election))


def test_a_gained_shard_is_looked_at_with_all_its_configs_and_resources(
    sharded: Manager, outside: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(ProviderConfigs, "look_at_all", lambda _: looked.append("configs"))
    monkeypatch.setattr(Controller, "look_again", lambda *_: looked.append("resources"))
    moved: list[Any] = []
    monkeypatch.setattr(ProviderConfigs, "on_moved", lambda _, handler: moved.append(handler))
    configs = sharded.configs(ConfigKinds((TOYS,), TOYS))
    sharded.manage(TOYS, outside, configs)
    assert len(moved) == 1
    assert sharded._shards is not None
    sharded._shards._told[0](1)
    assert looked == ["configs", "resources"]
    assert not sharded.mine("123456789012"), "it holds no shard"
    assert not configs.mine(Managed(toy()))
    without_configs = sharded.manage(replace(TOYS, plural="others"), outside)
    assert not without_configs._limits.mine(Managed(toy()))


def test_what_is_done_before_a_shard_belongs_to_shards(sharded: Manager) -> None:
    prepare = list[str]
    sharded.before_shard(prepare)
    assert sharded._shards is not None
    assert sharded._shards._prepare == [prepare]


def test_without_shards_every_owner_is_ours_and_no_config_moves(
    client: KubeClient, candidate: Manager, outside: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Any] = []
    monkeypatch.setattr(ProviderConfigs, "on_moved", lambda _, handler: moved.append(handler))
    alone = Manager(client, SystemClock(), Settings())
    for manager in (candidate, alone):
        manager.manage(TOYS, outside, manager.configs(ConfigKinds((TOYS,), TOYS)))
        assert manager.mine("123456789012")
        manager.before_shard(lambda: None)
    assert moved == []
