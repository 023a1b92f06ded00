"""The conditions of a tenant, derived from its observed state (pure).

    enabled and serving every domain, rolled out once   Ready True Available, also while an update rolls out
    anything else                                       Ready False, with the first reason that applies

The only stored input is Ready itself: its last value shows whether the tenant was rolled out before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apis.conditions import DeployedReason, DnsReason, TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, available
from edgetenants_runtime.api.conditions import creating as ready_creating
from edgetenants_runtime.bounds import named
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.certificate import conditions as certificate_conditions
from provider.cloudfront.certificate.outlook import Outlook
from provider.cloudfront.lifecycle.conditions import (
    INEFFECTIVE,
    LIFT_FREEZE,
    NO_ACTION,
    condition,
    deployed,
    in_sync,
    told,
)
from provider.cloudfront.memory.group_look import UNKNOWN, GroupLook
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["World", "absent", "certificate_after_conflict", "derive", "dns", "frozen_certificate"]


_MOST_UNSET: Final = 10


@dataclass(frozen=True)
class World:
    """The input from which the conditions are derived."""

    asked: Tenant
    seen: ObservedTenant
    drift: tuple[FieldDiff, ...] = ()
    """The differences that no change of the spec caused."""
    pending: tuple[FieldDiff, ...] = ()
    """The differences that a change of the spec caused."""
    ineffective: bool = False
    """The provider sent the same update twice and nothing changed."""
    frozen: str = ""
    """Why writes are frozen, for messages; empty if they are not."""
    may_update: bool = True
    """The management policies permit updates."""
    left: bool = False
    """The drift policy does not correct the drift."""
    served: bool = False
    """The tenant was Ready at the last reconcile."""
    certificate: Certificate | None = None
    """The managed or custom certificate, if known."""
    inherited: Certificate | None = None
    """The distribution's certificate, if it is known and the tenant has none of its own."""
    outlook: Outlook | None = None
    """The attached certificate that AWS cannot renew, if there is one."""
    not_before: datetime | None = None
    """After too many certificate requests: when the next one is allowed."""
    held_back: tuple[str, ...] = ()
    """The new domains that wait until then."""
    group: GroupLook = UNKNOWN
    """What is known of the connection group."""
    dns_unseen: str = ""
    """As in dns()."""
    dns_ready: Condition | None = None
    """DNSReady, if the provider manages the records."""
    unset: tuple[str, ...] = ()
    """The names of the settings that AWS has and the spec does not set."""
    unproven: tuple[str, ...] = ()
    """The domains of the tenant that need a proof and have none."""


@dataclass(frozen=True)
class Finding:
    """Why the tenant is not Ready."""

    reason: TenantReadyReason
    message: str


def derive(world: World) -> tuple[Condition, ...]:
    """All conditions of a tenant that exists and is not being deleted."""
    return (
        _ready(world),
        deployed(world.seen),
        _in_sync(world),
        _certificate_ready(world),
        _with_unproven(world.dns_ready or dns(world.asked, world.dns_unseen), world.unproven),
    )


def _with_unproven(told: Condition, unproven: tuple[str, ...]) -> Condition:
    """DNSReady, with what is known of lost proofs. They change neither its status nor what is served."""
    if not unproven:
        return told
    words = (
        f"DNS does not have the TXT records that prove {named(unproven)}. The tenant keeps these domains. "
        "Create the records of status.dnsInstructions with purpose Proof: without them, the provider adds "
        "these domains to no other tenant."
    )
    return told.model_copy(update={"message": f"{words} {told.message}".rstrip()})


def absent() -> tuple[Condition, ...]:
    """The conditions before the tenant exists."""
    return (
        ready_creating(),
        condition(
            TenantConditionType.DEPLOYED,
            DeployedReason.CREATING,
            "The tenant does not exist yet. Ready shows what it waits for.",
        ),
    )


def _certificate_ready(world: World) -> Condition:
    if world.frozen and certificate_conditions.unrequested(world.asked, world.certificate):
        return frozen_certificate(world.frozen)
    return certificate_conditions.derive(
        world.asked, world.seen, world.certificate, world.not_before, world.inherited, world.outlook
    )


def frozen_certificate(frozen: str) -> Condition:
    """CertificateReady while writes are frozen and the certificate is not requested yet. `frozen` says why
    they are."""
    return certificate_conditions.withheld(
        f"The provider requests no certificate because {frozen}. {LIFT_FREEZE}."
    )


def certificate_after_conflict() -> Condition:
    """CertificateReady of a tenant whose creation or update is refused for a domain conflict."""
    return certificate_conditions.withheld(
        "The provider requests the certificate once the domain conflict that Ready describes has ended. "
        "Nothing has to be validated before."
    )


# Ready: the first check with a finding determines the reason.


def _disabled(world: World) -> Finding | None:
    if world.seen.enabled:
        # Also if the spec disables it: CloudFront serves visitors until then.
        return None
    if world.asked.enabled is False:
        return Finding(
            TenantReadyReason.DISABLED,
            "The tenant is disabled because spec.forProvider.enabled is false. Set it to true to serve it.",
        )
    if world.ineffective:
        return None
    return Finding(TenantReadyReason.DISABLED, f"The tenant is disabled in AWS{_enabling(world)}.")


def _enabling(world: World) -> str:
    """What happens next to a tenant that was disabled in AWS."""
    if world.asked.enabled is None:
        return ". Set spec.forProvider.enabled to true to enable it"
    if world.left:
        return ", and the drift policy keeps it so. Enable it there, or set spec.driftPolicy to Enforce"
    if world.frozen:
        return f". The provider does not enable it because {world.frozen}. {LIFT_FREEZE}"
    # If the provider may enable it, it has already done so when this message is written.
    return ". Enable it there"


def _disabled_group(world: World) -> Finding | None:
    if not world.group.disabled:
        return None
    words = (
        f"Connection group {world.group.id} is disabled in AWS, so CloudFront serves none of its tenants. "
        "To enable it, set spec.forProvider.enabled of its ConnectionGroup to true, or enable it in AWS."
    )
    return Finding(TenantReadyReason.CONNECTION_GROUP_DISABLED, words)


def _first_roll_out(world: World) -> Finding | None:
    if world.served or (world.seen.deployed and not world.group.rolling_out):
        return None
    what = "connection group" if world.seen.deployed else "tenant"
    words = f"CloudFront is rolling out the {what}, which takes some minutes. {NO_ACTION}"
    return Finding(TenantReadyReason.DEPLOYING, words)


def _without_effect(world: World) -> Finding | None:
    """The tenant may not serve because of the very change that AWS does not apply."""
    missing = _unserved(world) if world.seen.enabled else sorted(world.seen.domains)
    if not world.ineffective or not missing:
        return None
    words = (
        f"CloudFront does not answer for {named(missing)}, and an update has no effect in AWS: "
        f"{told((*world.drift, *world.pending))}. The provider does not repeat it; {INEFFECTIVE}."
    )
    return Finding(TenantReadyReason.UPDATE_INEFFECTIVE, words)


def _unserved(world: World) -> list[str]:
    asked = world.asked.domains or frozenset(world.seen.domains)
    return sorted(asked - set(world.seen.active_domains))


def _inactive_domains(world: World) -> Finding | None:
    missing = [each for each in _unserved(world) if each in world.seen.domains]
    if not missing:
        return None
    names = named(missing)
    if not world.seen.deployed:
        return Finding(
            TenantReadyReason.DEPLOYING, f"CloudFront does not answer for {names} yet. {NO_ACTION}"
        )
    words = (
        f"CloudFront does not answer for {names}. Check that a certificate of the tenant or of its "
        "distribution covers each domain, and that the records of status.dnsInstructions exist."
    )
    return Finding(TenantReadyReason.DOMAIN_INACTIVE, words)


# Domains of the spec that the tenant does not have in AWS: no certificate and no DNS record adds them.


def _lacks(world: World, yet: str = " yet") -> str:
    """The message that the tenant lacks domains of the spec; empty if it has them all."""
    lacking = sorted((world.asked.domains or frozenset()) - world.seen.domains.keys())
    return f"The tenant in CloudFront does not have {named(lacking)}{yet}." if lacking else ""


def _not_to_be_added(world: World) -> Finding | None:
    """The provider does not add the domains that the tenant lacks until someone acts."""
    lacks = _lacks(world)
    if not lacks:
        return None
    if world.frozen:
        words = f"{lacks} The provider adds no domains because {world.frozen}. {LIFT_FREEZE}."
        return Finding(TenantReadyReason.FROZEN, words)
    if not world.may_update:
        words = (
            f"{lacks} The provider adds no domains because spec.managementPolicies does not permit Update. "
            "Permit it, or add the domains in AWS."
        )
        return Finding(TenantReadyReason.DOMAIN_INACTIVE, words)
    if world.left and any(each.field == "domains" for each in world.drift):
        words = (
            f"{_lacks(world, '')} Someone changed its domains in AWS, and the drift policy keeps them so. "
            "Add the domains there, or set spec.driftPolicy to Enforce."
        )
        return Finding(TenantReadyReason.DOMAIN_INACTIVE, words)
    return None


def _added_later(world: World) -> Finding | None:
    """The provider adds the domains that the tenant lacks as soon as it can."""
    lacks, certificate = _lacks(world), world.certificate
    if not lacks:
        return None
    if world.asked.certificate_request and certificate and certificate.pending:
        words = (
            f"{lacks} The provider adds domains after the pending certificate is issued, because CloudFront "
            "allows one pending request. CertificateReady says what it waits for."
        )
        return Finding(TenantReadyReason.CERTIFICATE_PENDING, words)
    return Finding(TenantReadyReason.DOMAIN_INACTIVE, f"{lacks} InSync says what the change waits for.")


def _lost_certificate(world: World) -> Finding | None:
    """The attached certificate, or the one that the tenant inherits, is no longer valid."""
    found = certificate_conditions.lost(world.asked, world.seen, world.certificate, world.not_before)
    found = found or certificate_conditions.lost_inherited(world.seen, world.inherited)
    return Finding(*found) if found else None


def _awaited_certificate(world: World) -> Finding | None:
    """No certificate covers every domain yet."""
    if world.frozen and certificate_conditions.unrequested(world.asked, world.certificate):
        missing = world.seen.inactive_domains
        words = f"CloudFront does not answer for {named(missing)}. {frozen_certificate(world.frozen).message}"
        return Finding(TenantReadyReason.FROZEN, words) if missing else None
    found = certificate_conditions.holding_up(world.asked, world.seen, world.certificate, world.not_before)
    return Finding(*found) if found else None


def _held_back(world: World) -> Finding | None:
    """Domains that wait for a certificate that may not be requested yet."""
    if not world.held_back or world.not_before is None:
        return None
    names, when = named(world.held_back), rfc3339(world.not_before)
    words = (
        f"CloudFront does not answer for {names}: each needs a certificate. The provider requested three "
        "within an hour, and AWS counts them for the whole account. It requests the next one after "
        f"{when}, and adds the domains then."
    )
    return Finding(TenantReadyReason.CERTIFICATE_PENDING, words)


READY_CHECKS: Final[tuple[Callable[[World], Finding | None], ...]] = (
    _disabled,
    _disabled_group,
    _lost_certificate,
    _first_roll_out,
    _awaited_certificate,
    _not_to_be_added,
    _held_back,
    _without_effect,
    _inactive_domains,
    _added_later,
)
"""In order of precedence."""


def _ready(world: World) -> Condition:
    finding = next((found for check in READY_CHECKS if (found := check(world))), None)
    return not_ready(finding.reason, finding.message) if finding else available()


def _in_sync(world: World) -> Condition:
    found = in_sync(
        world.seen,
        told((*world.drift, *world.pending)),
        drift=bool(world.drift),
        left=world.left,
        ineffective=world.ineffective,
        frozen=world.frozen,
    )
    if found.status is not ConditionStatus.TRUE or not world.unset:
        return found
    words = (
        f"AWS has settings that the spec does not set: {named(world.unset, _MOST_UNSET)}. The provider "
        "leaves them. To remove one, change it in AWS"
    )
    return found.model_copy(update={"message": words})


def dns(asked: Tenant, unseen: str) -> Condition:
    """DNSReady while the provider manages no records. `unseen` is the message about records that the provider
    may not check."""
    if not asked.records:
        return condition(TenantConditionType.DNS_READY, DnsReason.DNS_NOT_CONFIGURED, unseen, holds=True)
    words = f"A dry run does not check the records. {unseen}".rstrip()
    return condition(TenantConditionType.DNS_READY, DnsReason.DNS_RECORD_CREATING, words)
