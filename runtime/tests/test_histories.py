"""The laws of a managed resource, held to histories that hypothesis makes up; and those that once broke one.

`make histories` plays ten thousand.
"""

from collections.abc import Iterator

import pytest
import structlog

from edgetenants_runtime.histories import (
    Action,
    Apply,
    At,
    Broken,
    Delete,
    Pause,
    Policies,
    Reconcile,
    Resize,
    Restart,
    Setting,
    Trouble,
    Vanish,
    Wait,
    play,
    script,
)
from edgetenants_runtime.histories.drawing import explore


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("seed", range(2))
def test_every_law_holds_in_histories_that_nobody_thought_of(seed: int) -> None:
    # The same histories for the same code, so that CI fails for a reason; the long run takes a new seed.
    explore(250, seed=seed)


SLOW_TO_SHOW = Setting(shows_after=20.0)
LATE = Setting(lands_after=90.0)
GENERATED = Setting(generated=True)
GENERATED_SLOW = Setting(generated=True, shows_after=20.0)

ONCE_BROKEN: dict[str, tuple[Action, ...]] = {
    "a lost answer to the creation of a generated name does not make a second external resource": (
        GENERATED,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.UNANSWERED),)),
        Reconcile("a"),
    ),
    "nor does a bug after the creation": (
        GENERATED,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.BUG),)),
        Reconcile("a"),
    ),
    "what was made anew may not show yet either": (
        GENERATED_SLOW,
        Apply("a"),
        Reconcile("a"),
        Wait(25.0),
        Reconcile("a"),
        Vanish("a"),
        Reconcile("a"),
        Reconcile("a"),
    ),
    "what was just made may not show yet, though its policies change": (
        SLOW_TO_SHOW,
        Apply("a"),
        Reconcile("a"),
        Policies("a", ("Observe", "Delete")),
        Reconcile("a"),
        Delete("a"),
        Reconcile("a"),
    ),
    "a bug before the first look says nothing of what was made": (
        Setting(generated=True, shows_after=20.0),
        Apply("a"),
        Reconcile("a", at=(At(4, Trouble.DIES_AFTER),)),
        Reconcile("a", at=(At(0, Trouble.BUG),)),
        Reconcile("a"),
    ),
    "a deletion after an interrupted creation waits for what may yet show": (
        SLOW_TO_SHOW,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.DIES_AFTER),)),
        Delete("a"),
        Reconcile("a"),
    ),
    "a deletion after an unanswered creation too": (
        SLOW_TO_SHOW,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.UNANSWERED),)),
        Delete("a"),
        Reconcile("a"),
    ),
    "and after one that first was refused": (
        SLOW_TO_SHOW,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.FAILS),)),
        Reconcile("a", at=(At(2, Trouble.UNANSWERED),)),
        Delete("a"),
        Reconcile("a"),
    ),
    "a call that goes on outside is waited for": (
        LATE,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.UNANSWERED),)),
        Delete("a"),
        Wait(60.0),
        Reconcile("a"),
    ),
    "also by the next process": (
        LATE,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.DIES_AFTER),)),
        Delete("a"),
        Wait(60.0),
        Reconcile("a"),
    ),
    "and after a refusal of the next attempt": (
        LATE,
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.UNANSWERED),)),
        Reconcile("a", at=(At(2, Trouble.FAILS),)),
        Delete("a"),
        Wait(60.0),
        Reconcile("a"),
    ),
    "a change that our write of status takes in wakes the resource": (
        Setting(),
        Apply("a"),
        Policies("a", ()),
        Restart(),
        Resize("a", 2),
        Reconcile("a", stale=True),
    ),
    "a pause that ends while it is being told of ends": (
        Setting(),
        Apply("a"),
        Pause("a"),
        Reconcile("a", at=(At(0, Pause("a", paused=False)),)),
    ),
}


@pytest.mark.parametrize("name", ONCE_BROKEN)
def test_a_history_that_once_broke_a_law(name: str) -> None:
    setting, *history = ONCE_BROKEN[name]
    assert isinstance(setting, Setting)
    play(setting, *history)


def test_a_deletion_after_a_refused_creation_does_not_wait() -> None:
    stage = play(
        Setting(),
        Apply("a"),
        Reconcile("a", at=(At(3, Trouble.FAILS),)),
        Delete("a"),
        Reconcile("a"),
    )
    released = stage.told.index("# Delete('a')")
    calls = [line for line in stage.told[released:] if not line.startswith("#")]
    assert calls[:3] == [
        "external connect a",
        "external observe a",
        "patch toys.toys.m.example.org shop/a",
    ]


def test_a_history_that_breaks_a_law_is_shown_as_the_script_that_plays_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("edgetenants_runtime.histories.laws.permits", lambda *_: False)
    history = (Apply("a"), Reconcile("a", at=(At(2, Trouble.CONFLICT), At(3, Pause("b"), times=2))))
    with pytest.raises(Broken, match="against the policies") as raised:
        play(Setting(cluster=True), *history)
    assert script(Setting(cluster=True), history) in str(raised.value)
    assert "external create a" in str(raised.value)
    assert eval(repr(history)) == history
