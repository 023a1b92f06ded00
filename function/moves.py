"""Steps that would take down or move what serves. None is taken before somebody confirms it.

    change                                       until it is confirmed
    isolation Shared <-> PerDomain               the domains are served as they are
    another distribution, by plan or by claim    the tenants stay with the one that they have
    no connection group of its own any more      the group stays

The claim confirms with the annotation `edgetenants.io/confirm: <token>`, several apart by commas. A token
stands for the step itself, so that the claims of a plan can be confirmed all at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from apis.tenantchoices import Isolation, OnDelete
from function import compose, naming
from function.claim import CONFIRM
from function.compose import CONNECTION_GROUP, TENANT, Order, WantedTenant
from function.observed import ObservedTenant


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
    held = {name: each for name, each in seen.items() if each.exists and not each.deleted}
    tenants, waiting = _isolated(order, held)
    tenants, moved = _on_distribution(order, tenants, held)
    dedicated, regrouped = _connected(order, tenants, held)
    if dedicated != order.terms.dedicated:
        tenants = tuple(replace(each, dedicated=dedicated) for each in tenants)
    return Wanted(tenants, dedicated, (*waiting, *moved, *regrouped))


def _isolated(
    order: Order, held: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    asked = order.claim.spec.isolation
    others = [name for name in held if _of_other_isolation(name, asked)]
    if not others:
        return compose.tenants(order, asked), ()
    present = next(each for each in Isolation if each is not asked)
    kept = compose.tenants(order, present)
    if present is Isolation.PER_DOMAIN:
        # A new domain would be one more tenant to take down again; it waits with the rest.
        kept = tuple(each for each in kept if each.resource_name in held)
    move = Move(
        f"A change of spec.isolation from {present} to {asked} replaces the tenants in CloudFront, and the "
        "domains are not served for some minutes.",
        naming.digest(f"isolation {present} {asked}"),
        needs=_freed(order),
    )
    # Where none of the domains that are asked for is served, there is nothing to take down.
    if not kept or (move.token in order.composite.confirmed and not move.needs):
        return compose.tenants(order, asked), ()
    return kept, (move,)


def _freed(order: Order) -> str:
    if order.terms.on_delete is not OnDelete.ORPHAN:
        return ""
    # What stays in CloudFront keeps its domains, and no other tenant can have them.
    return "Before that, spec.onDelete must be Delete, as orphaned tenants keep the domains; or take it back."


def _of_other_isolation(name: str, isolation: Isolation) -> bool:
    return name.startswith(f"{TENANT}-") if isolation is Isolation.SHARED else name == TENANT


def _on_distribution(
    order: Order, tenants: tuple[WantedTenant, ...], held: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    asked = order.chosen.plan.distribution_id
    others = {_present(held.get(each.resource_name), asked) for each in tenants} - {asked}
    if not others:
        return tenants, ()
    present = {each: _present(held.get(each.resource_name), asked) for each in tenants}
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
