"""What resources in motion may cost, and how long they may wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.sweeps import Sweeps
from tests.unit.provider.cloudfront.sweep.test_sweeps import (
    ACCOUNT,
    CONFIG,
    Aws,
    World,
    follower,
    rolling_out,
    tenant,
    throttled,
)

PER_PAGE_SECONDS = 10.0


def follow(world: World, number: int) -> bool:
    """A resource was updated, and AWS rolls that out."""
    seen = rolling_out(number)
    with world.memory.writes.to(seen.id):
        return world.lists.follow(follower(number), seen, 300.0, 5.0)


def slow(world: World, seconds: float = PER_PAGE_SECONDS) -> None:
    """Each page takes that long, such as for the account's rate."""
    read = world.aws.page_of_tenants

    def page(marker="", size=None):
        world.clock.advance(seconds)
        return read(marker, size)

    world.aws.page_of_tenants = page


def test_the_pause_after_a_long_list_is_not_cut_short_by_the_next_resource_in_motion():
    """Otherwise lists use up the account's rate as long as resources are changed."""
    world = World()
    world.sweep()
    world.aws.tenants = [rolling_out(number) for number in range(25)]
    slow(world)
    for number in range(3):
        follow(world, number)
    world.clock.advance(5.0)
    pause = world.sweep()
    assert pause == 3 * PER_PAGE_SECONDS
    for number in range(3, 6):
        follow(world, number)
    assert world.sweeps.due() - world.clock.now() >= pause


def test_lists_leave_half_of_the_time_to_other_calls_while_resources_are_changed():
    world = World()
    world.sweep()
    world.aws.tenants = [rolling_out(number) for number in range(25)]
    slow(world)
    began, listing, number = world.clock.now(), 0.0, 0
    while world.clock.now() < began + 600.0:
        if world.sweeps.due() <= world.clock.now():
            before = world.clock.now()
            world.sweeps.round("arn")
            listing += world.clock.now() - before
        for _ in range(3):
            follow(world, number % 25)
            number += 1
        world.clock.advance(1.0)
    assert listing <= 0.6 * 600.0


@pytest.mark.parametrize("interval", [60.0, 600.0])
def test_a_throttled_list_delays_the_end_of_a_roll_out_as_long_whatever_the_poll_interval(interval):
    """A roll-out takes a minute, with whatever poll interval."""
    clock, aws, woken = FakeClock(1000.0), Aws(25), []
    sweeps = Sweeps(
        clock, interval, users=lambda _: 25, wake=lambda each, changed: woken.extend(each), threads=0
    )
    memory = AccountMemory(clock)
    swept = sweeps.open("arn", CONFIG, "config", account=ACCOUNT, memory=memory, lists=aws)
    sweeps.round("arn")
    began = clock.now()
    for number in range(3):
        seen = rolling_out(number)
        with memory.writes.to(seen.id):
            swept.follow(follower(number), seen, 300.0, 5.0)
    aws.errors = [throttled() for _ in range(10_000)]
    checked = began
    while not woken and clock.now() < began + 900.0:
        clock.advance(1.0)
        if sweeps.due() <= clock.now():
            sweeps.round("arn")
        if clock.now() >= checked + interval / 4:
            checked = clock.now()
            sweeps.check()
    assert clock.now() - began <= 120.0


def test_lists_come_less_often_once_fewer_resources_wait_than_a_list_has_pages():
    """Of many, one may be rolled out last: a Get for it costs less."""
    world = World()
    world.sweep()
    world.aws.tenants = [rolling_out(number) for number in range(25)]
    for _ in range(2):
        for number in range(3):
            follow(world, number)
    assert len(world.inventory.watched) == 3
    for number in range(25):
        world.aws.tenants[number] = replace(tenant(number), etag="E2")
    world.aws.tenants[2] = rolling_out(2)
    world.clock.advance(5.0)
    world.sweep()
    world.clock.advance(10.0)
    world.aws.calls.clear()
    for _ in range(10):
        if world.sweeps.due() <= world.clock.now():
            world.sweeps.round("arn")
        world.sweeps.check()
        world.clock.advance(10.0)
    assert follower(2) in world.woken
    assert world.aws.calls.count("tenants") <= 2 * 3


def test_what_is_written_while_lists_fail_does_not_fill_the_memory():
    """Tenants are made and deleted for weeks."""
    world = World()
    world.sweep()
    world.inventory.failed()
    for number in range(100, 1100):
        made = ObservedTenant(**{**tenant(number).__dict__, "status": "InProgress"})
        world.lists.inventory.wrote(made)
        with world.memory.writes.to(made.id):
            world.inventory.absent(made.name, world.clock.now())
        world.clock.advance(3600.0)
    assert len(world.inventory._got) <= 100


def test_resources_whose_polls_the_pace_delays_are_followed():
    """Forty wait, and a list has ten pages. At the account's rate, one is reconciled every two seconds."""
    world = World(tenants=100, users=100)
    world.sweep()
    world.aws.tenants = [rolling_out(number) for number in range(100)]
    followed = 0
    for turn in range(80):
        if world.sweeps.due() <= world.clock.now():
            world.sweeps.round("arn")
        followed += follow_on(world, turn % 40)
        world.clock.advance(2.0)
    assert followed > 0


def follow_on(world: World, number: int) -> bool:
    """A reconcile finds it still in progress."""
    return world.lists.follow(follower(number), rolling_out(number), 300.0, 5.0)


def test_watched_resources_in_motion_count_as_long_as_they_wait():
    """A list comes for them anyway, so it costs nothing to wait for it, too."""
    world = World()
    world.sweep()
    world.aws.tenants = [rolling_out(number) for number in range(25)]
    for _ in range(2):
        for number in range(3):
            follow(world, number)
    world.clock.advance(15.0)
    assert len(world.inventory.watched) == 3
    assert follow(world, 4)
