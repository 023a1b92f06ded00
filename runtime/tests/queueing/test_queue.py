"""The work queue under a clock that the test moves."""

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.queueing.lanes import Lane
from edgetenants_runtime.queueing.queue import Priority, WorkQueue


class Middle(random.Random):
    """Jitter without chance: always the middle."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def real() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock, real: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock, Middle(), real_clock=real)


def ready(queue: WorkQueue[str]) -> list[str]:
    keys = []
    while (key := queue.get(block=False)) is not None:
        keys.append(key)
        queue.done(key)
    return keys


def test_a_key_added_often_is_handed_out_once(queue: WorkQueue[str]) -> None:
    for _ in range(3):
        queue.add("a")
    assert ready(queue) == ["a"]


def test_a_key_in_processing_is_handed_out_once_more_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert queue.get() == "a"
    queue.add("a")
    queue.add("a", Priority.POLL)
    assert queue.get(block=False) is None
    queue.done("a")
    assert ready(queue) == ["a"]


def test_changes_go_first_and_polls_are_not_starved(queue: WorkQueue[str]) -> None:
    for n in range(10):
        queue.add(f"poll{n}", Priority.POLL)
        queue.add(f"change{n}", Priority.CHANGE)
    order = ready(queue)
    assert order[:6] == ["change0", "change1", "change2", "change3", "poll0", "change4"]
    assert len(order) == 20


def test_the_order_is_changes_deletions_drift_polls(queue: WorkQueue[str]) -> None:
    for priority in Priority:
        queue.add(priority.name, priority)
    assert queue.depths == dict.fromkeys(Priority, 1)
    assert ready(queue) == ["CHANGE", "DELETION", "DRIFT", "POLL"]


@pytest.mark.parametrize("waiting", [Priority.POLL, Priority.DRIFT, Priority.DELETION])
def test_no_priority_waits_for_ever_whatever_the_others_have(
    queue: WorkQueue[str], waiting: Priority
) -> None:
    queue.add("waits", waiting)
    others = [each for each in Priority if each is not waiting]
    order = []
    while "waits" not in order:
        for priority in others:
            queue.add(f"{priority.name} {len(order)}", priority)
        key = queue.get(block=False)
        assert key is not None
        queue.done(key)
        order.append(key)
    # Several may have their turn at once; the lowest goes first.
    assert len(order) <= queue.PASSED_OVER[waiting] + len(others)


def test_while_all_wait_each_has_its_part(queue: WorkQueue[str]) -> None:
    served: Counter[str] = Counter()
    for number in range(1_000):
        for priority in Priority:
            queue.add(f"{priority.name} {number}", priority)
        key = queue.get(block=False)
        assert key is not None
        queue.done(key)
        served[key.partition(" ")[0]] += 1
    assert served["CHANGE"] > served["DELETION"] > served["DRIFT"] > 90
    assert served["CHANGE"] >= 480
    assert served["POLL"] == 200


def test_the_turn_of_a_priority_begins_when_a_key_waits(queue: WorkQueue[str]) -> None:
    for n in range(10):
        queue.add(f"change{n}")
    assert [queue.get(block=False) for _ in range(8)][-1] == "change7"
    queue.add("poll", Priority.POLL)
    assert ready(queue) == ["change8", "change9", "poll"]


@pytest.mark.parametrize("raised", [Priority.DRIFT, Priority.DELETION, Priority.CHANGE])
def test_a_raised_priority_counts(queue: WorkQueue[str], raised: Priority) -> None:
    queue.add("a", Priority.POLL)
    queue.add("b", Priority.POLL)
    queue.add("b", raised)
    queue.add("b", Priority.POLL)
    assert len(queue) == 2
    assert ready(queue) == ["b", "a"]


@pytest.mark.parametrize("put", ["retry", "retry_real", "add_soon"])
def test_what_comes_again_has_its_priority(
    queue: WorkQueue[str], clock: FakeClock, real: FakeClock, put: str
) -> None:
    queue.add_after("b", 1)
    getattr(queue, put)("a", Priority.DRIFT)
    clock.advance(2)
    real.advance(2)
    assert queue.get(block=False) == "a"
    assert queue.depths[Priority.POLL] == 1


def test_the_earliest_delay_wins(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 10)
    queue.add_after("a", 3)
    queue.add_after("a", 7)
    clock.advance(2.9)
    assert ready(queue) == []
    clock.advance(0.2)
    assert ready(queue) == ["a"]
    clock.advance(100)
    assert ready(queue) == []


def test_a_key_that_is_processed_often_and_waits_for_long_fills_no_memory(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add_after("soon", 1)
    for _ in range(1000):
        queue.add_after("late", 720 * 3600)
        queue.add("late")
        assert ready(queue) == ["late"]
    assert len(queue._delays._heap) < 200
    clock.advance(1)
    assert ready(queue) == ["soon"]


def test_processing_drops_the_delays_that_it_makes_needless(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 5)
    queue.add("a")
    assert ready(queue) == ["a"]
    clock.advance(10)
    assert ready(queue) == []


def test_a_delay_asked_for_during_processing_stays(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.get()
    queue.add_after("a", 5)
    queue.done("a")
    clock.advance(5)
    assert ready(queue) == ["a"]


def test_a_key_that_falls_due_in_processing_comes_afterwards(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.get()
    queue.add_after("a", 5)
    clock.advance(5)
    assert queue.get(block=False) is None
    queue.done("a")
    assert ready(queue) == ["a"]


def test_back_off_doubles_to_a_bound_and_is_forgotten(queue: WorkQueue[str]) -> None:
    delays = [queue.retry("a") for _ in range(8)]
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]
    queue.forget("a")
    assert queue.retry("a") == 1


def test_back_off_is_jittered_and_per_key(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock, random.Random(1))
    first = {queue.retry(f"k{n}") for n in range(20)}
    assert len(first) == 20
    assert all(0.8 <= delay <= 1.2 for delay in first)


def test_real_delays_ignore_the_injected_clock(
    queue: WorkQueue[str], clock: FakeClock, real: FakeClock
) -> None:
    queue.retry_real("a")
    clock.advance(100)
    assert ready(queue) == []
    real.advance(1)
    assert ready(queue) == ["a"]


def test_a_removed_key_is_let_go(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.retry("a")
    queue.remove("a")
    clock.advance(100)
    assert ready(queue) == []
    assert queue.delayed == 0
    assert queue.retry("a") == 1


def test_a_step_of_the_clock_wakes_a_worker(queue: WorkQueue[str], clock: FakeClock) -> None:
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get()))
    worker.start()
    queue.add_after("a", 3600)
    while worker.is_alive():
        clock.advance(3600)
        worker.join(0.01)
    assert got == ["a"]


def test_a_real_delay_wakes_a_worker_while_the_injected_clock_stands_still(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock, Middle())
    queue.add_after("never", 3600)
    queue.add_after_real("a", 0.02)
    assert queue.get() == "a"


def test_a_shorter_real_delay_does_not_wait_for_a_longer_one(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock, Middle())
    queue.add_after_real("late", 3600)
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get()))
    worker.start()
    while queue._alarm is None:
        worker.join(0.005)
    queue.add_after_real("soon", 0.02)
    worker.join(5)
    assert got == ["soon"]
    queue.shutdown()


def test_shutdown_wakes_workers_and_waits_for_those_under_way(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    assert queue.get() == "a"
    got: list[str | None] = []
    assert queue.get() == "b"
    idle = threading.Thread(target=lambda: got.append(queue.get()))
    idle.start()
    queue.add("a")
    assert queue.shutdown(drain=0.0) is False
    idle.join(5)
    assert got == [None]
    queue.done("a")
    threading.Timer(0.02, queue.done, ["b"]).start()
    assert queue.shutdown(drain=5.0) is True
    assert ready(queue) == []


def test_many_workers_never_share_a_key() -> None:
    queue: WorkQueue[int] = WorkQueue(FakeClock(), random.Random(1))
    busy, seen, clashes = set(), [], []
    lock = threading.Lock()

    def work() -> None:
        while (key := queue.get()) is not None:
            with lock:
                (clashes if key in busy else seen).append(key)
                busy.add(key)
            queue.add(key) if len(seen) < 200 else None
            with lock:
                busy.discard(key)
            queue.done(key)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for n in range(5):
        queue.add(n)
    while len(seen) < 200:
        workers[0].join(0.01)
    queue.shutdown(drain=1)
    for worker in workers:
        worker.join(5)
    assert clashes == []


# Fair shares.


def shared(clock: FakeClock) -> WorkQueue[str]:
    """Keys of the form share/name."""
    return WorkQueue(clock, Middle(), share=lambda key: key.partition("/")[0])


def test_one_among_ten_thousand_of_another_share_is_next_but_one(clock: FakeClock) -> None:
    queue = shared(clock)
    for n in range(10_000):
        queue.add(f"big/{n}", Priority.POLL)
    queue.add("small/1", Priority.POLL)
    assert [queue.get(), queue.get(), queue.get()] == ["big/0", "small/1", "big/1"]


def test_a_raised_priority_leaves_its_place_in_the_other_lane(clock: FakeClock) -> None:
    queue = shared(clock)
    for key in ("a/1", "b/1", "a/2"):
        queue.add(key, Priority.POLL)
    queue.add("a/1", Priority.CHANGE)
    assert ready(queue) == ["a/1", "a/2", "b/1"]


ADDED = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 8), st.booleans()), max_size=80)


@settings(deadline=None)
@given(ADDED)
def test_shares_take_turns_and_keep_their_order(added: list[tuple[str, int, bool]]) -> None:
    lane: Lane[tuple[str, int]] = Lane(lambda key: key[0])
    waiting: dict[str, list[tuple[str, int]]] = {}
    for share, number, take_out in added:
        key = (share, number)
        if take_out:
            lane.discard(key)
            if key in waiting.get(share, []):
                waiting[share].remove(key)
        else:
            lane.put(key)
            if key not in waiting.setdefault(share, []):
                waiting[share].append(key)
    popped = [lane.pop() for _ in range(len(lane))]
    # Within a share, the order of arrival.
    for share, keys in waiting.items():
        assert [k for k in popped if k[0] == share] == keys
    # Between shares: one that waits is passed over at most once by each other share before its next turn.
    for position, key in enumerate(popped):
        before = [k[0] for k in popped[:position]]
        own = before.count(key[0])
        assert all(before.count(share) <= own + 1 for share in waiting)
    with pytest.raises(KeyError):
        lane.pop()


class Counts:
    def __init__(self) -> None:
        self.told: list[str] = []

    def added(self) -> None:
        self.told.append("added")

    def started(self, waited: float) -> None:
        self.told.append(f"started after {waited:g}")

    def ended(self, worked: float) -> None:
        self.told.append(f"ended after {worked:g}")

    def retried(self) -> None:
        self.told.append("retried")


def test_what_happens_is_told_in_real_seconds(clock: FakeClock, real: FakeClock) -> None:
    counts = Counts()
    queue: WorkQueue[str] = WorkQueue(clock, Middle(), real_clock=real, tally=counts)
    queue.add("a")
    queue.add("a")
    real.advance(2)
    queue.get()
    real.advance(3)
    assert queue.processing == [3]
    queue.add("a")
    queue.done("a")
    queue.retry("a")
    assert counts.told == ["added", "started after 2", "added", "ended after 3", "retried"]
    assert queue.processing == []


def test_a_shut_down_queue_forgets_what_would_have_come_again(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.shutdown()
    queue.done("a")
    assert len(queue) == 0


def test_soon_is_a_moment_of_real_time(queue: WorkQueue[str], real: FakeClock) -> None:
    queue.add_soon("a")
    assert ready(queue) == []
    real.advance(0.2)
    assert ready(queue) == ["a"]


# No share has all workers.


@pytest.fixture
def bounded(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock, Middle(), share=lambda key: key.partition("/")[0], workers=4)


def taken(queue: WorkQueue[str]) -> list[str | None]:
    """What so many free workers get."""
    return [queue.get(block=False) for _ in range(4)]


@pytest.mark.parametrize("priority", Priority)
def test_a_share_has_so_many_workers_and_no_more(bounded: WorkQueue[str], priority: Priority) -> None:
    for number in range(5):
        bounded.add(f"busy/{number}", priority)
    assert taken(bounded) == ["busy/0", "busy/1", None, None]
    bounded.add("other/0", Priority.POLL)
    assert bounded.get(block=False) == "other/0"
    assert len(bounded) == 3, "the others wait"
    bounded.done("busy/0")
    assert taken(bounded) == ["busy/2", None, None, None]


def test_a_share_that_has_none_finds_a_worker_beside_several_busy_ones() -> None:
    """Who has two namespaces, or three, has not all workers either."""
    queue: WorkQueue[str] = WorkQueue(
        FakeClock(), Middle(), share=lambda key: key.partition("/")[0], workers=16
    )
    for share, number in itertools.product("abc", range(20)):
        queue.add(f"{share}/{number}")
    busy = Counter(key.partition("/")[0] for key in iter(lambda: queue.get(block=False), None))
    assert sum(busy.values()) < 16
    assert min(busy.values()) >= 3
    queue.add("other/0", Priority.POLL)
    assert queue.get(block=False) == "other/0"


def test_one_worker_serves_all_shares() -> None:
    queue: WorkQueue[str] = WorkQueue(FakeClock(), Middle(), workers=1)
    queue.add("a")
    assert queue.get(block=False) == "a"


def test_what_waits_for_its_share_keeps_low_priority_from_nothing(bounded: WorkQueue[str]) -> None:
    for number in range(9):
        bounded.add(f"busy/{number}")
    bounded.add("other/low", Priority.POLL)
    assert taken(bounded) == ["busy/0", "busy/1", "other/low", None]


def test_what_takes_too_long_counts_no_more(bounded: WorkQueue[str]) -> None:
    """Else a namespace with hanging reconciles would stand still."""
    for number in range(5):
        bounded.add(f"busy/{number}")
    assert taken(bounded) == ["busy/0", "busy/1", None, None]
    bounded.set_aside("busy/0")
    assert taken(bounded) == ["busy/2", None, None, None]
    bounded.done("busy/0")
    assert taken(bounded) == [None] * 4, "it was not counted twice"


def test_a_worker_that_waits_gets_what_its_share_may_have_again(bounded: WorkQueue[str]) -> None:
    for number in range(3):
        bounded.add(f"busy/{number}")
    taken(bounded)
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(bounded.get()))
    worker.start()
    bounded.done("busy/1")
    worker.join(5)
    assert got == ["busy/2"]


# Work that waits in its worker.


def held(queue: WorkQueue[str], *, low: int, high: int = 0) -> list[str]:
    """Have so many keys in processing, each of which waits in its worker."""
    for number in range(low):
        queue.add(f"low{number}/a", Priority.POLL)
    for number in range(high):
        queue.add(f"high{number}/a")
    keys = [str(queue.get(block=False)) for _ in range(low + high)]
    for key in keys:
        queue.hold(key, True)
    return sorted(keys, reverse=True)


@pytest.fixture
def sixteen(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock, Middle(), share=lambda key: key.split("/")[0], workers=16)


def free_for(queue: WorkQueue[str], priority: Priority) -> int:
    """How many of the other workers get a key of another share."""
    others = (queue._workers or 0) - len(queue.processing)
    for number in range(16):
        queue.add(f"more{number}/a", priority)
    return sum(queue.get(block=False) is not None for _ in range(others))


@pytest.mark.parametrize(
    ("low", "high", "priority", "free"),
    [
        (8, 0, Priority.POLL, 4),
        (8, 0, Priority.DRIFT, 4),
        (8, 0, Priority.DELETION, 8),
        (8, 0, Priority.CHANGE, 8),
        (7, 0, Priority.POLL, 9),
        (8, 4, Priority.POLL, 0),
        (8, 4, Priority.CHANGE, 4),
        (0, 12, Priority.POLL, 4),
    ],
)
def test_polls_that_wait_leave_a_quarter_of_the_workers_to_changes(
    sixteen: WorkQueue[str], low: int, high: int, priority: Priority, free: int
) -> None:
    held(sixteen, low=low, high=high)
    assert free_for(sixteen, priority) == free


@pytest.mark.parametrize("ends", ["goes on", "done", "set aside"])
def test_polls_get_all_workers_again_when_the_others_wait_no_more(sixteen: WorkQueue[str], ends: str) -> None:
    low = held(sixteen, low=8, high=4)
    sixteen.add("more/a", Priority.POLL)
    assert sixteen.get(block=False) is None
    found: list[str | None] = []
    worker = threading.Thread(target=lambda: found.append(sixteen.get()), daemon=True)
    worker.start()
    match ends:
        case "goes on":
            sixteen.hold(low[0], False)
            assert sixteen.priority_of(low[0]) is Priority.POLL
        case "done":
            sixteen.done(low[0])
            sixteen.hold(low[0], True)
            assert sixteen.priority_of(low[0]) is Priority.CHANGE, "as that of what is in no worker"
        case _:
            sixteen.set_aside(low[0])
            sixteen.hold(low[0], True)
    worker.join(5)
    assert found == ["more/a"]


@pytest.mark.parametrize("ends", [WorkQueue.done, WorkQueue.set_aside])
def test_what_has_ended_waits_no_more(sixteen: WorkQueue[str], ends: Callable[..., None]) -> None:
    low = held(sixteen, low=8, high=4)
    ends(sixteen, low[0])
    sixteen.hold(low[0], True)
    sixteen.add("change/a")
    assert sixteen.get(block=False) == "change/a"
    sixteen.add("more/a", Priority.POLL)
    assert sixteen.get(block=False) == "more/a", "seven wait"


def test_few_workers_wait_as_they_like(clock: FakeClock) -> None:
    for workers in (1, 2, 3):
        queue: WorkQueue[str] = WorkQueue(clock, Middle(), share=lambda key: key, workers=workers)
        held(queue, low=workers - 1)
        assert free_for(queue, Priority.POLL) == 1
