"""What is counted, under which names, and what a scrape costs."""

import itertools
import re
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.process.instruments import ManagedMetrics, Result
from edgetenants_runtime.process.metrics import Metrics, gvk
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.testing import TOYS, toy

GVK = "toys.m.example.org/v1alpha1, Kind=Toy"
NOW = datetime(2026, 1, 1, 0, 1, 0, tzinfo=UTC)


def samples(metrics: Metrics) -> dict[str, float]:
    """The samples that are not zero, without buckets and the process's own."""
    text = metrics.expose()[1].decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {
        name: float(value)
        for name, _, value in lines
        if float(value) and "_bucket" not in name and not name.startswith("process_")
    }


def state(ready: str, synced: str = "True", **metadata: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}, {"type": "Synced", "status": synced}]
    return toy(status={"conditions": [{**c, "reason": "X"} for c in conditions]}) | {}


class Controller:
    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.objects, self.processing = objects, [1.0, 4.5]
        self.depths = {Priority.CHANGE: 3, Priority.POLL: 2}


def test_gauges_are_read_at_the_scrape() -> None:
    metrics = Metrics()
    metrics.observe(TOYS, "managed/toy", Controller([state("True"), state("False"), toy()]))
    metrics.election("lease", lambda: True)
    labels = 'controller="managed/toy",name="managed/toy"'
    assert samples(metrics) == {
        f'crossplane_managed_resource_exists{{gvk="{GVK}"}}': 3,
        f'crossplane_managed_resource_ready{{gvk="{GVK}"}}': 1,
        f'crossplane_managed_resource_synced{{gvk="{GVK}"}}': 2,
        f'workqueue_depth{{{labels},priority="change"}}': 3,
        f'workqueue_depth{{{labels},priority="poll"}}': 2,
        f"workqueue_unfinished_work_seconds{{{labels}}}": 5.5,
        f"workqueue_longest_running_processor_seconds{{{labels}}}": 4.5,
        'leader_election_master_status{name="lease"}': 1,
    }


def test_counters_have_the_names_that_dashboards_know() -> None:
    metrics = Metrics()
    queue, controller = metrics.queue("q"), metrics.controller("q", 8)
    queue.added()
    queue.started(2)
    queue.ended(3)
    queue.retried()
    for result in Result:
        controller.began()
        controller.ended(result, 0.5)
    controller.began()
    controller.stumbled()
    controller.timed_out()
    metrics.requested("GET", 200)
    metrics.requested("PATCH", 0)
    labels = '{controller="q",name="q"}'
    assert samples(metrics) == {
        f"workqueue_adds_total{labels}": 1,
        f"workqueue_retries_total{labels}": 1,
        f"workqueue_queue_duration_seconds_count{labels}": 1,
        f"workqueue_queue_duration_seconds_sum{labels}": 2,
        f"workqueue_work_duration_seconds_count{labels}": 1,
        f"workqueue_work_duration_seconds_sum{labels}": 3,
        'controller_runtime_reconcile_total{controller="q",result="success"}': 1,
        'controller_runtime_reconcile_total{controller="q",result="error"}': 1,
        'controller_runtime_reconcile_total{controller="q",result="requeue"}': 1,
        'controller_runtime_reconcile_total{controller="q",result="requeue_after"}': 1,
        'controller_runtime_reconcile_errors_total{controller="q"}': 1,
        'controller_runtime_reconcile_panics_total{controller="q"}': 1,
        'controller_runtime_reconcile_timeouts_total{controller="q"}': 1,
        'controller_runtime_reconcile_time_seconds_count{controller="q"}': 4,
        'controller_runtime_reconcile_time_seconds_sum{controller="q"}': 2,
        'controller_runtime_active_workers{controller="q"}': 1,
        'controller_runtime_max_concurrent_reconciles{controller="q"}': 8,
        'rest_client_requests_total{code="200",method="GET"}': 1,
        'rest_client_requests_total{code="<error>",method="PATCH"}': 1,
    }


class Life:
    """One resource, and the metrics of its kind."""

    def __init__(self) -> None:
        self.metrics, self.clock = Metrics(), FakeClock()
        self.of_kind = ManagedMetrics(self.metrics.lives, gvk(TOYS), clock=self.clock, now=lambda: NOW)

    def told(self) -> dict[str, float]:
        """Metric to sum of seconds."""
        found = samples(self.metrics)
        return {
            name.removeprefix("crossplane_managed_resource_"): value
            for full, value in found.items()
            if (name := re.sub(r"_seconds_sum\{.*", "", full)) != full
        }


def managed(obj: dict[str, Any], **metadata: Any) -> Managed:
    return Managed(obj | {"metadata": obj["metadata"] | metadata})


CREATED = {"creationTimestamp": "2026-01-01T00:00:30Z"}
DELETED = {
    "deletionTimestamp": "2026-01-01T00:00:50Z",
    "finalizers": ["finalizer.managedresource.crossplane.io"],
}


@pytest.fixture
def life() -> Life:
    return Life()


def test_a_new_resource_is_timed_to_its_first_reconcile_and_to_readiness_once(life: Life) -> None:
    fresh, ready = managed(toy(), **CREATED), managed(state("True"), **CREATED)
    for _ in range(2):
        life.of_kind.before(fresh)
        life.of_kind.after(fresh, managed(state("False"), **CREATED))
    for _ in range(2):
        life.of_kind.after(fresh, ready)
    assert life.told() == {"first_time_to_reconcile": 30, "first_time_to_readiness": 30}


def test_a_resource_that_was_there_before_the_process_is_not_timed(life: Life) -> None:
    known = managed(state("False"), **CREATED)
    life.of_kind.before(known)
    life.of_kind.after(known, managed(state("True"), **CREATED))
    assert life.told() == {}


@pytest.mark.parametrize("left", [None, {"finalizers": ["another"]}])
def test_a_deletion_is_timed_until_our_finalizer_is_off(life: Life, left: dict[str, Any] | None) -> None:
    mr = managed(state("True"), **DELETED)
    life.of_kind.after(mr, mr)
    life.of_kind.after(mr, None if left is None else managed(state("True"), **DELETED | left))
    assert life.told() == {"deletion": 10}


def test_a_resource_that_went_without_ever_being_ours_is_no_deletion(life: Life) -> None:
    life.of_kind.after(managed(toy(), **DELETED | {"finalizers": ["another"]}), None)
    assert life.told() == {}


def test_drift_is_timed_from_the_last_look_without_it(life: Life) -> None:
    mr = managed(state("True"))
    life.of_kind.repaired(mr)
    life.of_kind.up_to_date(mr)
    life.clock.advance(7)
    life.of_kind.repaired(mr)
    assert life.told() == {"drift": 7}
    life.of_kind.forget(mr.uid)
    life.of_kind.repaired(mr)
    assert life.told() == {"drift": 7}


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_what_is_exposed_can_be_parsed_and_has_no_moments_of_making(accept: str) -> None:
    metrics = Metrics()
    metrics.queue("q").added()
    content_type, body = metrics.expose(accept)
    assert ("openmetrics" in content_type) is bool(accept)
    if not accept:
        assert "workqueue_adds" in [f.name for f in text_string_to_metric_families(body.decode())]
    assert b"_created" not in body


def test_a_provider_adds_its_own_collectors() -> None:
    metrics = Metrics()
    Counter("calls", "Calls to the outside.", registry=metrics.registry).inc()
    assert samples(metrics) == {"calls_total": 1}


def test_two_managers_share_nothing() -> None:
    first, second = Metrics(), Metrics()
    first.queue("q").added()
    assert samples(second) == {}


def test_a_scrape_of_ten_thousand_resources_is_cheap() -> None:
    metrics = Metrics()
    metrics.observe(TOYS, "managed/toy", Controller([state("True") for _ in range(10_000)]))
    metrics.expose()
    calls = itertools.count()
    sys.setprofile(lambda _, event, __: event.endswith("call") and next(calls))
    try:
        metrics.expose()
    finally:
        sys.setprofile(None)
    # Of functions in Python and C, for each resource. Time depends on the machine.
    assert next(calls) < 100 * 10_000
