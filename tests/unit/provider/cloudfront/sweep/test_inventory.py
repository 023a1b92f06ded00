"""What an inventory confirms, and which resources it wakes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from apis.providerconfig import TenantLists
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ObjectKey
from provider.cloudfront.aws.list_calls import GroupRow
from provider.cloudfront.memory.schedules import share
from provider.cloudfront.memory.writes import Writes
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.inventory import Inventory, agree
from provider.cloudfront.sweep.watching import Follower

INTERVAL = 60.0
ENABLED, DISABLED = GroupRow("E1", True, "Deployed"), GroupRow("E2", False, "Deployed")
HALF_A_DAY = 12 * 3600.0


def tenant(name: str = "acme", etag: str = "E1", **fields) -> ObservedTenant:
    """A tenant as a Get shows it."""
    return ObservedTenant(
        id=f"dt_{name}",
        arn=f"arn:aws:cloudfront::123456789012:distribution-tenant/dt_{name}",
        name=name,
        etag=etag,
        distribution_id="E1",
        **{"domains": {f"{name}.example.com": "active"}, "parameters": {"tier": "gold"}, **fields},
    )


def row(seen: ObservedTenant) -> ObservedTenant:
    """The same, as a list shows it."""
    return replace(seen, parameters={})


def follower(name: str = "acme") -> Follower:
    return Follower(f"uid-{name}", "v1", ObjectKey("shop", name))


class Lists:
    """An inventory, and the lists that it gets."""

    def __init__(self, **how) -> None:
        self.clock = FakeClock(1000.0)
        self.writes = Writes(self.clock)
        self.inventory = Inventory(self.clock, self.writes, INTERVAL, **how)
        self.groups: dict[str, GroupRow] = {}

    def sweep(self, *rows: ObservedTenant, takes: float = 0.0) -> list[Follower]:
        """One page has them all. Returns those that are woken."""
        self.clock.advance(1.0)
        began = self.clock.now()
        woken = self.inventory.page([row(each) for each in rows], began)
        self.clock.advance(takes)
        _, by_group = self.inventory.groups(dict(self.groups))
        return woken + by_group + self.inventory.complete(began)

    def get(self, seen: ObservedTenant) -> ObservedTenant:
        self.clock.advance(1.0)
        self.inventory.got(seen, self.clock.now())
        return seen

    def confirmed(self, name: str = "acme", remembered: ObservedTenant | None = None, generation: int = 1):
        found = self.inventory.confirmed(name, generation, 0.5, lambda _: remembered)
        return found.seen if found else None


@pytest.fixture
def lists() -> Lists:
    return Lists()


def test_a_get_is_confirmed_by_the_next_list_with_its_parameters(lists):
    seen = lists.get(tenant())
    assert lists.confirmed() is None
    lists.sweep(tenant())
    assert lists.confirmed() == seen


@pytest.mark.parametrize(
    "now",
    [
        {"etag": "E2"},
        {"enabled": False},
        {"domains": {"acme.example.com": "inactive"}},
        {"domains": {}},
        {"status": "InProgress"},
        {"distribution_id": "E2"},
        {"connection_group_id": "cg_2"},
    ],
)
def test_a_row_that_differs_confirms_nothing(lists, now):
    lists.get(tenant())
    lists.sweep(replace(tenant(), **now))
    assert lists.confirmed() is None


def test_a_roll_out_takes_a_get_each_time(lists):
    lists.get(tenant(status="InProgress"))
    lists.sweep(tenant(status="InProgress"))
    assert lists.confirmed() is None


def test_a_tenant_with_the_same_etag_and_another_id_is_another_one():
    assert not agree(replace(tenant(), id="dt_other"), tenant())


def test_a_list_that_was_requested_before_a_write_does_not_count_after_it(lists):
    lists.get(tenant())
    lists.sweep(tenant())
    with lists.writes.to("dt_acme"):
        assert lists.confirmed() is None
    assert lists.confirmed() is None
    # The Get is older than the write, too.
    lists.sweep(tenant())
    assert lists.confirmed() is None
    lists.get(tenant())
    assert lists.confirmed() == tenant()


def test_a_get_that_was_sent_before_a_write_ended_does_not_count_after_it(lists):
    with lists.writes.to("dt_acme"):
        lists.get(tenant())
        lists.clock.advance(1.0)
    lists.sweep(tenant())
    assert lists.confirmed() is None


def test_an_old_list_does_not_count(lists):
    lists.get(tenant())
    lists.sweep(tenant())
    lists.clock.advance(2 * INTERVAL)
    assert lists.confirmed() == tenant()
    lists.clock.advance(1.0)
    assert lists.confirmed() is None


def test_after_a_day_a_tenant_is_read_again(lists):
    lists.get(tenant())
    for _ in range(24):
        lists.clock.advance(3600.0)
        lists.sweep(tenant())
    assert lists.confirmed() is None
    lists.get(tenant())
    assert lists.confirmed() == tenant()


def test_a_late_page_does_not_replace_a_newer_row(lists):
    lists.get(tenant(etag="E2"))
    lists.sweep(tenant(etag="E2"))
    lists.inventory.page([row(tenant(etag="E1"))], lists.clock.now() - 5)
    assert lists.confirmed() == tenant(etag="E2")


def test_an_earlier_get_that_ends_later_does_not_replace_a_newer_one(lists):
    lists.get(tenant(etag="E2"))
    lists.inventory.got(tenant(etag="E1"), lists.clock.now() - 5)
    lists.sweep(tenant(etag="E2"))
    assert lists.confirmed() == tenant(etag="E2")


def test_a_name_that_is_the_id_of_another_tenant_takes_a_get(lists):
    """AWS takes names, ids and ARNs in one parameter, and may mean either."""
    mine, other = tenant("acme"), replace(tenant("x"), name="dt_acme")
    lists.get(mine)
    lists.get(other)
    lists.sweep(mine, other)
    assert lists.confirmed("dt_acme") is None
    assert lists.confirmed("acme") == mine


def test_a_name_that_moved_to_a_new_tenant_leads_there(lists):
    lists.sweep(tenant())
    again = replace(tenant(), id="dt_again", etag="E1")
    lists.get(again)
    lists.sweep(again)
    assert lists.confirmed() == again


class TestRemembered:
    """Before a process has read the tenant."""

    def test_the_record_completes_a_row(self, lists):
        lists.sweep(tenant())
        assert lists.confirmed(remembered=tenant()) == tenant()

    def test_the_record_is_not_what_this_process_has_read(self, lists):
        lists.sweep(tenant())
        found = lists.inventory.confirmed("acme", 1, 0.5, lambda _: tenant())
        assert found is not None
        assert not found.whole
        lists.get(tenant())
        found = lists.inventory.confirmed("acme", 1, 0.5, lambda _: tenant())
        assert found is not None
        assert found.whole

    def test_a_get_of_this_process_goes_first(self, lists):
        lists.get(tenant(etag="E2"))
        lists.sweep(tenant())
        assert lists.confirmed(remembered=tenant()) is None

    def test_the_record_says_nothing_of_a_later_spec(self, lists):
        """Anyone who may write the status could hide the change."""
        lists.sweep(tenant())
        assert lists.confirmed(remembered=tenant(), generation=1) == tenant()
        assert lists.confirmed(remembered=tenant(), generation=2) is None
        lists.get(tenant())
        assert lists.confirmed(generation=2) == tenant()

    def test_within_a_day_it_is_read(self, lists):
        lists.clock.advance(HALF_A_DAY - 10)
        lists.sweep(tenant())
        assert lists.confirmed(remembered=tenant()) == tenant()
        lists.clock.advance(10)
        assert lists.confirmed(remembered=tenant()) is None

    def test_those_reads_are_spread(self):
        shares = sorted(share(f"uid-{number}") for number in range(1000))
        assert 0 < shares[0] < 0.01
        assert 0.99 < shares[-1] <= 1
        assert 0.45 < shares[500] < 0.55


class TestWatch:
    def test_a_change_wakes_it_once(self, lists):
        lists.sweep(tenant())
        assert lists.inventory.watch(follower(), tenant(), 600)
        assert lists.sweep(tenant()) == []
        assert lists.sweep(tenant(etag="E2")) == [follower()]
        assert lists.sweep(tenant(etag="E3")) == []

    def test_all_resources_of_a_tenant_are_woken(self, lists):
        other = replace(follower(), uid="other")
        lists.sweep(tenant())
        lists.inventory.watch(follower(), tenant(), 600)
        lists.inventory.watch(other, tenant(), 600)
        assert set(lists.sweep(tenant(etag="E2"))) == {follower(), other}

    def test_a_missing_tenant_wakes_it(self, lists):
        lists.sweep(tenant(), tenant("b"))
        lists.inventory.watch(follower(), tenant(), 600)
        assert lists.sweep(tenant("b")) == [follower()]

    def test_it_is_not_watched_before_a_list_shows_it(self, lists):
        assert not lists.inventory.watch(follower(), tenant(), 600)
        lists.sweep(tenant("b"))
        assert not lists.inventory.watch(follower(), tenant(), 600)

    def test_it_is_not_watched_if_the_list_shows_another_state(self, lists):
        lists.sweep(tenant(etag="E2"))
        assert not lists.inventory.watch(follower(), tenant(), 600)

    def test_it_is_not_watched_with_a_list_from_before_a_write(self, lists):
        lists.sweep(tenant())
        with lists.writes.to("dt_acme"):
            pass
        assert not lists.inventory.watch(follower(), tenant(), 600)

    def test_a_change_of_its_group_wakes_it(self, lists):
        mine = tenant(connection_group_id="cg_1")
        lists.groups = {"cg_1": ENABLED, "cg_2": ENABLED}
        lists.sweep(mine)
        assert lists.inventory.watch(follower(), mine, 600)
        lists.groups = {"cg_1": ENABLED, "cg_2": DISABLED}
        assert lists.sweep(mine) == []
        lists.groups = {"cg_1": DISABLED, "cg_2": DISABLED}
        assert lists.sweep(mine) == [follower()]

    def test_it_is_not_watched_if_no_list_shows_its_group(self, lists):
        mine = tenant(connection_group_id="cg_1")
        lists.sweep(mine)
        assert not lists.inventory.watch(follower(), mine, 600)

    def test_it_is_not_watched_while_the_list_shows_its_group_in_another_state(self, lists):
        """One of both lags behind; a change of the group would be missed."""
        mine = tenant(connection_group_id="cg_1")
        lists.groups = {"cg_1": DISABLED}
        lists.sweep(mine)
        assert not lists.inventory.watch(follower(), mine, 600)
        assert lists.inventory.watch(follower(), mine, 600, group_disabled=True)

    def test_groups_that_can_no_longer_be_listed_wake_it(self, lists):
        mine = tenant(connection_group_id="cg_1")
        lists.groups = {"cg_1": ENABLED}
        lists.sweep(mine)
        lists.inventory.watch(follower(), mine, 600)
        lists.groups = {}
        assert lists.sweep(mine) == [follower()]

    def test_a_reconcile_ends_it(self, lists):
        lists.sweep(tenant())
        lists.inventory.watch(follower(), tenant(), 600)
        lists.inventory.unwatch(follower())
        assert lists.sweep(tenant(etag="E2")) == []
        assert lists.inventory.watched == ()

    def test_it_ends_by_itself(self, lists):
        """The resource may exist no more."""
        lists.sweep(tenant())
        lists.inventory.watch(follower(), tenant(), 600)
        lists.clock.advance(601)
        assert lists.sweep(tenant()) == []
        assert lists.inventory.watched == ()


class TestFailures:
    def test_one_sweep_that_fails_changes_nothing(self, lists):
        lists.get(tenant())
        lists.sweep(tenant())
        lists.inventory.watch(follower(), tenant(), 600)
        lists.inventory.failed()
        assert lists.inventory.overdue() == []
        assert lists.confirmed() == tenant()

    def test_when_the_last_list_is_too_old_all_are_woken(self, lists):
        lists.sweep(tenant(), tenant("b"))
        for name in ("acme", "b"):
            lists.inventory.watch(follower(name), tenant(name), 600)
        lists.clock.advance(2 * INTERVAL + 1)
        assert set(lists.inventory.overdue()) == {follower(), follower("b")}
        assert not lists.inventory.watch(follower(), tenant(), 600)

    def test_a_sweep_that_takes_long_leaves_half_of_the_time(self, lists):
        """And its own duration does not make it late."""
        lists.get(tenant())
        lists.sweep(tenant(), takes=100.0)
        assert lists.inventory.period == 200.0
        lists.inventory.watch(follower(), tenant(), 6000)
        lists.clock.advance(150.0)
        assert lists.inventory.overdue() == []
        assert lists.confirmed() == tenant()
        lists.sweep(tenant(), takes=1.0)
        assert lists.inventory.period == INTERVAL

    def test_however_long_it_takes_the_next_one_comes(self, lists):
        lists.sweep(tenant(), takes=10_000.0)
        assert lists.inventory.period == 5 * INTERVAL

    def test_after_its_end_nothing_is_confirmed(self, lists):
        lists.get(tenant())
        lists.sweep(tenant())
        lists.inventory.watch(follower(), tenant(), 600)
        assert lists.inventory.close() == [follower()]
        assert lists.confirmed(remembered=tenant()) is None
        assert not lists.inventory.watch(follower(), tenant(), 600)
        assert lists.inventory.age == float("inf")


class TestAbsent:
    """A Get did not find it. Its list may lag behind."""

    def test_a_list_does_not_confirm_it(self, lists):
        lists.get(tenant())
        lists.sweep(tenant())
        lists.inventory.absent("acme", lists.clock.now())
        assert lists.confirmed(remembered=tenant()) is None
        lists.sweep(tenant())
        assert lists.confirmed(remembered=tenant()) is None

    def test_until_a_get_finds_it(self, lists):
        lists.sweep(tenant())
        lists.inventory.absent("acme", lists.clock.now())
        lists.get(tenant())
        assert lists.confirmed() == tenant()

    def test_some_of_the_others_are_read_once_in_an_interval(self, lists):
        seen = [tenant(f"t{number}") for number in range(300)]
        lists.sweep(*seen)
        for each in seen:
            lists.inventory.watch(follower(each.name), each, 600)
        assert lists.inventory.doubt() == [follower(f"t{number}") for number in range(200)]
        assert lists.inventory.doubt() == []
        lists.clock.advance(INTERVAL)
        assert lists.inventory.doubt() == [follower(f"t{number}") for number in range(200, 300)]

    def test_they_take_little_memory(self, lists, monkeypatch):
        monkeypatch.setattr("provider.cloudfront.sweep.inventory._MOST_ABSENT", 10)
        for number in range(20):
            lists.inventory.absent(f"t{number}", lists.clock.now())
        assert len(lists.inventory._absent) == 10


class TestMissing:
    """Tenants that lists show no more may be gone with the one that a Get did not find."""

    @pytest.fixture
    def missing(self, lists):
        seen = [tenant(f"t{number}") for number in range(5)]
        lists.sweep(*seen)
        for each in seen[1:]:
            lists.inventory.watch(follower(each.name), each, 600)
        lists.sweep(seen[4])
        assert lists.inventory.missing == 3, "the first one was not watched"
        return lists

    def test_one_counts_once_however_many_watch_it(self, lists):
        """Anyone may observe it with many resources."""
        lists.sweep(tenant())
        for number in range(10):
            lists.inventory.watch(replace(follower(), uid=str(number)), tenant(), 600)
        lists.sweep()
        assert lists.inventory.missing == 1

    def test_a_get_that_finds_it_ends_it(self, missing):
        missing.get(tenant("t1"))
        assert missing.inventory.missing == 2

    def test_a_get_that_does_not_find_it_ends_it(self, missing):
        missing.inventory.absent("t1", missing.clock.now())
        assert missing.inventory.missing == 2

    def test_a_list_that_shows_it_ends_it(self, missing):
        missing.sweep(tenant("t1"), tenant("t4"))
        assert missing.inventory.missing == 2

    def test_it_ends_after_an_hour(self, missing):
        missing.clock.advance(3600.0)
        assert missing.inventory.missing == 0
        missing.sweep(tenant("t4"))
        assert not missing.inventory._missing

    def test_what_the_provider_deleted_is_not_missing(self):
        lists = Lists(removed=lambda id_: id_ == "dt_acme")
        for name in ("acme", "other"):
            lists.sweep(tenant("acme"), tenant("other"))
            lists.inventory.watch(follower(name), tenant(name), 600)
        with lists.writes.to("dt_other"):
            lists.clock.advance(1.0)
        lists.sweep()
        assert lists.inventory.missing == 1, "the provider changed the other one, and did not delete it"


class TestFirstList:
    def test_it_is_awaited_for_a_minute(self, lists):
        assert lists.inventory.is_awaited
        lists.clock.advance(60.0)
        assert not lists.inventory.is_awaited

    def test_not_after_it_came(self, lists):
        lists.sweep()
        assert not lists.inventory.is_awaited

    def test_not_after_it_failed(self, lists):
        lists.inventory.failed()
        assert not lists.inventory.is_awaited


def test_without_lists_nothing_is_remembered(lists):
    lists.inventory.failed()
    lists.get(tenant())
    assert not lists.inventory._got


def test_what_is_gone_takes_no_memory(lists):
    for number in range(50):
        seen = tenant(f"t{number}")
        lists.get(seen)
        lists.sweep(seen)
        lists.inventory.watch(follower(seen.name), seen, 600)
    lists.sweep()
    inventory = lists.inventory
    kept = (inventory._rows, inventory._ids, inventory._got, inventory._watchers, inventory._watchers._by_id)
    assert [len(each) for each in kept] == [0, 0, 0, 0, 0]


class TestWrites:
    def test_the_oldest_are_forgotten_and_then_count_as_recent(self, monkeypatch):
        monkeypatch.setattr("provider.cloudfront.memory.writes._MOST", 2)
        clock = FakeClock(10.0)
        writes = Writes(clock)
        assert writes.last("a") == float("-inf")
        for id_ in ("a", "b", "c"):
            with writes.to(id_):
                clock.advance(1.0)
        assert writes.last("c") == 13.0
        assert writes.last("a") == writes.last("never") == 11.0

    def test_a_write_that_fails_counts(self):
        clock = FakeClock(10.0)
        writes = Writes(clock)
        write = ExitStack()
        write.enter_context(writes.to("a"))
        clock.advance(5.0)
        with pytest.raises(OSError, match="lost"), write:
            raise OSError("lost")
        assert writes.last("a") == 15.0


class TestState:
    """What the status of a provider config says."""

    def test_nothing_before_the_first_list(self, lists):
        assert lists.inventory.lists is None

    def test_late_when_the_last_list_is_old(self, lists):
        lists.sweep()
        assert lists.inventory.lists is TenantLists.CURRENT
        lists.inventory.failed()
        lists.clock.advance(2 * INTERVAL)
        assert lists.inventory.lists is TenantLists.CURRENT
        lists.clock.advance(1.0)
        assert lists.inventory.lists is TenantLists.LATE
        lists.sweep()
        assert lists.inventory.lists is TenantLists.CURRENT

    def test_late_when_the_first_list_fails(self, lists):
        lists.inventory.failed()
        assert lists.inventory.lists is TenantLists.LATE

    def test_not_permitted_at_once_and_until_a_list_succeeds(self, lists):
        lists.sweep()
        lists.inventory.failed(refused=True)
        assert lists.inventory.lists is TenantLists.NOT_PERMITTED
        lists.sweep()
        assert lists.inventory.lists is TenantLists.CURRENT

    def test_unused_while_a_list_costs_more(self, lists):
        lists.sweep()
        lists.inventory.close()
        assert lists.inventory.lists is TenantLists.UNUSED


MOVING = "InProgress"


class TestMotion:
    """What the provider wrote, and how CloudFront goes on."""

    def wrote(self, lists, seen: ObservedTenant) -> ObservedTenant:
        with lists.writes.to(seen.id):
            lists.clock.advance(1.0)
        lists.inventory.wrote(seen)
        return seen

    def follow(self, lists, seen: ObservedTenant, **fields) -> float | None:
        return lists.inventory.follow(follower(), seen, 300.0, 5.0, **fields)

    def test_the_end_of_a_roll_out_is_confirmed_without_a_get(self, lists):
        lists.sweep(tenant())
        written = self.wrote(
            lists, tenant(etag="E2", status=MOVING, domains={"acme.example.com": "inactive"})
        )
        lists.sweep(tenant(etag="E2", domains={"acme.example.com": "active"}))
        assert lists.confirmed() == replace(
            written, status="Deployed", domains={"acme.example.com": "active"}
        )

    def test_but_not_its_middle_or_another_version(self, lists):
        lists.sweep(tenant())
        self.wrote(lists, tenant(etag="E2", status=MOVING))
        lists.sweep(tenant(etag="E2", status=MOVING))
        assert lists.confirmed() is None
        lists.sweep(tenant(etag="E3"))
        assert lists.confirmed() is None
        lists.sweep(tenant(etag="E2", domains={"b.example.com": "active"}))
        assert lists.confirmed() is None
        lists.sweep(tenant(etag="E2", enabled=False))
        assert lists.confirmed() is None

    def test_an_answer_from_before_another_write_confirms_nothing(self, lists):
        lists.sweep(tenant())
        written = self.wrote(lists, tenant(etag="E2", status=MOVING))
        with lists.writes.to(written.id):
            lists.clock.advance(1.0)
        lists.sweep(tenant(etag="E2"))
        assert lists.confirmed() is None

    def test_a_roll_out_that_ended_before_the_last_get_is_not_confirmed(self, lists):
        """It started again since."""
        lists.sweep(tenant())
        lists.get(tenant(status=MOVING))
        assert lists.confirmed() is None

    def test_a_resource_waits_for_the_end_of_a_roll_out(self, lists):
        lists.sweep(tenant())
        written = self.wrote(lists, tenant(etag="E2", status=MOVING))
        assert self.follow(lists, written) == 5.0
        assert lists.inventory.wanted == lists.clock.now() + 5.0
        assert lists.sweep(tenant(etag="E2", status=MOVING)) == []
        assert lists.sweep(tenant(etag="E2")) == [follower()]
        assert lists.inventory.wanted == float("inf")

    def test_a_new_tenant_that_a_list_lacks_is_polled(self, lists):
        lists.sweep()
        made = self.wrote(lists, tenant(status=MOVING))
        assert self.follow(lists, made) == 5.0
        assert lists.sweep() == [follower()]
        assert self.follow(lists, made) is None

    def test_a_list_from_before_a_write_wakes_no_resource(self, lists):
        lists.sweep(tenant())
        began = lists.clock.now()
        written = self.wrote(lists, tenant(etag="E2", status=MOVING))
        self.follow(lists, written)
        assert lists.inventory.page([row(tenant())], began) == []
        lists.inventory.page([], began)
        assert lists.inventory.complete(began) == []

    def test_a_list_that_lags_behind_a_write_is_not_relied_on(self, lists):
        lists.sweep(tenant())
        written = self.wrote(lists, tenant(etag="E2", status=MOVING))
        assert self.follow(lists, written) is not None
        assert lists.sweep(tenant()) == [follower()]
        assert self.follow(lists, written) is None

    def test_a_deleted_tenant_is_gone_when_a_later_list_lacks_it(self, lists):
        lists.sweep(tenant())
        deleted = self.wrote(lists, tenant(enabled=False))
        assert self.follow(lists, deleted, gone=True) is not None
        assert not lists.inventory.has_gone(deleted.id, "acme")
        assert lists.sweep(tenant(enabled=False)) == [follower()], "the list lags behind"
        assert not lists.inventory.has_gone(deleted.id, "acme")
        self.follow(lists, deleted, gone=True)
        assert lists.sweep() == [follower()]
        assert lists.inventory.has_gone(deleted.id, "acme")

    def test_a_list_from_before_the_deletion_says_nothing(self, lists):
        lists.sweep()
        assert lists.inventory.has_gone("dt_acme", "acme")
        self.wrote(lists, tenant())
        assert not lists.inventory.has_gone("dt_acme", "acme")

    def test_another_tenant_of_the_name_is_read(self, lists):
        lists.sweep(replace(tenant(), id="dt_2"))
        assert not lists.inventory.has_gone("dt_acme", "acme")

    def test_an_old_list_says_nothing_of_what_is_gone_or_free(self, lists):
        lists.sweep()
        assert lists.inventory.lacks("acme")
        lists.clock.advance(2 * INTERVAL + 1)
        assert not lists.inventory.has_gone("dt_acme", "acme")
        assert not lists.inventory.lacks("acme")

    def test_a_name_is_free_if_no_tenant_has_it_as_name_or_id(self, lists):
        assert not lists.inventory.lacks("acme")
        lists.sweep(tenant())
        assert [lists.inventory.lacks(name) for name in ("acme", "dt_acme", "other")] == [False, False, True]

    def test_the_status_says_nothing_of_what_this_process_wrote(self, lists):
        lists.sweep(tenant())
        self.wrote(lists, tenant(etag="E2", status=MOVING))
        lists.sweep(tenant(etag="E2"))
        found = lists.inventory.confirmed("acme", 1, 0.5, lambda _: tenant())
        assert found is not None
        assert found.whole
        assert found.seen.etag == "E2"

    def test_many_that_come_to_rest_are_not_counted(self, lists):
        lists.clock.advance(1.0)
        began = lists.clock.now()
        lists.inventory.complete(began, 3)

        def follow(number: int) -> float | None:
            seen = tenant(f"t{number}")
            with lists.writes.to(seen.id):
                return lists.inventory.follow(follower(seen.name), seen, 300.0, 5.0)

        assert [follow(0), follow(1)] == [None, None]
        for number in (0, 1):
            lists.inventory.unwatch(follower(f"t{number}"))
        assert [follow(2), follow(3)] == [None, None]
        lists.clock.advance(601.0)
        lists.inventory.complete(lists.clock.now(), 3)
        assert [follow(4), follow(5), follow(6)] == [None, None, 5.0]
