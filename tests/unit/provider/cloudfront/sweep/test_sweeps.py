"""When the accounts are swept, and what a sweep does with the answers of AWS."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
import structlog

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ObjectKey, ProviderConfigKey
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.list_calls import GroupPage, GroupRow, Page
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.group_look import GroupLook
from provider.cloudfront.quota.limits import Quota
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.sweeps import Sweeps
from provider.cloudfront.sweep.watching import Follower
from tests.unit.provider.cloudfront.quota.account import waiting

ACCOUNT = "123456789012"
CONFIG = ProviderConfigKey("ClusterProviderConfig", "default", "")
INTERVAL = 60.0
PER_PAGE = 10
ENABLED, DISABLED = GroupRow("E1", True, "Deployed"), GroupRow("E2", False, "Deployed")


def tenant(number: int, **fields) -> ObservedTenant:
    return ObservedTenant(
        id=f"dt_{number}",
        arn=f"arn:aws:cloudfront::{ACCOUNT}:distribution-tenant/dt_{number}",
        name=f"t{number}",
        etag="E1",
        distribution_id="E1",
        **fields,
    )


def follower(number: int) -> Follower:
    return Follower(f"uid-{number}", "v1", ObjectKey("shop", f"t{number}"))


class Aws:
    """The lists of an account."""

    def __init__(self, tenants: int) -> None:
        self.tenants = [tenant(number) for number in range(tenants)]
        self.groups: dict[str, GroupRow] = {}
        self.largest: int | None = None
        self.errors: list[Exception] = []
        self.group_errors: list[Exception] = []
        self.next_marker: Callable[[str], str] = lambda marker: marker
        self.calls: list[str] = []
        self.certificates: int | Exception = AwsError("ListCertificates", "AccessDeniedException", "no")
        self.counted = 0

    def number_of_certificates(self) -> int:
        self.counted += 1
        if isinstance(self.certificates, Exception):
            raise self.certificates
        return self.certificates

    def page_of_tenants(self, marker: str = "", size: int | None = None) -> Page:
        self.calls.append("tenants")
        if self.errors:
            raise self.errors.pop(0)
        if self.largest is not None and size is not None and size > self.largest:
            raise AwsError("ListDistributionTenants", "InvalidArgument", "MaxItems is too large")
        first = int(marker or 0)
        rest = self.tenants[first : first + PER_PAGE]
        more = first + PER_PAGE < len(self.tenants)
        return Page(tuple(rest), self.next_marker(str(first + PER_PAGE)) if more else "")

    def page_of_groups(self, marker: str = "", size: int | None = None) -> GroupPage:
        self.calls.append("groups")
        if self.group_errors:
            raise self.group_errors.pop(0)
        return GroupPage(dict(self.groups), "")


class World:
    """One caller whose sweeps run when a test says so."""

    def __init__(self, tenants: int = 25, users: int = 25) -> None:
        self.clock = FakeClock(1000.0)
        self.aws, self.users = Aws(tenants), users
        self.memory = AccountMemory(self.clock)
        self.woken: list[Follower] = []
        self.changed: list[bool] = []
        self.tally: list[tuple[str, str, int | None]] = []
        self.pages = 0
        self.sweeps = Sweeps(
            self.clock, INTERVAL, users=lambda _: self.users, wake=self._wake, tally=self, threads=0
        )
        self.lists = self.open()
        self.inventory = self.lists.inventory

    def open(self, caller="arn", config=CONFIG, uid="config-1", memory=None, lists=None):
        return self.sweeps.open(
            caller,
            config,
            uid,
            account=ACCOUNT,
            memory=memory or self.memory,
            lists=lists or self.aws,
        )

    def page(self, account: str) -> None:
        assert account == ACCOUNT
        self.pages += 1

    def swept(self, account: str, outcome: str, seconds: float, tenants: int | None) -> None:
        self.tally.append((account, outcome, tenants))

    def sweep(self) -> float:
        self.clock.advance(1.0)
        return self.sweeps.round("arn")

    def _wake(self, followers: Iterable[Follower], *, changed: bool) -> None:
        self.woken += followers
        self.changed += [changed for _ in followers]


def throttled(after: float | None = None) -> AwsError:
    return AwsError("ListDistributionTenants", "Throttling", "Rate exceeded", after=after)


def denied(operation: str = "ListDistributionTenants") -> AwsError:
    return AwsError(operation, "AccessDenied", "not authorized")


@pytest.fixture
def world() -> World:
    return World()


def test_a_sweep_reads_every_page_and_the_groups_once(world):
    assert world.sweep() == INTERVAL
    assert world.aws.calls == ["tenants", "tenants", "tenants", "groups"]
    assert world.pages == 4
    assert world.tally == [(ACCOUNT, "complete", 25)]
    assert all(world.inventory.watch(follower(n), tenant(n), 600) for n in range(25))


def test_a_list_goes_before_the_polls_that_it_replaces_and_after_changes(world):
    seen = []
    world.aws.next_marker = lambda marker: seen.append(urgency.current().priority) or marker
    world.sweep()
    assert seen
    assert set(seen) == {Priority.DRIFT}


def test_what_changed_and_what_is_missing_is_woken(world):
    world.sweep()
    for number in range(25):
        world.inventory.watch(follower(number), tenant(number), 600)
    world.aws.tenants[3] = replace(tenant(3), etag="E2")
    del world.aws.tenants[20]
    world.sweep()
    assert world.woken == [follower(3), follower(20)]
    assert world.changed == [True, True]


def test_a_changed_group_is_read_again(world):
    world.aws.groups = {"cg_1": ENABLED, "cg_2": ENABLED}
    world.sweep()
    for group in ("cg_1", "cg_2"):
        world.memory.groups.note(group, GroupLook(group))
    world.aws.groups["cg_1"] = DISABLED
    world.clock.advance(INTERVAL - 5)
    world.sweep()
    look = lambda group: world.memory.groups.get(group, lambda _: GroupLook("read"), config="")  # noqa: E731
    assert (look("cg_1").id, look("cg_2").id) == ("read", "cg_2")


def test_a_complete_sweep_says_how_many_there_are(world):
    def used():
        return [each.used for each in world.memory.quotas.readings()]

    world.aws.errors = [denied()]
    world.sweep()
    assert used() == [None, None, None]
    world.sweep()
    assert used() == [25, None, None], "the groups may not be listed"
    world.aws.groups = {"cg_1": object(), "cg_2": object()}
    world.clock.advance(INTERVAL)
    world.sweep()
    assert used() == [25, 2, None]
    world.sweep()
    assert used() == [25, 2, None], "a list of tenants alone says nothing of groups"
    world.clock.advance(10 * INTERVAL + 1.0)
    assert used() == [None, None, None], "too old"


def test_a_tenant_that_is_created_during_a_sweep_counts_once(world):
    world.sweep()
    page = world.aws.page_of_tenants

    def creates(*args, **kw):
        world.aws.page_of_tenants = page
        world.clock.advance(30.0)
        world.memory.quotas.made(Quota.TENANTS, waiting("shop", 1))
        world.clock.advance(30.0)
        return page(*args, **kw)

    world.clock.advance(INTERVAL)
    world.aws.page_of_tenants = creates
    world.sweep()
    assert next(world.memory.quotas.readings()).used == 26, "the list may not show it"


def test_certificates_are_counted_once_an_hour(world):
    def used():
        return [each.used for each in world.memory.quotas.readings()][-1]

    world.sweep()
    assert (used(), world.aws.counted) == (None, 1), "they may not be listed, and the tenants are"
    assert world.tally[-1][1] == "complete"
    world.aws.certificates = 2_300
    world.clock.advance(3000.0)
    world.sweep()
    assert world.aws.counted == 1
    world.clock.advance(601.0)
    world.sweep()
    assert (used(), world.aws.counted) == (2_300, 2)
    world.clock.advance(3 * 3600.0)
    assert used() == 2_300
    world.clock.advance(3600.0)
    assert used() is None, "too old"


class TestWorth:
    def test_an_account_without_resources_is_not_listed(self, world):
        world.users = 0
        assert world.sweep() == INTERVAL
        assert world.aws.calls == []

    def test_a_team_with_few_tenants_does_not_list_a_large_account(self):
        world = World(tenants=100, users=3)
        world.sweep()
        assert world.aws.calls == ["tenants"] * 3
        world.sweep()
        assert world.aws.calls == ["tenants"] * 3
        assert not world.inventory.is_awaited

    def test_one_tenant_is_polled(self):
        """The list of the connection groups is a call, too."""
        world = World(tenants=1, users=1)
        world.sweep()
        assert world.aws.calls == ["tenants"]
        assert not world.inventory.watch(follower(0), tenant(0), 600)

    def test_pages_of_groups_count(self):
        world = World(tenants=5, users=5)
        endless = lambda marker="", size=None: GroupPage({}, f"{marker}.")  # noqa: E731
        world.aws.page_of_groups = endless
        world.sweep()
        assert world.tally == []
        assert not world.inventory.is_awaited

    def test_with_more_tenants_it_does(self):
        world = World(tenants=100, users=3)
        world.sweep()
        world.users = 11
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 100)]

    def test_an_account_that_grows_too_large_is_polled(self):
        world = World(tenants=20, users=3)
        world.sweep()
        assert world.inventory.watch(follower(1), tenant(1), 600)
        world.aws.tenants += [tenant(n) for n in range(20, 60)]
        world.sweep()
        assert (world.woken, world.changed) == ([follower(1)], [False])
        assert not world.inventory.watch(follower(1), tenant(1), 600)

    def test_after_an_hour_it_tries_again(self):
        world = World(tenants=100, users=3)
        world.sweep()
        world.aws.tenants = world.aws.tenants[:20]
        world.clock.advance(3600.0)
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 20)]

    def test_the_resources_of_all_its_configs_count(self):
        world = World(tenants=100, users=6)
        other = ProviderConfigKey("ProviderConfig", "own", "shop")
        assert world.open(config=other, uid="config-2").inventory is world.inventory
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 100)]
        world.sweeps.leave("config-2")
        world.aws.calls.clear()
        world.sweep()
        assert world.aws.calls == []


class TestFailures:
    def test_where_the_list_is_denied_there_is_a_warning_once(self, world):
        world.aws.errors = [denied(), denied()]
        with structlog.testing.capture_logs() as logs:
            assert [world.sweep(), world.sweep()] == [INTERVAL / 4, INTERVAL / 2]
        assert [each["log_level"] for each in logs if each["log_level"] != "debug"] == ["warning"]
        assert "allow cloudfront:ListDistributionTenants" in logs[0]["event"]
        assert world.tally == [(ACCOUNT, "failed", None)] * 2
        assert not world.inventory.is_awaited

    def test_its_end_is_logged(self, world):
        world.aws.certificates = 0
        world.aws.errors = [denied()]
        world.sweep()
        with structlog.testing.capture_logs() as logs:
            world.sweep()
        assert [each["event"] for each in logs] == ["tenants can be listed again"]

    def test_sweeps_that_fail_come_ever_more_rarely(self, world):
        world.aws.errors = [denied() for _ in range(20)]
        assert [world.sweep() for _ in range(20)][-1] == 600.0

    def test_where_only_groups_are_denied_tenants_without_a_group_are_watched(self, world):
        world.aws.group_errors = [denied("ListConnectionGroups")]
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 25)]
        assert world.inventory.watch(follower(1), tenant(1), 600)
        grouped = tenant(2, connection_group_id="cg_1")
        assert not world.inventory.watch(follower(2), grouped, 600)

    def test_groups_that_fail_otherwise_fail_the_sweep(self, world):
        world.aws.group_errors = [AwsError("ListConnectionGroups", "Endpoint", "no answer")]
        world.sweep()
        assert world.tally == [(ACCOUNT, "failed", None)]

    def test_when_the_last_list_is_too_old_all_are_woken_whatever_becomes_of_the_sweep(self, world):
        world.sweep()
        world.inventory.watch(follower(1), tenant(1), 6000)
        world.clock.advance(2 * INTERVAL)
        world.sweeps.check()
        assert world.woken == []
        world.clock.advance(1.0)
        world.sweeps.check()
        assert (world.woken, world.changed) == ([follower(1)], [False])

    @pytest.mark.parametrize("error", [throttled(7.0), AwsError("List", PAUSED, "paused", after=7.0)])
    def test_a_throttled_list_keeps_no_thread_and_goes_on_from_its_page(self, world, error):
        read, marks = world.aws.page_of_tenants, []

        def page(marker="", size=None):
            marks.append(marker)
            if marks == ["", "10"]:
                raise error
            return read(marker, size)

        world.aws.page_of_tenants = page
        assert world.sweep() == 7.0
        assert world.tally == []
        world.clock.advance(7.0)
        world.sweep()
        assert marks == ["", "10", "10", "20"]
        assert world.tally == [(ACCOUNT, "complete", 25)]

    def test_one_that_stays_throttled_fails(self, world):
        world.aws.errors = [throttled() for _ in range(100)]
        for _ in range(100):
            world.clock.advance(world.sweep())
            if world.tally:
                break
        assert world.tally == [(ACCOUNT, "failed", None)]

    def test_one_that_takes_too_long_fails(self, world):
        read = world.aws.page_of_tenants

        def slow(marker="", size=None):
            world.clock.advance(INTERVAL)
            return read(marker, size)

        world.aws.tenants = [tenant(n) for n in range(60)]
        world.aws.page_of_tenants = slow
        world.sweep()
        assert world.tally == [(ACCOUNT, "failed", None)]
        assert len(world.aws.calls) == 3

    def test_a_marker_that_is_refused_leaves_the_page_size(self, world):
        """It may have expired."""
        read = world.aws.page_of_tenants

        def page(marker="", size=None):
            if marker == "10" and not world.tally:
                raise AwsError("ListDistributionTenants", "InvalidArgument", "marker")
            return read(marker, size)

        world.aws.page_of_tenants = page
        world.sweep()
        assert world.tally == [(ACCOUNT, "failed", None)]
        world.aws.largest = 999
        world.sweep()
        assert world.tally[-1] == (ACCOUNT, "complete", 25)

    def test_a_page_size_that_is_refused_is_left_to_aws_from_then_on(self, world):
        world.aws.largest = 100
        world.sweep()
        world.clock.advance(INTERVAL)
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 25)] * 2
        assert len(world.aws.calls) == 1 + 4 + 4

    @pytest.mark.parametrize("leads", [lambda _: "10", lambda _: "0"])
    def test_pages_that_lead_back_end_the_sweep(self, world, leads):
        world.aws.next_marker = leads
        world.sweep()
        assert world.tally == [(ACCOUNT, "failed", None)]
        assert len(world.aws.calls) < 5

    def test_an_empty_page_that_leads_on_is_no_end(self, world):
        read = world.aws.page_of_tenants

        def with_an_empty_page(marker="", size=None):
            return Page((), "0") if not marker else read(marker, size)

        world.aws.page_of_tenants = with_an_empty_page
        world.sweep()
        assert world.tally == [(ACCOUNT, "complete", 25)]

    def test_a_bug_does_not_end_the_sweeps(self, world):
        world.aws.errors = [RuntimeError("bug"), SystemExit()]
        with structlog.testing.capture_logs() as logs:
            assert [world.sweep(), world.sweep()] == [INTERVAL / 4, INTERVAL / 2]
        assert [each["log_level"] for each in logs if each["log_level"] != "debug"] == ["error"] * 2
        world.sweep()
        assert [outcome for _, outcome, _ in world.tally] == ["failed", "failed", "complete"]


class TestCallers:
    def test_configs_of_one_caller_share_a_sweep(self, world):
        other = ProviderConfigKey("ProviderConfig", "own", "shop")
        assert world.open(config=other, uid="config-2").inventory is world.inventory

    def test_another_caller_has_its_own(self, world):
        assert world.open(caller="other arn").inventory is not world.inventory

    def test_a_config_with_new_credentials_leaves_its_former_caller(self, world):
        world.open(caller="other arn")
        world.sweep()
        assert world.aws.calls == []

    def test_after_a_failure_another_config_makes_the_calls(self, world):
        """Its credentials may have been revoked."""
        other = Aws(25)
        world.open(uid="config-2", config=ProviderConfigKey("ProviderConfig", "own", "shop"), lists=other)
        world.aws.errors = [denied()]
        world.sweep()
        world.sweep()
        assert (len(world.aws.calls), len(other.calls)) == (1, 4)

    def test_a_cluster_scoped_config_goes_first(self, world):
        """A team's may have a low rate."""
        world.sweeps.leave("config-1")
        teams, cluster = Aws(25), Aws(25)
        world.open(uid="config-2", config=ProviderConfigKey("ProviderConfig", "own", "shop"), lists=teams)
        world.open(uid="config-3", lists=cluster)
        world.open(uid="config-4", config=ProviderConfigKey("ProviderConfig", "own", "shop"), lists=teams)
        world.sweep()
        assert (len(teams.calls), len(cluster.calls)) == (0, 4)

    def test_a_config_that_is_opened_again_makes_the_calls_with_its_new_credentials(self, world):
        fresh = Aws(25)
        world.open(lists=fresh)
        world.sweep()
        assert (len(world.aws.calls), len(fresh.calls)) == (0, 4)

    def test_what_is_watched_is_woken_when_its_config_has_another_caller(self, world):
        """A role's session has another name, for example."""
        world.sweep()
        world.inventory.watch(follower(1), tenant(1), 600)
        world.open(caller="other arn")
        assert (world.woken, world.changed) == ([follower(1)], [False])

    def test_what_is_watched_is_woken_when_the_last_config_leaves(self, world):
        world.open(uid="config-2")
        world.sweep()
        world.inventory.watch(follower(1), tenant(1), 600)
        world.sweeps.leave("config-1")
        assert world.woken == []
        world.sweeps.leave("config-2")
        assert world.woken == [follower(1)]

    def test_an_account_that_was_forgotten_begins_again(self, world):
        assert world.open(memory=AccountMemory(world.clock)).inventory is not world.inventory

    def test_the_ages_are_by_account(self, world):
        assert world.sweeps.ages() == {}
        world.sweep()
        world.clock.advance(5.0)
        assert world.sweeps.ages() == {ACCOUNT: 5.0}


def test_its_own_threads_sweep_each_caller_when_it_is_due():
    clock, aws, swept = FakeClock(1000.0), Aws(5), threading.Semaphore(0)

    class Counted:
        def page(self, *_):
            pass

        def swept(self, *_):
            swept.release()

    sweeps = Sweeps(clock, INTERVAL, users=lambda _: 5, wake=lambda _, changed: None, tally=Counted())
    memory = AccountMemory(clock)
    for caller in ("a", "b"):
        sweeps.open(caller, CONFIG, f"config-{caller}", account=ACCOUNT, memory=memory, lists=aws)
    assert all(swept.acquire(timeout=30) for _ in range(2))
    clock.advance(INTERVAL / 2)
    assert not swept.acquire(timeout=0.2)
    sweeps.leave("config-b")
    clock.advance(INTERVAL)
    assert swept.acquire(timeout=30)
    assert not swept.acquire(timeout=0.2)


def test_a_list_that_hangs_does_not_keep_its_tenants_unobserved():
    """The watchdog has a thread of its own."""
    clock, aws, woken, hangs = FakeClock(1000.0), Aws(5), threading.Event(), threading.Event()

    def wake(followers, *, changed):
        if list(followers):
            assert not changed
            woken.set()

    sweeps = Sweeps(clock, INTERVAL, users=lambda _: 5, wake=wake, threads=1)
    memory = AccountMemory(clock)
    inventory = sweeps.open("a", CONFIG, "config", account=ACCOUNT, memory=memory, lists=aws).inventory
    while inventory.age == float("inf"):
        threading.Event().wait(0.01)
    assert inventory.watch(follower(1), tenant(1), 6000)
    aws.page_of_tenants = lambda *_, **__: hangs.wait(30)
    try:
        for _ in range(150):
            clock.advance(INTERVAL / 4)
            if woken.wait(0.2):
                break
        assert woken.is_set()
    finally:
        hangs.set()


def test_callers_of_an_account_share_equal_rows_and_see_their_own():
    """A row takes a kilobyte, and an account may have fifty callers and ten thousand tenants."""
    memory, calls = AccountMemory(FakeClock()), [[tenant(1), tenant(2)], [tenant(1), tenant(2)]]
    one, other = (memory.rows.of(rows) for rows in calls)
    assert all(mine is theirs for mine, theirs in zip(one, other, strict=True))
    changed = replace(tenant(1), etag="E2")
    assert memory.rows.of([changed, tenant(3)]) == (changed, tenant(3))
    del one, other, calls, changed
    gc.collect()
    assert not memory.rows._rows, "what no inventory has is let go"


def test_two_callers_of_an_account_have_the_same_rows():
    world = World()
    second = Aws(25)
    for name, aws in (("a", world.aws), ("b", second)):
        world.sweeps.open(name, CONFIG, name, account=ACCOUNT, memory=world.memory, lists=aws)
        world.sweeps.round(name)
    one, other = (world.sweeps._callers[name].inventory for name in ("a", "b"))
    assert one._rows
    assert all(row.seen is other._rows[id_].seen for id_, row in one._rows.items())


def rolling_out(number: int) -> ObservedTenant:
    return replace(tenant(number), etag="E2", status="InProgress")


class TestMotion:
    """Resources wait for CloudFront, and want lists more often."""

    def follow(self, world, number=1, **fields):
        seen = rolling_out(number)
        with world.memory.writes.to(seen.id):
            return world.lists.follow(follower(number), seen, 300.0, 5.0, **fields)

    def started(self, users=25) -> World:
        world = World(users=users)
        world.sweep()
        world.aws.calls.clear()
        return world

    def test_a_list_of_tenants_comes_as_soon_as_it_is_wanted(self):
        world = self.started()
        assert [self.follow(world, number) for number in range(3)] == [False, False, True]
        assert world.sweeps.due() == world.clock.now() + 5.0
        world.clock.advance(4.0)
        world.sweep()
        assert world.aws.calls == ["tenants"] * 3

    def test_and_again_while_a_resource_is_in_motion(self):
        world = self.started()
        world.aws.tenants = [rolling_out(number) for number in range(25)]
        for number in range(3):
            self.follow(world, number)
        world.clock.advance(4.0)
        assert world.sweep() == 10.0
        assert world.woken == []
        world.aws.tenants[2] = tenant(2)
        world.clock.advance(9.0)
        assert world.sweep() == INTERVAL
        assert world.woken == [follower(2)]

    def test_an_interval_without_motion_follows(self):
        world = self.started()
        for number in range(3):
            self.follow(world, number)
        world.clock.advance(4.0)
        assert world.sweep() == INTERVAL
        assert world.woken == [follower(2)]

    def test_the_groups_are_listed_once_in_an_interval_all_the_same(self):
        world = self.started()
        world.aws.tenants = [rolling_out(number) for number in range(25)]
        for _ in range(12):
            for number in range(3):
                self.follow(world, number)
            world.clock.advance(9.0)
            world.sweep()
        assert (world.aws.calls.count("tenants"), world.aws.calls.count("groups")) == (36, 2)

    def test_pages_of_groups_count_still_when_only_tenants_were_listed(self):
        world = self.started(users=4)
        for number in range(3):
            self.follow(world, number)
        world.clock.advance(4.0)
        world.sweep()
        world.users = 3
        world.clock.advance(INTERVAL)
        world.aws.calls.clear()
        world.sweep()
        assert world.aws.calls == []

    def test_fewer_resources_than_pages_are_polled(self):
        world = self.started()
        assert [self.follow(world, 1) for _ in range(5)] == [False] * 5
        assert world.sweeps.due() > world.clock.now() + 50

    def test_a_failure_wakes_them(self):
        world = self.started()
        for number in range(3):
            self.follow(world, number)
        world.aws.errors = [denied()]
        world.clock.advance(4.0)
        world.sweep()
        assert world.woken == [follower(2)]
        assert not self.follow(world, 2)

    def test_a_list_that_does_not_come_wakes_them(self):
        world = self.started()
        for number in range(3):
            self.follow(world, number)
        world.clock.advance(5.0 + INTERVAL / 2)
        world.sweeps.check()
        assert world.woken == []
        world.clock.advance(1.0)
        world.sweeps.check()
        assert world.woken == [follower(2)]

    def test_a_list_that_takes_long_is_followed_by_a_pause(self):
        world = self.started()
        world.aws.tenants = [rolling_out(number) for number in range(25)]
        for number in range(3):
            self.follow(world, number)
        page = world.aws.page_of_tenants

        def slow(*args):
            world.clock.advance(5.0)
            return page(*args)

        world.aws.page_of_tenants = slow
        assert world.sweep() == 15.0

    def test_a_config_that_was_deleted_wants_no_list(self):
        world = self.started()
        world.sweeps.leave("config-1")
        world.lists._list_within(5.0)
        assert world.sweeps.due() == float("inf")
