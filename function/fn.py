"""RunFunction: read the request, ask the pure parts, write the response."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from apis.conditions import LiveReason
from function import (
    claim,
    compose,
    live,
    observed,
    plans,
    plansources,
    response,
    status,
    structs,
    terms,
)
from function.claim import Claim, Composite
from function.compose import Order, WantedTenant
from function.errors import Refused
from function.live import Finding
from function.observed import ObservedTenant
from function.plans import Plans

_OURS: Final = frozenset({kinds.MANAGED_GROUP, kinds.LEGACY_MANAGED_GROUP})
_UNREAD: Final = Finding(
    LiveReason.BLOCKED, "The plans of plansFrom are not read yet. Nothing is changed until they are."
)
_ORDERS: Final = 256
"""Claims whose terms are kept."""
_TENANTS: Final = 2048
"""Composed tenants that are kept as protobuf has them: to convert one costs more than all else about it."""


@dataclass(frozen=True)
class Answer:
    """A response, and what it says in short, for the log."""

    response: fnv1.RunFunctionResponse
    composite: Composite
    reason: str
    """Of the condition Live."""
    message: str
    refused: bool
    changed: bool
    """The condition Live is another than before."""


def run(req: fnv1.RunFunctionRequest) -> Answer:
    """Answer one request. Equal requests have equal answers, byte for byte."""
    composite = claim.identify(req.observed.composite.resource)
    rsp = response.begin(req, plans.DEFAULT_TTL)
    try:
        asked = plans.read(req.input)
        response.set_ttl(rsp, asked.ttl)
        plansources.require(req, rsp, asked)
        offered = plansources.gather(req, asked)
        if offered is None:
            return _await_sources(req, rsp, composite)
        finding = _compose(req, rsp, _order(req, composite, offered))
    except Refused as refusal:
        response.refuse(rsp, composite, refusal)
        return _answer(rsp, composite, refusal.reason, refusal.message, refused=True)
    answer = _answer(rsp, composite, finding.reason, finding.message, refused=False)
    if answer.changed:
        _warn_of_broken(rsp, offered)
    return answer


def _await_sources(
    req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, composite: Composite
) -> Answer:
    """Crossplane will call again with what is required, and drops this answer. Should it not, as cores before
    v1.15 do not, then nothing that serves goes."""
    for name, resource in req.observed.resources.items():
        if structs.text(resource.resource, "apiVersion").partition("/")[0] in _OURS:
            response.keep(rsp, name, resource.resource, ready=observed.read(resource.resource).ready.holds)
    response.set_live(rsp, composite, _UNREAD, tell=False)
    return Answer(rsp, composite, _UNREAD.reason, _UNREAD.message, refused=False, changed=False)


def refuse_too_large(req: fnv1.RunFunctionRequest, answer: Answer, size: int, most: int) -> Answer:
    """The answer instead of one with more bytes than Crossplane takes; nothing is composed."""
    before = req.desired.ByteSize() + req.context.ByteSize()
    message = (
        f"The answer would have {size} bytes, of which {before} are passed on from earlier steps, and "
        f"Crossplane takes at most {most}. Split the claim, or have earlier steps want less."
    )
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag))
    response.refuse(rsp, answer.composite, Refused(LiveReason.FAILED, message))
    return _answer(rsp, answer.composite, LiveReason.FAILED, message, refused=True)


def _answer(
    rsp: fnv1.RunFunctionResponse, composite: Composite, reason: str, message: str, *, refused: bool
) -> Answer:
    changed = composite.live is None or composite.live[1] != reason
    return Answer(rsp, composite, str(reason), message, refused, changed)


def _order(req: fnv1.RunFunctionRequest, composite: Composite, offered: Plans) -> Order:
    if not composite.name:
        raise Refused(LiveReason.INVALID_CLAIM, "metadata.name: expected a name, got nothing")
    return _agree(composite, claim.read(req.observed.composite), offered)


@lru_cache(maxsize=_ORDERS)
def _agree(composite: Composite, asked: Claim, offered: Plans) -> Order:
    chosen = plans.choose(offered, asked.spec.plan)
    return Order(composite, asked, chosen, terms.agree(composite, asked, chosen))


def _compose(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, order: Order) -> Finding:
    # Nothing is written before all is known to be right: nothing is composed by half.
    wanted = compose.tenants(order, req.observed.resources)
    seen = {each: _observe(req, each) for each in wanted}
    resources = {each: _tenant(order, each, _external_name(req, each.resource_name)) for each in wanted}

    findings = {each: live.judge(each, seen[each], order.chosen) for each in wanted}
    for each, resource in resources.items():
        response.put(rsp, each.resource_name, resource, ready=findings[each].satisfied)
    if order.terms.dedicated:
        _put_connection_group(req, rsp, order)
    finding = live.summary(findings)
    existing = [each for each in seen.values() if each is not None]
    response.set_status(rsp, status.derive(order.claim.domains, existing, finding))
    response.set_live(rsp, order.composite, finding)
    _pass_connection_details(req, rsp, order.composite, wanted)
    return finding


@lru_cache(maxsize=_TENANTS)
def _tenant(order: Order, wanted: WantedTenant, external_name: str | None) -> Struct:
    return structs.of(compose.tenant(order, wanted, external_name))


def _observe(req: fnv1.RunFunctionRequest, wanted: WantedTenant) -> ObservedTenant | None:
    resource = req.observed.resources.get(wanted.resource_name)
    return observed.read(resource.resource) if resource is not None else None


def _external_name(req: fnv1.RunFunctionRequest, resource_name: str) -> str | None:
    resource = req.observed.resources.get(resource_name)
    return observed.external_name(resource.resource) if resource is not None else None


def _put_connection_group(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, order: Order) -> None:
    name = compose.CONNECTION_GROUP
    resource = req.observed.resources.get(name)
    ready = resource is not None and observed.read(resource.resource).ready.holds
    group = compose.connection_group(order, _external_name(req, name))
    response.put(rsp, name, structs.of(group), ready=ready)


def _pass_connection_details(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    wanted: tuple[WantedTenant, ...],
) -> None:
    """Give a legacy composite the connection details of its tenant. Of several tenants none is the one, so
    they are told apart in Secrets of their own."""
    resource = req.observed.resources.get(wanted[0].resource_name)
    if composite.namespaced or len(wanted) > 1 or resource is None:
        return
    details: Mapping[str, bytes] = resource.connection_details
    for key in details:
        rsp.desired.composite.connection_details[key] = details[key]


def _warn_of_broken(rsp: fnv1.RunFunctionResponse, offered: Plans) -> None:
    """Broken plans that this claim does not use; told once a change, not with each call."""
    for flaw in offered.flaws:
        response.warn(rsp, LiveReason.PLAN_INVALID, f"No plans can be read there: {flaw}")
    for name in sorted(offered.broken):
        message = f"Plan {name} is broken, and its claims are refused: {offered.broken[name]}"
        response.warn(rsp, LiveReason.PLAN_INVALID, message)
