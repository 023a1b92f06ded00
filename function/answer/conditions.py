"""The claim's conditions other than Live: Reconciling, Degraded, Suspended, Blocked and NeedsReview. Like
Live, they are derived from what this call observed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from apis.conditions import (
    AS_IT_IS,
    NOT_DONE,
    BlockedReason,
    CertificateReason,
    ClaimConditionType,
    DegradedReason,
    DeployedReason,
    InSyncReason,
    LiveReason,
    NeedsReviewReason,
    ReconcilingReason,
    SuspendedReason,
    TenantConditionType,
    TenantReadyReason,
)
from function.changes.moves import Move
from function.claims import lookalikes
from function.claims.claim import Composite
from function.composed.compose import Order, WantedTenant
from function.composed.observed import ObservedCondition, ObservedTenant
from function.errors import Refused
from function.findings.live import (
    UNLESS_IT_STAYS,
    Finding,
    answers,
    failed_update,
    of_certificate,
    paused,
    says_unseen,
    tells,
    unlooked,
    unseen,
)
from function.findings.other_tenants import Left

_NONE_LEFT: Final = Left()
Reason = ReconcilingReason | DegradedReason | SuspendedReason | BlockedReason | NeedsReviewReason


@dataclass(frozen=True)
class Told:
    """One condition."""

    type: ClaimConditionType
    holds: bool | None
    """None: unknown."""
    reason: Reason
    message: str


@dataclass(frozen=True)
class Looked:
    """One tenant: the desired state, the observed state, and the finding."""

    wanted: WantedTenant
    seen: ObservedTenant | None
    finding: Finding
    elsewhere: frozenset[str] = frozenset()
    """The domains that former tenants of the claim serve, and while domains move, its other tenants."""
    group: Finding | None = None
    """Why the claim's own connection group, which it waits for, cannot be created."""

    @property
    def new(self) -> bool:
        """Whether the provider has not reported it in CloudFront yet."""
        return self.seen is None or not self.seen.exists or unlooked(self.seen)

    @property
    def changing(self) -> bool:
        """Whether a change of it is in progress."""
        return self.seen is not None and _changes(self.wanted, self.seen)

    @property
    def unsent(self) -> bool:
        """Whether the provider has not reconciled its change yet, though nothing pauses it."""
        seen = self.seen
        return seen is not None and not paused(seen) and (_comes(self.wanted, seen) or _is_behind(seen))

    @property
    def dark(self) -> list[str]:
        """Its domains that CloudFront does not serve, according to the last status of the claim's tenants."""
        seen = self.seen
        active = seen.active if seen is not None and answers(seen) else frozenset()
        return [domain for domain in self.wanted.domains if domain not in active | self.elsewhere]

    @property
    def held_up(self) -> str:
        """Why the provider has not sent its change to AWS, in the provider's words; empty if nothing blocks
        it."""
        in_sync = self.seen.condition(TenantConditionType.IN_SYNC) if self.seen else None
        return in_sync.message.partition(NOT_DONE)[2] if in_sync and in_sync.denied else ""

    # Cached: two conditions use it.
    @cached_property
    def trouble(self) -> tuple[DegradedReason, str] | None:
        """Why it needs attention: the reason and the message of Degraded; None if it does not."""
        return _trouble(self) or self._trouble_of_group

    @property
    def _trouble_of_group(self) -> tuple[DegradedReason, str] | None:
        if self.group is None or self.group.reason is TenantReadyReason.FROZEN:
            return None
        return DegradedReason.TENANT_FAILED, self.group.message

    @property
    def frozen(self) -> bool:
        """Whether a change of it waits because writes are frozen."""
        if self.group is not None and self.group.reason is TenantReadyReason.FROZEN:
            return True
        return self.seen is not None and _is_frozen(self.seen)


def derive(
    tenants: Sequence[Looked],
    live: Finding,
    waiting: Sequence[Move],
    left: Left = _NONE_LEFT,
    *,
    suspended: bool,
    reached: bool,
) -> tuple[Told, ...]:
    """The conditions of a claim that the function composes.

    Args:
        tenants: the claim's tenants, each with its finding.
        live: the finding of the condition Live; the other conditions do not repeat it.
        waiting: the steps that wait for confirmation.
        left: what the former tenants mean for the suspension.
        suspended: whether the claim requests suspension.
        reached: whether DNS has led visitors to every domain before.
    """
    degraded = _degraded(tenants, live, reached=reached)
    return (
        _reconciling(tenants),
        degraded,
        _suspended([each.seen for each in tenants], left, live, degraded, suspended=suspended),
        _blocked(tenants, waiting),
    )


def pointing(live: Finding, told: Iterable[Told]) -> Finding:
    """The finding of a claim that is as it should be, with pointers to the conditions that report other
    problems."""
    if not live.satisfied:
        return live
    also = [
        _POINTERS[each.type]
        for each in told
        if each.holds and each.type in _POINTERS and each.reason is not DegradedReason.DNS_RECORD_LOST
    ]
    return replace(live, message=" ".join((live.message, *also))) if also else live


_POINTERS: Final[Mapping[ClaimConditionType, str]] = {
    ClaimConditionType.BLOCKED: "Blocked says what waits.",
    ClaimConditionType.DEGRADED: "Degraded says what needs attention.",
}


def was_reached(composite: Composite) -> bool:
    """Whether DNS has led visitors to every domain of the claim, by its last conditions. Stays True after a
    loss was reported."""
    reached, lost = ("True", LiveReason.LIVE), ("True", DegradedReason.DNS_RECORD_LOST)
    told = composite.condition(ClaimConditionType.DEGRADED)
    return (composite.live == reached and not says_unseen(composite.live_message)) or told == lost


def review(order: Order, tenants: Iterable[ObservedTenant]) -> tuple[Told, ...]:
    """The condition NeedsReview; empty if there is nothing to review. `tenants`: those that exist."""
    kept, alike = order.terms.kept, lookalikes.among(order.claim.domains)
    in_sync = ((each.name, each.condition(TenantConditionType.IN_SYNC)) for each in tenants)
    unset = [(name, message) for name, said in in_sync if (message := _unset(said))]
    told = []
    if kept:
        told.append(
            f"Plan {order.chosen.name} does not allow {_names(kept)}. The claim already has them in "
            "CloudFront and keeps them. Remove them from spec.domains, or have the platform team allow them "
            "in the plan."
        )
    if alike:
        named = "; ".join(map(str, alike[:_SHOWN]))
        more = f"; and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
        told.append(f"{named}{more}. Check that this is the intended name.")
    if unset:
        more = f" The same is true of {len(unset) - 1} more tenants." if len(unset) > 1 else ""
        told.append("DistributionTenant {}: {}.".format(*unset[0]) + more)
    if not told:
        return ()
    reason = NeedsReviewReason.LOOKALIKE_DOMAIN if alike else NeedsReviewReason.SETTINGS_KEPT
    if kept:
        reason = NeedsReviewReason.PLAN_EXCEEDED
    return (Told(ClaimConditionType.NEEDS_REVIEW, True, reason, " ".join(told)),)


def _unset(in_sync: ObservedCondition) -> str:
    """The settings that AWS has and the spec does not set, by the message of InSync."""
    if in_sync.holds:
        return in_sync.message
    kept, mark, _ = in_sync.message.partition(f". {AS_IT_IS}")
    return kept if mark else ""


REVIEWED: Final = Told(
    ClaimConditionType.NEEDS_REVIEW,
    False,
    NeedsReviewReason.NOTHING_TO_REVIEW,
    "There is nothing to review.",
)
"""The condition of a claim that no longer has anything to review."""


def of_refused(
    refusal: Refused,
    live: Finding,
    tenants: Sequence[ObservedTenant],
    left: Left = _NONE_LEFT,
    *,
    suspended: bool,
) -> tuple[Told, ...]:
    """The conditions of a claim that the function refuses. Crossplane sets every condition that is missing
    from a response with a FATAL result to Unknown.

    Args:
        refusal: why the function refuses the claim.
        live: the finding of the condition Live; it has the refusal only if the claim is not served.
        tenants: those that exist.
        left: what the former tenants mean for the suspension.
        suspended: whether the claim requests suspension.
    """
    why = refusal.message if live.live else "Live says why."
    degraded = Told(
        ClaimConditionType.DEGRADED,
        True,
        DegradedReason.CLAIM_REFUSED,
        f"The function refuses the claim; existing resources do not change. {why}",
    )
    teller = ClaimConditionType.DEGRADED if live.live else ClaimConditionType.LIVE
    return (
        _stable(),
        degraded,
        _suspended(tenants, left, live, degraded, teller, suspended=suspended),
        _blocked_by(refusal, teller),
    )


def unreadable(refusal: Refused) -> Told:
    """The condition of a claim whose request cannot be read, not even the tenants in it."""
    message = f"The function refuses the claim; existing resources do not change. {refusal.message}"
    return Told(ClaimConditionType.DEGRADED, True, DegradedReason.CLAIM_REFUSED, message)


def _stable() -> Told:
    return Told(ClaimConditionType.RECONCILING, False, ReconcilingReason.STABLE, "No change is in progress.")


def _reconciling(tenants: Iterable[Looked]) -> Told:
    going = [each for each in tenants if not each.finding.failed]
    # The message names no tenant: if it changed with each of many tenants, it would trigger Crossplane each
    # time.
    if any(each.new for each in going):
        message = f"Tenants are being created. {_UNLESS_TOLD}"
        return Told(ClaimConditionType.RECONCILING, True, ReconcilingReason.CREATING, message)
    changing = [each for each in going if each.changing]
    if changing:
        return Told(ClaimConditionType.RECONCILING, True, ReconcilingReason.UPDATING, _of_change(changing))
    return _stable()


def _of_change(changing: Sequence[Looked]) -> str:
    if any(each.unsent for each in changing):
        return f"A change waits for the provider to reconcile it. {UNLESS_IT_STAYS}"
    if all(each.trouble for each in changing):
        return "A change waits. Degraded says why."
    held_up = next((each.held_up for each in changing if each.held_up), "")
    return f"A change waits: {held_up}" if held_up else f"A change is being rolled out. {_UNLESS_TOLD}"


_UNLESS_TOLD = "No action is needed unless another condition says so."


def _changes(wanted: WantedTenant, seen: ObservedTenant) -> bool:
    return _comes(wanted, seen) or _rolls_out(seen)


def _comes(wanted: WantedTenant, seen: ObservedTenant) -> bool:
    """Whether this response contains the change, so that the provider cannot have reported it yet."""
    asked = seen.asked
    here = (asked.domains, asked.enabled, asked.distribution_id)
    return here != (frozenset(wanted.listed), wanted.enabled, wanted.distribution_id)


def _is_behind(seen: ObservedTenant) -> bool:
    told = seen.synced.generation
    return told is not None and seen.generation is not None and told < seen.generation


def _rolls_out(seen: ObservedTenant) -> bool:
    deployed = seen.condition(TenantConditionType.DEPLOYED)
    in_sync = seen.condition(TenantConditionType.IN_SYNC)
    return (
        seen.deleted
        or _is_behind(seen)
        or deployed.reason in (DeployedReason.DEPLOYING, DeployedReason.DISABLING)
        or in_sync.reason == InSyncReason.UPDATE_PENDING
    )


def _degraded(tenants: Sequence[Looked], live: Finding, *, reached: bool) -> Told:
    for each in tenants:
        if each.trouble is not None:
            reason, message = each.trouble
            if each.finding.failed and message in live.message:
                return Told(ClaimConditionType.DEGRADED, True, reason, _not_served(tenants))
            said = f"{_domains([each])}: {message}" if each.wanted.domains else message
            return Told(ClaimConditionType.DEGRADED, True, reason, said)
    astray, ending = _astray(tenants) if reached else (), _ending(tenants)
    if astray:
        message = f"DNS no longer leads visitors of {_names(astray)} to CloudFront. Live says what to do."
        # The same record may be what blocks the renewal, which is more urgent for the other domains.
        message = f"{message} {ending}".strip()
        return Told(ClaimConditionType.DEGRADED, True, DegradedReason.DNS_RECORD_LOST, message)
    if ending:
        return Told(ClaimConditionType.DEGRADED, True, DegradedReason.RENEWAL_BLOCKED, ending)
    message = "Nothing needs attention."
    return Told(ClaimConditionType.DEGRADED, False, DegradedReason.RECOVERED, message)


def _not_served(tenants: Iterable[Looked]) -> str:
    failed = [each for each in tenants if each.finding.failed]
    if not any(each.wanted.enabled for each in failed):
        return "A tenant needs attention. Live says why."
    # The tenant of another owner may serve the domains, or it lost its owner tag and serves as before.
    dark = [
        domain for each in failed if not (each.seen and each.seen.adoption_refused) for domain in each.dark
    ]
    if dark:
        return f"Not served: {_names(dark)}. Live says why."
    elsewhere = [domain for each in failed for domain in each.wanted.domains if domain in each.elsewhere]
    if elsewhere:
        return f"Former tenants of the claim serve {_names(elsewhere)}. Live says what is wrong."
    if not any(each.wanted.domains for each in failed):
        return "A tenant cannot be created. Live says why."
    if all(each.finding.reason in _REFUSING for each in failed):
        return "CloudFront serves the domains as before. Live says what is wrong."
    return "A tenant needs attention. Live says why."


_REFUSING: Final = frozenset(
    {
        TenantReadyReason.DELETION_HELD,
        TenantReadyReason.DOMAIN_CONFLICT,
        TenantReadyReason.INVALID_SPEC,
        TenantReadyReason.MISSING_PARAMETERS,
        TenantReadyReason.QUOTA_EXCEEDED,
        TenantReadyReason.VALIDATION_FAILED,
    }
)
"""Reasons that refuse a change of a tenant which the provider has just observed."""


def _astray(tenants: Iterable[Looked]) -> Sequence[str]:
    """The domains that CloudFront serves, but to which DNS leads no visitors."""
    return [
        domain
        for each in tenants
        if each.seen is not None
        for domain in each.wanted.domains
        if domain in each.seen.unreached
    ]


def _trouble(tenant: Looked) -> tuple[DegradedReason, str] | None:
    if tenant.finding.failed:
        return DegradedReason.TENANT_FAILED, tenant.finding.message
    if tenant.seen is None:
        return None
    if tenant.finding.satisfied and tenant.seen.synced.denied:
        return DegradedReason.TENANT_FAILED, failed_update(tenant.seen)
    in_sync = tenant.seen.condition(TenantConditionType.IN_SYNC)
    if in_sync.reason == InSyncReason.DRIFT_DETECTED:
        return DegradedReason.DRIFTED, in_sync.message or "The tenant was changed in AWS."
    if in_sync.reason == InSyncReason.UPDATE_INEFFECTIVE:
        return DegradedReason.TENANT_FAILED, f"An update has no effect. {in_sync.message}".strip()
    return None


def _ending(tenants: Iterable[Looked]) -> str:
    """What blocks the renewal of a certificate that still serves; empty if nothing does."""
    for each in tenants:
        if each.seen and each.seen.certificate == CertificateReason.RENEWAL_BLOCKED:
            told = of_certificate(each.seen)
            return f"{_domains([each])}: {told}" if each.wanted.domains else told
    return ""


def _suspended(
    tenants: Sequence[ObservedTenant | None],
    left: Left,
    live: Finding,
    degraded: Told,
    teller: ClaimConditionType = ClaimConditionType.LIVE,
    *,
    suspended: bool,
) -> Told:
    """The condition Suspended. It reports the state in AWS, so that it shows whether a site has really
    stopped."""
    if not suspended:
        message = "The claim is not suspended."
        return Told(ClaimConditionType.SUSPENDED, False, SuspendedReason.ACTIVE, message)
    serving = sorted(each.name for each in tenants if each is not None and each.enabled)
    if serving:
        message = (
            "spec.suspended is true, but these tenants are not disabled yet: "
            f"{_names(serving)}. {teller} says why."
        )
        return Told(ClaimConditionType.SUSPENDED, False, SuspendedReason.ACTIVE, message)
    if left.serving is not None:
        told = left.serving.message in live.message
        message = (
            "A former tenant of the claim still serves. Live says why." if told else left.serving.message
        )
        return Told(ClaimConditionType.SUSPENDED, False, SuspendedReason.ACTIVE, message)
    unknown = _out_of_sight(tenants, live, degraded) or left.unknown
    if unknown:
        return Told(ClaimConditionType.SUSPENDED, None, SuspendedReason.ACTIVE, unknown)
    message = "The tenants are disabled and kept, as requested. To serve again, set spec.suspended to false."
    if not tenants or not all(map(_is_there, tenants)):
        message = f"Nothing is served, as requested. A tenant does not exist in AWS; {teller} says why."
    return Told(ClaimConditionType.SUSPENDED, True, SuspendedReason.MANUALLY_SUSPENDED, message)


def _out_of_sight(tenants: Iterable[ObservedTenant | None], live: Finding, degraded: Told) -> str:
    """Why it is unknown whether AWS has the tenants disabled; empty if it is known."""
    seen = next((each for each in tenants if each is not None and _is_there(each) and unseen(each)), None)
    if seen is None:
        return ""
    tellers = ((ClaimConditionType.LIVE, live.message), (ClaimConditionType.DEGRADED, degraded.message))
    told = next((f"{teller} says why." for teller, message in tellers if tells(message, seen)), "")
    return (
        "The tenants were disabled when the provider last observed them. It does not observe "
        f"DistributionTenant {seen.name} at present. {told or failed_update(seen)}"
    )


def _is_there(seen: ObservedTenant | None) -> bool:
    """Whether it is in AWS, according to the provider. A tenant that is gone keeps its id in the status."""
    if seen is None or not seen.exists or seen.ready.reason == TenantReadyReason.RECREATION_HELD:
        return False
    return seen.condition(TenantConditionType.DEPLOYED).reason != DeployedReason.CREATING


def _blocked(tenants: Iterable[Looked], waiting: Sequence[Move]) -> Told:
    if waiting:
        message = " ".join(move.message for move in waiting)
        return Told(ClaimConditionType.BLOCKED, True, BlockedReason.AWAITING_APPROVAL, message)
    if any(each.frozen for each in tenants):
        message = "A change waits because writes to AWS are frozen. The platform team can unfreeze them."
        return Told(ClaimConditionType.BLOCKED, True, BlockedReason.WRITES_FROZEN, message)
    return Told(ClaimConditionType.BLOCKED, False, BlockedReason.UNBLOCKED, "Nothing is blocked.")


def _is_frozen(seen: ObservedTenant) -> bool:
    in_sync = seen.condition(TenantConditionType.IN_SYNC)
    return in_sync.reason == InSyncReason.FROZEN or seen.ready.reason == TenantReadyReason.FROZEN


def _blocked_by(refusal: Refused, teller: ClaimConditionType) -> Told:
    if refusal.denied:
        message = f"The plan does not allow something that the claim asks for. {teller} names it."
        return Told(ClaimConditionType.BLOCKED, True, BlockedReason.POLICY_DENIED, message)
    if refusal.reason is LiveReason.BLOCKED:
        message = f"A source of plans is missing. {teller} names it."
        return Told(ClaimConditionType.BLOCKED, True, BlockedReason.MISSING_DEPENDENCIES, message)
    return _blocked((), ())


def _domains(tenants: Iterable[Looked]) -> str:
    return _names([domain for each in tenants for domain in each.wanted.domains])


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


_SHOWN = 5
"""Domains that a message names; a claim can have hundreds."""
