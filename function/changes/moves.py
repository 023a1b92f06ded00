"""Steps that would interrupt or move served domains. The function takes none before the claim's author
confirms it.

    change                                       until it is confirmed
    isolation Shared <-> PerDomain, if the       the domains stay with their tenants
    domains cannot move without a gap
    another distribution, as the plan changed    the tenants stay with their distribution
    another distribution, as the claim changed
    to another plan or Composition               the tenants stay as they are
    no longer a connection group of its own      the group stays

The claim's author confirms with the annotation `edgetenants.io/confirm: <token>`; several tokens are
separated by commas. A token identifies the step, so one token can confirm it for all claims of a plan. It
also identifies how long domains are not served: if a step comes to need a longer gap, it waits again.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apis.tenant_choices import CertificateMode, Isolation, OnDelete
from function.changes import switches
from function.changes.switches import Switch
from function.claims.claim import CONFIRM
from function.composed import compose, naming
from function.composed.compose import Order, WantedTenant
from function.composed.observed import ObservedTenant

_NAMES: Final = 2000
"""Characters of domain names in a step's message. A message has 4096, and the action is at its end."""
_NAMES_OF_NEEDS: Final = 500
"""The same for the names in what the step needs first."""


@dataclass(frozen=True)
class Move:
    """A step that waits for confirmation."""

    would: str
    """What it would do, and its effect on visitors."""
    token: str
    needs: str = ""
    """What it needs before it can be confirmed."""

    @property
    def message(self) -> str:
        """What waits, and how to proceed."""
        if self.needs:
            return f"{self.would} {self.needs}"
        return (
            f"{self.would} To proceed, set the annotation {CONFIRM}: {self.token} on the claim. Otherwise, "
            "revert the change."
        )


@dataclass(frozen=True)
class Wanted:
    """The tenants to compose now, and the steps that wait."""

    tenants: tuple[WantedTenant, ...]
    dedicated: bool
    """Whether the claim has its own connection group."""
    waiting: tuple[Move, ...]
    switching: bool = False
    """Whether the claim's domains are moving from the tenants of one isolation to those of the other."""
    parked: frozenset[str] = frozenset()
    """Parking names that tenants may have while others have the claim's domains."""
    unchanged: bool = False
    """Whether the tenants stay as they are, without anything new of the claim or its plan."""
    groups: tuple[str, ...] = ()
    """The composed resource names of connection groups that stay with them."""
    leaving: frozenset[str] = frozenset()
    """The composed resource names of tenants that are being deleted, from another plan. They leave as they
    are: this plan's onDelete and deletionProtection are not theirs."""

    def unserved(self, domains: Iterable[str]) -> list[str]:
        """Those of the claim's domains that no tenant has while a step waits."""
        served = {domain for each in self.tenants for domain in each.domains}
        return [domain for domain in domains if domain not in served] if self.waiting else []


def wanted(order: Order, seen: Mapping[str, ObservedTenant]) -> Wanted:
    """What to compose for an order, given the resources that exist.

    Args:
        order: the claim with its plan and terms.
        seen: the claim's managed resources, including its connection group, by their composed resource names.
    """
    kept = {name: each for name, each in seen.items() if not each.deleted}
    # A resource that is being deleted still serves, perhaps for weeks, if its deletion is on hold. One that
    # replaces others has their distribution and connection group, which a confirmation of the gap left alone.
    held = {name: each for name, each in seen.items() if each.exists or each.replacing}
    there = [name for name, each in kept.items() if name in held or each.arriving]
    if waits := _under_another_plan(order, there, seen):
        return _unchanged(order, kept, waits)
    tenants, waiting, switching = _isolated(order, kept, held)
    if not waiting and not switching and any(each.replacing for each in seen.values()):
        tenants = _replacements(tenants, seen)
    tenants, moved = _on_distribution(order, tenants, held)
    dedicated, regrouped = _connected(order, tenants, held)
    if dedicated != order.terms.dedicated:
        tenants = tuple(replace(each, dedicated=dedicated) for each in tenants)
    waits = (*waiting, *moved, *regrouped)
    return Wanted(tenants, dedicated, waits, switching, _parked(order, seen), leaving=_leaving(order, seen))


def _under_another_plan(
    order: Order, serving: Iterable[str], seen: Mapping[str, ObservedTenant]
) -> tuple[Move, ...]:
    """The moves to the claim's new plan that wait. What it allows is not allowed at the distribution of the
    former one. A plan of the same name in another Composition is another plan."""
    own = order.chosen.plan.distribution_id
    tenants = (seen[name] for name in serving if not compose.is_group(name))
    came = [each for each in tenants if each.choice not in ("", order.choice)]
    if elsewhere := _in_another_account(order, {each.asked.config for each in came}):
        return (elsewhere,)
    # If CloudFront refused a confirmed move, the tenant is still where a claim that reverts it wants it.
    asked = [each.asked for each in came if own not in (each.asked.distribution_id, each.distribution)]
    moves = [_move(order, old) for old in sorted({each.distribution_id for each in asked})]
    return tuple(
        replace(each, would=f"{each.would} {_AS_THEY_ARE}")
        for each in moves
        if each.token not in order.composite.confirmed
    )


def _leaving(order: Order, seen: Mapping[str, ObservedTenant]) -> frozenset[str]:
    """Those of another plan that are being deleted, even if both plans have one distribution: a deletion ends
    by the plan under which it began."""
    return frozenset(
        name
        for name, each in seen.items()
        if each.deleted and not compose.is_group(name)
        if each.choice not in ("", order.choice)
    )


_AS_THEY_ARE: Final = "Until then, the tenants stay as they are, and only spec.suspended changes them."


def _in_another_account(order: Order, present: Iterable[tuple[str, str]]) -> Move | None:
    """Why tenants with these provider configs never move to the claim's new plan."""
    reference = order.chosen.plan.provider_config_ref
    own, _ = _rights(order)
    others = sorted({name for kind, name in present if name and (kind, name) != own})
    if not others:
        return None
    # Its deletion would look for the tenant in the other account, too.
    return Move(
        f"A tenant stays in its AWS account, and {order.chosen.path('providerConfigRef')} is "
        f"{reference.name}, not {_names(others)}.",
        token="",
        needs=f"Revert the change, and make a new claim for this plan. {_AS_THEY_ARE}",
    )


def _rights(order: Order) -> tuple[tuple[str, str], str]:
    """Provider config and distribution of the claim's plan. Plans that share them are one set of rights."""
    plan = order.chosen.plan
    reference = plan.provider_config_ref
    kind = str(reference.kind or "") if order.composite.namespaced else ""
    return (kind, reference.name), plan.distribution_id


def _unchanged(order: Order, kept: Mapping[str, ObservedTenant], waiting: tuple[Move, ...]) -> Wanted:
    tenants = tuple(
        WantedTenant(
            name,
            tuple(sorted(each.asked.domains)),
            not order.claim.spec.suspended,
            each.asked.distribution_id,
            each.asked.own_group,
            own=next(iter(each.asked.domains), None) if name != compose.TENANT else None,
        )
        for name, each in kept.items()
        if not compose.is_group(name)
    )
    groups = tuple(filter(compose.is_group, kept))
    dedicated = any(each.dedicated for each in tenants)
    return Wanted(tenants, dedicated, waiting, unchanged=True, groups=groups)


def _parked(order: Order, seen: Mapping[str, ObservedTenant]) -> frozenset[str]:
    """Includes the names of a finished change as long as a status has them."""
    wildcard, own = order.chosen.plan.parking_domain, frozenset(order.claim.domains)
    if wildcard is None:
        return frozenset()
    known = (switches.parkings(wildcard, name, _records_of(each)) for name, each in seen.items())
    return frozenset().union(*known) - own


def _records_of(seen: ObservedTenant) -> Iterable[str]:
    return (str(record.get("name")) for record in seen.instructions)


def _isolated(
    order: Order, kept: Mapping[str, ObservedTenant], held: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...], bool]:
    asked = order.claim.spec.isolation
    given = order.composite.confirmed
    # Checked first, because most claims confirm nothing, and a token is a hash.
    confirmed = bool(given) and _token(asked, _RELEASED) in given and not _allowed(order)
    switch = Switch(order, kept, gap=confirmed)
    # If none of the claim's domains is served, there is nothing to interrupt.
    if not switch.under_way:
        return compose.tenants(order, asked), (), False
    if asked is Isolation.SHARED and _is_apart(switch, held):
        return _at_present(switch, _together(switch))
    replaces = bool(switches.hindrance(order) or _freed(order))
    if _may_replace(order) and (replaces or switch.unparkable):
        return _replacements(compose.tenants(order, asked), kept), (), False
    if replaces:
        return _at_present(switch, _replacement(switch))
    return *_moving(switch), True


def _at_present(switch: Switch, waits: Move) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...], bool]:
    # The plan may have changed during the move.
    mixed = len({each.own is None for each in switch.present}) > 1
    return switch.present, (waits,), mixed


def _is_apart(switch: Switch, held: Mapping[str, ObservedTenant]) -> bool:
    """Whether the old tenants have several distributions, and the move to the plan's is not confirmed."""
    asked = switch.order.chosen.plan.distribution_id
    found = {_present(held.get(each.resource_name), asked) for each in switch.present}
    moves = (_move(switch.order, old).token for old in found - {asked})
    return len(found) > 1 and not switch.order.composite.confirmed.issuperset(moves)


def _together(switch: Switch) -> Move:
    return Move(
        f"The change of spec.isolation from {switch.former} to {switch.asked} waits, because the tenants "
        "have different distributions.",
        token="",
        needs="Confirm the other steps in this message first, or revert the change.",
    )


def _replacements(
    tenants: Iterable[WantedTenant], seen: Mapping[str, ObservedTenant]
) -> tuple[WantedTenant, ...]:
    """Mark those that do not exist in CloudFront yet. The others show by themselves where the domains are."""
    there = {name for name, each in seen.items() if each.exists}
    return tuple(replace(each, replacing=each.resource_name not in there) for each in tenants)


def _moving(switch: Switch) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    if not switch.refused or (switch.gap and not switch.unparkable):
        return switch.tenants, ()
    # CloudFront would refuse the domain to another tenant as well.
    kept = tuple(each for each in switch.tenants if not each.parked or each.resource_name in switch.seen)
    return kept, (_with_gap(switch),)


def _with_gap(switch: Switch) -> Move:
    protected = ""
    if switch.unparkable:
        protected = _protected(switch.order)
        how_long = (
            "for some minutes, until CloudFront has disabled the old tenants and rolled out the new ones"
        )
    else:
        how_long = "for seconds to minutes, from their removal from an old tenant until a new one has them"
    return Move(
        f"The change of spec.isolation from {switch.former} to {switch.asked} cannot continue without a gap. "
        f"{switch.refused} It resumes once that is fixed. With a gap, these domains are not "
        f"served {how_long}: {_names(tuple(switch.holders))}.{protected}",
        _token(switch.asked, _REPLACED if switch.unparkable else _RELEASED),
        needs=_allowed(switch.order),
    )


# How the domains get to the new tenants, each with a gap of another length and a token of its own. So who
# confirms a short gap does not get a long one, if the plan changes or a tenant cannot get its parking name.

_RELEASED: Final = "old tenants release domains"
_REPLACED: Final = "tenants are replaced"
_REPLACED_AND_ISSUED: Final = "tenants are replaced, certificates issued"


def _token(asked: Isolation, way: str) -> str:
    return naming.token(f"isolation {switches.other(asked)} {asked}: {way}")


def _replacing(order: Order) -> str:
    managed = order.terms.certificate.mode is CertificateMode.MANAGED
    return _REPLACED_AND_ISSUED if managed else _REPLACED


def _may_replace(order: Order) -> bool:
    """Whether the claim's author has confirmed the gap of a replacement, and nothing else is needed for
    it."""
    token = _token(order.claim.spec.isolation, _replacing(order))
    return token in order.composite.confirmed and not _allowed(order) and not _freed(order)


def _names(domains: Sequence[str], longest: int = _NAMES) -> str:
    lengths = itertools.accumulate(len(domain) + len(", ") for domain in domains)
    shown = sum(length <= longest for length in lengths)
    more = len(domains) - shown
    return ", ".join(domains[:shown]) + (f" and {more} more" if more > 0 else "")


def _replacement(switch: Switch) -> Move:
    order, asked = switch.order, switch.asked
    pace = ". New tenants are created three at a time" if asked is Isolation.PER_DOMAIN else ""
    way = _replacing(order)
    until = "and rolled out the new ones"
    if way is _REPLACED_AND_ISSUED:
        until = "and rolled out the new ones, and their managed certificates are issued"
    because = f", because {why}" if (why := switches.hindrance(order)) else ""
    return Move(
        f"The change of spec.isolation from {switch.former} to {asked} replaces the tenants in CloudFront"
        f"{because}. These domains are not served for some minutes: {_names(tuple(switch.holders))}. The gap "
        f"lasts until CloudFront has disabled the old tenants {until}{pace}."
        f"{_protected(order)}",
        _token(asked, way),
        needs=_freed(order) or _allowed(order),
    )


def _protected(order: Order) -> str:
    """What the plan's deletionProtection means for old tenants that have to be deleted first."""
    if not order.chosen.plan.deletion_protection:
        return ""
    return (
        f" {order.chosen.path('deletionProtection')} is on, so the provider holds the deletion of each old "
        "tenant until it is confirmed: the Ready condition of its DistributionTenant says how. Until then, "
        "the old tenant keeps its domains and serves them. If no such confirmation is needed, set the field "
        "to false first."
    )


def _allowed(order: Order) -> str:
    if not order.terms.kept:
        return ""
    # In the gap no tenant has the domain, so the plan would refuse it as a new one, and the claim with it.
    named = _names(order.terms.kept, _NAMES_OF_NEEDS)
    return f"Before that, have plan {order.chosen.name} allow {named}, or remove that from spec.domains."


def _freed(order: Order) -> str:
    if order.terms.on_delete is not OnDelete.ORPHAN:
        return ""
    # A tenant that stays in CloudFront keeps its domains, and no other tenant can have them.
    return (
        "Before that, set spec.onDelete to Delete, because orphaned tenants keep the domains. Otherwise, "
        "revert the change."
    )


def _on_distribution(
    order: Order, tenants: tuple[WantedTenant, ...], held: Mapping[str, ObservedTenant]
) -> tuple[tuple[WantedTenant, ...], tuple[Move, ...]]:
    asked = order.chosen.plan.distribution_id
    whence = None
    if any(each.resource_name not in held for each in tenants):
        # A new tenant does not get the plan's distribution while those with the claim's domains wait for it.
        serving = _having(order, held).values()
        whence = next((each for each in serving if _present(each, asked) != asked), None)
    present = [_present(held.get(each.resource_name) or whence, asked) for each in tenants]
    others = set(present) - {asked}
    if not others:
        return tenants, ()
    having = [held[each.resource_name] for each in tenants if each.resource_name in held]
    moves = {
        old: _move(order, old, (each for each in having if each.asked.distribution_id == old))
        for old in sorted(others)
    }
    waiting = {old: move for old, move in moves.items() if move.token not in order.composite.confirmed}
    kept = (
        replace(each, distribution_id=old) if old in waiting else each
        for each, old in zip(tenants, present, strict=True)
    )
    return tuple(kept), tuple(waiting.values())


def _move(order: Order, old: str, having: Iterable[ObservedTenant] = ()) -> Move:
    """The move of tenants from their distribution to the plan's."""
    asked = order.chosen.plan.distribution_id
    return Move(
        f"{order.chosen.path('distributionId')} is distribution {asked}, but {old} serves the domains. The "
        f"move changes origin, certificate and rules at once.{_created_again(having)}",
        naming.token(f"distribution {old} {asked}"),
    )


def _having(order: Order, held: Mapping[str, ObservedTenant]) -> dict[str, ObservedTenant]:
    """The tenants that have domains of the claim, also those of the other isolation, and those that replace
    some, even if the claim has removed their domains since."""
    own = frozenset(order.claim.domains)
    return {
        name: each
        for name, each in held.items()
        if not compose.is_group(name)
        if each.replacing or not own.isdisjoint((*each.asked.domains, *each.domain_states))
    }


def _present(seen: ObservedTenant | None, asked: str) -> str:
    """The distribution that serves a tenant's domains."""
    if seen is None or asked in ("", seen.distribution):
        # It need not move, whatever its spec asks for: CloudFront refused an earlier move.
        return asked
    return seen.asked.distribution_id or asked


def _connected(
    order: Order, tenants: Iterable[WantedTenant], held: Mapping[str, ObservedTenant]
) -> tuple[bool, tuple[Move, ...]]:
    groups = [each for name, each in held.items() if compose.is_group(name)]
    if order.terms.dedicated or not groups:
        return order.terms.dedicated, ()
    names = {each.resource_name for each in tenants} | _having(order, held).keys()
    present = [each for name, each in held.items() if name in names]
    if all(each.deleted for each in groups) and not any(each.asked.own_group for each in present):
        # The claim gave it up, and it waits for tenants of others.
        return False, ()
    move = Move(
        "Without its own connection group, the claim gets another routing endpoint. Domains whose DNS "
        f"records lead to the old one are not served once it is deleted.{_created_again(present)}",
        naming.token("connection group"),
        needs=_named_group(order),
    )
    served = bool(present)
    confirmed = move.token in order.composite.confirmed and not move.needs
    return (False, ()) if not served or confirmed else (True, (move,))


def _created_again(tenants: Iterable[ObservedTenant]) -> str:
    """What a change means for tenants that are being deleted: no resource remembers what they had."""
    names = sorted(each.name for each in tenants if each.deleted)
    if not names:
        return ""
    return (
        f" These resources are being deleted: {_names(names, _NAMES_OF_NEEDS)}. When Crossplane creates them "
        "again, they get this change without a confirmation."
    )


def _named_group(order: Order) -> str:
    if order.chosen.plan.connection.connection_group_id:
        return ""
    # If the field were omitted, it would keep the resolved id, and the tenants would stay with the old group.
    path = order.chosen.path("connection.connectionGroupId")
    return f"Before that, set {path} to the group that the tenants move to. Otherwise, revert the change."
