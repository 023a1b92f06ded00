"""Histories: actions of users, external changes and failures, played against the runtime.

    play(Setting(generated=True), Apply("a"), Reconcile("a", at=(At(3, Trouble.DIES_AFTER),)))

`play` plays the history on an API server in memory and an external system, then ends all failures and runs
the runtime's own schedule until nothing changes. It raises `Broken` as soon as a law is violated: no external
write that the policies forbid, never two external resources for one managed resource, none orphaned that must
be deleted, none deleted that must be kept, no write in the steady state, and the desired state in the end.

A history prints as the script that plays it, so a failing one becomes a test by pasting it.
`histories.drawing` generates histories, `python -m edgetenants_runtime.histories` runs many; both need the
extra `histories` of the distribution.
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
