"""Events: which object they tell of, and how rarely a repetition is written."""

from typing import Any

import pytest

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
