"""Back to the start: no resources, records, faults, calls and limits; settings and rate as they were given.

Virtual time goes on, for the clock never runs back; its date is the present again.
"""

from __future__ import annotations

from dataclasses import fields

from edgetenants_emulator.application import Application
from edgetenants_emulator.clock import wall_clock
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.world import World

__all__ = ["start_afresh"]

_KEPT = frozenset({"clock", "lock", "lookup", "dns_generation"})
"""Of a world: what others hold on to."""


def start_afresh(application: Application, settings: Settings, rate: float) -> None:
    """Take everything away, moto's state of this process included. Held calls end unanswered."""
    application.faults.remove_all(drop=True)
    world = application.world
    with world.lock:
        fresh = World(world.clock, settings)
        fresh.book.changes = world.book.changes + 1  # who looks at this number sees that it has moved
        for each in fields(World):
            if each.name not in _KEPT:
                setattr(world, each.name, getattr(fresh, each.name))
        application.moto.reset()
        application.accounts.forget()
        application.limits.clear()
        world.clock.set_rate(rate)
        world.clock.date(wall_clock())
    application.calls.reset()
