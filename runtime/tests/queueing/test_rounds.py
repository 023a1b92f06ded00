"""Work beside the reconciles: by the process that may act, again and again, whatever one round does."""

import math
import threading

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.queueing.rounds import Round


def test_it_begins_when_the_process_may_act_and_survives_a_bug() -> None:
    leads, done = threading.Event(), threading.Event()
    rounds: list[bool] = []

    def job() -> float:
        rounds.append(leads.is_set())
        if len(rounds) == 1:
            raise KeyError("bug")
        done.set()
        return 60.0

    made = Round("test", job, leads.is_set)
    made.STUMBLED_SECONDS = made.MAY_ACT_SECONDS = 0.01
    with capture_logs() as lines:
        made.start()
        assert not done.wait(0.1)
        leads.set()
        assert done.wait(5)
        assert made.stop(5)
    assert rounds == [True, True]
    assert [line["round"] for line in lines] == ["test"]


@pytest.mark.parametrize("seconds", [math.inf, 1e300, math.nan, -1.0])
def test_no_distance_to_the_next_ends_the_rounds(seconds: float) -> None:
    began = threading.Event()

    def job() -> float:
        began.set()
        return seconds

    made = Round("test", job, lambda: True)
    made.start()
    assert began.wait(5)
    made._thread.join(0.1)
    assert made._thread.is_alive()
    assert made.stop(5)


@pytest.mark.parametrize("error", [SystemExit(1), StandDown("a write"), RuntimeError("bug")])
@pytest.mark.parametrize("asked", ["job", "may_act"])
def test_whatever_is_raised_the_next_one_comes(error: BaseException, asked: str) -> None:
    raised, done = threading.Event(), threading.Event()

    def once() -> float:
        if not raised.is_set():
            raised.set()
            raise error
        done.set()
        return 60.0

    made = Round(
        "test",
        once if asked == "job" else lambda: 60.0,
        (lambda: bool(once())) if asked == "may_act" else lambda: True,
    )
    made.STUMBLED_SECONDS = made.MAY_ACT_SECONDS = 0.01
    with capture_logs():
        made.start()
        assert done.wait(5)
    assert made.stop(5)


def test_one_that_hangs_is_told_of() -> None:
    began, go_on = threading.Event(), threading.Event()

    def job() -> float:
        began.set()
        go_on.wait(5)
        return 0.0

    made = Round("test", job, lambda: True)
    made.start()
    assert began.wait(5)
    assert not made.stop(0.01)
    go_on.set()
    assert made.stop(5)


def test_one_that_never_began_has_ended() -> None:
    assert Round("test", lambda: 1.0, lambda: True).stop(1)
