"""Write findings and desired resources into the response (protobuf)."""

from collections.abc import Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis.conditions import BlockedReason, ClaimConditionType, DegradedReason, NeedsReviewReason
from edgetenants_runtime.api.annotations import (
    EXTERNAL_CREATE_FAILED,
    EXTERNAL_CREATE_PENDING,
    EXTERNAL_CREATE_SUCCEEDED,
)
from function.answer.conditions import Told
from function.claims.claim import Composite
from function.composed.compose import CLAIM_LABEL
from function.errors import Refused
from function.findings.live import Finding
from function.protocol import structs
from function.protocol.wire import sized

LONGEST_MESSAGE: Final = 4096
"""Characters of a message; a claim can have 500 invalid domains, and no one reads further."""


def begin(req: fnv1.RunFunctionRequest, ttl: float) -> fnv1.RunFunctionResponse:
    """A response that passes on the desired state of earlier steps and the context.

    Args:
        req: the request.
        ttl: how long Crossplane may reuse the response, in seconds.
    """
    rsp = fnv1.RunFunctionResponse(meta=fnv1.ResponseMeta(tag=req.meta.tag), desired=req.desired)
    if req.HasField("context"):
        rsp.context.CopyFrom(req.context)
    set_ttl(rsp, ttl)
    return rsp


def set_ttl(rsp: fnv1.RunFunctionResponse, seconds: float) -> None:
    """Set how long Crossplane may reuse the response."""
    # Not FromMilliseconds, which takes five times as long: it is Python that checks and normalizes.
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    rsp.meta.ttl.seconds, rsp.meta.ttl.nanos = whole, thousandths * 1_000_000


def want(rsp: fnv1.RunFunctionResponse, resources: bytes, status: bytes) -> None:
    """Add to the desired state of earlier steps. Composed resources replace those of the same name; fields of
    the composite's status are merged.

    Args:
        rsp: the response.
        resources: the composed resources, from `composed`.
        status: the fields of the composite's status, a serialized Struct.
    """
    rsp.desired.MergeFromString(resources)
    rsp.desired.composite.resource.get_or_create_struct("status").MergeFromString(status)


def composed(name: str, resource: bytes, *, ready: bool) -> bytes:
    """A State with one composed resource, serialized. Concatenating such bytes merges the states.

    Args:
        name: the composed resource name.
        resource: the object, a serialized Struct.
        ready: whether Crossplane treats it as ready.
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
    """Add a composed resource to the desired state as it was observed."""
    state.MergeFromString(kept(name, seen, ready=ready))


_RECORD: Final = frozenset({EXTERNAL_CREATE_PENDING, EXTERNAL_CREATE_SUCCEEDED, EXTERNAL_CREATE_FAILED})


def kept(name: str, seen: Struct, *, ready: bool) -> bytes:
    """A composed resource as it was observed, as one of a serialized State. Without the record of its
    creation, which the provider keeps: if the resource goes before Crossplane applies this, Crossplane makes
    it again, and then nothing was created for it."""
    kept = Struct()
    for key in ("apiVersion", "kind", "spec"):
        if key in seen.fields:
            kept.fields[key].CopyFrom(seen.fields[key])
    annotations = structs.child(seen, "metadata", "annotations")
    if annotations is not None:
        own = kept.get_or_create_struct("metadata").get_or_create_struct("annotations")
        own.CopyFrom(annotations)
        for key in _RECORD.intersection(own.fields):
            del own.fields[key]
    if label := structs.text(seen, "metadata", "labels", CLAIM_LABEL):
        kept.get_or_create_struct("metadata").get_or_create_struct("labels")[CLAIM_LABEL] = label
    return composed(name, kept.SerializeToString(), ready=ready)


def conditions(composite: Composite, finding: Finding, told: Iterable[Told]) -> tuple[fnv1.Condition, ...]:
    """The condition Live, followed by the others."""
    says = (finding.reason, finding.message)
    live = _condition(_target(composite), ClaimConditionType.LIVE, finding.live, says)
    return (live, *(condition(composite, each) for each in told))


def condition(composite: Composite, told: Told) -> fnv1.Condition:
    """One condition other than Live."""
    return _condition(_target(composite), told.type, told.holds, (told.reason, told.message))


def tell(
    rsp: fnv1.RunFunctionResponse, composite: Composite, finding: Finding, told: Iterable[Told] = ()
) -> None:
    """Emit an event if Live has changed, and for each other condition that has just become True with a reason
    that Live does not report."""
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
        DegradedReason.RENEWAL_BLOCKED,
        NeedsReviewReason.LOOKALIKE_DOMAIN,
        NeedsReviewReason.PLAN_EXCEEDED,
    }
)


def warn(rsp: fnv1.RunFunctionResponse, reason: str, message: str) -> None:
    """Emit an event for the platform team, on the composite only."""
    _result(rsp, None, fnv1.SEVERITY_WARNING, reason, message)


def refuse(
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    refusal: Refused,
    finding: Finding,
    told: Iterable[Told],
) -> None:
    """Set the conditions and end the pipeline; existing resources do not change."""
    rsp.conditions.extend(conditions(composite, finding, told))
    _result(rsp, composite, fnv1.SEVERITY_FATAL, refusal.reason, refusal.message)


def refuse_untold(rsp: fnv1.RunFunctionResponse, composite: Composite, refusal: Refused, told: Told) -> None:
    """The same with only this condition, if the others are unknown."""
    rsp.conditions.append(condition(composite, told))
    _result(rsp, composite, fnv1.SEVERITY_FATAL, refusal.reason, refusal.message)


def _condition(
    target: fnv1.Target, type_: ClaimConditionType, holds: bool | None, says: tuple[str, str]
) -> fnv1.Condition:
    return fnv1.Condition(
        type=type_.value,
        status=_STATUS[holds],
        reason=str(says[0]),
        message=_cut(says[1]),
        target=target,
    )


_STATUS: Final = {
    True: fnv1.STATUS_CONDITION_TRUE,
    False: fnv1.STATUS_CONDITION_FALSE,
    None: fnv1.STATUS_CONDITION_UNKNOWN,
}


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
    """The composite and its claim, if there is one, because the claim's author acts."""
    return fnv1.TARGET_COMPOSITE_AND_CLAIM if composite and composite.claim else fnv1.TARGET_COMPOSITE


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
