"""Hypothesis strategies that generate histories."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis
import structlog
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

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
)
from edgetenants_runtime.histories.laws import COMBINATIONS, Broken
from edgetenants_runtime.histories.stage import MANAGED, play

__all__ = ["Share", "broken_by", "explore", "histories", "settings"]

_WORDS = {"*": "*", "O": "Observe", "C": "Create", "U": "Update", "D": "Delete", "L": "LateInitialize"}
_POLICIES = [tuple(_WORDS[letter] for letter in letters) for letters in (*COMBINATIONS, "C", "UD")]

_mr = st.sampled_from([MANAGED[0], MANAGED[0], *MANAGED])
_size = st.integers(1, 3)

_edits: SearchStrategy[Action] = st.one_of(
    st.builds(Resize, _mr, _size),
    st.builds(Delete, _mr),
    st.builds(Policies, _mr, st.sampled_from(_POLICIES)),
    st.builds(DeletionPolicy, _mr, st.sampled_from(["Delete", "Orphan"])),
    st.builds(Pause, _mr, st.booleans()),
    st.builds(Publish, _mr, st.sampled_from(["own", "shared", "foreign", ""])),
    st.builds(Drift, _mr, _size),
    st.builds(Vanish, _mr),
    st.builds(HoldBy, _mr, st.booleans()),
    st.builds(Strip, _mr),
).map(lambda edit: edit)  # mapped, because hypothesis would flatten it, and nearly all actions would be edits
_apply: SearchStrategy[Apply] = st.builds(Apply, _mr, st.sampled_from(["", "", "shared"]))
_at = st.builds(
    At,
    # Most reconciles make about six calls, of which the third to the fifth change something.
    st.sampled_from([0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8]),
    st.one_of(st.sampled_from(Trouble), st.sampled_from(Trouble), st.sampled_from(Trouble), _edits, _apply),
    st.sampled_from([1, 1, 1, 2, 9]),
)
_creation = st.lists(
    st.builds(At, st.sampled_from([2, 3, 3, 4, 5]), st.sampled_from(Trouble), st.sampled_from([1, 1, 9])),
    max_size=1,
).map(tuple)
_reconcile = st.builds(
    Reconcile,
    _mr,
    at=st.lists(_at, max_size=2).map(tuple),
    stale=st.booleans(),
    behind=st.sampled_from([0, 0, 0, 0, 1, 2]),
)
_action: SearchStrategy[Action] = st.one_of(
    _reconcile,
    _reconcile,
    _reconcile,
    _edits,
    _apply,
    # Only between reconciles: a user checks when nothing is in progress.
    st.builds(Settle, _mr),
    st.builds(Wait, st.sampled_from([1.0, 25.0, 60.0])),
    st.builds(Restart),
)


def settings() -> SearchStrategy[Setting]:
    """Both scopes, both kinds of names, fast and slow external systems."""
    return st.builds(
        Setting,
        cluster=st.booleans(),
        generated=st.booleans(),
        shows_after=st.sampled_from([0.0, 0.0, 20.0]),
        goes_after=st.sampled_from([0.0, 10.0]),
        lands_after=st.sampled_from([0.0, 0.0, 90.0]),
        records=st.booleans(),
    )


def histories(longest: int = 25) -> SearchStrategy[list[Action]]:
    """Histories that start with a managed resource and its first reconcile, as failures of the creation
    matter most."""
    return st.builds(_history, _apply, _creation, st.lists(_action, max_size=longest))


def _history(first: Apply, at: tuple[At, ...], rest: list[Action]) -> list[Action]:
    return [first, Reconcile(first.mr, at=at), *rest]


def explore(count: int, *, seed: int) -> None:
    """Play that many histories, generated from the seed. Raises Broken with the shortest that breaks a
    law."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(settings(), histories())
    def every_law_holds(setting: Setting, history: list[Action]) -> None:
        play(setting, *history)

    every_law_holds()


@dataclass(frozen=True)
class Share:
    """The part of a long run that one process plays."""

    count: int
    seed: int


def broken_by(share: Share) -> str:
    """The shortest history of the share that breaks a law; "" if none does. Runs in its own process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    try:
        explore(share.count, seed=share.seed)
    except Broken as broken:
        return str(broken)
    return ""
