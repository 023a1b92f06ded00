"""Who is reconciled first, among 5,000 busy namespaces, on a clock that only the reconciles move."""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock, rfc3339
from edgetenants_runtime.kube.cache import Cache, ChangeType, ObjectChange
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.process.controller import BY_PROVIDER_CONFIG, Controller, Instruments, Limits
from edgetenants_runtime.process.controller import by_provider_config as config_of
from edgetenants_runtime.process.metrics import Metrics
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority, WorkQueue
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import TOYS
from edgetenants_runtime.testing.cases import SETTLED, ready, synced

WORKERS = 16
SECONDS = 0.2
"""Of a reconcile on average."""
RATE = WORKERS / SECONDS
NAMESPACES = 5_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)

POLLED = Outcome(Next.AFTER, 10.0, settled=True)
"""5,000 of these are always due: the workers have 800 polls in that time."""
CHANGED = Outcome(Next.AFTER, 1.0, made=Priority.CHANGE)
FOLLOWED = Outcome(Next.AFTER, 1.0)
FAILED = Outcome(Next.BACKOFF, failed=True, made=Priority.CHANGE)
CREATION = [CHANGED, FOLLOWED, Outcome(Next.BACKOFF), Outcome(Next.REAL_BACKOFF), FOLLOWED, POLLED]
"""A creation, its roll-out, a dependency that is not ready, an API server that does not respond."""


class Middle(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def toy(namespace: str, name: str = "a", *, status: Any = None, **metadata: Any) -> dict[str, Any]:
    own = {"namespace": namespace, "name": name, "uid": f"{namespace}/{name}", "generation": 1}
    obj = {"apiVersion": TOYS.api_version, "kind": TOYS.kind, "metadata": own | metadata, "spec": {}}
    return obj | ({} if status is None else {"status": status})


class Stage:
    """The workers of one controller, without threads."""

    def __init__(self) -> None:
        self.clock, self.cache = FakeClock(), Cache({BY_PROVIDER_CONFIG: config_of})
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            self.clock, Middle(), real_clock=self.clock, share=lambda key: key.namespace, workers=WORKERS
        )
        informer: Any = SimpleNamespace(cache=self.cache, add_handler=lambda _: None)
        metrics, reconciler = Metrics(), SimpleNamespace(reconcile=self._reconcile, forget=lambda _: None)
        reconciler.makes = lambda _: False
        self.controller = Controller(
            TOYS,
            informer,
            self.queue,
            reconciler,  # type: ignore[arg-type]
            limits=Limits(WORKERS, clock=self.clock, now=self.now),
            instruments=Instruments(metrics.controller("toys", WORKERS), metrics.managed(TOYS)),
        )
        self.controller._active = True
        self.plans: dict[ObjectKey, Iterator[Outcome]] = {}
        self.usual: dict[str, Outcome] = {}
        """By namespace: the outcome of reconciles without a plan, if it is not that of a poll."""
        self.after: Callable[[ObjectKey], None] = lambda _: None
        self.ended: Counter[str] = Counter()
        """Reconciles by namespace."""
        self.most: Counter[str] = Counter()
        """The most workers that each namespace had at once."""
        self._lasts = random.Random(1)
        self._running: list[tuple[float, int, ObjectKey]] = []
        self._order = itertools.count()
        self._versions = itertools.count(1)

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.clock.now())

    def _reconcile(self, mr: Managed) -> Outcome:
        planned = next(self.plans.get(mr.key, iter(())), None)
        return planned or self.usual.get(mr.namespace, POLLED)

    def tell(self, obj: dict[str, Any], *, listed: bool = False) -> ObjectKey:
        """The watch or a list delivers the object."""
        obj["metadata"]["resourceVersion"] = str(next(self._versions))
        for change in self.cache.changed(obj, listed=listed):
            self.controller.on_change(change)
        return Managed(obj).key

    def crowd(self) -> None:
        """Settled resources of 5,000 namespaces, each of which has been polled once or more."""
        for number in range(NAMESPACES):
            self.tell(toy(f"busy-{number}", status=SETTLED), listed=True)
        self.run(NAMESPACES / RATE + 5)

    def run(self, seconds: float) -> None:
        """Work for that many seconds."""
        end = self.clock.now() + seconds
        self.until(lambda: self.clock.now() >= end)

    def until(self, done: Callable[[], bool]) -> float:
        """Work until then; return how long it took."""
        began = self.clock.now()
        while not done():
            assert self.clock.now() < began + 10_000
            self._step()
        return self.clock.now() - began

    def new(self) -> float:
        """Seconds until a new resource in a new namespace has gone through its creation."""
        plan = list(CREATION)
        key = self.tell(toy("new"))
        self.plans[key] = iter(plan)
        return self.until(lambda: self.ended["new"] >= len(plan))

    def _step(self) -> None:
        while len(self._running) < WORKERS and (key := self.queue.get(block=False)) is not None:
            # Not all the same, or all workers would be free at the same moments.
            lasts = SECONDS if key.namespace == "new" else self._lasts.uniform(0.5, 1.5) * SECONDS
            heapq.heappush(self._running, (self.clock.now() + lasts, next(self._order), key))
            busy = sum(other.namespace == key.namespace for _, _, other in self._running)
            self.most[key.namespace] = max(self.most[key.namespace], busy)
        due = [self.queue._delays.next_due(), self.queue._real_delays.next_due()]
        moments = [each for each in due if each is not None and len(self._running) < WORKERS]
        ends = self._running[0][0] if self._running else float("inf")
        moment = min([ends, *moments])
        self.clock.advance(max(0.0, moment - self.clock.now()))
        if moment == ends:
            _, _, key = heapq.heappop(self._running)
            self.controller._attempt(key)
            self.queue.done(key)
            self.ended[key.namespace] += 1
            self.after(key)


@pytest.fixture(autouse=True)
def without_logs() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture(scope="module")
def alone() -> float:
    """Seconds for a new resource with nothing else to do."""
    return Stage().new()


def test_a_new_resource_among_5000_busy_namespaces_is_nearly_as_fast_as_alone(
    stage: Stage, alone: float
) -> None:
    stage.crowd()
    took = stage.new()
    print(f"alone {alone:.1f} s, among {NAMESPACES} busy namespaces {took:.1f} s")
    assert took <= 1.5 * alone


def fails_for_ever(stage: Stage, key: ObjectKey) -> None:
    stage.usual[key.namespace] = FAILED


def rolls_out_for_ever(stage: Stage, key: ObjectKey) -> None:
    stage.usual[key.namespace] = Outcome(Next.AFTER, 0.0, made=Priority.CHANGE)


def is_edited_in_a_loop(stage: Stage, key: ObjectKey) -> None:
    counter = itertools.count()

    def edit(ended: ObjectKey) -> None:
        if ended.namespace.startswith("hostile"):
            stage.tell(toy(ended.namespace, ended.name, annotations={"x": str(next(counter))}))

    stage.after = edit


HOSTILE = [fails_for_ever, rolls_out_for_ever, is_edited_in_a_loop]


@pytest.mark.parametrize("namespaces", [1, 5])
@pytest.mark.parametrize("act", HOSTILE)
def test_what_never_settles_keeps_neither_changes_nor_polls_of_others_away(
    stage: Stage, alone: float, act: Callable[[Stage, ObjectKey], None], namespaces: int
) -> None:
    stage.crowd()
    hostile = [f"hostile-{number}" for number in range(namespaces)]
    for namespace, number in itertools.product(hostile, range(1_000 // namespaces)):
        act(stage, stage.tell(toy(namespace, str(number))))
    stage.run(10)
    before, began = stage.ended.copy(), stage.clock.now()
    stage.most.clear()
    took = stage.new()
    stage.run(70)
    worked = stage.ended - before
    assert took <= 1.5 * alone
    # The others take all other workers.
    assert all(stage.most[each] <= 1 for each in hostile)
    polls = sum(count for namespace, count in worked.items() if namespace.startswith("busy"))
    possible = (stage.clock.now() - began) * RATE
    assert polls >= possible * (1 - (namespaces + 1) / WORKERS)
    assert sum(namespace.startswith("busy") for namespace in worked) > 0.6 * NAMESPACES


def test_what_never_settles_is_polled_in_turn_after_a_while(stage: Stage) -> None:
    for number in range(100):
        rolls_out_for_ever(stage, stage.tell(toy("hostile", str(number))))
    stage.run(200)
    for number in range(50):
        stage.tell(toy(f"busy-{number}", status=SETTLED), listed=True)
        stage.usual[f"busy-{number}"] = Outcome(Next.AFTER, 0.0, settled=True)
    stage.run(5)
    before = stage.ended.copy()
    stage.run(60)
    worked = stage.ended - before
    # A little more: its keys wait in line already while one of them is reconciled.
    assert worked["hostile"] <= 1.5 * min(worked[f"busy-{number}"] for number in range(50))


def test_changes_of_thousands_leave_a_fifth_of_the_work_to_polls(stage: Stage) -> None:
    for number in range(2_000):
        stage.tell(toy(f"busy-{number}", status=SETTLED), listed=True)
        rolls_out_for_ever(stage, stage.tell(toy(f"rolls-{number}")))
    stage.run(100)
    polled = sum(count for namespace, count in stage.ended.items() if namespace.startswith("busy"))
    assert 0.19 * RATE * 100 < polled < 0.21 * RATE * 100


# After a restart, a fail-over or a lost watch.


def since(condition: dict[str, Any], ago: float) -> dict[str, Any]:
    return condition | {"lastTransitionTime": rfc3339(NOW - timedelta(seconds=ago))}


def says(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"conditions": list(conditions), "observedGeneration": 1}


GONE = "2025-12-31T23:50:00Z"
SYNCED, READY = synced("ReconcileSuccess", "True"), ready("Available", "True")
UNSYNCED, UNREADY = synced("ReconcileError"), ready("Creating", "False")


@pytest.mark.parametrize(
    ("obj", "priority"),
    [
        (toy("a", status=SETTLED), Priority.POLL),
        (toy("a"), Priority.CHANGE),
        (toy("a", status={"conditions": [READY]}), Priority.CHANGE),
        (toy("a", status=SETTLED, generation=2), Priority.CHANGE),
        (toy("a", status={**SETTLED, "observedGeneration": 0}), Priority.CHANGE),
        (toy("a", status={"conditions": [READY, SYNCED]}), Priority.POLL),
        (toy("a", status={"conditions": [READY, SYNCED]}, generation=2), Priority.CHANGE),
        (toy("a", status=says(since(UNREADY, 60), SYNCED)), Priority.CHANGE),
        (toy("a", status=says(READY, since(UNSYNCED, 60))), Priority.CHANGE),
        (toy("a", status=says(SYNCED)), Priority.CHANGE),
        (toy("a", status=says(since(UNREADY, 3700), SYNCED)), Priority.POLL),
        (toy("a", status=says(since(UNREADY, 3700), since(UNSYNCED, 60))), Priority.CHANGE),
        (toy("a", status=says(UNREADY | {"lastTransitionTime": "soon"}, SYNCED)), Priority.CHANGE),
        (toy("a", status=SETTLED, deletionTimestamp=GONE), Priority.DELETION),
        (toy("a", status=SETTLED, deletionTimestamp="2025-12-31T20:00:00Z"), Priority.POLL),
        (toy("a", status=SETTLED, deletionTimestamp="2025-12-31T20:00:00Z", generation=2), Priority.DELETION),
        (toy("a", generation=2, annotations={"crossplane.io/paused": "true"}), Priority.POLL),
        (toy("a", status={"conditions": "anything", "observedGeneration": "x"}), Priority.CHANGE),
    ],
)
def test_what_a_list_finds_has_the_priority_of_what_it_waits_for(
    stage: Stage, obj: dict[str, Any], priority: Priority
) -> None:
    stage.tell(obj, listed=True)
    assert [each for each, depth in stage.queue.depths.items() if depth] == [priority]


def test_what_a_list_found_to_be_edited_is_followed_among_the_polls(stage: Stage, alone: float) -> None:
    for number in range(NAMESPACES):
        stage.tell(toy(f"busy-{number}", status=SETTLED), listed=True)
    key = stage.tell(toy("edited", status=SETTLED, generation=2), listed=True)
    # Its first tries fail before they change anything.
    plan = [FOLLOWED, FOLLOWED, *CREATION]
    stage.plans[key] = iter(plan)
    assert stage.until(lambda: stage.ended["edited"] == len(plan)) <= 1.5 * (alone + 2)


# What follows.


def next_priority(stage: Stage) -> Priority:
    """The priority of the one key that waits for its time."""
    [(_, priority)] = [*stage.queue._delays._due.values(), *stage.queue._real_delays._due.values()]
    return priority


def reconciled(stage: Stage, key: ObjectKey, *outcomes: Outcome) -> Priority:
    """The priority after reconciles with these outcomes."""
    stage.plans[key] = iter(outcomes)
    for _ in outcomes:
        stage.queue.add(key, Priority.POLL)
        assert stage.queue.get(block=False) == key
        stage.controller._attempt(key)
        stage.queue.done(key)
    return next_priority(stage)


POLLED_SLOWLY = Outcome(Next.AFTER, 60.0, settled=True)
REPAIRED = Outcome(Next.AFTER, 60.0, made=Priority.DRIFT)


@pytest.mark.parametrize("outcome", [CHANGED, FOLLOWED, FAILED, *CREATION[:-1], Outcome(Next.SOON)])
def test_what_follows_a_change_has_its_priority_until_it_has_settled(stage: Stage, outcome: Outcome) -> None:
    key = stage.tell(toy("a"))
    assert reconciled(stage, key, outcome) is Priority.CHANGE
    assert reconciled(stage, key, POLLED_SLOWLY) is Priority.POLL
    if outcome.made is None and outcome.next is not Next.SOON:
        assert reconciled(stage, key, outcome) is Priority.POLL, "what fails without a change is a poll"


def test_what_follows_a_deletion_or_a_repair_has_the_priority_of_that(stage: Stage) -> None:
    key = stage.tell(toy("a", status=SETTLED))
    assert reconciled(stage, key, POLLED_SLOWLY) is Priority.POLL
    assert reconciled(stage, key, REPAIRED, FOLLOWED) is Priority.DRIFT
    stage.tell(toy("a", status=SETTLED, deletionTimestamp=GONE))
    assert reconciled(stage, key, Outcome(Next.AFTER, 5.0, made=Priority.DELETION)) is Priority.DELETION


def test_a_client_knows_how_urgent_its_reconcile_is_and_says_when_it_waits(stage: Stage) -> None:
    keys = [stage.tell(toy("a", status=SETTLED), listed=True), stage.tell(toy("b"))]
    seen = []

    def reconcile(mr: Managed) -> Outcome:
        with urgency.waiting():
            seen.append((mr.key, urgency.current().priority, set(stage.queue._held)))
        assert not stage.queue._held
        return POLLED

    reconciler: Any = stage.controller._reconciler
    reconciler.reconcile = reconcile
    stage.run(1)
    assert seen == [(keys[1], Priority.CHANGE, set()), (keys[0], Priority.POLL, {keys[0]})]
    assert urgency.current().priority is Priority.CHANGE, "what is no reconcile"


def test_an_unforeseen_error_keeps_the_priority(stage: Stage) -> None:
    key = stage.tell(toy("a"))
    stage.plans[key] = iter([Outcome(None)])  # type: ignore[arg-type]
    stage.controller._process = lambda _: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    stage.queue.get(block=False)
    stage.controller._attempt(key)
    assert next_priority(stage) is Priority.CHANGE


def test_a_change_that_our_own_write_took_in_is_followed(stage: Stage) -> None:
    key = stage.tell(toy("a", status=SETTLED), listed=True)
    assert reconciled(stage, key, Outcome(Next.SOON)) is Priority.CHANGE
    stage.cache.observed(toy("a", deletionTimestamp=GONE, finalizers=["x"], resourceVersion="99"))
    assert reconciled(stage, key, POLLED_SLOWLY, Outcome(Next.SOON), FOLLOWED) is Priority.DELETION


def test_what_a_process_leaves_to_the_leader_keeps_its_priority(stage: Stage) -> None:
    key = stage.tell(toy("a"))
    stage.controller._limits = replace(stage.controller._limits, may_act=lambda: False)
    assert reconciled(stage, key, POLLED) is Priority.CHANGE


def test_what_waits_for_another_leader_is_neither_reconciled_nor_followed(stage: Stage) -> None:
    stage.controller._active = False
    keys = [stage.tell(toy("a"), listed=True), stage.tell(toy("b"))]
    assert len(stage.queue) == 0
    assert [stage.controller._following.course(key) for key in keys] == [None, None]


def test_an_edit_during_a_reconcile_is_followed_although_that_one_found_all_settled(stage: Stage) -> None:
    key = stage.tell(toy("a"))
    stage.queue.get(block=False)
    edit = toy("a", generation=2)

    def meanwhile() -> Iterator[Outcome]:
        stage.tell(edit)
        yield POLLED_SLOWLY

    stage.plans[key] = meanwhile()
    stage.controller._attempt(key)
    stage.queue.done(key)
    assert stage.queue.depths[Priority.CHANGE] == 1
    assert stage.queue.get(block=False) == key
    stage.plans[key] = iter([FOLLOWED])
    stage.controller._attempt(key)
    assert next_priority(stage) is Priority.CHANGE


def test_a_change_of_the_config_hurries_only_what_awaits_it(stage: Stage) -> None:
    settled, waits = stage.tell(toy("a", status=SETTLED), listed=True), stage.tell(toy("b"))
    stage.plans[waits] = iter([FOLLOWED])
    stage.run(1)
    assert len(stage.queue) == 0
    stage.controller.on_config_change(Managed(stage.cache.get(settled) or {}).provider_config_ref)
    assert stage.queue.depths == {
        Priority.CHANGE: 1,
        Priority.DELETION: 0,
        Priority.DRIFT: 0,
        Priority.POLL: 1,
    }


def test_what_is_gone_is_not_followed(stage: Stage) -> None:
    key = stage.tell(toy("a"))
    stage.controller.on_change(ObjectChange(ChangeType.DELETED, key, stage.cache.get(key), None))
    assert stage.controller._following.course(key) is None


def test_what_goes_with_our_own_write_is_not_followed(stage: Stage) -> None:
    """The watch reports no deletion then."""
    key = stage.tell(toy("a", deletionTimestamp=GONE))

    def released() -> Iterator[Outcome]:
        stage.cache.deleted(toy("a"))
        yield Outcome(Next.NEVER)

    stage.plans[key] = released()
    stage.until(lambda: stage.ended["a"] == 1)
    assert stage.controller._following.course(key) is None


def test_a_client_that_notices_drift_goes_before_polls_and_after_deletions(stage: Stage) -> None:
    stage.tell(toy("poll", status=SETTLED), listed=True)
    drift = stage.tell(toy("drift", status=SETTLED), listed=True)
    stage.tell(toy("deletion", status=SETTLED, deletionTimestamp=GONE), listed=True)
    stage.tell(toy("change"))
    stage.controller.enqueue(drift, Priority.DRIFT)
    order = [key.namespace for key in iter(lambda: stage.queue.get(block=False), None)]
    assert order == ["change", "deletion", "drift", "poll"]


def test_what_a_client_notices_after_a_change_has_the_priority_of_the_change(stage: Stage) -> None:
    """It follows the roll-out itself, and the runtime does not poll."""
    key = stage.tell(toy("a"))
    stage.plans[key] = iter([Outcome(Next.AFTER, 300.0)])
    stage.until(lambda: stage.ended["a"] == 1)
    for priority in (Priority.DRIFT, Priority.POLL):
        stage.controller.enqueue(key, priority)
        ready = {each for each, waiting in stage.queue.depths.items() if waiting}
        assert ready == {Priority.CHANGE}
        assert stage.queue.get(block=False) == key
        stage.queue.done(key)


def test_a_client_chooses_the_priority_of_what_it_enqueues_for_later(stage: Stage) -> None:
    stage.controller.enqueue_after(ObjectKey("a", "a"), 1.0)
    assert next_priority(stage) is Priority.CHANGE
    stage.queue.remove(ObjectKey("a", "a"))
    stage.controller.enqueue_after(ObjectKey("a", "a"), 1.0, Priority.DRIFT)
    assert next_priority(stage) is Priority.DRIFT


def test_the_resources_of_another_process_are_left_to_it_until_they_are_ours(stage: Stage) -> None:
    theirs, forgotten = {"theirs"}, list[str]()
    stage.controller._limits = replace(stage.controller._limits, mine=lambda mr: mr.namespace not in theirs)
    reconciled = list[str]()
    reconciler: Any = stage.controller._reconciler
    reconciler.reconcile = lambda mr: reconciled.append(mr.namespace) or POLLED
    reconciler.forget = forgotten.append
    stage.tell(toy("ours"))
    stage.tell(toy("theirs"))
    stage.run(5)
    assert (set(reconciled), set(forgotten)) == ({"ours"}, {"theirs/a"})
    assert stage.queue.delayed == 1, "only ours is polled again"
    assert stage.controller._following.priority(ObjectKey("theirs", "a")) is Priority.POLL
    stage.controller.look_again()
    stage.run(1)
    assert "theirs" not in reconciled
    theirs.clear()
    stage.controller.look_again()
    stage.run(1)
    assert "theirs" in reconciled


def test_what_becomes_ours_while_it_is_looked_at_is_not_lost(stage: Stage) -> None:
    mine, reconciled = [False], list[str]()

    def decide(mr: Managed) -> bool:
        if not mine[0]:
            mine[0] = True
            stage.controller.look_again()
            return False
        return True

    stage.controller._limits = replace(stage.controller._limits, mine=decide)
    reconciler: Any = stage.controller._reconciler
    reconciler.reconcile = lambda mr: reconciled.append(mr.name) or POLLED
    stage.tell(toy("moved"))
    stage.run(5)
    assert reconciled == ["a"]
