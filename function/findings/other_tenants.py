"""What other tenants of the claim mean for its findings: former ones, and those among which domains move.
Also what the deletion of a tenant means that the claim still needs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apis.conditions import LiveReason, TenantReadyReason
from function.composed.compose import WantedTenant
from function.composed.observed import ObservedTenant
from function.findings.live import SHOWN, Finding, answers, deletion, failed_update, few, paused, unseen

IN_CONFLICT: Final = frozenset({TenantReadyReason.DOMAIN_CONFLICT, TenantReadyReason.DELETION_HELD})
"""Reasons of a tenant whose domains, or whose name in CloudFront, another one has."""


def with_former_tenants(
    found: Finding, wanted: WantedTenant, others: Iterable[ObservedTenant], own_name: str | None = None
) -> Finding:
    """The finding of a tenant, some of whose domains may still be with former tenants of the claim.

    Args:
        found: the finding of the tenant alone.
        wanted: the tenant.
        others: the claim's tenants that are to go.
        own_name: the tenant's external name.
    """
    holders = [each for each in others if not each.domain_states.keys().isdisjoint(wanted.domains)]
    if not holders or not found.failed:
        return found
    held = next((each for each in holders if not _goes(each)), None)
    if held is None:
        return _AFTER_OWN if found.reason in IN_CONFLICT else found
    if not wanted.enabled:
        # The finding of the suspension names it.
        return found
    told = _holder(held, wanted)
    told = _with_advice(told, held, own_name, _TAKEN_OVER)
    theirs = {domain for each in holders for domain in each.domain_states}
    if found.reason in IN_CONFLICT and theirs.issuperset(wanted.domains):
        return told
    return replace(found, message=f"{told.message.rstrip('.')}. {found.message}")


def _goes(seen: ObservedTenant) -> bool:
    return seen.deleted and deletion(seen).reason is LiveReason.DELETING


def _holder(seen: ObservedTenant, wanted: WantedTenant) -> Finding:
    """The finding of a former tenant that has domains which another tenant should have."""
    had = [domain for domain in wanted.domains if domain in seen.domain_states]
    serving = [domain for domain in had if domain in seen.active] if answers(seen) else []
    does = f"serves {few(serving)}" if serving else f"has {few(had)}"
    what = f"DistributionTenant {seen.name}, a former tenant of the claim, still {does}."
    if not seen.deleted:
        return Finding(LiveReason.FAILED, f"{what} Delete it, and the claim's new tenant gets its domains.")
    found = deletion(seen)
    return replace(found, message=f"{what} {found.message}")


_AFTER_OWN: Final = Finding(
    LiveReason.CREATING,
    "The claim's former tenant is being deleted; this one then gets its domains. No action is needed.",
)


def with_own_tenants(
    found: Finding,
    tenant: tuple[WantedTenant, ObservedTenant],
    others: Iterable[ObservedTenant],
    *,
    waits: bool,
) -> Finding:
    """The finding of a tenant in conflict with other tenants of the claim, while domains move between them.

    Args:
        found: the finding of the tenant alone.
        tenant: the tenant.
        others: the other tenants that the claim composes.
        waits: whether the change of the isolation waits for someone.
    """
    wanted, seen = tenant
    # The conflict may be about an earlier spec, which the object still has.
    asked = dict.fromkeys((*wanted.domains, *sorted(seen.asked.domains)))
    lacking = [domain for domain in asked if domain not in seen.domain_states]
    holders = [each for each in others if not each.domain_states.keys().isdisjoint(lacking)]
    if found.reason is not TenantReadyReason.DOMAIN_CONFLICT or not holders:
        return found
    message = " ".join((*(_own_holder(each, lacking) for each in holders[:SHOWN]), _ONCE[waits]))
    theirs = {domain for each in holders for domain in each.domain_states}
    return replace(found, message=message if theirs.issuperset(lacking) else f"{message} {found.message}")


def _own_holder(seen: ObservedTenant, lacking: Iterable[str]) -> str:
    had = [domain for domain in lacking if domain in seen.domain_states]
    does = "serves" if answers(seen) and seen.active.issuperset(had) else "has"
    return f"DistributionTenant {seen.name}, another tenant of this claim, still {does} {few(had)}."


_ONCE: Final = {
    True: "The domains stay there until the change of spec.isolation continues; Blocked says what to do.",
    False: (
        "The domains are moving between the claim's tenants. No action is needed unless this lasts for more "
        "than some minutes."
    ),
}
"""By whether the change waits for someone."""


@dataclass(frozen=True)
class Left:
    """What the former tenants of a claim mean for its suspension."""

    serving: Finding | None = None
    """The finding of the first one that still serves."""
    unknown: str = ""
    """Why it is unknown whether one serves; empty if it is known."""


def left_behind(former: Sequence[ObservedTenant] | None) -> Left:
    """What the former tenants of a suspended claim mean for it; None: they are not known yet."""
    if former is None:
        return Left(unknown=_UNREAD)
    serving = _still_serving(former)
    hidden = next((each for each in former if each.exists and unseen(each)), None)
    if serving or hidden is None:
        return Left(serving)
    return Left(
        unknown=f"DistributionTenant {hidden.name}, a former tenant of the claim, was disabled when the "
        f"provider last observed it, which it does not do at present. {failed_update(hidden)}"
    )


_UNREAD: Final = (
    "Whether a former tenant of the claim still serves is unknown, because Crossplane has not read the "
    "former tenants."
)


def _still_serving(former: Iterable[ObservedTenant]) -> Finding | None:
    held = TenantReadyReason.RECREATION_HELD
    serving = (each for each in former if each.exists and each.enabled is not False)
    seen = next((each for each in serving if each.ready.reason != held), None)
    if seen is None:
        return None
    name = f"DistributionTenant {seen.name}"
    what = f"spec.suspended is true, but {name}, a former tenant of the claim, still serves."
    if not seen.deleted:
        return Finding(LiveReason.FAILED, f"{what} Delete it, or set its spec.forProvider.enabled to false.")
    found = deletion(seen)
    return replace(found, message=f"{what} {found.message}")


def needed(found: Finding, seen: ObservedTenant, new_name: str) -> Finding:
    """The finding of a tenant that is being deleted although the claim needs it.

    Args:
        found: the finding of the tenant alone.
        seen: the tenant.
        new_name: the external name that Crossplane's next resource for it would get.
    """
    return _with_advice(found, seen, new_name, _CREATED_AGAIN)


def _with_advice(found: Finding, seen: ObservedTenant, new_name: str | None, then: str) -> Finding:
    """The finding, with how to keep a protected tenant. Under another external name, the claim's next
    resource would not find the tenant, and no resource would manage it."""
    if not _is_protected(seen):
        return found
    advice = f"{_KEEP.format(seen.name)} {then}" if seen.external_name == new_name else _RENAMED
    return replace(found, message=f"{found.message}. {_NEEDED} {advice}")


def _is_protected(seen: ObservedTenant) -> bool:
    """Whether its deletion is held by deletionProtection."""
    held = seen.deleted and not paused(seen) and seen.ready.reason == TenantReadyReason.DELETION_HELD
    return held and _PROTECTION in seen.ready.message


_PROTECTION: Final = "deletionProtection "
_NEEDED: Final = (
    "The claim needs its domains: after the deletion, they are not served until another tenant has them."
)
_KEEP: Final = (
    "To keep them served, do not confirm. Instead, set spec.managementPolicies of DistributionTenant {} to "
    "[Observe]."
)
_RENAMED: Final = (
    "To keep them served, do not confirm. First revert what gives the claim's tenant another name in "
    "CloudFront: spec.isolation, or the plan's field name. Live then says how to go on"
)
_CREATED_AGAIN: Final = (
    "Then only the resource goes, and Crossplane creates it again for the same tenant. If Blocked shows a "
    "change that waits, revert that first: the new resource gets it"
)
_TAKEN_OVER: Final = "Then only the resource goes, and the claim's new resource gets the tenant"
