"""The running provider over a scripted API server: events, controllers, health, stop, logs."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from edgetenants_runtime import Change, Managed, ManagedKind, Observation, SystemClock, logs
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.events import EventReason, EventType
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.events import EventRecorder, EventWriter
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.testing import toy

Until = Callable[[Callable[[], Any]], None]
TOYS = ManagedKind("toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True)
EVENTS = "/api/v1/namespaces/shop/events"


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


def test_only_what_people_ask_for_wakes_a_resource(
    api: Any, manager: Manager, outside: Client, until: Until
) -> None:
    status_only = named("a", resourceVersion="20") | {"status": {"x": 1}}
    annotated = named("a", resourceVersion="21", annotations={"x": "y"}) | {"status": {"x": 1}}
    lines = [
        {"type": "MODIFIED", "object": status_only},
        {"type": "ADDED", "object": named("b", resourceVersion="22")},
    ]
    serve(api, named("a"), watch=[*lines, "hang"])
    manager.start()
    until(lambda: "b" in outside.observed)
    assert outside.observed.count("a") == 1
    controller = manager._controllers[0]
    change = controller.informer.cache.changed(annotated)
    assert change is not None
    controller.on_change(change)
    until(lambda: outside.observed.count("a") == 2)


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


def get(manager: Manager, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{manager.health_port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


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


def test_a_requested_stop_ends_the_run_with_success(api: Any, client: KubeClient) -> None:
    serve(api)
    manager = Manager(client, SystemClock(), Settings())
    threading.Timer(0.05, manager.request_stop).start()
    assert manager.run() == 0


def test_secrets_are_hidden_in_logs() -> None:
    event = logs.hide_secrets(None, "info", {"event": "x", "aws_secret_key": "AKIA", "name": "acme"})
    assert event == {"event": "x", "aws_secret_key": "[hidden]", "name": "acme"}


def test_logs_are_json_lines_with_the_object(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        logs.configure()
        with structlog.contextvars.bound_contextvars(kind="Toy", name="acme"):
            structlog.get_logger().info("hello", size=1)
        line = json.loads(capsys.readouterr().err)
    finally:
        structlog.configure(**before)
    assert {
        "event": "hello",
        "kind": "Toy",
        "name": "acme",
        "size": 1,
        "level": "info",
    }.items() <= line.items()
