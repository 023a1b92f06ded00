"""Steps run as soon as what they need is done, and the first failure ends it all."""

import threading

import pytest

from sandbox.steps import Step, run


def test_a_step_waits_for_what_it_needs_and_for_nothing_else():
    order, other_began = [], threading.Event()

    def first():
        assert other_began.wait(5), "a step that needs nothing did not begin beside it"
        order.append("first")

    steps = [
        Step("last", lambda: order.append("last"), ("first", "other")),
        Step("first", first),
        Step("other", other_began.set),
    ]
    lines = []
    run(steps, lines.append, threading.Event())
    assert order == ["first", "last"]
    told = [line.split()[0] for line in lines]
    assert (set(told[:2]), told[2:]) == ({"first", "other"}, ["last"])
    assert all(line.endswith(" s") for line in lines)


def test_a_failure_makes_waiting_steps_give_up_and_begins_no_others():
    abandon, begun = threading.Event(), []

    def fail():
        raise RuntimeError("no luck")

    def waits():
        assert abandon.wait(5)
        raise RuntimeError("gave up")

    steps = [
        Step("fails", fail),
        Step("waits", waits),
        Step("after", lambda: begun.append("after"), ("fails",)),
    ]
    with pytest.raises(RuntimeError, match="no luck"):
        run(steps, lambda _: None, abandon)
    assert begun == []


def test_a_need_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="typo"):
        run([Step("a", lambda: None, ("typo",))], lambda _: None, threading.Event())


def test_nothing_to_do():
    run([], lambda _: None, threading.Event())
