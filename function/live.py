"""The claim's condition Live: whether every domain is served, and if not, what somebody must do next.

Derived from what was observed in this call and from nothing else, by a chain of checks; the first that finds
something speaks for the tenant, and of several tenants the one that needs somebody most speaks for the claim.

    the managed resource says                          Live
    (it does not exist, or nothing yet)                False Creating
    Ready True                                         True  Live, or Served where DNS leads past it
    Ready False Disabled, and the claim is suspended   False Suspended    (and the tenant counts as ready)
    Ready False, for a reason that clears by itself    False Creating, Deploying, Deleting
    Ready False, for want of DNS or a certificate      False WaitingForDNS, IssuingCertificate
    Ready False, for any other reason                  False and that reason
    Ready False or nothing, and Synced False           False Failed

A Ready that was told of an earlier spec is believed only as far as it still holds for this one.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apis.conditions import DNS_UNSEEN, LiveReason, TenantConditionType, TenantReadyReason
from apis.dns import RecordState
from apis.tenantclaim import Phase
from edgetenants_runtime.api.annotations import PAUSED
from edgetenants_runtime.api.conditions import ReadyReason, SyncedReason
from function.compose import WantedTenant
from function.errors import Refused
from function.observed import ObservedCondition, ObservedTenant
from function.plans import ChosenPlan

Reason = LiveReason | TenantReadyReason


@dataclass(frozen=True)
class Finding:
    """What is found of a tenant, or of the claim."""

    reason: Reason
    message: str
    """The finding, its cause in AWS's words, and what to do next."""
    unreached: tuple[str, ...] = ()
    """The domains that are served, and to which DNS leads nobody."""
    dns: str = ""
    """What else the provider says of the records; part of the message."""

    @property
    def live(self) -> bool:
        """Every domain is served."""
        return self.reason in (LiveReason.LIVE, LiveReason.SERVED)

    @property
    def satisfied(self) -> bool:
        """The tenant is as the claim asks: it serves, or is disabled as asked."""
        return self.live or self.reason is LiveReason.SUSPENDED

    @property
    def failed(self) -> bool:
        """Somebody must act, who is not only waited for."""
        return phase(self.reason) is Phase.FAILED


PHASES: Final[Mapping[Reason, Phase]] = {
    LiveReason.LIVE: Phase.LIVE,
    LiveReason.SERVED: Phase.WAITING_FOR_DNS,
    LiveReason.SUSPENDED: Phase.SUSPENDED,
    LiveReason.DEPLOYING: Phase.DEPLOYING,
    LiveReason.CREATING: Phase.PENDING,
    LiveReason.DELETING: Phase.PENDING,
    LiveReason.ISSUING_CERTIFICATE: Phase.ISSUING,
    LiveReason.WAITING_FOR_DNS: Phase.WAITING_FOR_DNS,
}
"""Reasons that are no failure, in the order in which they give way: the last that is found among several
tenants speaks for the claim, unless one has failed."""


def phase(reason: Reason) -> Phase:
    """The state in one word."""
    return PHASES.get(reason, Phase.FAILED)


@dataclass(frozen=True)
class View:
    """One tenant, as wanted and as observed."""

    wanted: WantedTenant
    seen: ObservedTenant
    plan: ChosenPlan

    def current(self, condition: ObservedCondition) -> bool:
        """What the provider says there, it says of what is wanted now."""
        asked = self.seen.asked
        return (
            self.seen.told(condition)
            and asked.domains >= set(self.wanted.listed)
            and asked.enabled == self.wanted.enabled
            and asked.distribution_id == self.wanted.distribution_id
        )

    @property
    def active(self) -> bool:
        """CloudFront answers for every domain that is wanted."""
        return self.seen.active >= set(self.wanted.listed)


def judge(wanted: WantedTenant, seen: ObservedTenant | None, plan: ChosenPlan) -> Finding:
    """What is found of one tenant."""
    if seen is None or unlooked(seen):
        return _UNLOOKED
    view = View(wanted, seen, plan)
    found = next((found for check in CHECKS if (found := check(view))), _CREATING)
    return _with_dns(found, seen)


def unlooked(seen: ObservedTenant) -> bool:
    """The provider has told nothing of it yet."""
    return not (seen.conditions or seen.deleted)


def answers(seen: ObservedTenant) -> bool:
    """CloudFront may serve its active domains. A status tells of the last look, also at what is gone by now
    or not rolled out yet."""
    return seen.enabled is not False and not (seen.ready.denied and seen.ready.reason in _NOT_SERVING)


def summary(findings: Sequence[tuple[WantedTenant, Finding]]) -> Finding:
    """What is found of the claim."""
    wanted, worst = max(findings, key=lambda item: _urgency(item[1].reason))
    if len(findings) == 1:
        return worst
    if worst.live:
        unreached = tuple(domain for _, each in findings for domain in each.unreached)
        dns = next((each.dns for _, each in findings if each.dns), "")
        return _saying(_past(unreached), dns) if unreached else _saying(worst, dns)
    if all(each is _UNLOOKED for _, each in findings if not each.satisfied):
        return worst
    if worst.reason in _TELLING_NOBODY:
        # Which of many tenants it is changes all the time, and nobody needs to know.
        return Finding(worst.reason, " ".join(_TO_DO[worst.reason]))
    if not wanted.domains:
        return worst
    return Finding(worst.reason, f"{_few(wanted.domains)}: {worst.message}")


def without_group(found: Finding, group: ObservedTenant) -> Finding:
    """What is found of a tenant that waits for the claim's own connection group: why there is none, where the
    provider was refused it."""
    if found.reason is not LiveReason.CREATING or not group.synced.denied:
        return found
    if group.exists or group.synced.reason == SyncedReason.RECONCILE_PAUSED:
        return found
    reason = _own_reason(group.ready.reason) if group.ready.denied else LiveReason.FAILED
    if phase(reason) is not Phase.FAILED:
        return found
    return Finding(reason, f"ConnectionGroup {group.name}: {words(group.synced.message)}")


def after_own(found: Finding, wanted: WantedTenant, leaving: frozenset[str]) -> Finding:
    """What is found of a tenant whose domains a tenant of the same claim has, which is being deleted."""
    waits = found.reason is TenantReadyReason.DOMAIN_CONFLICT and leaving.intersection(wanted.domains)
    return _AFTER_OWN if waits else found


def held_up(domains: Sequence[str]) -> Finding:
    """What is found of a claim that is served but for these domains, which wait for a step."""
    named = _few(domains)
    return Finding(LiveReason.BLOCKED, f"{named}: not served before a step is confirmed. Blocked says which.")


def switching(found: Finding, dark: Sequence[str], *, waits: bool) -> Finding:
    """What is found of a claim whose domains move from tenant to tenant.

    Args:
        found: what is found of its tenants.
        dark: the domains for which none of them answers.
        waits: a step waits for somebody's word.
    """
    if not dark:
        served = found if found.live else _SERVED
        on_the_way = "The change of spec.isolation waits." if waits else _MOVING
        return replace(served, message=f"{served.message} {on_the_way}")
    if found.satisfied:
        return Finding(LiveReason.DEPLOYING, f"{_few(dark)}: on the way to another tenant. {_NOTHING}")
    return found


def refused(refusal: Refused, asked: Sequence[str], tenants: Iterable[ObservedTenant]) -> Finding:
    """What is found of a claim of which nothing is composed: what serves goes on serving.

    Args:
        refusal: why nothing is.
        asked: the claim's domains; none where they cannot be read.
        tenants: those of its tenants that are there.
    """
    serving = [
        each for each in tenants if each.enabled is not False and each.ready.holds and not each.deleted
    ]
    active = {domain for each in serving for domain in each.active}
    if not asked or not active.issuperset(asked):
        return Finding(refusal.reason, refusal.message)
    unreached = {domain for each in serving for domain in each.unreached}
    astray = tuple(domain for domain in asked if domain in unreached)
    return _past(astray) if astray else _SERVED


def _few(domains: Sequence[str]) -> str:
    return ", ".join(domains[:_SHOWN]) + (" and others" if len(domains) > _SHOWN else "")


_MOVING: Final = "The domains move to the tenants of the new isolation."
_SHOWN: Final = 5
"""Domains that are named; a claim can have hundreds."""


_URGENCY: Final = {reason: place for place, reason in enumerate(PHASES)}


def _urgency(reason: Reason) -> int:
    return _URGENCY.get(reason, len(_URGENCY))


# The checks, in the order of what must be so first.


def _deleting(view: View) -> Finding | None:
    if not view.seen.deleted:
        return None
    ready, synced, name = view.seen.ready, view.seen.synced, f"DistributionTenant {view.seen.name}"
    if paused(view.seen):
        return Finding(LiveReason.FAILED, _unpause(view.seen))
    if ready.reason == TenantReadyReason.DELETION_HELD:
        return Finding(TenantReadyReason.DELETION_HELD, f"{name}: {_said(view.seen, ready)}")
    if synced.denied:
        return Finding(LiveReason.FAILED, f"{name} is being deleted: {_said(view.seen, synced)}")
    return Finding(LiveReason.DELETING, "The tenant is being deleted. Nobody needs to act.")


def _served(view: View) -> Finding | None:
    ready = view.seen.ready
    if not (view.wanted.enabled and ready.holds and (view.current(ready) or view.active)):
        return None
    unreached = tuple(domain for domain in view.wanted.domains if domain in view.seen.unreached)
    if unreached:
        return _past(unreached, view.seen.routing_endpoint)
    there = _leading_there(view.seen)
    return replace(_SERVED, message=_SERVED.message + there) if there else _SERVED


def _past(unreached: tuple[str, ...], endpoint: str = "") -> Finding:
    """What is found of domains that are served, and past some of which DNS leads."""
    message = (
        f"CloudFront serves every domain. DNS does not lead visitors of {_few(unreached)} to "
        f"{endpoint or 'CloudFront'}: make the records of {_RECORDS} whose state is Missing or Wrong. The "
        "provider looks again within an hour."
    )
    return Finding(LiveReason.SERVED, message, unreached)


def _with_dns(found: Finding, seen: ObservedTenant) -> Finding:
    """With what the provider says of the records, where they matter to what is found."""
    told = seen.condition(TenantConditionType.DNS_READY)
    return _saying(found, _said(seen, told)) if told.message and found.reason in _BY_RECORDS else found


def _saying(found: Finding, dns: str) -> Finding:
    if not dns or found.dns:
        return found
    return replace(found, message=f"{found.message} {dns}", dns=dns)


def says_unseen(message: str) -> bool:
    """What Live said is that nobody may look at records that were never seen in place."""
    return DNS_UNSEEN in message and _ONCE_IT_LEADS in message


_ONCE_IT_LEADS: Final = "Visitors get there once DNS leads to"


def _leading_there(seen: ObservedTenant) -> str:
    if all(each.get("state") == RecordState.PRESENT for each in seen.instructions):
        return ""
    return (
        f" {_ONCE_IT_LEADS} {seen.routing_endpoint or 'CloudFront'}: make the records of "
        f"{_RECORDS} that are not made yet."
    )


def _suspended(view: View) -> Finding | None:
    ready = view.seen.ready
    if view.wanted.enabled or ready.reason != TenantReadyReason.DISABLED or not view.current(ready):
        return None
    message = "The tenant is disabled and kept, as asked. Set spec.suspended to false to have it served."
    return Finding(LiveReason.SUSPENDED, message)


def _failing(view: View) -> Finding | None:
    """The provider cannot get on: its last reconcile failed or is paused, and Ready knows no better."""
    synced, ready, name = view.seen.synced, view.seen.ready, f"DistributionTenant {view.seen.name}"
    # A pause holds up whatever is asked for, also what it was not told of.
    if paused(view.seen):
        return Finding(LiveReason.FAILED, _unpause(view.seen))
    explained = ready.denied and view.current(ready) and ready.reason not in _GOING_ON
    if not synced.denied or not view.current(synced) or explained:
        return None
    return Finding(LiveReason.FAILED, f"{name}: {_said(view.seen, synced)}")


def paused(seen: ObservedTenant) -> bool:
    """Somebody has the provider leave it alone."""
    return seen.synced.denied and seen.synced.reason == SyncedReason.RECONCILE_PAUSED


def _unpause(seen: ObservedTenant) -> str:
    told = seen.synced.message or f"Reconciliation is paused via the annotation {PAUSED}."
    how = "" if _RESUME in told else f" {_RESUME} reconciliation."
    return f"DistributionTenant {seen.name}: {told}{how}"


def failing(seen: ObservedTenant) -> str:
    """What is said of a tenant that serves, and of which a change does not get through."""
    if paused(seen):
        return _unpause(seen)
    return _said(seen, seen.synced) if seen.synced.message else "A change of the tenant fails."


def _changing(view: View) -> Finding | None:
    """Ready speaks of what was wanted before."""
    ready = view.seen.ready
    if not ready.holds and (not ready.denied or view.current(ready)):
        return None
    if ready.holds and view.current(ready) and not view.wanted.enabled:
        return Finding(LiveReason.DEPLOYING, _STILL_ENABLED)
    change = "change" if view.wanted.enabled else "suspension"
    return Finding(LiveReason.DEPLOYING, f"The {change} is on its way to CloudFront. Nobody needs to act.")


_STILL_ENABLED: Final = (
    "The tenant is still enabled in AWS. If that stays for more than a minute, the drift policy of the plan "
    "leaves it so: disable the tenant in AWS, or have the platform team set driftPolicy to Enforce."
)


def _parent_missing(view: View) -> Finding | None:
    ready, path = view.seen.ready, view.plan.path("distributionId")
    if ready.reason != TenantReadyReason.PARENT_NOT_FOUND:
        return None
    expected = "expected the id of a multi-tenant distribution that exists"
    said = f"DistributionTenant {view.seen.name} says: {words(ready.message)}"
    message = f"{path}: {expected}, got {view.wanted.distribution_id}. {said}"
    return Finding(TenantReadyReason.PARENT_NOT_FOUND, message)


def _not_ready(view: View) -> Finding | None:
    ready = view.seen.ready
    if not ready.denied:
        return None
    reason = _GOING_ON.get(ready.reason) or _WAITING.get(ready.reason) or _own_reason(ready.reason)
    found, action = _TO_DO.get(reason, ("No more is known. The provider's log may have more.", ""))
    told = _said(view.seen, ready) if ready.message.strip() else found
    if _ACT in told or (_RECORDS in told and _RECORDS in action):
        # The provider has said it, and knows better what for.
        return Finding(reason, told)
    stop = "" if told[-1] in ".!?" else "."
    return Finding(reason, f"{told}{stop} {action}".strip())


def _own_reason(reason: str) -> Reason:
    """The tenant's own reason, so that the claim's column says what is wrong; Failed where it has none that
    is documented."""
    return TenantReadyReason(reason) if reason in set(TenantReadyReason) else LiveReason.FAILED


def words(message: str) -> str:
    """What a condition says, for a sentence of one's own."""
    return message.strip() or "No more is known."


def _said(seen: ObservedTenant, condition: ObservedCondition) -> str:
    """The same for somebody who reads it on the claim, where these annotations do nothing and this status is
    not."""
    of = f"of DistributionTenant {seen.name}"
    said = _ANNOTATION.sub(rf"\1 {of}", words(condition.message))
    return _AT_PROVIDER.sub(rf"\g<0> {of}", said)


_AT_PROVIDER: Final = re.compile(r"\bstatus\.atProvider[.\w]*\w")
_ANNOTATION: Final = re.compile(
    r"(the annotation (?:edgetenants\.io/(?:take-domains-from|confirm)|"
    r"crossplane\.io/reconcile-requested-at))(?: of this resource)?(?= (?:to|is) )"
)


CHECKS: Final[tuple[Callable[[View], Finding | None], ...]] = (
    _deleting,
    _served,
    _suspended,
    _failing,
    _changing,
    _parent_missing,
    _not_ready,
)

_SERVED: Final = Finding(LiveReason.LIVE, "Every domain is served.")
_CREATING: Final = Finding(LiveReason.CREATING, "The tenant is being created. Nobody needs to act.")
_AFTER_OWN: Final = Finding(
    LiveReason.CREATING,
    "The claim's former tenant is being deleted, and this one gets its domains then. Nobody needs to act.",
)
UNLESS_IT_STAYS: Final = (
    "Nobody needs to act, unless this stays for more than a minute: then the provider does not run, or lacks "
    "a permission. Its /readyz and its log say which."
)
_UNLOOKED: Final = Finding(
    LiveReason.CREATING, f"The tenant waits for the provider to look at it. {UNLESS_IT_STAYS}"
)

_GOING_ON: Final[Mapping[str, Reason]] = {
    ReadyReason.CREATING: LiveReason.CREATING,
    ReadyReason.UNKNOWN: LiveReason.CREATING,
    ReadyReason.DELETING: LiveReason.DELETING,
    TenantReadyReason.DEPLOYING: LiveReason.DEPLOYING,
    TenantReadyReason.DISABLING: LiveReason.DEPLOYING,
}
"""Reasons of Ready that clear by themselves."""

_WAITING: Final[Mapping[str, Reason]] = {
    TenantReadyReason.DOMAIN_VALIDATION_PENDING: LiveReason.WAITING_FOR_DNS,
    TenantReadyReason.CERTIFICATE_PENDING: LiveReason.ISSUING_CERTIFICATE,
}
"""Reasons of Ready that clear once the domain's owner has done something."""

_NOT_SERVING: Final = frozenset(
    {
        TenantReadyReason.DEPLOYING,
        TenantReadyReason.DISABLED,
        TenantReadyReason.CONNECTION_GROUP_DISABLED,
        TenantReadyReason.PARENT_NOT_FOUND,
        TenantReadyReason.RECREATION_HELD,
    }
)
"""Reasons of Ready for which CloudFront serves none of a tenant's domains, whatever is said of each."""

_BY_RECORDS: Final = frozenset(
    {LiveReason.LIVE, LiveReason.SERVED, LiveReason.WAITING_FOR_DNS, LiveReason.ISSUING_CERTIFICATE}
)
"""Reasons for which it matters whether the records of DNS are in place."""

_TELLING_NOBODY: Final = frozenset({LiveReason.CREATING, LiveReason.DELETING, LiveReason.DEPLOYING})

_ACT: Final = "Nobody needs to act"
_NOTHING: Final = f"{_ACT}."
_RESUME: Final = "Remove it to resume"
"""Starts the last sentence of the provider's message about a pause."""
_RECORDS: Final = "status.dnsInstructions"
_TO_DO: Final[Mapping[Reason, tuple[str, str]]] = {
    LiveReason.CREATING: ("The tenant is being created.", _NOTHING),
    LiveReason.DELETING: ("The tenant is being deleted.", _NOTHING),
    LiveReason.DEPLOYING: ("CloudFront is rolling the tenant out.", _NOTHING),
    LiveReason.WAITING_FOR_DNS: ("DNS records are missing.", f"Make the records of {_RECORDS}."),
    LiveReason.ISSUING_CERTIFICATE: (
        "The certificate is being issued.",
        f"Make the records of {_RECORDS}, where there are any.",
    ),
    TenantReadyReason.CONNECTION_GROUP_DISABLED: (
        "Its connection group is disabled in AWS. Enable it, by its ConnectionGroup or in AWS.",
        # Which one it is, and how, the provider says.
        "",
    ),
}
"""What is found, where the provider has no words for it, and what to do next."""
