"""Random histories of a table: reads that fail, processes that end amid their writes, rows that come and go.

Laws, after each step: an object is deleted only after the grace and two complete reads without its row, and
never among too many; no key has two objects. In the end: the objects are as the last complete read says, and
nothing is written any more.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from sources.objects import KEY
from tests.unit.sources.tables import Killed, Scene, row

KEYS = tuple("abcdefgh")
GRACE = 180.0
POLL = 60.0
MOST = 2

STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS), st.sampled_from(("1", "2", "bad domain", "shared"))),
    st.tuples(st.just("drop"), st.sampled_from(KEYS)),
    st.tuples(st.just("empty")),
    st.tuples(st.just("twice"), st.sampled_from(KEYS)),
    st.tuples(st.just("keyless")),
    st.tuples(st.just("read"), st.sampled_from((1.0, POLL, GRACE, 3600.0))),
    st.tuples(st.just("read"), st.just(POLL)),
    st.tuples(st.just("fail"), st.integers(0, 8)),
    st.tuples(st.just("kill"), st.integers(0, 6)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("by hand"), st.sampled_from(KEYS)),
)


@dataclass
class History:
    scene: Scene
    rows: dict[str, str] = field(default_factory=dict)
    twice: str = ""
    keyless: bool = False
    absent: dict[str, list[float]] = field(default_factory=dict)
    """By key: when complete reads have had no row for it since one had."""

    def step(self, step: tuple[object, ...]) -> None:  # noqa: C901 - one line each
        match step:
            case ("put", str() as key, str() as value):
                self.rows[key] = value
            case ("drop", key):
                self.rows.pop(str(key), None)
            case ("empty",):
                self.rows.clear()
            case ("twice", str() as key):
                self.twice = "" if self.twice else key
            case ("keyless",):
                self.keyless = not self.keyless
            case ("read", float() as seconds):
                self.look(seconds)
            case ("fail", int() as number):
                self.look(POLL, fails_at=number)
            case ("kill", int() as number):
                self.scene.server.die_at = number
                self.look(POLL)
                self.scene.restart()
            case ("restart",):
                self.scene.restart()
            case ("by hand", str() as key) if key in self.scene.claims:
                self.scene.server.edit(key, {"plan": "by-hand"})

    def look(self, seconds: float, fails_at: int | None = None) -> None:
        self.fill()
        self.scene.store.fails_at = (
            fails_at if fails_at is None else min(fails_at, len(self.scene.store.rows))
        )
        before, reads = set(self.scene.claims), self.scene.store.reads
        with suppress(Killed):
            self.scene.look(seconds)
        self.scene.store.fails_at = None
        if self.scene.store.reads > reads and fails_at is None:
            self.note()
        self.check(before)

    def fill(self) -> None:
        rows = [row(key, self.domain(key, value)) for key, value in self.rows.items()]
        if self.twice in self.rows:
            rows.append(row(self.twice, "other.example.com"))
        if self.keyless:
            rows.append(row(None, "nobody.example.com"))
        self.scene.store.rows = rows

    def domain(self, key: str, value: str) -> str:
        known = {"bad domain": "bad domain", "shared": "shared.example.com"}
        return known.get(value, f"{key}{value}.example.com")

    def note(self) -> None:
        now = self.scene.clock.now()
        for key in KEYS:
            if key in self.rows:
                self.absent.pop(key, None)
            elif not self.keyless:
                self.absent.setdefault(key, []).append(now)

    def check(self, before: set[str]) -> None:
        claims = self.scene.claims
        now = self.scene.clock.now()
        gone = before - set(claims)
        for name in gone:
            absent = self.absent.get(name, [])
            assert name not in self.rows, f"{name} was deleted and has a row"
            assert len(absent) >= 2, f"{name} was deleted after {len(absent)} reads"
            assert now - absent[0] >= GRACE
            assert absent[-1] - absent[0] >= POLL
        assert len(gone) <= MOST, f"{gone} went at once"
        assert self.rows or not gone, "an empty read deleted"
        keys = Counter(obj["metadata"]["annotations"][KEY] for obj in claims.values())
        assert all(count == 1 for count in keys.values())

    def end(self) -> None:
        """The store answers, and the process lives."""
        self.twice, self.keyless = "", False
        self.rows = dict.fromkeys(self.rows, "1") or {"a": "1"}
        for _ in range(6):
            self.look(POLL)
        token = self.scene.status.get("removal", {}).get("token")
        if token:
            self.scene.annotate(confirm=token)
            self.fill()
            for _ in range(8):
                self.scene.look(POLL)
        found = {name: obj["spec"]["domains"] for name, obj in self.scene.claims.items()}
        assert found == {key: [f"{key}1.example.com"] for key in self.rows}
        self.scene.take_writes()
        before = self.scene.status
        self.scene.restart()
        for _ in range(3):
            self.scene.look(POLL)
        assert self.scene.take_writes() == []
        assert self.scene.status == before


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=25))
def test_objects_follow_complete_reads_and_nothing_else(steps: list[tuple[object, ...]]) -> None:
    most = {"rows": MOST, "percent": 0}
    history = History(Scene(whenGone="Delete", after=f"{GRACE:.0f}s", maxGone=most))
    for step in steps:
        history.step(step)
    history.end()
