"""What many ask is asked once, no one waits for ever, and no other question waits at all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.memory import answers
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.answers import Answers
from provider.cloudfront.memory.group_look import UNKNOWN, GroupLook

SECONDS = 10.0
WORKERS = 8

LOOK = GroupLook("cg_1", "d1.cloudfront.net")


def kept(_: object) -> float:
    return SECONDS


class Slow:
    """An answer that comes when a test lets it."""

    def __init__(self, *told: object) -> None:
        self.told, self.asked = list(told), 0
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> object:
        self.asked += 1
        self.begun.set()
        assert self.go_on.wait(10)
        told = self.told.pop(0)
        if isinstance(told, BaseException):
            raise told
        return told


@pytest.fixture
def workers():
    with ThreadPoolExecutor(WORKERS) as pool:
        yield pool


def test_an_answer_is_kept_for_its_time():
    clock = FakeClock()
    of, told = Answers(clock), iter("ab")
    assert [of.get("x", lambda: next(told), kept) for _ in range(3)] == ["a"] * 3
    clock.advance(SECONDS)
    assert of.get("x", lambda: next(told), kept) == "b"
    assert of.last("x") == "b"
    of.forget("x")
    assert of.last("x") is None


def test_the_oldest_go_first():
    of = Answers(FakeClock(), most=2)
    for name in "abc":
        of.get(name, lambda name=name: name, kept)
    assert [of.last(name) for name in "abc"] == [None, "b", "c"]


def test_one_asks_for_all(workers):
    of, slow = Answers(FakeClock()), Slow("told")
    asking = [workers.submit(of.get, "x", slow, kept) for _ in range(WORKERS)]
    assert slow.begun.wait(10)
    slow.go_on.set()
    assert [each.result(10) for each in asking] == ["told"] * WORKERS
    assert slow.asked == 1


def test_what_is_not_kept_is_shared_all_the_same(workers):
    of, slow = Answers(FakeClock()), Slow(None)
    asking = [workers.submit(of.get, "x", slow, lambda _: 0.0) for _ in range(2)]
    assert slow.begun.wait(10)
    _await_follower(of)
    slow.go_on.set()
    assert [each.result(10) for each in asking] == [None, None]
    assert (slow.asked, of.last("x")) == (1, None)


def test_a_failure_is_told_to_all_that_wait_and_not_kept(workers):
    of, slow = Answers(FakeClock()), Slow(AwsError("Get", "Endpoint", "hangs"), "told")
    asking = [workers.submit(of.get, "x", slow, kept) for _ in range(2)]
    assert slow.begun.wait(10)
    _await_follower(of)
    slow.go_on.set()
    failures = [each.exception(10) for each in asking]
    assert [str(each) for each in failures] == ["Get: Endpoint: hangs"] * 2
    assert failures[0] is not failures[1], "each worker marks its own"
    assert of.get("x", slow, kept) == "told"


def test_who_asked_may_fail_for_a_reason_of_its_own(workers):
    of, slow = Answers(FakeClock()), Slow(ValueError("mine"), "told")
    asking = [workers.submit(of.get, "x", slow, kept) for _ in range(2)]
    assert slow.begun.wait(10)
    _await_follower(of)
    slow.go_on.set()
    told = [each.exception(10) or each.result() for each in asking]
    assert sorted(map(str, told)) == ["mine", "told"]


@pytest.mark.parametrize(("code", "shared"), [("AccessDenied", False), ("Throttling", True)])
def test_a_refusal_of_one_workers_credentials_is_not_anothers(workers, code, shared):
    of, refused = Answers(FakeClock()), AwsError("GetDistribution", code, "user/weak", status=403)
    slow = Slow(refused, "told")
    asking = [workers.submit(of.get, "x", slow, kept) for _ in range(2)]
    assert slow.begun.wait(10)
    _await_follower(of)
    slow.go_on.set()
    failures = [each.exception(10) for each in asking]
    assert failures.count(None) == (0 if shared else 1)


def test_a_call_that_hangs_stops_nobody_else(workers, monkeypatch):
    monkeypatch.setattr(answers, "_LONGEST_WAIT", 0.05)
    memory, slow = AccountMemory(FakeClock()), Slow("told")
    hanging = workers.submit(memory.shared.get, "distribution E1", slow)
    assert slow.begun.wait(10)
    assert memory.shared.get("distribution E2", lambda: "two") == "two"
    assert memory.groups.get("cg_1", lambda _: LOOK, config="c") == LOOK
    memory.groups.note("cg_2", LOOK)
    with pytest.raises(AwsError, match="no response yet") as waited:
        memory.shared.get("distribution E1", slow)
    assert (waited.value.code, waited.value.after) == (PAUSED, 2.0)
    slow.go_on.set()
    assert hanging.result(10) == "told"


def test_a_group_whose_look_hangs_is_as_it_was_before(workers, monkeypatch):
    monkeypatch.setattr(answers, "_LONGEST_WAIT", 0.05)
    clock, slow = FakeClock(), Slow(UNKNOWN)
    memory = AccountMemory(clock)
    memory.groups.note("cg_1", LOOK)
    clock.advance(3600)
    hanging = workers.submit(memory.groups.get, "cg_1", lambda _: slow(), config="c")
    assert slow.begun.wait(10)
    assert memory.groups.get("cg_1", lambda _: UNKNOWN, config="c") == LOOK
    slow.go_on.set()
    assert hanging.result(10) == UNKNOWN


def test_a_valid_answer_waits_for_no_call(workers):
    """Neither for one of another question, nor for one of its own that began before."""
    of, slow = Answers(FakeClock()), Slow("old")
    of.note("y", "why", SECONDS)
    running = workers.submit(of.get, "x", slow, kept)
    assert slow.begun.wait(10)
    assert workers.submit(of.get, "y", pytest.fail, kept).result(10) == "why"
    of.note("x", "new", SECONDS)
    assert workers.submit(of.get, "x", pytest.fail, kept).result(10) == "new"
    slow.go_on.set()
    assert running.result(10) == "old"
    assert of.last("x") == "new", "what came later counts"


def test_an_answer_that_was_forgotten_meanwhile_is_not_kept(workers):
    of, slow = Answers(FakeClock()), Slow("old")
    running = workers.submit(of.get, "x", slow, kept)
    assert slow.begun.wait(10)
    of.forget("x")
    slow.go_on.set()
    assert running.result(10) == "old"
    assert of.get("x", lambda: "new", kept) == "new"


@pytest.mark.parametrize("first", ["forgotten", "joined"])
def test_a_worker_that_shares_an_outdated_call_asks_again(workers, first):
    of, slow = Answers(FakeClock()), Slow("old")
    running = workers.submit(of.get, "x", slow, kept)
    assert slow.begun.wait(10)
    if first == "forgotten":
        of.forget("x")
    sharing = workers.submit(of.get, "x", lambda: "new", kept)
    _await_follower(of)
    if first == "joined":
        of.forget("x")
    slow.go_on.set()
    assert running.result(10) == "old"
    assert sharing.result(10) == "new"
    assert of.last("x") == "new"


def test_a_call_is_as_urgent_as_the_most_urgent_worker_that_waits_for_it(workers):
    of, slow, seen = Answers(FakeClock()), Slow("told"), []

    def ask():
        seen.append(urgency.current())
        return slow()

    def poll():
        with urgency.within(Urgency(Priority.POLL)):
            of.get("x", ask, kept)
            return urgency.current().priority

    running = workers.submit(poll)
    assert slow.begun.wait(10)
    assert seen[0].priority is Priority.POLL
    workers.submit(of.get, "x", ask, kept)
    _await_follower(of)
    assert seen[0].priority is Priority.CHANGE
    slow.go_on.set()
    assert running.result(10) is Priority.POLL, "the rest of its work is as urgent as before"


def test_one_failure_poisons_no_later_question(workers):
    of = Answers(FakeClock())
    for failure in (AwsError("Get", "Throttling", "slow down", status=400), ValueError("mine")):
        slow = Slow(failure, "told", "told")
        asking = [workers.submit(of.get, "x", slow, lambda _: 0.0) for _ in range(2)]
        assert slow.begun.wait(10)
        _await_follower(of)
        slow.go_on.set()
        assert any(each.exception(10) is failure for each in asking)
        assert of.get("x", lambda: "again", lambda _: 0.0) == "again"
        assert of._asked == {}


def _await_follower(of: Answers) -> None:
    """Until a user waits for the answer to another's question."""
    (question,) = of._asked.values()
    for _ in range(10_000):
        if question.over._cond._waiters:
            return
        threading.Event().wait(0.001)
    raise AssertionError("nobody waits")
