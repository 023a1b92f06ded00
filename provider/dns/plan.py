"""Plans the change of one domain's records from what is wanted and what is there (pure).

    mark            records at the names          standing
    ─────────────   ───────────────────────────   ──────────────────────────────────────────
    none            none in the way               DUE: create them, with the mark
    none            as wanted                     OTHERS: in place, and left to their maker
    none            others                        TAKEN, unless taking them over is allowed
    ours            as wanted                     OURS
    ours            missing, or others            DUE: correct them
    another's       any                           FOREIGN; as ours, if that owner gave us the domain

No plan changes a record that is not ours. A type that the provider never makes, such as MX, is never deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from provider.dns import ownership
from provider.dns.ownership import Owner
from provider.dns.records import LEADING, RecordSet
from provider.dns.store import Change, Found

__all__ = ["Gave", "Standing", "Step", "Wanted", "gave_nothing", "release", "settle"]

Gave = Callable[[Owner], bool]
"""Whether another owner gave a domain, and so its records, to this one."""

_MADE: Final = frozenset({"A", "AAAA", "CNAME", "ALIAS", "TXT"})
"""Types that the provider makes, and so may delete."""


class Standing(Enum):
    """What is true of the records of a domain."""

    OURS = "in place"
    OTHERS = "in place, made by others"
    DUE = "to be written"
    TAKEN = "other records are in the way"
    FOREIGN = "they belong to another owner"


@dataclass(frozen=True)
class Wanted:
    """The records that a domain is to have."""

    domain: str
    records: tuple[RecordSet, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names to read before a plan.

        Raises:
            ValueError: as `ownership.mark_name`.
        """
        return frozenset({ownership.mark_name(self.domain), *(each.name for each in self.records)})


@dataclass(frozen=True)
class Step:
    """What is true of a domain's records, and what to do."""

    domain: str
    standing: Standing
    there: tuple[RecordSet, ...] = ()
    """The records in the way, in order of name and type: those that `change` replaces, or that forbid it."""
    change: Change | None = None
    """With DUE only."""
    corrects: bool = False
    """The records were made before, and are not as wanted any more."""
    is_marked: bool = False
    """The mark in the zone names this very resource."""


def gave_nothing(_: Owner) -> bool:
    """No one gave a domain."""
    return False


def settle(
    wanted: Wanted,
    found: Found,
    owner: Owner,
    *,
    take_over: bool = False,
    gave: Gave = gave_nothing,
) -> Step:
    """Plan the records of a domain.

    Args:
        wanted: the records.
        found: what the zone has at `wanted.names`.
        owner: who makes them.
        gave: the records of such an owner count as ours, and get our mark. Called for others' marks only.
        take_over: replace records without a mark, of types that the provider makes.

    Raises:
        ValueError: as `ownership.mark_name`.
    """
    mark = ownership.mark(wanted.domain, owner)
    marks = _marks(found, wanted.domain)
    present = _owner(marks)
    if marks and (present is None or not _is_ours(present, owner, gave)):
        return Step(wanted.domain, Standing.FOREIGN, _ordered(marks))
    there = _ordered(each for name in _names(wanted) for each in _in_the_way(wanted, found, name))
    missing = tuple(each for each in wanted.records if not _has(there, each))
    wrong = tuple(each for each in there if not any(_same(each, one) for one in wanted.records))
    if present is None:
        return _without_mark(wanted, mark, there, missing, wrong, take_over=take_over)
    if any(not _may_delete(each) for each in wrong):
        return Step(wanted.domain, Standing.TAKEN, wrong, is_marked=marks[0].leads_as(mark))
    return _with_mark(wanted, mark, marks, missing, wrong)


def release(
    wanted: Wanted,
    found: Found,
    owner: Owner,
    ours: Callable[[RecordSet], bool],
    *,
    only_own: bool = False,
    gave: Gave = gave_nothing,
) -> Change | None:
    """Plan to remove the records of a domain, with their mark; None if there is nothing of ours.

    Args:
        wanted: the records that the domain had. Only names and types count.
        found: what the zone has at `wanted.names`.
        owner: who made them.
        ours: whether a record set leads to where this provider leads domains. Others stay: a person has
            changed them since, and has taken the name back.
        only_own: leave the records that another resource of the same owner made.
        gave: as in `settle`.

    Raises:
        ValueError: as `ownership.mark_name`.
    """
    marks = _marks(found, wanted.domain)
    present = _owner(marks)
    if present is None or not _is_ours(present, owner, gave):
        return None
    if only_own and present.resource != owner.resource:
        return None
    there = [each for name in _names(wanted) for each in _in_the_way(wanted, found, name)]
    gone = [each for each in there if _may_delete(each) and ours(each)]
    return Change(wanted.domain, deletes=(*_ordered(gone), *marks))


def _is_ours(present: Owner, owner: Owner, gave: Gave) -> bool:
    return present.owner == owner.owner or gave(present)


def _without_mark(
    wanted: Wanted,
    mark: RecordSet,
    there: tuple[RecordSet, ...],
    missing: tuple[RecordSet, ...],
    wrong: tuple[RecordSet, ...],
    *,
    take_over: bool,
) -> Step:
    alike = tuple(each for each in there if any(each.leads_as(one) for one in wanted.records))
    if len(alike) == len(there) == len(wanted.records):
        return Step(wanted.domain, Standing.OTHERS)
    if there and not (take_over and all(map(_may_delete, there))):
        return Step(wanted.domain, Standing.TAKEN, there)
    # The mark will say that all of them are ours, so those that stay must be what was seen.
    stay = tuple(each for each in there if each not in wrong)
    change = Change(wanted.domain, deletes=wrong, creates=(*missing, mark), keeps=stay)
    return Step(wanted.domain, Standing.DUE, there, change)


def _with_mark(
    wanted: Wanted,
    mark: RecordSet,
    marks: tuple[RecordSet, ...],
    missing: tuple[RecordSet, ...],
    wrong: tuple[RecordSet, ...],
) -> Step:
    marked = marks[0].leads_as(mark)
    if marked and not missing and not wrong:
        return Step(wanted.domain, Standing.OURS, is_marked=True)
    change = Change(
        wanted.domain,
        deletes=wrong if marked else (*wrong, *marks),
        creates=missing if marked else (*missing, mark),
        keeps=marks if marked else (),
    )
    corrects = bool(missing or wrong)
    return Step(wanted.domain, Standing.DUE, wrong, change, corrects=corrects, is_marked=marked)


def _names(wanted: Wanted) -> list[str]:
    return sorted({each.name for each in wanted.records})


def _in_the_way(wanted: Wanted, found: Found, name: str) -> list[RecordSet]:
    """The record sets of a name that the wanted ones replace, or that cannot be beside them."""
    types = {each.type for each in wanted.records if each.name == name}
    if "CNAME" in types:
        # A CNAME is alone at its name (RFC 1034, section 3.6.2).
        return list(found.of(name))
    beside = types | {"CNAME"} | (LEADING if types & LEADING else frozenset())
    return [each for each in found.of(name) if each.type in beside]


def _marks(found: Found, domain: str) -> tuple[RecordSet, ...]:
    """What is at the name of the mark and is one, or forbids one. Other types there are not ours."""
    there = found.of(ownership.mark_name(domain))
    return _ordered(each for each in there if each.type in ("TXT", "CNAME"))


def _owner(marks: Sequence[RecordSet]) -> Owner | None:
    """The owner that a mark names; None without one, and for one that is not as the provider makes it."""
    if len(marks) != 1 or marks[0].type != "TXT" or marks[0].routed:
        return None
    return ownership.owner_of(marks[0])


def _has(there: Iterable[RecordSet], wanted: RecordSet) -> bool:
    return any(_same(each, wanted) for each in there)


def _same(one: RecordSet, other: RecordSet) -> bool:
    return one.leads_as(other) and one.ttl == other.ttl


def _may_delete(record: RecordSet) -> bool:
    return record.type in _MADE and not record.routed


def _ordered(records: Iterable[RecordSet]) -> tuple[RecordSet, ...]:
    return tuple(sorted(records, key=lambda each: (each.name, each.type, each.values)))
