"""Random histories of a table: reads that fail, processes that end amid their writes, rows that come and go,
records that cannot be stored, people who change the policy, forge marks and repeat confirmations.

Laws, after each step: an object is suspended or deleted only after all complete reads missed its row for the
whole grace, in time that they cover; never among too many or all, unless exactly that was confirmed; no key
has two objects. In the end: the objects are as the last complete read says, and
nothing is written any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey
from sources.objects import GONE, KEY
from tests.unit.sources.tables import CLAIMS, NAMESPACE, SPEC, Killed, Scene, row

KEYS = tuple("abcdefgh")
GRACE = 180.0
POLL = 60.0
MOST = 2
HOUR = 3600.0
TABLES = ("customers", "others")

_KEYS = st.sampled_from(KEYS)
_FEW = st.sets(_KEYS, min_size=1, max_size=MOST).map(sorted)
ROWS = st.one_of(
    st.tuples(st.just("drop"), _FEW),
    st.tuples(st.just("drop"), _FEW),
    st.tuples(st.just("put"), _FEW, st.sampled_from(("1", "2", "bad domain", "shared"))),
    st.tuples(st.just("fill")),
    st.tuples(st.just("empty")),
    st.tuples(st.just("all change")),
    st.tuples(st.just("twice"), _KEYS),
    st.tuples(st.just("keyless")),
)
READS = st.one_of(
    st.tuples(st.just("reads"), st.integers(1, 5)),
    st.tuples(st.just("reads"), st.integers(1, 5)),
    st.tuples(st.just("read"), st.sampled_from((1.0, POLL, GRACE, HOUR))),
    st.tuples(st.just("fail"), st.integers(0, 8)),
    st.tuples(st.just("slow"), st.sampled_from((30.0, 90.0))),
    st.tuples(st.just("kill"), st.integers(0, 6)),
)
OTHERS = st.one_of(
    st.tuples(st.just("restart")),
    st.tuples(st.just("not stored"), st.integers(1, 3)),
    st.tuples(st.just("not answered")),
    st.tuples(st.just("by hand"), _KEYS),
    st.tuples(st.just("forge"), _KEYS, st.sampled_from(("2020-01-01T00:00:00Z", "9999-12-31", None))),
    st.tuples(st.just("confirm")),
    st.tuples(st.just("confirm")),
    st.tuples(st.just("confirm again"), st.integers(0, 5)),
    st.tuples(
        st.just("spec"), st.sampled_from(("whenGone", "after", "suspend", "source")), st.integers(0, 2)
    ),
)
STEPS = st.tuples(ROWS | st.none(), OTHERS | st.none(), READS).map(lambda steps: [s for s in steps if s])


@dataclass
class Absence:
    """What reads have said of a key since the last one that had it."""

    reads: int
    covered: float
    """Seconds between complete reads that follow each other."""
    beside: frozenset[str]
    """The keys with an object and a row when the first of them was made."""
    confirmed: bool = False

    def or_of(self, other: Absence) -> Absence:
        """What may be on record, if it is not known which of the two is."""
        return Absence(
            max(self.reads, other.reads),
            max(self.covered, other.covered),
            self.beside | other.beside,
            self.confirmed or other.confirmed,
        )


def either(some: dict[str, Absence], others: dict[str, Absence]) -> dict[str, Absence]:
    # What is in one only may begin later, beside any others.
    nothing = Absence(0, 0.0, frozenset(KEYS))
    return {key: some.get(key, nothing).or_of(others.get(key, nothing)) for key in {*some, *others}}


def copied(some: dict[str, Absence]) -> dict[str, Absence]:
    return {key: replace(each) for key, each in some.items()}


@dataclass
class History:
    scene: Scene
    spec: dict[str, Any]
    rows: dict[str, str] = field(default_factory=dict)
    twice: str = ""
    keyless: bool = False
    absent: dict[str, Absence] = field(default_factory=dict)
    """What the living process knows."""
    stored: dict[str, Absence] = field(default_factory=dict)
    """What the next one may know at most."""
    scope: tuple[Any, ...] = ()
    """What the last complete read was made under."""
    ended: float | None = None
    """When the last read ended, if it was complete and nothing failed since."""
    time: float = 0.0
    """All that complete reads have covered."""
    removed: dict[str, float] = field(default_factory=dict)
    """When objects were removed without a confirmation, in that time."""
    tokens: list[str] = field(default_factory=list)

    def step(self, step: tuple[Any, ...]) -> None:
        {
            "put": lambda keys, value: self.rows.update(dict.fromkeys(keys, value)),
            "drop": self.drop,
            "fill": lambda: self.rows.update(dict.fromkeys(KEYS, "1")),
            "empty": self.rows.clear,
            "all change": self.change_all,
            "twice": self.double,
            "keyless": self.lose_a_key,
            "read": self.look,
            "reads": self.looks,
            "fail": lambda number: self.look(POLL, fails_at=number),
            "slow": lambda seconds: self.look(POLL, takes=seconds),
            "kill": self.kill,
            "restart": self.restart,
            "not stored": self.refuse,
            "not answered": self.drop_answer,
            "by hand": self.edit,
            "forge": self.forge,
            "confirm": self.confirm,
            "confirm again": self.confirm_again,
            "spec": self.change_spec,
        }[step[0]](*step[1:])

    # What happens

    def drop(self, keys: list[str]) -> None:
        self.rows = {key: value for key, value in self.rows.items() if key not in keys}

    def change_all(self) -> None:
        self.rows = {key: "1" for key in KEYS if key not in self.rows}

    def double(self, key: str) -> None:
        self.twice = "" if self.twice else key

    def lose_a_key(self) -> None:
        self.keyless = not self.keyless

    def looks(self, times: int) -> None:
        for _ in range(times):
            self.look(POLL)

    def kill(self, number: int) -> None:
        self.scene.server.die_at = number
        self.look(POLL)
        self.restart()

    def restart(self) -> None:
        self.scene.restart()
        self.ended = None
        self.absent = copied(self.stored)

    def refuse(self, times: int) -> None:
        error = KubeError(Operation("patch", CONFIG_MAPS), 500, "down")
        for entry in ("patch ConfigMap", "create ConfigMap"):
            self.scene.server.failing[entry] = [error] * times

    def drop_answer(self) -> None:
        self.scene.server.unanswered = 1

    def edit(self, key: str) -> None:
        if key in self.scene.claims:
            self.scene.server.edit(key, {"plan": "by-hand"})

    def forge(self, key: str, mark: str | None) -> None:
        if key in self.scene.claims:
            body = {"metadata": {"annotations": {GONE: mark}}}
            self.scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, key), body)

    def confirm(self) -> None:
        removal = self.scene.status.get("removal")
        if removal is None:
            return
        self.tokens.append(removal["token"])
        self.set_token(removal["token"])

    def set_token(self, token: str) -> None:
        self.scene.annotate(confirm=token)
        removal = self.scene.status.get("removal")
        if removal is not None and removal["token"] == token:
            for known in (self.absent, self.stored):
                for name in known.keys() & set(removal["names"]):
                    known[name].confirmed = True

    def confirm_again(self, number: int) -> None:
        if self.tokens:
            self.set_token(self.tokens[number % len(self.tokens)])

    def change_spec(self, field: str, number: int) -> None:
        self.spec[field] = {
            "whenGone": ("Delete", "Suspend", "Orphan")[number],
            "after": (f"{GRACE:.0f}s", "0s", "60s")[number],
            "suspend": number == 1,
            "source": {"configMap": {"name": TABLES[number % 2], "key": "rows", "format": "csv"}},
        }[field]
        self.scene.put_source(**self.spec)

    # Reads

    def look(self, seconds: float, fails_at: int | None = None, takes: float = 0.0) -> None:
        self.fill()
        store = self.scene.store
        store.fails_at = fails_at if fails_at is None else min(fails_at, len(store.rows))
        store.takes = takes
        before, reads = self.removable(), store.reads
        begun, killed = self.scene.clock.now() + seconds, False
        try:
            self.scene.look(seconds)
        except Killed:
            killed = True
        store.fails_at, store.takes = None, 0.0
        if store.reads > reads and fails_at is None:
            self.note(begun, begun + takes, killed=killed)
        elif store.reads > reads or self.spec.get("suspend"):
            self.ended = None
        self.check(before)

    def fill(self) -> None:
        rows = [row(key, self.domain(key, value)) for key, value in self.rows.items()]
        if self.twice in self.rows:
            rows.append(row(self.twice, "other.example.com"))
        if self.keyless:
            rows.append(row(None, "keyless.example.com"))
        self.scene.store.rows = rows

    def domain(self, key: str, value: str) -> str:
        known = {"bad domain": "bad domain", "shared": "shared.example.com"}
        return known.get(value, f"{key}{value}.example.com")

    def note(self, begun: float, ended: float, *, killed: bool) -> None:
        """A complete read. If the process was killed amid it, its record may be stored or not."""
        covered = 0.0 if self.ended is None else min(begun - self.ended, 2 * POLL)
        self.time += covered
        scope = (self.spec["whenGone"], str(self.spec["source"]))
        missing = set(self.missing())
        before = self.absent if scope == self.scope else {}
        self.absent = {key: each for key, each in before.items() if key in missing}
        for key in missing:
            found = self.absent.setdefault(
                key, Absence(0, -covered, frozenset(self.rows) & set(self.scene.claims))
            )
            found.reads, found.covered = found.reads + 1, found.covered + covered
        sure = not killed and self.scene.reason("Synced") != "WriteFailed"
        self.stored = copied(self.absent if sure else either(self.stored, self.absent))
        self.scope, self.ended = scope, ended

    def missing(self) -> Iterator[str]:
        if self.keyless or self.spec["whenGone"] == "Orphan":
            return
        yield from (key for key in KEYS if key not in self.rows)

    def removable(self) -> set[str]:
        """The objects that are there, and serve if that matters."""
        suspends = self.spec["whenGone"] == "Suspend"
        claims = self.scene.claims.items()
        return {name for name, obj in claims if not (suspends and obj["spec"].get("suspended"))}

    # Laws

    def check(self, before: set[str]) -> None:
        gone = before - self.removable()
        alone = []
        for name in gone:
            assert self.spec["whenGone"] != "Orphan"
            assert name not in self.rows, f"{name} was removed and has a row"
            absence = self.absent[name]
            after = float(self.spec["after"][:-1])
            assert absence.reads >= 2, f"{name} was removed after {absence.reads} reads"
            assert absence.covered >= max(after, POLL), f"{name} was removed after {absence.covered} s"
            if not absence.confirmed:
                alone.append(name)
                assert absence.beside & set(self.rows), f"{name} was removed with all others"
        self.removed = {name: at for name, at in self.removed.items() if self.time - at <= HOUR}
        self.removed |= dict.fromkeys(alone, self.time)
        assert len(self.removed) <= MOST, f"{alone} went beside others"
        claims = self.scene.claims
        keys = Counter(obj["metadata"]["annotations"][KEY] for obj in claims.values())
        assert all(count == 1 for count in keys.values())

    def end(self) -> None:
        """The store answers, and the process lives."""
        self.twice, self.keyless = "", False
        self.scene.server.failing.clear()
        self.scene.server.unanswered = 0
        for key in KEYS:
            self.forge(key, None)
        self.spec = {**self.spec, "whenGone": "Delete", "after": f"{GRACE:.0f}s", "suspend": False}
        self.scene.put_source(**self.spec)
        self.rows = dict.fromkeys(self.rows, "1") or {"a": "1"}
        for _ in range(6):
            self.look(POLL)
        self.confirm()
        for _ in range(8):
            self.look(POLL)
        found = {name: obj["spec"]["domains"] for name, obj in self.scene.claims.items()}
        assert found == {key: [f"{key}1.example.com"] for key in self.rows}
        self.scene.take_writes()
        before = self.scene.status
        self.scene.restart()
        for _ in range(3):
            self.scene.look(POLL)
        assert self.scene.take_writes() == []
        assert self.scene.status == before


@settings(max_examples=300)
@given(
    st.sampled_from(("Delete", "Suspend")),
    st.sampled_from((f"{GRACE:.0f}s", "0s")),
    st.lists(STEPS, min_size=6, max_size=30),
)
def test_objects_follow_complete_reads_and_nothing_else(
    policy: str, after: str, steps: list[list[tuple[Any, ...]]]
) -> None:
    most = {"rows": MOST, "percent": 0}
    spec = {**SPEC, "whenGone": policy, "after": after, "maxGone": most}
    history = History(Scene(**spec), dict(spec), dict.fromkeys(KEYS, "1"))
    history.look(POLL)
    for step in chain.from_iterable(steps):
        history.step(step)
    history.end()
