"""What comes from outside may be anything: durations, texts, annotations, statuses, exceptions."""

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime import Change, ExternalError, Managed, ManagedKind, NotYet, Observation, Retry
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.api.managed import ManagedStatus
from edgetenants_runtime.bounds import LONGEST_MESSAGE, LONGEST_WAIT, cut, cut_bytes
from edgetenants_runtime.clock import FakeClock, Stopwatch, SystemClock, utc_now
from edgetenants_runtime.config import status as config_status
from edgetenants_runtime.kube import transform
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Invalid, KubeError, Operation, TooLarge, refusal
from edgetenants_runtime.kube.events import _Told
from edgetenants_runtime.kube.kinds import CONFIG_MAPS, SECRETS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.process.instruments import is_true
from edgetenants_runtime.queueing.queue import WorkQueue
from edgetenants_runtime.reconcile.steps import Next
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.rules.meta import parse_duration, poll_interval
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import GENERATED, HELD_MR, SETTLED_MR, conditions_of

Until = Callable[[Callable[[], Any]], None]
HOSTILE = [math.inf, -math.inf, math.nan, -1.0, 1e300, 9.3e9]
FOR_EVER = "2562048h"
"""A time longer than Python can wait."""


# Durations.


@pytest.mark.parametrize("seconds", HOSTILE)
def test_every_duration_is_bounded_where_it_enters(seconds: float) -> None:
    met = (
        Retry.after(seconds).seconds,
        NotYet("later", after=seconds).after,
        Change(requeue_after=seconds).requeue_after,
        Observation(exists=True, poll_after=seconds).poll_after,
    )
    assert all(each is not None and 0 <= each <= LONGEST_WAIT for each in met)


def test_what_is_no_number_is_neither_waited_for_nor_done_in_a_hot_loop() -> None:
    assert 0 < NotYet("later", after=math.nan).after < 3600


@pytest.mark.parametrize("text", [FOR_EVER, "9" * 60 + "h", "1000000h"])
def test_a_poll_interval_is_bounded(text: str) -> None:
    given = poll_interval({names.POLL_INTERVAL: text}, default=60.0, shortest=10.0)
    assert given == LONGEST_WAIT


def test_an_endless_duration_is_refused_at_once() -> None:
    elapsed = Stopwatch()
    with pytest.raises(ValueError, match="not a duration") as refused:
        parse_duration("1" * 200_000)
    assert elapsed.elapsed() < 1
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("seconds", HOSTILE)
@pytest.mark.parametrize("put", ["add_after", "add_after_real"])
def test_no_delay_stops_who_waits_for_the_queue(put: str, seconds: float) -> None:
    queue: WorkQueue[str] = WorkQueue(SystemClock(), random.Random(1))
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.extend([queue.get(), queue.get()]), daemon=True)
    getattr(queue, put)("hostile", seconds)
    worker.start()
    queue.add("other")
    queue.add_after_real("another", 0.05)
    worker.join(5)
    assert "other" in got
    assert len(got) == 2
    queue.shutdown()


def test_back_off_stays_bounded_however_often_a_key_fails() -> None:
    queue: WorkQueue[str] = WorkQueue(FakeClock(), random.Random(1))
    queue._failures["a"] = 10**6
    assert queue.retry("a") <= queue.LONGEST_RETRY * 1.2


# Workers.


class Client:
    """Toys that answer as their name says."""

    def __init__(self) -> None:
        self.observed: list[str] = []
        self.answers: dict[str, Any] = {}

    def connect(self, mr: Managed) -> "Client":
        return self

    def observe(self, mr: Managed) -> Observation:
        self.observed.append(mr.name)
        answer = self.answers.get(mr.name, Observation(exists=True))
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Observation)
        return answer

    def create(self, mr: Managed, seen: Observation) -> Change:
        raise AssertionError

    update = delete = create


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


TOY = ManagedKind("toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True)


def named(name: str, **annotations: str) -> dict[str, Any]:
    obj = toy(annotations=annotations)
    obj["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return obj


def serve(api: Any, *items: dict[str, Any]) -> None:
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": list(items)})]
    for item in items:
        path = f"/apis/toys.m.example.org/v1alpha1/namespaces/shop/toys/{item['metadata']['name']}"
        stored = item | {"metadata": item["metadata"] | {"resourceVersion": "9"}}
        api.others[f"PATCH {path}"] = api.others[f"PATCH {path}/status"] = 200, stored


@pytest.mark.parametrize(
    "answer",
    [
        MemoryError(),
        RecursionError(),
        OverflowError("timeout value is too large"),
        SystemExit(1),
        UnspeakableError(),
        NotYet("later", after=math.inf),
        ExternalError("no", retry=Retry.after(math.inf)),
        Observation(exists=True, poll_after=math.nan),
        Observation(exists=True, at_provider={"of": object()}),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_whatever_one_resource_does_its_workers_serve_the_others(
    api: Any, client: KubeClient, until: Until, answer: Any
) -> None:
    outside = Client()
    outside.answers = {"h1": answer, "h2": answer}
    manager = Manager(client, SystemClock(), Settings(workers=2, stop_seconds=1))
    controller = manager.manage(TOY, outside)
    serve(api, named("h1"), named("h2", **{names.POLL_INTERVAL: FOR_EVER}), named("a"))
    with capture_logs():
        manager.start()
        until(lambda: {"h1", "h2", "a"} <= set(outside.observed))
        seen = len(outside.observed)
        controller.enqueue(ObjectKey("shop", "a"))
        until(lambda: "a" in outside.observed[seen:])
        assert manager.healthy() == (True, [])
        assert manager.stop()


def test_a_queue_that_fails_once_ends_no_worker(
    api: Any, client: KubeClient, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Client()
    manager = Manager(client, SystemClock(), Settings(workers=1, stop_seconds=1))
    controller = manager.manage(TOY, outside)
    serve(api, named("a"))
    failing = [OverflowError("timeout value is too large")]
    get = controller.queue.get
    monkeypatch.setattr("edgetenants_runtime.process.controller._QUEUE_SECONDS", 0.01)

    def once(**how: bool) -> ObjectKey | None:
        if failing:
            raise failing.pop()
        return get(**how)

    monkeypatch.setattr(controller.queue, "get", once)
    with capture_logs():
        manager.start()
        until(lambda: outside.observed == ["a"])
        assert manager.healthy() == (True, [])
        manager.stop()


def test_an_object_of_another_shape_keeps_no_other_out(api: Any, client: KubeClient, until: Until) -> None:
    outside = Client()
    manager = Manager(client, SystemClock(), Settings(workers=1, stop_seconds=1))
    manager.manage(TOY, outside)
    odd = named("odd")
    odd["spec"]["providerConfigRef"] = "default"
    serve(api, odd, named("a"))
    with capture_logs():
        manager.start()
        until(lambda: "a" in outside.observed)
        manager.stop()


# What people write on a resource.

YEAR_9999 = "9999-12-31T23:59:59.999999-14:00"
YEAR_1 = "0001-01-01T00:00:00+14:00"
LARGE = "x" * 200_000

WORKS: dict[str, dict[str, Any]] = {
    "a poll interval for ever": {"annotations": {names.POLL_INTERVAL: FOR_EVER}},
    "pending in the year 1": {"annotations": {names.EXTERNAL_CREATE_PENDING: YEAR_1}},
    "pending in the year 9999": {"annotations": {names.EXTERNAL_CREATE_PENDING: YEAR_9999}},
    "all three in the year 9999": {
        "annotations": dict.fromkeys(
            (names.EXTERNAL_CREATE_PENDING, names.EXTERNAL_CREATE_SUCCEEDED, names.EXTERNAL_CREATE_FAILED),
            YEAR_9999,
        )
    },
    "an odd name": {"annotations": {names.EXTERNAL_NAME: "../\x00\ud800 🐘"}},
    "a condition of another shape": {"status": {"conditions": [{"type": "Ready", "status": 5}]}},
    "a condition without a type": {"status": {"conditions": [{"status": "True"}]}},
    "a condition at no time": {
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "yesterday"}
            ]
        },
        "annotations": {names.EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:00Z"},
    },
    "strange labels": {"labels": {"": LARGE}},
    "a pause of 200 kB": {"annotations": {names.PAUSED: LARGE}},
    "a request to reconcile of 200 kB": {"annotations": {names.RECONCILE_REQUESTED_AT: LARGE}},
    "a deletion policy nobody knows": {"deletionPolicy": LARGE},
    "a deletion policy that is a list": {"deletionPolicy": [["Delete"]]},
    "connection details for a store": {"publishConnectionDetailsTo": {"name": 5}},
    "a reference to a provider config of no shape": {"providerConfigRef": {"kind": 5, "name": ["x"]}},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a poll interval of 200 kB": ({"annotations": {names.POLL_INTERVAL: LARGE}}, names.POLL_INTERVAL),
    "a poll interval of other digits": ({"annotations": {names.POLL_INTERVAL: "٣s"}}, names.POLL_INTERVAL),
    "a negative poll interval": ({"annotations": {names.POLL_INTERVAL: "-5m"}}, names.POLL_INTERVAL),
    "a name of 200 kB": ({"annotations": {names.EXTERNAL_NAME: LARGE}}, names.EXTERNAL_NAME),
    "a time of 200 kB": (
        {"annotations": {names.EXTERNAL_CREATE_FAILED: LARGE}},
        names.EXTERNAL_CREATE_FAILED,
    ),
    "a time without a zone": (
        {"annotations": {names.EXTERNAL_CREATE_PENDING: "2026-01-01T00:00:00"}},
        names.EXTERNAL_CREATE_PENDING,
    ),
    "policies nobody knows": ({"managementPolicies": ["*", LARGE]}, "managementPolicies"),
    "policies that are a number": ({"managementPolicies": 5}, "reconcile failed"),
    "a Secret without a name": (
        {"writeConnectionSecretToRef": {"namespace": "shop"}},
        "spec.writeConnectionSecretToRef.name",
    ),
    "a Secret whose name climbs": (
        {"writeConnectionSecretToRef": {"name": "../../kube-system/secrets/x"}},
        "spec.writeConnectionSecretToRef.name",
    ),
    "a Secret whose name is large": (
        {"writeConnectionSecretToRef": {"name": LARGE}},
        "spec.writeConnectionSecretToRef.name",
    ),
}
DETAILS = Observation(True, conditions=(conditions.available(),), connection_details={"a": b"x"})


def beside(mr: dict[str, Any]) -> World:
    given = HELD_MR | mr
    annotations = HELD_MR["annotations"] | mr.get("annotations", {})
    world = World(toy(**given | {"annotations": annotations}))
    world.external.toys = {annotations[names.EXTERNAL_NAME]: 1}
    world.external.observation = DETAILS
    return world


@pytest.mark.parametrize("name", WORKS)
def test_hostile_values_that_mean_nothing_change_nothing(name: str) -> None:
    world = beside(WORKS[name])
    outcome = world.reconcile()
    assert outcome is not None
    assert (outcome.next, outcome.failed) == (Next.AFTER, False)
    assert outcome.seconds <= LONGEST_WAIT
    assert conditions_of(world.mr) == {"Ready": "True/Available", "Synced": "True/ReconcileSuccess"}


def test_a_condition_that_is_none_hides_nothing_that_has_to_be_done() -> None:
    world = beside({"status": {"conditions": [{"type": "Ready", "status": 5}]}})
    world.external.toys = {}
    world.reconcile()
    assert world.external.created == 1


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_values_are_refused_with_the_name_of_the_field(name: str) -> None:
    mr, field = REFUSED[name]
    world = beside(mr)
    outcome = world.reconcile()
    assert outcome is not None
    assert outcome.failed
    (synced,) = [c for c in world.status()["conditions"] if c["type"] == "Synced"]
    assert synced["status"] == "False"
    assert field in synced["message"]
    assert len(synced["message"]) < 1_000 or name == "policies nobody knows"


def test_no_annotation_is_forgotten() -> None:
    asked = [*WORKS.values(), *(mr for mr, _ in REFUSED.values())]
    written = {name for mr in asked for name in mr.get("annotations", {})}
    assert set(transform._ANNOTATIONS) <= written


@pytest.mark.parametrize("moment", [YEAR_9999, "2026-01-01T01:00:00Z"])
def test_a_creation_in_the_future_is_not_waited_for(moment: str) -> None:
    succeeded = {
        names.EXTERNAL_CREATE_SUCCEEDED: moment,
        names.EXTERNAL_CREATE_PENDING: "2025-01-01T00:00:00Z",
    }
    world = beside({"annotations": succeeded})
    world.external.toys = {}
    world.reconcile()
    assert world.external.created == 1
    world = beside({"annotations": succeeded, "deleted": True})
    world.external.toys = {}
    world.reconcile()
    assert world.mr is None


# Texts.


def test_texts_are_cut_on_characters_and_bytes() -> None:
    assert cut("x" * LONGEST_MESSAGE) == "x" * LONGEST_MESSAGE
    assert cut("🐘" * LONGEST_MESSAGE + "x") == "🐘" * (LONGEST_MESSAGE - 1) + "…"
    assert cut("a\ud800b") == "a?b"
    assert cut_bytes("🐘" * 256) == "🐘" * 256
    assert cut_bytes("🐘" * 257) == "🐘" * 255 + "…"
    assert len(cut_bytes("ü" * 1_000).encode()) <= 1_024


def test_a_message_that_is_too_long_is_cut_and_synced_written() -> None:
    world = beside({})
    world.external.refusing = {"observe": [ExternalError("🐘" * 40_000)] * 2}
    assert world.reconcile() is not None
    (synced,) = [c for c in world.status()["conditions"] if c["type"] == "Synced"]
    assert (synced["status"], len(synced["message"])) == ("False", LONGEST_MESSAGE)
    assert synced["message"].endswith("🐘…")
    before = len(world.journal)
    world.reconcile()
    assert not [entry for entry in world.journal[before:] if entry.startswith("status")], "nothing new"


def test_the_name_of_an_event_is_one_however_the_objects_name_is_cut() -> None:
    obj = toy()
    for name in ("a" * 229 + "-" + "b" * 20, "a" * 228 + "-." + "b" * 20):
        obj["metadata"]["name"] = name
        told = _Told.of(Managed(obj), EventType.NORMAL, EventReason.CREATED, "m")
        assert told.key.name.startswith("a" * 228)
        assert all(part and part[-1] != "-" for part in told.key.name.split("."))


TOO_LARGE = [
    (413, "Request entity too large: limit is 3145728"),
    (500, "etcdserver: request is too large"),
    (
        500,
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097167 vs. 2)",
    ),
]


@pytest.mark.parametrize(
    ("field", "kind"), [("[]", TooLarge), ("data", TooLarge), ("spec.forProvider.name", Invalid)]
)
def test_a_config_map_of_more_than_a_mebibyte_is_too_large_and_a_long_field_is_not(
    field: str, kind: type[KubeError]
) -> None:
    """ConfigMap "x" is invalid: []: Too long: may not be more than 1048576 bytes."""
    causes = [{"reason": "FieldValueTooLong", "field": field, "message": "Too long"}]
    status = {"message": f"{field}: Too long", "reason": "Invalid", "details": {"causes": causes}}
    assert type(refusal(Operation("patch", CONFIG_MAPS), 422, status)) is kind


@pytest.mark.parametrize(("code", "words"), TOO_LARGE)
def test_a_status_that_is_too_large_is_told_in_synced(code: int, words: str) -> None:
    error = refusal(Operation("patch", TOYS, "status"), code, {"message": words})
    assert isinstance(error, TooLarge)
    world = beside(SETTLED_MR)
    world.external.observation = Observation(
        True, conditions=(conditions.available(),), at_provider={"a": LARGE}
    )
    for _ in range(2):
        world.objects.failing = {"status": [error]}
        outcome = world.reconcile()
        assert outcome is not None
        assert (outcome.next, outcome.failed) == (Next.REAL_BACKOFF, True)
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    assert len([entry for entry in world.journal if "Synced=False" in entry]) == 1, "told once"


def test_a_status_that_breaks_its_schema_is_told_in_synced() -> None:
    world = beside(SETTLED_MR)
    world.external.observation = Observation(True, conditions=(conditions.available(),), at_provider={"a": 1})
    world.objects.failing = {"status": [Invalid(Operation("patch", TOYS), 422, "status.atProvider.a: no")]}
    outcome = world.reconcile()
    assert outcome is not None
    assert (outcome.next, outcome.failed) == (Next.REAL_BACKOFF, True)
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"


def fits_its_schema(world: World) -> ManagedStatus:
    """What is stored, as the API server would take it."""
    status = world.mr.status
    return ManagedStatus.model_validate({name: status.get(name) for name in ("conditions", REQUEST_FIELD)})


REQUEST_FIELD = "lastHandledReconcileAt"


def test_a_request_of_any_length_is_noted_in_a_status_that_is_stored() -> None:
    world = beside(SETTLED_MR | {"annotations": {names.RECONCILE_REQUESTED_AT: LARGE}})
    world.reconcile()
    assert fits_its_schema(world).last_handled_reconcile_at == cut(LARGE, 256)
    before = len(world.journal)
    world.reconcile()
    assert not [entry for entry in world.journal[before:] if "Handled" in entry], "handled once"


@pytest.mark.parametrize("others", [1, 19, 20])
def test_conditions_of_others_leave_room_for_ours(others: int) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "No", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    forged = [{**ready, "type": f"Other{number}"} for number in range(others)]
    world = beside({"status": {"conditions": forged}})
    world.reconcile()
    told = [each.type for each in fits_its_schema(world).conditions]
    assert {"Ready", "Synced"} <= set(told)
    assert len(told) == min(20, others + 2)
    assert told[: min(others, 18)] == [each["type"] for each in forged][:18]


# Names in paths.


@pytest.mark.parametrize("name", ["../../kube-system/secrets/x", "a?b", "a#b", "a/b"])
def test_a_name_never_leads_to_another_object(api: Any, client: KubeClient, name: str) -> None:
    with pytest.raises(Exception, match="cannot get"):
        client.get(SECRETS, ObjectKey("shop", name))
    (request,) = api.requests
    assert request[1].startswith("/api/v1/namespaces/shop/secrets/")
    assert request[1].count("/") == 6
    assert request[2] == {}


@pytest.mark.parametrize(
    "key", [ObjectKey("shop", ".."), ObjectKey("shop", "."), ObjectKey("..", "a"), ObjectKey("a", "")]
)
def test_a_name_that_is_none_is_refused_before_it_is_sent(
    api: Any, client: KubeClient, key: ObjectKey
) -> None:
    for call in (lambda: client.get(SECRETS, key), lambda: client.patch(SECRETS, key, {})):
        with pytest.raises(Invalid):
            call()
    assert api.requests == []


# Errors.


def test_errors_are_values() -> None:
    error = ExternalError("no", conditions=[conditions.deleting()], retry=Retry.poll())
    for name in ("message", "conditions", "retry", "made_nothing"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(error, name, ())
    with pytest.raises(AttributeError):
        NotYet("later", after=1.0).after = 2.0
    other = error.but(conditions=(), made_nothing=True)
    assert (other.message, other.conditions, other.retry, other.made_nothing) == (
        "no",
        (),
        Retry.poll(),
        True,
    )
    assert error.conditions == (conditions.deleting(),)
    assert not error.made_nothing


# A status that another client wrote.

JUNK = {
    "no object": "broken",
    "a list": [1],
    "conditions that are no list": {"conditions": {"type": "Ready"}},
    "conditions that are text": {"conditions": "Ready"},
    "conditions that are none": {"conditions": [1, "Ready", None, [], {}, {"type": 5}, {"type": ["Ready"]}]},
    "fields of other types": {
        "conditions": [{"type": "Ready", "status": ["True"], "reason": 7, "message": {}}],
        "atProvider": "gone",
        "observedGeneration": "two",
        "lastHandledReconcileAt": {},
    },
    "a message that is a number": {
        "conditions": [
            {"type": "Synced", "status": "True", "reason": "x", "message": 5, "lastTransitionTime": 5}
        ]
    },
}


@pytest.mark.parametrize("deleted", [False, True], ids=["lives", "deleted"])
@pytest.mark.parametrize("generated", [False, True], ids=["deterministic", "generated"])
@pytest.mark.parametrize("status", JUNK.values(), ids=JUNK)
def test_a_stored_status_that_is_none_is_written_anew(status: Any, generated: bool, deleted: bool) -> None:
    """Rule: status.invalid"""
    world = World(toy(**HELD_MR, status=status, deleted=deleted), GENERATED if generated else None)
    world.external.toys = {"acme": 1}
    world.settle()
    assert not [line for line in world.journal if "Warning" in line]
    if deleted:
        assert world.mr is None
        return
    assert conditions_of(world.mr) == {"Ready": "True/Available", "Synced": "True/ReconcileSuccess"}
    assert all(isinstance(Condition.model_validate(c).message, str) for c in world.status()["conditions"])


@pytest.mark.parametrize("status", JUNK.values(), ids=JUNK)
def test_a_status_that_is_none_raises_nowhere(status: Any) -> None:
    """Rule: status.invalid"""
    mr = Managed(toy(status=status, annotations={names.PAUSED: "true"}))
    assert (mr.condition("Ready"), mr.deletion_began, is_true(mr.raw, "Ready")) == (None, False, False)
    assert mr.at_provider == {}
    config = {"metadata": {"name": "ours"}, "status": status}
    assert config_status.patch_for(config, {"users": 1}, now=utc_now())["users"] == 1
    assert config_status.is_news(config, used=True)
