"""Events of `events.k8s.io/v1`, which today's client libraries post, are those of `v1` that kubectl lists."""

import json
from collections.abc import Iterator

import pytest

from sandbox.world import World, WorldError
from tests.integration.watching import Object

NAMESPACE = "events-api"
ABOUT = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": NAMESPACE, "name": "about"}
EVENT: Object = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "seen.1", "namespace": NAMESPACE},
    "eventTime": "2026-01-02T03:04:05.000006Z",
    "reportingController": "example.org/watcher",
    "reportingInstance": "watcher-0",
    "action": "Look",
    "reason": "Seen",
    "type": "Warning",
    "note": "the map was seen",
}


@pytest.fixture(scope="module")
def event(world: World) -> Iterator[Object]:
    """The event, posted about a ConfigMap."""
    world.kubectl("create", "namespace", NAMESPACE)
    world.kubectl("create", "configmap", "about", "-n", NAMESPACE)
    uid = world.kubectl("get", "configmap", "about", "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}")
    posted = {**EVENT, "regarding": {**ABOUT, "uid": uid}}
    world.kubectl("create", "-f", "-", input=json.dumps(posted))
    yield posted
    world.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_a_core_client_reads_it(world: World, event: Object) -> None:
    read = json.loads(world.kubectl("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/events/seen.1"))
    assert read["apiVersion"] == "v1"
    assert read["message"] == event["note"]
    assert read["involvedObject"] == event["regarding"]
    assert read["reportingComponent"] == event["reportingController"]
    for same in ("eventTime", "reportingInstance", "action", "reason", "type"):
        assert read[same] == event[same]


@pytest.mark.usefixtures("event")
@pytest.mark.parametrize("resource", ["events", "ev", "events.events.k8s.io", "events.v1.events.k8s.io"])
def test_kubectl_gets_it(world: World, resource: str) -> None:
    table = world.kubectl("get", resource, "-n", NAMESPACE)
    heading, row = (line.split() for line in table.splitlines())
    assert heading == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Warning", "Seen", "configmap/about", "the", "map", "was", "seen"]


@pytest.mark.usefixtures("event")
def test_kubectl_describe_lists_it(world: World) -> None:
    told = world.kubectl("describe", "configmap", "about", "-n", NAMESPACE)
    assert "the map was seen" in told.partition("Events:")[2]


@pytest.mark.usefixtures("event")
def test_kubectl_describes_it(world: World) -> None:
    assert "the map was seen" in world.kubectl("describe", "events.events.k8s.io", "seen.1", "-n", NAMESPACE)


@pytest.mark.usefixtures("event")
def test_kubectl_events_lists_it(world: World) -> None:
    told = world.kubectl("events", "-n", NAMESPACE, "--for", "configmap/about")
    assert "the map was seen" in told


def test_it_is_applied_and_selected_by_its_own_fields(world: World, event: Object) -> None:
    series = {"count": 2, "lastObservedTime": "2026-01-02T03:05:00.000000Z"}
    applied = {**event, "series": series}
    world.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(applied))
    chosen = ("get", "events.events.k8s.io", "-n", NAMESPACE, "--field-selector", "regarding.name=about")
    (found,) = json.loads(world.kubectl(*chosen, "-o", "json"))["items"]
    assert (found["apiVersion"], found["note"], found["series"]) == (
        event["apiVersion"],
        event["note"],
        series,
    )
    assert "regarding" in world.kubectl("explain", "events.regarding", "--api-version=events.k8s.io/v1")


def test_an_incomplete_event_is_refused(world: World, event: Object) -> None:
    incomplete = {**event, "metadata": {"name": "seen.2", "namespace": NAMESPACE}, "action": ""}
    with pytest.raises(WorldError, match="action: Required value"):
        world.kubectl("create", "-f", "-", input=json.dumps(incomplete))
