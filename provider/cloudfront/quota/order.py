"""The order in which waiting creations try (pure).

Those whose namespace is recorded as a holder of their domains come first: their tenants served. Namespaces
take turns, so a thousand resources of one delay another's only one by a single try. Within a namespace, the
oldest comes first. All of that follows from the resources and the records, so it is the same after a restart,
except for whose turn it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.managed import ObjectKey

__all__ = ["Entry", "Home", "Waiting", "first", "second"]

_NEVER: Final = float("-inf")


@dataclass(frozen=True)
class Waiting:
    """A managed resource whose external resource is to be created."""

    uid: str
    api_version: str
    kind: str
    key: ObjectKey
    namespace: str
    """The namespace that it counts for."""
    created: str
    """metadata.creationTimestamp, which users cannot set."""


@dataclass
class Home:
    """A namespace with waiting resources."""

    turn: int = 0
    """The number of its last turn, or of the last one of all when it came. A turn that AWS refused because
    the account is full is none: the next place is for the same namespace."""
    tried: int = 0
    """The number of the last turn in which it tried whether there is room, before all others."""
    second: int = 0
    """The same, after another one was refused."""
    accepted: bool = False
    """AWS accepted its last one."""
    suspect: bool = False
    """Its last refusal was about its own resource: right after it, AWS accepted another namespace's."""
    second_rate_until: float = _NEVER
    """Until then, its holders do not come first: one of them did not come, or could not be created."""
    expected_until: float = _NEVER
    """Until then, holders are expected whose tenants were deleted in AWS."""
    expected_again: float = _NEVER
    """From then on, others wait for such holders again."""


@dataclass
class Entry:
    """A waiting resource."""

    who: Waiting
    home: Home
    asked: float
    holder: bool = False
    """Its namespace is recorded as the holder of one of its domains or of its name."""
    is_present: bool = True
    """It comes when it is called, as far as is known."""
    refused: int = 0
    """The number of its last refusal; 0: none."""
    own: int = 0
    """How many of its refusals were about itself."""
    words: str = ""
    """AWS's message to it."""

    def comes_first(self, now: float) -> bool:
        """Whether it goes before all that are new."""
        return self.holder and not self.home.suspect and now >= self.home.second_rate_until


def first(entries: Iterable[Entry], now: float, *, finding_out: bool = False) -> Entry | None:
    """Return the one that tries first; None if there is none. `finding_out`: there is probably no room."""

    def key(each: Entry) -> tuple[bool, int, int, str, str]:
        home = each.home
        turn = home.tried if finding_out else home.turn
        # AWS may never accept the oldest one.
        within = each.refused if home.suspect else each.own
        return (not each.comes_first(now), turn, within, each.who.created, each.who.uid)

    return min(entries, key=key, default=None)


def second(entries: Iterable[Entry], refusing: Container[str]) -> Entry | None:
    """Return the one that tries after another one was refused; None if there is none. It is of a namespace
    that AWS has not refused (`refusing`), as its answer says most; or else of the next one, and in it the
    one that has not tried for longest: so each tries at some time, whatever is before it."""

    def key(each: Entry) -> tuple[bool, bool, int, int, str, str]:
        who, home = each.who, each.home
        return (who.namespace in refusing, not home.accepted, home.second, each.refused, who.created, who.uid)

    return min(entries, key=key, default=None)
