"""RunFunction: read the request, call the pure modules, write the response."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from apis.conditions import ClaimConditionType, LiveReason, TenantReadyReason
from function import report
from function.answer import conditions, departing, field_names, pacing, response, status
from function.answer.conditions import Looked, Told
from function.changes import moves
from function.claims import claim, plan_sources, plans, terms
from function.claims.claim import Composite
from function.claims.plans import ChosenPlan, Plans
from function.composed import compose, observed, strangers, unlisted
from function.composed.compose import Order, WantedTenant
from function.composed.observed import ObservedTenant
from function.errors import Refused, refuse_claim
from function.findings import former_tenants, live, other_tenants
from function.findings.live import Finding
from function.findings.other_tenants import Left
from function.protocol import structs
from function.protocol.unreadable import Remains

Said = TypeVar("Said", Finding, Told)

_OURS: Final = frozenset({kinds.MANAGED_GROUP, kinds.LEGACY_MANAGED_GROUP})
_UNREAD: Final = Finding(
    LiveReason.BLOCKED, "Crossplane has not read the sources in plansFrom yet. Nothing changes until it has."
)


@dataclass(frozen=True)
class Answer:
    """A response, with a summary for the log."""

    response: fnv1.RunFunctionResponse
    composite: Composite
    reason: str
    """Reason of the condition Live; of the refusal if the response does not set Live."""
    message: str
    refused: bool
    changed: bool
    """Whether the reason of the condition Live has changed."""

    @property
    def settled(self) -> bool:
        """Whether it can be sent again unchanged: it has no events and no connection details."""
        states = (self.response.desired.composite, *self.response.desired.resources.values())
        reports = self.refused or self.changed or self.response.results
        return not reports and not any(each.connection_details for each in states)


def run(req: fnv1.RunFunctionRequest) -> Answer:
    """Answer one request. Equal requests get equal responses, byte for byte."""
    composite = claim.identify(req.observed.composite.resource)
    if report.is_asked(req):
        return _report(req, composite)
    rsp = response.begin(req, plans.DEFAULT_TTL)
    seen = observe(req)
    lost: dict[str, Struct] = {}
    try:
        # Before anything can refuse the claim, because Crossplane reads nothing after a FATAL result.
        former_tenants.require(req, rsp, composite, seen.values())
        asked = plans.read(req.input)
        response.set_ttl(rsp, asked.ttl)
        plan_sources.require(req, rsp, asked)
        offered = plan_sources.gather(req, asked)
        if offered is None:
            return _await(req, rsp, composite, _UNREAD)
        asks = order(req, composite, offered, seen)
        if lost := unlisted.find(req, rsp, asks, seen):
            req = _listed(req, lost)
            seen = observe(req)
            asks = order(req, composite, offered, seen)
        composed = _compose(req, rsp, asks, seen)
    except Refused as refusal:
        return _refuse(req, rsp, composite, refusal)
    for name, resource in lost.items():
        if name not in rsp.desired.resources:
            # Listed once more, it can be deleted.
            response.keep(rsp.desired, name, resource, ready=True)
        # Crossplane does not know the object's name.
        unlisted.pin(rsp.desired.resources[name].resource.get_or_create_struct("metadata"), resource)
    longest = _UNDER_WAY_TTL if composite.unheard else composed.ttl
    response.set_ttl(rsp, min(asked.ttl, composed.ttl, longest))
    finding = composed.finding
    answer = _answer(rsp, composite, finding.reason, finding.message, refused=False)
    if answer.changed:
        _warn_of_broken(rsp, offered)
    return answer


def _listed(req: fnv1.RunFunctionRequest, lost: Mapping[str, Struct]) -> fnv1.RunFunctionRequest:
    """The request, as if Crossplane had observed these resources."""
    whole = fnv1.RunFunctionRequest()
    whole.CopyFrom(req)
    for name, resource in lost.items():
        whole.observed.resources[name].resource.CopyFrom(resource)
    return whole


def _report(req: fnv1.RunFunctionRequest, composite: Composite) -> Answer:
    rsp = report.run(req)
    told = rsp.results[0] if rsp.results else fnv1.Result(message="the report requires the claims")
    refused = told.severity == fnv1.SEVERITY_FATAL
    return Answer(rsp, composite, told.reason, told.message, refused=refused, changed=bool(rsp.results))


def _await(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    finding: Finding,
    told: Iterable[Told] = (),
) -> Answer:
    """Crossplane drops this response and calls again with the required resources. Versions before v1.15 do
    not; for them the response keeps everything that exists."""
    for name, seen in observe(req).items():
        response.keep(rsp.desired, name, req.observed.resources[name].resource, ready=seen.ready.holds)
    rsp.conditions.extend(response.conditions(composite, finding, told))
    return Answer(rsp, composite, finding.reason, finding.message, refused=False, changed=False)


def refuse_too_large(req: fnv1.RunFunctionRequest, answer: Answer, size: int, most: int) -> Answer:
    """The response that replaces one larger than Crossplane accepts; it composes nothing."""
    before = req.desired.ByteSize() + req.context.ByteSize()
    message = (
        f"The response would have {size} bytes, of which {before} come from earlier steps; Crossplane "
        f"accepts at most {most}. Split the claim, or have earlier steps compose less."
    )
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag))
    return _refuse(req, rsp, answer.composite, Refused(LiveReason.FAILED, message))


def refuse_unreadable(remains: Remains) -> Answer:
    """The response to a request that cannot be read. Whether the domains are served is unknown, so it does
    not set Live; Crossplane sets it to Unknown."""
    composite = claim.identify(remains.composite)
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=remains.tag))
    response.set_ttl(rsp, plans.DEFAULT_TTL)
    refusal = Refused(LiveReason.FAILED, remains.message)
    response.refuse_untold(rsp, composite, refusal, conditions.unreadable(refusal))
    return _answer(rsp, composite, refusal.reason, refusal.message, refused=True)


def _refuse(
    req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, composite: Composite, refusal: Refused
) -> Answer:
    asked = req.observed.composite.resource
    suspended = former_tenants.is_suspended(req)
    seen = observe(req)
    finding = live.refused(refusal, claim.asked_domains(asked), seen.values())
    tenants = [each for name, each in seen.items() if not compose.is_group(name)]
    former = former_tenants.gather(req, composite, seen.values())
    left = other_tenants.left_behind(former) if suspended else Left()
    told = conditions.of_refused(refusal, finding, tenants, left, suspended=suspended)
    finding = conditions.pointing(finding, told)
    if left.unknown and former_tenants.REQUIREMENT in rsp.requirements.resources:
        # Not FATAL yet, so that Crossplane reads them and calls again.
        return _await(req, rsp, composite, finding, told)
    if former:
        response.set_ttl(rsp, _UNDER_WAY_TTL)
    response.refuse(rsp, composite, refusal, finding, told)
    return _answer(rsp, composite, finding.reason, refusal.message, refused=True)


def _answer(
    rsp: fnv1.RunFunctionResponse, composite: Composite, reason: str, message: str, *, refused: bool
) -> Answer:
    changed = composite.live is None or composite.live[1] != reason
    return Answer(rsp, composite, str(reason), message, refused, changed)


def order(
    req: fnv1.RunFunctionRequest, composite: Composite, offered: Plans, seen: Mapping[str, ObservedTenant]
) -> Order:
    """The order of a claim, under the offered plans. `seen` are its managed resources.

    Raises:
        Refused: the claim or its plan is invalid.
    """
    if not composite.name:
        raise Refused(LiveReason.INVALID_CLAIM, "metadata.name: expected a name, got nothing")
    asked = claim.read(req.observed.composite)
    chosen = plans.choose(offered, asked.spec.plan)
    beyond = terms.beyond(composite.owner[0], asked, chosen.plan)
    kept = beyond & _served(seen, chosen, composite) if beyond else beyond
    former = compose.former_names(asked.domains, seen)
    noted = observed.noted_names(req.observed.composite.resource)
    return Order(composite, asked, chosen, terms.agree(composite, asked, chosen, kept), former, noted)


def _served(seen: Mapping[str, ObservedTenant], chosen: ChosenPlan, composite: Composite) -> frozenset[str]:
    """The domains that the claim's tenants have in CloudFront, as the provider observed them, and that were
    composed. A tenant that comes from another plan's distribution got them under that plan."""
    own, choice = chosen.plan.distribution_id, composite.choice(chosen.name, chosen.source)
    return frozenset(
        domain
        for each in seen.values()
        if each.exists and not each.deleted and not each.adoption_refused
        if each.choice in ("", choice) or each.asked.distribution_id == own
        for domain in each.asked.domains.intersection(each.domain_states)
    )


@dataclass(frozen=True, eq=False)
class Composed:
    """The result of an order, given the resources that exist."""

    tenants: tuple[WantedTenant, ...]
    resources: bytes
    """Serialized as protobuf."""
    status: bytes
    """Fields of the composite's status, a serialized Struct."""
    held_up: bool
    """Whether the claim is not ready although all its composed resources are."""
    finding: Finding
    told: tuple[Told, ...]
    conditions: tuple[fnv1.Condition, ...]
    former: bool
    """Whether former tenants of the claim exist, as far as it needs them."""
    departing: bool = False
    """Whether resources that the claim no longer wants stay until their policy is the claim's."""
    unchanged: Mapping[str, bool] = field(default_factory=dict)
    """Composed resources that stay as they are, and whether each is ready."""

    @property
    def ttl(self) -> float:
        """For how many seconds Crossplane may reuse the response. While many resources of a claim change,
        Crossplane's circuit breaker drops their events, and the claim is reconciled only after this time."""
        waits = self.finding.reason in _FOR_SOMEBODY
        if not waits and any(each.holds and each.type is _RECONCILING for each in self.told):
            return _UNDER_WAY_TTL
        if self.former or self.departing:
            # Crossplane before v2.4 does not watch former tenants.
            return _UNDER_WAY_TTL
        return float("inf") if self.finding.satisfied else _WAITING_TTL


_RECONCILING: Final = ClaimConditionType.RECONCILING
_FOR_SOMEBODY: Final = frozenset({LiveReason.WAITING_FOR_DNS, LiveReason.ISSUING_CERTIFICATE})
"""Reasons of Live that can last for weeks."""
_UNDER_WAY_TTL: Final = 60.0
_WAITING_TTL: Final = 600.0


def _compose(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    order: Order,
    seen: Mapping[str, ObservedTenant],
) -> Composed:
    # All checks come before the first write, so that nothing is composed in part.
    composite = order.composite
    former = former_tenants.gather(req, composite, seen.values())
    composed = _derive(order, seen, former, reached=conditions.was_reached(composite))
    # Before the resources that stay as they are: a stranger must not be among them.
    _check_control(req, composed.resources)
    composed = replace(composed, resources=composed.resources + _unchanged(req, order, composed.unchanged))
    _check_names(req, composed.resources)
    response.want(rsp, composed.resources, composed.status)
    if departing.keep(req, rsp, order, seen):
        composed = replace(composed, departing=True)
    if composed.held_up:
        rsp.desired.composite.ready = fnv1.READY_FALSE
    rsp.conditions.extend(composed.conditions)
    if composite.condition(conditions.REVIEWED.type) and not any(
        each.type is conditions.REVIEWED.type for each in composed.told
    ):
        # Crossplane keeps a condition that a response no longer sets.
        rsp.conditions.append(response.condition(composite, conditions.REVIEWED))
    response.tell(rsp, composite, composed.finding, composed.told)
    _pass_connection_details(req, rsp, composite, composed.tenants)
    return composed


def _unchanged(req: fnv1.RunFunctionRequest, order: Order, ready: Mapping[str, bool]) -> bytes:
    """These resources as they are, but suspended as the claim asks: that is for emergencies."""
    resources = []
    for name, holds in ready.items():
        resource = Struct()
        resource.CopyFrom(req.observed.resources[name].resource)
        if not compose.is_group(name):
            parameters = resource.get_or_create_struct("spec").get_or_create_struct("forProvider")
            parameters["enabled"] = not order.claim.spec.suspended
        resources.append(response.kept(name, resource, ready=holds))
    return b"".join(resources)


def _check_names(req: fnv1.RunFunctionRequest, resources: bytes) -> None:
    """Refuse a resource of an earlier step that has one of our names: ours would replace it, and Crossplane
    would delete the object that it was."""
    both = sorted(name for name in req.desired.resources if compose.OURS.fullmatch(name))
    ours = fnv1.State.FromString(resources).resources if both else {}
    for name in both:
        theirs = req.desired.resources[name].resource
        if name in ours and ours[name].resource != theirs:
            kind = structs.text(theirs, "kind") or "resource"
            message = (
                f"Composition: an earlier step composes a {kind} with the name {name}, which this function "
                "uses for its own resource. Use another name in that step."
            )
            raise Refused(LiveReason.FAILED, message)


def _check_control(req: fnv1.RunFunctionRequest, resources: bytes) -> None:
    """Refuse a claim that lists resources which it does not control: Crossplane would delete those that no
    step wants."""
    strange = strangers.find(req)
    if strange:
        wanted = {*req.desired.resources, *fnv1.State.FromString(resources).resources}
        refuse_claim(strangers.problems(req, strange, wanted))


def _derive(
    order: Order,
    seen: Mapping[str, ObservedTenant],
    former: Sequence[ObservedTenant] | None,
    *,
    reached: bool,
) -> Composed:
    left = other_tenants.left_behind(former) if order.claim.spec.suspended else Left()
    astray = order.composite.live == ("True", LiveReason.SERVED)
    wanted = moves.wanted(order, seen)
    compose.check_names(wanted.tenants)
    group_name = compose.group_name(seen) if wanted.dedicated else ""
    group = seen.get(group_name)
    looked = [_looked(each, seen.get(each.resource_name), order) for each in wanted.tenants]
    if group is not None:
        looked = [
            replace(each, finding=live.without_group(each.finding, group), group=live.of_group(group))
            for each in looked
        ]
    if others := (*_leaving(seen), *(former or ())):
        looked = [_with_former_tenants(each, others) for each in looked]
    if wanted.switching:
        looked = [_with_own_tenants(each, looked, waits=bool(wanted.waiting)) for each in looked]
    finding = live.summary([(each.wanted, each.finding) for each in looked])
    present = [each.seen for each in looked if each.seen is not None]
    kept = live.while_served(finding, order.claim.domains, present, reached=reached, astray=astray)
    if wanted.switching and not order.claim.spec.suspended:
        finding = live.switching(finding, _dark(order, looked), kept, waits=bool(wanted.waiting))
    elif finding.live:
        finding = kept
    # Domains that move between tenants are served, even while one of the tenants is being created.
    served = wanted.switching and finding.live
    admitted = pacing.admitted(looked)
    resources, unchanged = [], {}
    if wanted.unchanged:
        unchanged = {each.wanted.resource_name: each.finding.satisfied for each in looked}
        unchanged |= {name: seen[name].ready.holds for name in wanted.groups}
    else:
        names = {each.wanted.resource_name: each.finding.satisfied for each in admitted}
        unchanged = {name: ready for name, ready in names.items() if name in wanted.leaving}
        resources = [
            _tenant(order, each.wanted, each.seen, ready=served or each.finding.satisfied)
            for each in admitted
            if each.wanted.resource_name not in unchanged
        ]
    if wanted.dedicated and not wanted.unchanged:
        resources.append(_connection_group(order, group_name, group))
    waiting = wanted.unserved(order.claim.domains) if finding.live else []
    if waiting:
        finding = live.held_up(waiting)
    if left.serving and finding.satisfied:
        finding = left.serving
    told = (
        *conditions.derive(
            looked,
            finding,
            wanted.waiting,
            left,
            suspended=order.claim.spec.suspended,
            reached=reached,
        ),
        *conditions.review(order, present),
    )
    finding = conditions.pointing(finding, told)
    # Last, because earlier steps compare messages with each other.
    finding = _in_claim(order, finding)
    told = tuple(_in_claim(order, each) for each in told)
    return Composed(
        tenants=wanted.tenants,
        resources=b"".join(resources),
        status=status.derive(
            order.claim.domains,
            present,
            finding,
            wanted.parked,
            elsewhere=frozenset().union(*(each.elsewhere for each in looked)),
            checked=astray,
        ),
        held_up=bool(waiting or left.serving or _without_tenant(order, admitted)),
        finding=finding,
        told=told,
        conditions=response.conditions(order.composite, finding, told),
        former=bool(former),
        unchanged=unchanged,
    )


def _without_tenant(order: Order, composed: Iterable[Looked]) -> frozenset[str]:
    """The claim's domains that no composed tenant has. Crossplane counts only what is composed."""
    return frozenset(order.claim.domains).difference(*(each.wanted.domains for each in composed))


def _in_claim(order: Order, said: Said) -> Said:
    message = field_names.in_claim(order, said.message)
    return said if message == said.message else replace(said, message=message)


def _leaving(seen: Mapping[str, ObservedTenant]) -> list[ObservedTenant]:
    """Those of the claim's tenants that are being deleted."""
    return [each for each in seen.values() if each.deleted and each.exists]


def _with_former_tenants(tenant: Looked, others: Sequence[ObservedTenant]) -> Looked:
    """The tenant, with the effect of the claim's former tenants on its finding and domains."""
    others = [each for each in others if each is not tenant.seen]
    finding = other_tenants.with_former_tenants(tenant.finding, tenant.wanted, others, _name_of(tenant.seen))
    serving = frozenset(domain for each in others if live.answers(each) for domain in each.active)
    return replace(tenant, finding=finding, elsewhere=serving)


def _with_own_tenants(tenant: Looked, all_: Sequence[Looked], *, waits: bool) -> Looked:
    """The tenant, with the effect of the claim's other tenants on its finding."""
    if tenant.seen is None or not tenant.finding.failed:
        return tenant
    others = [each.seen for each in all_ if each.seen is not None and each is not tenant]
    found = other_tenants.with_own_tenants(tenant.finding, (tenant.wanted, tenant.seen), others, waits=waits)
    serving = frozenset(domain for each in others if live.answers(each) for domain in each.active)
    return replace(tenant, finding=found, elsewhere=tenant.elsewhere | serving)


def _dark(order: Order, looked: Iterable[Looked]) -> list[str]:
    """The claim's domains that no tenant serves. One that is rolled out, as domains move, serves."""
    present = (each.seen for each in looked if each.seen is not None)
    rolls_out = TenantReadyReason.DEPLOYING
    serving = (
        each
        for each in present
        if live.answers(each) or (each.ready.reason == rolls_out and each.enabled is not False)
    )
    active = {domain for seen in serving for domain in seen.active}
    return [domain for domain in order.claim.domains if domain not in active]


def observe(req: fnv1.RunFunctionRequest) -> dict[str, ObservedTenant]:
    """The existing managed resources of this function by their composed resource names, in order. Other steps
    may compose resources of the same kinds."""
    return {
        name: observed.read(resource.resource)
        for name, resource in sorted(req.observed.resources.items())
        if compose.OURS.fullmatch(name)
        and structs.text(resource.resource, "apiVersion").partition("/")[0] in _OURS
    }


def _looked(wanted: WantedTenant, seen: ObservedTenant | None, order: Order) -> Looked:
    finding = live.finding_of(wanted, seen, order.chosen)
    if seen is not None and seen.deleted:
        finding = other_tenants.needed(finding, seen, compose.new_name(order, wanted))
    return Looked(wanted, seen, finding)


def _name_of(seen: ObservedTenant | None) -> str | None:
    return seen.external_name if seen is not None else None


def _tenant(order: Order, wanted: WantedTenant, seen: ObservedTenant | None, *, ready: bool) -> bytes:
    resource = compose.tenant(order, wanted, _name_of(seen), new=seen is None)
    return response.composed(wanted.resource_name, resource, ready=ready)


def _connection_group(order: Order, name: str, seen: ObservedTenant | None) -> bytes:
    ready = seen is not None and seen.ready.holds
    resource = compose.connection_group(order, name, _name_of(seen), new=seen is None)
    return response.composed(name, resource, ready=ready)


def _pass_connection_details(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    wanted: tuple[WantedTenant, ...],
) -> None:
    """Give a legacy composite the connection details of its tenant. Several tenants write Secrets of their
    own instead, as the composite can hold only one set."""
    resource = req.observed.resources.get(wanted[0].resource_name)
    if composite.namespaced or len(wanted) > 1 or resource is None:
        return
    details: Mapping[str, bytes] = resource.connection_details
    for key in details:
        rsp.desired.composite.connection_details[key] = details[key]


def _warn_of_broken(rsp: fnv1.RunFunctionResponse, offered: Plans) -> None:
    """Warn of invalid plans that this claim does not use. Only when the reason of Live changes, not at each
    call."""
    for flaw in offered.flaws:
        response.warn(rsp, LiveReason.PLAN_INVALID, f"Invalid source of plans: {flaw}")
    for name in sorted(offered.broken):
        message = f"Plan {name} is invalid, and its claims are refused: {offered.broken[name]}"
        response.warn(rsp, LiveReason.PLAN_INVALID, message)
