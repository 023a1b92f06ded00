"""Histories: what people, the outside world and bad luck do to managed resources, played against the runtime.

    play(Setting(generated=True), Apply("a"), Reconcile("a", at=(At(3, Trouble.DIES_AFTER),)))

`play` acts the history out on an API server in memory and an outside world, then lets all trouble end and the
runtime's own schedule run until nothing moves. It raises `Broken` as soon as a law does not hold: no external
write that the policies forbid, never two external resources, no orphan that was to be deleted, none deleted
that was to be kept, no write in the steady state, everything as asked in the end.

A history prints as the script that plays it, so a failing one becomes a test by pasting it.
`histories.drawing` makes them up, `python -m edgetenants_runtime.histories` runs many; both need the extra
`histories` of the distribution.
"""

from edgetenants_runtime.histories.actions import (
    Action,
    Apply,
    At,
    Delete,
    DeletionPolicy,
    Drift,
    HoldBy,
    Pause,
    Policies,
    Publish,
    Reconcile,
    Resize,
    Restart,
    Setting,
    Settle,
    Strip,
    Trouble,
    Vanish,
    Wait,
    script,
)
from edgetenants_runtime.histories.laws import Broken
from edgetenants_runtime.histories.stage import play

__all__ = [
    "Action",
    "Apply",
    "At",
    "Broken",
    "Delete",
    "DeletionPolicy",
    "Drift",
    "HoldBy",
    "Pause",
    "Policies",
    "Publish",
    "Reconcile",
    "Resize",
    "Restart",
    "Setting",
    "Settle",
    "Strip",
    "Trouble",
    "Vanish",
    "Wait",
    "play",
    "script",
]
