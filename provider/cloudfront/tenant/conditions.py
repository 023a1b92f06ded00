"""What is said of a tenant: conditions derived from the state of the world (pure).

    enabled and serving every domain, rolled out once   Ready True Available, also while an update rolls out
    anything else                                       Ready False, with the first reason that holds it up

Nothing here is stored but for Ready itself, whose last value says that the tenant was rolled out before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apis.conditions import DeployedReason, DnsReason, TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.conditions import Condition, available
from edgetenants_runtime.api.conditions import creating as ready_creating
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.account.group_look import UNKNOWN, GroupLook
from provider.cloudfront.aws.errors import not_ready
from provider.cloudfront.certificate import conditions as certificate_conditions
from provider.cloudfront.lifecycle.conditions import INEFFECTIVE, NOBODY, condition, deployed, in_sync, told
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["World", "absent", "derive", "dns", "named"]


@dataclass(frozen=True)
class World:
    """What the conditions are derived from."""

    asked: Tenant
    seen: ObservedTenant
    drift: tuple[FieldDiff, ...] = ()
    """What differs though the spec did not change."""
    pending: tuple[FieldDiff, ...] = ()
    """What differs because the spec changed."""
    ineffective: bool = False
    """The same update was made twice and changed nothing."""
    frozen: str = ""
    """What forbids every write, in words; empty where nothing does."""
    left: bool = False
    """The drift policy leaves the drift as it is."""
    served: bool = False
    """The tenant was Ready when it was last told of."""
    certificate: Certificate | None = None
    """The managed or custom certificate, as far as it is known."""
    not_before: datetime | None = None
    """Where certificates were asked for too often: when the next one may be."""
    held_back: tuple[str, ...] = ()
    """The new domains that are not added before."""
    group: GroupLook = UNKNOWN
    """The connection group, as far as it is known."""
    dns_unseen: str = ""
    """As in dns()."""


@dataclass(frozen=True)
class Finding:
    """Why something is not so."""

    reason: TenantReadyReason
    message: str


def derive(world: World) -> tuple[Condition, ...]:
    """All conditions of a tenant that exists and is not being deleted."""
    return (
        _ready(world),
        deployed(world.seen),
        _in_sync(world),
        certificate_conditions.derive(world.asked, world.seen, world.certificate, world.not_before),
        dns(world.asked, world.dns_unseen),
    )


def absent() -> tuple[Condition, ...]:
    """What is known before the tenant exists."""
    return (
        ready_creating(),
        condition(
            TenantConditionType.DEPLOYED,
            DeployedReason.CREATING,
            "The tenant does not exist yet. Ready says what it waits for.",
        ),
    )


# Ready: the first check that finds something wins.


def _disabled(world: World) -> Finding | None:
    if world.seen.enabled:
        # Also where it is to be disabled: visitors are served until it is.
        return None
    if world.asked.enabled is False:
        return Finding(
            TenantReadyReason.DISABLED,
            "The tenant is disabled, as spec.forProvider.enabled asks. Set it to true to have it served.",
        )
    if world.ineffective:
        return None
    return Finding(TenantReadyReason.DISABLED, f"The tenant is disabled in AWS{_enabling(world)}.")


def _enabling(world: World) -> str:
    """What becomes of a tenant that somebody disabled."""
    if world.asked.enabled is None:
        return ". Set spec.forProvider.enabled to true to have it enabled"
    if world.left:
        return ", and the drift policy leaves it so. Enable it there, or set spec.driftPolicy to Enforce"
    if world.frozen:
        return f". It waits to be enabled: {world.frozen}. Whoever did that lifts it"
    # What the provider may enable, it has enabled when this is told.
    return ". Enable it there"


def _disabled_group(world: World) -> Finding | None:
    if not world.group.disabled:
        return None
    words = (
        f"Connection group {world.group.id} is disabled in AWS, and CloudFront serves none of its tenants. "
        "Enable it: set spec.forProvider.enabled of its ConnectionGroup to true, or enable it in AWS."
    )
    return Finding(TenantReadyReason.CONNECTION_GROUP_DISABLED, words)


def _first_roll_out(world: World) -> Finding | None:
    if world.served or (world.seen.deployed and not world.group.rolling_out):
        return None
    what = "connection group" if world.seen.deployed else "tenant"
    words = f"CloudFront is rolling the {what} out, which takes some minutes. {NOBODY}"
    return Finding(TenantReadyReason.DEPLOYING, words)


def _without_effect(world: World) -> Finding | None:
    """What would have it serve may be just what AWS does not do."""
    missing = _unserved(world) if world.seen.enabled else sorted(world.seen.domains)
    if not world.ineffective or not missing:
        return None
    words = (
        f"CloudFront does not answer for {named(missing)}, and AWS takes an update without effect: "
        f"{told((*world.drift, *world.pending))}. It is not repeated; {INEFFECTIVE}."
    )
    return Finding(TenantReadyReason.UPDATE_INEFFECTIVE, words)


def _unserved(world: World) -> list[str]:
    asked = world.asked.domains or frozenset(world.seen.domains)
    return sorted(asked - set(world.seen.active_domains))


def named(domains: Sequence[str]) -> str:
    """Domains, of which a message has not too many."""
    return ", ".join(domains[:5]) + (f" and {len(domains) - 5} more" if len(domains) > 5 else "")


def _inactive_domains(world: World) -> Finding | None:
    missing = _unserved(world)
    if not missing:
        return None
    names = named(missing)
    if not world.seen.deployed:
        return Finding(TenantReadyReason.DEPLOYING, f"CloudFront does not answer for {names} yet. {NOBODY}")
    words = (
        f"CloudFront does not answer for {names}. Check that a certificate of the tenant or of its "
        "distribution covers each name, and that status.dnsInstructions are followed."
    )
    return Finding(TenantReadyReason.DOMAIN_INACTIVE, words)


def _lost_certificate(world: World) -> Finding | None:
    """The certificate by which the tenant serves is no good any more."""
    found = certificate_conditions.lost(world.asked, world.seen, world.certificate, world.not_before)
    return Finding(*found) if found else None


def _awaited_certificate(world: World) -> Finding | None:
    """There is none yet that serves every domain."""
    found = certificate_conditions.holding_up(world.asked, world.seen, world.certificate, world.not_before)
    return Finding(*found) if found else None


def _held_back(world: World) -> Finding | None:
    """Domains that need a certificate for which it is too early."""
    if not world.held_back or world.not_before is None:
        return None
    names, when = named(world.held_back), rfc3339(world.not_before)
    words = (
        f"CloudFront does not answer for {names}: each needs a certificate, and the next one is asked for "
        f"after {when}, as three were asked for within an hour. AWS counts them for the whole account. The "
        "domains are added then."
    )
    return Finding(TenantReadyReason.CERTIFICATE_PENDING, words)


READY_CHECKS: Final[tuple[Callable[[World], Finding | None], ...]] = (
    _disabled,
    _disabled_group,
    _lost_certificate,
    _first_roll_out,
    _awaited_certificate,
    _held_back,
    _without_effect,
    _inactive_domains,
)
"""In the order of what must be so first."""


def _ready(world: World) -> Condition:
    finding = next((found for check in READY_CHECKS if (found := check(world))), None)
    return not_ready(finding.reason, finding.message) if finding else available()


def _in_sync(world: World) -> Condition:
    return in_sync(
        world.seen,
        told((*world.drift, *world.pending)),
        drift=bool(world.drift),
        left=world.left,
        ineffective=world.ineffective,
        frozen=world.frozen,
    )


def dns(asked: Tenant, unseen: str) -> Condition:
    """DNSReady. `unseen`: what may not be looked at of where the domains lead, in words."""
    if not asked.records:
        return condition(TenantConditionType.DNS_READY, DnsReason.DNS_NOT_CONFIGURED, unseen, holds=True)
    words = (
        "spec.forProvider.dns: this version of the provider does not make DNS records. Make those of "
        "status.dnsInstructions."
    )
    words = f"{words} {unseen}".rstrip()
    return condition(TenantConditionType.DNS_READY, DnsReason.DNS_ERROR, words)
