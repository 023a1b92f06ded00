"""Events: which object they tell of, how rarely a repetition is written, and that no object's events delay
those of others."""

import gc
import weakref
from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.events import EventRecorder, EventWriter
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.testing import toy

POLL = 60.0


class Told:
    """A writer of events, and a story that is told to it at each poll."""

    def __init__(self, api: Any, client: KubeClient) -> None:
        self.api, self.clock = api, FakeClock()
        self.writer = EventWriter(client, clock=self.clock)

    def polls(self, count: int, *, message: str = "observe failed: denied", every: float = POLL) -> int:
        """How many writes so many polls lead to."""
        before = len(self.writes)
        for _ in range(count):
            self.tell(message)
            self.clock.advance(every)
        return len(self.writes) - before

    def tell(self, message: str, *, cluster: bool = False, type_: EventType = EventType.WARNING) -> None:
        recorder = EventRecorder(self.writer)
        recorder.event(Managed(toy(cluster=cluster)), type_, EventReason.CANNOT_OBSERVE, message)
        recorder.start()
        recorder.stop(5)

    @property
    def writes(self) -> list[tuple[str, str, Any]]:
        return [(method, path, body) for method, path, _, body in self.api.requests if method != "GET"]


@pytest.fixture
def told(api: Any, client: KubeClient) -> Told:
    return Told(api, client)


def test_a_failure_of_an_hour_is_written_a_handful_of_times(told: Told) -> None:
    """Rule: events.aggregated"""
    assert told.polls(60) <= 6
    assert told.writes[0][0] == "POST"
    counts = [body["count"] for method, _, body in told.writes if method == "PATCH"]
    assert counts == sorted(counts)


@pytest.mark.parametrize("every", [60.0, 600.0, 1800.0], ids=["1m", "10m", "30m"])
def test_no_write_for_each_poll_whatever_the_interval(told: Told, every: float) -> None:
    """Rule: events.aggregated"""
    polls = 48
    assert told.polls(polls, every=every) < polls


def test_an_event_that_goes_on_is_refreshed_before_it_is_forgotten(told: Told) -> None:
    """Rule: events.aggregated"""
    told.polls(100)
    before = len(told.writes)
    told.polls(55)
    assert len(told.writes) > before


def test_another_message_is_another_event_and_another_request_id_is_not(told: Told) -> None:
    """Rule: events.aggregated"""
    told.tell("denied (request id: 1)")
    told.tell("denied (request id: 2)")
    told.tell("throttled (request id: 3)")
    assert [method for method, _, _ in told.writes] == ["POST", "POST"]


@pytest.mark.parametrize(
    ("cluster", "namespace", "component"),
    [(False, "shop", "managed/toy.toys.m.example.org"), (True, "default", "managed/toy.toys.example.org")],
    ids=["namespaced", "cluster"],
)
def test_an_event_says_of_whom_and_by_whom(told: Told, cluster: bool, namespace: str, component: str) -> None:
    """Rule: events.reasons"""
    told.tell("denied", cluster=cluster)
    _, path, event = told.writes[0]
    assert path == f"/api/v1/namespaces/{namespace}/events"
    assert event["involvedObject"]["uid"] == "uid-acme"
    assert event["involvedObject"].get("namespace", "") == ("" if cluster else "shop")
    assert (event["type"], event["reason"]) == ("Warning", "CannotObserveExternalResource")
    assert event["source"] == {"component": component}


def test_a_message_that_is_too_long_is_cut(told: Told) -> None:
    """Rule: events.reasons"""
    told.tell("x" * 5000)
    message = told.writes[0][2]["message"]
    assert (len(message.encode()), message[-2:]) == (1024, "x…")


# Many events.


def resource(name: str, namespace: str = "red") -> Managed:
    obj = toy()
    obj["metadata"] |= {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return Managed(obj)


def record(recorder: EventRecorder, mr: Managed, message: str) -> None:
    recorder.event(mr, EventType.WARNING, EventReason.CANNOT_OBSERVE, message)


def written(told: Told) -> list[tuple[str, str]]:
    """The objects and messages of the events that were created."""
    return [
        (body["involvedObject"]["name"], body["message"])
        for method, _, body in told.writes
        if method == "POST"
    ]


def test_of_a_burst_of_one_namespace_no_event_is_dropped(told: Told) -> None:
    """Some are told once."""
    recorder = EventRecorder(told.writer)
    for number in range(1_000):
        record(recorder, resource(f"red{number}"), "m")
    assert len(recorder._told) == 1_000


def test_namespaces_are_served_in_turn_and_one_fills_only_its_own_queue(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    recorder.MANY = 100  # type: ignore[misc]
    for number in range(300):
        record(recorder, resource(f"red{number}"), "m")
    record(recorder, resource("blue0", "blue"), "m")
    record(recorder, resource("blue1", "blue"), "m")
    recorder.start()
    recorder.stop(60)
    names = [name for name, _ in written(told)]
    assert names[:4] == ["red0", "blue0", "red1", "blue1"]
    assert len(names) == 202


def test_all_namespaces_together_have_a_bound_too(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    recorder.MOST = 3  # type: ignore[misc]
    for number in range(5):
        record(recorder, resource(f"a{number}", f"ns{number}"), "m")
    recorder.start()
    recorder.stop(5)
    assert [name for name, _ in written(told)] == ["a0", "a1", "a2"]


def test_a_cluster_scoped_resource_counts_for_the_namespace_of_its_claim(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    recorder.MANY, recorder.MOST_OF_ONE = 0, 1  # type: ignore[misc]
    for number, claims in enumerate(("red", "red", "blue")):
        obj = toy(cluster=True)
        labels = {"crossplane.io/claim-namespace": claims}
        obj["metadata"] |= {"name": f"{claims}{number}", "uid": f"{number}", "labels": labels}
        record(recorder, Managed(obj), "m")
    recorder.start()
    recorder.stop(5)
    assert [name for name, _ in written(told)] == ["red0", "blue2"]


def test_an_object_has_a_burst_of_events_and_then_one_in_five_minutes(told: Told) -> None:
    for number in range(40):
        told.tell(f"message {number}")
    assert [message for _, message in written(told)] == [f"message {number}" for number in range(25)]
    told.clock.advance(299.0)
    told.tell("too early")
    told.clock.advance(1.0)
    told.tell("in time")
    told.tell("too early again")
    assert [message for _, message in written(told)][25:] == ["in time"]
    told.clock.advance(10 * 3600.0)
    for number in range(40):
        told.tell(f"later {number}")
    assert len(written(told)) == 26 + 25, "what is not used is not saved up beyond a burst"


def test_the_limit_is_that_of_one_object(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    for number in range(60):
        record(recorder, resource("busy"), f"message {number}")
    record(recorder, resource("other"), "m")
    recorder.start()
    recorder.stop(5)
    assert ("other", "m") in written(told)


def test_repetitions_are_counted_beyond_the_limit(told: Told) -> None:
    """They cost no event."""
    for number in range(25):
        told.tell(f"message {number}")
    for _ in range(100):
        told.tell("message 0")
    told.clock.advance(300.0)
    told.tell("message 0")
    assert told.writes[-1][2]["count"] == 102
    told.tell("new")
    assert written(told)[-1] == ("acme", "new")


def test_the_limits_are_forgotten_of_the_objects_that_are_longest_silent(told: Told) -> None:
    for number in range(5_000):
        told.writer._allowance.take(f"uid-{number}")
    assert len(told.writer._allowance._left) == 4_096
    assert "uid-4999" in told.writer._allowance._left


def test_dropped_events_are_logged_once_a_minute_for_each_namespace(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    recorder.MANY, recorder.MOST_OF_ONE = 0, 0  # type: ignore[misc]

    def drop() -> list[str]:
        with capture_logs() as logs:
            for _ in range(3):
                record(recorder, resource("a"), "m")
                record(recorder, resource("b", "blue"), "m")
        return [line["namespace"] for line in logs if line["event"].startswith("event dropped")]

    assert drop() == ["red", "blue"]
    told.clock.advance(59.0)
    assert drop() == []
    told.clock.advance(1.0)
    assert drop() == ["red", "blue"]
    with capture_logs() as logs:
        for number in range(2_000):
            record(recorder, resource("a", f"ns{number}"), "m")
    assert len(logs) == 2_000
    assert len(told.writer.drops._last) == 1_000


def test_what_was_dropped_for_the_limit_of_its_object_is_logged_too(told: Told) -> None:
    with capture_logs() as logs:
        for number in range(30):
            told.tell(f"message {number}")
    assert [line["why"] for line in logs] == ["the object has too many events"]


class Raw(dict[str, Any]):
    """An object that can be referred to weakly."""


def test_a_waiting_event_keeps_no_object_and_no_long_message_in_memory(told: Told) -> None:
    recorder = EventRecorder(told.writer)
    raw: Mapping[str, Any] = Raw(toy())
    alive = weakref.ref(raw)
    record(recorder, Managed(raw), "x" * 1_000_000)
    del raw
    gc.collect()
    assert alive() is None
    (waiting,) = recorder._told._of
    assert len(waiting.message.encode()) == 1024


def test_what_differs_after_the_cut_is_another_event(told: Told) -> None:
    told.tell("x" * 5000 + "a")
    told.tell("x" * 5000 + "b")
    assert [method for method, _, _ in told.writes] == ["POST", "POST"]
