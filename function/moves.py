"""Steps that would take down or move what serves. None is taken before somebody confirms it.

    change                                       until it is confirmed
    isolation Shared <-> PerDomain, where the    the domains are served as they are
    domains cannot move without a gap
    another distribution, by plan or by claim    the tenants stay with the one that they have
    no connection group of its own any more      the group stays

The claim confirms with the annotation `edgetenants.io/confirm: <token>`, several apart by commas. A token
stands for the step itself, so that the claims of a plan can be confirmed all at once.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apis.tenantchoices import Isolation, OnDelete
from function import compose, naming, switches
from function.claim import CONFIRM
from function.compose import CONNECTION_GROUP, Order, WantedTenant
from function.observed import ObservedTenant
from function.switches import Switch

_NAMES: Final = 2000
"""Characters of the domains that a step names. A message has 4096, and at its end is what to do."""
_NAMES_OF_NEEDS: Final = 500
"""The same for what it needs before."""


@dataclass(frozen=True)
class Move:
    """A step that waits."""

    would: str
    """What it would do, and what that means for visitors."""
    token: str
    needs: str = ""
    """What it needs before it can be confirmed at all."""

    @property
    def message(self) -> str:
        """What waits, and the ways out."""
        if self.needs:
            return f"{self.would} {self.needs}"
        return (
            f"{self.would} Set the annotation {CONFIRM}: {self.token} on the claim to have it done, or take "
            "the change back."
        )


@dataclass(frozen=True)
class Wanted:
    """What is composed now, and what waits."""

    tenants: tuple[WantedTenant, ...]
    dedicated: bool
    """The claim has a connection group of its own."""
    waiting: tuple[Move, ...]
    switching: bool = False
    """The claim's domains are on their way from the tenants of one isolation to those of the other."""
    parked: frozenset[str] = frozenset()
    """Names that tenants may have while others have the claim's domains."""

    def unserved(self, domains: Iterable[str]) -> list[str]:
        """Those of the claim's domains that no tenant has while a step waits."""
        served = {domain for each in self.tenants for domain in each.domains}
        return [domain for domain in domains if domain not in served] if self.waiting else []


def wanted(order: Order, seen: Mapping[str, ObservedTenant]) -> Wanted:
    """What is composed for an order beside what serves already.

    Args:
        order: what is asked for.
        seen: the claim's managed resources by their names among the composed ones, its connection group too.
    """
    kept = {name: each for name, each in seen.items() if not each.deleted}
    held = {name: each for name, each in kept.items() if each.exists}
    tenants, waiting, switching = _isolated(order, kept)
    tenants, moved = _on_distribution(order, tenants, held)
    dedicated, regrouped = _connected(order, tenants, held)
    if dedicated != order.terms.dedicated:
        tenants = tuple(replace(each, dedicated=dedicated) for each in tenants)
    return Wanted(tenants, dedicated, (*waiting, *moved, *regrouped), switching, _parked(order, seen))


def _parked(order: Order, seen: Mapping[str, ObservedTenant]) -> frozenset[str]:
    """Also names of a change that is over, while a status has them."""
    wildcard, own = order.chosen.plan.parking_domain, frozenset(order.claim.domains)
    known = (switches.parkings(wildcard, name, _records_of(each)) for name, each in seen.items())
    return frozenset().union(*known) - own


def _records_of(seen: ObservedTenant) -> Iterable[str]:
    return (str(record.get("name")) for record in seen.instructions)


def _isolated(
    order: Order, kept: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...], bool]:
    asked = order.claim.spec.isolation
    confirmed = _token(asked) in order.composite.confirmed and not _allowed(order)
    switch = Switch(order, kept, gap=confirmed)
    # Where none of the domains that are asked for is served, there is nothing to take down.
    if not switch.under_way:
        return compose.tenants(order, asked), (), False
    if switches.hindrance(order) or _freed(order) or (switch.gap and switch.unparkable):
        tenants, waiting = _replaced(switch)
        # A plan may change while domains move.
        return tenants, waiting, bool(waiting) and len({each.own is None for each in tenants}) > 1
    return *_moving(switch), True


def _moving(switch: Switch) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    if switch.gap or not switch.refused:
        return switch.tenants, ()
    # Another tenant would be refused its domain as well.
    kept = tuple(each for each in switch.tenants if not each.parked or each.resource_name in switch.seen)
    return kept, (_with_gap(switch),)


def _with_gap(switch: Switch) -> Move:
    if switch.unparkable:
        how_long = (
            "for some minutes, until CloudFront has rolled out the end of the old tenants and the new ones"
        )
    else:
        how_long = "from when an old tenant lets go of them until a new one has them, seconds to minutes"
    return Move(
        f"The change of spec.isolation from {switch.former} to {switch.asked} does not get on without a gap. "
        f"{switch.refused} Once that is mended it goes on by itself. With a gap, these domains are not "
        f"served {how_long}: {_names(tuple(switch.holders))}.",
        _token(switch.asked),
        needs=_allowed(switch.order),
    )


def _token(asked: Isolation) -> str:
    return naming.digest(f"isolation {_other(asked)} {asked}")


def _other(isolation: Isolation) -> Isolation:
    return next(each for each in Isolation if each is not isolation)


def _names(domains: Sequence[str], longest: int = _NAMES) -> str:
    lengths = itertools.accumulate(len(domain) + len(", ") for domain in domains)
    shown = sum(length <= longest for length in lengths)
    more = len(domains) - shown
    return ", ".join(domains[:shown]) + (f" and {more} more" if more > 0 else "")


def _replaced(switch: Switch) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    move = _replacement(switch)
    if switch.gap and not move.needs:
        return compose.tenants(switch.order, switch.asked), ()
    return switch.present, (move,)


def _replacement(switch: Switch) -> Move:
    order, asked = switch.order, switch.asked
    pace = ". New tenants are made three at a time" if asked is Isolation.PER_DOMAIN else ""
    because = f", as {why}" if (why := switches.hindrance(order)) else ""
    return Move(
        f"A change of spec.isolation from {switch.former} to {asked} replaces the tenants in CloudFront"
        f"{because}. These domains are not served for some minutes: {_names(tuple(switch.holders))}. That "
        f"lasts until CloudFront has rolled out the end of the old tenants and the new ones{pace}.",
        _token(asked),
        needs=_freed(order) or _allowed(order),
    )


def _allowed(order: Order) -> str:
    if not order.terms.kept:
        return ""
    # A domain that no tenant has for a moment would be refused as a new one, and the claim with it.
    named = _names(order.terms.kept, _NAMES_OF_NEEDS)
    return f"Before that, plan {order.chosen.name} must allow {named}, or the claim must give that up."


def _freed(order: Order) -> str:
    if order.terms.on_delete is not OnDelete.ORPHAN:
        return ""
    # What stays in CloudFront keeps its domains, and no other tenant can have them.
    return "Before that, spec.onDelete must be Delete, as orphaned tenants keep the domains; or take it back."


def _on_distribution(
    order: Order, tenants: tuple[WantedTenant, ...], held: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    asked = order.chosen.plan.distribution_id
    # Domains that move to a new tenant stay with their distribution.
    whence = next((each for tenant in tenants if (each := held.get(tenant.resource_name))), None)
    present = {
        each: _present(held.get(each.resource_name) or (whence if each.parked else None), asked)
        for each in tenants
    }
    others = set(present.values()) - {asked}
    if not others:
        return tenants, ()
    moves = {
        old: Move(
            f"{order.chosen.path('distributionId')} asks for distribution {asked}, and {old} serves the "
            "domains. The move changes origin, certificate and rules at once.",
            naming.digest(f"distribution {old} {asked}"),
        )
        for old in sorted(others)
    }
    waiting = {old: move for old, move in moves.items() if move.token not in order.composite.confirmed}
    kept = (replace(each, distribution_id=old) if old in waiting else each for each, old in present.items())
    return tuple(kept), tuple(waiting.values())


def _present(seen: ObservedTenant | None, asked: str) -> str:
    return (seen.asked.distribution_id if seen is not None else "") or asked


def _connected(
    order: Order, tenants: Iterable[WantedTenant], held: Mapping[str, ObservedTenant]
) -> tuple[bool, tuple[Move, ...]]:
    if order.terms.dedicated or CONNECTION_GROUP not in held:
        return order.terms.dedicated, ()
    move = Move(
        "Without a connection group of its own the claim has another routing endpoint. Domains whose DNS "
        "records lead to the old one are not served once it is gone.",
        naming.digest("connection group"),
        needs=_named_group(order),
    )
    served = any(each.resource_name in held for each in tenants)
    confirmed = move.token in order.composite.confirmed and not move.needs
    return (False, ()) if not served or confirmed else (True, (move,))


def _named_group(order: Order) -> str:
    if order.chosen.plan.connection.connection_group_id:
        return ""
    # Left out, the field would keep the id that the reference was resolved to: the tenants would stay.
    path = order.chosen.path("connection.connectionGroupId")
    return f"Before that, {path} must name the group that its tenants go to; or take the change back."
