"""Work beside the reconciles: by the process that may act, again and again, whatever one round does."""

import threading

from structlog.testing import capture_logs

from edgetenants_runtime.rounds import Round


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
