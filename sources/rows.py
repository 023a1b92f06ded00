"""Rows become desired objects. A row that is wrong stops no other, and never counts as gone.

A row is identified by its key alone. An object belongs to the row whose key it has, and keeps its name while
that key exists: a change of what the name is made of would else delete a tenant and create another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apis.errors import visible
from sources.objects import LONGEST_KEY, Existing, domains_in
from sources.stores.store import Row, StoreError, StoreReason, Value
from sources.template import Compiled, InvalidRow

__all__ = ["Desired", "Problem", "Table", "read_table", "settled"]

_LONGEST_SHOWN: Final = 128
_MOST_NAMELESS: Final = 20
LARGEST: Final = 64 * 2**20
"""Characters of all keys and specs of a table, as JSON. As Python's objects they take several times as much
memory."""
_PER_ROW: Final = 64
"""Characters that a row counts for besides these, also if it is invalid, and so does each of its domains: a
short template can give each row hundreds, which are compared with those of all others."""


@dataclass(frozen=True)
class Problem:
    """A row that has a problem."""

    key: str
    """As shown: cut to a readable length."""
    field: str
    expected: str
    repeats: bool = False
    """Another row has the same key, name or domain."""


@dataclass(frozen=True)
class Desired:
    """The object that a row asks for."""

    key: str
    name: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    domains: frozenset[str]
    order: tuple[int, int | float, str] = (0, 0, "")

    size: int = 0
    """Characters of its spec, as JSON."""

    @property
    def digest(self) -> str:
        """Differs if anything that is applied differs."""
        return digest_of([self.key, self.name, dict(self.labels), self.spec])


@dataclass(frozen=True)
class Table:
    """What a complete read had."""

    rows: int = 0
    desired: Mapping[str, Desired] = field(default_factory=dict)
    """By key: the rows that are valid."""
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """By key: the rows that are not."""
    keyless: int = 0
    """Rows whose key cannot be read. It is unknown which objects are theirs, so no row counts as gone."""
    nameless: tuple[Problem, ...] = ()
    """The first of them, by their place in the store."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all rows, valid or not."""
        return frozenset(self.desired) | frozenset(self.problems)


def read_table(rows: Iterable[Row], template: Compiled, key: str, order: str | None = None) -> Table:
    """Read all rows. Raises what the iteration raises; then nothing follows from the rows so far."""
    count = keyless = 0
    desired: dict[str, Desired] = {}
    problems: dict[str, Problem] = {}
    nameless: list[Problem] = []
    size = 0
    for row in rows:
        count += 1
        value = key_text(row.columns.get(key))
        if value is None:
            keyless += 1
            if keyless <= _MOST_NAMELESS:
                nameless.append(_nameless(row, key))
        elif value in desired or value in problems:
            desired.pop(value, None)
            problems[value] = Problem(
                shown(value), f"the column {key}", "a key that no other row has", repeats=True
            )
        else:
            _take(row, value, template, order or key, desired, problems)
            size += _PER_ROW + len(value) + _size(desired.get(value))
        if size > LARGEST:
            raise StoreError(
                StoreReason.INVALID_DATA, f"the objects of the rows need more than {LARGEST} bytes"
            )
    return Table(count, desired, problems, keyless, tuple(nameless))


def _size(row: Desired | None) -> int:
    return 0 if row is None else row.size + _PER_ROW * len(row.domains)


def _nameless(row: Row, key: str) -> Problem:
    expected = row.unfit.get(key, f"text or an integer of at most {LONGEST_KEY} printable characters")
    return Problem(f"({row.place or 'a row'})", f"the column {key}", f"{expected}, as the row's key")


def _take(
    row: Row,
    key: str,
    template: Compiled,
    order: str,
    desired: dict[str, Desired],
    problems: dict[str, Problem],
) -> None:
    try:
        made = template.render(row)
    except InvalidRow as error:
        problems[key] = Problem(shown(key), error.field, error.expected)
        return
    domains = frozenset(domains_in(template.kind, made.spec))
    rank = _rank(row.columns.get(order))
    desired[key] = Desired(key, made.name, made.labels, made.spec, domains, rank, made.size)


def settled(table: Table, mine: Mapping[str, Existing]) -> Table:
    """Give each row the name of the object that it has, and settle which row has a name or a domain that
    several ask for: the one whose object has it. Of several new ones, none has. All of them are told. An
    object whose row is gone has its domains until it is removed: two objects would else want one domain.

    `mine`: the objects of the TenantSource, by name."""
    by_key = _by_key(mine)
    named = {
        key: replace(each, name=by_key[key].name) if key in by_key else each
        for key, each in table.desired.items()
    }
    contests = _Contests(by_key, table.keys)
    for each in named.values():
        contests.enter(each)
    # Names of objects whose row is invalid at present are not free either.
    contests.enter_existing(by_key, without=named)
    taken_over = {each.name for each in named.values()}
    contests.hold(
        each for each in mine.values() if each.key not in table.keys and each.name not in taken_over
    )
    lost = contests.told()
    refused = {key for key, (_, kept) in lost.items() if not kept}
    return replace(
        table,
        desired={key: each for key, each in named.items() if key not in refused},
        problems={**table.problems, **{key: problem for key, (problem, _) in lost.items() if key in named}},
    )


def _by_key(mine: Mapping[str, Existing]) -> dict[str, Existing]:
    """The object of each key: of several, which only people can make, the oldest."""
    found: dict[str, Existing] = {}
    for each in sorted(mine.values(), key=_age):
        if each.key:
            found.setdefault(each.key, each)
    return found


def _age(each: Existing) -> tuple[str, str]:
    metadata = each.raw["metadata"]
    return str(metadata.get("creationTimestamp")), metadata["name"]


class _Contests:
    """Which rows ask for the same name or domain."""

    def __init__(self, by_key: Mapping[str, Existing], keys: frozenset[str]) -> None:
        self._by_key, self._keys = by_key, keys
        self._first: dict[str, dict[str, str]] = {"metadata.name": {}, "domains": {}}
        """The key of the first row that asks for a name or domain: few are asked for twice."""
        self._claimants: dict[tuple[str, str], list[str]] = {}
        """The keys of all rows that ask for it, if there are several."""
        self._held: dict[str, Existing] = {}
        """By domain: the object that has it, and whose row is gone."""

    def hold(self, objects: Iterable[Existing]) -> None:
        """These objects have no row, and keep their domains."""
        self._held = {domain: each for each in objects for domain in each.domains}

    def enter(self, row: Desired) -> None:
        """A row asks for its name and domains."""
        self._claim("metadata.name", row.name, row.key)
        for domain in row.domains:
            self._claim("domains", domain, row.key)

    def enter_existing(self, by_key: Mapping[str, Existing], without: Mapping[str, Desired]) -> None:
        """Objects whose row is invalid keep what they have."""
        for key, each in by_key.items():
            if key in without or key not in self._keys:
                continue
            self._claim("metadata.name", each.name, key)
            for domain in each.domains:
                self._claim("domains", domain, key)

    def _claim(self, what: str, value: str, key: str) -> None:
        first = self._first[what].setdefault(value, key)
        if first is not key:
            self._claimants.setdefault((what, value), [first]).append(key)

    def told(self) -> dict[str, tuple[Problem, bool]]:
        """By key: the problem, and whether the row keeps what several ask for."""
        told: dict[str, tuple[Problem, bool]] = {}
        for (what, value), keys in sorted(self._claimants.items()):
            self._judge(what, value, keys, told)
        for domain, holder in sorted(self._held.items(), key=lambda item: item[0]):
            self._refuse_held(domain, holder, told)
        return told

    def _refuse_held(self, domain: str, holder: Existing, told: dict[str, tuple[Problem, bool]]) -> None:
        text = f"a domain that no other object has: {holder.name}, whose row is gone, has it still"
        first = self._first["domains"].get(domain)
        for key in self._claimants.get(("domains", domain), [first] if first is not None else []):
            if not self._holds(key, "domains", domain):
                told[key] = (Problem(shown(key), "domains", text), False)

    def _judge(self, what: str, value: str, keys: list[str], told: dict[str, tuple[Problem, bool]]) -> None:
        holders = [key for key in keys if self._holds(key, what, value)]
        holder = holders[0] if len(holders) == 1 else None
        noun = "name" if what == "metadata.name" else "domain"
        for key in keys:
            other = next(each for each in keys if each != key)
            if key == holder:
                text = f"no other row with its {noun}: that of {shown(other)} is refused"
                told.setdefault(key, (Problem(shown(key), what, text, repeats=True), True))
            else:
                text = f"a {noun} that no other row has, such as that of {shown(holder or other)}"
                told[key] = (Problem(shown(key), what, text, repeats=True), False)

    def _holds(self, key: str, what: str, value: str) -> bool:
        existing = self._by_key.get(key)
        if existing is None:
            return False
        return existing.name == value if what == "metadata.name" else value in existing.domains


def key_text(value: Value) -> str | None:
    """The key of a row as text; None if it cannot identify a row."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    if isinstance(value, int) and abs(value) >= 10**LONGEST_KEY:
        # Python makes no text of many more digits.
        return None
    text = str(value)
    return text if len(text) <= LONGEST_KEY and text.isprintable() else None


def shown(key: str) -> str:
    """A key, cut to a readable length."""
    text = visible(key)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _rank(value: Value) -> tuple[int, int | float, str]:
    """Numbers before text, and rows without a value last."""
    if isinstance(value, int | float):
        # Python compares them exactly, and a float has no room for a long integer.
        return (0, value, "")
    return (1, 0, value) if isinstance(value, str) else (2, 0, "")


def digest_of(value: Any, characters: int = 32) -> str:
    """A digest of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:characters]
