"""Who held which shard, and who wrote in which account: from the Leases and the emulator's log."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from edgetenants_runtime.shards import shard_of
from provider.cloudfront.aws import operations
from sandbox.world import World
from tests.integration.watching import Object, Watch

LEASE_NAME = "provider-edgetenants"
_LEADING = re.compile(r"leading .*identity=(\S+)")
_COUNT = re.compile(r"_of-(\d+)-shards$")


@dataclass(frozen=True)
class Term:
    """One holder's time with a Lease, in seconds since 1970 by the stamps in the Lease. The holder stamps
    before it sends: it works after `begin`, and its last work is before `end`."""

    lease: str
    identity: str
    begin: float
    end: float
    released: bool
    """It ended with a release. Otherwise another process took the Lease, or it has not ended."""

    @property
    def count(self) -> int:
        found = _COUNT.findall(self.identity)
        # A process without shards, such as the provider before the replicas, names no number.
        return int(found[0]) if found else 1


@dataclass(frozen=True)
class Write:
    """A call that writes, when it arrived at the emulator."""

    account: str
    process: str
    real: float
    operation: str


def terms(watch: Watch) -> list[Term]:
    """The terms of all Leases of the shards, oldest first."""
    names = {each["metadata"]["name"] for _, each in list(watch.events)}
    found = [_terms_of(name, watch.of(name)) for name in sorted(names) if name.startswith(LEASE_NAME)]
    return sorted(itertools.chain(*found), key=lambda term: term.begin)


def _terms_of(name: str, states: list[Object]) -> list[Term]:
    found: list[Term] = []
    holder, began = "", 0.0
    for state in states:
        spec = state["spec"]
        now = spec.get("holderIdentity") or ""
        if now == holder:
            continue
        at = _moment(spec["acquireTime"] if now else spec["renewTime"])
        if holder:
            found.append(Term(name, holder, began, at, released=not now))
        holder, began = now, at
    return [*found, Term(name, holder, began, float("inf"), released=False)] if holder else found


def _moment(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def identities(world: World, processes: Iterable[str]) -> dict[str, str]:
    """The process of each identity, from what the processes logged in all their runs."""
    return {
        identity: name
        for name in processes
        for identity in _LEADING.findall(Path(world.processes.run(name).log).read_text())
    }


def writes(world: World, since: int, accounts: Iterable[str]) -> list[Write]:
    """The calls that write in these accounts after the call with number `since`, oldest first."""
    wanted = set(accounts)
    return [
        Write(call["account"], call["app"], call["real"], call["operation"])
        for call in world.emulator.calls(since=since)["calls"]
        if call["account"] in wanted and operations.OPERATIONS.get(call["operation"]) and _writes(call)
    ]


def _writes(call: Object) -> bool:
    return call["service"] == "cloudfront" and operations.writes(call["operation"])


@dataclass
class Span:
    """The work of one process in one account: from its first write until its Lease had no holder or another
    one."""

    account: str
    process: str
    term: Term
    first: float
    last: float
    """Its last write."""


def spans(made: Iterable[Write], held: list[Term], whose: dict[str, str]) -> tuple[list[Span], list[Write]]:
    """The work in the order of its beginning, and the writes of processes that did not hold the Lease."""
    found: dict[tuple[str, str], Span] = {}
    strange = []
    for write in made:
        term = next((term for term in held if _covers(term, write, whose)), None)
        if term is None:
            strange.append(write)
            continue
        new = Span(write.account, write.process, term, write.real, write.real)
        found.setdefault((write.account, term.identity), new).last = write.real
    return sorted(found.values(), key=lambda span: span.first), strange


def _covers(term: Term, write: Write, whose: dict[str, str]) -> bool:
    shard = shard_of(write.account, term.count)
    name = f"{LEASE_NAME}-shard-{shard}" if shard else LEASE_NAME
    mine = whose.get(term.identity) == write.process and term.lease == name
    return mine and term.begin <= write.real <= term.end


def following(work: Iterable[Span], account: str) -> list[tuple[Span, Span]]:
    """Each span in an account, with the next one."""
    return list(itertools.pairwise(span for span in work if span.account == account))


def without_process(former: Span, later: Span, held: Iterable[Term]) -> float:
    """The seconds between the work of two processes in an account. They begin when the former one released
    the Lease, or with its last write; with another number of shards, when none works with the former one."""
    others = (term for term in held if term.count != later.term.count and term.released)
    left = [former.term.end if former.term.released else former.last]
    return later.first - max(left + [term.end for term in others if term.end <= later.first])
