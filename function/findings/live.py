"""The claim's condition Live: whether every domain is served, and if not, the next action.

It is derived only from what this call observed. A chain of checks runs for each tenant; the first check that
finds something determines the tenant's finding. The most urgent finding among the tenants becomes the
claim's.

    the managed resource's conditions                  Live
    (it does not exist, or has none yet)               False Creating
    Ready True                                         True  Live, or Served if DNS does not lead there
    Ready False Disabled, and the claim is suspended   False Suspended    (and the tenant counts as ready)
    Ready False, for a reason that clears on its own   False Creating, Deploying, Deleting
    Ready False, waiting for DNS or a certificate      False WaitingForDNS, IssuingCertificate
    Ready False, for any other reason                  False and that reason
    Ready False or missing, and Synced False           False Failed

A Ready condition of an earlier spec is used only as far as it still holds for the current spec.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apis.conditions import DNS_UNSEEN, LiveReason, TenantConditionType, TenantReadyReason
from apis.dns import RecordManager, RecordState
from apis.tenantclaim import Phase
from edgetenants_runtime.api.annotations import PAUSED
from edgetenants_runtime.api.conditions import ReadyReason, SyncedReason
from function.claims.plans import ChosenPlan
from function.composed.compose import WantedTenant
from function.composed.observed import ObservedCondition, ObservedTenant
from function.errors import Refused

Reason = LiveReason | TenantReadyReason


@dataclass(frozen=True)
class Finding:
    """The state of a tenant or of the claim, as Live reports it."""

    reason: Reason
    message: str
    """The finding, its cause in AWS's words, and the next action."""
    unreached: tuple[str, ...] = ()
    """The domains that CloudFront serves, but to which DNS leads no visitors."""
    dns: str = ""
    """What else the provider reports about the records; part of the message."""

    @property
    def live(self) -> bool:
        """Whether every domain is served."""
        return self.reason in (LiveReason.LIVE, LiveReason.SERVED)

    @property
    def satisfied(self) -> bool:
        """Whether the tenant is in the desired state: it serves, or is disabled as requested."""
        return self.live or self.reason is LiveReason.SUSPENDED

    @property
    def failed(self) -> bool:
        """Whether it failed, so that more is needed than to wait or to create DNS records."""
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
"""Reasons that are not failures, in order of urgency: among several tenants, the last one in this list
becomes the claim's, unless a tenant has failed."""


def phase(reason: Reason) -> Phase:
    """The claim's phase for a reason."""
    return PHASES.get(reason, Phase.FAILED)


@dataclass(frozen=True)
class View:
    """One tenant: its desired and its observed state."""

    wanted: WantedTenant
    seen: ObservedTenant
    plan: ChosenPlan

    def current(self, condition: ObservedCondition) -> bool:
        """Whether the provider set the condition for the current desired state."""
        asked = self.seen.asked
        return (
            self.seen.told(condition)
            and asked.domains >= set(self.wanted.listed)
            and asked.enabled == self.wanted.enabled
            and asked.distribution_id == self.wanted.distribution_id
        )

    @property
    def active(self) -> bool:
        """Whether CloudFront serves every desired domain."""
        return self.seen.active >= set(self.wanted.listed)


def finding_of(wanted: WantedTenant, seen: ObservedTenant | None, plan: ChosenPlan) -> Finding:
    """The finding of one tenant."""
    if seen is None or unlooked(seen):
        return _UNLOOKED
    view = View(wanted, seen, plan)
    found = next((found for check in CHECKS if (found := check(view))), _CREATING)
    return _with_dns(found, seen)


def unlooked(seen: ObservedTenant) -> bool:
    """Whether the provider has not reported anything about it yet."""
    return not (seen.conditions or seen.deleted)


def answers(seen: ObservedTenant) -> bool:
    """Whether CloudFront may serve its active domains. The status is from the last observation; the tenant
    may be gone by now, or not rolled out yet."""
    return seen.enabled is not False and not (seen.ready.denied and seen.ready.reason in _NOT_SERVING)


def summary(findings: Sequence[tuple[WantedTenant, Finding]]) -> Finding:
    """The finding of the claim."""
    if len(findings) == 1:
        return findings[0][1]
    wanted, worst = max(findings, key=lambda item: _rank(item[1]))
    if worst.live:
        unreached = tuple(domain for _, each in findings for domain in each.unreached)
        dns = next((each.dns for _, each in findings if each.dns), "")
        return _saying(_past(unreached), dns) if unreached else _saying(worst, dns)
    if all(each is _UNLOOKED for _, each in findings if not each.satisfied):
        return worst
    if worst.reason in _TELLING_NOBODY:
        # Which of many tenants it is changes all the time, and no one needs to know.
        return Finding(worst.reason, " ".join(_TO_DO[worst.reason]))
    if not wanted.domains:
        return worst
    causes = [f"{few(wanted.domains)}: {worst.message}", *_further(findings, worst)]
    more = len(causes) - _MOST_CAUSES
    others = [f"{more} more"] if more > 0 else []
    *first, last = *causes[:_MOST_CAUSES], *others
    return Finding(worst.reason, "; also ".join([*(each.rstrip(".") for each in first), last]))


def _further(findings: Iterable[tuple[WantedTenant, Finding]], worst: Finding) -> Iterator[str]:
    """What other tenants have failed with, each cause once."""
    known = {worst.message}
    for wanted, each in findings:
        if each.failed and wanted.domains and each.message not in known:
            known.add(each.message)
            yield f"{few(wanted.domains)}: {each.message}"


def _rank(found: Finding) -> tuple[int, bool, bool]:
    return (_urgency(found.reason), found == _LAST_DISABLED, says_unseen(found.message))


def without_group(found: Finding, group: ObservedTenant) -> Finding:
    """The finding of a tenant that waits for the claim's own connection group. If the group cannot be
    created, the finding says why."""
    return (of_group(group) if found.reason is LiveReason.CREATING else None) or found


def of_group(group: ObservedTenant) -> Finding | None:
    """Why the claim's own connection group cannot be created; None if it can or exists."""
    if group.exists:
        return None
    if group.ready.denied and group.ready.reason in _HOLDING:
        # It waits without an error: Synced is True.
        return Finding(_own_reason(group.ready.reason), f"{_of(group)}: {words(group.ready.message)}")
    if paused(group):
        return Finding(LiveReason.FAILED, _unpause(group, "ConnectionGroup"))
    if not group.synced.denied:
        return None
    reason = _own_reason(group.ready.reason) if group.ready.denied else LiveReason.FAILED
    return (
        Finding(reason, f"{_of(group)}: {words(group.synced.message)}")
        if phase(reason) is Phase.FAILED
        else None
    )


def _of(group: ObservedTenant) -> str:
    return f"ConnectionGroup {group.name}"


def held_up(domains: Sequence[str]) -> Finding:
    """The finding of a claim that is served except for these domains, which wait for a step."""
    named = few(domains)
    return Finding(LiveReason.BLOCKED, f"{named}: not served until a step is confirmed. Blocked says which.")


def while_served(
    found: Finding,
    domains: Sequence[str],
    tenants: Sequence[ObservedTenant],
    *,
    reached: bool,
    astray: bool,
) -> Finding:
    """The finding of domains that are all served, also while they move between tenants. A tenant that has
    just got a domain does not know its DNS records yet, so they count as they did before.

    Args:
        found: the finding of the tenants.
        domains: those of the claim.
        tenants: those that exist.
        reached: whether DNS led visitors to every domain before.
        astray: whether it was known before that DNS did not.
    """
    if found.live and (not astray or found.unreached):
        return found
    unreached = tuple(each for each in domains if any(each in tenant.unreached for tenant in tenants))
    if unreached:
        return _past(unreached)
    if reached or all(any(tenant.leads(each) for tenant in tenants) for each in domains):
        return _SERVED
    return _ASTRAY_BEFORE if astray else _UNCHECKED_YET


def switching(found: Finding, dark: Sequence[str], served: Finding, *, waits: bool) -> Finding:
    """The finding of a claim whose domains move between tenants.

    Args:
        found: the finding of its tenants.
        dark: the domains that none of them serves.
        served: the finding if all domains are served.
        waits: whether a step waits for confirmation.
    """
    if not dark:
        on_the_way = "The change of spec.isolation waits." if waits else _MOVING
        return replace(served, message=f"{served.message} {on_the_way}")
    if found.satisfied:
        return Finding(LiveReason.DEPLOYING, f"{few(dark)}: moving to another tenant. {_NOTHING}")
    return found


def refused(refusal: Refused, asked: Sequence[str], tenants: Iterable[ObservedTenant]) -> Finding:
    """The finding of a claim that the function refuses. Tenants that serve continue to do so.

    Args:
        refusal: why the function refuses the claim.
        asked: the claim's domains; empty if they cannot be read.
        tenants: those of its tenants that exist.
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


def few(domains: Sequence[str]) -> str:
    """The first of these domains, for a message."""
    return ", ".join(domains[:SHOWN]) + (" and others" if len(domains) > SHOWN else "")


_MOVING: Final = "The domains are moving to the tenants of the new isolation."
_MOST_CAUSES: Final = 3
"""Failures that a message names."""
SHOWN: Final = 5
"""Domains that a message names; a claim can have hundreds."""


_URGENCY: Final = {reason: place for place, reason in enumerate(PHASES)}


def _urgency(reason: Reason) -> int:
    return _URGENCY.get(reason, len(_URGENCY))


# The checks, in order: a later one assumes that the earlier ones found nothing.


def _deleting(view: View) -> Finding | None:
    """The tenant that the claim wants is being deleted. A deletion cannot be taken back; Crossplane creates
    the resource once more afterwards."""
    if not view.seen.deleted:
        return None
    return deletion(view.seen)


def deletion(seen: ObservedTenant) -> Finding:
    """The finding of a tenant that is being deleted: what holds the deletion, if anything does."""
    ready, synced, name = seen.ready, seen.synced, f"DistributionTenant {seen.name}"
    if paused(seen):
        return Finding(LiveReason.FAILED, _unpause(seen))
    if ready.reason in _HOLDING:
        # The claim may have another plan by now, which is not what protects the tenant.
        why = _said(seen, ready).replace("spec.deletionProtection is on", "its deletionProtection is on")
        return Finding(TenantReadyReason(ready.reason), f"{name}: {why}")
    # The provider waits for other controllers' finalizers without an error: Synced is True and names them.
    waits = synced.holds and synced.message and not _ACT.search(synced.message)
    if synced.denied or waits:
        return Finding(LiveReason.FAILED, f"{name} is being deleted: {_said(seen, synced)}")
    return Finding(LiveReason.DELETING, f"The tenant is being deleted. {_NOTHING}")


def _served(view: View) -> Finding | None:
    ready = view.seen.ready
    if not (view.wanted.enabled and ready.holds and (view.current(ready) or view.active)):
        return None
    unreached = tuple(domain for domain in view.wanted.domains if domain in view.seen.unreached)
    if unreached:
        return _past(unreached, view.seen.routing_endpoint, managed=_managed(view.seen))
    there = _leading_there(view.seen)
    return replace(_SERVED, message=_SERVED.message + there) if there else _SERVED


def _past(unreached: tuple[str, ...], endpoint: str = "", *, managed: bool = False) -> Finding:
    """The finding of domains that are all served, but to some of which DNS leads no visitors. `managed`: the
    provider makes their records."""
    to_do = (
        "The provider makes their records."
        if managed
        else f"Create the records of {_RECORDS} whose state is Missing or Wrong. The provider checks again "
        "within an hour."
    )
    message = (
        f"CloudFront serves every domain, but DNS does not lead visitors of {few(unreached)} to "
        f"{endpoint or 'CloudFront'}. {to_do}"
    )
    return Finding(LiveReason.SERVED, message, unreached)


def _managed(seen: ObservedTenant) -> bool:
    """Whether the provider makes all records that are not in place."""
    left = [each for each in seen.leading if each.get("state") != RecordState.PRESENT]
    return bool(left) and all(each.get("managedBy") == RecordManager.PROVIDER for each in left)


def _with_dns(found: Finding, seen: ObservedTenant) -> Finding:
    """The finding, with what the provider reports about the records if they matter to it."""
    told = seen.condition(TenantConditionType.DNS_READY)
    return _saying(found, _said(seen, told)) if told.message and found.reason in _BY_RECORDS else found


def _saying(found: Finding, dns: str) -> Finding:
    if not dns or found.dns:
        return found
    return replace(found, message=f"{found.message} {dns}", dns=dns)


def says_unseen(message: str) -> bool:
    """Whether Live said that the provider has not checked the records yet, or may not check them, and has
    never seen them in place."""
    return _ONCE_IT_LEADS in message and (DNS_UNSEEN in message or _UNCHECKED in message)


_ONCE_IT_LEADS: Final = "Visitors get there once DNS leads to"
_UNCHECKED: Final = "The provider has not checked them yet."


def _leading_there(seen: ObservedTenant) -> str:
    states = {each.get("state") for each in seen.leading}
    if states <= {RecordState.PRESENT}:
        return ""
    if _managed(seen):
        return f" {_ONCE_IT_LEADS} {seen.routing_endpoint or 'CloudFront'}: the provider makes the records."
    unchecked = f" {_UNCHECKED}" if states == {RecordState.UNKNOWN} else ""
    return (
        f" {_ONCE_IT_LEADS} {seen.routing_endpoint or 'CloudFront'}: create the records of "
        f"{_RECORDS} that do not exist yet.{unchecked}"
    )


def _suspended(view: View) -> Finding | None:
    ready = view.seen.ready
    if view.wanted.enabled or ready.reason != TenantReadyReason.DISABLED or not view.current(ready):
        return None
    return _LAST_DISABLED if unseen(view.seen) else _DISABLED


def unseen(seen: ObservedTenant) -> bool:
    """Whether the provider does not observe it in AWS at present, so that its status is from an earlier
    look."""
    fails = seen.synced.denied and seen.synced.reason == SyncedReason.RECONCILE_ERROR
    return paused(seen) or (fails and not seen.synced.message.startswith(_AFTER_THE_LOOK))


def tells(message: str, seen: ObservedTenant) -> bool:
    """Whether a condition's message has what the tenant's Ready or Synced says is wrong."""
    wrong = (each for each in (seen.ready, seen.synced) if each.denied and each.message.strip())
    return any(_said(seen, each) in message for each in wrong)


_WITHOUT_REFERENCES: Final = "references cannot be resolved, and the rest of the spec does not wait"
"""How Synced's message begins if only a reference is missing, which an existing tenant does not wait for."""
_AFTER_THE_LOOK: Final = (
    "cannot add managed resource finalizer",
    "cannot determine whether the deletion is held",
    "cannot publish connection details",
    "cannot remove managed resource finalizer",
    "cannot update managed resource",
    "create failed",
    "delete failed",
    _WITHOUT_REFERENCES,
    "update failed",
)
"""How Synced's message begins if the provider has observed the tenant in AWS, and a later step failed."""


def _failing(view: View) -> Finding | None:
    """The last reconcile failed or is paused, and Ready does not explain it."""
    synced, ready, name = view.seen.synced, view.seen.ready, f"DistributionTenant {view.seen.name}"
    # A pause blocks every change, including those after the pause.
    if paused(view.seen):
        return Finding(LiveReason.FAILED, _unpause(view.seen))
    explained = ready.denied and view.current(ready) and ready.reason not in _GOING_ON
    if not synced.denied or not view.current(synced) or explained:
        return None
    if synced.message.startswith(_WITHOUT_REFERENCES):
        return None
    return Finding(LiveReason.FAILED, f"{name}: {_said(view.seen, synced)}")


def paused(seen: ObservedTenant) -> bool:
    """Whether its reconciliation is paused."""
    return seen.synced.denied and seen.synced.reason == SyncedReason.RECONCILE_PAUSED


def _unpause(seen: ObservedTenant, kind: str = "DistributionTenant") -> str:
    told = seen.synced.message or f"Reconciliation is paused via the annotation {PAUSED}."
    action = "" if _REMOVE in told else f" {_REMOVE} it to resume reconciliation."
    return f"{kind} {seen.name}: {told}{action}"


def failed_update(seen: ObservedTenant) -> str:
    """The message for a tenant that serves but whose update fails."""
    if paused(seen):
        return _unpause(seen)
    return _said(seen, seen.synced) if seen.synced.message else "An update of the tenant fails."


def of_certificate(seen: ObservedTenant) -> str:
    """What the provider reports about the tenant's certificate."""
    return _said(seen, seen.condition(TenantConditionType.CERTIFICATE_READY))


def _changing(view: View) -> Finding | None:
    """Ready is for an earlier desired state."""
    ready = view.seen.ready
    if not ready.holds and (not ready.denied or view.current(ready)):
        return None
    if ready.holds and view.current(ready) and not view.wanted.enabled:
        return Finding(LiveReason.DEPLOYING, _STILL_ENABLED)
    change = "change" if view.wanted.enabled else "suspension"
    return Finding(LiveReason.DEPLOYING, f"The {change} is being applied in CloudFront. {_NOTHING}")


_STILL_ENABLED: Final = (
    "The tenant is still enabled in AWS. If this lasts for more than a minute, the plan's driftPolicy keeps "
    "it so: disable the tenant in AWS, or have the platform team set driftPolicy to Enforce."
)


def _parent_missing(view: View) -> Finding | None:
    ready, path = view.seen.ready, view.plan.path("distributionId")
    if ready.reason != TenantReadyReason.PARENT_NOT_FOUND:
        return None
    expected = "expected the id of a multi-tenant distribution that exists"
    said = f"DistributionTenant {view.seen.name} reports: {words(ready.message)}"
    message = f"{path}: {expected}, got {view.wanted.distribution_id}. {said}"
    return Finding(TenantReadyReason.PARENT_NOT_FOUND, message)


def _not_ready(view: View) -> Finding | None:
    ready = view.seen.ready
    if not ready.denied:
        return None
    reason = _GOING_ON.get(ready.reason) or _WAITING.get(ready.reason) or _own_reason(ready.reason)
    found, action = _TO_DO.get(reason, ("The condition has no message. Check the provider's log.", ""))
    told = _said(view.seen, ready) if ready.message.strip() else found
    if _ACT.search(told) or (_RECORDS in told and _RECORDS in action):
        # The provider's message has the action already, and is more specific.
        return Finding(reason, told)
    stop = "" if told[-1] in ".!?" else "."
    return Finding(reason, f"{told}{stop} {action}".strip())


def _own_reason(reason: str) -> Reason:
    """The tenant's own reason, so that the claim's column shows it; Failed if the reason is not
    documented."""
    return TenantReadyReason(reason) if reason in set(TenantReadyReason) else LiveReason.FAILED


def words(message: str) -> str:
    """A condition's message, or a sentence that it has none."""
    return message.strip() or "The condition has no message."


def _said(seen: ObservedTenant, condition: ObservedCondition) -> str:
    """The same for a reader of the claim: it says that annotations and status.atProvider are the tenant's."""
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

_TO_SERVE: Final = "To serve again, set spec.suspended to false."
_DISABLED: Final = Finding(
    LiveReason.SUSPENDED, f"The tenant is disabled and kept, as requested. {_TO_SERVE}"
)
_LAST_DISABLED: Final = Finding(
    LiveReason.SUSPENDED, f"The tenant was disabled when the provider last observed it. {_TO_SERVE}"
)
_RECORDS: Final = "status.dnsInstructions"
_SERVED: Final = Finding(LiveReason.LIVE, "Every domain is served.")
_ASTRAY_BEFORE: Final = Finding(
    LiveReason.SERVED,
    "CloudFront serves every domain, but DNS did not lead all visitors there before. Create the records of "
    f"{_RECORDS} that do not exist yet.",
)
_UNCHECKED_YET: Final = Finding(
    LiveReason.LIVE,
    f"{_SERVED.message} {_ONCE_IT_LEADS} CloudFront: create the records of {_RECORDS} that do not exist yet. "
    f"{_UNCHECKED}",
)
_CREATING: Final = Finding(LiveReason.CREATING, "The tenant is being created. No action is needed.")
UNLESS_IT_STAYS: Final = (
    "No action is needed unless this lasts for more than a minute. In that case the provider is not running "
    "or lacks a permission; its /readyz and its log show which."
)
_UNLOOKED: Final = Finding(
    LiveReason.CREATING, f"The tenant waits for the provider to reconcile it. {UNLESS_IT_STAYS}"
)

_GOING_ON: Final[Mapping[str, Reason]] = {
    ReadyReason.CREATING: LiveReason.CREATING,
    ReadyReason.UNKNOWN: LiveReason.CREATING,
    ReadyReason.DELETING: LiveReason.DELETING,
    TenantReadyReason.DEPLOYING: LiveReason.DEPLOYING,
    TenantReadyReason.DISABLING: LiveReason.DEPLOYING,
}
"""Reasons of Ready that clear without action."""

_WAITING: Final[Mapping[str, Reason]] = {
    TenantReadyReason.DOMAIN_VALIDATION_PENDING: LiveReason.WAITING_FOR_DNS,
    TenantReadyReason.CERTIFICATE_PENDING: LiveReason.ISSUING_CERTIFICATE,
}
"""Reasons of Ready that clear once the domain's owner acts."""

_HOLDING: Final = frozenset({TenantReadyReason.DELETION_HELD, TenantReadyReason.FROZEN})
"""Reasons of Ready for which a deletion waits until someone acts."""

_NOT_SERVING: Final = frozenset(
    {
        TenantReadyReason.ADOPTION_REFUSED,
        TenantReadyReason.DEPLOYING,
        TenantReadyReason.DISABLED,
        TenantReadyReason.CONNECTION_GROUP_DISABLED,
        TenantReadyReason.PARENT_NOT_FOUND,
        TenantReadyReason.RECREATION_HELD,
    }
)
"""Reasons of Ready for which CloudFront serves none of a tenant's domains, whatever their status is, or
serves them for another owner."""

_BY_RECORDS: Final = frozenset(
    {LiveReason.LIVE, LiveReason.SERVED, LiveReason.WAITING_FOR_DNS, LiveReason.ISSUING_CERTIFICATE}
)
"""Reasons for which it matters whether the DNS records are in place."""

_TELLING_NOBODY: Final = frozenset({LiveReason.CREATING, LiveReason.DELETING, LiveReason.DEPLOYING})

_ACT: Final = re.compile(r"\b[Nn]o(?:body needs to act| action is needed)")
"""A provider's message that matches says already whether someone must act."""
_NOTHING: Final = "No action is needed."
_REMOVE: Final = "Remove"
"""A provider's message with this word says already how to end a pause."""
_TO_DO: Final[Mapping[Reason, tuple[str, str]]] = {
    LiveReason.CREATING: ("The tenant is being created.", _NOTHING),
    LiveReason.DELETING: ("The tenant is being deleted.", _NOTHING),
    LiveReason.DEPLOYING: ("CloudFront is rolling out the tenant.", _NOTHING),
    LiveReason.WAITING_FOR_DNS: ("DNS records are missing.", f"Create the records of {_RECORDS}."),
    LiveReason.ISSUING_CERTIFICATE: (
        "The certificate is being issued.",
        f"Create the records of {_RECORDS}, if there are any.",
    ),
    TenantReadyReason.CONNECTION_GROUP_DISABLED: (
        "The tenant's connection group is disabled in AWS. Enable it in its ConnectionGroup or in AWS.",
        # The provider's message names the group and the action.
        "",
    ),
}
"""For each reason: the message if the provider's condition has none, and the next action."""
