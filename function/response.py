"""The answer: what was found and what is wanted, written into protobuf."""

from collections.abc import Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis.conditions import BlockedReason, ClaimConditionType, DegradedReason, NeedsReviewReason
from function import structs
from function.claim import Composite
from function.conditions import Told
from function.errors import Refused
from function.live import Finding
from function.wire import sized

LONGEST_MESSAGE: Final = 4096
"""Characters of a message; a claim can have 500 wrong domains, and nobody reads further."""


def begin(req: fnv1.RunFunctionRequest, ttl: float) -> fnv1.RunFunctionResponse:
    """An answer that passes on what others want and the context.

    Args:
        req: what is answered.
        ttl: how long the answer may be reused, in seconds.
    """
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag), desired=req.desired)
    if req.HasField("context"):
        rsp.context.CopyFrom(req.context)
    set_ttl(rsp, ttl)
    return rsp


def set_ttl(rsp: fnv1.RunFunctionResponse, seconds: float) -> None:
    """Say how long the answer may be reused."""
    rsp.meta.ttl.FromMilliseconds(round(seconds * 1000))


def want(rsp: fnv1.RunFunctionResponse, resources: bytes, status: Struct) -> None:
    """Want this beside what earlier steps want: composed resources instead of theirs of the same names,
    fields of the composite's status beside theirs.

    Args:
        rsp: the answer.
        resources: the composed ones, of `composed`.
        status: the fields of the composite's status.
    """
    rsp.desired.MergeFromString(resources)
    rsp.desired.composite.resource.get_or_create_struct("status").fields.MergeFrom(status.fields)


def composed(name: str, resource: bytes, *, ready: bool) -> bytes:
    """A state with this one composed resource, serialized. Such states are joined like bytes.

    Args:
        name: among the composed resources.
        resource: the object, a serialized Struct.
        ready: what Crossplane is told of it.
    """
    wanted = sized(_RESOURCE, resource) + _READY[ready]
    return sized(_RESOURCES, sized(_KEY, name.encode()) + sized(_VALUE, wanted))


_RESOURCES: Final = fnv1.State.RESOURCES_FIELD_NUMBER
_RESOURCE: Final = fnv1.Resource.RESOURCE_FIELD_NUMBER
_KEY: Final = 1
_VALUE: Final = 2
"""Numbers of the fields of a map's entry."""
_READY: Final = {
    ready: fnv1.Resource(ready=says).SerializeToString()
    for ready, says in ((True, fnv1.READY_TRUE), (False, fnv1.READY_FALSE))
}


def keep(state: fnv1.State, name: str, seen: Struct, *, ready: bool) -> None:
    """Want a composed resource as it stands in the control plane."""
    kept = Struct()
    for key in ("apiVersion", "kind", "spec"):
        if key in seen.fields:
            kept.fields[key].CopyFrom(seen.fields[key])
    annotations = structs.child(seen, "metadata", "annotations")
    if annotations is not None:
        kept.get_or_create_struct("metadata").get_or_create_struct("annotations").CopyFrom(annotations)
    state.MergeFromString(composed(name, kept.SerializeToString(), ready=ready))


def conditions(composite: Composite, finding: Finding, told: Iterable[Told]) -> tuple[fnv1.Condition, ...]:
    """The conditions Live and those beside it."""
    says = (finding.reason, finding.message)
    live = _condition(_target(composite), ClaimConditionType.LIVE, finding.live, says)
    return (live, *(condition(composite, each) for each in told))


def condition(composite: Composite, told: Told) -> fnv1.Condition:
    """One condition beside Live."""
    return _condition(_target(composite), told.type, told.holds, (told.reason, told.message))


def tell(
    rsp: fnv1.RunFunctionResponse, composite: Composite, finding: Finding, told: Iterable[Told] = ()
) -> None:
    """Tell an event where Live has changed, and where a condition beside it has just become so that Live says
    nothing of it."""
    if composite.live != ("True" if finding.live else "False", finding.reason):
        severity = fnv1.SEVERITY_WARNING if finding.failed else fnv1.SEVERITY_NORMAL
        _result(rsp, composite, severity, finding.reason, finding.message)
    for each in told:
        alarming = each.holds and each.reason in _ALARMING
        if alarming and composite.condition(each.type) != ("True", each.reason):
            _result(rsp, composite, fnv1.SEVERITY_WARNING, each.reason, each.message)


_ALARMING: Final = frozenset(
    {
        BlockedReason.AWAITING_APPROVAL,
        DegradedReason.DNS_RECORD_LOST,
        DegradedReason.DRIFTED,
        NeedsReviewReason.LOOKALIKE_DOMAIN,
        NeedsReviewReason.PLAN_EXCEEDED,
    }
)


def warn(rsp: fnv1.RunFunctionResponse, reason: str, message: str) -> None:
    """Tell an event to the platform team, who read those of the composite."""
    _result(rsp, None, fnv1.SEVERITY_WARNING, reason, message)


def refuse(
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    refusal: Refused,
    finding: Finding,
    told: Iterable[Told],
) -> None:
    """Set the conditions and end the pipeline; what exists stays as it is."""
    rsp.conditions.extend(conditions(composite, finding, told))
    _result(rsp, composite, fnv1.SEVERITY_FATAL, refusal.reason, refusal.message)


def refuse_untold(rsp: fnv1.RunFunctionResponse, composite: Composite, refusal: Refused, told: Told) -> None:
    """The same with this one condition, where nothing is known of the others."""
    rsp.conditions.append(condition(composite, told))
    _result(rsp, composite, fnv1.SEVERITY_FATAL, refusal.reason, refusal.message)


def _condition(
    target: fnv1.Target, type_: ClaimConditionType, holds: bool, says: tuple[str, str]
) -> fnv1.Condition:
    return fnv1.Condition(
        type=type_.value,
        status=fnv1.STATUS_CONDITION_TRUE if holds else fnv1.STATUS_CONDITION_FALSE,
        reason=str(says[0]),
        message=_cut(says[1]),
        target=target,
    )


def _result(
    rsp: fnv1.RunFunctionResponse,
    composite: Composite | None,
    severity: fnv1.Severity,
    reason: str,
    message: str,
) -> None:
    rsp.results.append(
        fnv1.Result(severity=severity, reason=str(reason), message=_cut(message), target=_target(composite))
    )


def _target(composite: Composite | None) -> fnv1.Target:
    """The claim hears too, where there is one: its author acts."""
    return fnv1.TARGET_COMPOSITE_AND_CLAIM if composite and composite.claim else fnv1.TARGET_COMPOSITE


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
