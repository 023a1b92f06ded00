"""The line of creations that wait for a quota: its order, its calls, and that it holds none for ever."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.quota import line as lines
from provider.cloudfront.quota.line import Line
from tests.unit.provider.cloudfront.quota.account import WORDS, Account, waiting

HOUR = 3600.0


def full(*, limit: int = 2, shop: int = 5, bank: int = 5) -> Account:
    """An account without room, with resources of two namespaces."""
    account = Account(limit, existing=[f"old-{number}" for number in range(limit)])
    account.add(
        *(waiting("shop", age) for age in range(shop)), *(waiting("bank", age + 50) for age in range(bank))
    )
    account.run(1.0)
    return account


def test_without_a_refusal_nothing_waits():
    account = Account(1000)
    account.add(*(waiting("shop", age) for age in range(300)))
    account.run(30.0)
    assert len(account.existing) == 300
    assert account.asks == 300


def test_while_aws_refuses_few_try():
    account = full(shop=500, bank=500)
    account.run(HOUR)
    # 60, 120, 240, 480, 600, … seconds, two tries each; today, 6,000.
    assert len(account.calls) <= 24
    assert account.line.waiting == 1000


def test_the_pauses_grow():
    account = full()
    at = []
    for _ in range(3000):
        before = len(account.calls)
        account.run(1.0)
        at += [account.clock.now()] * (len(account.calls) > before)
    gaps = [round(b - a, -1) for a, b in pairwise(at) if b - a > 5]
    assert gaps[:5] == [120, 240, 480, 600, 600]


def test_a_deletion_makes_room_for_the_oldest_at_once():
    account = full()
    account.run(HOUR)
    account.delete("old-0")
    account.run(2.0)
    assert account.existing in (["old-1", "shop-0000"], ["old-1", "bank-0050"])


def test_what_others_delete_is_noticed_by_the_next_list():
    account = full()
    account.sweep()
    account.run(HOUR)
    account.sweep()
    account.existing.remove("old-0")
    account.sweep()
    account.run(20.0)
    assert account.existing in (["old-1", "shop-0000"], ["old-1", "bank-0050"])


def test_a_list_that_shows_as_many_wakes_none():
    account = full()
    account.sweep()
    account.run(1300.0)
    calls, asks = len(account.calls), account.asks
    for _ in range(5):
        account.sweep()
        account.run(1.0)
    assert (len(account.calls), account.asks) == (calls, asks)


def test_room_for_all_is_used_at_once_and_in_order():
    account = full(shop=100, bank=3)
    account.run(HOUR)
    account.limit = 1000
    account.run(601.0)
    made = account.existing[2:]
    assert len(made) == 103
    # Namespaces take turns; a few are created at the same time.
    assert made.index("shop-0000") < 3
    for age in (50, 51, 52):
        assert made.index(f"bank-{age:04}") < 12
    shop = [int(uid[-4:]) for uid in made if uid.startswith("shop")]
    assert all(abs(place - age) <= 8 for place, age in enumerate(shop))


def test_an_administrators_word_makes_the_next_one_try():
    account = full()
    account.run(HOUR)
    account.limit = 1000
    account.wake(account.line.raised())
    account.run(10.0)
    assert len(account.existing) == 12


def test_a_thousand_of_one_namespace_do_not_go_before_anothers_only_one():
    account = full(shop=300, bank=0)
    account.run(HOUR)
    account.add(waiting("bank", 900))
    account.run(1.0)
    for _ in range(2):
        account.delete(account.existing[0])
        account.run(30.0)
    assert "bank-0900" in account.existing


def test_the_youngest_does_not_go_first_when_it_is_applied_into_new_room():
    account = full()
    account.run(700.0)
    account.existing.remove("old-0")
    account.add(waiting("cafe", 999))
    account.run(700.0)
    assert account.existing in (["old-1", "shop-0000"], ["old-1", "bank-0050"])


def test_what_is_paused_or_gone_is_passed_over():
    account = full(shop=50, bank=3)
    account.deaf = {uid for uid in account.resources if uid.startswith("shop")}
    account.delete("old-0")
    account.run(60.0)
    assert account.existing == ["old-1", "bank-0050"]


def test_what_leaves_gives_its_turn_to_the_next():
    account = full()
    account.delete("old-0")
    account.leave("shop-0000")
    account.run(2.0)
    assert account.existing[0] == "old-1"
    assert account.existing[1:] in (["shop-0001"], ["bank-0050"])


def test_what_has_not_asked_for_long_is_forgotten():
    account = full()
    account.deaf = set(account.resources)
    account.run(2 * lines.LONGEST + 100.0)
    assert account.line.waiting == 0


def test_after_a_restart_those_that_waited_go_in_order():
    account = full()
    account.run(HOUR)
    account.restart()
    account.due = {uid: at + number / 100 for number, (uid, at) in enumerate(reversed(account.due.items()))}
    account.existing.remove("old-0")
    account.run(30.0)
    assert account.existing in (["old-1", "shop-0000"], ["old-1", "bank-0050"])


def test_a_status_that_says_so_lets_creations_wait_for_some_seconds_once():
    account = Account(1000)
    account.restarted = True
    account.add(*(waiting("evil", age) for age in range(20)), waiting("shop", 99))
    account.run(15.0)
    assert len(account.existing) == 21
    account.add(waiting("shop", 100))
    account.run(0.1)
    assert "shop-0100" in account.existing


# What is about one resource alone.


def test_a_team_whose_tenants_aws_never_accepts_holds_no_other():
    account = Account(1000)
    account.add(*(waiting("evil", age) for age in range(100)))
    account.bad = set(account.resources)
    for second in range(300):
        account.add(waiting("shop", second + 100))
        account.run(1.0)
        assert f"shop-{second + 100:04}" in account.existing, second


def test_the_teams_own_good_tenants_are_created_nevertheless():
    account = Account(1000)
    account.add(*(waiting("shop", age) for age in range(20)))
    account.bad = {f"shop-{age:04}" for age in range(10)}
    account.run(2 * HOUR)
    assert set(account.existing) == {f"shop-{age:04}" for age in range(10, 20)}


def test_refusals_of_one_namespace_do_not_slow_down_the_others():
    account = Account(1000)
    account.add(*(waiting("evil", age) for age in range(100)))
    account.bad = set(account.resources)
    account.run(1.0)
    account.add(*(waiting("shop", age) for age in range(200, 500)))
    before = account.clock.now()
    while len(account.existing) < 300:
        account.run(1.0)
    # A call takes 0.05 s, and those of the other namespace are as many at most.
    assert account.clock.now() - before < 60.0


def test_bad_ones_at_the_head_do_not_slow_down_all_others():
    account = full(shop=20, bank=20)
    account.bad = {f"{namespace}-{age:04}" for namespace, age in (("shop", 0), ("shop", 1), ("bank", 50))}
    account.limit = 1000
    account.run(700.0)
    assert len(account.existing) == 2 + 37


def test_bad_ones_try_again_every_ten_minutes():
    account = Account(1000)
    account.add(waiting("shop", 0), waiting("bank", 1))
    account.bad = {"shop-0000"}
    account.run(3 * HOUR)
    assert 18 <= account.calls.count("shop-0000") <= 24
    account.bad = set()
    account.run(601.0)
    assert "shop-0000" in account.existing


def test_a_turn_that_comes_to_nothing_goes_to_the_next_namespace():
    account = full()
    account.invalid = {uid for uid in account.resources if uid.startswith("shop")}
    account.delete("old-0")
    account.run(5.0)
    assert account.existing == ["old-1", "bank-0050"]


def test_a_try_whose_reconcile_hangs_does_not_hold_the_line():
    account = full()
    account.run(700.0)
    first = account.line.released()[0]
    assert account.line.ask(first)[0].seconds == 0
    account.existing.remove("old-0")
    account.deaf = {first.uid}
    account.run(700.0)
    assert len(account.existing) == 2


def test_an_answer_to_an_older_call_frees_none():
    line = Line(FakeClock())
    early, late = waiting("shop", 0), waiting("shop", 1)
    for who in (early, late):
        assert line.ask(who)[0].seconds == 0
    line.refused(late, WORDS)
    line.made(early)
    assert line.ask(waiting("shop", 2))[0].held or line.ask(waiting("shop", 2))[0].seconds == 0
    line.refused(waiting("shop", 2), WORDS)
    assert line.ask(waiting("shop", 3))[0].held


def test_the_youngest_of_the_largest_namespace_are_dropped(monkeypatch):
    monkeypatch.setattr(lines, "_MOST", 10)
    account = full(shop=30, bank=2)
    assert account.line.waiting == 10
    assert {each.who.namespace for each in account.line._entries.values()} == {"shop", "bank"}
    account.limit = 1000
    account.run(1300.0)
    assert len(account.existing) == 34


def test_the_number_when_aws_refused_is_kept_as_it_was():
    account = Account(2, existing=["old-0", "old-1"])
    account.sweep()
    account.add(waiting("shop", 0), waiting("bank", 1))
    account.run(1.0)
    assert (account.line.used, account.line.used_when_refused) == (2, 2)
    account.existing.append("by-hand")
    account.sweep()
    assert (account.line.used, account.line.used_when_refused) == (3, 2)


def test_own_creations_and_deletions_count_between_two_lists():
    account = Account(10)
    account.sweep()
    account.add(waiting("shop", 0), waiting("shop", 1))
    account.run(1.0)
    assert account.line.used == 2
    account.delete("shop-0000")
    assert account.line.used == 1


def test_an_old_number_is_none():
    account = Account(10)
    assert account.line.used is None
    account.sweep()
    account.clock.advance(601.0)
    assert account.line.used is None


def test_groups_that_may_not_be_listed_have_no_number():
    line = Line(FakeClock())
    line.counted(None, 600.0)
    assert line.used is None


# Whatever happens.

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("by others"), st.integers(0, 9)),
        st.tuples(st.just("sweep"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("limit"), st.integers(0, 8)),
        st.tuples(st.just("run"), st.integers(1, 900)),
        st.tuples(st.just("deaf"), st.integers(0, 9)),
        st.tuples(st.just("bad"), st.integers(0, 9)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_at_last_all_are_created_that_can_be(events):
    account = Account(3)
    for number, (what, which) in enumerate(events):
        everyone = sorted(account.resources)
        one = everyone[which % len(everyone)] if everyone else ""
        match what:
            case "add":
                account.add(waiting(("shop", "bank", "cafe", "evil")[which], number))
            case "delete" | "by others" if account.existing:
                gone = account.existing.pop(which % len(account.existing))
                account.resources.pop(gone)
                account.wake(account.line.released() if what == "delete" else [])
            case "limit":
                account.limit = which
            case "run":
                account.run(float(which))
            case "deaf" | "bad" if one:
                getattr(account, what).add(one)
            case "sweep" | "restart":
                getattr(account, what)()
    account.limit = 1000
    account.run(1900.0)
    lacking = account.resources.keys() - set(account.existing) - account.deaf - account.bad
    assert not lacking


@settings(max_examples=60, deadline=None)
@given(EVENTS)
def test_no_refusals_in_a_row(events):
    """Without new room, calls come in pairs, and the pauses between them grow."""
    account = full()
    account.run(700.0)
    account.calls.clear()
    account.run(HOUR)
    assert len(account.calls) <= 16


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_no_more_are_created_than_aws_allows(limit):
    account = Account(limit)
    account.add(*(waiting("shop", age) for age in range(20)))
    account.run(HOUR)
    assert len(account.existing) == limit


def test_one_that_does_not_come_uses_up_the_turn_of_its_namespace():
    clock = FakeClock()
    line = Line(clock)
    for each in (waiting("shop", 1), waiting("shop", 2), waiting("bank", 3), waiting("bank", 4)):
        line.ask(each)
        line.refused(each, WORDS)
    first, *_ = line.released()
    clock.advance(6)
    next_ones = line.counted(None, 60.0)
    assert next_ones[0].namespace != first.namespace
