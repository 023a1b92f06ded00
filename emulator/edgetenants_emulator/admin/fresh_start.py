"""The reset: deletes resources, records, faults, calls and limits, and restores initial settings and rate.

Virtual time continues, because the clock never runs backwards; its date is set to the present.
"""

from __future__ import annotations

from dataclasses import fields

from edgetenants_emulator.application import Application
from edgetenants_emulator.clock import wall_clock
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.world import World

__all__ = ["start_afresh"]

_KEPT = frozenset({"clock", "lock", "lookup", "dns_generation"})
"""Members of World that other objects refer to."""


def start_afresh(application: Application, settings: Settings, rate: float) -> None:
    """Delete everything, including moto's state in this process. Held calls end without a response."""
    application.faults.remove_all(drop=True)
    world = application.world
    with world.lock:
        fresh = World(world.clock, settings)
        fresh.book.changes = world.book.changes + 1  # observers of this number must notice a change
        for each in fields(World):
            if each.name not in _KEPT:
                setattr(world, each.name, getattr(fresh, each.name))
        application.moto.reset()
        application.accounts.forget()
        application.limits.clear()
        world.clock.set_rate(rate)
        world.clock.date(wall_clock())
    application.calls.reset()
