"""Whose calls an account's rate permits first, on a virtual clock. `staged_account.py` has the workers and
the runtime's queue."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.managed import Managed
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.reconcile.steps import Next, Outcome
from provider.cloudfront.aws.pacing.rates import DEFAULT_RATE, LONGEST_WAIT
from tests.unit.provider.cloudfront.aws.pacing.staged_account import (
    FAILURE,
    UPDATE,
    WORKERS,
    Account,
    Step,
)

HOSTILE = [f"hostile-{number}" for number in range(4)]
EACH = 30
BURST = 4 * DEFAULT_RATE


@pytest.fixture(autouse=True)
def without_logs() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture(scope="module")
def alone() -> float:
    """Seconds for a new tenant in an account that is idle."""
    account = Account()
    with account.at_work():
        return account.new()


def edited_all_the_time(account: Account) -> None:
    def edit(mr: Managed) -> None:
        if mr.namespace in HOSTILE:
            account.clock.at(account.clock.now() + 0.2, partial(account.edit, mr))

    account.after = edit
    account.usual |= dict.fromkeys(HOSTILE, UPDATE)


def failing_for_ever(account: Account) -> None:
    account.usual |= dict.fromkeys(HOSTILE, FAILURE)


def storm(account: Account, act: Callable[[Account], None] = edited_all_the_time, polls: int = 0) -> None:
    """Four namespaces with 120 resources that always make calls, beside others whose tenants are polled."""
    act(account)
    for number in range(polls):
        account.tell(f"busy-{number}", settled=True)
    for namespace in HOSTILE:
        for number in range(EACH):
            account.tell(namespace, str(number))
    account.run(60)


def keeps_to_the_rate(account: Account, since: float) -> None:
    """The rate is never exceeded, and used."""
    times = [at for at, _ in account.calls]
    for number, at in enumerate(times):
        after = number + int(BURST)
        if after < len(times):
            assert times[after] - at >= (after - number - BURST) / DEFAULT_RATE - 1e-6
    lately = [at for at in times if at >= since]
    assert all(b - a < 1 / DEFAULT_RATE + 1e-6 for a, b in itertools.pairwise(lately))


@pytest.mark.parametrize("act", [edited_all_the_time, failing_for_ever])
@pytest.mark.parametrize("polls", [0, 600, 5000])
def test_a_new_tenant_beside_a_storm_of_others_is_nearly_as_fast_as_alone(alone, act, polls):
    account = Account()
    with account.at_work():
        storm(account, act, polls)
        began = account.clock.now()
        took = []
        for number in range(4):
            took.append(account.new(f"new-{number}"))
            account.run(7)
    print(f"alone {alone:.1f} s, beside the storm {max(took):.1f} s")
    # Six calls, each of which waits for the next slot: that of a poll may be before it.
    assert max(took) <= alone + 6 * 2 / DEFAULT_RATE
    assert max(took) <= 1.5 * alone
    keeps_to_the_rate(account, began)
    made, seconds = account.made(began), account.clock.now() - began
    hostile = [made[namespace] for namespace in HOSTILE]
    assert max(hostile) <= 1.1 * min(hostile)
    if polls:
        polled = sum(count for namespace, count in made.items() if namespace.startswith("busy"))
        assert polled >= 0.19 * DEFAULT_RATE * seconds


def test_many_busy_namespaces_share_the_slots_with_the_storm():
    """As many namespaces as workers: each of them has its part of the slots."""
    account = Account()
    with account.at_work():
        storm(account)
        others = [account.tell(f"other-{number}").namespace for number in range(WORKERS - len(HOSTILE))]
        account.usual |= dict.fromkeys(others, UPDATE)
        account.run(60)
        began = account.clock.now()
        account.run(60)
    made = account.made(began)
    part = 60 * DEFAULT_RATE / WORKERS
    # One resource that is updated every five seconds makes fewer calls.
    assert {made[each] for each in others} <= {14, 15, 16, 17, 18, 19, 20}
    assert max(made[each] for each in HOSTILE) < 2 * part
    # Several calls of one namespace may wait: those that are not its first may wait for too long.
    assert account.refused.total() < 0.06 * sum(made.values())


def test_the_pages_of_a_list_go_on_beside_a_storm():
    account, took = Account(), list[float]()
    account.beside(partial(account.sweep, 20, took))
    with account.at_work():
        storm(account, polls=600)
        del took[:]
        account.run(200)
    # Of ten slots, a list has one at least.
    assert took
    assert max(took) <= 20 * 10 / DEFAULT_RATE + 1e-6


def test_changes_find_a_worker_while_polls_wait_for_slots(alone):
    """Each poll makes many calls, so workers seldom end one."""
    account = Account()
    account.usual |= {f"busy-{number}": Step(12, Outcome(Next.AFTER, 5.0)) for number in range(100)}
    with account.at_work():
        for number in range(100):
            account.tell(f"busy-{number}", settled=True)
        account.run(30)
        assert account.new() <= 1.5 * alone


def test_nobody_waits_for_longer_than_a_worker_may_be_kept():
    account = Account(0.5)
    waited = list[float]()
    pay = account.pace._pay
    account.pace._pay = lambda *each: waited.append(pay(*each)) or 0.0  # type: ignore[assignment]
    with account.at_work():
        storm(account, failing_for_ever, polls=50)
        began = account.clock.now()
        account.new()
        account.run(200)
    assert max(waited) <= LONGEST_WAIT + 1e-6
    lately = [at for at, _ in account.calls if at >= began]
    assert len(lately) == pytest.approx(0.5 * (account.clock.now() - began), abs=2)


def test_with_the_lowest_rates_a_change_goes_first():
    """No call waits in its worker for twenty seconds, so the queue has them try again."""
    account = Account(0.05)
    account.usual |= {f"busy-{number}": Step(1, Outcome(Next.AFTER, 5.0)) for number in range(30)}
    with account.at_work():
        for number in range(30):
            account.tell(f"busy-{number}", settled=True)
        account.run(100)
        took = account.new(plan=(Step(1, Outcome(Next.AFTER, 60.0, settled=True, made=Priority.CHANGE)),))
        account.run(400)
    assert took <= 61
    assert len(account.calls) == pytest.approx(0.05 * account.clock.now(), abs=2)
