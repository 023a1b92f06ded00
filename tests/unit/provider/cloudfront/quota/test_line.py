"""The line of creations that wait for a quota: its order, its calls, and that it holds none for long."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.quota import line as lines
from provider.cloudfront.quota.allowances import Allowed
from provider.cloudfront.quota.line import Line
from provider.cloudfront.quota.use import Use
from provider.cloudfront.quota.waiting import LONGEST, Try, Waiting
from tests.unit.provider.cloudfront.quota.account import WORDS, Account, waiting

HOUR = 3600.0
BOUND = LONGEST + 5.0
"""Within this, each tries; the calls take some time."""


def full(*ages: tuple[str, int], limit: int = 2, noted: bool = True) -> Account:
    """An account without room, with waiting resources. `noted`: the numbers are known."""
    account = Account(limit, existing=[f"old-{number}" for number in range(limit)])
    if noted:
        account.noted = limit
        account.sweep()
    account.add(*(waiting(*each) for each in ages))
    account.run(1.0)
    return account


def with_the_turn(limit: int = 2, seconds: float = 100.0) -> tuple[Account, Waiting]:
    """A full account after this time, in which the provider has just deleted one: the first one is woken."""
    account = full(*SIX, limit=limit)
    account.run(seconds)
    account.existing.remove("old-0")
    first = account.resources["shop-0001"]
    assert account.line.may_have_room(deleted=1) == [first]
    return account, first


def created(account: Account) -> list[str]:
    return [uid for uid in account.existing if not uid.startswith("old")]


SIX = (("shop", 1), ("shop", 2), ("shop", 3), ("bank", 4), ("bank", 5), ("cafe", 9))
IN_TURNS = ["shop-0001", "bank-0004", "cafe-0009", "shop-0002", "bank-0005", "shop-0003"]

# The order.


def test_room_for_all_is_used_at_once():
    account = Account(1000)
    account.add(*(waiting("shop", age) for age in range(300)))
    account.run(30.0)
    assert len(account.existing) == len(account.calls) == 300


@pytest.mark.parametrize("noted", [True, False])
def test_a_deletion_creates_the_next_one_in_turns_and_by_age(noted):
    account = full(*reversed(SIX), limit=6, noted=noted)
    account.run(100.0)
    for number in range(6):
        account.delete(f"old-{number}")
        account.run(3.0)
        assert created(account) == IN_TURNS[: number + 1]


@pytest.mark.parametrize("noted", [True, False])
def test_room_for_all_is_given_in_the_same_order(noted):
    account = full(*SIX, noted=noted)
    account.run(100.0)
    account.limit = 100
    account.noted = 100 if noted else None
    account.wake(account.line.may_have_room())
    account.run(5.0)
    assert created(account) == IN_TURNS


def test_of_the_same_second_the_uid_decides():
    account = full(("shop", 1))
    twin = waiting("shop", 1)
    account.add(Waiting("a", twin.api_version, twin.kind, twin.key, "shop", twin.created))
    account.run(100.0)
    account.delete("old-0")
    account.run(3.0)
    assert created(account) == ["a"]


def test_what_others_delete_is_noticed_by_the_next_list():
    account = full(*SIX)
    account.existing.remove("old-0")
    account.sweep()
    account.run(1.0)
    assert created(account) == IN_TURNS[:1]


def test_a_list_that_shows_as_many_wakes_none():
    account = full(*SIX)
    before = len(account.calls)
    for _ in range(5):
        account.sweep()
        account.run(1.0)
    assert len(account.calls) == before


def test_an_increase_that_no_one_noted_is_found_by_the_first_one():
    account = full(*SIX)
    account.run_with_sweeps(300.0)
    account.limit = 100
    account.run_with_sweeps(130.0)
    # With the last of the old number, the numbers say that it is full; then they are disproved.
    assert created(account) == IN_TURNS


def test_the_first_one_tries_each_minute_and_the_others_rarely():
    account = full(*((f"n{number % 10}", number) for number in range(100)))
    account.run_with_sweeps(600.0)
    account.calls.clear()
    account.run_with_sweeps(HOUR)
    first = account.tries("n0-0000")
    assert 55 <= len(first) <= 62
    assert len(account.calls) - len(first) <= 99 * HOUR / 420.0


# New ones.


def test_a_new_one_does_not_call_aws_while_others_need_all_room():
    account = full(*SIX)
    account.calls.clear()
    account.add(waiting("late", 100))
    account.run(1.0)
    assert account.calls == []
    assert account.line.waiting == 7
    account.run(60.0)
    assert account.tries("late-0100"), "the numbers may be old"


NEW = {
    "the numbers are unknown": lambda account: account.clock.advance(601.0),
    "aws allows more than is noted": lambda account: account.line.counted(3, 600.0),
    "there is room for it, too": lambda account: setattr(account, "noted", 9),
    "none waits": lambda account: [account.leave(uid) for uid in list(account.resources)],
}


@pytest.mark.parametrize("why", NEW)
def test_a_new_one_tries_at_once_when(why):
    account = full(*SIX)
    account.deaf = set(account.resources)
    NEW[why](account)
    account.calls.clear()
    account.add(waiting("late", 100))
    account.run(1.0)
    assert account.tries("late-0100")


def test_a_new_one_does_not_take_the_place_that_was_just_freed():
    account = full(*SIX)
    woken = account.line.may_have_room(deleted=1)
    account.existing.remove("old-0")
    account.add(waiting("late", 100))
    account.run(0.5)
    account.wake(woken)
    account.run(1.0)
    assert created(account) == IN_TURNS[:1]


def test_one_that_is_due_lets_the_woken_one_go_first():
    account = full(*SIX, noted=False)
    account.run(100.0)
    woken = account.line.may_have_room(deleted=1)
    account.existing.remove("old-0")
    account.edit("shop-0003")
    account.run(0.5)
    account.wake(woken)
    account.run(1.0)
    assert created(account) == IN_TURNS[:1]


def test_an_edit_is_tried_at_once_while_there_is_room():
    account = Account(1000, noted=1000)
    account.sweep()
    account.bad = {"shop-0001"}
    account.add(waiting("shop", 1), waiting("bank", 2))
    account.run(100.0)
    account.bad = set()
    account.edit("shop-0001")
    account.run(1.0)
    assert "shop-0001" in account.existing


# What AWS refuses for reasons of its own.


@pytest.mark.parametrize("noted", [True, False])
def test_one_that_aws_never_accepts_does_not_hold_the_next_one(noted):
    account = full(("evil", 0), *SIX, limit=3, noted=noted)
    account.bad = {"evil-0000"}
    account.run(100.0)
    for number in range(2):
        account.delete(f"old-{number}")
        account.run(3.0)
        assert created(account) == IN_TURNS[: number + 1]
    account.calls.clear()
    account.delete("old-2")
    account.run(3.0)
    assert created(account) == IN_TURNS[:3]
    assert not account.tries("evil-0000"), "it comes last now"


@pytest.mark.parametrize("noted", [True, False])
def test_nor_those_of_its_own_namespace(noted):
    account = full(("shop", 0), ("shop", 1), ("shop", 2), noted=noted)
    account.bad = {"shop-0000"}
    account.run(100.0)
    account.delete("old-0")
    account.run(3.0)
    assert created(account) == ["shop-0001"]


def test_two_namespaces_that_aws_never_accepts_hold_the_others_for_a_minute_at_most():
    account = full(("evil", 0), ("foul", 0), *SIX, noted=False)
    account.bad = {"evil-0000", "foul-0000"}
    account.run(300.0)
    account.delete("old-0")
    account.run(70.0)
    assert len(created(account)) == 1


def test_other_creations_rarely_wake_those_that_aws_never_accepts():
    account = Account(5000)
    account.add(*(waiting(f"evil{number % 3}", number) for number in range(30)))
    account.bad = set(account.resources)
    account.run(100.0)
    account.calls.clear()
    for number in range(300):
        account.add(waiting("shop", number))
        account.run(1.0)
    assert len(account.existing) == 300
    # By their own back-off, and with two creations each until they are known.
    assert len(account.calls) - 300 <= 30 + 2 * 30


def test_they_try_every_ten_minutes():
    account = Account(1000)
    account.add(waiting("shop", 0), waiting("bank", 1))
    account.bad = {"shop-0000"}
    account.run(3 * HOUR)
    account.bad = set()
    account.run(601.0)
    assert "shop-0000" in account.existing


def test_one_that_was_refused_because_others_took_the_room_keeps_its_place():
    account = full(*SIX)
    account.run(100.0)
    account.existing[0] = "by-others"
    account.wake(account.line.may_have_room(deleted=1))
    account.run(1.0)
    assert account.existing == ["by-others", "old-1"]
    deleted = account.clock.now() - 1.0
    account.run(65.0)
    first = account.line._entries["shop-0001"]
    assert first.own_until > account.clock.now(), "the numbers still show room"
    # A list that began before the deletion may still show what is deleted.
    account.wake(account.line.counted(2, 600.0, deleted - 1.0))
    account.run(15.0)
    assert first.own_until > account.clock.now()
    account.sweep()
    assert first.own_until < account.clock.now()
    account.delete("old-1")
    account.run(1.0)
    assert account.existing == ["by-others", *IN_TURNS[:1]]


def test_they_do_not_take_room_from_new_ones():
    account = Account(10, existing=[f"old-{number}" for number in range(5)], noted=10)
    account.sweep()
    account.add(*(waiting("evil", age) for age in range(8)))
    account.bad = set(account.resources)
    account.run(1.0)
    account.add(waiting("shop", 100))
    account.run(1.0)
    assert created(account) == ["shop-0100"]


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_a_refusal_says_nothing_about_room_that_came_after_the_call(noted, seconds):
    account = full(*SIX, limit=6, noted=noted)
    account.run(100.0)
    first = account.resources["shop-0001"]
    sent(account, first)
    account.existing.remove("old-0")
    account.wake(account.line.may_have_room(deleted=1))
    account.clock.advance(seconds)
    answer, woken = account.line.refused(first, WORDS, account.allowed)
    account.due[first.uid] = account.clock.now() + answer.seconds
    account.wake(woken)
    account.wake(account.line.done(first.uid, account.allowed))
    account.run(3.0)
    for number in (1, 2):
        account.delete(f"old-{number}")
        account.run(3.0)
    assert created(account) == IN_TURNS[:3]


def sent(account: Account, who: Waiting) -> None:
    """It tries, and AWS has not answered yet."""
    account.due.pop(who.uid, None)
    while wait := account.line.ask(who, account.allowed)[0].seconds:
        account.clock.advance(wait)


def test_a_sign_of_room_right_after_a_refusal_wakes_the_same_one():
    account = full(*SIX, limit=6)
    account.run(100.0)
    first = account.resources["shop-0001"]
    sent(account, first)
    account.line.refused(first, WORDS, account.allowed)
    account.existing.remove("old-0")
    woken = account.line.may_have_room(deleted=1)
    assert woken == [first]
    account.wake(account.line.done(first.uid, account.allowed))
    account.wake(woken)
    account.run(1.0)
    assert created(account) == IN_TURNS[:1]


@pytest.mark.parametrize("noted", [True, False])
def test_a_place_that_others_free_and_another_one_finds_leaves_the_first_one_first(noted):
    account = full(*SIX, limit=6, noted=noted)
    account.run(200.0)
    account.run(account.line._entries["shop-0001"].tried + 61.0 - account.clock.now())
    account.line._entries["shop-0001"].overtaken = 1
    account.existing.remove("old-0")
    account.line._entries["cafe-0009"].due = account.clock.now()
    account.edit("cafe-0009")
    account.run(8.0)
    assert created(account) == ["cafe-0009"]
    account.run(15.0)
    account.sweep()
    account.delete("old-1")
    account.run(3.0)
    assert created(account) == ["cafe-0009", "shop-0001"]


def test_calls_that_were_sent_before_a_refusal_do_not_overtake_it():
    account = Account(10)
    first, *others = (waiting("shop", number) for number in range(4))
    account.line.may_have_room()
    for who in (first, *others):
        assert account.line.ask(who, account.allowed)[0].seconds == 0
    account.clock.advance(0.1)
    account.line.refused(first, WORDS, account.allowed)
    account.line._entries[first.uid].overtaken = 1
    for who in others:
        account.line.made(who, account.allowed)
    assert account.line._entries[first.uid].own_until < account.clock.now()


def test_one_that_is_overtaken_twice_is_known():
    account = full(("evil", 0), *SIX, noted=False)
    account.bad = {"evil-0000"}
    account.run(100.0)
    for number in range(2):
        account.delete(f"old-{number}")
        account.run(3.0)
        known = account.line._entries["evil-0000"].own_until > account.clock.now()
        assert known is (number == 1), "AWS may count the deletion a moment later"


def test_what_aws_did_not_decide_keeps_its_turn_for_some_seconds():
    account = full(*SIX, limit=6)
    account.run(100.0)
    first = account.resources["shop-0001"]
    account.existing.remove("old-0")
    assert account.line.may_have_room(deleted=1) == [first]
    sent(account, first)
    assert account.line.undecided(first, maybe_made=False) == []
    assert account.line.done(first.uid, account.allowed) == []
    account.due[first.uid] = account.clock.now() + 5.0
    account.run(8.0)
    assert created(account) == ["shop-0001"]


def test_what_aws_never_decides_has_the_turn_for_a_minute_at_most():
    account, first = with_the_turn(limit=6, seconds=200.0)
    for _ in range(20):
        account.due.pop(first.uid, None)
        answer, woken = account.line.ask(first, account.allowed)
        account.wake(woken)
        if not answer.seconds:
            account.line.undecided(first, maybe_made=False)
            account.line.done(first.uid, account.allowed)
        account.run(5.0)
        account.sweep()
    assert created(account)[:1] == ["bank-0004"]


def test_a_lost_answer_is_a_turn_of_its_namespace():
    account, first = with_the_turn(limit=6)
    sent(account, first)
    account.existing.append(first.uid)
    woken = account.line.undecided(first, maybe_made=True)
    assert account.line.used == 6, "as far as is known"
    account.wake(woken)
    assert [each.uid for each in woken] == ["bank-0004"]
    assert account.line.done(first.uid, account.allowed) == []
    account.run(1.0)
    account.wake(account.line.left(first.uid))
    for number in range(1, 4):
        account.delete(f"old-{number}")
        account.run(3.0)
    assert created(account) == IN_TURNS[:4]


@pytest.mark.parametrize("workers", [4, 8, 32])
@pytest.mark.parametrize("noted", [True, False])
def test_an_account_that_fills_up_in_parallel_takes_no_one_for_refused_for_its_own_sake(noted, workers):
    """AWS answers a refusal before the acceptances that took the last places."""
    for seed in range(3):
        busy = Parallel(noted=noted, workers=workers, seed=seed)
        assert busy.created_of(100, places=10) == list(range(10, 20))


class Parallel:
    """Workers that create at the same time in an account with ten places left, which then frees one place
    after the other."""

    def __init__(self, *, noted: bool, workers: int, seed: int) -> None:
        self.rng, self.clock, self.workers = random.Random(seed), FakeClock(), workers
        self.line, self.noted, self.limit = Line(self.clock), noted, 60
        self.existing = [f"old-{number}" for number in range(50)]
        self.order: list[int] = []
        self.events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self.ready: list[str] = []
        self.running: set[str] = set()
        self.again: set[str] = set()
        self.resources: dict[str, Waiting] = {}

    @property
    def allowed(self) -> Allowed:
        return Allowed(self.limit, is_default=False) if self.noted else Allowed(10_000, is_default=True)

    def created_of(self, many: int, places: int) -> list[int]:
        """Which of so many resources get the places, after the first ten are created."""
        self.line.counted(50, 600.0)
        self.at(60.0, self.sweep)
        for number in range(many):
            who = waiting(f"n{number:03}", number)
            self.resources[who.uid] = who
            self.at(number * 0.02, self.come, who.uid)
        for number in range(places):
            self.at(130.0 + 40.0 * number, self.delete)
        while self.events and self.events[0][0] <= 135.0 + 40.0 * places:
            at, _, event, args = heapq.heappop(self.events)
            self.clock.advance(max(0.0, at - self.clock.now()))
            event(*args)
        assert sorted(self.order[:10]) == list(range(10))
        return self.order[10:]

    def at(self, seconds: float, event: Callable[..., None], *args: object) -> None:
        number = self.rng.randrange(1 << 30)
        heapq.heappush(self.events, (self.clock.now() + seconds, number, event, args))

    def wake(self, woken: list[Waiting]) -> None:
        for each in woken:
            self.at(0.0, self.come, each.uid)

    def come(self, uid: str) -> None:
        if uid in self.running:
            self.again.add(uid)
        elif uid not in self.ready and self.number(uid) not in self.order:
            self.ready.append(uid)
        self.work()

    def work(self) -> None:
        while len(self.running) < self.workers and self.ready:
            uid = self.ready.pop(0)
            self.running.add(uid)
            self.at(0.05, self.ask, uid)

    def end(self, uid: str, seconds: float | None) -> None:
        self.running.discard(uid)
        if uid in self.again:
            self.again.discard(uid)
            self.at(0.0, self.come, uid)
        elif seconds is not None:
            self.at(seconds, self.come, uid)
        self.work()

    def ask(self, uid: str) -> None:
        answer, woken = self.line.ask(self.resources[uid], self.allowed)
        self.wake(woken)
        if answer.seconds:
            self.end(uid, answer.seconds)
        elif len(self.existing) < self.limit:
            self.existing.append(uid)
            self.order.append(self.number(uid))
            self.at(0.5 * self.rng.uniform(0.7, 1.3), self.accepted, uid)
        else:
            self.at(0.2 * self.rng.uniform(0.7, 1.3), self.refused, uid)

    def accepted(self, uid: str) -> None:
        self.wake(self.line.made(self.resources[uid], self.allowed))
        self.wake(self.line.done(uid, self.allowed))
        self.end(uid, None)

    def refused(self, uid: str) -> None:
        answer, woken = self.line.refused(self.resources[uid], WORDS, self.allowed)
        self.wake(woken)
        self.wake(self.line.done(uid, self.allowed))
        self.end(uid, answer.seconds)

    def sweep(self) -> None:
        self.wake(self.line.counted(len(self.existing), 600.0, self.clock.now() - 5.0))
        self.at(60.0, self.sweep)

    def delete(self) -> None:
        self.existing.pop(0)
        self.wake(self.line.may_have_room(deleted=1))

    def number(self, uid: str) -> int:
        return int(uid[-4:])


@pytest.mark.parametrize("noted", [True, False])
def test_what_aws_refuses_for_another_reason_waits_by_its_own_retry_only(noted):
    account = full(*((f"n{number:03}", number) for number in range(60)), limit=100, noted=noted)
    account.limit, account.noted = 5000, 5000 if noted else None
    account.invalid, account.retry = set(account.resources), 600.0
    account.wake(account.line.may_have_room())
    account.run_with_sweeps(700.0)
    assert account.line.waiting == 0
    asked = []
    ask = account.line.ask
    account.line.ask = lambda who, allowed: (asked.append(who.uid), ask(who, allowed))[1]
    account.run_with_sweeps(HOUR)
    assert len(asked) <= 61 * 6


def test_in_a_full_account_what_a_check_refuses_is_not_woken_each_minute():
    account = full(*((f"n{number:03}", number) for number in range(100)))
    account.run(700.0)
    account.invalid, account.retry = set(account.resources), 600.0
    asked = []
    ask = account.line.ask
    account.line.ask = lambda who, allowed: (asked.append(who.uid), ask(who, allowed))[1]
    account.run_with_sweeps(HOUR)
    # Ten of a round each minute, and their own retries.
    assert len(asked) <= 100 * 6 + 60 * 10 + 100


def test_a_team_with_new_namespaces_has_no_more_turns_than_others():
    account = full(("team", 1), ("team", 2), limit=10)
    account.run(100.0)
    account.delete("old-0")
    account.run(3.0)
    assert created(account) == ["team-0001"]
    for number in range(1, 8):
        account.add(waiting(f"new{number}", 10 + number), waiting(f"more{number}", 10 + number))
        account.run_with_sweeps(70.0)
        account.delete(f"old-{number}")
        account.run_with_sweeps(30.0)
    assert "team-0002" in account.existing


def test_a_namespace_that_never_had_a_turn_comes_before_one_that_had_all():
    account = Account(12)
    account.add(*(waiting("shop", number) for number in range(15)))
    account.run(1.0)
    account.add(waiting("bank", 100))
    account.run_with_sweeps(100.0)
    account.delete("shop-0000")
    account.run(3.0)
    assert "bank-0100" in account.existing


def test_refusals_of_another_kind_wake_no_more_than_a_round():
    account = full(*((f"n{number:03}", number) for number in range(50)))
    account.run(100.0)
    left = 0
    [who] = account.line.may_have_room(deleted=1)
    while who is not None:
        assert account.line.ask(who, account.allowed)[0].seconds == 0
        woken = account.line.left(who.uid)
        account.line.done(who.uid, account.allowed)
        left, who = left + 1, woken[0] if woken else None
    assert left == 10


def test_one_that_comes_late_has_its_turn_if_the_next_one_has_not_come():
    account, first = with_the_turn()
    account.clock.advance(31.0)
    [other] = account.line.counted(1, 600.0, account.clock.now() - 60.0)
    assert other.uid == "bank-0004"
    assert account.line.ask(first, account.allowed)[0].seconds == 0
    account.line.undecided(first, maybe_made=False)
    account.clock.advance(1.0)
    account.line.ask(other, account.allowed)
    assert account.line._woken == first.uid, "it keeps it"


def test_one_that_is_held_back_for_long_keeps_its_turn_as_long():
    account, first = with_the_turn()
    sent(account, first)
    account.line.undecided(first, maybe_made=False, after=20.0)
    account.clock.advance(25.0)
    assert account.line.ask(first, account.allowed)[0].seconds == 0


def test_where_aws_counts_a_deletion_a_moment_later_no_one_loses_its_place():
    account = full(*SIX)
    account.run(100.0)
    tried = len(account.calls)
    account.wake(account.line.may_have_room(deleted=1))
    account.run(1.0)
    assert [uid for _, uid in account.calls[tried:]] == IN_TURNS[:2]
    assert all(each.own_until < account.clock.now() for each in account.line._entries.values())


def test_what_a_check_refuses_keeps_its_place_while_the_account_is_full():
    account = full(*SIX)
    account.run(100.0)
    first = account.resources["shop-0001"]
    sent(account, first)
    account.line.done(first.uid, account.allowed)
    assert first.uid in account.line._entries
    account.noted = 9
    sent(account, first)
    account.line.done(first.uid, account.allowed)
    assert first.uid not in account.line._entries


def test_one_that_comes_late_before_anyone_else_has_its_turn():
    account, first = with_the_turn()
    account.clock.advance(45.0)
    answer, woken = account.line.ask(first, account.allowed)
    assert (answer.seconds, woken) == (0.0, [])


def test_a_wait_ends_in_time_for_the_longest_back_off():
    account = full(*SIX, noted=False)
    account.run(100.0)
    who = account.resources["bank-0005"]
    entry = account.line._entries[who.uid]
    entry.due, entry.latest = account.clock.now(), account.clock.now() + 3.0
    assert 0.0 < account.line.ask(who, account.allowed)[0].seconds <= 3.0


def late(account: Account, uid: str, seconds: float) -> float:
    """It was let try, without the turn, and its call is sent so much later. How long it has to wait then."""
    line, now = account.line, account.clock.now()
    line._woken, line._trying[uid] = "", Try(now - seconds, line._signs)
    if (first := line._first(now)) is not None:
        first.tried = now - 30.0
    return line.still(account.resources[uid], account.allowed).seconds


def test_a_call_that_waited_for_its_rate_is_sent_only_soon_after_the_first_one_tried():
    """Of a team whose config allows a call in ten seconds: it would be sent at any moment."""
    account = full(*SIX)
    account.run(200.0)
    for entry in account.line._entries.values():
        entry.loose_at = account.clock.now()
    assert 30.0 < late(account, "bank-0005", 25.0) <= 35.0
    account.line._trying["bank-0005"] = Try(account.clock.now() - 25.0, account.line._signs)
    account.line._first(account.clock.now()).tried = account.clock.now() - 5.0
    assert account.line.still(account.resources["bank-0005"], account.allowed).seconds == 0.0


def test_a_call_that_is_sent_at_once_needs_not_ask_again():
    account = full(*SIX)
    account.run(200.0)
    assert late(account, "bank-0005", lines._PROMPT) == 0.0


def test_the_one_that_has_the_turn_may_be_late():
    account = full(*SIX)
    account.run(100.0)
    first = account.resources["shop-0001"]
    account.line.may_have_room(deleted=1)
    sent(account, first)
    account.clock.advance(25.0)
    account.line._first(account.clock.now()).tried = account.clock.now() - 30.0
    for entry in account.line._entries.values():
        entry.loose_at = account.clock.now()
    account.line._entries["cafe-0009"].who = replace(first, uid="cafe-0009", created="2000")
    assert account.line.still(first, account.allowed).seconds == 0.0


def test_one_of_a_namespace_is_sent_at_any_moment_within_the_time_in_which_each_tries():
    account = full(*SIX)
    account.run(200.0)
    for entry in account.line._entries.values():
        entry.loose_at = -LONGEST
    assert late(account, "shop-0002", 25.0) == 0.0
    account.line.refused(account.resources["shop-0002"], WORDS, account.allowed)
    assert late(account, "shop-0003", 25.0) > 0.0


def test_a_new_one_that_is_late_waits_if_those_in_the_line_need_all_room():
    account = Account(6, existing=[f"old-{number}" for number in range(6)], noted=6)
    account.add(waiting("shop", 1))
    account.run(1.0)
    new = waiting("late", 100)
    account.resources[new.uid] = new
    assert late(account, new.uid, 1.0) == 0.0
    account.sweep()
    account.clock.advance(6.0)
    assert account.line.still(new, account.allowed).seconds > 0
    assert account.line.waiting == 2
    assert account.line.done(new.uid, account.allowed) == []


def test_calls_that_are_late_are_sent_while_there_is_room_for_all():
    account = full(*SIX, limit=6)
    account.run(200.0)
    account.noted = 100
    assert late(account, "bank-0005", 25.0) == 0.0


# What does not come.


def test_what_is_paused_or_gone_is_passed_over_at_the_next_event():
    account = full(*SIX)
    account.deaf = {"shop-0001", "bank-0004"}
    account.delete("old-0")
    for _ in range(3):
        account.run(31.0)
        account.sweep()
    account.run(1.0)
    assert created(account) == ["cafe-0009"]
    account.deaf = set()
    account.edit("shop-0001")
    account.run(1.0)
    account.delete("old-1")
    account.run(1.0)
    assert created(account)[1] == "shop-0001", "it is back"


def test_one_that_did_not_come_is_not_woken_again():
    account = full(*SIX)
    account.deaf = {"shop-0001"}
    account.delete("old-0")
    account.run(31.0)
    account.sweep()
    account.run(1.0)
    assert created(account) == ["bank-0004"]
    account.delete("old-1")
    account.run(1.0)
    assert created(account) == ["bank-0004", "shop-0002"]


def test_one_that_is_due_does_not_wait_for_ever_while_another_has_the_turn():
    clock = FakeClock()
    line, first, other = Line(clock), waiting("shop", 1), waiting("bank", 2)
    unknown = Allowed(10_000, is_default=True)
    for who in (first, other):
        wait = line.refused(who, WORDS, unknown)[0].seconds
    line.may_have_room()
    while wait:
        clock.advance(1.0)
        wait -= 1.0
        assert line.ask(first, unknown)[0].seconds == 0
        if wait <= 0:
            wait = line.ask(other, unknown)[0].seconds
        assert clock.now() <= LONGEST


def test_what_leaves_gives_its_turn_to_the_next():
    account = full(*SIX)
    account.delete("old-0")
    account.leave("shop-0001")
    account.run(1.0)
    assert created(account) == ["shop-0002"]


def test_one_that_a_check_refuses_gives_its_turn_to_the_next():
    account = full(*SIX)
    account.invalid = {"shop-0001", "bank-0004"}
    account.delete("old-0")
    account.run(1.0)
    assert created(account) == ["cafe-0009"]


def test_failures_do_not_wake_all_in_turn():
    account = full(*(("shop", age) for age in range(50)))
    account.run(100.0)
    account.invalid = set(account.resources)
    asked = []
    ask = account.line.ask
    account.line.ask = lambda who, allowed: (asked.append(who.uid), ask(who, allowed))[1]
    account.delete("old-0")
    account.run(2.0)
    assert len(asked) <= 11


def test_one_whose_reconcile_hangs_does_not_hold_the_line():
    account = full(*SIX)
    account.run(100.0)
    first = account.line.may_have_room(deleted=1)[0]
    assert account.line.ask(first, account.allowed)[0].seconds == 0
    account.existing.remove("old-0")
    account.deaf = {first.uid}
    account.run_with_sweeps(61.0)
    assert created(account) == ["bank-0004"]


def test_what_has_not_asked_for_long_is_forgotten():
    account = full(*SIX)
    account.deaf = set(account.resources)
    account.run(2 * LONGEST + 100.0)
    assert account.line.waiting == 0


def test_the_youngest_of_the_largest_namespace_are_dropped(monkeypatch):
    monkeypatch.setattr(lines, "_MOST", 10)
    account = full(*(("shop", age) for age in range(30)), ("bank", 90), ("bank", 91), noted=False)
    assert account.line.waiting == 10
    assert {each.who.namespace for each in account.line._entries.values()} == {"shop", "bank"}
    account.limit = 1000
    account.run(BOUND)
    assert len(account.existing) == 34


@pytest.mark.parametrize("noted", [True, False])
def test_one_too_many_for_the_line_tries_by_its_own_back_off(monkeypatch, noted):
    monkeypatch.setattr(lines, "_MOST", 10)
    account = full(*(("shop", age) for age in range(30)), noted=noted)
    told = set()
    ask = account.line.ask
    account.line.ask = lambda who, allowed: (told.add((who.uid, (a := ask(who, allowed))[0].used)), a)[1]
    account.run_with_sweeps(HOUR)
    for uid in account.resources:
        assert 6 <= len(account.tries(uid)) <= 70, uid
    account.existing.append("by-hand")
    account.run_with_sweeps(HOUR)
    beyond = account.resources.keys() - account.line._entries.keys()
    assert beyond
    assert {used for uid, used in told if uid in beyond} <= {None}


def test_turns_of_many_namespaces_are_forgotten(monkeypatch):
    monkeypatch.setattr(lines, "_MOST", 10)
    account = Account(1000)
    account.add(*(waiting(f"n{number}", number) for number in range(30)))
    account.run(10.0)
    assert list(account.line._served.values()) == list(range(21, 31))


# Numbers.


def test_the_number_at_the_beginning_is_kept():
    account = full(("shop", 1))
    account.existing.append("by-hand")
    account.sweep()
    who = account.resources["shop-0001"]
    assert account.line.used == 3
    assert account.line.refused(who, WORDS, account.allowed)[0].used == 2


def test_own_creations_and_deletions_count_between_two_lists():
    account = Account(10)
    account.sweep()
    account.add(waiting("shop", 0), waiting("shop", 1))
    account.run(1.0)
    assert account.line.used == 2
    account.delete("shop-0000")
    assert account.line.used == 1


def test_a_list_that_began_before_an_own_creation_is_no_sign_of_room():
    account = full(*SIX, limit=6)
    account.run(100.0)
    began = account.clock.now()
    account.delete("old-0")
    shown = len(account.existing)
    account.run(30.0)
    assert created(account) == IN_TURNS[:1]
    assert account.line.counted(shown, 600.0, began) == []
    assert account.line.used == 6
    account.run(30.0)
    assert account.line.counted(5, 600.0) == [account.resources["bank-0004"]]


def test_a_list_that_shows_an_own_creation_counts_it_once():
    account = Account(10, noted=10)
    account.sweep()
    began = account.clock.now()
    account.add(waiting("shop", 0), waiting("shop", 1))
    account.run(1.0)
    for shown in (0, 1, 2):
        account.line.counted(shown, 600.0, began)
        assert account.line.used == 2
    account.line.counted(7, 600.0, began)
    assert account.line.used == 7
    account.run(700.0)
    account.line.counted(3, 600.0)
    assert account.line.used == 3


def test_a_list_that_began_before_an_own_deletion_may_still_show_it():
    account = Account(10, existing=["old-0", "old-1"], noted=10)
    account.sweep()
    began = account.clock.now()
    account.run(30.0)
    account.delete("old-0")
    account.run(30.0)
    for shown in (1, 2):
        account.line.counted(shown, 600.0, began)
        assert account.line.used == 1
    account.line.counted(3, 600.0, began)
    assert account.line.used == 2, "others made at least one"


def test_an_older_list_of_another_caller_counts_for_nothing():
    account = full(*SIX, limit=10)
    account.run(100.0)
    now = account.clock.now()
    account.line.counted(10, 600.0, now - 5.0)
    assert account.line.counted(7, 600.0, now - 50.0) == []
    assert account.line.used == 10


def test_own_calls_that_are_remembered_are_bounded(monkeypatch):
    use = Use(clock := FakeClock())
    use.note(0, 600.0)
    for _ in range(30_000):
        use.add(1)
    assert len(use._own) == 20_000
    clock.advance(601.0)
    use.add(1)
    assert len(use._own) == 1


def test_a_wait_is_never_negative():
    """The first one should have tried long ago, and has not come."""
    account = full(*SIX)
    account.clock.advance(500.0)
    entry = account.line._entries["bank-0005"]
    assert account.line._until_first(entry, account.clock.now()) == 0.0


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


def expected(ages: list[tuple[str, int]]) -> list[str]:
    """In turns, and by age: the rule in other words than the code's."""
    rows = {each: sorted(age for name, age in ages if name == each) for each, _ in ages}
    order: list[str] = []
    while any(rows.values()):
        # Those that have no turn yet in this rotation, the one with the oldest resource first at the start.
        for name in sorted(rows, key=lambda each: turn_of(order, each) or (0, rows[each][0])):
            if rows[name]:
                order.append(f"{name}-{rows[name].pop(0):04}")
                break
        rows = {name: row for name, row in rows.items() if row}
    return order


def turn_of(order: list[str], name: str) -> tuple[int, int] | None:
    """When it was served last."""
    turns = [number for number, uid in enumerate(order, 1) if uid.startswith(f"{name}-")]
    return (turns[-1], 0) if turns else None


@st.composite
def lots(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Resources of some namespaces, each of another age, in the order in which they come."""
    ages = draw(st.lists(st.integers(0, 500), unique=True, min_size=1, max_size=12))
    return [(f"n{draw(st.integers(0, 4))}", age) for age in ages]


@settings(max_examples=150, deadline=None)
@given(lots(), st.lists(st.floats(2.0, 700.0), min_size=12, max_size=12), st.integers(0, 3))
def test_in_a_full_account_places_go_by_turns_and_age_and_newcomers_do_not_overtake(ages, pauses, late):
    account = full(*ages, limit=len(ages))
    account.run_with_sweeps(70.0)
    for number, pause in zip(range(len(ages)), pauses, strict=False):
        if number < late:
            account.add(waiting("a-new", 1000 + number))
        account.delete(f"old-{number}")
        account.add(*[waiting("a-new", 2000 + number)] * (number < late))
        account.run_with_sweeps(pause)
        waited = [uid for uid in created(account) if not uid.startswith("a-new")]
        assert waited == expected(ages)[: len(waited)]
        # One more namespace takes its turns, and no more than those.
        assert len(created(account)) == number + 1
        new = len(created(account)) - len(waited)
        assert new <= 1 + max((waited.count(uid) for uid in waited), default=0) + number // 2


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.booleans(),
    st.lists(st.sampled_from(["new", "edit", "leave", "run", "sweep"]), max_size=40),
)
def test_in_an_account_with_room_newcomers_never_wait(namespaces, many, noted, events):
    account = Account(5000, noted=5000 if noted else None)
    account.sweep()
    for number in range(namespaces * many):
        account.add(waiting(f"evil{number % namespaces}", number))
    account.bad = set(account.resources)
    account.run(1.0)
    for number, event in enumerate(events):
        bad = sorted(account.resources.keys() & account.bad)
        match event:
            case "new":
                uid = f"shop-{number:04}"
                account.calls.clear()
                account.add(waiting("shop", number))
                account.reconcile(account.resources[uid])
                account.due.pop(uid, None)
                assert [who for _, who in account.calls] == [uid]
                assert uid in account.existing
            case "edit" if bad:
                account.edit(bad[number % len(bad)])
            case "leave" if bad:
                account.leave(bad[number % len(bad)])
            case "run":
                account.run(float(number * 7 % 90))
            case "sweep":
                account.sweep()


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("by others"), st.integers(0, 9)),
        st.tuples(st.just("sweep"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("limit"), st.integers(0, 8)),
        st.tuples(st.just("noted"), st.integers(0, 8)),
        st.tuples(st.just("run"), st.integers(1, 900)),
        st.tuples(st.just("deaf"), st.integers(0, 9)),
        st.tuples(st.just("invalid"), st.integers(0, 9)),
        st.tuples(st.just("bad"), st.integers(0, 9)),
    ),
    max_size=40,
)


def play(account: Account, events: list[tuple[str, int]]) -> None:
    """Let all of that happen."""
    for number, (what, which) in enumerate(events):
        everyone = sorted(account.resources)
        one = everyone[which % len(everyone)] if everyone else ""
        match what:
            case "add":
                account.add(waiting(("shop", "bank", "cafe", "evil")[which], number))
            case "delete" | "by others" if account.existing:
                gone = account.existing.pop(which % len(account.existing))
                account.resources.pop(gone)
                account.wake(account.line.may_have_room(deleted=1) if what == "delete" else [])
            case "limit" | "noted":
                setattr(account, what, which)
            case "run":
                account.run(float(which))
            case "deaf" | "bad" | "invalid" if one:
                getattr(account, what).add(one)
            case "sweep" | "restart":
                getattr(account, what)()


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_each_tries_within_the_bound_whatever_happens(events):
    account = Account(3)
    play(account, events)
    account.limit = 0
    began = account.clock.now()
    account.run(BOUND)
    lacking = account.resources.keys() - set(account.existing) - account.deaf - account.invalid
    assert all(any(at >= began for at in account.tries(uid)) for uid in lacking)


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_at_last_all_are_created_that_can_be(events):
    account = Account(3)
    play(account, events)
    account.limit = 1000
    account.run(BOUND)
    lacking = account.resources.keys() - set(account.existing)
    assert not lacking - account.deaf - account.bad - account.invalid


@settings(max_examples=30, deadline=None)
@given(lots(), st.booleans())
def test_a_restart_loses_none(ages, noted):
    account = full(*ages, noted=noted)
    account.run(300.0)
    account.restart()
    restarted = account.clock.now()
    account.run(BOUND)
    assert all(account.tries(uid)[-1] > restarted for uid in account.resources)
    assert account.line.waiting == len(ages)


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_no_more_are_created_than_aws_allows(limit):
    account = Account(limit)
    account.add(*(waiting("shop", age) for age in range(20)))
    account.run(HOUR)
    assert len(account.existing) == limit


def test_a_default_that_is_not_used_up_says_nothing_about_the_refused():
    line, who = Line(FakeClock()), waiting("shop", 1)
    line.counted(12, 600.0)
    line.refused(who, WORDS, Allowed(10_000, is_default=True))
    assert line.may_have_room() == [who]
    assert line.made(waiting("bank", 1), Allowed(10_000, is_default=True)) == []
