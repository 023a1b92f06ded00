"""The election over an API server in memory, with clocks that the test moves: one for each process."""

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import LEASES
from edgetenants_runtime.kube.lease import LeaseLock
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.process.leader import Elector, Phase, Timing
from edgetenants_runtime.testing import FakeObjects, Journal

KEY = ObjectKey("crossplane-system", "provider-toys")
TIMING = Timing(lease=15, renew=10.0, retry=2.0)


class Middle(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return a


class Server(FakeObjects):
    """One API server for all; each process can be cut off from it."""

    def __init__(self) -> None:
        super().__init__(Journal())
        self.down = False

    @property
    def lease(self) -> dict[str, Any]:
        found = self.find(LEASES, KEY)
        assert found is not None
        return found["spec"]


class Line:
    """What one process sees of the server."""

    def __init__(self, server: Server) -> None:
        self.server, self.cut = server, False
        self.answers_lost = False

    def get(self, kind: Any, key: Any) -> Any:
        self.reach()
        return self.server.get(kind, key)

    def create(self, kind: Any, obj: Any) -> Any:
        self.reach()
        return self.lost(self.server.create(kind, obj))

    def patch(self, kind: Any, key: Any, patch: Any, *, subresource: str = "") -> Any:
        self.reach()
        return self.lost(self.server.patch(kind, key, patch))

    def reach(self) -> None:
        if self.cut:
            raise KubeError(Operation("get", LEASES), 0, "no route to host")

    def lost(self, answer: Any) -> Any:
        if self.answers_lost:
            raise KubeError(Operation("patch", LEASES), 0, "the answer was lost")
        return answer


class Process:
    def __init__(self, server: Server, name: str, timing: Timing = TIMING) -> None:
        self.line, self.clock, self.ended = (
            Line(server),
            FakeClock(start=hash(name) % 1000),
            threading.Event(),
        )
        self.stepped = timedelta(0)
        lock = LeaseLock(self.line, KEY, name)
        self.elector = Elector(
            lock, timing, on_lost=self.ended.set, rng=Middle(), clock=self.clock, wall=self.wall
        )

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.clock.now()) + self.stepped

    def attempt(self) -> bool:
        self.elector.attempt()
        return self.elector.leading


@pytest.fixture
def server() -> Server:
    return Server()


def test_the_first_leads_and_the_second_waits(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    assert [a.attempt(), b.attempt(), a.attempt(), b.attempt()] == [True, False, True, False]
    assert (server.lease["holderIdentity"], server.lease["leaseDurationSeconds"]) == ("a", 15)
    assert b.elector.leader == "a"


def test_a_silent_leader_is_followed_when_its_lease_is_over_seen_from_here(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    b.clock.advance(14.9)
    assert not b.attempt()
    b.clock.advance(0.2)
    assert b.attempt()
    assert (server.lease["holderIdentity"], server.lease["leaseTransitions"]) == ("b", 1)


@pytest.mark.parametrize("seconds", [15, 86_400, -15])
def test_a_leader_whose_machine_was_paused_does_nothing_before_it_has_renewed(
    server: Server, seconds: int
) -> None:
    """Its monotonic clock stood still meanwhile."""
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    a.stepped = timedelta(seconds=seconds)
    assert not a.elector.leading
    assert a.elector.phase is Phase.LEADING, "another one need not lead"
    assert a.attempt()
    b.clock.advance(16)
    assert not b.attempt()
    b.clock.advance(16)
    assert b.attempt()
    a.stepped *= 2
    assert not a.elector.leading
    assert not a.attempt()
    assert a.elector.phase is Phase.LOST


def test_what_the_lease_says_of_time_is_not_believed(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    stored = server.find(LEASES, KEY)
    assert stored is not None
    stored["spec"]["renewTime"] = "1999-01-01T00:00:00.000000Z"
    server.put(LEASES, stored)
    assert not b.attempt()


def test_each_renewal_counts_anew(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    for _ in range(10):
        a.attempt()
        b.attempt()
        b.clock.advance(14.0)
    assert b.elector.phase is Phase.WAITING


def test_the_others_wait_as_long_as_the_leader_says_not_as_they_would(server: Server) -> None:
    a, b = Process(server, "a", Timing(60, 40.0, 2.0)), Process(server, "b")
    a.attempt()
    b.attempt()
    b.clock.advance(30)
    assert not b.attempt()


def test_a_leader_stops_before_its_lease_is_over_whatever_its_threads_do(server: Server) -> None:
    a = Process(server, "a")
    a.attempt()
    a.clock.advance(9.9)
    assert a.elector.leading
    a.clock.advance(0.2)
    assert not a.elector.leading


def test_the_deadline_counts_from_when_the_renewal_was_sent(server: Server) -> None:
    a = Process(server, "a")
    a.attempt()
    # The answer takes five seconds; the others saw the Lease change at any moment within.
    slow = a.line.patch
    a.line.patch = lambda *x, **y: (slow(*x, **y), a.clock.advance(5))[0]  # type: ignore[method-assign]
    a.attempt()
    a.clock.advance(5.1)
    assert not a.elector.leading


def test_a_renewal_whose_answer_is_lost_does_not_cost_the_leadership(server: Server) -> None:
    a = Process(server, "a")
    a.attempt()
    a.line.answers_lost = True
    a.attempt()
    a.line.answers_lost = False
    a.clock.advance(2)
    a.attempt()
    a.attempt()
    a.clock.advance(9)
    assert a.elector.leading
    assert not a.ended.is_set()


def test_a_leader_that_finds_another_has_lost_at_once(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    b.clock.advance(15)
    assert b.attempt()
    with capture_logs() as logs:
        assert not a.attempt()
    assert a.ended.is_set()
    assert a.elector.phase is Phase.LOST
    assert "held by b" in str(logs)
    # Final: it does not come back.
    b.elector.stop(release=True)
    assert not a.attempt()


def test_a_deleted_lease_is_lost_and_not_silently_made_anew(server: Server) -> None:
    a = Process(server, "a")
    a.attempt()
    server._objects.clear()
    assert not a.attempt()
    assert a.ended.is_set()


def edit(server: Server, **spec: Any) -> None:
    """As with `kubectl edit`."""
    stored = server.find(LEASES, KEY)
    assert stored is not None
    stored["spec"].update(spec)
    server.put(LEASES, stored)
    server.touch(LEASES, KEY)


EDITS: dict[str, Callable[[Server], None]] = {
    "deleted": lambda server: server._objects.clear(),
    "emptied": lambda server: edit(server, holderIdentity=""),
    "without a holder": lambda server: edit(server, holderIdentity=None),
    "of another": lambda server: edit(server, holderIdentity="no process"),
    "of another, and short": lambda server: edit(server, holderIdentity="no process", leaseDurationSeconds=1),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_a_lease_that_a_person_takes_away_is_free_after_its_duration(
    server: Server, change: Callable[[Server], None]
) -> None:
    """Its holder works until its next renewal, and it may fail to reach the API server until then."""
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    change(server)
    assert not b.attempt()
    b.clock.advance(14.9)
    assert not b.attempt()
    assert not a.attempt()
    assert a.ended.is_set()
    b.clock.advance(0.2)
    assert b.attempt()


def test_a_process_that_starts_after_a_person_removed_the_holder_waits_too(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    edit(server, holderIdentity="")
    assert not b.attempt()
    b.clock.advance(15)
    assert b.attempt()


def test_a_duration_that_a_person_shortens_does_not_end_the_term(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    edit(server, leaseDurationSeconds=1)
    b.attempt()
    b.clock.advance(5)
    assert not b.attempt()
    a.attempt()
    assert a.attempt()
    assert server.lease["leaseDurationSeconds"] == 15


def test_a_count_of_transitions_that_a_person_wrote_does_not_keep_the_lease(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    edit(server, leaseTransitions=2**31 - 1)
    b.attempt()
    b.clock.advance(15)
    assert b.attempt()
    assert server.lease["leaseTransitions"] == 2**31 - 1


def test_what_runs_when_the_leadership_is_lost_ends_before_the_lease() -> None:
    assert TIMING.finish == pytest.approx(4.0)
    assert TIMING.renew + TIMING.finish < TIMING.lease


def test_of_two_that_take_at_once_one_leads(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    reading = b.line.get

    def slow(*args: Any) -> Any:
        try:
            return reading(*args)
        except NotFound:
            a.attempt()
            raise

    b.line.get = slow  # type: ignore[method-assign]
    assert not b.attempt()
    assert a.elector.leading
    assert server.lease["holderIdentity"] == "a"


def test_a_released_lease_is_taken_at_once(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    a.elector.stop(release=True)
    assert server.lease["holderIdentity"] == ""
    assert a.elector.phase is Phase.RELEASED
    assert b.attempt()


def test_without_a_release_the_lease_runs_out(server: Server) -> None:
    a = Process(server, "a")
    a.attempt()
    a.elector.stop(release=False)
    assert server.lease["holderIdentity"] == "a"


def test_one_that_waits_gives_nothing_up_and_never_leads_after_its_stop(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    b.attempt()
    b.elector.stop(release=True)
    assert server.lease["holderIdentity"] == "a"
    a.elector.stop(release=True)
    assert not b.attempt()


def test_a_refusal_is_told_once_and_healed(server: Server) -> None:
    a = Process(server, "a")
    a.line.cut = True
    with capture_logs() as logs:
        for _ in range(3):
            a.attempt()
    assert "no route" in a.elector.problem
    assert len(logs) == 1
    a.line.cut = False
    assert a.attempt()
    assert a.elector.problem == ""


def test_a_waiting_process_looks_when_the_lease_is_over_and_no_later(server: Server) -> None:
    a, b = Process(server, "a"), Process(server, "b")
    a.attempt()
    assert b.elector.attempt() == 2.0
    b.clock.advance(14.5)
    assert b.elector.attempt() == pytest.approx(0.5)


@pytest.mark.parametrize("times", [(10, 10.0, 2.0), (15, 10.0, 10.0), (15, 10.0, 0.0)])
def test_times_that_do_not_fit_are_refused(times: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="retry period < renew deadline < lease duration"):
        Timing(*times)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("attempt"), st.sampled_from("abc")),
        st.tuples(st.sampled_from(["cut", "join"]), st.sampled_from("abc")),
        st.tuples(st.just("wait"), st.floats(0.1, 20)),
        st.tuples(st.just("release"), st.sampled_from("abc")),
        st.tuples(st.just("lose answers"), st.sampled_from("abc")),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_never_do_two_lead_at_once(steps: list[tuple[str, Any]]) -> None:
    server = Server()
    processes = {name: Process(server, name) for name in "abc"}
    for what, argument in steps:
        match what:
            case "attempt":
                processes[argument].attempt()
            case "cut" | "join":
                processes[argument].line.cut = what == "cut"
                processes[argument].line.answers_lost = False
            case "lose answers":
                processes[argument].line.answers_lost = True
            case "wait":
                for process in processes.values():
                    process.clock.advance(argument)
            case "release":
                processes[argument].elector.stop(release=True)
        assert sum(p.elector.leading for p in processes.values()) <= 1


def test_the_threads_renew_and_a_server_that_is_gone_ends_the_leadership(server: Server) -> None:
    ended = threading.Event()
    line = Line(server)
    elector = Elector(
        LeaseLock(line, KEY, "a"), Timing(1, 0.3, 0.05), on_lost=ended.set, rng=random.Random(1)
    )
    elector.start()
    try:
        assert not ended.wait(0.5)
        assert elector.leading
        line.cut = True
        assert ended.wait(5)
        assert elector.phase is Phase.LOST
        assert elector.alive
    finally:
        elector.stop(release=False)


def test_a_request_that_hangs_does_not_keep_the_leadership(server: Server) -> None:
    ended, hang = threading.Event(), threading.Event()
    line = Line(server)
    elector = Elector(
        LeaseLock(line, KEY, "a"), Timing(1, 0.2, 0.05), on_lost=ended.set, rng=random.Random(1)
    )
    elector.start()
    try:
        while not elector.leading:
            ended.wait(0.005)
        line.patch = lambda *_, **__: hang.wait(10)  # type: ignore[method-assign,assign,return-value]
        assert ended.wait(5)
    finally:
        hang.set()
        elector.stop(release=True)
    assert server.lease["holderIdentity"] == "a"
