"""How the results of `edgetenants source` are printed: keys, names and fields, without any value of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apis.tenantsource import TenantSourceSpec, WhenGone, seconds
from cli.source.preview import Change, Fate, Gone, Preview
from sources.objects import CONFIRM
from sources.rows import Problem

__all__ = ["Result", "lines", "to_json"]

_MOST: Final = 20
"""Objects to create, and to change, that the text lists. Invalid rows and removals are all listed."""


@dataclass(frozen=True)
class Result:
    """What was found for one TenantSource."""

    title: str
    kind: str = ""
    """Of its objects."""
    spec: TenantSourceSpec | None = None
    notes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    """What could not be read, and is treated as absent."""
    preview: Preview | None = None
    refusal: str = ""
    """Why edgetenants-sources would refuse the spec, or ""."""
    failure: str = ""
    """Why the rows cannot be read, or ""."""
    blind: bool = False
    """A cluster was asked for, and its objects could not be read."""

    def exit_code(self, *, checks: bool, strict: bool) -> int:
        """0, 1 for what someone has to correct or confirm, 2 if the rows, or the cluster that the user named,
        cannot be read. `checks`: of the rest, only the rows count. `strict`: 1 also if something would be
        written."""
        if self.failure or self.blind:
            return 2
        if self.preview is None or self.preview.invalid:
            return 1
        if checks:
            return 0
        return 1 if self.preview.held or (strict and self.preview.writes) else 0


def to_json(result: Result, *, checks: bool) -> dict[str, Any]:
    """The result as a JSON object. `checks`: only the rows that are wrong."""
    found: dict[str, Any] = {
        "tenantSource": result.title.partition(" ")[2],
        "notes": list(result.notes),
        "unseen": list(result.unseen),
        "refusal": result.refusal,
        "failure": result.failure,
    }
    if result.preview is None:
        return found
    preview = result.preview
    found |= {
        "rows": preview.rows,
        "invalid": preview.invalid,
        "keyless": preview.keyless,
        "problems": [vars(each) for each in (*preview.problems, *preview.nameless)],
    }
    if checks:
        return found
    return found | {
        "kind": result.kind,
        "create": [{"name": each.name, "key": each.key} for each in preview.creates],
        "createdAtOnce": preview.at_once,
        "waitsFor": preview.waits_for,
        "change": [{**vars(each), "fields": list(each.fields)} for each in preview.changes],
        "gone": [{**vars(each), "fate": each.fate.value} for each in preview.gone],
        "whenGone": result.spec.when_gone.value if result.spec else "",
        "held": preview.held,
        "token": preview.token,
        "unchanged": preview.unchanged,
    }


def lines(result: Result, *, checks: bool) -> Iterator[str]:
    """The result as text. `checks`: only the rows that are wrong."""
    yield result.title
    yield from (f"  not read, treated as absent: {each}" for each in result.unseen)
    yield from (f"  note: {each}" for each in result.notes)
    if result.refusal:
        yield f"  refused: {result.refusal}"
    if result.failure:
        yield f"  cannot be read: {result.failure}"
    if result.preview is None or result.spec is None:
        return
    if not checks:
        yield from _objects(result.kind, result.preview, result.spec)
    yield from (_problem(each) for each in (*result.preview.problems, *result.preview.nameless))
    unlisted = result.preview.keyless - len(result.preview.nameless)
    if unlisted:
        yield f"  ! and {unlisted} more rows without a usable key"
    if result.preview.keyless:
        yield "  no object counts as gone while there is a row without a usable key"
    yield f"  {_summary(result.preview, checks=checks)}"


def _objects(kind: str, preview: Preview, spec: TenantSourceSpec) -> Iterator[str]:
    yield from _cut([f"  + {kind} {each.name} (row {each.key})" for each in preview.creates])
    if preview.waits_for:
        yield f"  {preview.at_once} of them at the next read, then the others: {preview.waits_for}"
    yield from _cut([_change(kind, each) for each in preview.changes])
    yield from (_gone(kind, each, spec) for each in preview.gone)
    if preview.held:
        how = f"set the annotation {CONFIRM} to {preview.token}" if preview.token else "use its token"
        when = "" if preview.token else " once status.removal has it"
        yield f"  too many rows are gone at once: to remove exactly these {preview.held} objects, {how}{when}"


def _cut(listed: Sequence[str]) -> Iterator[str]:
    yield from listed[:_MOST]
    if len(listed) > _MOST:
        yield f"    and {len(listed) - _MOST} more (-o json has all)"


def _change(kind: str, each: Change) -> str:
    said = {
        "adopt": "taken over; ",
        "restore": "its row is back and invalid; what its absence set is taken back",
    }.get(each.what, "")
    fields = "" if each.what == "restore" else ", ".join(each.fields) or "what the row no longer sets"
    return f"  ~ {kind} {each.name} (row {each.key}): {said}{fields}"


def _gone(kind: str, each: Gone, spec: TenantSourceSpec) -> str:
    verb = "deleted" if spec.when_gone is WhenGone.DELETE else "suspended"
    after = max(seconds(spec.after), seconds(spec.poll_interval))
    said = {
        Fate.STAYS: "it stays as it is",
        Fate.NOW: f"{verb} with the next read",
        Fate.LATER: f"{verb} after {_duration(after)} without it, of which {_duration(each.counted)} counted",
        Fate.HELD: "its removal waits for a confirmation",
    }[each.fate]
    mark = "=" if each.fate is Fate.STAYS else "-"
    return f"  {mark} {kind} {each.name} (row {each.key}): its row is gone; {said}"


def _duration(length: float) -> str:
    """
    >>> _duration(5400), _duration(86400), _duration(0)
    ('1h30m', '24h', '0s')
    """
    hours, rest = divmod(int(length), 3600)
    parts = ((hours, "h"), (rest // 60, "m"), (rest % 60, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def _problem(each: Problem) -> str:
    return f"  ! row {each.key}: {each.field}: expected {each.expected}"


def _summary(preview: Preview, *, checks: bool) -> str:
    repeats = sum(each.repeats for each in preview.problems)
    invalid = f"{preview.invalid} invalid" + (f" ({repeats} of them repeat another row)" if repeats else "")
    if checks:
        return f"{preview.rows} rows: {invalid}"
    removed = sum(each.fate in (Fate.NOW, Fate.LATER) for each in preview.gone)
    counts = (
        f"{len(preview.creates)} to create",
        f"{len(preview.changes)} to change",
        f"{removed} to remove",
        f"{preview.held} held",
        f"{preview.unchanged} unchanged",
        invalid,
    )
    return f"{preview.rows} rows: {', '.join(counts)}"
